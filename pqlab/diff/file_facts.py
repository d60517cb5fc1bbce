"""All that a file's footer says, as facts to be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pqlab.footer.facts import fact, facts_of, joined

if TYPE_CHECKING:
    from pqlab.reader import ParquetFile

_SCHEMA = (
    "leaf", "type_length", "logical_type", "converted_type", "polars_type", "repetition_type",
    "max_definition_level", "max_repetition_level", "field_id", "column_order",
)  # fmt: skip
_TOTALS = ("total_compressed_size", "total_uncompressed_size")
_HAS = {
    "has a dictionary page": "dictionary_page_offset",
    "has an offset index": "offset_index_offset",
    "has a column index": "column_index_offset",
    "has a bloom filter": "bloom_filter_offset",
}
_LAYOUT = (*_HAS, "num_values", "num_data_pages", "is_encrypted", "is_external")
_STATISTICS = (
    "null_count", "distinct_count", "nan_count", "bounds_state", "min", "max",
    "is_min_value_exact", "is_max_value_exact",
)  # fmt: skip


def file_facts(file: ParquetFile) -> pl.DataFrame:
    """The facts, part by part: `metadata`, `columns`, `schema`, `row groups`, `layout`, ..."""
    leaves, groups, chunks = file.leaves, file.row_groups, file.column_chunks
    chunks = chunks.with_columns(
        *(pl.col(column).is_not_null().alias(name) for name, column in _HAS.items()),
        *(_bound(side) for side in ("min", "max")),
    )
    info = file.info
    whole = {
        "file_size_bytes": info.file_size_bytes,
        "footer_bytes": info.footer_bytes,
        "num_rows": info.num_rows,
        "num_row_groups": info.num_row_groups,
        "num_columns": info.num_columns,
        "created_by": info.created_by,
        "format_version": info.format_version,
    }
    pairs = file.key_value_metadata.select(
        (pl.lit("key ") + pl.col("key")).alias("property"), pl.col("value")
    )
    return joined(
        [
            *(fact("metadata", name, value) for name, value in whole.items()),
            *(_pair(*pair) for pair in pairs.iter_rows()),
            facts_of(leaves, "columns", ["physical_type"]),
            facts_of(leaves, "schema", _SCHEMA),
            facts_of(groups, "row groups", ["num_rows"]),
            facts_of(groups, "layout", ["num_sorting_columns"]),
            facts_of(chunks, "layout", _LAYOUT),
            facts_of(chunks, "encodings", ["codec", "encodings", "data_page_encodings"]),
            facts_of(leaves, "sizes", _TOTALS),
            facts_of(groups, "sizes", ["total_byte_size", "total_compressed_size"]),
            facts_of(chunks, "sizes", _TOTALS),
            facts_of(chunks, "statistics", _STATISTICS),
        ]
    )


def _pair(name: str, value: str | None) -> pl.DataFrame:
    return fact("metadata", name, value)


def _bound(side: str) -> pl.Expr:
    """A bound's text, with its bytes behind it where the text is cut short."""
    shown, stored = pl.col(f"{side}_text"), pl.col(f"{side}_bytes")
    is_cut = shown.str.ends_with("…")
    in_full = pl.concat_str(shown, pl.lit(" 0x"), stored.bin.encode("hex"))
    return pl.when(is_cut).then(in_full).otherwise(shown).alias(side)
