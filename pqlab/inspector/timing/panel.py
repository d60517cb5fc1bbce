"""`Timing`: a trace, the user's state, and what the panel shows."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from pqlab import text
from pqlab.errors import SelectionError
from pqlab.inspector.timing import charts, facts
from pqlab.inspector.timing.frames import TimingFrames
from pqlab.inspector.timing.marks import MAX_PAGES, marks, shown, whole
from pqlab.inspector.timing.state import TimingState, act, start
from pqlab.trace import Trace

Message: TypeAlias = dict[str, Any]


class Timing:
    """What a panel shows of a trace, as it was when this was made."""

    channel = "timing"

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.frames = TimingFrames.of(trace)
        self.state: TimingState = start(self.frames)
        self.saved = ""  # what was exported last

    @property
    def identity(self) -> tuple[str, str]:
        """Title and subtitle of a panel of its own."""
        files = self.frames.reads["file"].unique(maintain_order=True).to_list()
        names = [text.clip(text.visible(name), 120) for name in files[:3]]
        return "Timing", ", ".join(names) + (", …" if len(files) > 3 else "")

    def do(self, action: str, **arguments: Any) -> None:
        """Do one of `state.ACTIONS`. Raises `SelectionError`."""
        self.state = act(self.frames, self.state, action, arguments)

    def take(
        self, action: str, arguments: Message, namespace: MutableMapping[str, Any]
    ) -> Message | None:
        """Do an action of the screen; gives the answer where it asks for one."""
        if action == "marks":
            return {"kind": "marks", **self.marks()}
        if action == "export":
            self.saved = self._export(str(arguments.get("what")), namespace)
        else:
            self.do(action, **arguments)
        return None

    def _export(self, what: str, namespace: MutableMapping[str, Any]) -> str:
        if what == "frame":
            name = _unused("timing_pages", lambda name: name in namespace)
            namespace[name] = self.pages
            return f"{name} has the {text.plural(self.pages.height, 'page')} shown"
        if what == "chrome":
            path = Path(
                _unused("pqlab-trace", lambda name: Path(f"{name}.json").exists()) + ".json"
            )
            try:
                self.trace.to_chrome_trace(path)
            except OSError as error:
                raise SelectionError(
                    f"the trace cannot be written: {error}", hint="Call trace.to_chrome_trace(path)"
                ) from None
            return f"{path.absolute()} opens in https://ui.perfetto.dev"
        raise SelectionError(f"{what!r} cannot be exported")

    @property
    def pages(self) -> pl.DataFrame:
        """The pages that the views show: a row per page with what it cost."""
        return charts.chosen_pages(self.frames, self.state)

    def body(
        self, picked: list[tuple[int, int]] | None = None, *, picks: bool | None = None
    ) -> Message:
        """What the screen shows but the marks and the rows.

        `picked`: spans of keys of the pages that are picked in the inspector, None: all. `picks`:
        whether brushing picks there, None: there is no inspector.
        """
        frames, state = self.frames, self.state
        table = charts.pages_table(frames, state)
        span = shown(frames, state)
        return {
            "is_empty": not frames.events.height,
            "figures": facts.figures(frames, state),
            "notes": facts.notes(frames, state),
            "reads": facts.reads(frames),
            "read": state.read,
            "whole": list(whole(frames, state)),
            "shown": list(span),
            "brush": None if state.brush is None else list(state.brush),
            "filter": self._filter(),
            "marks": self._of_marks(),
            "legend": charts.legend(frames, state),
            "bars": charts.bars(frames, state),
            "distribution": charts.distribution(frames, state),
            "windows": charts.windows(frames, state),
            "misses": charts.misses(frames, state),
            "table": table.head(state.order),
            "picked": picked,
            "picks": picks,
            "chosen_columns": [frames.columns[column][:40] for column in sorted(state.columns)],
            "saved": self.saved,
        }

    def marks(self) -> Message:
        """The timeline's marks, with a sentence where they are sums."""
        found = marks(self.frames, self.state)
        told = ""
        if found["is_binned"]:
            count = text.plural(found["pages_shown"], "page")
            told = (
                f"{count}: shown as sums over {found['num_bins']} bins of time, since there are "
                f"more than {MAX_PAGES:,}. Zoom in to see single pages."
            )
        return {"of": self._of_marks(), "told": told, **found}

    def _of_marks(self) -> str:
        """What the marks depend on."""
        span = shown(self.frames, self.state)
        return f"{self.frames.origin_ns} {self.frames.events.height} {self.state.read} {span}"

    def rows(self, start: int, stop: int) -> Message:
        """Rows [start, stop) of the page table."""
        return charts.pages_table(self.frames, self.state).window(start, stop)

    def _filter(self) -> str:
        if not charts.is_filtered(self.state):
            return ""
        words = [text.plural(self.pages.height, "page")]
        if self.state.brush is not None:
            first, last = self.state.brush
            origin = whole(self.frames, self.state)[0]
            taken = text.duration(last - first)
            words.append(f"{taken} from {text.duration(first - origin)} on")
        if self.state.columns:
            words.append(text.plural(len(self.state.columns), "column"))
        return " · ".join(words)


def _unused(name: str, is_used: Callable[[str], bool]) -> str:
    """The name, or the first one with a number that nothing has."""
    number = 1
    found = name
    while is_used(found):
        number += 1
        found = f"{name}_{number}"
    return found
