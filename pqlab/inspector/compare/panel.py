"""`Compare`: a difference, what of it the user looks at, what the screen shows."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import polars as pl

from pqlab import text
from pqlab.errors import SelectionError
from pqlab.inspector.compare.difference import Bars, Difference, Side, pairs
from pqlab.inspector.state import Order
from pqlab.inspector.tables import Table, TableColumn
from pqlab.inspector.timing.stages import DRAWN

Message: TypeAlias = dict[str, Any]

_VALUE_CHARACTERS = 200
_HINTS = {
    "files": "sizes as stored; ▲ larger, ▼ smaller",
    "traces": "time of all workers by stage; ▲ longer, ▼ shorter",
    "runs": "The ratio of each pair of runs, in the order in which they ran.",
}


@dataclass(frozen=True, slots=True)
class CompareState:
    """`part`: the differences that the table shows, None: all. `by_row_group`: those, too."""

    part: str | None = None
    by_row_group: bool = False
    order: Order = Order()  # noqa: RUF009  # immutable


class Compare:
    """What the Compare screen shows of a difference; None: there is nothing to compare yet."""

    channel = "compare"

    def __init__(self, difference: Difference | None, hint: str = "") -> None:
        self.difference, self.hint = difference, hint
        self.state = CompareState()

    @property
    def identity(self) -> tuple[str, str]:
        """Title and subtitle of a panel of its own."""
        names = () if self.difference is None else self.difference.names
        return "Compare", " and ".join(names)

    def take(
        self,
        action: str,
        arguments: Message,
        namespace: MutableMapping[str, Any],  # noqa: ARG002  # as every screen
    ) -> Message | None:
        """Do an action. Raises `SelectionError` for what is none."""
        part = arguments.get("part")
        if action == "show" and part in (None, *(part for part, _ in self._parts())):
            self.state = replace(self.state, part=part)
        elif action == "row_groups":
            self.state = replace(self.state, by_row_group=bool(arguments.get("on")), part=None)
        elif action == "sort" and isinstance(column := arguments.get("column"), str):
            old = self.state.order
            new = Order(column, descending=True)
            if old.column == column:
                new = Order(column) if old.descending else Order()
            self.state = replace(self.state, order=new)
        else:
            raise SelectionError(f"{action!r} is nothing that the Compare screen does")
        return None

    def body(self) -> Message:
        """What the screen shows but the table's rows."""
        found = self.difference
        if found is None:
            return {"kind": "nothing", "hint": self.hint}
        frame = self._frame()
        most = max((max(bar.left.amount, bar.right.amount) for bar in found.bars), default=0)
        return {
            "kind": found.kind,
            "hint": _HINTS[found.kind],
            "names": list(found.names),
            "headline": found.headline,
            "notes": list(found.notes),
            "parts": self._parts(),
            "part": self.state.part,
            "by_row_group": self.state.by_row_group,
            "has_row_groups": bool(found.frame["row_group"].is_not_null().any()),
            "left_out": found.left_out,
            "bars": [_bar(found, bar) for bar in found.bars],
            "most": most,
            "stages": _stages(found),
            "pairs": None if found.runs is None else pairs(found.runs),
            "table": self._table(frame).head(self.state.order),
        }

    def rows(self, start: int, stop: int) -> Message:
        """Rows [start, stop) of the table."""
        if self.difference is None:
            return {"start": 0, "rows": []}
        return self._table(self._frame()).window(start, stop)

    def _frame(self) -> pl.DataFrame:
        """The differences that the table shows."""
        assert self.difference is not None
        frame = located(self.difference.frame, by_row_group=self.state.by_row_group)
        if self.state.part is not None:
            frame = frame.filter(pl.col("part") == self.state.part)
        return frame

    def _parts(self) -> list[tuple[str, int]]:
        if self.difference is None:
            return []
        before = self.state
        self.state = replace(before, part=None)
        counted = self._frame().group_by("part", maintain_order=True).len()
        self.state = before
        return [(part, count) for part, count in counted.iter_rows()]

    def _table(self, frame: pl.DataFrame) -> Table:
        assert self.difference is not None
        a, b = self.difference.names
        has = {name for name in frame.columns if frame[name].is_not_null().any()}
        columns = [
            TableColumn("part", "of"),
            TableColumn("column", "column"),
            TableColumn("where", "row groups"),
            TableColumn("property", "what", lambda words: str(words).replace("_", " ")),
            TableColumn("left", text.clip(a, 40), _value, is_number=True),
            TableColumn("right", text.clip(b, 40), _value, is_number=True),
            TableColumn("change", "difference", _change, is_number=True),
            TableColumn("ratio", "times", _ratio, is_number=True),
            TableColumn("share", "share of it", _share, is_number=True),
        ]
        optional = ("column", "where", "change", "ratio", "share")
        kept = [column for column in columns if column.name not in optional or column.name in has]
        # A number stands first in what is sorted by, the text and the unit are for showing it.
        both = pl.col("change").is_not_null()
        number = {
            side: pl.when(both).then(pl.col(side).cast(pl.Float64, strict=False))
            for side in ("left", "right")
        }
        sides = [
            pl.struct(
                number[side].alias("number"),
                pl.col(side).alias("text"),
                "unit",
                number[other].alias("other"),
            ).alias(side)
            for side, other in (("left", "right"), ("right", "left"))
        ]
        changes = pl.when(pl.col("change").is_not_null()).then(pl.struct("change", "unit"))
        frame = frame.with_columns(*sides, changes.alias("change"))
        return Table(frame, kept, "key").sorted(self.state.order)


