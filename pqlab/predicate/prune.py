"""Metadata and a predicate to the row groups that may have such rows. Pure; vectorised.

Bounds are compared by polars as the values will be, so both compare by the same rules: the order of
NaN and of the two zeros, numbers of different types, decimals, timestamps. A bound counts only
where no rule of `footer/bounds.py` speaks against it; what is not known rules nothing out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date, datetime
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pqlab import text
from pqlab.footer.frames import statistics_frame
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.types import SortOrder, leaf_sort_order, polars_type, type_key
from pqlab.predicate.predicate import (
    OPERATORS,
    OPPOSITE,
    And,
    Comparison,
    IsNull,
    Membership,
    Not,
    Or,
    Path,
    Predicate,
    Value,
)

_MOST_VALUES = 256  # of a list that are compared with bounds
_SHOWN_CHARACTERS = 40  # of a bound

# Where polars orders the values of a dtype as the format does; elsewhere bounds say nothing.
_SAME_ORDER: dict[SortOrder, Callable[[pl.DataType], bool]] = {
    SortOrder.SIGNED: lambda dtype: (
        dtype.is_signed_integer()
        or dtype.is_temporal()
        or dtype.is_decimal()
        or dtype == pl.Boolean()
    ),
    SortOrder.UNSIGNED: lambda dtype: (
        dtype.is_unsigned_integer() or dtype in (pl.String(), pl.Binary())
    ),
    SortOrder.FLOAT: lambda dtype: dtype.is_float(),
}

# The values that `in` finds in a column of such a dtype without making them something else.
_SAME_VALUES: dict[type, Callable[[pl.DataType], bool]] = {
    bool: lambda dtype: dtype == pl.Boolean(),
    int: lambda dtype: dtype.is_integer(),
    float: lambda dtype: dtype.is_float(),
    str: lambda dtype: dtype == pl.String(),
    bytes: lambda dtype: dtype == pl.Binary(),
    date: lambda dtype: dtype == pl.Date(),
    datetime: lambda dtype: isinstance(dtype, pl.Datetime),
}

Mask = npt.NDArray[np.bool_]


class Judged(NamedTuple):
    """What statistics say of a predicate.

    `may_hold`: of each row group, whether it may have rows for which the predicate holds. `why(i)`:
    for one that has none, the conditions that rule it out, and the bounds that do.
    """

    may_hold: Mask
    why: Callable[[int], tuple[str, str]]


def judge(metadata: FileMetaData, predicate: Predicate) -> Judged:
    """What the statistics of the row groups' chunks say of it."""
    return _judge(metadata, predicate, holds=True)


def _judge(metadata: FileMetaData, predicate: Predicate, *, holds: bool) -> Judged:
    """Of the predicate, or of its opposite: unknown has itself as its opposite."""
    if isinstance(predicate, Not):
        return _judge(metadata, predicate.part, holds=not holds)
    if isinstance(predicate, (And, Or)):
        parts = [_judge(metadata, part, holds=holds) for part in predicate.parts]
        return _all(parts) if isinstance(predicate, And) is holds else _any(parts)
    return _condition(metadata, predicate, holds=holds)


def _all(parts: Sequence[Judged]) -> Judged:
    def why(row_group: int) -> tuple[str, str]:
        return next(part for part in parts if not part.may_hold[row_group]).why(row_group)

    return Judged(np.logical_and.reduce([part.may_hold for part in parts]), why)


def _any(parts: Sequence[Judged]) -> Judged:
    def why(row_group: int) -> tuple[str, str]:
        conditions, bounds = zip(*(part.why(row_group) for part in parts), strict=True)
        return "; ".join(conditions), "; ".join(dict.fromkeys(bounds))

    return Judged(np.logical_or.reduce([part.may_hold for part in parts]), why)


