"""Text to a predicate: `fare_amount > 50 and payment_type in (1, 2)`.

| text | meaning |
|---|---|
| `a < 5`, `5 > a`, `1 <= a < 5` | comparisons: `==`, `!=`, `<`, `<=`, `>`, `>=` |
| `a in (1, 2)`, `a not in ("x", "y")` | one of the values, none of them |
| `a is None`, `a is not None` | null or not |
| `flag` | the same as `flag == True` |
| `... and ...`, `... or ...`, `not ...`, `(...)` | joined |
| `address.city` | the column under others |
| `col("a name")`, `col("a.b", "c")` | columns whose names are no words of Python |
| `date("2024-01-31")`, `datetime("2024-01-31T12:00:00+00:00")`, `time("12:30")` | ISO 8601 |
| `decimal("1.50")`, `float("nan")`, `b"bytes"` | other values |

The grammar is Python's; the syntax tree is read, and nothing is evaluated.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from itertools import pairwise
from typing import NoReturn, cast

from pqlab import text as texts
from pqlab.errors import SelectionError
from pqlab.predicate.predicate import (
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

MAX_CHARACTERS = 10_000  # polars takes time with the square of what is joined
_SHOWN_CHARACTERS = 60  # on each side of the place
_HINT = "Write for instance fare_amount > 50 and payment_type in (1, 2)"
_QUOTES = "Text stands in quotes"

_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_MAKERS: dict[str, Callable[[str], Value]] = {
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
    "decimal": Decimal,
    "float": float,
}


def parse(text: str) -> Predicate:
    """The predicate that the text means. Raises `SelectionError` at the place that has no meaning.

    Whether there are such columns is not looked at.
    """
    if len(text) > MAX_CHARACTERS:
        raise SelectionError(f"where has {len(text):,} characters, above {MAX_CHARACTERS:,}")
    text = text.strip()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in texts
            tree = ast.parse(text, mode="eval")
        return _Reader(text).predicate(tree.body)
    except SyntaxError as error:
        _refuse(text, error.lineno or 1, (error.offset or 1) - 1, str(error.msg))
    except (ValueError, RecursionError, MemoryError) as error:
        raise SelectionError(f"where cannot be read: {error}", hint=_HINT) from None


class _Reader:
    """Reads the syntax tree of a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def predicate(self, node: ast.expr) -> Predicate:
        if isinstance(node, ast.BoolOp):
            parts = tuple(map(self.predicate, node.values))
            return And(parts) if isinstance(node.op, ast.And) else Or(parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return Not(self.predicate(node.operand))
        if isinstance(node, ast.Compare):
            sides = list(pairwise([node.left, *node.comparators]))
            parts = tuple(
                self.comparison(left, how, right)
                for (left, right), how in zip(sides, node.ops, strict=True)
            )
            return parts[0] if len(parts) == 1 else And(parts)
        column = self.column(node)
        if column is None:
            self.refuse(node, "a condition is wanted here")
        return Comparison(column, "==", value=True)

    def comparison(self, left: ast.expr, how: ast.cmpop, right: ast.expr) -> Predicate:
        column = self.column(left)
        if isinstance(how, (ast.In, ast.NotIn)):
            if column is None:
                self.refuse(left, "a column is wanted before in")
            if not isinstance(right, (ast.Tuple, ast.List, ast.Set)):
                self.refuse(right, "values in parentheses are wanted after in")
            found = Membership(column, tuple(map(self.value, right.elts)))
            return found if isinstance(how, ast.In) else Not(found)
        if isinstance(how, (ast.Is, ast.IsNot)):
            if column is None:
                self.refuse(left, "a column is wanted before is")
            if not _is_null(right):
                self.refuse(right, "only None is wanted after is")
            return IsNull(column) if isinstance(how, ast.Is) else Not(IsNull(column))
        name = _OPERATORS[type(how)]
        if column is not None:
            return Comparison(column, name, self.value(right))
        column = self.column(right)
        if column is None:
            self.refuse(left, "a comparison is of a column with a value")
        return Comparison(column, _MIRRORED[name], self.value(left))

    def column(self, node: ast.expr) -> Path | None:
        if isinstance(node, ast.Name):
            return (self.source(node),)
        if isinstance(node, ast.Attribute):
            parent = self.column(node.value)
            return None if parent is None else (*parent, node.attr)
        if not (isinstance(node, ast.Call) and _name(node.func) == "col"):
            return None
        names = [arg.value if isinstance(arg, ast.Constant) else None for arg in node.args]
        if not names or node.keywords or not all(isinstance(name, str) for name in names):
            self.refuse(node, 'col takes the names of a column\'s path: col("address", "city")')
        return tuple(cast("list[str]", names))

    def value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            number = self.value(node.operand)
            if isinstance(number, (int, float)) and not isinstance(number, bool):
                return -number if isinstance(node.op, ast.USub) else number
        if _is_null(node):
            self.refuse(node, "nothing is equal to null, and null is in nothing", "Write is None")
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str, bytes)):
            return node.value
        if isinstance(node, ast.Call) and (maker := _MAKERS.get(_name(node.func))):
            return self.made(node, maker)
        is_word = isinstance(node, (ast.Name, ast.Attribute))
        return self.refuse(node, "a value is wanted here", _QUOTES if is_word else _HINT)

    def made(self, node: ast.Call, maker: Callable[[str], Value]) -> Value:
        arg = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if not (isinstance(arg, ast.Constant) and isinstance(arg.value, str)):
            self.refuse(node, f"{_name(node.func)} takes one text")
        try:
            return maker(arg.value)
        except (ValueError, ArithmeticError) as error:
            self.refuse(arg, f"{arg.value!r} is no {_name(node.func)}: {error}")

    def source(self, node: ast.expr) -> str:
        """The node as written: Python spells some letters of names in another way."""
        return ast.get_source_segment(self.text, node) or ""

    def refuse(self, node: ast.expr, message: str, hint: str = _HINT) -> NoReturn:
        before = self.text.split("\n")[node.lineno - 1].encode()[: node.col_offset]
        _refuse(self.text, node.lineno, len(before.decode()), message, hint)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _is_null(node: ast.expr) -> bool:
    return (isinstance(node, ast.Constant) and node.value is None) or _name(node) == "null"


def _refuse(text: str, line: int, at: int, message: str, hint: str = _HINT) -> NoReturn:
    shown = [*text.split("\n"), ""][line - 1]
    before = texts.visible("^" + shown[max(at - _SHOWN_CHARACTERS, 0) : at])[1:]
    after = texts.visible("^" + shown[at : at + _SHOWN_CHARACTERS])[1:]
    raise SelectionError(
        f"where, line {line}, character {at + 1}: {message}\n"
        f"  {before}{after}\n  {' ' * len(before)}^\n",
        hint=hint,
    ) from None