def located(frame: pl.DataFrame, *, by_row_group: bool) -> pl.DataFrame:
    """The differences with `where` they are: each row group's, or those of all as one.

    As one, numbers are sums. Sizes of row groups are left out then: those of the columns are their
    sums already.
    """
    group, of_groups = pl.col("row_group"), frame["row_group"].is_not_null()
    if by_row_group:
        return frame.with_columns(group.cast(pl.String).alias("where"))
    alike = ("part", "column", "property")
    is_number = pl.col("change").is_not_null().all()
    left, right = (pl.col(side).cast(pl.Float64, strict=False).sum() for side in ("left", "right"))
    one = (
        frame.filter(of_groups & (frame["part"] != "sizes"))
        .group_by(alike, maintain_order=True)
        .agg(
            pl.col("key", "unit", "share").first(),
            _together("left", is_number),
            _together("right", is_number),
            pl.when(is_number).then(right - left).alias("change"),
            pl.when(is_number & (left != 0)).then(right / left).alias("ratio"),
            _where(group).alias("where"),
        )
    )
    whole = frame.filter(~of_groups).with_columns(pl.lit(None, pl.String).alias("where"))
    columns = [name for name in whole.columns if name != "row_group"]
    return pl.concat([whole.select(columns), one.select(columns)]).sort("key")


def _where(group: pl.Expr) -> pl.Expr:
    """Row groups as text: `2`, `0 to 3`, `0 to 9, 4 of them`."""
    ends = pl.concat_str(group.min(), pl.lit(" to "), group.max())
    are_all = group.max() - group.min() + 1 == group.len()
    several = pl.when(are_all).then(ends)
    count = pl.concat_str(ends, pl.lit(", "), group.len(), pl.lit(" of them"))
    return (
        pl.when(group.len() == 1)
        .then(group.first().cast(pl.String))
        .otherwise(several.otherwise(count))
    )


def _together(side: str, is_number: pl.Expr) -> pl.Expr:
    """What all row groups have on a side: their sum, or one text, or how many texts."""
    values = pl.col(side)
    total = values.cast(pl.Float64, strict=False).sum().cast(pl.Int64).cast(pl.String)
    several = pl.concat_str(values.n_unique(), pl.lit(" values"))
    text_of_all = pl.when(values.n_unique() == 1).then(values.first()).otherwise(several)
    return pl.when(is_number).then(total).otherwise(text_of_all).alias(side)


def _bar(of: Difference, bar: Bars) -> Message:
    larger = "" if not bar.change else "▲" if bar.change > 0 else "▼"
    part = text.share(abs(bar.change), bar.left.amount) if bar.left.amount > 0 else "new"
    return {
        "name": bar.name,
        "left": _side(of, bar.left),
        "right": _side(of, bar.right),
        "change": f"{larger} {of.amount(abs(bar.change))}",
        "part": part,
        "is_worse": bar.change > 0,
    }


def _side(of: Difference, side: Side) -> Message:
    return {
        "amount": round(side.amount),
        "text": of.amount(side.amount),
        "parts": [[drawn, round(amount), of.amount(amount)] for drawn, amount in side.parts],
    }


def _stages(of: Difference) -> list[tuple[int, str, str]]:
    there = {drawn for bar in of.bars for side in (bar.left, bar.right) for drawn, _ in side.parts}
    return [(drawn, DRAWN[drawn].name, DRAWN[drawn].letter) for drawn in sorted(there)]


def _value(value: Message) -> str:
    """A side's value: with its unit if it has one, else as text of one line.

    Three digits, unless they are the same as the other side's.
    """
    number, words, unit = value["number"], value["text"], value["unit"]
    if words is None:
        return text.ABSENT
    if number is not None and unit is not None:
        rounded = _amount(number, unit)
        if rounded != _amount(value["other"], unit):
            return rounded
        return f"{number:,.0f} {'ns' if unit == 'ns' else 'B'}"
    if number is not None and float(number).is_integer():
        return f"{int(number):,}"
    return text.clip(text.visible(words), _VALUE_CHARACTERS)


def _amount(number: float, unit: str) -> str:
    return text.duration(number) if unit == "ns" else text.size(number)


def _change(value: Message | None) -> str:
    if value is None:
        return text.ABSENT
    number, unit = value["change"], value["unit"]
    if unit is None:
        return f"{number:+,.0f}"
    return f"{'+' if number > 0 else '-' if number < 0 else ''}{_amount(abs(number), unit)}"


def _ratio(value: float | None) -> str:
    return text.ABSENT if value is None else f"{value:,.2f} ×"


def _share(value: float | None) -> str:
    return text.ABSENT if value is None else text.share(value, 1)
