"""The page index in bulk: against duckdb, against thriftpy2 on the corpus, and contradictions."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from thriftpy2.protocol.compact import TCompactProtocol
from thriftpy2.transport.memory import TMemoryBuffer

from pqlab.errors import CorruptError, LimitError, PqlabError, SourceError
from pqlab.footer import raw
from pqlab.footer.metadata import FileMetaData, parse_file_metadata
from pqlab.footer.page_headers import drive, pages_from_headers
from pqlab.footer.page_index import IndexRanges, index_ranges, pages_from_index
from pqlab.footer.page_merge import concat, merge
from pqlab.footer.page_table import (
    KNOWN_FROM_HEADER,
    KNOWN_FROM_INDEX,
    PAGE,
    BoundsState,
    PageTable,
)
from pqlab.limits import Limits


def parse(data: bytes) -> FileMetaData:
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    return parse_file_metadata(data[start:-8], start)


def indexed(data: bytes, metadata: FileMetaData, **options: Any) -> tuple[PageTable, np.ndarray]:
    """All pages that the index knows, and the rows of the other chunks."""
    index = index_ranges(metadata, **options)
    return pages_from_index(metadata, index, [data[start:stop] for start, stop in index.ranges])


def walked(data: bytes, metadata: FileMetaData) -> PageTable:
    return concat(
        [
            drive(
                pages_from_headers(metadata, row_group, leaf), lambda start, stop: data[start:stop]
            )
            for row_group in range(metadata.num_row_groups)
            for leaf in range(metadata.num_leaves)
        ]
    )


def bound(table: PageTable, page: np.void, side: str) -> bytes | None:
    start, length = int(page[f"{side}_start"]), int(page[f"{side}_length"])
    return None if start < 0 else table.statistics[start : start + length].tobytes()


def thrift_bytes(struct: Any) -> bytes:
    transport = TMemoryBuffer()
    TCompactProtocol(transport).write_struct(struct)
    return bytes(transport.getvalue())


def by_thriftpy2(name: str, data: bytes) -> Any:
    struct = getattr(raw.idl(), name)()
    TCompactProtocol(TMemoryBuffer(data)).read_struct(struct)
    return struct


NUM_ROWS = 4000


@pytest.fixture(scope="module", params=["1.0", "2.0"])
def written(request: pytest.FixtureRequest) -> bytes:
    """Flat, nullable, text, all-null and nested columns; many pages; three row groups."""
    numbers = range(NUM_ROWS)
    table = pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "maybe": pa.array([None if i % 3 else i for i in numbers], pa.int32()),
            "text": pa.array([f"text {i % 90}" if i % 11 else "" for i in numbers]),
            "nothing": pa.array([None] * NUM_ROWS, pa.float64()),
            "gap": pa.array([None if 1000 <= i < 1600 else i for i in numbers], pa.int64()),
            "list": pa.array([[i] * (i % 4) for i in numbers], pa.list_(pa.int32())),
        }
    )
    sink = io.BytesIO()
    pq.write_table(
        table,
        sink,
        row_group_size=1500,
        data_page_size=256,
        write_batch_size=50,
        dictionary_pagesize_limit=512,
        write_page_index=True,
        write_page_checksum=True,
        data_page_version=request.param,
    )
    return sink.getvalue()


def test_pages_are_those_of_duckdb(written: bytes, tmp_path: Path) -> None:
    path = tmp_path / "written.parquet"
    path.write_bytes(written)
    query = (
        "SELECT row_group_id, column_id, page_id, page_offset, compressed_page_size, "
        f"first_row_index, num_rows, null_page, null_count FROM parquet_page_index('{path}') "
        "ORDER BY ALL"
    )
    expected = duckdb.execute(query).fetchall()
    table, unindexed = indexed(written, parse(written))
    pages = table.pages[table.pages["page"] >= 0]
    names = (
        "row_group", "leaf", "page", "offset", "total_bytes", "first_row", "num_rows",
        "bounds_state", "num_nulls",
    )  # fmt: skip
    columns = [pages[name].tolist() for name in names]
    columns[-2] = [state == BoundsState.EMPTY for state in columns[-2]]
    assert list(zip(*columns, strict=True)) == expected
    assert len(unindexed) == 0
    assert table.warnings == ()
    assert set(pages["known_from"].tolist()) == {KNOWN_FROM_INDEX}


def test_bounds_of_numbers_and_texts_are_those_of_duckdb(written: bytes, tmp_path: Path) -> None:
    path = tmp_path / "written.parquet"
    path.write_bytes(written)
    metadata = parse(written)
    table, _ = indexed(written, metadata)
    for leaf, decode in (
        (0, lambda b: str(int.from_bytes(b, "little", signed=True))),
        (2, bytes.decode),
        (4, lambda b: str(int.from_bytes(b, "little", signed=True))),
    ):
        query = (
            f"SELECT min_value, max_value FROM parquet_page_index('{path}') "
            f"WHERE column_id = {leaf} ORDER BY row_group_id, page_id"
        )
        pages = table.pages[(table.pages["leaf"] == leaf) & (table.pages["page"] >= 0)]
        ours = [
            tuple(None if b is None else decode(b) for b in (low, high))
            for low, high in ((bound(table, p, "min"), bound(table, p, "max")) for p in pages)
        ]
        assert ours == duckdb.execute(query).fetchall()
    states = table.pages["bounds_state"][table.pages["leaf"] == 4]
    assert {BoundsState.EMPTY, BoundsState.PRESENT} <= set(states.tolist())


def test_flat_columns_have_values_and_lists_have_rows(written: bytes) -> None:
    metadata = parse(written)
    table, _ = indexed(written, metadata)
    data = table.pages[table.pages["page"] >= 0]
    flat = data["leaf"] < 5
    assert (data["num_values"][flat] == data["num_rows"][flat]).all()
    assert set(data["num_values"][~flat].tolist()) == {-1}
    for leaf in range(metadata.num_leaves):
        assert data["num_rows"][data["leaf"] == leaf].sum() == NUM_ROWS


def test_index_and_headers_tell_of_the_same_pages(written: bytes) -> None:
    metadata = parse(written)
    table, headers = indexed(written, metadata)[0], walked(written, metadata)
    for name in ("row_group", "leaf", "page", "offset", "total_bytes"):
        assert (table.pages[name] == headers.pages[name]).all(), name
    flat = table.pages["leaf"] < 5
    for name in ("first_row", "num_rows"):
        assert (table.pages[name][flat] == headers.pages[name][flat]).all(), name


def test_merged_rows_know_what_either_knows(written: bytes) -> None:
    metadata = parse(written)
    table, headers = indexed(written, metadata)[0], walked(written, metadata)
    merged = merge(table, headers)
    assert set(merged.pages["known_from"].tolist()) == {KNOWN_FROM_INDEX | KNOWN_FROM_HEADER}
    for name in ("encoding", "type", "header_bytes", "uncompressed_page_size", "num_values", "crc"):
        assert (merged.pages[name] == headers.pages[name]).all(), name
    data = merged.pages["page"] >= 0
    for name in ("first_row", "num_rows", "num_nulls", "bounds_state"):
        assert (merged.pages[name][data] == table.pages[name][data]).all(), name
    for old, new in zip(table.pages, merged.pages, strict=True):
        for side in ("min", "max"):
            assert bound(table, old, side) == bound(merged, new, side)
    assert (table.pages["known_from"] == KNOWN_FROM_INDEX).all()  # the old table is as it was


def test_any_part_of_the_headers_can_be_merged(written: bytes) -> None:
    metadata = parse(written)
    table, headers = indexed(written, metadata)[0], walked(written, metadata)
    whole = merge(table, headers)
    picked = np.arange(len(headers)) % 3 == 1
    part = PageTable(headers.pages[picked], headers.statistics)
    merged = merge(table, part)
    assert merged.pages[picked]["encoding"].tolist() == whole.pages[picked]["encoding"].tolist()
    assert set(merged.pages[~picked]["encoding"].tolist()) == {-1}
    assert (merged.pages[~picked] == table.pages[~picked]).all()


def test_bounds_come_from_headers_where_the_index_has_none(written: bytes) -> None:
    metadata = parse(written)
    without, _ = indexed(written, metadata, column_index=False)
    assert set(without.pages["bounds_state"].tolist()) == {BoundsState.ABSENT}
    headers = walked(written, metadata)
    merged = merge(without, headers)
    for found, page in zip(headers.pages, merged.pages, strict=True):
        assert page["bounds_state"] == found["bounds_state"]
        for side in ("min", "max"):
            assert bound(headers, found, side) == bound(merged, page, side)


def test_chunks_and_dictionary_pages_unknown_to_the_index_become_rows(written: bytes) -> None:
    metadata = parse(written)
    table, headers = indexed(written, metadata)[0], walked(written, metadata)
    some = (table.pages["page"] >= 0) & (table.pages["leaf"] != 2)
    merged = merge(PageTable(table.pages[some], table.statistics), headers)
    assert merged.pages["offset"].tolist() == headers.pages["offset"].tolist()


def test_headers_that_contradict_the_offset_index_are_refused(written: bytes) -> None:
    metadata = parse(written)
    table, headers = indexed(written, metadata)[0], walked(written, metadata)
    moved = headers.pages.copy()
    moved["offset"][5] += 1
    with pytest.raises(CorruptError, match="offset differs") as caught:
        merge(table, PageTable(moved, headers.statistics))
    assert caught.value.page == headers.pages["page"][5]
    extra = headers.pages[5:6].copy()
    extra["page"] = 10_000
    with pytest.raises(CorruptError, match="lacks the page"):
        merge(table, PageTable(extra, headers.statistics))


def test_several_buffers_and_any_number_of_threads_give_the_same_pages(written: bytes) -> None:
    metadata = parse(written)
    whole, _ = indexed(written, metadata)
    index = index_ranges(metadata)
    buffers = [written[start:stop] for start, stop in index.ranges]
    for threads in (1, 2, 7):
        again, _ = pages_from_index(metadata, index, buffers, threads=threads)
        assert again.pages.tobytes() == whole.pages.tobytes()
    parts = index_ranges(metadata, leaves=[0, 2, 5], row_groups=[0, 2])
    assert len(parts.ranges) > 3
    assert parts.wanted_bytes < index.wanted_bytes
    table, _ = pages_from_index(metadata, parts, [written[a:b] for a, b in parts.ranges])
    chosen = np.isin(whole.pages["leaf"], [0, 2, 5]) & np.isin(whole.pages["row_group"], [0, 2])
    assert len(table) == chosen.sum()
    for page, expected in zip(table.pages, whole.pages[chosen], strict=True):
        assert page[["offset", "first_row"]] == expected[["offset", "first_row"]]
        for side in ("min", "max"):
            assert bound(table, page, side) == bound(whole, expected, side)


def test_one_buffer_is_used_in_place(written: bytes) -> None:
    metadata = parse(written)
    index = index_ranges(metadata)
    ((start, stop),) = index.ranges
    buffer = np.frombuffer(written, np.uint8)[start:stop]
    table, _ = pages_from_index(metadata, index, [buffer])
    assert np.shares_memory(table.statistics, buffer)
    assert not table.pages.flags.writeable


def test_bytes_that_were_not_asked_for_are_an_error(written: bytes) -> None:
    metadata = parse(written)
    index = index_ranges(metadata)
    with pytest.raises(SourceError):
        pages_from_index(metadata, index, [b"short"])


# ----------------------------------------------------------------------------------- the corpus

# Files of the corpus, whole by design, some of whose offset indexes cannot be true.
WRONG_OFFSET_INDEXES = {
    # Empty pages stand at offset -1 with size 0: PageIndex.md knows no such entry.
    "apache__impala/testdata/data/alltypes_empty_pages.parquet",
    # "Equal to the sum of the page's PageHeader.compressed_page_size and the size of the
    # serialized PageHeader": these sizes leave the header out.
    "hangxie__parquet-tools/testdata/all-types.parquet",
    "hangxie__parquet-tools/testdata/map-composite-value.parquet",
    "hangxie__parquet-tools/testdata/map-value-map.parquet",
    "hangxie__parquet-tools/testdata/nil-statistics.parquet",
    "parquet-go__parquet-go/testdata/issue206.parquet",
    # "It is required that page_locations[i].first_row_index < page_locations[i+1]": all are 0.
    "LibertyDSNP__parquetjs/examples/server/public/files/fruits-bloomfilter.parquet",
    "LibertyDSNP__parquetjs/examples/server/public/files/fruits-statistics.parquet",
    # The index's offsets are those of a longer file.
    "r-lib__nanoparquet/tests/testthat/data/repeated_primitive_no_list_no_nest.parquet",
}


def expected_rows(data: bytes, metadata: FileMetaData, row: int) -> list[tuple[Any, ...]]:
    row_group, leaf = divmod(row, metadata.num_leaves)
    chunk = metadata.raw_chunk(row_group, leaf)
    index = by_thriftpy2("OffsetIndex", data[chunk.offset_index_offset :])
    locations = index.page_locations
    stops = [*(p.first_row_index for p in locations[1:]), metadata.row_groups.num_rows[row_group]]
    return [
        (
            row_group, leaf, i, location.offset, location.compressed_page_size,
            location.first_row_index, int(stop) - location.first_row_index,
        )
        for i, (location, stop) in enumerate(zip(locations, stops, strict=True))
    ]  # fmt: skip


def expected_bounds(data: bytes, chunk: Any, count: int) -> list[tuple[Any, ...]]:
    nothing = [(BoundsState.ABSENT, -1, None, None)] * count
    if chunk.column_index_offset is None or chunk.column_index_length is None:
        return nothing
    index = by_thriftpy2("ColumnIndex", data[chunk.column_index_offset :])
    lists = (index.null_pages, index.min_values, index.max_values)
    if any(part is None or len(part) != count for part in lists):
        return nothing
    nulls = index.null_counts or [-1] * count
    return [
        (BoundsState.EMPTY if empty else BoundsState.PRESENT, max(n, -1))
        + ((None, None) if empty else (low, high))
        for empty, low, high, n in zip(*lists, nulls, strict=True)
    ]


def test_page_indexes_of_the_corpus_are_read_as_thriftpy2_reads_them(
    corpus: Path, manifest: list[dict[str, str]]
) -> None:
    files, wrong = 0, set()
    for entry in manifest:
        if entry["corrupt_by_design"] or entry["offset_index"] != "true" or entry["encryption"]:
            continue
        data = (corpus / entry["file"]).read_bytes()
        metadata = parse(data)
        index = index_ranges(metadata)
        table, unindexed = pages_from_index(
            metadata, index, [data[start:stop] for start, stop in index.ranges]
        )
        if len(unindexed) > len(index.unindexed) or "lie outside" in "".join(index.warnings):
            wrong.add(entry["file"])
        pages = table.pages[table.pages["page"] >= 0]
        names = (
            "row_group", "leaf", "page", "offset", "total_bytes", "first_row", "num_rows"
        )  # fmt: skip
        ours = list(zip(*(pages[name].tolist() for name in names), strict=True))
        bounds = [
            (p["bounds_state"], p["num_nulls"], bound(table, p, "min"), bound(table, p, "max"))
            for p in pages
        ]
        rows = set(
            (index.chunks["row_group"] * metadata.num_leaves + index.chunks["leaf"]).tolist()
        )
        expected, expected_bounds_ = [], []
        for row in sorted(rows - set(unindexed.tolist())):
            chunk_pages = expected_rows(data, metadata, row)
            expected += chunk_pages
            chunk = metadata.raw_chunk(*divmod(row, metadata.num_leaves))
            expected_bounds_ += expected_bounds(data, chunk, len(chunk_pages))
        assert ours == expected, entry["file"]
        assert bounds == expected_bounds_, entry["file"]
        files += 1
    assert files > 600
    assert wrong == WRONG_OFFSET_INDEXES


# ----------------------------------------------------------------------------- contradictions


def edited(
    data: bytes, edit: Callable[[Any, Any], None], leaf: int = 0, row_group: int = 0
) -> tuple[bytes, FileMetaData]:
    """The file with one chunk's index structs edited and written anew, by thriftpy2."""
    metadata = parse(data)
    file = metadata.raw()
    chunk = file.row_groups[row_group].columns[leaf]
    offsets = by_thriftpy2("OffsetIndex", data[chunk.offset_index_offset :])
    bounds = by_thriftpy2("ColumnIndex", data[chunk.column_index_offset :])
    edit(offsets, bounds)
    body = bytearray(data[: metadata.footer_offset])
    for name, struct in (("offset_index", offsets), ("column_index", bounds)):
        encoded = thrift_bytes(struct)
        setattr(chunk, f"{name}_offset", len(body))
        setattr(chunk, f"{name}_length", len(encoded))
        body += encoded
    footer = thrift_bytes(file)
    whole = bytes(body) + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    return whole, parse(whole)


