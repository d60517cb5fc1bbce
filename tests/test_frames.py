"""The frames' documentation, and the cases from the field that they show."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from edited_footers import changed, footer_bytes, metadata_of, rewritten, with_footer, written

import pqlab
from pqlab.footer import frame_columns, names, raw
from pqlab.footer.chunk_frames import column_chunks_frame
from pqlab.footer.frames import leaves_frame, pages_frame, row_groups_frame, statistics_frame
from pqlab.footer.key_values import arrow_schema, key_values, pandas_metadata
from pqlab.footer.layout import KINDS, Span, layout_frame
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.page_index import index_ranges, pages_from_index
from pqlab.footer.page_table import PageTable
from pqlab.footer.schema import tree_lines

TABLE = pa.table(
    {
        "n": pa.array(range(1000), pa.int64()),
        "s": pa.array([f"word {i % 90}" for i in range(1000)]),
        "l": pa.array([[i, None] for i in range(1000)], pa.list_(pa.int32())),
    }
)


@pytest.fixture(scope="module")
def data() -> bytes:
    return written(
        TABLE, row_group_size=400, write_page_index=True, data_page_size=500, write_batch_size=50
    )


@pytest.fixture(scope="module")
def metadata(data: bytes) -> FileMetaData:
    return metadata_of(data)


def indexed_pages(data: bytes, metadata: FileMetaData) -> PageTable:
    wanted = index_ranges(metadata)
    return pages_from_index(metadata, wanted, [data[a:b] for a, b in wanted.ranges])[0]


def all_pages(data: bytes) -> pl.DataFrame:
    """Pages as an open file shows them, headers read."""
    with pqlab.open(data) as file:
        keys = [
            (g, c)
            for g in range(file.metadata.num_row_groups)
            for c in range(file.metadata.num_leaves)
        ]
        return pages_frame(file.metadata, file.page_store.table(keys, headers=True))


# ------------------------------------------------------------------------------ documentation


def test_frames_have_the_documented_columns(data: bytes, metadata: FileMetaData) -> None:
    frames = {
        "leaves": leaves_frame(metadata),
        "row_groups": row_groups_frame(metadata),
        "column_chunks": column_chunks_frame(metadata),
        "catalogue": pqlab.Dataset([data]).catalogue(),
        "schemas": pqlab.Dataset([data]).schemas(),
        "layouts": pqlab.Dataset([data]).layouts(),
        "pages": pages_frame(metadata, indexed_pages(data, metadata)),
        "statistics": statistics_frame(metadata, 0).drop("min", "max"),
        "key_value_metadata": key_values(metadata),
        "layout": layout_frame(metadata, len(data)),
        "check": pqlab.open(rewritten(data, lambda footer: setattr(footer, "num_rows", 7))).check(),
        "findings": pqlab.open(data).findings(),
        "trials": pqlab.open(data).best_settings([0], codecs=["NONE"]).frame,
        "diff": pqlab.open(data).diff(pqlab.open(written(TABLE, compression="none"))),
        "explain": pqlab.open(data).select(where=pl.len() > 0).explain().frame,
    }
    assert frames.keys() == frame_columns.FRAMES.keys()
    for name, frame in frames.items():
        columns = frame_columns.FRAMES[name]
        assert frame.schema == pl.Schema({c.name: c.dtype for c in columns}), name
        assert frame.height > 0
        assert all(column.text.endswith(".") for column in columns)
        assert len({column.name for column in columns}) == len(columns)


def test_frames_of_a_file_without_rows_have_the_same_columns() -> None:
    empty = metadata_of(written(pa.table({"x": pa.array([], pa.int64())}).slice(0, 0)))
    none = changed(written(TABLE), lambda footer: footer.__setattr__("row_groups", []))
    for metadata in (empty, none):
        for name, frame in [
            ("leaves", leaves_frame(metadata)),
            ("row_groups", row_groups_frame(metadata)),
            ("column_chunks", column_chunks_frame(metadata)),
            ("pages", pages_frame(metadata, PageTable(*_no_pages()))),
            ("layout", layout_frame(metadata, 1000)),
        ]:
            columns = frame_columns.FRAMES[name]
            assert frame.schema == pl.Schema({c.name: c.dtype for c in columns}), name
    assert column_chunks_frame(none).height == statistics_frame(none, 0).height == 0


def _no_pages() -> tuple[np.ndarray, np.ndarray]:
    from pqlab.footer.page_table import PAGE

    return np.zeros(0, PAGE), np.zeros(0, np.uint8)


def test_enums_are_the_formats() -> None:
    idl = raw.idl()
    assert names.ENCODINGS == idl.Encoding._VALUES_TO_NAMES
    assert names.CODECS == idl.CompressionCodec._VALUES_TO_NAMES
    assert names.PAGE_TYPES == idl.PageType._VALUES_TO_NAMES


def test_codes_that_the_format_does_not_have_keep_their_number() -> None:
    codes = np.array([6, 200, -3, 2**31 - 1], np.int64)
    assert names.names_of(codes, names.CODECS).to_list() == [
        "ZSTD", "UNKNOWN(200)", "UNKNOWN(-3)", "UNKNOWN(2147483647)",
    ]  # fmt: skip
    assert names.names_of(np.array([-1, 0], np.int8), names.ENCODINGS, unknown=-1).to_list() == [
        None, "PLAIN",
    ]  # fmt: skip


# ---------------------------------------------------------------------------------- selection


def test_chunks_of_some_row_groups_and_leaves(metadata: FileMetaData) -> None:
    everything = column_chunks_frame(metadata)
    some = column_chunks_frame(metadata, [2, 0], [1])
    assert some.equals(pl.concat([everything.slice(2 * 3 + 1, 1), everything.slice(1, 1)]))
    assert (
        column_chunks_frame(metadata, None, [0, 2])["column"].to_list()
        == ["n", "l.list.element"] * 3
    )
    assert column_chunks_frame(metadata, [], None).height == 0


def test_sums_over_row_groups_are_pyarrows(data: bytes, metadata: FileMetaData) -> None:
    theirs = pq.read_metadata(io.BytesIO(data))
    for leaf, ours in enumerate(leaves_frame(metadata).iter_rows(named=True)):
        chunks = [theirs.row_group(g).column(leaf) for g in range(theirs.num_row_groups)]
        assert ours["num_values"] == sum(chunk.num_values for chunk in chunks)
        assert ours["total_compressed_size"] == sum(c.total_compressed_size for c in chunks)
        assert ours["null_count"] == sum(chunk.statistics.null_count for chunk in chunks)
        assert ours["codecs"] == ["SNAPPY"]
        assert set(ours["encodings"]) == set(chunks[0].encodings)


# -------------------------------------------------------------------------------------- pages


def test_pages_are_those_of_the_raw_headers(data: bytes) -> None:
    """Every page's row, against the page header that stands at its offset."""
    pages = all_pages(data)
    assert pages.height > 60
    for page in pages.iter_rows(named=True):
        header, header_bytes = raw.page_header(data[page["offset"] :])
        if page["page"] == -1:
            detail, kind = header.dictionary_page_header, "DICTIONARY_PAGE"
        else:
            detail, kind = header.data_page_header, "DATA_PAGE"
            assert page["known_from"] == "index+header"
        assert page["type"] == kind
        assert page["encoding"] == names.ENCODINGS[detail.encoding]
        assert page["num_values"] == detail.num_values
        assert page["header_bytes"] == header_bytes
        assert page["compressed_page_size"] == header.compressed_page_size
        assert page["total_bytes"] == header_bytes + header.compressed_page_size
        assert page["uncompressed_page_size"] == header.uncompressed_page_size
        assert page["compression_ratio"] == pytest.approx(
            header.uncompressed_page_size / header.compressed_page_size
        )
        assert page["crc"] is None


