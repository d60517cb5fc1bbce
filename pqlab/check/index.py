"""Rules that the page index can break, beside the footer: no page is read for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from pqlab.check.rules import Violation, broken, is_ordered
from pqlab.footer.frames import leaf_bounds, pages_frame, statistics_frame
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.page_table import PageTable

_c = pl.col
_CHUNK = ("row_group", "leaf")


def index_violations(
    metadata: FileMetaData, chunks: pl.DataFrame, table: PageTable
) -> Iterator[Violation]:
    """What in the page index contradicts itself, or the footer.

    `table`: the pages of chunks with an index, from the index alone; `chunks`: the footer's frame.
    """
    for warning in table.warnings:
        yield Violation("unread" if "encrypted" in warning else "page index", warning)
    if not len(table):
        return
    pages = pages_frame(metadata, table)
    of_chunks = pages.group_by(_CHUNK, maintain_order=True).agg(
        pl.when(_c("num_nulls").is_null().filter(_c("page") >= 0).any())
        .then(None)
        .otherwise(_c("num_nulls").filter(_c("page") >= 0).cast(pl.Int64).sum())
        .alias("num_nulls"),
    )
    stated = chunks.select(*_CHUNK, "null_count")
    sums = of_chunks.join(stated, on=_CHUNK, how="left", maintain_order="left")
    nulls = _c("num_nulls")
    yield from broken(
        "index nulls", sums, _c("null_count") == nulls,
        "the pages' nulls are of another number", stated=_c("null_count"), found=nulls,
    )  # fmt: skip
    yield from _bounds(metadata, table, sorted(set(pages["leaf"].to_list())))


def _bounds(metadata: FileMetaData, table: PageTable, leaves: Sequence[int]) -> Iterator[Violation]:
    trusted = leaf_bounds(metadata).value_trusted
    for leaf in leaves:
        if not (trusted[leaf] and is_ordered(metadata.leaves[leaf])):
            continue
        bounds = statistics_frame(metadata, leaf, table).filter(bounds_state="present")
        pages = bounds.filter(_c("page").is_not_null()).with_columns(pl.lit(leaf).alias("leaf"))
        yield from broken(
            "index bounds", pages, _c("min") <= _c("max"),
            "the minimum is above the maximum", stated=_c("min"), found=_c("max"),
        )  # fmt: skip
        if metadata.leaves[leaf].physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"):
            continue  # either may be cut short, and cut bounds are wider
        chunk = bounds.filter(_c("page").is_null()).select(
            "row_group", _c("min").alias("__min"), _c("max").alias("__max")
        )
        both = pages.join(chunk, on="row_group", how="left", maintain_order="left")
        for side, holds in (("min", _c("min") >= _c("__min")), ("max", _c("max") <= _c("__max"))):
            yield from broken(
                "index bounds", both, holds,
                f"the page's {side} is beyond the chunk's", stated=_c(f"__{side}"), found=_c(side),
            )  # fmt: skip
