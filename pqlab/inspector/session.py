"""`Session`: a file, the user's state, and the messages between them and what shows them.

Messages are small dicts, ready for JSON. In: `{"do": action, ...}` changes the state, and `then`
in it are the rows that will be wanted;
`{"ask": table, "start", "stop", "version"}` asks for rows; `{"load": what}` reads of the chunk
that is shown; `{"run": "read" | "cancel"}`; `{"copy": "code" | "magic"}`; `{"timing": action, ...}`
is for the timing screen, `{"compare": action, ...}` for
the other. Out, by `kind`: `view`, `rows`, `marks`, `slice`, `run`, `copy`, `error`.
A version counts the views: rows of an old one are of no use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import polars as pl

from pqlab.errors import PqlabError, SelectionError
from pqlab.file_selection import FileSelection
from pqlab.inspector import grid, screens, slice_text
from pqlab.inspector.actions import act
from pqlab.inspector.chunk import Chunk
from pqlab.inspector.compare import LinkedCompare
from pqlab.inspector.costs import Costs
from pqlab.inspector.run import Reading, Run
from pqlab.inspector.state import State
from pqlab.inspector.tables import Table
from pqlab.inspector.timing import LinkedTiming
from pqlab.plan.selection import Selection, narrow
from pqlab.reader import ParquetFile
from pqlab.trace import Trace

Message: TypeAlias = dict[str, Any]
Defer: TypeAlias = Callable[[Callable[[], None]], Any]

_KEPT_CHUNKS = 16
_COPIED_CHARACTERS = 900_000
_NOTHING = object()  # what a name stands for that is none


class Session:
    """One inspector of one file. Safe to call from several threads.

    `send` takes what goes out. `namespace`: where frames go. `defer` runs what may take long; by
    default a thread of its own does, one thing after the other.
    """

    def __init__(
        self,
        file: ParquetFile,
        send: Callable[[Message], None],
        *,
        namespace: MutableMapping[str, Any] | None = None,
        defer: Defer | None = None,
    ) -> None:
        self.file, self.state, self.version = file, State(), 0
        self.frame: pl.DataFrame | None = None
        self.trace: Trace | None = None
        self.run: Run | None = None
        self.on_change: Callable[[], None] = lambda: None
        self._send, self._namespace = send, namespace if namespace is not None else {}
        self._ours: WeakValueDictionary[str, pl.DataFrame] = WeakValueDictionary()  # by variable
        self._defer = defer or _thread().submit
        self._defer_read = defer or _thread().submit
        self._lock = threading.RLock()
        self._chunks: dict[tuple[int, int], Chunk] = {}
        self._costs = Costs.none()
        self._reading: Reading | None = None
        self._found: object = _NOTHING  # below the variable's name, when the read began
        self._timing = LinkedTiming(file)
        self.compare = LinkedCompare(file)
        self._slice: Message = {"kind": "slice", "text": "", "is_planned": False}
        self._planned: tuple[Selection, int] | None = None

    # ------------------------------------------------------------------------------- messages

    def handle(self, message: Mapping[str, Any]) -> None:
        """Take a message; what is wrong with it goes out as an `error`."""
        try:
            self._handle(dict(message))
        except PqlabError as error:
            self._send({"kind": "error", "error": slice_text.explained(error)})

    def _handle(self, message: Message) -> None:
        if (action := message.pop("do", None)) is not None:
            rows = message.pop("then", None)
            self.do(action, **message)
            if rows is not None:
                self._send(self.rows(**rows))
        elif (table := message.pop("ask", None)) is not None:
            self._send(self.rows(table, **message))
        elif (what := message.pop("load", None)) is not None:
            self._load(what)
        elif (run := message.pop("run", None)) is not None:
            self.read(overwrite=bool(message.get("overwrite"))) if run == "read" else self.cancel()
        elif (copied := message.pop("copy", None)) is not None:
            self._send({"kind": "copy", "what": copied, "text": self._copied(copied)})
        elif (action := message.pop("timing", None)) is not None:
            self._time(action, message)
        elif (action := message.pop("compare", None)) is not None:
            with self._lock:
                self.compare.content.take(action, message, self._namespace)
                self._show()
        elif "open" in message:
            self._show()
            self._plan()
        else:
            raise SelectionError("an empty message")

    def do(self, action: str, **arguments: Any) -> None:
        """Do one of `actions.ACTIONS`."""
        with self._lock:
            before = self.state
            self.state = act(self.file.metadata, before, action, arguments)
            selection_changed = self.state.selection != before.selection
            self._show()
        if selection_changed or self.state.variable != before.variable:
            self._plan()
            self.on_change()
        if self.state.screen == "chunk" and self._chunk().pages is None and self._is_cheap():
            self._load("pages")
        if self.state.tab == "page" and (before.page, before.tab) != (self.state.page, "page"):
            self._load("page")

    def _time(self, action: str, arguments: Message) -> None:
        """Do something to the timing screen, whose brush picks."""
        if action == "open":
            self.do("go", **self._timing.place(arguments.get("key")))
            return
        with self._lock:
            before = self.state.selection
            self.state, answer = self._timing.take(action, arguments, self.state, self._namespace)
            if answer is not None:
                self._send(answer)
                return
            self._show()
        self._tell_picked(before)
        if self._timing.unknown():
            self._refine(self._timing.timing.state)

    def _refine(self, brushed: object) -> None:
        """Pick rows where row groups were picked, since the pages' rows had not been read."""

        def work() -> None:
            if self._timing.timing.state is not brushed:
                return
            self.file.page_store.table(self._timing.unknown(), bounds=False)
            with self._lock:
                before = self.state.selection
                self.state = self._timing.picked(self.state)
                self._show()
            self._tell_picked(before)

        self._defer(work)

    def _tell_picked(self, before: Selection) -> None:
        if self.state.selection != before:
            self._plan()
            self.on_change()

    def _show(self) -> None:
        self.version += 1
        self._send(self.view())

    def view(self) -> Message:
        """What is on the screen, but the rows of tables."""
        state, file = self.state, self.file
        view = file.overview()
        return {
            "kind": "view",
            "version": self.version,
            "screen": state.screen,
            "identity": screens.identity(view),
            "crumbs": list(screens.crumbs(file.metadata, state, view.title)),
            "up": screens.up(state),
            "body": self._body(),
        }

    def _body(self) -> Message:
        state, metadata = self.state, self.file.metadata
        if state.screen == "overview":
            return screens.overview(self.file.overview())
        if state.screen == "timing":
            return self._timing.body(state)
        if state.screen == "compare":
            return self.compare.content.body()
        if state.screen == "grid":
            return grid.body(metadata, state, self._costs.chunks)
        if state.screen == "column":
            table = self._table("column")
            assert table is not None
            assert state.leaf is not None
            name = screens.clipped(metadata.leaves[state.leaf].column)
            return {"leaf": state.leaf, "column": name, "table": table.head(state.order("column"))}
        return self._chunk().body(self.file, state, self._costs)

    def rows(self, table: str, *, start: int, stop: int, **others: Any) -> Message:
        """Rows [start, stop) of a table of the screen; a few hundred at most."""
        version = others.pop("version", self.version)
        answer = {"kind": "rows", "table": table, "version": version}
        if table == "grid":
            groups = others.get("row_groups") or (0, self.file.metadata.num_row_groups)
            return answer | grid.window(
                self.file.metadata, self.state, (start, stop), groups, self._costs.chunks
            )
        if table == "timing":
            return answer | self._timing.timing.rows(start, stop)
        if table == "compare":
            return answer | self.compare.content.rows(start, stop)
        found = self._table(table)
        return answer | (
            found.window(start, stop) if found is not None else {"start": 0, "rows": []}
        )

    def _table(self, name: str) -> Table | None:
        state = self.state
        if name != "column":
            return self._chunk().table(self.file, state, name, self._costs)
        if state.leaf is None:
            return None
        leaf = state.leaf
        return self.file.metadata.kept(
            ("inspector column", leaf, state.order("column")),
            lambda: screens.column_table(self.file.metadata, leaf).sorted(state.order("column")),
        )

    # ---------------------------------------------------------------------------------- chunks

    def _chunk(self) -> Chunk:
        state = self.state
        if state.row_group is None or state.leaf is None:
            raise SelectionError("no chunk is chosen", hint="Choose a cell of the grid")
        key = state.row_group, state.leaf
        with self._lock:
            found = self._chunks.pop(key, None) or Chunk(*key)
            self._chunks[key] = found  # the one used last stands last
            while len(self._chunks) > _KEPT_CHUNKS:
                del self._chunks[next(iter(self._chunks))]
        return found

    def _is_cheap(self) -> bool:
        """Whether the pages of the chunk are known already."""
        state = self.state
        assert state.row_group is not None
        assert state.leaf is not None
        return bool(self.file.page_store.known([(state.row_group, state.leaf)]))

    def _load(self, what: str) -> None:
        chunk, state = self._chunk(), self.state

        def work() -> None:
            try:
                chunk.load(self.file, what, state)
            except PqlabError as error:
                self._send({"kind": "error", "error": slice_text.explained(error)})
            else:
                with self._lock:
                    self._show()

        self._defer(work)

    # ----------------------------------------------------------------------------- the selection

    @property
    def selection(self) -> FileSelection:
        """What is picked. Raises `SelectionError` for what the file does not have."""
        picked = self.state.selection
        return FileSelection(self.file, picked, narrow(picked, self.file.metadata, self.file.name))

    @selection.setter
    def selection(self, selection: FileSelection) -> None:
        with self._lock:
            self.state = replace(self.state, selection=selection.selection)
            self._show()
        self._plan()
        self.on_change()

    def _plan(self) -> None:
        wanted = self.state.selection, self.version
        self._planned = wanted
        nothing: Message = {
            "text": "",
            "is_planned": False,
            "error": None,
            "details": [],
            "notes": [],
        }
        self._tell_slice({**nothing, "text": "planning…"})

        def work() -> None:
            if self._planned is not wanted:
                return  # another one was picked meanwhile
            try:
                selection = self.selection
                plan = selection.plan()
                told = {
                    "text": slice_text.described(selection, plan),
                    "notes": slice_text.notes(selection, plan),
                    "details": slice_text.details(plan),
                }
                self._tell_slice({**nothing, **told, "is_planned": True})
            except PqlabError as error:
                self._tell_slice({**nothing, "error": slice_text.explained(error)})

        self._defer(work)

    def _tell_slice(self, changes: Message) -> None:
        picked = self.state.selection
        facts = {
            "variable": self.state.variable,
            "is_everything": picked == Selection(),
            "confirm": False,
        }
        self._slice = {**self._slice, **facts, **changes}
        self._send(self._slice)

    def _copied(self, what: str) -> str:
        if what == "code":
            text = f"{self.state.variable} = {self.selection.code}.read()"
        else:
            code = self.file.source.code
            path = self.file.name if code is not None else None
            text = slice_text.magic(path, self.state.selection, self.state.variable)
        if len(text) > _COPIED_CHARACTERS:
            raise SelectionError(
                f"the text has {len(text):,} characters", hint="Use inspector.selection instead"
            )
        return text

    # ----------------------------------------------------------------------------------- reading

    def read(self, *, overwrite: bool = False) -> None:
        """Read what is picked into the variable; one that is there is not overwritten unasked."""
        with self._lock:
            if self.run is not None and self.run.state in ("running", "cancelling"):
                raise SelectionError("a read is under way", hint="Wait for it, or cancel it")
            name = self.state.variable
            self._found = there = self._namespace.get(name, _NOTHING)
            if (
                there is not _NOTHING
                and self._ours.get(name, _NOTHING) is not there
                and not overwrite
            ):
                self._tell_slice({"confirm": True})
                return
            self._tell_slice({})
            self._reading = Reading(self.selection, name, self._tell_run, self._finish)
            self.run = self._reading.run
            self._defer_read(self._reading.work)

    def cancel(self) -> None:
        """Stop the read that is under way, if any."""
        if self._reading is not None:
            self._reading.cancel()

    def _tell_run(self, run: Run) -> None:
        if self._reading is not None and run.state in ("cancelled", "failed"):
            self._keep(self._reading.trace)
        self.run = run
        self._send({"kind": "run", **run.body()})

    def _finish(self, frame: pl.DataFrame, trace: Trace) -> bool:
        """Whether it was assigned: not to a name that was given to something else meanwhile."""
        assert self._reading is not None
        name = self._reading.run.variable
        is_free = self._namespace.get(name, _NOTHING) is self._found
        if is_free:
            self._namespace[name] = frame
            self._ours[name] = frame
        self.frame = frame
        self._keep(trace)
        return is_free

    def hold_against(self, other: Any) -> None:
        """Compare with this from now on: a file, a trace, a `pqlab.compare` result; None: reads."""
        with self._lock:
            self.compare.against = other
            self._show()

    def _keep(self, trace: Trace) -> None:
        self.compare.show(self.trace, trace)
        self.trace = trace
        self._costs = Costs.of(trace)
        self._timing.show(trace)
        with self._lock:
            self._show()
        self.on_change()


def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="pqlab inspector")