def set_location(page: int, **cells: int | None) -> Callable[[Any, Any], None]:
    def edit(offsets: Any, _bounds: Any) -> None:
        for name, value in cells.items():
            setattr(offsets.page_locations[page], name, value)

    return edit


def keep_locations(count: int) -> Callable[[Any, Any], None]:
    def edit(offsets: Any, _bounds: Any) -> None:
        del offsets.page_locations[count:]

    return edit


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (set_location(3, offset=-1), "PageLocation.offset"),
        (set_location(3, offset=4), "PageLocation.offset"),
        (set_location(0, offset=0), "PageLocation.offset"),
        (set_location(3, offset=1 << 62), "PageLocation.offset"),
        (set_location(3, compressed_page_size=-5), "PageLocation.compressed_page_size"),
        (set_location(3, compressed_page_size=0), "PageLocation.compressed_page_size"),
        (set_location(3, compressed_page_size=(1 << 31) - 1), "PageLocation.offset"),
        (set_location(0, first_row_index=1), "PageLocation.first_row_index"),
        (set_location(3, first_row_index=0), "PageLocation.first_row_index"),
        (set_location(3, first_row_index=-(1 << 63)), "PageLocation.first_row_index"),
        (set_location(3, first_row_index=1 << 40), "PageLocation.first_row_index"),
        (set_location(3, first_row_index=None), "PageLocation.first_row_index"),
        (keep_locations(2), "PageLocation.compressed_page_size"),
        (keep_locations(0), "OffsetIndex.page_locations"),
    ],
)
def test_an_offset_index_that_cannot_be_true_is_not_used(
    written: bytes, edit: Callable[[Any, Any], None], field: str
) -> None:
    data, metadata = edited(written, edit)
    table, unindexed = indexed(data, metadata)
    assert unindexed.tolist() == [0]
    (warning,) = table.warnings
    assert field in warning
    assert "row group 0, column 'id'" in warning
    assert "offset index is not used" in warning
    expected = indexed(written, parse(written))[0].pages
    of_chunk = (expected["row_group"] == 0) & (expected["leaf"] == 0)
    assert table.pages["offset"].tolist() == expected["offset"][~of_chunk].tolist()


