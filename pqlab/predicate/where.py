"""`where=`: text or a polars expression, and the predicate that it is understood as."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

import polars as pl

from pqlab.errors import SelectionError
from pqlab.predicate.parse import parse
from pqlab.predicate.predicate import (
    And,
    Comparison,
    IsNull,
    Membership,
    Not,
    Or,
    Path,
    Predicate,
    columns_of,
    has_text,
)

# As polars names them in an expression's JSON, and what they become with their sides exchanged.
_OPERATORS = {"Eq": "==", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_MIRRORED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}


@dataclass(frozen=True, slots=True, eq=False)
class Where:
    """What was asked for. `predicate` is None for an expression that is not understood.

    Such an expression is applied as it is, to all rows at once, and rules nothing out.
    """

    expression: pl.Expr
    predicate: Predicate | None

    @property
    def columns(self) -> frozenset[Path] | None:
        """The columns that it looks at, as paths from the root; None: it may be all of them."""
        if self.predicate is not None:
            return columns_of(self.predicate)
        return _root_columns(self.expression)

    @property
    def text(self) -> str | None:
        """The text that means the same, if there is one."""
        is_text = self.predicate is not None and has_text(self.predicate)
        return str(self.predicate) if is_text else None

    def __str__(self) -> str:
        return "<expression>" if self.predicate is None else str(self.predicate)


def of(where: str | pl.Expr) -> Where:
    """Text, parsed; or an expression, understood as far as it is made of what a predicate has.

    Raises `SelectionError` for text that does not parse, TypeError for anything else.
    """
    if isinstance(where, str):
        predicate = parse(where)
        return Where(predicate.to_polars(), predicate)
    if not isinstance(where, pl.Expr):
        raise TypeError(f"where is text or a polars expression, not {where!r}")
    if where.meta.has_multiple_outputs():
        raise SelectionError("where has several outputs, and one condition is wanted")
    return Where(where, _understood(where))


class _OtherShapeError(Exception):
    """The expression is not made of what a predicate has."""


def _understood(expression: pl.Expr) -> Predicate | None:
    try:
        return _predicate(json.loads(expression.meta.serialize(format="json")))
    except (_OtherShapeError, ValueError, RecursionError, pl.exceptions.PolarsError):
        return None


def _predicate(node: Any) -> Predicate:
    match node:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            return And((_predicate(left), _predicate(right)))
        case {"BinaryExpr": {"left": left, "op": "Or" | "LogicalOr", "right": right}}:
            return Or((_predicate(left), _predicate(right)))
        case {"BinaryExpr": {"left": {"Literal": _} as left, "op": name, "right": right}}:
            if name in _MIRRORED:
                turned = {"left": right, "op": _MIRRORED[name], "right": left}
                return _comparison({"BinaryExpr": turned})
        case {"BinaryExpr": {"op": name}} if name in _OPERATORS:
            return _comparison(node)
        case {"Column": _} | {"Function": {"function": {"StructExpr": _}}}:
            return Comparison(_column(node), "==", value=True)
        case {"Function": {"input": [part], "function": {"Boolean": str(name)}}}:
            if name in _OF_ONE:
                return _OF_ONE[name](part)
        case {"Function": {"input": inputs, "function": {"Boolean": {"IsBetween": how}}}}:
            return _between(inputs, how["closed"])
        case {"Function": {"input": [column, {"Literal": _} as values]}}:
            return _membership(node, _column(column), _literal(values)[0])
    raise _OtherShapeError


_OF_ONE: dict[str, Callable[[Any], Predicate]] = {
    "Not": lambda part: Not(_predicate(part)),
    "IsNull": lambda column: IsNull(_column(column)),
    "IsNotNull": lambda column: Not(IsNull(_column(column))),
    "IsNan": lambda column: Comparison(_column(column), "==", math.nan),
    "IsNotNan": lambda column: Comparison(_column(column), "!=", math.nan),
}


def _between(inputs: Sequence[Any], closed: str) -> Predicate:
    column, low, high = inputs
    lower = "GtEq" if closed in ("Both", "Left") else "Gt"
    upper = "LtEq" if closed in ("Both", "Right") else "Lt"
    sides = ((lower, low), (upper, high))
    parts = [{"left": column, "op": name, "right": value} for name, value in sides]
    return And(tuple(_comparison({"BinaryExpr": part}) for part in parts))


def _membership(node: Any, column: Path, values: Any) -> Predicate:
    if not isinstance(values, pl.Series) or values.null_count():
        raise _OtherShapeError
    listed = tuple(values.to_list())
    return _checked(node, lambda: Membership(column, listed))


def _comparison(node: Any) -> Predicate:
    parts = node["BinaryExpr"]
    column, name = _column(parts["left"]), _OPERATORS[parts["op"]]
    value, dtype = _literal(parts["right"])
    try:
        return _checked(node, lambda: Comparison(column, name, value))
    except _OtherShapeError:  # a literal of a type of its own, as the optimiser of polars makes
        return _checked(node, lambda: Comparison(column, name, value, dtype))


def _checked(node: Any, make: Callable[[], Comparison | Membership]) -> Predicate:
    """What was made, if polars writes it in just the same way: type by type, flag by flag."""
    try:
        made = make()
        written = json.loads(made.to_polars().meta.serialize(format="json"))
    except (TypeError, ValueError):
        raise _OtherShapeError from None
    if written != node:
        raise _OtherShapeError
    return made


def _column(node: Any) -> Path:
    match node:
        case {"Column": str(name)}:
            return (name,)
        case {"Function": {"input": [parent], "function": {"StructExpr": {"FieldByName": name}}}}:
            return (*_column(parent), name)
    raise _OtherShapeError


def _literal(node: Any) -> tuple[Any, pl.DataType]:
    if "Literal" not in node:
        raise _OtherShapeError
    literal = pl.select(pl.Expr.deserialize(StringIO(json.dumps(node)), format="json")).to_series()
    value = literal.item()
    if value is None:
        raise _OtherShapeError
    return value, literal.dtype


def _root_columns(expression: pl.Expr) -> frozenset[Path] | None:
    try:
        if "Selector" in expression.meta.serialize(format="json"):
            return None
    except pl.exceptions.PolarsError:
        return None
    return frozenset((name,) for name in expression.meta.root_names())
