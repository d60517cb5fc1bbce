"""Rules that values can break: every page is decoded, and compared with what is said of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from pqlab.check.rules import Violation, broken, is_ordered, shown_value
from pqlab.footer.schema import SchemaNode

_c = pl.col


def leaf_values(frame: pl.DataFrame) -> pl.DataFrame:
    """The values of a frame of one leaf, lists and structs around it taken off.

    Columns `row`, the frame's row that each belongs to, and `value`; nulls and empty lists around
    a value are nulls.
    """
    values = frame.to_series()
    unnested = pl.DataFrame({"row": np.arange(len(values), dtype=np.int64), "value": values})
    dtype: Any = values.dtype  # asked for once: polars makes it anew each time, all levels
    while True:
        if isinstance(dtype, pl.List):
            unnested, dtype = unnested.explode("value"), dtype.inner
        elif isinstance(dtype, pl.Struct) and len(dtype.fields) == 1:
            field = dtype.fields[0]
            unnested = unnested.with_columns(_c("value").struct.field(field.name).alias("value"))
            dtype = field.dtype
        else:  # an INTERVAL is one value
            return unnested


def value_violations(
    node: SchemaNode,
    values: pl.DataFrame,
    statistics: pl.DataFrame,
    pages: pl.DataFrame,
) -> Iterator[Violation]:
    """What the values of a chunk contradict.

    `values`: as of `leaf_values`; `statistics`: the chunk's row of `ParquetFile.statistics`, then
    a row per page; `pages`: the chunk's data pages as of `ParquetFile.pages`.
    """
    chunk = statistics.filter(_c("page").is_null())
    if not _has_digits(values["value"]):
        yield Violation("precision", "a decimal has more digits than its type")
        return  # polars cannot show it
    yield from _counts(node, values["value"], chunk)
    if not is_ordered(node):
        statistics = statistics.with_columns(pl.lit("untrusted").alias("bounds_state"))
        chunk = statistics.filter(_c("page").is_null())
    yield from _beyond("bounds", _beside(chunk, _summary(values["value"])))
    known = pages.select("page", "first_row", "num_rows").drop_nulls()
    if len(known) != len(pages) or not len(pages):
        return
    ends = known["first_row"].to_numpy() + known["num_rows"].to_numpy()
    page = np.searchsorted(ends, values["row"].to_numpy(), side="right")
    of_pages = statistics.filter(_c("page").is_not_null()).sort("page")
    if len(of_pages) != len(known):
        return
    summaries = _summaries(values["value"], page, len(known))
    both = _beside(of_pages.drop("page"), summaries.rename({"group": "page"}))
    if node.max_repetition_level == 0:
        yield from broken(
            "page nulls", both, _c("null_count") == _c("__nulls"),
            "the page has another number of nulls",
            stated=_c("null_count"), found=_c("__nulls"),
        )  # fmt: skip
    yield from _beyond("page bounds", both)


def _has_digits(values: pl.Series) -> bool:
    """Whether decimals have no more digits than their precision; true of what is no decimal."""
    if not isinstance(values.dtype, pl.Decimal):
        return True
    unscaled = values.to_physical()
    limit = 10**values.dtype.precision
    return bool(((unscaled > -limit) & (unscaled < limit)).all())


def _counts(node: SchemaNode, values: pl.Series, chunk: pl.DataFrame) -> Iterator[Violation]:
    is_float = values.dtype.is_float()
    found = {"null_count": values.null_count()} if node.max_repetition_level == 0 else {}
    if is_float:
        found["nan_count"] = int(values.is_nan().sum() or 0)
    if chunk["distinct_count"].item() is not None and not isinstance(values.dtype, pl.Struct):
        found["distinct_count"] = values.drop_nulls().n_unique()
    rules = {"null_count": "nulls", "nan_count": "nan count", "distinct_count": "distinct count"}
    for name, count in found.items():
        yield from broken(
            rules[name], chunk.drop("page"), _c(name) == count,
            "the chunk's values are others", stated=_c(name), found=pl.lit(count),
        )  # fmt: skip


def _beside(stated: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([stated, found], how="horizontal")


def _summary(values: pl.Series) -> pl.DataFrame:
    return _summaries(values, np.zeros(len(values), np.int64), 1).drop("group")


def _summaries(values: pl.Series, group: np.ndarray, count: int) -> pl.DataFrame:
    """Per group: `__nulls`, `__min` and `__max`, NaN left out; groups without values have nulls."""
    if isinstance(values.dtype, pl.Struct):  # without an order
        values = values.is_null().replace(old=True, new=None)
    bounded = values.fill_nan(None) if values.dtype.is_float() else values
    grouped = (
        pl.DataFrame({"group": group, "value": values, "bounded": bounded})
        .group_by("group")
        .agg(
            _c("value").null_count().cast(pl.Int64).alias("__nulls"),
            _c("bounded").min().alias("__min"),
            _c("bounded").max().alias("__max"),
        )
    )
    every = pl.DataFrame({"group": np.arange(count, dtype=np.int64)})
    summary = every.join(grouped, on="group", how="left", maintain_order="left")
    return summary.with_columns(_c("__nulls").fill_null(0))


def _beyond(rule: str, both: pl.DataFrame) -> Iterator[Violation]:
    """What lies beyond bounds that are trusted, and exact bounds that are no value."""
    trusted = both.filter(bounds_state="present")
    if trusted.is_empty():
        return  # of types that are not compared, too
    for side, holds in (("min", _c("__min") >= _c("min")), ("max", _c("__max") <= _c("max"))):
        yield from broken(
            rule, trusted, holds,
            f"a value is beyond the {side}", stated=_c(side), found=_c(f"__{side}"),
        )  # fmt: skip
        exact = trusted.filter(_c(f"is_{side}_value_exact") & holds)
        yield from broken(
            "exact bounds", exact, _c(f"__{side}") == _c(side),
            f"the {side} is no value", stated=_c(side), found=_c(f"__{side}"),
        )  # fmt: skip


def sort_violations(
    row_group: int, columns: list[pl.Series], descending: list[bool], nulls_first: list[bool]
) -> Iterator[Violation]:
    """Where the rows of a row group are not sorted by these columns, the first one first."""
    equal = np.ones(max(0, len(columns[0]) - 1), np.bool_)
    for values, is_descending, is_nulls_first in zip(columns, descending, nulls_first, strict=True):
        before, after = values[:-1], values[1:]
        is_less = (after > before) if is_descending else (after < before)
        null_before, null_after = before.is_null(), after.is_null()
        misplaced = (null_after & ~null_before) if is_nulls_first else (null_before & ~null_after)
        wrong = equal & (is_less.fill_null(value=False) | misplaced).to_numpy()
        if wrong.any():
            row = int(np.argmax(wrong))
            yield Violation(
                "sort order",
                f"row {row + 1:,} of the row group comes before row {row:,}",
                row_group,
                stated=shown_value(values[row]),
                found=shown_value(values[row + 1]),
            )
            return
        equal &= before.eq_missing(after).to_numpy()
