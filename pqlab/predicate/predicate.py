"""Predicates as frozen values: comparisons of columns with values, joined by and, or, not."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import reduce
from keyword import iskeyword
from typing import Any, TypeAlias

import polars as pl

Path: TypeAlias = tuple[str, ...]  # the names from the root to the column
Value: TypeAlias = bool | int | float | str | bytes | date | datetime | time | Decimal

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# What holds where the comparison does not: polars orders NaN, too, above all other numbers.
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """`column operator value`; unknown where the column is null.

    `dtype`: of the literal, where it has one of its own; else polars finds it as for Python values.
    """

    column: Path
    operator: str
    value: Value
    dtype: pl.DataType | None = None

    @property
    def operand(self) -> Value | pl.Expr:
        """The value as polars compares with it."""
        return self.value if self.dtype is None else pl.lit(self.value, dtype=self.dtype)

    def to_polars(self) -> pl.Expr:
        """The polars expression of this predicate."""
        compared: pl.Expr = OPERATORS[self.operator](column_expression(self.column), self.operand)
        return compared

    def __str__(self) -> str:
        return f"{column_text(self.column)} {self.operator} {value_text(self.value)}"


@dataclass(frozen=True, slots=True)
class Membership:
    """`column in values`; unknown where the column is null."""

    column: Path
    values: tuple[Value, ...]

    def to_polars(self) -> pl.Expr:
        """The polars expression of this predicate."""
        return column_expression(self.column).is_in(list(self.values))

    def __str__(self) -> str:
        comma = "," if len(self.values) == 1 else ""
        return f"{column_text(self.column)} in ({', '.join(map(value_text, self.values))}{comma})"


@dataclass(frozen=True, slots=True)
class IsNull:
    """`column is None`; never unknown."""

    column: Path

    def to_polars(self) -> pl.Expr:
        """The polars expression of this predicate."""
        return column_expression(self.column).is_null()

    def __str__(self) -> str:
        return f"{column_text(self.column)} is None"


@dataclass(frozen=True, slots=True)
class Not:
    """Holds where `part` does not; unknown where it is."""

    part: Predicate

    def to_polars(self) -> pl.Expr:
        """The polars expression of this predicate."""
        return ~self.part.to_polars()

    def __str__(self) -> str:
        return f"not ({self.part})"


@dataclass(frozen=True, slots=True)
class And:
    """Holds where all `parts` do."""

    parts: tuple[Predicate, ...]

    def to_polars(self) -> pl.Expr:
        """The polars expression of this predicate."""
        return _joined(operator.and_, [part.to_polars() for part in self.parts])

    def __str__(self) -> str:
        return " and ".join(_inside(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    """Holds where one of `parts` does."""

    parts: tuple[Predicate, ...]

    def to_polars(self) -> pl.Expr:
        """The polars expression of this predicate."""
        return _joined(operator.or_, [part.to_polars() for part in self.parts])

    def __str__(self) -> str:
        return " or ".join(_inside(part) for part in self.parts)


Predicate: TypeAlias = Comparison | Membership | IsNull | Not | And | Or


def has_text(predicate: Predicate) -> bool:
    """Whether its text means just the same: types of literals are not written."""
    if isinstance(predicate, Not):
        return has_text(predicate.part)
    if isinstance(predicate, (And, Or)):
        return all(map(has_text, predicate.parts))
    return not isinstance(predicate, Comparison) or predicate.dtype is None


def columns_of(predicate: Predicate) -> frozenset[Path]:
    """The columns that it looks at."""
    if isinstance(predicate, Not):
        return columns_of(predicate.part)
    if isinstance(predicate, (And, Or)):
        return frozenset[Path]().union(*map(columns_of, predicate.parts))
    return frozenset([predicate.column])


def column_expression(column: Path) -> pl.Expr:
    """The column in polars, whatever its names are."""
    root, *fields = column
    # polars reads these names as patterns.
    is_pattern = root == "*" or (root.startswith("^") and root.endswith("$"))
    found = pl.col(f"^{re.escape(root)}$" if is_pattern else root)
    return reduce(lambda parent, name: parent.struct.field(name), fields, found)


def column_text(column: Path) -> str:
    """The column as `parse` takes it."""
    if all(name.isidentifier() and name.isascii() and not iskeyword(name) for name in column):
        return ".".join(column)
    return f"col({', '.join(map(repr, column))})"


def value_text(value: Value) -> str:
    """The value as `parse` takes it."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, (date, time)):  # a datetime is a date, too
        return f'{type(value).__name__}("{value.isoformat()}")'
    return f'decimal("{value}")' if isinstance(value, Decimal) else repr(value)


def _joined(how: Callable[[Any, Any], Any], parts: list[pl.Expr]) -> pl.Expr:
    """Halves joined with halves: polars' own walks are as deep as the expression is."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [how(*pair) for pair in pairs] + parts[len(parts) - len(parts) % 2 :]
    return parts[0]


def _inside(part: Predicate) -> str:
    return f"({part})" if isinstance(part, (And, Or)) else str(part)