def cut_bounds(**lists: Any) -> Callable[[Any, Any], None]:
    def edit(_offsets: Any, bounds: Any) -> None:
        for name, change in lists.items():
            setattr(bounds, name, change(getattr(bounds, name)))

    return edit


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (cut_bounds(null_pages=lambda v: v[1:]), "ColumnIndex.null_pages"),
        (cut_bounds(min_values=lambda v: v[1:]), "ColumnIndex.min_values"),
        (cut_bounds(max_values=lambda v: [*v, b"x"]), "ColumnIndex.max_values"),
        (cut_bounds(null_counts=lambda v: [*v, 1]), "ColumnIndex.null_counts"),
        (cut_bounds(max_values=lambda _: None), "ColumnIndex.max_values"),
    ],
)
def test_a_column_index_that_cannot_be_true_leaves_the_pages_without_bounds(
    written: bytes, edit: Callable[[Any, Any], None], field: str
) -> None:
    data, metadata = edited(written, edit)
    table, unindexed = indexed(data, metadata)
    assert len(unindexed) == 0
    assert field in table.warnings[0]
    assert "column index is not used" in table.warnings[0]
    pages = table.pages[(table.pages["row_group"] == 0) & (table.pages["leaf"] == 0)]
    assert set(pages["bounds_state"].tolist()) == {BoundsState.ABSENT}
    assert set(pages["num_nulls"].tolist()) == {-1}
    others = table.pages[(table.pages["leaf"] == 2) & (table.pages["page"] >= 0)]
    assert set(others["bounds_state"].tolist()) == {BoundsState.PRESENT}


