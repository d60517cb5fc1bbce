"""What a sound file holds: every rule by name, with the sentence of it and where it is written.

The functions that apply them are in the modules beside this one; each yields `Violation`s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl

from pqlab import text
from pqlab.footer.schema import SchemaNode
from pqlab.footer.types import polars_type


class Rule(NamedTuple):
    """One redundant fact of the format. `section`: where the specification states it."""

    section: str
    must: str
    is_note: bool = False  # odd, and allowed: it does not make a file unsound


class Violation(NamedTuple):
    """A rule that does not hold, and where. `stated` and `found` are text for people."""

    rule: str
    message: str
    row_group: int | None = None
    leaf: int | None = None
    page: int | None = None
    offset: int | None = None
    stated: str | None = None
    found: str | None = None


_THRIFT = "parquet.thrift"
_ENCODINGS, _INDEX = "Encodings.md", "PageIndex.md"

RULES: dict[str, Rule] = {
    # ---- the footer
    "readable": Rule("README.md, File format", "The footer parses, and pages can be read."),
    "footer fields": Rule(_THRIFT, "Optional fields hold what their struct says."),
    "file rows": Rule(f"{_THRIFT}, FileMetaData.num_rows", "The row groups' rows sum up to it."),
    "row group bytes": Rule(
        f"{_THRIFT}, RowGroup.total_byte_size", "It is the chunks' uncompressed sizes, summed up."
    ),
    "row group compressed bytes": Rule(
        f"{_THRIFT}, RowGroup.total_compressed_size", "It is the chunks' sizes, summed up."
    ),
    "row group offset": Rule(
        f"{_THRIFT}, RowGroup.file_offset", "It is where the row group's first page starts."
    ),
    "row group ordinal": Rule(f"{_THRIFT}, RowGroup.ordinal", "Row groups count from 0."),
    "chunk values": Rule(
        f"{_THRIFT}, ColumnMetaData.num_values",
        "A flat chunk has a value or null a row, a nested one at least that many.",
    ),
    "chunk counts": Rule(
        f"{_THRIFT}, Statistics", "There are no more nulls, NaNs and distinct values than values."
    ),
    "chunk bounds": Rule(f"{_THRIFT}, Statistics", "A minimum is not above its maximum."),
    "chunk encodings": Rule(
        f"{_THRIFT}, ColumnMetaData.encodings", "It lists every encoding that pages use."
    ),
    "sorting columns": Rule(
        f"{_THRIFT}, RowGroup.sorting_columns", "They name leaves that the schema has."
    ),
    "overlap": Rule("README.md, File format", "No byte belongs to two parts of the file."),
    "outside": Rule("README.md, File format", "Everything lies between the magic numbers."),
    "gap": Rule(
        "README.md, File format", "Every byte belongs to some part of the file.", is_note=True
    ),
    "level histograms": Rule(
        f"{_THRIFT}, SizeStatistics", "Histograms of levels sum up to the chunk's values."
    ),
    "unread": Rule("", "Every page can be decoded.", is_note=True),
    # ---- the page index
    "page index": Rule(_INDEX, "It agrees with itself, its chunk and its row group."),
    "index nulls": Rule(
        f"{_THRIFT}, ColumnIndex.null_counts", "They sum up to the chunk's null count."
    ),
    "index bounds": Rule(
        f"{_THRIFT}, ColumnIndex.min_values", "Pages' bounds are in order, within the chunk's."
    ),
    # ---- page headers
    "page headers": Rule("README.md, Column chunks", "Headers follow each other to the end."),
    "indexed pages": Rule(
        f"{_INDEX}, PageLocation", "Pages stand where the index says, as long, with these rows."
    ),
    "boundary order": Rule(
        f"{_THRIFT}, ColumnIndex.boundary_order", "Pages' bounds are sorted as it says."
    ),
    "page values": Rule(
        f"{_THRIFT}, DataPageHeader.num_values", "They sum up to the chunk's values."
    ),
    "page bytes": Rule(
        f"{_THRIFT}, ColumnMetaData.total_uncompressed_size",
        "Headers and pages, uncompressed, sum up to it.",
    ),
    "page compressed bytes": Rule(
        f"{_THRIFT}, ColumnMetaData.total_compressed_size", "Headers and pages sum up to it."
    ),
    "encoding stats": Rule(
        f"{_THRIFT}, ColumnMetaData.encoding_stats", "They count the pages of each encoding."
    ),
    "checksum": Rule(f"{_THRIFT}, PageHeader.crc", "It is the CRC-32 of the page as stored."),
    # ---- values
    "values": Rule(f"{_ENCODINGS}; LogicalTypes.md", "Every page decodes to values of its type."),
    "precision": Rule("LogicalTypes.md, DECIMAL", "No value has more digits than its precision."),
    "page rows": Rule(
        f"{_THRIFT}, DataPageHeaderV2.num_rows", "As many rows begin in a page as its levels say."
    ),
    "nulls": Rule(f"{_THRIFT}, Statistics.null_count", "It counts the nulls."),
    "page nulls": Rule(
        f"{_THRIFT}, DataPageHeaderV2.num_nulls", "Header and index count the page's nulls."
    ),
    "bounds": Rule(
        f"{_THRIFT}, Statistics.min_value", "No value of the chunk is beyond its bounds."
    ),
    "page bounds": Rule(
        f"{_THRIFT}, ColumnIndex.min_values", "No value of a page is beyond the page's bounds."
    ),
    "exact bounds": Rule(
        f"{_THRIFT}, Statistics.is_min_value_exact", "A bound that is called exact is a value."
    ),
    "distinct count": Rule(f"{_THRIFT}, Statistics.distinct_count", "It counts distinct values."),
    "nan count": Rule(f"{_THRIFT}, Statistics.nan_count", "It counts the NaNs."),
    "levels": Rule(f"{_THRIFT}, SizeStatistics", "Histograms count the levels of a nested column."),
    "bloom filter": Rule("BloomFilter.md", "It denies no value of its chunk."),
    "sort order": Rule(f"{_THRIFT}, SortingColumn", "Rows are sorted as the row group says."),
}


class Claim(NamedTuple):
    """What must hold in each row of a frame; the other fields as of `broken`."""

    rule: str
    holds: pl.Expr
    message: str
    stated: pl.Expr | None = None
    found: pl.Expr | None = None


def broken_claims(frame: pl.DataFrame, claims: Sequence[Claim]) -> Iterator[Violation]:
    """As `broken`, claim by claim; where all of them hold, one look at the frame tells so."""
    wrong = frame.select(
        (~claim.holds).any().alias(str(number)) for number, claim in enumerate(claims)
    )
    for claim, is_wrong in zip(claims, wrong.row(0), strict=True):
        if is_wrong:
            yield from broken(
                claim.rule,
                frame,
                claim.holds,
                claim.message,
                stated=claim.stated,
                found=claim.found,
            )


def broken(
    rule: str,
    frame: pl.DataFrame,
    holds: pl.Expr,
    message: str,
    *,
    stated: pl.Expr | None = None,
    found: pl.Expr | None = None,
) -> Iterator[Violation]:
    """A violation for each row of the frame for which `holds` is false (null is unknown: holds).

    The place is in the frame's columns `row_group`, `leaf`, `page` and `offset`, where it has them.
    """
    place = [name for name in ("row_group", "leaf", "page", "offset") if name in frame.columns]
    nothing = pl.lit(None)
    rows = frame.filter(~holds).select(
        *(pl.col(name).alias(f"at_{name}") for name in place),
        (nothing if stated is None else stated).alias("stated"),
        (nothing if found is None else found).alias("found"),
    )
    for *where, in_file, there in rows.iter_rows():
        shown = Violation(rule, message, stated=shown_value(in_file), found=shown_value(there))
        yield shown._replace(**dict(zip(place, where, strict=True)))


def is_ordered(leaf: SchemaNode) -> bool:
    """Whether polars compares the leaf's values as the format does.

    Decimals of more digits than polars has are bytes there, and INTERVAL is a struct.
    """
    dtype = polars_type(leaf)
    is_decimal = leaf.annotation is not None and leaf.annotation.kind == "DECIMAL"
    return dtype not in (pl.Null, pl.Struct) and not (is_decimal and dtype == pl.Binary)


def shown_value(value: object) -> str | None:
    """A value as text for people, on one line."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, bytes):
        return text.from_bytes(value)
    return text.clip(text.visible(str(value)), 120)
