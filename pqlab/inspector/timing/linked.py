"""The timing screen of an inspector: what is brushed is picked, what is picked is marked."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import replace
from typing import Any, TypeAlias

import polars as pl

from pqlab.errors import PqlabError, SelectionError
from pqlab.footer.metadata import Present
from pqlab.inspector.columns import column_picks
from pqlab.inspector.grid import spans
from pqlab.inspector.state import State
from pqlab.inspector.timing.panel import Timing
from pqlab.plan.picks import Slice, ordinals
from pqlab.plan.ranges import Ranges, union
from pqlab.plan.selection import Narrowed, Selection, narrow
from pqlab.reader import ParquetFile
from pqlab.trace import Trace

Message: TypeAlias = dict[str, Any]

_MAX_RANGES = 200  # of rows, that a selection lists; of more whole row groups are picked


class LinkedTiming:
    """The trace of an inspector's last read, and the inspector's selection, each telling the other.

    A brush takes the selection's place for as long as it lasts.
    """

    def __init__(self, file: ParquetFile) -> None:
        self.file = file
        self._trace = Trace()
        self._timing: Timing | None = None
        self.picks = True
        self._before: Selection | None = None  # what was picked before the brush

    def show(self, trace: Trace) -> None:
        """Show this trace from now on."""
        self._trace, self._timing = trace, None
        self._before = None

    @property
    def timing(self) -> Timing:
        """The trace as it is shown; worked out when it is."""
        if self._timing is None:
            self._timing = Timing(self._trace)
        return self._timing

    def body(self, state: State) -> Message:
        """What the screen shows."""
        return self.timing.body(self._marked(state.selection), picks=self.picks)

    def take(
        self, action: str, arguments: Message, state: State, namespace: MutableMapping[str, Any]
    ) -> tuple[State, Message | None]:
        """Do an action of the screen: the inspector's state after it, and what it answers."""
        if action == "picks":
            self.picks = bool(arguments.get("on"))
            return self.picked(state), None
        answer = self.timing.take(action, arguments, namespace)
        return (state if answer is not None else self.picked(state)), answer

    def place(self, key: Any) -> Message:
        """Where the page of this key is, as `go` takes it."""
        pages = self.timing.frames.pages
        if not isinstance(key, int) or not 0 <= key < pages.height:
            raise SelectionError(f"there is no page {key!r} among {pages.height:,}")
        page = pages.row(key, named=True)
        return {
            "screen": "chunk",
            **{name: page[name] for name in ("row_group", "leaf", "page")},
        }

    def unknown(self) -> list[tuple[int, int]]:
        """The chunks of brushed pages whose rows their index would tell, if it was read."""
        if self._before is None or self.timing.pages["leaf"].n_unique() < 2:
            return []
        keys = _chunks(self.timing.pages)
        known, chunks = self.file.page_store.known(keys), self.file.metadata.chunks
        return [
            key
            for key in keys
            if key not in known
            and int(chunks.present[self.file.metadata.chunk_row(*key)]) & Present.OFFSET_INDEX
        ]

    def picked(self, state: State) -> State:
        """The state with what is brushed picked, or with what was picked before."""
        is_brushed = self.timing.state.brush is not None and self.picks
        if not is_brushed:
            before, self._before = self._before, None
            return state if before is None else replace(state, selection=before)
        if self._before is None:
            self._before = state.selection
        if not self.timing.pages.height:
            return state
        return replace(state, selection=selection_of(self.file, self.timing.pages))

    def _marked(self, selection: Selection) -> list[tuple[int, int]] | None:
        """Spans of keys of the pages that the selection has; None: it has all of them."""
        pages = self.timing.frames.pages
        if not pages.height:
            return None
        try:
            narrowed = narrow(selection, self.file.metadata, self.file.name)
        except PqlabError:
            return None
        known = self.file.page_store.known(_chunks(pages)) if selection.rows else {}
        keys = [
            page["key"]
            for page in pages.select("key", "row_group", "leaf", "page").iter_rows(named=True)
            if _has(narrowed, page, known)
        ]
        return None if len(keys) == pages.height else spans(keys)


def selection_of(file: ParquetFile, pages: pl.DataFrame) -> Selection:
    """The selection of these pages: of one column its pages, of several the rows of all of them.

    Where the rows of pages are not known, or are too many ranges, their row groups.
    """
    leaves = pages["leaf"].unique().sort().to_list()
    columns = column_picks(file.metadata, leaves)
    data = pages.filter(pl.col("page") >= 0)
    if len(leaves) == 1 and data.height:
        groups = data.sort("row_group", "page").partition_by(
            "row_group", as_dict=True, maintain_order=True
        )
        picks = tuple(
            ((group, columns[0]), _slices(part["page"].to_list()))
            for (group,), part in groups.items()
        )
        return Selection(columns=columns, pages=picks)
    rows = _rows(file, data)
    if rows is not None and 0 < len(rows) <= _MAX_RANGES:
        return Selection(columns=columns, rows=tuple(rows))
    groups_read = pages["row_group"].unique().sort().to_list()
    return Selection(columns=columns, row_groups=_slices(groups_read))


def _rows(file: ParquetFile, pages: pl.DataFrame) -> Ranges | None:
    """The rows of the pages, file-global; None where they are not known."""
    known = file.page_store.known(_chunks(pages))
    found = []
    for row_group, leaf, page in pages.select("row_group", "leaf", "page").iter_rows():
        table = known.get((row_group, leaf))
        if table is None:
            return None
        here = table[table["page"] == page]
        if len(here) != 1 or here["first_row"][0] < 0 or here["num_rows"][0] < 0:
            return None
        first = int(file.metadata.row_groups.first_row[row_group]) + int(here["first_row"][0])
        found.append((first, first + int(here["num_rows"][0])))
    return union(found)


def _chunks(pages: pl.DataFrame) -> list[tuple[int, int]]:
    return pages.select("row_group", "leaf").unique().sort("row_group", "leaf").rows()


def _has(narrowed: Narrowed, page: Message, known: dict[tuple[int, int], Any]) -> bool:
    """Whether a selection has a page; of a dictionary page, whether it has its chunk."""
    chunk = page["row_group"], page["leaf"]
    ranges = narrowed.rows.get(page["row_group"])
    if ranges is None or page["leaf"] not in narrowed.leaves:
        return False
    if page["page"] < 0:
        return True
    if (picked := narrowed.pages.get(chunk)) is not None:
        return page["page"] in ordinals(picked, page["page"] + 1, "page", strict=False)
    table = known.get(chunk)
    here = None if table is None else table[table["page"] == page["page"]]
    if here is None or len(here) != 1 or here["first_row"][0] < 0 or here["num_rows"][0] < 0:
        return True
    first = int(here["first_row"][0])
    stop = first + int(here["num_rows"][0])
    return any(start < stop and first < end for start, end in ranges)


def _slices(numbers: list[int]) -> tuple[int | Slice, ...]:
    """Sorted ordinals as slices where several follow each other."""
    return tuple(
        start if stop == start + 1 else Slice(start, stop, None) for start, stop in spans(numbers)
    )