def test_what_only_headers_tell_is_null_without_them(data: bytes, metadata: FileMetaData) -> None:
    pages = pages_frame(metadata, indexed_pages(data, metadata)).filter(pl.col("page") >= 0)
    for name in ("encoding", "type", "header_bytes", "uncompressed_page_size", "is_compressed",
                 "compression_ratio", "compressed_page_size"):  # fmt: skip
        assert pages[name].null_count() == pages.height, name
    assert pages["known_from"].unique().to_list() == ["index"]
    assert pages["num_rows"].null_count() == 0


def test_page_bounds_are_those_of_the_raw_column_index(data: bytes, metadata: FileMetaData) -> None:
    pages = pages_frame(metadata, indexed_pages(data, metadata))
    for row, chunk in enumerate(column_chunks_frame(metadata).iter_rows(named=True)):
        start = chunk["column_index_offset"]
        index = raw.column_index(data[start : start + chunk["column_index_length"]])
        ours = pages.filter(
            pl.col("row_group") == row // 3, pl.col("leaf") == row % 3, pl.col("page") >= 0
        )
        assert ours["min_bytes"].to_list() == [_as_bytes(value) for value in index.min_values]
        assert ours["max_bytes"].to_list() == [_as_bytes(value) for value in index.max_values]
        assert ours["num_nulls"].to_list() == index.null_counts
        assert ours["bounds_state"].unique().to_list() == ["present"]
        if chunk["column"] == "s":
            assert ours["min_text"].to_list() == [_as_bytes(v).decode() for v in index.min_values]
        else:
            ordered = [int.from_bytes(v, "little", signed=True) for v in index.max_values]
            assert ours["max_text"].to_list() == [str(number) for number in ordered]


