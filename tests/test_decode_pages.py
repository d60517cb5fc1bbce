"""Pages as the field has them: odd but valid ones are read, wrong ones are errors with a place."""

from __future__ import annotations

import io
import struct
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from decoding import (
    InMemory,
    Ranges,
    chunk_range,
    metadata_of,
    plan_of,
    read_columns,
    read_frame,
    tables_of,
    to_series,
)
from handmade import (
    BIT_PACKED,
    PLAIN,
    PLAIN_DICTIONARY,
    RLE,
    Column,
    Page,
    file_of,
    packed,
    prefixed,
    repeated,
)

import pqlab
from pqlab.cpu import engine
from pqlab.errors import CorruptError, LimitError, UnsupportedError
from pqlab.limits import Limits
from pqlab.plan.plan import PageRun
from pqlab.trace import EVENT, Stage


def int32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def strings(*values: bytes) -> bytes:
    return b"".join(prefixed(value) for value in values)


def values_of(data: bytes, **options: Any) -> list[Any]:
    values: list[Any] = read_frame(data, **options)["c"].to_list()
    return values


def pyarrow_values(data: bytes) -> list[Any]:
    values: list[Any] = pq.read_table(io.BytesIO(data))["c"].to_pylist()
    return values


def dictionary(entries: bytes, count: int, encoding: int = PLAIN) -> Page:
    return Page(entries, count, encoding, dictionary=True)


TEXT = {"converted_type": 0}

VALID = {
    "dictionary of one entry, width 0, with a run": (
        Column("INT32", [dictionary(int32(7), 1), Page(b"\0" + repeated(0, 5, 0), 5, 8)]),
        [7] * 5,
    ),
    "dictionary of one entry, packed at width 0": (
        Column("INT32", [dictionary(int32(7), 1), Page(b"\0" + packed([0] * 5, 0), 5, 8)]),
        [7] * 5,
    ),
    "empty dictionary, all null": (
        Column(
            "INT32",
            [dictionary(b"", 0), Page(prefixed(repeated(0, 5, 1)) + b"\0", 5, 8)],
            optional=True,
        ),
        [None] * 5,
    ),
    "indices of nothing at all, all null": (
        Column(
            "INT32",
            [dictionary(b"", 0), Page(prefixed(repeated(0, 5, 1)), 5, 8)],
            optional=True,
        ),
        [None] * 5,
    ),
    "unused dictionary": (
        Column("INT32", [dictionary(int32(7), 1), Page(int32(1, 2), 2)]),
        [1, 2],
    ),
    "fall back to PLAIN after a dictionary page": (
        Column(
            "INT32",
            [
                dictionary(int32(7, 8), 2, PLAIN_DICTIONARY),
                Page(b"\1" + packed([0, 1, 1], 1), 3, PLAIN_DICTIONARY),
                Page(int32(9), 1),
            ],
        ),
        [7, 8, 8, 9],
    ),
    "packed indices whose padding is missing": (
        Column(
            "INT32",
            [dictionary(int32(*range(16)), 16), Page(b"\x04" + packed([3, 1, 15], 4)[:3], 3, 8)],
        ),
        [3, 1, 15],
    ),
    "a run longer than the page": (
        Column("INT32", [dictionary(int32(4, 5), 2), Page(b"\1" + repeated(1, 900, 1), 3, 8)]),
        [5, 5, 5],
    ),
    "page of no values between pages": (
        Column("INT32", [Page(int32(1), 1), Page(b"", 0), Page(int32(2), 1)]),
        [1, 2],
    ),
    "BIT_PACKED levels": (
        Column(
            "INT32",
            [Page(bytes([0b10110000]) + int32(5, 6, 7), 5, level_encoding=BIT_PACKED)],
            optional=True,
        ),
        [5, None, 6, 7, None],
    ),
    "v2 with levels only": (
        Column(
            "INT32",
            [
                Page(
                    repeated(0, 4, 1),
                    4,
                    v2={"definition_levels_byte_length": 2, "num_nulls": 4},
                )
            ],
            optional=True,
            codec=1,
        ),
        [None] * 4,
    ),
    "v2 that is not compressed": (
        Column("INT32", [Page(int32(4, 5), 2, v2={"is_compressed": False})], codec=1),
        [4, 5],
    ),
    "RLE booleans with nulls": (
        Column(
            "BOOLEAN",
            [
                Page(
                    prefixed(packed([1, 0, 1, 1], 1))
                    + prefixed(repeated(1, 2, 1) + packed([0], 1)),
                    4,
                    RLE,
                )
            ],
            optional=True,
        ),
        [True, None, True, False],
    ),
    "booleans over page borders that are no byte borders": (
        Column("BOOLEAN", [Page(b"\x05", 3), Page(b"\x02", 3), Page(b"\xff\x01", 9)]),
        [True, False, True, False, True, False] + [True] * 9,
    ),
    "booleans from a dictionary": (
        Column("BOOLEAN", [dictionary(b"\x02", 2), Page(b"\1" + packed([1, 0, 0], 1), 3, 8)]),
        [True, False, False],
    ),
    "a last string that is empty": (
        Column("BYTE_ARRAY", [Page(strings(b"a", b""), 2)], element=TEXT),
        ["a", ""],
    ),
    "a decimal of no bytes is 0": (
        Column(
            "BYTE_ARRAY",
            [Page(strings(b"\x01", b""), 2)],
            element={"converted_type": 5, "precision": 5, "scale": 1},
        ),
        [Decimal("0.1"), Decimal("0.0")],
    ),
    "nulls of fixed bytes without a length": (
        Column("FIXED_LEN_BYTE_ARRAY", [Page(prefixed(repeated(0, 3, 1)), 3)], optional=True),
        [None] * 3,
    ),
    "bytes after the values": (Column("INT32", [Page(int32(1, 2) + b"more", 2)]), [1, 2]),
}


