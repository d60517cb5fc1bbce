"""Pages on which readers have failed, case by case: the API, the shell, and other readers agree.

The number is the case's place in the list of test_cases. What odd pages of every kind hold is
tested in test_decode_pages, _deltas, _shapes and _codecs; here is one of each case, by its name.
27 and 28 are in test_cases_values.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Run, Save, refused
from delta_pages import DeltaLayout, delta_byte_array, deltas
from dremel import LIST, MAP, MAP_KEY_VALUE, UTF8, Node, nested_file, page_of, records_file
from edited_footers import rewritten, written
from encoders import FRAMINGS, LZ4_RAW, SNAPPY, compress
from handmade import (
    PLAIN_DICTIONARY,
    RLE,
    RLE_DICTIONARY,
    Column,
    Page,
    file_of,
    packed,
    prefixed,
    repeated,
    varint,
)

import pqlab

DELTA_BINARY_PACKED, DELTA_BYTE_ARRAY = 5, 7
INT32_MAX = (1 << 31) - 1


class Case(NamedTuple):
    """A file of a column `c`, and its values; `peer`: whether pyarrow reads it."""

    data: bytes
    values: list[Any]
    peer: bool = True


def int32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def entries(*values: int) -> Page:
    return Page(int32(*values), len(values), dictionary=True)


def one(physical: str, *pages: Page, **more: Any) -> bytes:
    return file_of(Column(physical, list(pages), **more))


def framed(framing: str) -> bytes:
    codec, compressor = FRAMINGS[framing]
    return _compressed(codec, compressor)


def _compressed(codec: int, compressor: Callable[[bytes], bytes]) -> bytes:
    body = int32(*range(60))
    return one("INT32", Page(compressor(body), 60, uncompressed=len(body)), codec=codec)


TEXT = {"converted_type": UTF8}
FIVE_OF_SEVEN = prefixed(packed([1, 0, 1, 1, 0, 1, 1], 1))
NO_VALUES = prefixed(repeated(0, 3, 1))
STEEP = [INT32_MAX, -INT32_MAX - 1, INT32_MAX, 0, -1]


def v2(levels: bytes, nulls: int, **more: Any) -> dict[str, Any]:
    return {"definition_levels_byte_length": len(levels), "num_nulls": nulls, **more}


def _v2_beside_compressed_values() -> bytes:
    """Levels stay as they are where the values are compressed."""
    levels = packed([1, 0, 1], 1)
    body = levels + compress(SNAPPY, int32(5, 6))
    page = Page(body, 3, v2=v2(levels, 1), uncompressed=len(levels) + 8)
    return one("INT32", page, optional=True, codec=SNAPPY)


def _records(node: Node, *records: Any) -> bytes:
    return records_file(node.levelled(), list(records), page_entries=2)


def _repeated(*fields: Node, name: str = "array") -> Node:
    return Node("optional group c", [Node(f"repeated group {name}", list(fields))], LIST)


A, B = Node("required int32 a"), Node("required int32 b")

CASES: dict[str, Case] = {
    "22 a dictionary of one entry at bit width 0": Case(
        one("INT32", entries(7), Page(b"\0" + repeated(0, 5, 0), 5, RLE_DICTIONARY)), [7] * 5
    ),
    "22 a dictionary of size 0": Case(
        one(
            "INT32",
            Page(b"", 0, dictionary=True),
            Page(NO_VALUES + b"\1", 3, RLE_DICTIONARY),
            optional=True,
        ),
        [None] * 3,
    ),
    "22 a dictionary that no page uses": Case(
        one("INT32", entries(7), Page(int32(5, 6), 2)), [5, 6]
    ),
    "23 a v2 page that holds levels only": Case(
        one(
            "INT32",
            Page(repeated(0, 4, 1), 4, v2=v2(repeated(0, 4, 1), 4)),
            optional=True,
            codec=SNAPPY,
        ),
        [None] * 4,
    ),
    "23 a v2 page that is not compressed": Case(
        one("INT32", Page(int32(4, 5), 2, v2={"is_compressed": False}), codec=SNAPPY), [4, 5]
    ),
    "23 levels of v2 are never compressed": Case(_v2_beside_compressed_values(), [5, None, 6]),
    "24 RLE booleans with nulls": Case(
        one(
            "BOOLEAN",
            Page(FIVE_OF_SEVEN + prefixed(repeated(1, 3, 1) + packed([0, 1], 1)), 7, RLE),
            optional=True,
        ),
        [True, None, True, True, None, False, True],
    ),
    "24 booleans packed over page borders": Case(
        one("BOOLEAN", Page(b"\x05", 3), Page(b"\x02", 3), Page(b"\xff\x01", 9)),
        [True, False, True, False, True, False, *[True] * 9],
    ),
    "25 one value: no deltas and no block": Case(
        one("INT32", Page(deltas([-7]), 1, DELTA_BINARY_PACKED)), [-7]
    ),
    "25 no values": Case(
        one("INT32", Page(NO_VALUES + deltas([]), 3, DELTA_BINARY_PACKED), optional=True),
        [None] * 3,
    ),
    "25 n values are n - 1 deltas": Case(
        one("INT32", Page(deltas(list(range(129))), 129, DELTA_BINARY_PACKED)), list(range(129))
    ),
    "25 unused mini-blocks of any width": Case(
        one("INT64", Page(deltas([3, 1, 4], 64, DeltaLayout(unused_width=99)), 3, 5)), [3, 1, 4]
    ),
    "25 widths of 0": Case(
        one("INT64", Page(deltas([9] * 300, 64), 300, DELTA_BINARY_PACKED)), [9] * 300
    ),
    "25 mini-blocks of 64 values and more": Case(
        one("INT32", Page(deltas([at * at for at in range(200)], 32, DeltaLayout(256, 2)), 200, 5)),
        [at * at for at in range(200)],
    ),
    "25 INT32 that wraps around": Case(
        one("INT32", Page(deltas(STEEP), len(STEEP), DELTA_BINARY_PACKED)), STEEP
    ),
    "26 prefixes that reach into the page before": Case(
        file_of(
            Column(
                "BYTE_ARRAY",
                [
                    Page(delta_byte_array([b"front", b"fro"]), 2, DELTA_BYTE_ARRAY),
                    Page(delta_byte_array([b"frozen"], before=b"fro"), 1, DELTA_BYTE_ARRAY),
                ],
                element=TEXT,
            ),
            created_by="parquet-mr version 1.6.0",
        ),
        ["front", "fro", "frozen"],
        peer=False,
    ),
    "26 a last string that is empty": Case(
        one("BYTE_ARRAY", Page(prefixed(b"a") + prefixed(b""), 2), element=TEXT), ["a", ""]
    ),
    "29 LZ4 in Hadoop's blocks": Case(_compressed(5, lambda b: compress(5, b)), list(range(60))),
    "29 LZ4 as a frame": Case(framed("LZ4 frame"), list(range(60)), peer=False),
    "29 LZ4 as a raw block": Case(framed("LZ4 raw block"), list(range(60)), peer=False),
    "29 LZ4_RAW": Case(
        _compressed(LZ4_RAW, lambda body: compress(LZ4_RAW, body)), list(range(60))
    ),
    "30 gzip of several members": Case(
        framed("GZIP of two members"), list(range(60)), peer=False
    ),
    "31 a repeated field without annotation": Case(
        _records(Node("repeated int32 c"), [1, 2], []), [[1, 2], []]
    ),
    "31 a list of two levels": Case(
        _records(Node("optional group c", [Node("repeated int32 element")], LIST),
                 {"element": [1, 2]}, None, {"element": []}),
        [[1, 2], None, []],
    ),
    "31 a LIST over a group of several fields": Case(
        _records(_repeated(A, B, name="element"), {"element": [{"a": 1, "b": 2}]}),
        [[{"a": 1, "b": 2}]],
    ),
    "31 a LIST over a group of one field that repeats": Case(
        _records(_repeated(Node("repeated int32 a"), name="element"), {"element": [{"a": [1, 2]}]}),
        [[{"a": [1, 2]}]],
    ),
    "31 a LIST over a group named array": Case(
        _records(_repeated(A), {"array": [{"a": 1}]}), [[{"a": 1}]]
    ),
    "31 a LIST over a group named c_tuple": Case(
        _records(_repeated(A, name="c_tuple"), {"c_tuple": [{"a": 1}]}), [[{"a": 1}]]
    ),
    "31 MAP_KEY_VALUE": Case(
        _records(
            Node("optional group c", [Node("repeated group map", [Node("required int32 key"),
                 Node("optional int32 value")])], MAP_KEY_VALUE),
            {"map": [{"key": 1, "value": None}]},
        ),
        [[{"key": 1, "value": None}]],
        peer=False,
    ),
    "31 a map of keys only": Case(
        _records(
            Node("optional group c", [Node("repeated group map", [Node("required int32 key")])],
                 MAP),
            {"map": [{"key": 1}, {"key": 2}]},
        ),
        [[{"key": 1}, {"key": 2}]],
        peer=False,
    ),
    "31 a LogicalType without ConvertedType": Case(
        _records(
            Node("optional group c", [Node("repeated group list", [Node("optional int32 e")])],
                 LIST, logical=True),
            {"list": [{"e": 1}, {"e": None}]},
        ),
        [[1, None]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_case(run: Run, save: Save, name: str) -> None:
    data, values, peer = CASES[name]
    path = save(data)
    assert pqlab.read(path)["c"].to_list() == values
    for workers in (1, 3):
        assert pqlab.open(path).select().to_arrow(workers=workers)["c"].to_pylist() == values
    assert run("read", path, "--json").rows() == [{"c": value} for value in values]
    if peer:
        assert pq.read_table(path)["c"].to_pylist() == values


LEVELS_3 = prefixed(repeated(1, 3, 1))
LISTS = Node("optional group c", [Node("repeated group list", [A])], LIST).levelled()


def _within_a_row(*, v2_page: bool) -> bytes:
    """A chunk whose first repetition level is 1, though no row has begun."""
    (leaf,) = LISTS.leaves()
    return nested_file(LISTS, [[page_of(leaf, [(1, 2, 5), (0, 2, 6)], v2=v2_page)]], 1)


LYING: dict[str, tuple[bytes, str]] = {
    "26 a prefix longer than the value before": (
        one("BYTE_ARRAY", Page(delta_byte_array([b"axis", b"axle"], before=b"axle"), 2, 7)),
        "prefix",
    ),
    "26 a string longer than its page": (
        one("BYTE_ARRAY", Page(struct.pack("<I", 99) + b"ab", 1)), "longer than its page"
    ),
    "32 more values than the page holds": (one("INT32", Page(bytes(8), 3)), "ends before"),
    "32 ends inside a value": (one("INT32", Page(bytes(7), 2)), "ends before"),
    "32 fewer values than its levels": (
        one("INT32", Page(LEVELS_3 + int32(1, 2, 3), 4), optional=True), "ends before"
    ),
    "32 an index beyond the dictionary": (
        one("INT32", entries(0, 0), Page(b"\2" + repeated(3, 2, 2), 2, RLE_DICTIONARY)),
        "beyond the dictionary",
    ),
    "32 a bit width of 200": (
        one("INT32", entries(0, 0), Page(b"\xc8" + repeated(0, 2, 200), 2, RLE_DICTIONARY)),
        "above 32",
    ),
    "32 a run that never ends": (
        one("INT32", entries(0, 0), Page(b"\1" + b"\xff" * 9, 2, PLAIN_DICTIONARY)), "run"
    ),
    "32 a first repetition level of 1": (_within_a_row(v2_page=False), "must begin where the page"),
    "32 a first repetition level of 1 in v2": (
        _within_a_row(v2_page=True), "must begin where the page"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LYING)
def test_case_of_a_page_that_lies(run: Run, save: Save, name: str) -> None:
    data, message = LYING[name]
    path = save(data)
    said = refused(run, path, "read")
    assert message in said
    with pqlab.open(path) as file, pytest.raises(pqlab.CorruptError) as caught:
        file.read()
    place = caught.value.place
    assert str(place["column"]).startswith("c")
    assert (place["row_group"], place["page"]) == (0, 0)
    assert f"offset {place['offset']}" in said


def _dictionary_of_one(*, offset: int | None) -> bytes:
    """One entry and bit width 0; `offset` is what the footer says of where it is."""
    pages = [
        Page(struct.pack("<i", 7), 1, dictionary=True),
        Page(b"\0" + varint(5 << 1), 5, encoding=RLE_DICTIONARY),
    ]

    def change(footer: Any) -> None:
        meta_data = footer.row_groups[0].columns[0].meta_data
        meta_data.data_page_offset = 4
        meta_data.dictionary_page_offset = offset

    return rewritten(file_of(Column("INT32", pages)), change)


@pytest.mark.parametrize("offset", [4, 0, None])
def test_case_22_a_dictionary_of_one_wherever_it_is(
    run: Run, save: Save, offset: int | None
) -> None:
    path = save(_dictionary_of_one(offset=offset))
    assert run("read", path).out == "c\n" + "7\n" * 5
    assert run("dictionary", path, "-c", "c", "--json").rows()[0]["value"] == 7


def test_case_30_gzip_on_many_threads_at_once(save: Save) -> None:
    numbers = np.random.default_rng(1).integers(0, 1 << 40, 60_000)
    table = pa.table({f"c{at}": np.roll(numbers, at) for at in range(4)})
    path = save(written(table, compression="gzip", data_page_size=4096, use_dictionary=False))
    expected = pq.read_table(path)
    with pqlab.open(path) as file, ThreadPoolExecutor(8) as pool:
        reads = [pool.submit(file.select().to_arrow, workers=3) for _ in range(16)]
        assert all(read.result().equals(expected) for read in reads)


def test_case_32_checksums_count_when_they_are_asked_for_and_padding_never(save: Save) -> None:
    page = Page(FIVE_OF_SEVEN + int32(1, 2, 3, 4, 5), 7, crc=1)  # levels padded to 8
    path = save(one("INT32", page, optional=True))
    values = [1, None, 2, 3, None, 4, 5]
    assert pqlab.read(path)["c"].to_list() == values
    with (
        pqlab.open(path, verify_checksums=True) as file,
        pytest.raises(pqlab.CorruptError) as caught,
    ):
        file.read()
    assert "CRC" in str(caught.value)
    assert caught.value.page == 0


@pytest.mark.parametrize("size", [1, 3, 7, 9, 13, 31, 33, 100])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_case_33_nulls_at_the_borders_of_pages(save: Save, size: int, workers: int) -> None:
    """Pages of no multiple of 8 values, each with nulls first and last, decoded at once."""
    rng = np.random.default_rng(size)
    pages, expected = [], []
    for number in range(40):
        there = rng.random(size) < 0.7
        there[[0, -1]] = number % 3 == 0, number % 2 == 0
        values = list(range(number * 1000, number * 1000 + int(there.sum())))
        levels = prefixed(packed(there.astype(int).tolist(), 1))
        pages.append(Page(levels + int32(*values), size))
        left = iter(values)
        expected += [next(left) if is_there else None for is_there in there]
    path = save(one("INT32", *pages, optional=True))
    with pqlab.open(path) as file:
        assert file.read(workers=workers)["c"].to_list() == expected
        assert (
            file.read(rows=(size - 1, 5 * size + 1))["c"].to_list()
            == expected[size - 1 : 5 * size + 1]
        )
    assert pq.read_table(path)["c"].to_pylist() == expected


def test_case_34_an_index_of_pandas_is_an_ordinary_column(run: Run, save: Save) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1.5, 2.5]}, index=pandas.Index(["a", "b"], name="key"))
    sink = io.BytesIO()
    frame.to_parquet(sink)
    path = save(sink.getvalue())
    assert pqlab.read(path).to_dict(as_series=False) == {"x": [1.5, 2.5], "key": ["a", "b"]}
    assert run("read", path, "--json").rows() == [{"x": 1.5, "key": "a"}, {"x": 2.5, "key": "b"}]
    with pqlab.open(path) as file:
        found = file.pandas_metadata()
    assert found is not None
    assert found["index_columns"] == ["key"]