def test_null_counts_of_minus_one_are_unknown(written: bytes) -> None:
    data, metadata = edited(written, cut_bounds(null_counts=lambda v: [-1] * len(v)))
    table, _ = indexed(data, metadata)
    pages = table.pages[(table.pages["row_group"] == 0) & (table.pages["leaf"] == 0)]
    pages = pages[pages["page"] >= 0]
    assert set(pages["num_nulls"].tolist()) == {-1}
    assert set(pages["bounds_state"].tolist()) == {BoundsState.PRESENT}


def moved_index(data: bytes, name: str, offset: int, length: int) -> FileMetaData:
    metadata = parse(data)
    file = metadata.raw()
    chunk = file.row_groups[0].columns[0]
    setattr(chunk, f"{name}_offset", offset)
    setattr(chunk, f"{name}_length", length)
    return parse_file_metadata(thrift_bytes(file), metadata.footer_offset)


@pytest.mark.parametrize(("offset", "length"), [(1 << 40, 100), (5, 1 << 30), (1 << 62, 9)])
def test_indexes_outside_of_the_file_are_not_asked_for(
    written: bytes, offset: int, length: int
) -> None:
    metadata = moved_index(written, "offset_index", offset, length)
    index = index_ranges(metadata)
    assert index.unindexed.tolist() == [0]
    assert "1 offset indexes lie outside of the file" in index.warnings[0]
    metadata = moved_index(written, "column_index", offset, length)
    index = index_ranges(metadata)
    assert len(index.unindexed) == 0
    assert "1 column indexes lie outside of the file" in index.warnings[0]
    assert index.chunks["column_index_length"][0] == 0