@pytest.mark.parametrize("name", VALID)
def test_odd_but_valid(name: str) -> None:
    column, expected = VALID[name]
    assert values_of(file_of(column)) == expected


@pytest.mark.parametrize(
    "name",
    [
        "dictionary of one entry, width 0, with a run",
        "fall back to PLAIN after a dictionary page",
        "v2 with levels only",
        "v2 that is not compressed",
        "RLE booleans with nulls",
        "page of no values between pages",
        "booleans over page borders that are no byte borders",
    ],
)
def test_pyarrow_agrees_on_the_handmade_files(name: str) -> None:
    column, expected = VALID[name]
    assert pyarrow_values(file_of(column)) == expected


@pytest.mark.parametrize("stated", [0, 1, 4, 5])
def test_levels_decide_whatever_num_nulls_says(stated: int) -> None:
    levels = packed([1, 0, 0, 1, 1], 1)
    v2 = {"definition_levels_byte_length": len(levels), "num_nulls": stated}
    page = Page(levels + int32(1, 2, 3), 5, v2=v2)
    assert values_of(file_of(Column("INT32", [page], optional=True))) == [1, None, None, 2, 3]


OPTIONAL = prefixed(repeated(1, 3, 1))

WRONG = {
    "fewer values than the header says": ("ends before", Column("INT32", [Page(int32(1, 2), 3)])),
    "a value cut in two": ("ends before", Column("INT64", [Page(b"1234567", 1)])),
    "bits missing": ("ends before", Column("BOOLEAN", [Page(b"\xff", 9)])),
    "a length cut in two": ("ends before", Column("BYTE_ARRAY", [Page(b"\1\0", 1)])),
    "a string longer than its page": (
        "longer than its page",
        Column("BYTE_ARRAY", [Page(b"\xff\xff\xff\xffab", 1)]),
    ),
    "an index beyond the dictionary, packed": (
        "beyond the dictionary, at value 2",
        Column("INT32", [dictionary(int32(4), 1), Page(b"\1" + packed([0, 0, 1], 1), 3, 8)]),
    ),
    "an index beyond the dictionary, repeated": (
        "beyond the dictionary",
        Column("INT32", [dictionary(int32(4), 1), Page(b"\x20" + repeated(1 << 31, 3, 32), 3, 8)]),
    ),
    "an index into an empty dictionary": (
        "beyond the dictionary",
        Column("INT32", [dictionary(b"", 0), Page(b"\0", 3, 8)]),
    ),
    "no dictionary": ("no dictionary page", Column("INT32", [Page(b"\0", 3, 8)])),
    "a width of 33": (
        "above 32",
        Column("INT32", [dictionary(int32(4), 1), Page(b"\x21" + repeated(0, 3, 33), 3, 8)]),
    ),
    "no width": ("ends before", Column("INT32", [dictionary(int32(4), 1), Page(b"", 3, 8)])),
    "a dictionary of more entries than bytes": (
        "ends before",
        Column("INT32", [dictionary(int32(4), 1 << 30), Page(b"\0", 3, 8)]),
    ),
    "levels longer than the page": (
        "ends before",
        Column("INT32", [Page(b"\xff\0\0\0" + int32(1), 3)], optional=True),
    ),
    "levels that are cut": (
        "ends before",
        Column("INT32", [Page(prefixed(b"\x06"), 3)], optional=True),
    ),
    "no room for the levels' length": (
        "ends before",
        Column("INT32", [Page(b"\1", 3)], optional=True),
    ),
    "a level above the maximum": (
        "above the column's maximum",
        Column("INT32", [Page(prefixed(repeated(2, 3, 1)) + int32(1, 2, 3), 3)], optional=True),
    ),
    "an RLE boolean of 2": (
        "does not fit",
        Column("BOOLEAN", [Page(prefixed(repeated(2, 3, 1)), 3, RLE)]),
    ),
    "RLE booleans longer than the page": (
        "ends before",
        Column("BOOLEAN", [Page(b"\x09\0\0\0\x06\x01", 3, RLE)]),
    ),
    "an INT8 that is not one": (
        "does not fit the column's type, at value 1",
        Column("INT32", [Page(int32(127, 128), 2)], element={"converted_type": 15}),
    ),
    "a time of 24 hours": (
        "does not fit the column's type, at value 1",
        Column("INT32", [Page(int32(86_399_999, 86_400_000), 2)], element={"converted_type": 7}),
    ),
    "a time before midnight": (
        "does not fit the column's type, at value 0",
        Column("INT64", [Page(struct.pack("<q", -1), 1)], element={"converted_type": 8}),
    ),
    "fixed bytes without a length": (
        "the page ends before its values do",
        Column("FIXED_LEN_BYTE_ARRAY", [Page(bytes(4000), 1)]),
    ),
    "a decimal of more than 128 bits": (
        "does not fit",
        Column(
            "BYTE_ARRAY",
            [Page(strings(b"\x01" + bytes(16)), 1)],
            element={"converted_type": 5, "precision": 38, "scale": 1},
        ),
    ),
    "text that is not UTF-8": (
        "not valid UTF-8, at value 1",
        Column("BYTE_ARRAY", [Page(strings(b"ok", b"\xed\xa0\x80"), 2)], element=TEXT),
    ),
    "text over two values": (
        "not valid UTF-8, at value 0",
        Column("BYTE_ARRAY", [Page(strings(b"\xc3", b"\xa9"), 2)], element=TEXT),
    ),
    "an uncompressed page of another size": (
        "uncompressed page of 8 bytes",
        Column("INT32", [Page(int32(1, 2), 2, uncompressed=9)]),
    ),
    "compressed bytes that are none": (
        "SNAPPY",
        Column("INT32", [Page(int32(1, 2), 2)], codec=1),
    ),
    "a compressed page of no bytes": (
        "uncompressed page of 0 bytes",
        Column("INT32", [Page(b"", 2, uncompressed=8)], codec=1),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_pages_are_errors_with_their_place(name: str) -> None:
    message, column = WRONG[name]
    with pytest.raises(CorruptError, match=message) as caught:
        read_columns(file_of(column))
    place = caught.value.place
    in_dictionary = "dictionary of more entries" in name
    assert place["file"] == "memory"
    assert place["row_group"] == 0
    assert place["column"] == "c"
    assert place["page"] == (-1 if in_dictionary else 0)
    assert int(place["offset"]) >= 4


def test_the_first_wrong_page_is_named_whatever_the_number_of_workers() -> None:
    pages = [Page(int32(*range(40_000)), 40_000 + (at in (7, 12)), PLAIN) for at in range(20)]
    data = file_of(Column("INT32", pages))
    for workers in (1, 2, 4):
        for _ in range(5):
            with pytest.raises(CorruptError) as caught:
                read_columns(data, workers=workers)
            assert caught.value.page == 7


BYTE_STREAM_SPLIT = 9


def test_byte_streams_beside_nulls_and_cut_short() -> None:
    levels = prefixed(packed([1, 0, 1], 1))
    streams = bytes([1, 2, 0, 0, 0, 0, 0, 1])
    column = Column("INT32", [Page(levels + streams, 3, BYTE_STREAM_SPLIT)], optional=True)
    assert values_of(file_of(column)) == [1, None, 2 + (1 << 24)]
    column.pages[0].body = levels + streams[:7]
    with pytest.raises(CorruptError, match="ends before"):
        read_columns(file_of(column))
    with pytest.raises(UnsupportedError, match="BYTE_STREAM_SPLIT"):
        read_columns(file_of(Column("BYTE_ARRAY", [Page(b"", 1, BYTE_STREAM_SPLIT)])))


UNSUPPORTED = {
    "DELTA_BINARY_PACKED": Column("DOUBLE", [Page(b"", 1, 5)]),
    "encoding 200": Column("INT32", [Page(b"", 1, 200)]),
    "RLE": Column("INT32", [Page(b"", 1, RLE)]),
    "BIT_PACKED": Column("BOOLEAN", [Page(b"\1", 1, BIT_PACKED)]),
    "LZO": Column("INT32", [Page(int32(1), 1)], codec=3),
    "codec 77": Column("INT32", [Page(int32(1), 1)], codec=77),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_not_read_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedError, match=name) as caught:
        read_columns(file_of(UNSUPPORTED[name]))
    assert caught.value.place["column"] == "c"


def test_row_counts_that_disagree_are_errors() -> None:
    page = Page(int32(1, 2), 2)
    for num_rows in (1, 3):
        data = file_of(Column("INT32", [page], num_values=num_rows), num_rows=num_rows)
        with pytest.raises(CorruptError, match="row") as caught:
            read_columns(data)
        assert caught.value.place["column"] == "c"


def test_checksums_are_checked_on_request() -> None:
    wrong = file_of(Column("INT32", [Page(int32(1), 1), Page(int32(2), 1, crc=1)]))
    assert values_of(wrong) == [1, 2]
    with pytest.raises(CorruptError, match="CRC-32 is 0x") as caught:
        read_columns(wrong, verify_checksums=True)
    assert caught.value.page == 1
    assert caught.value.field == "PageHeader.crc"
    right = file_of(Column("INT32", [Page(int32(1), 1), Page(int32(2), 1)]))
    assert values_of(right, verify_checksums=True) == [1, 2]


def int96(day: int, ns: int) -> bytes:
    return struct.pack("<qI", ns, day)


def test_int96_in_and_beyond_the_range_of_nanoseconds() -> None:
    day_ns = 86_400 * 10**9
    first, last = -(2**63), 2**63 - 1
    inside = [0, first, last, -1, day_ns - 1, -day_ns]
    stored = b"".join(int96(2_440_588 + value // day_ns, value % day_ns) for value in inside)
    data = file_of(Column("INT96", [Page(stored, len(inside))]))
    series = read_frame(data)["c"]
    assert str(series.dtype) == "Datetime(time_unit='ns', time_zone=None)"
    assert series.to_physical().to_list() == inside
    for beyond in (first - 1, last + 1, 253_402_300_799 * 10**9, -62_135_596_800 * 10**9):
        stored = int96(2_440_588 + beyond // day_ns, beyond % day_ns)
        data = file_of(Column("INT96", [Page(stored, 1)]))
        with pytest.raises(CorruptError, match='int96_unit="us"'):
            read_columns(data)
        assert read_frame(data, int96_unit="us")["c"].to_physical().to_list() == [beyond // 1_000]


def test_invalid_utf8_as_binary() -> None:
    data = file_of(Column("BYTE_ARRAY", [Page(strings(b"ok", b"\xff"), 2)], element=TEXT))
    assert values_of(data, invalid_utf8="binary") == [b"ok", b"\xff"]


def test_interval_is_three_numbers() -> None:
    element = {"type_length": 12, "converted_type": 21}
    levels = prefixed(packed([1, 0, 1], 1))
    body = levels + struct.pack("<6I", 1, 2, 3, 2**32 - 1, 0, 9)
    data = file_of(Column("FIXED_LEN_BYTE_ARRAY", [Page(body, 3)], optional=True, element=element))
    assert values_of(data) == [
        {"months": 1, "days": 2, "milliseconds": 3},
        None,
        {"months": 2**32 - 1, "days": 0, "milliseconds": 9},
    ]


def test_v2_pages_that_old_writers_call_uncompressed() -> None:
    body = pa.Codec("snappy").compress(int32(*([5] * 50)), asbytes=True)
    page = Page(body, 50, v2={"is_compressed": False}, uncompressed=200)
    column = Column("INT32", [page], codec=1)
    data = file_of(column, created_by="parquet-cpp version 1.5.1-SNAPSHOT")
    assert values_of(data) == [5] * 50 == pyarrow_values(data)
    with pytest.raises(CorruptError):
        read_columns(file_of(column))


def test_limits_stop_a_page_and_a_read_before_memory_is_taken() -> None:
    claims = Page(b"\0", 1 << 20, uncompressed=1 << 30)
    data = file_of(Column("INT32", [claims], codec=1))
    with pytest.raises(LimitError, match="page_bytes") as caught:
        read_columns(data, limits=Limits(page_bytes=1 << 20))
    assert caught.value.page == 0
    assert "pqlab.Limits(page_bytes=1073741824)" in str(caught.value)
    with pytest.raises(LimitError, match="read_bytes"):
        read_columns(data, limits=Limits(read_bytes=1 << 20))


def paged_table() -> tuple[bytes, pa.Table]:
    rng = np.random.default_rng(8)
    rows = 5_000
    null = rng.random(rows) < 0.3
    table = pa.table(
        {
            "number": pa.array(np.arange(rows), mask=null),
            "bool": pa.array(rng.random(rows) < 0.5, mask=null),
            "text": pa.array([f"value number {i}" for i in range(rows)], mask=null),
            "few": pa.array([f"a text of some length {i % 7}" for i in range(rows)]),
        }
    )
    sink = io.BytesIO()
    options: dict[str, Any] = {"write_batch_size": 50, "data_page_size": 600}
    pq.write_table(table, sink, row_group_size=2_100, use_dictionary=["few"], **options)
    return sink.getvalue(), table


def test_any_rows_of_unresolved_chunks() -> None:
    data, table = paged_table()
    rng = np.random.default_rng(9)
    counts = [2_100, 2_100, 800]
    for _ in range(40):
        rows: dict[int, Ranges] = {}
        taken: list[int] = []
        for group, count in enumerate(counts):
            borders = sorted(rng.choice(count + 1, 2 * int(rng.integers(1, 4)), replace=False))
            rows[group] = list(zip(borders[::2], borders[1::2], strict=True))
            taken += [
                2_100 * group + row for start, stop in rows[group] for row in range(start, stop)
            ]
        columns = read_columns(data, rows=rows, workers=int(rng.integers(1, 4)))
        for column in columns:
            expected = table[column.leaf.name].take(taken)
            assert to_series(column).to_list() == expected.to_pylist()


def test_resolved_runs_of_pages() -> None:
    pages = [Page(int32(*range(at * 10, at * 10 + 10)), 10) for at in range(6)]
    data = file_of(Column("INT32", pages))
    metadata = metadata_of(data)
    sizes = [len(page.written()) for page in pages]
    starts = [4 + sum(sizes[:at]) for at in range(7)]

    def read(runs: tuple[PageRun, ...], rows: tuple[tuple[int, int], ...]) -> list[int]:
        tables = tables_of(metadata, [0], {0: rows}, [runs], resolved=True)
        plan = replace(plan_of(metadata), tables=tables)
        decoded = engine.read(plan, metadata, InMemory(data))
        values: list[int] = pa.record_batch(decoded).column(0).to_pylist()
        return values

    runs = (PageRun(starts[1], starts[2], 1, 10), PageRun(starts[4], starts[6], 4, 40))
    assert read(runs, ((12, 15), (48, 52))) == [12, 13, 14, 48, 49, 50, 51]
    with pytest.raises(CorruptError, match="hold 3 rows of the 5 rows"):
        read(runs, ((12, 15), (30, 32)))
    with pytest.raises(CorruptError, match="begins in the rows"):
        read((runs[1], runs[0]), ((12, 15),))
    with pytest.raises(CorruptError, match="the row group has 60 rows"):
        read((PageRun(starts[1], starts[2], 1, 55),), ((56, 57),))


def test_a_dictionary_page_by_itself() -> None:
    data, table = paged_table()
    metadata = metadata_of(data)
    start, stop = chunk_range(metadata, 0, 3)
    page = InMemory(data).view(start, stop)
    entries = pl.DataFrame(engine.read_dictionary(metadata, 0, 3, page, start))
    assert sorted(entries.to_series()) == sorted(set(table["few"].to_pylist()))
    start, stop = chunk_range(metadata, 0, 0)
    with pytest.raises(CorruptError, match="no dictionary page") as caught:
        engine.read_dictionary(metadata, 0, 0, InMemory(data).view(start, stop), start, file="f")
    assert caught.value.place["page"] == -1
    assert caught.value.place["column"] == "number"
    assert caught.value.place["file"] == "f"


def test_dictionary_entries_of_booleans() -> None:
    data = file_of(Column("BOOLEAN", [dictionary(b"\x02", 2), Page(b"\1" + packed([1], 1), 1, 8)]))
    metadata = metadata_of(data)
    start, stop = chunk_range(metadata, 0, 0)
    decoded = engine.read_dictionary(metadata, 0, 0, InMemory(data).view(start, stop), start)
    assert pl.DataFrame(decoded).to_series().to_list() == [False, True]


def test_strings_point_into_pages_that_are_kept_exactly() -> None:
    values = [b"longer than twelve bytes %d" % at for at in range(50)]
    body = strings(*values)
    stored = pa.Codec("snappy").compress(body, asbytes=True)
    pages = [Page(stored, 50, uncompressed=len(body)), Page(strings(b"short"), 1)]
    pages[1].body = pa.Codec("snappy").compress(pages[1].body, asbytes=True)
    pages[1].uncompressed = 9
    (column,) = read_columns(file_of(Column("BYTE_ARRAY", pages, codec=1)))
    assert column.view_buffer_sizes == [len(body), 0]  # nothing points into the second
    assert to_series(column).to_list() == [*values, b"short"]


def test_every_stage_of_every_page_is_an_event() -> None:
    data, _ = paged_table()
    recorded: list[np.ndarray] = []
    read_columns(data, recorder=lambda events, _: recorded.append(events), workers=2)
    (events,) = recorded
    assert events.dtype == EVENT
    metadata = metadata_of(data)
    stages = {
        stage: {
            (int(e["row_group"]), int(e["leaf"]), int(e["page"]))
            for e in events
            if e["stage"] == stage
        }
        for stage in (Stage.DECOMPRESS, Stage.LEVELS, Stage.DECODE)
    }
    assert stages[Stage.DECOMPRESS] == stages[Stage.DECODE]
    data_pages = {key for key in stages[Stage.DECODE] if key[2] >= 0}
    assert stages[Stage.LEVELS] == data_pages
    pages = sum(
        stats.count
        for group in range(3)
        for leaf in range(4)
        for stats in metadata.raw_chunk(group, leaf).meta_data.encoding_stats
    )
    assert len(stages[Stage.DECODE]) == pages
    assert (events["duration_ns"] >= 0).all()
    assert set(events["worker"]) <= {0, 1}
    decoded = events[events["stage"] == Stage.DECODE]
    assert decoded["values"][decoded["page"] >= 0].sum() == 5_000 * 4


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_many_pages_decompressed_two_at_once(version: str) -> None:
    rng = np.random.default_rng(11)
    rows = 3_000
    times = np.cumsum(rng.integers(0, 5_000_000, rows))
    texts = [f"text {at % 700} of {at}" for at in range(rows)]
    table = pa.table(
        {
            "times": times,
            "nulls": pa.array(times.tolist(), mask=rng.random(rows) < 0.3),
            "texts": texts,
            "lists": [[text, None] for text in texts],
            "flags": times % 3 == 0,
        },
        schema=pa.schema(
            [
                pa.field("times", pa.int64(), nullable=False),
                pa.field("nulls", pa.int64()),
                pa.field("texts", pa.string()),
                pa.field("lists", pa.list_(pa.string())),
                pa.field("flags", pa.bool_()),
            ]
        ),
    )
    sink = io.BytesIO()
    pq.write_table(
        table, sink, compression="snappy", use_dictionary=False, data_page_size=512,
        write_batch_size=50, data_page_version=version,
    )  # fmt: skip
    data = sink.getvalue()
    trace = pqlab.Trace()
    with pqlab.open(data) as file:
        pages = file.pages()
        assert len(pages) > 100
        assert (
            file.select()
            .read(workers=1, trace=trace)
            .to_arrow()
            .equals(pl.read_parquet(io.BytesIO(data)).to_arrow())
        )
    decompressed = trace.to_frame().filter(pl.col("stage") == "decompress")
    assert decompressed.select("column", "page").is_duplicated().sum() == 0
    expected = pages.filter("is_compressed").select("column", "page")
    assert (
        decompressed.select("column", "page")
        .sort("column", "page")
        .equals(expected.sort("column", "page"), null_equal=True)
    )
    # A block that is wrong is the page's that holds it, whichever of two it is.
    times_pages = pages.filter(pl.col("column") == "times").sort("page")
    for page, offset, header_bytes in times_pages.select("page", "offset", "header_bytes").rows()[
        :6
    ]:
        wrong = bytearray(data)
        wrong[offset + header_bytes] ^= 0x01  # the length that begins the block
        with pytest.raises(CorruptError, match="SNAPPY") as caught:
            pqlab.read(bytes(wrong), workers=1)
        assert (caught.value.column, caught.value.page) == ("times", page)