def _as_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def test_pages_of_nulls_only_have_no_bounds_to_have() -> None:
    column = pa.array([None] * 100 + list(range(100)), pa.int32())
    data = written(pa.table({"x": column}), write_page_index=True, row_group_size=100)
    metadata = metadata_of(data)
    table = indexed_pages(data, metadata)
    pages = pages_frame(metadata, table).filter(pl.col("page") >= 0)
    assert pages["bounds_state"].to_list() == ["empty", "present"]
    assert pages["num_nulls"].to_list() == [100, 0]
    for name in ("min_bytes", "min_text", "max_bytes", "max_text"):
        assert [value is None for value in pages[name]] == [True, False]
    typed = statistics_frame(metadata, 0, table)
    assert typed.select("row_group", "page", "bounds_state", "min", "max").rows() == [
        (0, None, "absent", None, None),
        (0, 0, "empty", None, None),
        (1, None, "present", 0, 99),
        (1, 0, "present", 0, 99),
    ]


def test_a_dictionary_that_fell_back_shows_page_by_page() -> None:
    words = [f"{i:040}" for i in range(5000)]
    data = written(
        pa.table({"w": words}), dictionary_pagesize_limit=20_000, data_page_size=10_000,
        write_batch_size=100,
    )  # fmt: skip
    encodings = all_pages(data).filter(pl.col("page") >= 0)["encoding"].to_list()
    turn = encodings.index("PLAIN")
    assert turn > 0
    assert encodings == ["RLE_DICTIONARY"] * turn + ["PLAIN"] * (len(encodings) - turn)
    (mix,) = column_chunks_frame(metadata_of(data))["data_page_encodings"].to_list()
    assert set(mix) == {"RLE_DICTIONARY", "PLAIN"}


# -------------------------------------------------------------------------- cases from the field


def test_columns_of_one_name_are_both_shown() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array(["x"])], names=["name", "name"])
    frame = leaves_frame(metadata_of(written(table)))
    assert frame.select("leaf", "column", "physical_type").rows() == [
        (0, "name", "INT64"),
        (1, "name", "BYTE_ARRAY"),
    ]
    nested = pa.table({"name": [1], "address": [{"name": "x"}]})
    assert leaves_frame(metadata_of(written(nested)))["column"].to_list() == [
        "name",
        "address.name",
    ]


def test_without_encoding_stats_the_mix_is_unknown() -> None:
    def change(footer: Any) -> None:
        footer.row_groups[0].columns[0].meta_data.encoding_stats = None

    told, untold = metadata_of(written(TABLE)), changed(written(TABLE), change)
    assert column_chunks_frame(told)["data_page_encodings"][0].to_list() == ["RLE_DICTIONARY"]
    row = column_chunks_frame(untold).row(0, named=True)
    assert (row["data_page_encodings"], row["num_data_pages"]) == (None, None)
    assert set(row["encodings"]) >= {"RLE_DICTIONARY", "PLAIN"}


def test_a_footer_of_no_rows_whose_row_groups_have_some() -> None:
    metadata = changed(written(TABLE), lambda footer: footer.__setattr__("num_rows", 0))
    assert row_groups_frame(metadata)["num_rows"].to_list() == [1000]
    assert (metadata.num_rows, metadata.stated_num_rows) == (1000, 0)


