"""What findings are made of: the chunks of a file, or of many, with what their leaves are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pqlab.reader import ParquetFile

_c = pl.col
_LEAF = ("logical_type", "max_definition_level", "max_repetition_level")
WIDTHS = {"BOOLEAN": 0.125, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_INTEGERS = {"INT32": pl.Int32, "INT64": pl.Int64}
# Types of columns that people filter by ranges, as long as nobody says which those are.
_FILTERED = r"^(DATE|TIMESTAMP)"


@dataclass(frozen=True, eq=False)
class Facts:
    """`chunks`: as `frame_columns.CATALOGUE`, with `_LEAF` of each.

    `filters`: paths of the columns that rows are filtered by; None: nobody said.
    """

    chunks: pl.DataFrame
    filters: frozenset[str] | None

    @classmethod
    def of_file(cls, file: ParquetFile, filters: Iterable[str] | None) -> Facts:
        """Of one file."""
        rows = pl.Series("rows", np.asarray(file.metadata.row_groups.num_rows, np.int64))
        chunks = file.column_chunks.with_columns(
            pl.lit(file.name).alias("file"),
            pl.lit(file.source.size, pl.Int64).alias("file_size_bytes"),
            pl.lit(file.metadata.footer_bytes, pl.Int64).alias("footer_bytes"),
        )
        num_rows = rows.gather(chunks["row_group"]).alias("row_group_num_rows")
        leaves = file.leaves.select("leaf", *_LEAF)
        whole = chunks.with_columns(num_rows).join(leaves, on="leaf", maintain_order="left")
        return cls(whole, None if filters is None else frozenset(filters))

    @classmethod
    def of_many(
        cls,
        catalogue: pl.DataFrame,
        states: pl.DataFrame,
        leaves: pl.DataFrame,
        filters: Iterable[str] | None,
    ) -> Facts:
        """Of a dataset's catalogue; the other two as of `dataset.catalogue.Catalogue`."""
        kinds = states.select("file", "kind").unique("file")
        of_kind = leaves.select("kind", "column", *_LEAF).unique(["kind", "column"])
        whole = (
            catalogue.filter(_c("row_group").is_not_null())
            .join(kinds, on="file", maintain_order="left")
            .join(of_kind, on=["kind", "column"], how="left", maintain_order="left")
        )
        return cls(whole, None if filters is None else frozenset(filters))

    @cached_property
    def files(self) -> pl.DataFrame:
        """A row per file."""
        return self.chunks.group_by("file", maintain_order=True).agg(
            _c("file_size_bytes", "footer_bytes").first(),
            _c("row_group").n_unique().alias("num_row_groups"),
            _c("total_compressed_size").sum(),
        )

    @cached_property
    def row_groups(self) -> pl.DataFrame:
        """A row per file and row group."""
        return self.chunks.group_by("file", "row_group", maintain_order=True).agg(
            _c("total_compressed_size", "total_uncompressed_size").sum(),
            _c("row_group_num_rows", "footer_bytes").first(),
        )

    def by_column(self, where: pl.Expr, *aggregates: pl.Expr) -> pl.DataFrame:
        """The chunks for which that holds, a row per file and column: `num_chunks` and more."""
        return (
            self.chunks.filter(where)
            .group_by("file", "column", maintain_order=True)
            .agg(pl.len().cast(pl.Int64).alias("num_chunks"), *aggregates)
        )

    @property
    def is_filtered(self) -> pl.Expr:
        """Whether rows are filtered by the chunk's column: as was said, else dates and times."""
        if self.filters is not None:
            return _c("column").is_in(list(self.filters))
        return _c("logical_type").str.contains(_FILTERED).fill_null(value=False)

    def overlaps(self) -> pl.DataFrame:
        """Per column that is filtered by: in how many row groups a value may lie, over all files.

        `num_row_groups` with bounds, `held`: the mean, over the row groups' minima, of the row
        groups whose bounds hold it; 1 where they are sorted.
        """
        bounded = self.chunks.filter(
            self.is_filtered, _c("max_repetition_level") == 0, bounds_state="present"
        )
        rows = []
        for column, part in bounded.group_by("column", maintain_order=True):
            for physical_type, same in part.group_by("physical_type", maintain_order=True):
                lows, highs = (_comparable(same, side, str(physical_type[0])) for side in _SIDES)
                held = _held(lows, highs)
                size = int(same["total_compressed_size"].sum())
                rows.append((str(column[0]), len(same), held, size))
        schema = {
            "column": pl.String, "num_row_groups": pl.Int64, "held": pl.Float64, "size": pl.Int64
        }  # fmt: skip
        return pl.DataFrame(rows, schema=schema, orient="row")


_SIDES = ("min", "max")


def integer_bounds(side: str, physical_type: str) -> pl.Expr:
    """The stored bound of an integer column, as a number."""
    stored = _c(f"{side}_bytes").bin
    return stored.reinterpret(dtype=_INTEGERS[physical_type], endianness="little")


def _comparable(frame: pl.DataFrame, side: str, physical_type: str) -> np.ndarray:
    """Bounds as ranks or numbers that compare as the values do."""
    if physical_type in _INTEGERS:
        return frame.select(integer_bounds(side, physical_type)).to_series().to_numpy()
    if physical_type in ("FLOAT", "DOUBLE"):
        dtype = pl.Float32 if physical_type == "FLOAT" else pl.Float64
        stored = _c(f"{side}_bytes").bin.reinterpret(dtype=dtype, endianness="little")
        return frame.select(stored).to_series().to_numpy()
    both = pl.concat([frame["min_bytes"], frame["max_bytes"]])
    ranks = both.rank("dense").to_numpy()
    return ranks[: len(frame)] if side == "min" else ranks[len(frame) :]


def _held(lows: np.ndarray, highs: np.ndarray) -> float:
    """How many ranges hold a minimum, in the mean over them."""
    begun = np.searchsorted(np.sort(lows), lows, side="right")
    ended = np.searchsorted(np.sort(highs), lows, side="left")
    return float(np.mean(begun - ended))
