"""The walk over page headers: against thriftpy2 on the corpus, and on chunks built by hand."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from thriftpy2.protocol.compact import TCompactProtocol
from thriftpy2.transport.memory import TMemoryBuffer

import pqlab
from pqlab.errors import CorruptError, LimitError, PqlabError, SourceError, UnsupportedError
from pqlab.footer import raw
from pqlab.footer.metadata import FileMetaData, parse_file_metadata
from pqlab.footer.page_headers import drive, pages_from_headers
from pqlab.footer.page_merge import concat
from pqlab.footer.page_table import (
    HAS_CRC,
    IS_COMPRESSED,
    KNOWN_FROM_HEADER,
    MAX_EXACT,
    MAX_INEXACT,
    MIN_EXACT,
    MIN_INEXACT,
    BoundsState,
    PageTable,
)
from pqlab.limits import Limits

DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = range(4)


def parse(data: bytes) -> FileMetaData:
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    return parse_file_metadata(data[start:-8], start)


def walk(
    data: bytes, metadata: FileMetaData, row_group: int = 0, leaf: int = 0, **options: Any
) -> PageTable:
    generator = pages_from_headers(metadata, row_group, leaf, **options)
    return drive(generator, lambda start, stop: data[start:stop])


def thrift_bytes(struct: Any) -> bytes:
    transport = TMemoryBuffer()
    TCompactProtocol(transport).write_struct(struct)
    return bytes(transport.getvalue())


# ----------------------------------------------------------------------------------- the corpus

# Chunks without values, whose dictionary pages the manifest does not count; and a file whose
# metadata is wrong on purpose.
COUNTED_OTHERWISE = 9


def expected_cells(header: Any, size: int, *, flat: bool) -> dict[str, Any]:
    """What a page's row must say, from thriftpy2's struct."""
    cells: dict[str, Any] = {
        "type": header.type,
        "header_bytes": size,
        "total_bytes": size + header.compressed_page_size,
        "uncompressed_page_size": header.uncompressed_page_size,
        "crc": (header.crc or 0) & 0xFFFFFFFF,
        "known_from": KNOWN_FROM_HEADER,
        "num_nulls": -1,
        "num_rows": -1,
        "definition_levels_byte_length": -1,
        "repetition_levels_byte_length": -1,
        "definition_level_encoding": -1,
        "repetition_level_encoding": -1,
    }
    names = ("data_page_header", None, "dictionary_page_header", "data_page_header_v2")
    inner = getattr(header, str(names[header.type]))
    cells |= {"num_values": inner.num_values, "encoding": inner.encoding}
    statistics = getattr(inner, "statistics", None)
    flags = (HAS_CRC if header.crc is not None else 0) | IS_COMPRESSED
    if header.type == DATA_PAGE:
        cells["definition_level_encoding"] = inner.definition_level_encoding
        cells["repetition_level_encoding"] = inner.repetition_level_encoding
        cells["num_rows"] = inner.num_values if flat else -1
        nulls = statistics.null_count if statistics else None
        cells["num_nulls"] = nulls if nulls is not None and 0 <= nulls <= inner.num_values else -1
    if header.type == DATA_PAGE_V2:
        cells |= {"num_rows": inner.num_rows, "num_nulls": inner.num_nulls}
        for name in ("definition_levels_byte_length", "repetition_levels_byte_length"):
            cells[name] = getattr(inner, name)
        cells["definition_level_encoding"] = cells["repetition_level_encoding"] = 3
        flags &= ~0 if inner.is_compressed else ~IS_COMPRESSED
    exactness = (
        ("is_min_value_exact", MIN_EXACT, MIN_INEXACT),
        ("is_max_value_exact", MAX_EXACT, MAX_INEXACT),
    )
    for name, exact, inexact in exactness:
        value = getattr(statistics, name, None)
        flags |= 0 if value is None else exact if value else inexact
    return cells | {"flags": flags}


def expected_bounds(header: Any) -> tuple[BoundsState, bytes | None, bytes | None]:
    inner = header.data_page_header or header.data_page_header_v2
    statistics = inner.statistics if inner else None
    if statistics is None:
        return BoundsState.ABSENT, None, None
    if statistics.min_value is not None or statistics.max_value is not None:
        return BoundsState.PRESENT, statistics.min_value, statistics.max_value
    if statistics.min is not None or statistics.max is not None:
        return BoundsState.DEPRECATED, statistics.min, statistics.max
    return BoundsState.ABSENT, None, None


def bounds(table: PageTable, page: np.void) -> tuple[BoundsState, bytes | None, bytes | None]:
    sides = [
        None
        if page[f"{side}_start"] < 0
        else table.statistics[page[f"{side}_start"] :][: page[f"{side}_length"]].tobytes()
        for side in ("min", "max")
    ]
    return BoundsState(page["bounds_state"]), sides[0], sides[1]


def check_against_thriftpy2(data: bytes, metadata: FileMetaData, table: PageTable) -> None:
    after = first_row = -1
    for page in table.pages:
        start = int(page["offset"])
        transport = TMemoryBuffer(data[start : start + max(int(page["header_bytes"]), 64)])
        header = raw.idl().PageHeader()
        TCompactProtocol(transport).read_struct(header)
        flat = metadata.leaves[page["leaf"]].max_repetition_level == 0
        cells = expected_cells(header, transport._pos, flat=flat)
        assert {name: page[name] for name in cells} == cells
        assert bounds(table, page) == expected_bounds(header)
        first_row = 0 if page["page"] == 0 else first_row
        assert page["first_row"] == (first_row if page["page"] >= 0 else -1)
        if page["page"] >= 0:
            counts = first_row >= 0 and page["num_rows"] >= 0
            first_row = first_row + int(page["num_rows"]) if counts else -1
        if page["page"] > 0:
            assert start == after
        after = start + int(page["total_bytes"])


def test_every_page_header_of_the_corpus_is_read_as_thriftpy2_reads_it(
    corpus: Path, manifest: list[dict[str, str]]
) -> None:
    pages = 0
    counted_otherwise = []
    for row in manifest:
        if row["corrupt_by_design"] or row["encryption"] or not row["data_pages"]:
            continue
        data = (corpus / row["file"]).read_bytes()
        try:
            metadata = parse(data)
        except PqlabError:
            continue  # the footer's tests judge it
        tables = [
            walk(data, metadata, row_group, leaf, window_bytes=500)
            for row_group in range(metadata.num_row_groups)
            for leaf in range(metadata.num_leaves)
        ]
        for table in tables:
            check_against_thriftpy2(data, metadata, table)
        numbers = np.concatenate([np.empty(0, "i4"), *(table.pages["page"] for table in tables)])
        counts = (str((numbers >= 0).sum()), str((numbers < 0).sum()))
        if counts != (row["data_pages"], row["dict_pages"]):
            counted_otherwise.append(row["file"])
        pages += len(numbers)
    assert pages > 20_000
    assert len(counted_otherwise) <= COUNTED_OTHERWISE, counted_otherwise


def test_a_damaged_file_of_the_corpus_ends_in_a_typed_error_or_in_pages(
    corpus: Path, manifest: list[dict[str, str]]
) -> None:
    places = []
    for row in manifest:
        if not row["corrupt_by_design"]:
            continue
        data = (corpus / row["file"]).read_bytes()
        try:
            metadata = parse(data)
        except PqlabError:
            continue
        for chunk in range(metadata.num_row_groups * metadata.num_leaves):
            try:
                walk(data, metadata, *divmod(chunk, metadata.num_leaves))
            except PqlabError as error:
                places.append(error.place)
    assert len(places) > 100
    assert all(place.keys() >= {"row_group", "column"} for place in places)


def test_encrypted_chunks_say_so(corpus: Path) -> None:
    name = "apache__parquet-testing/data/encrypt_columns_plaintext_footer.parquet.encrypted"
    data = (corpus / name).read_bytes()
    metadata = parse(data)
    tables = [walk(data, metadata, 0, leaf) for leaf in range(metadata.num_leaves)]
    hidden = [table.warnings for table in tables if len(table) == 0]
    assert len(hidden) == 2
    assert all("encrypted" in warnings[0] for warnings in hidden)


# ----------------------------------------------------------------------- chunks built by hand


def page(kind: int, values: int, body: bytes = b"\0" * 10, **cells: Any) -> bytes:
    """A page: its header written by thriftpy2, and its body."""
    idl = raw.idl()
    inner: dict[str, Any] = {}
    statistics = cells.pop("statistics", None)
    if kind == DATA_PAGE:
        inner["data_page_header"] = idl.DataPageHeader(
            num_values=values,
            encoding=cells.pop("encoding", 0),
            definition_level_encoding=3,
            repetition_level_encoding=3,
            statistics=statistics,
        )
    elif kind == DICTIONARY_PAGE:
        inner["dictionary_page_header"] = idl.DictionaryPageHeader(num_values=values, encoding=0)
    elif kind == DATA_PAGE_V2:
        inner["data_page_header_v2"] = idl.DataPageHeaderV2(
            num_values=values,
            num_nulls=cells.pop("num_nulls", 0),
            num_rows=cells.pop("num_rows", values),
            encoding=cells.pop("encoding", 0),
            definition_levels_byte_length=cells.pop("definition", 0),
            repetition_levels_byte_length=cells.pop("repetition", 0),
            is_compressed=cells.pop("is_compressed", None),
            statistics=statistics,
        )
    sizes = {"uncompressed_page_size": len(body), "compressed_page_size": len(body)}
    header = idl.PageHeader(type=kind, **(inner | sizes | cells))
    return thrift_bytes(header) + body


def chunk(pages: list[bytes], num_values: int, **meta: Any) -> tuple[bytes, FileMetaData]:
    """A file of one INT32 column and one row group: these bytes, then a footer by thriftpy2."""
    idl = raw.idl()
    data = b"PAR1" + b"".join(pages)
    has_dictionary = meta.pop("has_dictionary", False)
    column = idl.ColumnMetaData(
        type=1,
        encodings=[0, 3],
        path_in_schema=["c"],
        codec=0,
        num_values=num_values,
        total_uncompressed_size=len(data) - 4,
        **{
            "total_compressed_size": len(data) - 4,
            "data_page_offset": 4 + (len(pages[0]) if has_dictionary else 0),
            "dictionary_page_offset": 4 if has_dictionary else None,
        }
        | meta,
    )
    group = idl.RowGroup(
        columns=[idl.ColumnChunk(file_offset=4, meta_data=column)],
        total_byte_size=len(data),
        num_rows=num_values,
    )
    repetition = 0
    schema = [
        idl.SchemaElement(name="root", num_children=1),
        idl.SchemaElement(name="c", type=1, repetition_type=repetition),
    ]
    file = idl.FileMetaData(version=1, schema=schema, num_rows=num_values, row_groups=[group])
    footer = thrift_bytes(file)
    data += footer + len(footer).to_bytes(4, "little") + b"PAR1"
    return data, parse(data)


def rows_of(table: PageTable) -> list[tuple[int, ...]]:
    return [
        tuple(int(row[name]) for name in ("page", "num_values", "first_row", "num_rows"))
        for row in table.pages
    ]


def test_index_pages_and_pages_without_values_are_passed() -> None:
    index_page = page(INDEX_PAGE, 0, index_page_header=raw.idl().IndexPageHeader())
    pages = [page(DATA_PAGE, 5), index_page, page(DATA_PAGE, 0, b""), page(DATA_PAGE_V2, 3)]
    data, metadata = chunk([*pages, page(DATA_PAGE, 0, b"")], 8)
    table = walk(data, metadata)
    assert rows_of(table) == [(0, 5, 0, 5), (1, 0, 5, 0), (2, 3, 5, 3), (3, 0, 8, 0)]
    assert table.warnings == ()


def test_pages_of_a_later_format_are_passed_with_a_warning() -> None:
    pages = [page(DATA_PAGE, 5), page(7, 0), page(DATA_PAGE, 3)]
    data, metadata = chunk(pages, 8)
    table = walk(data, metadata)
    assert rows_of(table) == [(0, 5, 0, 5), (1, 3, 5, 3)]
    assert "1 pages of an unknown type" in table.warnings[0]


@pytest.mark.parametrize("offset", [None, 0])
def test_a_dictionary_page_is_found_where_the_footer_does_not_say(offset: int | None) -> None:
    pages = [page(DICTIONARY_PAGE, 1), page(DATA_PAGE, 8, encoding=8)]
    data, metadata = chunk(pages, 8, data_page_offset=4, dictionary_page_offset=offset)
    table = walk(data, metadata)
    assert rows_of(table) == [(-1, 1, -1, -1), (0, 8, 0, 8)]
    assert table.pages["offset"].tolist() == [4, 4 + len(pages[0])]


def test_an_unused_and_an_empty_dictionary_page_are_rows() -> None:
    for body in (b"\0" * 4, b""):
        pages = [page(DICTIONARY_PAGE, len(body) // 4, body), page(DATA_PAGE, 8)]
        data, metadata = chunk(pages, 8, has_dictionary=True)
        assert rows_of(walk(data, metadata)) == [(-1, len(body) // 4, -1, -1), (0, 8, 0, 8)]


def test_a_chunk_that_leaves_out_its_dictionary_header_is_walked_to_its_end() -> None:
    pages = [page(DICTIONARY_PAGE, 1), page(DATA_PAGE, 5), page(DATA_PAGE, 3)]
    size = sum(map(len, pages))
    header = len(pages[0]) - 10
    data, metadata = chunk(pages, 8, has_dictionary=True, total_compressed_size=size - header)
    table = walk(data, metadata)
    assert rows_of(table)[1:] == [(0, 5, 0, 5), (1, 3, 5, 3)]
    assert table.warnings == ()


def test_a_chunk_said_to_reach_into_the_footer_ends_with_its_values() -> None:
    pages = [page(DATA_PAGE, 5), page(DATA_PAGE, 3)]
    data, metadata = chunk(pages, 8, total_compressed_size=10**9)
    table = walk(data, metadata)
    assert rows_of(table) == [(0, 5, 0, 5), (1, 3, 5, 3)]
    assert "reaches into the footer" in table.warnings[0]


def test_a_chunk_said_to_reach_into_the_next_one_ends_with_its_values() -> None:
    pages = [page(DATA_PAGE, 5), page(DATA_PAGE, 3), page(DATA_PAGE, 7)]
    data, metadata = chunk(pages, 8)
    table = walk(data, metadata)
    assert rows_of(table) == [(0, 5, 0, 5), (1, 3, 5, 3)]
    assert "holds more than" in table.warnings[0]


@pytest.mark.parametrize(("said", "held"), [(9, 8), (3, 8)])
def test_pages_that_hold_other_than_num_values_are_all_shown(said: int, held: int) -> None:
    data, metadata = chunk([page(DATA_PAGE, 5), page(DATA_PAGE, 3)], said)
    table = walk(data, metadata)
    assert sum(values for _, values, _, _ in rows_of(table)) == held
    assert f"hold {held} values" in table.warnings[0]
    assert "row group 0, column 'c'" in table.warnings[0]


def test_an_unknown_encoding_keeps_its_number_in_a_byte() -> None:
    data, metadata = chunk([page(DATA_PAGE, 5, encoding=200), page(DATA_PAGE, 3, encoding=999)], 8)
    table = walk(data, metadata)
    assert (table.pages["encoding"].astype(int) & 255).tolist() == [200, 254]
    file = pqlab.open(data)
    assert file.pages()["encoding"].to_list() == ["UNKNOWN(200)", "UNKNOWN(254)"]
    with pytest.raises(UnsupportedError, match="encoding 200") as caught:
        file.read()
    assert (caught.value.row_group, caught.value.column, caught.value.page) == (0, "c", 0)


def test_v2_pages_say_levels_nulls_and_compression() -> None:
    body = b"\0" * 20
    pages = [
        page(DATA_PAGE_V2, 8, body, num_nulls=2, num_rows=7, definition=5, repetition=6),
        page(DATA_PAGE_V2, 1, b"", num_nulls=1, is_compressed=False),
    ]
    data, metadata = chunk(pages, 9)
    found = walk(data, metadata).pages
    names = ("num_nulls", "num_rows", "definition_levels_byte_length", "flags")
    assert found[0][list(names)].tolist() == (2, 7, 5, IS_COMPRESSED)
    assert found[1][list(names)].tolist() == (1, 1, 0, 0)


Statistics = raw.idl().Statistics


@pytest.mark.parametrize(
    ("statistics", "expected", "nulls"),
    [
        (None, (BoundsState.ABSENT, None, None), -1),
        (Statistics(null_count=3), (BoundsState.ABSENT, None, None), 3),
        (Statistics(null_count=99), (BoundsState.ABSENT, None, None), -1),
        (Statistics(min=b"", max=b"z"), (BoundsState.DEPRECATED, b"", b"z"), -1),
        (Statistics(min_value=b"", max_value=b""), (BoundsState.PRESENT, b"", b""), -1),
        (Statistics(min_value=b"a"), (BoundsState.PRESENT, b"a", None), -1),
        (Statistics(min_value=b"a", min=b"b", max=b"c"), (BoundsState.PRESENT, b"a", None), -1),
    ],
)
def test_bounds_are_absent_empty_deprecated_or_present(
    statistics: Any, expected: tuple[BoundsState, bytes | None, bytes | None], nulls: int
) -> None:
    data, metadata = chunk([page(DATA_PAGE, 8, statistics=statistics)], 8)
    table = walk(data, metadata)
    assert bounds(table, table.pages[0]) == expected
    assert table.pages[0]["num_nulls"] == nulls


WINDOWS: Any = {"window_bytes": 16 << 10, "largest_window_bytes": 1 << 20}


def test_headers_of_several_megabytes_are_read_by_growing_the_window() -> None:
    large = Statistics(min_value=b"a" * (8 << 20), max_value=b"z" * (8 << 20))
    pages = [page(DATA_PAGE, 5), page(DATA_PAGE, 3, statistics=large), page(DATA_PAGE, 2)]
    data, metadata = chunk(pages, 10)
    asked: list[int] = []

    def read(start: int, stop: int) -> bytes:
        asked.append(stop - start)
        return data[start:stop]

    table = drive(pages_from_headers(metadata, 0, 0, **WINDOWS), read)
    assert rows_of(table) == [(0, 5, 0, 5), (1, 3, 5, 3), (2, 2, 8, 2)]
    assert bounds(table, table.pages[1]) == (
        BoundsState.PRESENT,
        b"a" * (8 << 20),
        b"z" * (8 << 20),
    )
    assert sum(asked) < 3 * len(data)
    with pytest.raises(LimitError, match="page_header_bytes") as caught:
        walk(data, metadata, limits=Limits(page_header_bytes=1 << 20), **WINDOWS)
    assert caught.value.offset == 4 + len(pages[0])


def test_a_chunk_of_many_pages_stops_at_the_limit() -> None:
    data, metadata = chunk([page(DATA_PAGE, 1)] * 50, 50)
    assert len(walk(data, metadata, limits=Limits(pages=50))) == 50
    with pytest.raises(LimitError, match="limit pages = 49"):
        walk(data, metadata, limits=Limits(pages=49))


def corrupt_pages() -> dict[str, tuple[list[bytes], str | None, int]]:
    """Pages of 8 values, the field that is wrong, and the ordinal of the page."""
    good = page(DATA_PAGE, 5)
    idl = raw.idl()
    sizes = {"uncompressed_page_size": 10, "compressed_page_size": 10}
    headless = thrift_bytes(idl.PageHeader(type=DATA_PAGE, **sizes)) + b"\0" * 10
    return {
        "negative size": (
            [good, page(DATA_PAGE, 3, compressed_page_size=-1)],
            "PageHeader.compressed_page_size", 1,
        ),
        "negative values": ([good, page(DATA_PAGE, -3)], "DataPageHeader.num_values", 1),
        "longer than its chunk": (
            [good, page(DATA_PAGE, 3, compressed_page_size=11)],
            "PageHeader.compressed_page_size", 1,
        ),
        "levels longer than the page": (
            [page(DATA_PAGE_V2, 8, definition=6, repetition=5)],
            "DataPageHeaderV2.definition_levels_byte_length", 0,
        ),
        "no header of its type": ([good, headless], "PageHeader.data_page_header", 1),
        "two dictionaries": (
            [page(DICTIONARY_PAGE, 1), page(DICTIONARY_PAGE, 1), good], "PageHeader.type", 0
        ),
        "a dictionary behind data": ([good, page(DICTIONARY_PAGE, 1)], "PageHeader.type", 1),
        "a long varint": ([good, b"\x15" + b"\xff" * 20], "PageHeader.type", 1),
        "a wrong type": ([good, b"\x18\x00" + bytes(20)], "PageHeader.type", 1),
        "more bytes than there are": ([b"\xf8" + b"\xff\xff\xff\x7f" + bytes(9)], None, 0),
        "a field id beyond i16": ([good, b"\x05\x82\x80\x08\x00" + bytes(9)], "PageHeader", 1),
        "no bytes": ([good, bytes(9)], "PageHeader.type", 1),
        "cut": ([good, good[:4]], None, 1),
    }  # fmt: skip


@pytest.mark.parametrize("case", corrupt_pages())
@pytest.mark.parametrize("window_bytes", [1, 16384])
def test_a_corrupt_header_is_an_error_with_its_place(case: str, window_bytes: int) -> None:
    pages, field, ordinal = corrupt_pages()[case]
    data, metadata = chunk(pages, 8)
    with pytest.raises(CorruptError) as caught:
        walk(data, metadata, window_bytes=window_bytes)
    error = caught.value
    assert (error.row_group, error.column, error.page) == (0, "c", ordinal)
    assert field is None or error.field == field
    assert error.offset is not None
    assert 4 <= error.offset <= metadata.footer_offset


def test_optional_fields_of_a_wrong_type_are_passed_over_with_a_warning() -> None:
    good = page(DATA_PAGE, 8)
    header = good[: -10 - 1]
    # The field crc (4) as a binary, in front of data_page_header (5).
    at = header.index(b"\x2c\x15")
    strange = header[:at] + b"\x18\x01x" + b"\x1c" + header[at + 1 :] + b"\0" + b"\0" * 10
    data, metadata = chunk([strange], 8)
    table = walk(data, metadata)
    assert rows_of(table) == [(0, 8, 0, 8)]
    assert table.pages[0]["flags"] & HAS_CRC == 0
    assert "1 page header fields of a wrong type" in table.warnings[0]


def test_a_chunk_that_starts_outside_of_the_file_is_corrupt() -> None:
    data, metadata = chunk([page(DATA_PAGE, 8)], 8, data_page_offset=10**12)
    with pytest.raises(CorruptError) as caught:
        walk(data, metadata)
    assert caught.value.field == "ColumnMetaData.data_page_offset"
    assert caught.value.column == "c"


def test_a_short_answer_of_the_source_is_an_error() -> None:
    _, metadata = chunk([page(DATA_PAGE, 8)], 8)
    with pytest.raises(SourceError, match="were asked for"):
        drive(pages_from_headers(metadata, 0, 0), lambda _start, _stop: b"")


# ------------------------------------------------------------------------- files of a writer


def written(table: pa.Table, **options: Any) -> tuple[bytes, FileMetaData]:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue(), parse(sink.getvalue())


def test_a_dictionary_that_fell_back_shows_page_by_page() -> None:
    table = pa.table({"text": [f"a text that is long enough {i}" for i in range(5000)]})
    data, metadata = written(
        table, dictionary_pagesize_limit=4096, data_page_size=2048, write_batch_size=50
    )
    encodings = walk(data, metadata).pages["encoding"][1:].tolist()
    fell_back = encodings.index(0)
    assert fell_back > 0
    assert set(encodings[:fell_back]) == {8}
    assert set(encodings[fell_back:]) == {0}
    stated = metadata.raw_chunk(0, 0).meta_data.encoding_stats
    counts = {s.encoding: s.count for s in stated if s.page_type == DATA_PAGE}
    assert counts == {8: fell_back, 0: len(encodings) - fell_back}


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("window_bytes", [1, 37, 300, 5000, 1 << 20])
def test_windows_of_any_size_give_the_same_pages(version: str, window_bytes: int) -> None:
    table = pa.table(
        {
            "number": pa.array([None if i % 3 == 0 else i for i in range(3000)], pa.int64()),
            "list": pa.array([[i] * (i % 4) for i in range(3000)], pa.list_(pa.int32())),
        }
    )
    data, metadata = written(
        table, data_page_version=version, data_page_size=300, write_batch_size=20
    )
    tables = [walk(data, metadata, 0, leaf, window_bytes=window_bytes) for leaf in range(2)]
    whole = [walk(data, metadata, 0, leaf, window_bytes=len(data)) for leaf in range(2)]
    for table_, other in zip(tables, whole, strict=True):
        assert table_.pages.tobytes() == other.pages.tobytes()
        assert table_.statistics.tobytes() == other.statistics.tobytes()
    numbers = tables[0].pages[1:]
    assert numbers["num_rows"].sum() == 3000
    assert numbers["first_row"].tolist() == [0, *np.cumsum(numbers["num_rows"])[:-1].tolist()]
    lists = tables[1].pages[1:]
    if version == "1.0":  # the rows of a nested v1 page stand only in its levels
        assert set(lists["num_rows"].tolist()) == {-1}
        assert lists["first_row"].tolist() == [0] + [-1] * (len(lists) - 1)
    else:
        assert lists["num_rows"].sum() == 3000


def test_windows_grow_where_pages_are_small_and_skip_bodies_where_they_are_large() -> None:
    small = chunk([page(DATA_PAGE, 1)] * 20_000, 20_000)
    large = chunk([page(DATA_PAGE, 1, bytes(100_000))] * 20, 20)
    asked: dict[str, list[int]] = {"small": [], "large": []}

    def reader(name: str, data: bytes) -> Callable[[int, int], bytes]:
        def read(start: int, stop: int) -> bytes:
            asked[name].append(stop - start)
            return data[start:stop]

        return read

    for name, (data, metadata) in (("small", small), ("large", large)):
        drive(pages_from_headers(metadata, 0, 0, **WINDOWS), reader(name, data))
    assert len(asked["small"]) < 10
    assert len(asked["large"]) == 20
    assert sum(asked["large"]) < 400_000


def test_tables_of_chunks_join_in_order() -> None:
    table = pa.table({"a": [1, 2, 3] * 100, "b": ["x", "y", "z"] * 100})
    data, metadata = written(table, row_group_size=100)
    chunks = [(group, leaf) for group in range(3) for leaf in range(2)]
    tables = [walk(data, metadata, *at) for at in chunks]
    joined = concat(tables)
    shuffled = concat([tables[i] for i in (3, 0, 5, 1, 4, 2)])
    for whole in (joined, shuffled):
        keys = whole.pages[["row_group", "leaf", "page"]].tolist()
        assert keys == sorted(keys)
        check_against_thriftpy2(data, metadata, whole)
    assert len(joined) == sum(map(len, tables))
