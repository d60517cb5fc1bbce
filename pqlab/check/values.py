"""Rules that values can break: every page is decoded, and compared with what is said of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from pqlab.check.rules import Claim, Violation, broken, broken_claims, is_ordered, shown_value
from pqlab.footer.schema import SchemaNode

_c = pl.col
_SLICED_PAGES = 64  # more are summed up by groups


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
    pages: np.ndarray,
) -> Iterator[Violation]:
    """What the values of a chunk contradict.

    `values`: as of `leaf_values`; `statistics`: the chunk's row of `ParquetFile.statistics`, then
    a row per page; `pages`: the chunk's data pages of the page table.
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
    num_rows, first_row = pages["num_rows"].astype(np.int64), pages["first_row"]
    if not len(pages) or (num_rows < 0).any() or (first_row < 0).any():
        return
    ends = first_row + num_rows
    of_pages = statistics.filter(_c("page").is_not_null()).sort("page")
    if len(of_pages) != len(pages):
        return
    summaries = _of_pages(values, ends)
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
    found = {"null_count": values.null_count()} if node.max_repetition_level == 0 else {}
    if values.dtype.is_float():
        found["nan_count"] = int(values.is_nan().sum() or 0)
    if chunk["distinct_count"].item() is not None and not isinstance(values.dtype, pl.Struct):
        found["distinct_count"] = values.drop_nulls().n_unique()
    rules = {"null_count": "nulls", "nan_count": "nan count", "distinct_count": "distinct count"}
    for name, count in found.items():
        stated = chunk[name].item()
        if stated is not None and stated != count:
            yield Violation(
                rules[name],
                "the chunk's values are others",
                int(chunk["row_group"].item()),
                stated=shown_value(stated),
                found=shown_value(count),
            )


def _beside(stated: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([stated, found], how="horizontal")


def _summary(values: pl.Series) -> pl.DataFrame:
    """`__nulls`, `__min` and `__max` of all values, NaN left out."""
    return _of_slices(_bounded(values), [0, len(values)]).drop("group")


def _of_pages(values: pl.DataFrame, ends: np.ndarray) -> pl.DataFrame:
    """The same per page, in its order; `ends`: of the pages, in rows."""
    rows = values["row"].to_numpy()
    if len(ends) > _SLICED_PAGES:
        page = np.searchsorted(ends, rows, side="right")
        return _summaries(values["value"], page, len(ends))
    stops = np.searchsorted(rows, ends, side="left").tolist()
    return _of_slices(_bounded(values["value"]), [0, *stops])


def _of_slices(values: pl.Series, cuts: list[int]) -> pl.DataFrame:
    """A row per slice from a cut to the next, all by one look at the values."""
    parts = [_c("value").slice(start, stop - start) for start, stop in pairwise(cuts)]
    bounded = [part.fill_nan(None) if values.dtype.is_float() else part for part in parts]
    columns = {
        "__nulls": [part.null_count().cast(pl.Int64) for part in parts],
        "__min": [part.min() for part in bounded],
        "__max": [part.max() for part in bounded],
    }
    summary = values.to_frame("value").select(
        reduce(pl.Expr.append, cells).alias(name) for name, cells in columns.items()
    )
    return summary.select(pl.int_range(pl.len(), dtype=pl.Int64).alias("group"), pl.all())


def _bounded(values: pl.Series) -> pl.Series:
    """What is compared: structs have no order."""
    if isinstance(values.dtype, pl.Struct):
        return values.is_null().replace(old=True, new=None)
    return values


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
    claims = []
    for side, holds in (("min", _c("__min") >= _c("min")), ("max", _c("__max") <= _c("max"))):
        stated, found = _c(side), _c(f"__{side}")
        is_exact = _c(f"is_{side}_value_exact") & holds
        claims += [
            Claim(rule, holds, f"a value is beyond the {side}", stated, found),
            Claim(
                "exact bounds", (found == stated) | ~is_exact,
                f"the {side} is no value", stated, found,
            ),
        ]  # fmt: skip
    yield from broken_claims(trusted, claims)


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
