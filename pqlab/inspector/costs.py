"""What the last read cost, by page and by chunk: joined to the pages that are shown."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from pqlab.trace import Stage, Trace

_OF_PAGES = (
    Stage.DECOMPRESS,
    Stage.LEVELS,
    Stage.DECODE,
    Stage.LEVELS_DECODE,
)
_PAGES = {
    "row_group": pl.Int32,
    "leaf": pl.Int32,
    "page": pl.Int32,
    "read_ns": pl.Int64,
    "prefetch": pl.String,
}


@dataclass(frozen=True, slots=True)
class Costs:
    """`pages`: a row per page that was read: row_group, leaf, page, read_ns, prefetch."""

    pages: pl.DataFrame
    chunks: dict[tuple[int, int], int]

    @classmethod
    def none(cls) -> Costs:
        """Before anything was read."""
        return cls(pl.DataFrame(schema=_PAGES), {})

    @classmethod
    def of(cls, trace: Trace) -> Costs:
        """Of all reads that the trace has."""
        stages = [stage.text for stage in _OF_PAGES]
        pages = (
            trace.to_frame()
            .filter(pl.col("stage").is_in(stages) & pl.col("page").is_not_null())
            .group_by("row_group", "leaf", "page")
            .agg(pl.col("duration_ns").sum().alias("read_ns"), pl.col("prefetch").last())
            .select(pl.col(name).cast(dtype) for name, dtype in _PAGES.items())
        )
        sums = pages.group_by("row_group", "leaf").agg(pl.col("read_ns").sum())
        return cls(pages, {(group, leaf): ns for group, leaf, ns in sums.iter_rows()})

    def joined(self, pages: pl.DataFrame) -> pl.DataFrame:
        """A frame of pages with `read_ns` and `prefetch`, null for those that were not read."""
        return pages.join(
            self.pages, on=["row_group", "leaf", "page"], how="left", maintain_order="left"
        )
