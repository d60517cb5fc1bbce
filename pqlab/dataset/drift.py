"""Where the files of a dataset disagree: about their leaves, and about how these are stored."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pqlab.footer import frame_columns
from pqlab.footer.frames import leaves_frame
from pqlab.footer.metadata import FileMetaData

_c = pl.col
_KIND = (
    "physical_type",
    "type_length",
    "logical_type",
    "converted_type",
    "polars_type",
    "max_definition_level",
    "max_repetition_level",
    "field_id",
)
_NO_LEAVES = pl.DataFrame(
    schema={
        "kind": pl.UInt32(),
        **{of.name: of.dtype for of in frame_columns.SCHEMAS if of.name in ("column", *_KIND)},
    }
)


def _yes_no(column: str) -> pl.Expr:
    return pl.when(_c(column).is_null()).then(pl.lit("no")).otherwise(pl.lit("yes"))


# What of a chunk says how it is stored, as text.
_PROPERTIES = {
    "codec": _c("codec"),
    "data_page_encodings": _c("data_page_encodings").list.sort().list.join(", "),
    "has a dictionary page": _yes_no("dictionary_page_offset"),
    "has an offset index": _yes_no("offset_index_offset"),
    "has a column index": _yes_no("column_index_offset"),
    "has a bloom filter": _yes_no("bloom_filter_offset"),
    "bounds_state": _c("bounds_state"),
}


def leaf_kinds(kinds: Sequence[FileMetaData]) -> pl.DataFrame:
    """The leaves of each: `kind`, their `column`, and how they are."""
    leaves = [
        leaves_frame(metadata).select(pl.lit(number, pl.UInt32).alias("kind"), "column", *_KIND)
        for number, metadata in enumerate(kinds)
    ]
    return pl.concat(leaves) if leaves else _NO_LEAVES


def schemas_frame(states: pl.DataFrame, leaves: pl.DataFrame) -> pl.DataFrame:
    """A row per path and way to have it; arguments as of `catalogue.Catalogue`."""
    readable = states.filter(_c("kind").is_not_null())
    counts = readable.group_by("kind", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("num_files"), _c("file").first().alias("first_file")
    )
    ways = (
        leaves.join(counts, on="kind", maintain_order="left")
        .group_by("column", *_KIND, maintain_order=True)
        .agg(_c("num_files").sum(), _c("first_file").first())
        .with_columns((pl.lit(len(readable), pl.Int64) - _c("num_files")).alias("num_other_files"))
        .with_columns((_c("num_other_files") > 0).alias("is_drift"))
        .sort("is_drift", descending=True, maintain_order=True)
    )
    return frame_columns.build(frame_columns.SCHEMAS, dict(zip(ways.columns, ways, strict=True)))


def layouts_frame(catalogue: pl.DataFrame) -> pl.DataFrame:
    """A row per column, property and value, drift first; `catalogue`: as of the dataset."""
    chunks = catalogue.filter(_c("row_group").is_not_null())
    parts = [
        chunks.select("file", "column", "total_compressed_size", value.alias("value"))
        .group_by("column", "value", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("num_chunks"),
            _c("file").n_unique().cast(pl.Int64).alias("num_files"),
            _c("total_compressed_size").sum(),
            _c("file").first().alias("first_file"),
        )
        .with_columns(
            pl.lit(name).alias("property"), (pl.len().over("column") > 1).alias("is_drift")
        )
        for name, value in _PROPERTIES.items()
    ]
    rows = pl.concat(parts).sort("is_drift", descending=True, maintain_order=True)
    return frame_columns.build(frame_columns.LAYOUTS, dict(zip(rows.columns, rows, strict=True)))