def test_limits_of_index_bytes_and_pages(written: bytes) -> None:
    metadata = parse(written)
    with pytest.raises(LimitError, match="index_bytes = 20"):
        index_ranges(metadata, limits=Limits(index_bytes=20))
    index = index_ranges(metadata)
    buffers = [written[start:stop] for start, stop in index.ranges]
    with pytest.raises(LimitError, match="limit pages = 3") as caught:
        pages_from_index(metadata, index, buffers, limits=Limits(pages=3))
    assert caught.value.hint is not None
    assert "Limits(pages=" in caught.value.hint
    assert caught.value.column == "id"


def test_a_list_longer_than_its_bytes_takes_no_memory() -> None:
    table = pa.table({"a": range(10)})
    sink = io.BytesIO()
    pq.write_table(table, sink, write_page_index=True)
    data = bytearray(sink.getvalue())
    metadata = parse(bytes(data))
    start = int(metadata.chunks.offset_index_offset[0])
    data[start : start + 6] = b"\x19\xfc\xff\xff\xff\x7f"  # a list of 2^28 structs
    pages, unindexed = indexed(bytes(data), metadata)
    assert len(pages) == 0
    assert unindexed.tolist() == [0]
    assert "OffsetIndex.page_locations" in pages.warnings[0]


def test_a_dictionary_page_is_found_where_the_footer_does_not_say(written: bytes) -> None:
    metadata = parse(written)
    expected = indexed(written, metadata)[0].pages
    file = metadata.raw()
    for row_group in file.row_groups:
        for leaf, chunk in enumerate(row_group.columns):
            meta = chunk.meta_data
            if meta.dictionary_page_offset is not None:
                meta.data_page_offset = meta.dictionary_page_offset
                meta.dictionary_page_offset = None if leaf % 2 else 0
    again = parse_file_metadata(thrift_bytes(file), metadata.footer_offset)
    pages = indexed(written, again)[0].pages
    assert pages.tobytes() == expected.tobytes()


