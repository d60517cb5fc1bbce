"""A read that goes on while the user looks on: its progress, its end, or its error."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from typing import Any, Literal

import polars as pl

from pqlab import text
from pqlab.errors import PqlabError
from pqlab.file_selection import FileSelection
from pqlab.inspector.slice_text import explained
from pqlab.trace import Trace

_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Run:
    """How a read stands."""

    state: Literal["running", "cancelling", "done", "cancelled", "failed"]
    variable: str
    share: float = 0.0
    pages_done: int = 0
    text: str = ""
    error: dict[str, str] | None = None

    def body(self) -> dict[str, Any]:
        """As a screen shows it."""
        return {
            "state": self.state,
            "variable": self.variable,
            "share": round(self.share, 4),
            "text": self.text,
            "error": self.error,
        }


class Reading:
    """One read in a thread. `tell` is called with each `Run`, `finish` with the frame.

    `finish` says whether it could assign it.
    """

    def __init__(
        self,
        selection: FileSelection,
        variable: str,
        tell: Callable[[Run], None],
        finish: Callable[[pl.DataFrame, Trace], bool],
    ) -> None:
        self._selection, self._tell, self._finish = selection, tell, finish
        self._job: Any = None
        self._cancelled = False
        self.trace = Trace()
        self.run = Run("running", variable, text="planning…")

    def cancel(self) -> None:
        """Stop it within a page."""
        self._cancelled = True
        if self.run.state == "running":
            self._now(replace(self.run, state="cancelling", text="cancelling…"))
        if self._job is not None:
            self._job.cancel()

    def work(self) -> None:
        """Read to the end; tells of everything, raises nothing of pqlab's."""
        start = time.perf_counter()
        self._now(self.run)
        try:
            self._job = job = self._selection.submit(trace=self.trace)
            if self._cancelled:
                job.cancel()
            while not job.wait(_POLL_S) and not self._cancelled:
                self._now(_progress(self.run, job.progress, time.perf_counter() - start))
            frame = job.result()
        except CancelledError:
            self._now(replace(self.run, state="cancelled", text="Cancelled; nothing was assigned."))
        except PqlabError as error:
            self._now(replace(self.run, state="failed", text="", error=explained(error)))
        except Exception as error:  # noqa: BLE001  # shown instead of lost in a thread
            shown = {"kind": type(error).__name__, "message": text.clip(str(error), 500)}
            self._now(
                replace(self.run, state="failed", text="", error={**shown, "place": "", "hint": ""})
            )
        else:
            taken = time.perf_counter() - start
            rows, columns = text.plural(frame.height, "row"), text.plural(frame.width, "column")
            done = f"{rows} × {columns} in {text.duration(taken * 1e9)}"
            if not self._finish(frame, self.trace):
                done += f"; it is inspector.frame, since {self.run.variable} was made meanwhile"
            self._now(replace(self.run, state="done", share=1.0, text=done))

    def _now(self, run: Run) -> None:
        if self.run.state == "cancelling" and run.state == "running":
            return
        self.run = run
        self._tell(run)


def _progress(run: Run, progress: Any, taken_s: float) -> Run:
    speed = text.size(progress.bytes_done / max(taken_s, 1e-9))
    pages = text.plural(progress.pages_done, "page")
    of = f"{text.size(progress.bytes_done)} of {text.size(progress.num_bytes)}"
    return replace(run, share=progress.share, text=f"{pages} done, {of}, {speed}/s")