def test_a_chunk_in_another_file_shows_and_takes_no_bytes_of_this_one(data: bytes) -> None:
    def change(footer: Any) -> None:
        footer.row_groups[0].columns[1].file_path = "elsewhere.parquet"

    metadata = changed(data, change)
    assert column_chunks_frame(metadata)["is_external"].to_list()[:3] == [False, True, False]
    kinds = layout_frame(metadata, len(data)).filter(pl.col("row_group") == 0, pl.col("leaf") == 1)
    assert "column chunk" not in kinds["kind"].to_list()


def test_encrypted_columns_show(corpus: Any) -> None:
    folder = corpus / "apache__parquet-testing/data"
    path = folder / "encrypt_columns_plaintext_footer.parquet.encrypted"
    chunks = column_chunks_frame(metadata_of(path.read_bytes()))
    encrypted = chunks.filter("is_encrypted")
    assert set(encrypted["column"]) == {"double_field", "float_field"}
    assert chunks.filter("is_encrypted")["num_values"].sum() > 0  # their metadata is in plain


HOSTILE = ["<img src=x onerror=alert(1)>", 'a "b"', "line\nbreak", "\u202eabc", "p.q", ""]


def test_names_are_shown_as_they_are() -> None:
    table = pa.Table.from_arrays([pa.array([1])] * len(HOSTILE), names=HOSTILE)
    metadata = metadata_of(written(table))
    assert leaves_frame(metadata)["column"].to_list() == HOSTILE
    assert column_chunks_frame(metadata)["column"].to_list() == HOSTILE
    lines = list(tree_lines(metadata.schema, 100))
    assert len(lines) == 1 + len(HOSTILE)
    assert all(line.isprintable() for line in lines)


def test_the_tree_says_what_every_node_is(metadata: FileMetaData) -> None:
    assert repr(metadata.schema).splitlines() == [
        "schema",
        "├─ n: OPTIONAL INT64, levels 1/0, leaf 0",
        "├─ s: OPTIONAL BYTE_ARRAY, STRING, levels 1/0, leaf 1",
        "└─ l: OPTIONAL group, LIST, levels 1/0",
        "   └─ list: REPEATED group, levels 2/1",
        "      └─ element: OPTIONAL INT32, levels 3/1, leaf 2",
    ]
    assert list(tree_lines(metadata.schema, 2))[-1] == "… 4 more"


# --------------------------------------------------------------------------------- key values


def test_key_values_are_decoded_on_request() -> None:
    frame = pl.DataFrame({"x": [1]}).to_pandas()
    table = pa.Table.from_pandas(frame)
    metadata = metadata_of(written(table))
    assert key_values(metadata)["key"].to_list() == ["pandas", "ARROW:schema"]
    pandas = pandas_metadata(metadata)
    assert pandas is not None
    assert [column["name"] for column in pandas["columns"]] == ["x"]
    assert arrow_schema(metadata) == table.schema
    assert pandas_metadata(metadata_of(written(TABLE))) is None


@pytest.mark.parametrize("value", ["{", "[1]", "[" * 100_000, None])
def test_wrong_documents_are_corrupt(value: str | None) -> None:
    def change(footer: Any) -> None:
        idl = raw.idl()
        footer.key_value_metadata = [
            idl.KeyValue(key=key, value=value) for key in ("pandas", "ARROW:schema")
        ]

    metadata = changed(written(TABLE), change)
    for decode in (pandas_metadata, arrow_schema):
        if value is None:
            assert decode(metadata) is None
            continue
        with pytest.raises(pqlab.CorruptError) as caught:
            decode(metadata)
        assert caught.value.field == "FileMetaData.key_value_metadata"


# ------------------------------------------------------------------------------------- layout


def test_layout_of_pages_and_indexes(data: bytes, metadata: FileMetaData) -> None:
    layout = layout_frame(metadata, len(data), [indexed_pages(data, metadata)])
    kinds = layout["kind"].value_counts()
    counts = dict(kinds.iter_rows())
    assert counts["column index"] == counts["offset index"] == 9
    assert counts["dictionary page"] == 9
    assert counts["data page"] > 50
    assert "gap" not in counts
    assert "column chunk" not in counts
    assert layout["size_bytes"].sum() == len(data)
    assert layout["overlap_bytes"].sum() == 0
    assert data[layout["offset"][-1] :] == b"PAR1"
    assert set(counts) <= set(KINDS)


