"""Tables of frames, for people: windows of rows as text, sorted by any column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from pqlab import text
from pqlab.inspector.state import Order
from pqlab.tables import cell

MAX_ROWS = 200  # of one window
NOT_READ = "not read"


class TableColumn(NamedTuple):
    """A column of a table: of which column of the frame, under which heading, how it is shown."""

    name: str
    heading: str
    show: Callable[[Any], str] = cell
    is_number: bool = False


def count(value: int | None) -> str:
    """A number with commas, or a dash."""
    return text.ABSENT if value is None else f"{value:,}"


def size(value: int | None) -> str:
    """A number of bytes, or a dash."""
    return text.ABSENT if value is None else text.size(value)


def ratio(value: float | None) -> str:
    """A ratio, or a dash."""
    return text.ABSENT if value is None else f"{value:.1f} ×"


def listed(value: Any) -> str:
    """Names with commas between them; unknown ones are not guessed."""
    return "unknown" if value is None else ", ".join(map(text.visible, value)) or text.ABSENT


def duration(value: int | None) -> str:
    """A time, or that there is none yet."""
    return NOT_READ if value is None else text.duration(value)


def of_size(name: str, heading: str) -> TableColumn:
    """A column of sizes in bytes."""
    return TableColumn(name, heading, size, is_number=True)


def of_count(name: str, heading: str) -> TableColumn:
    """A column of counts."""
    return TableColumn(name, heading, count, is_number=True)


@dataclass(frozen=True, slots=True)
class Table:
    """A frame and its columns as a user sees them. `key`: the column that identifies a row."""

    frame: pl.DataFrame
    columns: Sequence[TableColumn]
    key: str

    def head(self, order: Order) -> dict[str, Any]:
        """What is known without rows."""
        return {
            "num_rows": self.frame.height,
            "columns": [
                {"name": c.name, "heading": c.heading, "is_number": c.is_number}
                for c in self.columns
            ],
            "order": order.column,
            "descending": order.descending,
        }

    def sorted(self, order: Order) -> Table:
        """The table in that order; rows without a value come last."""
        if order.column not in self.frame.columns:
            return self
        frame = self.frame.sort(
            pl.col(order.column),
            descending=order.descending,
            nulls_last=True,
            maintain_order=True,
        )
        return Table(frame, self.columns, self.key)

    def window(self, start: int, stop: int) -> dict[str, Any]:
        """Rows [start, stop), cut to what there is, and to a few hundred."""
        start = min(max(int(start), 0), self.frame.height)
        part = self.frame[start : min(int(stop), start + MAX_ROWS)]
        shown = [map(column.show, part[column.name].to_list()) for column in self.columns]
        return {
            "start": start,
            "keys": part[self.key].to_list(),
            "rows": [list(row) for row in zip(*shown, strict=True)],
        }