def _condition(
    metadata: FileMetaData, predicate: Comparison | Membership | IsNull, *, holds: bool
) -> Judged:
    statistics = _statistics(metadata, predicate.column)
    may_hold = np.ones(metadata.num_row_groups, np.bool_)
    if statistics is not None:
        try:
            found = statistics.select(_may_hold(predicate, statistics["min"].dtype, holds=holds))
            may_hold = found.to_series().to_numpy()
        except pl.exceptions.PolarsError:
            pass  # bounds that do not compare with the value rule nothing out
    words = str(predicate) if holds else f"not ({predicate})"

    def why(row_group: int) -> tuple[str, str]:
        assert statistics is not None
        row = statistics.row(row_group, named=True)
        shown = ", ".join(
            f"{name} {text.clip(text.visible(str(row[name])), _SHOWN_CHARACTERS)}"
            for name in ("min", "max", "null_count", "num_values")
            if row[name] is not None
        )
        return f"no row has {words}", f"{'.'.join(predicate.column)}: {shown}"

    return Judged(may_hold, why)


def _statistics(metadata: FileMetaData, column: Path) -> pl.DataFrame | None:
    """A row per row group: `min`, `max` (null: unknown), `may_be_nan`, `has_values`, `has_nulls`.

    None for what is not one leaf outside of lists.
    """
    found = [leaf for leaf in metadata.leaves if leaf.path == column]
    if len(found) != 1 or found[0].max_repetition_level or found[0].leaf is None:
        return None
    dtype = polars_type(found[0])
    if dtype == pl.Null():  # whatever is stored
        return None
    same_order = _SAME_ORDER.get(leaf_sort_order(*type_key(found[0])))
    is_ordered = same_order is not None and same_order(dtype)
    counts = pl.col("null_count")
    is_bound = pl.col("bounds_state").is_in(["present", "deprecated"]) & is_ordered
    low, high, may_be_nan = pl.col("min"), pl.col("max"), pl.lit(value=False)
    if dtype.is_float():
        may_be_nan = (pl.col("nan_count") != 0).fill_null(value=True)
        is_bound &= low.is_not_nan().fill_null(value=True)
        is_bound &= high.is_not_nan().fill_null(value=True)
    return statistics_frame(metadata, found[0].leaf).select(
        "null_count",
        "num_values",
        min=pl.when(is_bound).then(low),
        max=pl.when(is_bound).then(high),
        may_be_nan=may_be_nan,
        has_values=(counts < pl.col("num_values")).fill_null(value=True),
        has_nulls=(counts > 0).fill_null(value=True),
    )


def _may_hold(
    predicate: Comparison | Membership | IsNull, dtype: pl.DataType, *, holds: bool
) -> pl.Expr:
    """Of a row of `_statistics`, whether some row may have what is wanted."""
    if isinstance(predicate, IsNull):
        return pl.col("has_nulls" if holds else "has_values")
    if isinstance(predicate, Comparison):
        name = predicate.operator if holds else OPPOSITE[predicate.operator]
        found = _may_compare(name, predicate.value, predicate.value)
    else:
        values = predicate.values
        if len(values) > _MOST_VALUES or not all(_is_same(value, dtype) for value in values):
            return pl.col("has_values")
        name, join = ("==", pl.Expr.or_) if holds else ("!=", pl.Expr.and_)
        compared = [
            _may_compare(name, value, pl.lit(value).cast(dtype, strict=False)) for value in values
        ]
        found = reduce(join, compared, pl.lit(value=not holds))
    return found.fill_null(value=True) & pl.col("has_values")


def _may_compare(name: str, value: Value, operand: Any) -> pl.Expr:
    """Whether a value between the bounds, or a NaN beyond them, may compare so with `operand`."""
    low, high, may_be_nan = pl.col("min"), pl.col("max"), pl.col("may_be_nan")
    found: pl.Expr
    if name in ("<", "<="):
        found = OPERATORS[name](low, operand)
    elif name in (">", ">="):  # NaN is above all numbers
        found = OPERATORS[name](high, operand) | may_be_nan
    elif name == "!=":
        found = (low != operand) | (high != operand) | may_be_nan
    else:
        found = (low <= operand) & (high >= operand)
        if isinstance(value, float) and math.isnan(value):
            found |= may_be_nan
    return found


def _is_same(value: Value, dtype: pl.DataType) -> bool:
    is_same = _SAME_VALUES.get(type(value))
    return is_same is not None and is_same(dtype)