def test_a_file_without_an_index_asks_for_nothing() -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": range(10), "b": range(10)}), sink)
    metadata = parse(sink.getvalue())
    index = index_ranges(metadata)
    assert (index.ranges, index.unindexed.tolist()) == ((), [0, 1])
    table, unindexed = pages_from_index(metadata, index, [])
    assert (len(table), unindexed.tolist()) == (0, [0, 1])
    assert table.pages.dtype == PAGE


def test_many_small_pages_are_parsed_at_once() -> None:
    sink = io.BytesIO()
    table = pa.table({f"c{i}": pa.array(range(1500), pa.int32()) for i in range(4)})
    pq.write_table(
        table, sink, row_group_size=500, data_page_size=1, write_batch_size=1,
        write_page_index=True, use_dictionary=False,
    )  # fmt: skip
    metadata = parse(sink.getvalue())
    index = index_ranges(metadata)
    assert len(index.ranges) == 1
    pages = indexed(sink.getvalue(), metadata)[0].pages
    assert len(pages) == 3 * 4 * 500
    assert pages["first_row"].tolist() == [*range(500)] * 12
    assert set(pages["num_rows"].tolist()) == {1}


def test_encrypted_and_foreign_chunks_are_left_out(corpus: Path) -> None:
    name = "apache__parquet-testing/data/encrypt_columns_plaintext_footer.parquet.encrypted"
    metadata = parse((corpus / name).read_bytes())
    index: IndexRanges = index_ranges(metadata)
    assert len(index.chunks) + len(index.unindexed) == metadata.num_leaves - 2
    assert index.warnings == ("2 column chunks are encrypted: their pages are not shown",)


def test_damaged_files_of_the_corpus_end_in_pages_warnings_or_typed_errors(
    corpus: Path, manifest: list[dict[str, str]]
) -> None:
    outcomes = []
    for entry in manifest:
        if not entry["corrupt_by_design"]:
            continue
        data = (corpus / entry["file"]).read_bytes()
        try:
            outcomes.append(bool(indexed(data, parse(data))[0].warnings))
        except PqlabError:
            continue
    assert any(outcomes)
