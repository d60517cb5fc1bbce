"""`State`: where the user is, how it is shown, and what is picked. Immutable."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from pqlab.plan.selection import Selection

Screen: TypeAlias = Literal["overview", "grid", "column", "chunk", "timing", "compare"]
Lens: TypeAlias = Literal["size", "ratio", "encoding", "nulls", "pages", "time"]
GridOrder: TypeAlias = Literal["file", "name", "size"]
Tab: TypeAlias = Literal["pages", "page", "dictionary", "bloom", "details"]


class Order(NamedTuple):
    """How a table is sorted: by this column; None: as the file has it."""

    column: str | None = None
    descending: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """All that the user has changed. Ordinals: `row_group`, `leaf`, `page` of where they are.

    `orders`: of the tables, by name. `folded`: root columns whose leaves are hidden in the grid.
    `search` is in the dictionary's entries that are shown, `probe` looked for by the bloom filter.
    `variable`: the name that a frame will have.
    """

    screen: Screen = "overview"
    row_group: int | None = None
    leaf: int | None = None
    page: int | None = None
    tab: Tab = "pages"
    lens: Lens = "size"
    grid_order: GridOrder = "file"
    filter: str = ""
    folded: frozenset[int] = frozenset()
    orders: tuple[tuple[str, Order], ...] = ()
    search: str = ""
    probe: str = ""
    selection: Selection = field(default_factory=Selection)
    variable: str = "df"

    def order(self, table: str) -> Order:
        """How this table is sorted."""
        return dict(self.orders).get(table, Order())