def test_layout_shows_gaps_overlaps_and_what_lies_outside(data: bytes) -> None:
    def change(footer: Any) -> None:
        chunks = footer.row_groups[0].columns
        chunks[0].meta_data.total_compressed_size -= 5  # a gap
        chunks[1].meta_data.total_compressed_size += 7  # an overlap
        chunks[2].meta_data.data_page_offset = 2**62  # outside
        chunks[2].meta_data.dictionary_page_offset = None

    layout = layout_frame(changed(data, change), len(data))
    at = {
        (g, c): row
        for g, c, row in zip(
            layout["row_group"], layout["leaf"], layout.rows(named=True), strict=True
        )
        if row["kind"] == "column chunk"
    }
    assert at[0, 0]["overlap_bytes"] == 0
    assert at[0, 2]["outside_bytes"] == at[0, 2]["size_bytes"]
    gaps = layout.filter(pl.col("kind") == "gap")
    assert 5 in gaps["size_bytes"].to_list()
    found = [Span("bloom filter", int(gaps["offset"][0]), int(gaps["size_bytes"][0]), 0, 0, "read")]
    filled = layout_frame(changed(data, change), len(data), (), found)
    assert filled.filter(pl.col("kind") == "gap").height == gaps.height - 1
    assert filled.filter(pl.col("kind") == "bloom filter")["note"].to_list() == ["read"]


@pytest.mark.parametrize("header", [b"\x08\xfe\xff\x03", b"\x08\xff\xff\x01"])
def test_layout_shows_extensions_of_the_footer(data: bytes, header: bytes) -> None:
    """Field 32767, a binary: as thrift writes its id, and as the specification spells it out."""
    footer = footer_bytes(data)
    assert footer is not None
    extended = with_footer(data, footer[:-1] + header + b"\x05hello\x00")
    with pqlab.open(extended) as file:
        assert file.info.warnings == ()
        layout = file.layout()
    (extension,) = layout.filter(pl.col("kind") == "extension").rows(named=True)
    stop = extension["offset"] + extension["size_bytes"]
    assert extended[extension["offset"] : stop].endswith(b"hello")
    assert extension["note"] == "field 32767 of FileMetaData"
    assert layout["overlap_bytes"].sum() == 0
    assert layout["size_bytes"].sum() == len(extended)


def test_layout_names_copies_of_column_metadata() -> None:
    """Polars puts one behind each chunk; thriftpy2 reads what lies there."""
    buffer = io.BytesIO()
    pl.DataFrame(TABLE).write_parquet(buffer, row_group_size=400)
    data = buffer.getvalue()
    metadata = metadata_of(data)
    layout = layout_frame(metadata, len(data))
    assert "gap" not in layout["kind"]
    copies = layout.filter(pl.col("kind") == "column metadata")
    assert copies.height == metadata.num_row_groups * metadata.num_leaves
    row_groups = metadata.raw().row_groups
    for span in copies.rows(named=True):
        copy, size = raw.read_struct("ColumnMetaData", data, span["offset"])
        chunk = row_groups[span["row_group"]].columns[span["leaf"]]
        assert size == span["size_bytes"]
        assert copy.path_in_schema == chunk.meta_data.path_in_schema
        assert copy.data_page_offset == chunk.meta_data.data_page_offset


def test_layout_takes_nothing_large_for_a_copy_of_column_metadata(data: bytes) -> None:
    """Whatever `file_offset` says: pyarrow writes no copies."""

    def change(footer: Any) -> None:
        chunks = footer.row_groups[0].columns
        for leaf, size in ((0, 5), (2, 700)):
            chunks[leaf].meta_data.total_compressed_size -= size
            chunks[leaf].file_offset = len(data)

    layout = layout_frame(changed(data, change), len(data))
    sizes = layout.filter(pl.col("size_bytes").is_in([5, 700]))
    assert dict(sizes.select("size_bytes", "kind").iter_rows()) == {
        5: "column metadata",
        700: "gap",
    }
