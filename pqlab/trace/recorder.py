"""`Trace` and `Recording`: what reads hand over while they run."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from pqlab import text
from pqlab.errors import PqlabError
from pqlab.trace.events import (
    EVENT,
    SERVED,
    Ask,
    Attempt,
    Events,
    Prefetch,
    ServedRanges,
    Stage,
    WindowChange,
    WindowReason,
    blank_events,
)
from pqlab.trace.nvtx import nvtx_range

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Read:
    """A read that a trace has seen; `outside`: what is read of the file outside of reads.

    `columns`: by leaf; none as long as they are not known. `stop_ns` is None until it ends,
    `failure` where nothing failed. `name`: of the trace that it was merged from. `is_first`: this
    process had not read the file before.
    """

    file: str
    columns: Sequence[str]
    start_ns: int
    stop_ns: int | None = None
    failure: str | None = None
    name: str | None = None
    outside: bool = False
    is_first: bool = False


class Recorded(NamedTuple):
    """What a trace holds at some time. Events are in order of their start, `read` is theirs."""

    reads: list[Read]
    events: Events
    read: npt.NDArray[np.uint32]
    served: ServedRanges
    attempts: list[Attempt]
    windows: list[tuple[int, WindowChange]]
    asks: list[Ask]


class Trace:
    """Records what reads cost; several reads, threads, and files may share one.

    `trace = pqlab.Trace(); selection.read(trace=trace); trace.summary()`. As a context manager it
    records all that is opened and read inside by this thread, footers included:
    `with pqlab.Trace() as trace: pqlab.read(path)`. Times are on the clock of
    `time.perf_counter_ns`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reads: list[Read] = []
        self._outside: dict[str, Recording] = {}  # by file: what is read outside of reads
        self._events: list[tuple[int, Events]] = []
        self._served: list[ServedRanges] = []
        self._attempts: list[Attempt] = []
        self._windows: list[tuple[int, WindowChange]] = []
        self._asks: list[Ask] = []
        self._requests = 0

    def begin(
        self,
        file: str,
        columns: Sequence[str],
        *,
        outside: bool = False,
        is_first: bool = False,
    ) -> Recording:
        """Announce a read of a file with these columns, in the order of leaves."""
        read = Read(file, columns, time.perf_counter_ns(), outside=outside, is_first=is_first)
        with self._lock:
            self._reads.append(read)
            return Recording(self, len(self._reads) - 1)

    def __enter__(self) -> Self:
        _ACTIVE.set(_Active(self, None, _ACTIVE.get()))
        return self

    def __exit__(self, *_: object) -> None:
        active = _ACTIVE.get()
        assert active is not None
        assert active.trace is self
        _ACTIVE.set(active.before)

    @classmethod
    def merge(cls, traces: Mapping[str, Trace]) -> Self:
        """One trace of several, as of the processes of a job; reads keep the name of their trace.

        The clock is one for all processes of a machine. Traces can be pickled.
        """
        merged = cls()
        for name, trace in traces.items():
            part = trace.recorded()
            first_read, first_request = len(merged._reads), merged._requests
            merged._reads += [replace(read, name=read.name or name) for read in part.reads]
            events = part.events.copy()
            served = part.served.copy()
            events["request_id"][events["request_id"] >= 0] += first_request
            served["request_id"] += first_request
            for read in np.unique(part.read).tolist():
                merged._events.append((first_read + read, events[part.read == read]))
            merged._served.append(served)
            merged._attempts += [
                attempt._replace(request_id=attempt.request_id + first_request)
                for attempt in part.attempts
            ]
            merged._windows += [(first_read + read, change) for read, change in part.windows]
            merged._asks += [ask._replace(read=first_read + ask.read) for ask in part.asks]
            merged._requests += trace._requests
        return merged

    def recorded(self) -> Recorded:
        """What it holds now."""
        with self._lock:
            reads, parts = list(self._reads), list(self._events)
            served, attempts = list(self._served), list(self._attempts)
            windows, asks = list(self._windows), list(self._asks)
        events = np.concatenate([np.empty(0, EVENT), *(part for _, part in parts)])
        read = np.repeat(
            np.array([number for number, _ in parts], np.uint32), [len(part) for _, part in parts]
        )
        order = np.argsort(events["start_ns"], kind="stable")
        return Recorded(
            reads,
            events[order],
            read[order],
            np.concatenate([np.empty(0, SERVED), *served]),
            attempts,
            sorted(windows, key=lambda window: window[1].time_ns),
            asks,
        )

    def to_frame(self) -> pl.DataFrame:
        """A row per event, by start.

        `read` counts the reads that share the trace. What does not apply is null; the dictionary
        page is -1. A `fetch` is a request: `bytes_in` were fetched, `bytes_out` of them were
        wanted, `reason` says why; `row_group` and `column` are null where it serves several, which
        `requests` lists. Of a page `request_ids` are the requests that its bytes came with.
        `queued_ns` and `page_faults` stand in the last event of a page's task. Of an iteration,
        `prefetch` says of a page how far it was when the consumer asked for its rows, and of a
        `wait` what the consumer waited for (`ready`: nothing). A read that failed ends with a
        `failure`.
        """
        from pqlab.trace.frames import events_frame

        return events_frame(self.recorded())

    def reads(self) -> pl.DataFrame:
        """A row per read: when, how long, page faults, and the error that ended it.

        `kind` is "read", or "outside" for what is read of a file outside of reads, as its footer;
        that does not end. `is_first`: this process had read no part of the file before.
        `page_faults` are those of the threads that decoded, null if they were not counted.
        """
        from pqlab.trace.frames import reads_frame

        return reads_frame(self.recorded())

    def summary(self) -> pl.DataFrame:
        """A row per file and column, the dearest first.

        A null column is of what columns share: requests, waiting for them, planning, assembling.
        `pages` and `values` count dictionary pages, too. `*_ns` add up all workers' time in the
        stage (`decode_ns` with levels), `*_share` is its share of the row's time. `misses` are
        those of an iteration's prefetch, `stall_ns` the time the consumer waited for them.
        `mb_per_s`: decoded megabytes a second of the row's time.
        """
        from pqlab.trace.frames import summary_frame

        return summary_frame(self.recorded())

    def prefetch_misses(self) -> pl.DataFrame:
        """A row per time the consumer of an iteration had to wait, by time.

        `kind`: `queue_empty` if the page that came last had not been begun, `late` if it was in
        flight; `column` and `page` name it. `stall_ns` is what the consumer waited. The window, in
        pages, was `window_before` when it asked and is `window_after` when it got the rows; null if
        unknown.
        """
        from pqlab.trace.frames import misses_frame

        return misses_frame(self.recorded())

    def windows(self) -> pl.DataFrame:
        """A row per change of a prefetch window, by time: its size in pages, and why.

        `column` is null for a window of all columns together. `why`: `start`, `queue_empty` and
        `late` (misses), `idle` (pages lay ready for long), `memory` (the limit is near), `no_gain`
        (a larger one did not shorten the waits).
        """
        from pqlab.trace.frames import windows_frame

        return windows_frame(self.recorded())

    def requests(self) -> pl.DataFrame:
        """A row per request to the source, by start.

        `ranges`: what it served, half-open, within the request's `start` to `stop` bytes of the
        file. `wasted_bytes` were fetched and not wanted. `first_byte_ns` and `transfer_ns` part
        the last attempt at its first byte, null where the source does not tell. `copy_bytes`: the
        size of the buffer that a client library's bytes were copied through, 0 where none was.
        `cached_bytes` came from the cache on disk; all of them, and nobody was asked: `attempts` is
        0. It is null where the source does not tell.
        """
        from pqlab.trace.frames import requests_frame

        return requests_frame(self.recorded())

    def diff(self, other: Trace) -> pl.DataFrame:
        """What another trace has differently: a row per number that differs, column by column.

        `reads`, `time` (in ns, all workers' added up) and `work` (pages, values, bytes, misses) of
        `summary`; `change` and `ratio` say by how much. Columns are matched by their paths.
        """
        from pqlab.trace.difference import diff_traces

        return diff_traces(self, other)

    def to_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the trace-event format, which Perfetto and chrome://tracing open.

        A process per read; lanes for its calls, workers, requests, and its consumer; flows lead
        from requests to the pages that they served, counters show the prefetch windows.
        """
        from pqlab.trace.chrome import write

        write(self.recorded(), path)

    def __len__(self) -> int:
        with self._lock:
            return sum(len(events) for _, events in self._events)

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = self.__dict__.copy()
        del state["_lock"], state["_outside"]
        return {name: list(value) if isinstance(value, list) else value
                for name, value in state.items()}  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock(), _outside={})

    def __repr__(self) -> str:
        with self._lock:
            reads, parts = len(self._reads), [events for _, events in self._events]
        spent_ns = sum(int(events["duration_ns"].sum()) for events in parts)
        count = sum(map(len, parts))
        shape = f"{text.plural(reads, 'read')}: {text.plural(count, 'event')}"
        return f"<pqlab.Trace of {shape}, {text.duration(spent_ns)} in all>"

    def _outside_of_reads(self, file: str) -> Recording:
        with self._lock:
            found = self._outside.get(file)
        if found is None:
            found = self.begin(file, (), outside=True)
            with self._lock:
                found = self._outside.setdefault(file, found)
        return found


class Recording(NamedTuple):
    """A trace, and the ordinal of the read in it to which is added what follows."""

    trace: Trace
    read: int

    def add(self, events: Events) -> None:
        """Add events (dtype `EVENT`); the array is kept and must not change."""
        if len(events):
            with self.trace._lock:
                self.trace._events.append((self.read, events))

    def add_native(self, events: Events, served: ServedRanges) -> None:
        """Add what native code recorded; its requests, counted from 0, get ids of the trace."""
        first = self.request_ids(int(served["request_id"].max(initial=-1)) + 1).start
        events["request_id"][events["request_id"] >= 0] += first
        served["request_id"] += first
        self.add(events)
        if len(served):
            self.serve(served)

    def event(self, stage: Stage, start_ns: int, **cells: int) -> None:
        """Add one event that ends now."""
        event = blank_events(1)
        event["stage"], event["start_ns"] = stage, start_ns
        event["duration_ns"] = time.perf_counter_ns() - start_ns
        for cell, value in cells.items():
            event[cell] = value
        self.add(event)

    def request_ids(self, count: int) -> range:
        """So many request ids that no other event of the trace has."""
        with self.trace._lock:
            self.trace._requests += count
            return range(self.trace._requests - count, self.trace._requests)

    def serve(self, ranges: ServedRanges) -> None:
        """Add what requests were for (dtype `SERVED`); the array is kept and must not change."""
        with self.trace._lock:
            self.trace._served.append(ranges)

    def attempt(self, *attempts: Attempt) -> None:
        """Add attempts of requests, in order."""
        with self.trace._lock:
            self.trace._attempts.extend(attempts)

    def window(self, leaf: int, window_pages: int, why: WindowReason) -> None:
        """Add a change of a prefetch window, as of now; leaf -1: of all columns together."""
        change = WindowChange(time.perf_counter_ns(), leaf, window_pages, why)
        with self.trace._lock:
            self.trace._windows.append((self.read, change))

    def asked(
        self,
        asked_ns: int,
        found: Prefetch,
        *,
        row_groups: Sequence[int],
        leaf: int = -1,
        page: int = -2,
    ) -> None:
        """Add that the consumer of an iteration asked for rows of these row groups, and has them.

        `found`: `READY`, or how far the page was that came last, which `leaf` and `page` name.
        Changes of windows that follow from it are to be added before. Unless the read's events
        state the prefetch of their pages, it is told from when the first ask for their row group
        was.
        """
        with self.trace._lock:
            self.trace._asks.extend(Ask(self.read, each, asked_ns) for each in row_groups)
        cells = {"row_group": row_groups[0], "leaf": leaf, "page": page, "prefetch": int(found)}
        self.event(Stage.WAIT, asked_ns, **cells)

    def failed(self, error: BaseException) -> None:
        """End the read with an error; its place is that of the event."""
        place = error.place if isinstance(error, PqlabError) else {}
        cells = {
            cell: int(value)
            for cell, value in place.items()
            if cell in ("row_group", "page", "offset")
        }
        column = place.get("column")
        with self.trace._lock:
            columns = self.trace._reads[self.read].columns
        if column in columns:
            cells["leaf"] = columns.index(str(column))
        self.event(Stage.FAILURE, time.perf_counter_ns(), **cells)
        self.ended(f"{type(error).__name__}: {error}")

    def name_columns(self, columns: Callable[[], Sequence[str]]) -> None:
        """Say what the columns are, unless that is known."""
        reads = self.trace._reads
        if not reads[self.read].columns:
            named = columns()
            with self.trace._lock:
                reads[self.read] = replace(reads[self.read], columns=named)

    def ended(self, failure: str | None = None) -> None:
        """End the read."""
        with self.trace._lock:
            reads = self.trace._reads
            reads[self.read] = replace(
                reads[self.read], stop_ns=time.perf_counter_ns(), failure=failure
            )

    @contextmanager
    def active(self) -> Iterator[None]:
        """What this thread fetches inside belongs to the read."""
        before = _ACTIVE.get()
        _ACTIVE.set(_Active(self.trace, self, before))
        try:
            yield
        finally:
            _ACTIVE.set(before)


class _Active(NamedTuple):
    trace: Trace
    recording: Recording | None  # None: outside of reads
    before: _Active | None


_ACTIVE: ContextVar[_Active | None] = ContextVar("pqlab_trace", default=None)


def active_trace() -> Trace | None:
    """The trace that is recorded into here, by `with` or by a read."""
    found = _ACTIVE.get()
    return found.trace if found is not None else None


def active(file: str) -> Recording | None:
    """Where to record what is fetched here of the file; None: nowhere."""
    found = _ACTIVE.get()
    if found is None:
        return None
    return found.recording or found.trace._outside_of_reads(file)


def first_read(file: str) -> bool:
    """Whether this process begins to read a file of that name for the first time."""
    is_first = file not in _READ
    if is_first and len(_READ) < _MAX_KNOWN:
        _READ.add(file)
    return is_first


_READ: set[str] = set()
_MAX_KNOWN = 100_000  # names of files; of more, all reads look like first ones


@contextmanager
def timed(recording: Recording | None, stage: Stage) -> Iterator[dict[str, int]]:
    """Record what happens inside as one event, an NVTX range, and what is fetched as the read's.

    It gives a dict that takes cells of the event. Without `recording` nothing is recorded.
    """
    cells: dict[str, int] = {}
    if recording is None:
        yield cells
        return
    start_ns = time.perf_counter_ns()
    with recording.active(), nvtx_range(stage.text):
        yield cells
    recording.event(stage, start_ns, **cells)


@contextmanager
def reading(trace: Trace | None, file: str, columns: Iterable[str]) -> Iterator[Recording | None]:
    """Record what happens inside as a read, which ends with the error that leaves it, if any.

    `columns`: of the file, by leaf. Without a trace, given or active, nothing is recorded.
    """
    trace = trace if trace is not None else active_trace()
    is_first = first_read(file)
    if trace is None:
        yield None
        return
    recording = trace.begin(file, list(columns), is_first=is_first)
    try:
        yield recording
    except GeneratorExit:
        recording.ended()
        raise
    except BaseException as error:
        recording.failed(error)
        raise
    recording.ended()
