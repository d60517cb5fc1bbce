"""Every column of every frame: name, dtype, unit and a sentence, in one table.

The frames are built to it, the docstrings and the documentation are made of it.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl


class FrameColumn(NamedTuple):
    """A column of a frame. `unit` is None where there is none."""

    name: str
    dtype: pl.DataType
    unit: str | None
    text: str


def _text(name: str, text: str) -> FrameColumn:
    return FrameColumn(name, pl.String(), None, text)


def _texts(name: str, text: str) -> FrameColumn:
    return FrameColumn(name, pl.List(pl.String()), None, text)


def _flag(name: str, text: str) -> FrameColumn:
    return FrameColumn(name, pl.Boolean(), None, text)


def _ordinal(name: str, text: str) -> FrameColumn:
    return FrameColumn(name, pl.Int32(), None, text)


def _count(name: str, unit: str | None, text: str) -> FrameColumn:
    return FrameColumn(name, pl.Int64(), unit, text)


def _bytes(name: str, text: str) -> FrameColumn:
    return FrameColumn(name, pl.Int64(), "bytes", text)


def _of_page(name: str, unit: str, text: str) -> FrameColumn:
    return FrameColumn(name, pl.Int32(), unit, text)


def _ratio(text: str) -> FrameColumn:
    return FrameColumn("compression_ratio", pl.Float64(), None, text)


_ROW_GROUP = _ordinal("row_group", "Ordinal of the row group.")
_COLUMN = _text("column", "The leaf's dotted path; `leaf` tells columns of one name apart.")
_LEAF = _ordinal("leaf", "Ordinal of the leaf column: the key of everything inside.")
_CHUNK = (_ROW_GROUP, _COLUMN, _LEAF)
_CODEC = _text("codec", "CompressionCodec; `UNKNOWN(n)` for a code that the format does not have.")
_RATIO = _ratio("Uncompressed size over compressed size; null where one is unknown or 0.")

_BOUNDS_STATE = _text(
    "bounds_state",
    "What the bounds are worth: `present`; `absent`; `deprecated` (only the legacy `min`, `max`); "
    "`empty` (nulls only, there is no bound to have); `untrusted` (no defined order, or wrong).",
)
_EXACT = (
    _flag("is_min_value_exact", "Whether the minimum is a value of the data; null: not stated."),
    _flag("is_max_value_exact", "Whether the maximum is a value of the data; null: not stated."),
)
_BOUNDS = (
    _BOUNDS_STATE,
    _text("min_text", "The minimum for people, shortened where it is long."),
    _text("max_text", "The maximum for people, shortened where it is long."),
    FrameColumn("min_bytes", pl.Binary(), None, "The minimum as stored (PLAIN, without length)."),
    FrameColumn("max_bytes", pl.Binary(), None, "The maximum as stored (PLAIN, without length)."),
    *_EXACT,
)

LEAVES: tuple[FrameColumn, ...] = (
    _LEAF,
    _COLUMN,
    _text("physical_type", "Type of the stored values."),
    FrameColumn("type_length", pl.Int32(), "bytes", "Length of FIXED_LEN_BYTE_ARRAY values."),
    _text("logical_type", "The annotation with its parameters, from LogicalType as stored."),
    _text("converted_type", "The deprecated annotation, as stored."),
    _text("polars_type", "The polars dtype of the values; lists around them are left out."),
    _text("repetition_type", "REQUIRED, OPTIONAL or REPEATED, of the leaf itself."),
    _ordinal("max_definition_level", "Optional and repeated fields on the path."),
    _ordinal("max_repetition_level", "Repeated fields on the path."),
    _ordinal("field_id", "The writer's field id."),
    _text("column_order", "The ColumnOrder that makes bounds comparable; null: not stated."),
    _count("num_values", "values", "Values in all row groups, nulls included."),
    _count("null_count", "values", "Nulls in all row groups; null if a chunk does not say."),
    _bytes("total_compressed_size", "Sum over the column's chunks, page headers included."),
    _bytes("total_uncompressed_size", "Sum over the column's chunks, page headers included."),
    _RATIO,
    _texts("codecs", "CompressionCodecs of the column's chunks."),
    _texts("encodings", "Encodings listed by the column's chunks, of levels and values alike."),
)

ROW_GROUPS: tuple[FrameColumn, ...] = (
    _ROW_GROUP,
    _count("num_rows", "rows", "Rows of the row group."),
    _count("first_row", "rows", "Rows of the file before this row group."),
    _bytes("total_byte_size", "Uncompressed size as the RowGroup states it."),
    _bytes("total_compressed_size", "Compressed size as the RowGroup states it; null: not stated."),
    _bytes("chunks_compressed_size", "Sum of `total_compressed_size` over the column chunks."),
    _bytes("chunks_uncompressed_size", "Sum of `total_uncompressed_size` over the column chunks."),
    _ratio("chunks_uncompressed_size over chunks_compressed_size; null if that is 0."),
    _bytes("file_offset", "Offset of the first page as the RowGroup states it; null: not stated."),
    _ordinal("ordinal", "The ordinal that the RowGroup states; null: not stated."),
    _ordinal("num_sorting_columns", "Columns that the rows are sorted by; null: not stated."),
)

COLUMN_CHUNKS: tuple[FrameColumn, ...] = (
    *_CHUNK,
    _text("physical_type", "Type of the stored values."),
    _CODEC,
    _texts("encodings", "Encodings listed by the chunk, of levels and values alike."),
    _texts(
        "data_page_encodings", "Encodings of the data pages, from encoding_stats; null: unknown."
    ),
    _count("num_data_pages", "pages", "Data pages, from encoding_stats; null: unknown."),
    _count("num_values", "values", "Values, nulls included (the entries of lists for nested)."),
    _count("null_count", "values", "Nulls; null: not stated, which is not 0."),
    _count("distinct_count", "values", "Distinct values; null: not stated."),
    _count("nan_count", "values", "NaNs; null: not stated, there may be some."),
    _bytes("total_compressed_size", "All pages as stored, their headers included."),
    _bytes("total_uncompressed_size", "All pages uncompressed, their headers included."),
    _RATIO,
    *_BOUNDS,
    _bytes("dictionary_page_offset", "Offset of the dictionary page's header; null: not stated."),
    _bytes("data_page_offset", "Offset of the first data page's header."),
    _bytes("offset_index_offset", "Offset of the OffsetIndex; null: there is none."),
    _bytes("offset_index_length", "Size of the OffsetIndex."),
    _bytes("column_index_offset", "Offset of the ColumnIndex; null: there is none."),
    _bytes("column_index_length", "Size of the ColumnIndex."),
    _bytes("bloom_filter_offset", "Offset of the bloom filter's header; null: there is none."),
    _bytes("bloom_filter_length", "Size of the bloom filter, header included; null: not stated."),
    _flag("is_encrypted", "Whether the chunk is encrypted (ColumnCryptoMetaData is there)."),
    _flag("is_external", "Whether file_path puts the pages into another file."),
)

CATALOGUE: tuple[FrameColumn, ...] = (
    _text("file", "The file; one that has no column chunks is one row."),
    _text("error", "What is wrong with a file that could not be read; null: nothing."),
    _bytes("file_size_bytes", "Size of the file; null: it could not be read."),
    _bytes("footer_bytes", "Size of its footer, without what stands behind it."),
    _count("row_group_num_rows", "rows", "Rows of the row group."),
    *COLUMN_CHUNKS,
)

SCHEMAS: tuple[FrameColumn, ...] = (
    _COLUMN,
    _text("physical_type", "Type of the stored values."),
    FrameColumn("type_length", pl.Int32(), "bytes", "Length of FIXED_LEN_BYTE_ARRAY values."),
    _text("logical_type", "The annotation with its parameters, from LogicalType as stored."),
    _text("converted_type", "The deprecated annotation, as stored."),
    _text("polars_type", "The polars dtype of the values; lists around them are left out."),
    _ordinal("max_definition_level", "Optional and repeated fields on the path."),
    _ordinal("max_repetition_level", "Repeated fields on the path."),
    _ordinal("field_id", "The writer's field id."),
    _count("num_files", "files", "Files that have the leaf like this."),
    _count("num_other_files", "files", "Readable files that have it otherwise, or not at all."),
    _text("first_file", "The first file that has it like this."),
    _flag("is_drift", "Whether files disagree about the path: other kinds of it, or none."),
)

LAYOUTS: tuple[FrameColumn, ...] = (
    _COLUMN,
    _text("property", "What was counted: `codec`, `data_page_encodings`, or what a chunk has."),
    _text("value", "Its value."),
    _count("num_chunks", "chunks", "Column chunks with this value."),
    _count("num_files", "files", "Files with such chunks."),
    _bytes("total_compressed_size", "Of these chunks."),
    _text("first_file", "The first of the files."),
    _flag("is_drift", "Whether the column's chunks disagree about the property."),
)

PAGES: tuple[FrameColumn, ...] = (
    *_CHUNK,
    _ordinal("page", "Ordinal among the chunk's data pages; the dictionary page is -1."),
    _text("type", "PageType; null: unknown."),
    _text("encoding", "Encoding of the values; null: unknown."),
    _CODEC,
    _bytes("offset", "Offset of the page header in the file."),
    _of_page(
        "total_bytes", "bytes", "Header and body as stored, like PageLocation.compressed_page_size."
    ),
    _of_page("header_bytes", "bytes", "Size of the page header; null: unknown."),
    _of_page(
        "compressed_page_size", "bytes", "Body as stored, header excluded, like PageHeader's field."
    ),
    _of_page(
        "uncompressed_page_size", "bytes", "Body uncompressed, header excluded; null: unknown."
    ),
    _ratio("uncompressed_page_size over compressed_page_size; null where one is unknown or 0."),
    _of_page("num_values", "values", "Values, nulls included; null: unknown."),
    _of_page("num_nulls", "values", "Nulls; null: unknown, which is not 0."),
    _of_page("num_rows", "rows", "Rows that begin in the page; null: unknown."),
    _count("first_row", "rows", "Rows of the row group before the page; null: unknown."),
    *_BOUNDS,
    _text("definition_level_encoding", "Encoding of the definition levels; null: unknown."),
    _text("repetition_level_encoding", "Encoding of the repetition levels; null: unknown."),
    _of_page("definition_levels_byte_length", "bytes", "DATA_PAGE_V2 only."),
    _of_page("repetition_levels_byte_length", "bytes", "DATA_PAGE_V2 only."),
    _flag("is_compressed", "DATA_PAGE_V2's own flag, true for other pages; null: unknown."),
    FrameColumn("crc", pl.UInt32(), None, "CRC-32 of the body as stored; null: none, or unknown."),
    _text(
        "crc_state",
        "`ok`, `wrong` (compared with the body on request) or `absent`; null: not compared.",
    ),
    _text("known_from", "Where the row was learned: `index`, `header`, `levels`, joined by `+`."),
)

# min and max stand between these, in the polars dtype of the leaf.
STATISTICS_BEFORE: tuple[FrameColumn, ...] = (
    _ROW_GROUP,
    _ordinal("page", "Ordinal among the chunk's data pages; null: the whole chunk."),
    _count("num_values", "values", "Values, nulls included; null: unknown."),
    _count("null_count", "values", "Nulls; null: not stated, which is not 0."),
    _count("distinct_count", "values", "Distinct values; null: not stated."),
    _count("nan_count", "values", "NaNs; null: not stated, there may be some."),
    _BOUNDS_STATE,
)
STATISTICS_AFTER: tuple[FrameColumn, ...] = _EXACT

KEY_VALUES: tuple[FrameColumn, ...] = (
    _text("key", "The key, not necessarily unique."),
    _text("value", "The value; null where the file has a key without one."),
)

LAYOUT: tuple[FrameColumn, ...] = (
    _bytes("offset", "Where the span starts in the file."),
    _bytes("size_bytes", "Its size."),
    _text(
        "kind",
        "`magic`, `dictionary page`, `data page`, `index page`, `column chunk` (its pages not "
        "known), `column metadata` (a copy behind the chunk, told by the deprecated "
        "`ColumnChunk.file_offset` and by its size), `column index`, `offset index`, `bloom "
        "filter`, `footer`, `extension` (field 32767 of the footer), `footer length`, or `gap` "
        "(bytes that nothing points to: padding, a bloom filter's bytes where its size is not "
        "stated).",
    ),
    _ROW_GROUP,
    _COLUMN,
    _LEAF,
    _ordinal("page", "Ordinal of a data page; -1: the dictionary page; null: not a page."),
    _bytes("overlap_bytes", "How much of the span an earlier one covers too: 0 in a sound file."),
    _bytes("outside_bytes", "How much of the span lies outside the file: 0 in a sound file."),
    _text("note", "What is odd about the span."),
)

CHECK: tuple[FrameColumn, ...] = (
    _text("file", "The file."),
    _text("rule", "Which rule does not hold."),
    _flag("is_note", "Odd, and allowed: it does not make the file unsound."),
    _ordinal("row_group", "Ordinal of the row group; null: the file."),
    _text("column", "The leaf's dotted path; null: the row group, or the file."),
    _LEAF,
    _ordinal("page", "Ordinal of a data page; -1: the dictionary page; null: the chunk."),
    _bytes("offset", "Where in the file; null: not at one place."),
    _text("message", "What is wrong."),
    _text("stated", "What is stated, for people; null: nothing to compare."),
    _text("found", "What is there, for people; null: nothing to compare."),
    _text("must", "What the rule says."),
    _text("section", "Where the specification says so."),
)

FINDINGS: tuple[FrameColumn, ...] = (
    _text("finding", "What was found: the names of the table in findings.md."),
    _text("file", "The file; null: of all files of a dataset together."),
    _ordinal("row_group", "The row group that was read to measure it; null: nothing was."),
    _text("column", "The leaf's dotted path; null: of no column."),
    _count("num_chunks", "chunks", "Column chunks that it is of; null: not of chunks."),
    FrameColumn("evidence", pl.Float64(), "`unit`", "The number that was found."),
    _text("unit", "The unit of `evidence` and `limit`."),
    FrameColumn("limit", pl.Float64(), "`unit`", "The number that `evidence` is beyond."),
    _bytes("cost_bytes", "What it costs in bytes, or makes a reader fetch; null: not bytes."),
    _count("cost_ns", "ns", "What it costs in time, as a read here took; null: not measured."),
    _text("says", "What the number is."),
    _text("setting", "What of a writer would change it, as pyarrow calls it."),
)

TRIALS: tuple[FrameColumn, ...] = (
    _LEAF,
    _COLUMN,
    _text("encoding", "What was tried: `DICTIONARY`, or the encoding of the values."),
    _text("codec", "The codec, as pyarrow calls it."),
    _bytes("page_bytes", "The writer's `data_page_size`."),
    _bytes("size_bytes", "Size of the column chunks that were written."),
    _count("read_ns", "ns", "The least time that a read of them took."),
    _bytes("saved_bytes", "What the file's own chunks are larger by."),
    _count("saved_ns", "ns", "What reading the file's own took longer."),
    _count("cost_ns", "ns", "Reading, and fetching at the bandwidth that was given."),
    FrameColumn("cost_ratio", pl.Float64(), None, "That, over the same of the file as it is."),
    _flag("is_best", "Whether the column is to be written so, under one page size for all."),
)

DIFF: tuple[FrameColumn, ...] = (
    _text(
        "part",
        "`metadata`, `columns`, `schema`, `row groups`, `layout`, `encodings`, `sizes`, "
        "`statistics`, `values`; of datasets `files`, of traces `reads`, `time` and `work`.",
    ),
    _text("file", "The file of a dataset, below its folder; null: the whole."),
    _ordinal("row_group", "Ordinal of the row group; null: all of them, or the file."),
    _text("column", "The leaf's dotted path, in `values` the root column; null: of no column."),
    _count("row", "rows", "The row in which values differ, from 0; null: not of a row."),
    _text("property", "What differs."),
    _text("left", "What the left one has; null: nothing."),
    _text("right", "What the right one has; null: nothing."),
    FrameColumn("change", pl.Float64(), None, "Right minus left, where both are numbers."),
    FrameColumn("ratio", pl.Float64(), None, "Right over left, where both are numbers, and not 0."),
)

EXPLAIN: tuple[FrameColumn, ...] = (
    _ROW_GROUP,
    _text("column", "The leaf's dotted path; null: the row is about the row group."),
    _ordinal("leaf", "Ordinal of the leaf column; null: the row group."),
    _ordinal("page", "Ordinal of a data page; null: the row group."),
    _flag("kept", "Whether some of it is left to be read."),
    _text(
        "step",
        "What rules it out: `constant`, `statistics`, `column index`, `bloom filter`, "
        "`dictionary`; null: kept.",
    ),
    _text("reason", "The conditions that no row has; or why nothing is ruled out."),
    _text("bound", "The bounds that rule it out; null: kept."),
    _text(
        "bloom_filter",
        "What the row group's bloom filters say of the values that are looked for: `absent`, "
        "`maybe`, `no filter`; null: not asked.",
    ),
    _count("first_row", "rows", "Its first row, counted over the file."),
    _count("num_rows", "rows", "Rows of it that were asked for."),
    _count("kept_rows", "rows", "Rows that are left to be read."),
    _bytes("size_bytes", "Size of what it takes to read the rows that were asked for."),
    _bytes("kept_bytes", "Size of what is left to be read, before columns are read late."),
)

FRAMES: dict[str, tuple[FrameColumn, ...]] = {
    "leaves": LEAVES,
    "row_groups": ROW_GROUPS,
    "column_chunks": COLUMN_CHUNKS,
    "catalogue": CATALOGUE,
    "schemas": SCHEMAS,
    "layouts": LAYOUTS,
    "pages": PAGES,
    "statistics": (*STATISTICS_BEFORE, *STATISTICS_AFTER),
    "key_value_metadata": KEY_VALUES,
    "layout": LAYOUT,
    "check": CHECK,
    "findings": FINDINGS,
    "trials": TRIALS,
    "diff": DIFF,
    "explain": EXPLAIN,
}


def build(columns: tuple[FrameColumn, ...], series: dict[str, pl.Series]) -> pl.DataFrame:
    """A frame of these columns, in their order and with their dtypes; every one must be there."""
    return pl.DataFrame(
        [
            (given if given.dtype == column.dtype else given.cast(column.dtype)).alias(column.name)
            for column in columns
            for given in [series[column.name]]
        ]
    )


def describe(frame: str) -> str:
    """The columns of a frame as lines of text: name, dtype, unit, sentence."""
    return "\n".join(
        f"{column.name}: {column.dtype}"
        + (f" ({column.unit})" if column.unit else "")
        + f". {column.text}"
        for column in FRAMES[frame]
    )
