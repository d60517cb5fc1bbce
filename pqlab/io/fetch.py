"""Fetching: a plan's requests to buffers, from which every run of pages is a view."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count, zip_longest
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pqlab.errors import SourceError
from pqlab.io.source import Bytes, Source, padded_empty
from pqlab.plan.plan import Plan
from pqlab.plan.policy import IOPolicy
from pqlab.plan.ranges import Range, Ranges, intersect, length, union
from pqlab.plan.tables import PlanTables, Rows
from pqlab.trace import SERVED, Reason, Recording, ServedRanges, Stage, blank_events
from pqlab.trace.recorder import active, timed


class Fetched:
    """Bytes of a source, as ranges that were asked for."""

    def __init__(self, buffers: dict[int, Bytes]) -> None:
        """`buffers`: by the position of their first byte, in order."""
        self._starts = list(buffers)
        self._buffers = list(buffers.values())

    def view(self, start: int, stop: int) -> Bytes:
        """The bytes [start, stop) of the source; 16 more are readable after them.

        Raises `SourceError` for a range that was not fetched in one piece.
        """
        place = bisect_right(self._starts, start) - 1
        if place >= 0:
            first, buffer = self._starts[place], self._buffers[place]
            if stop - first <= len(buffer):
                return buffer[start - first : stop - first]
        raise SourceError(f"bytes {start:,} to {stop:,} were not fetched", offset=start)

    @property
    def buffers(self) -> list[tuple[int, Bytes]]:
        """The bytes as they were fetched, each with the position of the first, in order."""
        return list(zip(self._starts, self._buffers, strict=True))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(map(len, self._buffers))


_Run: TypeAlias = tuple[int, int, int, int]  # start, stop, row group, leaf


def fetch(
    source: Source,
    requests: Ranges,
    tables: PlanTables,
    policy: IOPolicy,
    recording: Recording | None = None,
) -> Fetched:
    """Fetch `requests`, which cover the runs of `tables`, `policy.concurrency` at a time.

    The buffers take as many bytes as the requests. Recorded, every request is an event. Raises
    `SourceError`, and `SourceChangedError` if the source changed since it was opened.
    """
    pieces = _pieces(requests, tables.runs)
    buffers: dict[int, Bytes] = {}
    for piece in pieces:
        start, stop = piece[0][0], piece[-1][1]
        # What one request fills is left to the source, which may have the bytes in memory.
        buffers[start] = padded_empty(stop - start if len(piece) > 1 else 0)
    tasks = [(piece[0][0], request, len(piece) > 1) for piece in pieces for request in piece]
    times = np.zeros((len(tasks), 3), np.int64)
    worker = _worker_numbers()

    def run_task(number: int) -> None:
        first, (start, stop), shared = tasks[number]
        start_ns = time.perf_counter_ns()
        if shared:
            source.read_into(start, buffers[first][start - first : stop - first])
        else:
            buffers[first] = source.request(start, stop)[0]
        times[number] = start_ns, time.perf_counter_ns() - start_ns, worker()

    enough = 1 + length(requests) // policy.bytes_per_thread
    _run_all(run_task, len(tasks), min(policy.concurrency, enough))
    source.check_unchanged()
    if recording is not None:
        _record(recording, requests, _runs(tables), times)
    return Fetched(buffers)


def fetch_ahead(
    source: Source, parts: Sequence[Plan], policy: IOPolicy, recording: Recording | None = None
) -> Iterator[tuple[Plan, Fetched]]:
    """Each part of a plan with its bytes; the next part is fetched while one is in use.

    Recorded, every wait for bytes is an event. Raises as `fetch`.
    """

    def fetch_part(part: Plan) -> Fetched:
        return fetch(source, part.requests, part.tables, policy, recording)

    if len(parts) == 1:  # nothing to be ahead of: no thread
        yield parts[0], _waited(lambda: fetch_part(parts[0]), recording)
        return
    pool = ThreadPoolExecutor(1, thread_name_prefix="pqlab-ahead")
    try:
        waiting = [pool.submit(fetch_part, parts[0])]
        for part, following in zip_longest(parts, parts[1:]):
            fetched = _waited(waiting.pop().result, recording)
            if following is not None:
                waiting.append(pool.submit(fetch_part, following))
            yield part, fetched
    finally:
        # After an error or an interrupt nobody waits for what is still under way.
        pool.shutdown(wait=False, cancel_futures=True)


def _waited(wait: Callable[[], Fetched], recording: Recording | None) -> Fetched:
    with timed(recording, Stage.WAIT) as cells:
        fetched = wait()
        cells["bytes_in"] = cells["bytes_out"] = fetched.nbytes
    return fetched


def _pieces(requests: Ranges, runs: Rows) -> list[list[Range]]:
    """The requests, those together whose bytes one run needs in one piece."""
    if len(requests) < 2:
        return [[request] for request in requests]
    borders = np.array(requests, np.int64)[1:, 0]
    order = np.argsort(runs["start"], kind="stable")
    starts = runs["start"][order]
    stops = np.maximum.accumulate(runs["stop"][order])  # of the runs up to there
    before = np.searchsorted(starts, borders) - 1  # the last run that begins before the border
    straddled = (before >= 0) & (stops[before] > borders)
    pieces: list[list[Range]] = [[requests[0]]]
    for request, is_straddled in zip(requests[1:], straddled.tolist(), strict=True):
        if is_straddled and pieces[-1][-1][1] == request[0]:
            pieces[-1].append(request)
        else:
            pieces.append([request])
    return pieces


def _runs(tables: PlanTables) -> list[_Run]:
    owners = tables.chunks.repeat(tables.chunks["num_runs"])
    cells = tables.runs["start"], tables.runs["stop"], owners["row_group"], owners["leaf"]
    return sorted(zip(*(cell.tolist() for cell in cells), strict=True))


def _worker_numbers() -> Callable[[], int]:
    """A function that gives each thread a small number of its own."""
    numbers = count()
    mine = threading.local()

    def number() -> int:
        if not hasattr(mine, "number"):
            mine.number = next(numbers)
        return int(mine.number)

    return number


def _run_all(run: Callable[[int], None], num_tasks: int, concurrency: int) -> None:
    workers = min(num_tasks, concurrency)
    if workers <= 1:
        for number in range(num_tasks):
            run(number)
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="pqlab-fetch")
    try:
        for done in [pool.submit(run, number) for number in range(num_tasks)]:
            done.result()
    finally:
        # After an error or an interrupt what has not begun is dropped, the rest ends.
        pool.shutdown(cancel_futures=True)


def _record(
    recording: Recording,
    requests: Ranges,
    runs: Sequence[_Run],
    times: npt.NDArray[np.int64],
) -> None:
    """An event per request, and what each was for."""
    events = blank_events(len(requests))
    events["stage"], events["reason"] = Stage.FETCH, Reason.PAGES
    events["start_ns"], events["duration_ns"], events["worker"] = times.T
    events["request_id"] = recording.request_ids(len(requests))
    starts = [start for start, *_ in runs]
    served: list[tuple[int, int, int, int, int]] = []
    for event, (start, stop) in zip(events, requests, strict=True):
        first = max(bisect_right(starts, start) - 1, 0)
        inside = [run for run in runs[first : bisect_left(starts, stop)] if run[1] > start]
        wanted = intersect(union(run[:2] for run in inside), ((start, stop),))
        event["offset"] = start
        event["bytes_in"], event["bytes_out"] = stop - start, length(wanted)
        for place, cell in ((2, "row_group"), (3, "leaf")):
            values = {run[place] for run in inside}
            if len(values) == 1:
                event[cell] = values.pop()
        request_id = int(event["request_id"])
        served += [
            (max(start, run[0]), min(stop, run[1]), request_id, run[2], run[3]) for run in inside
        ]
    recording.add(events)
    recording.serve(np.array(served, SERVED))


def served_ranges(requests: Ranges, tables: PlanTables, request_ids: range) -> ServedRanges:
    """What each of the requests, which native code makes, is for."""
    starts = [start for start, _ in requests]
    served: list[tuple[int, int, int, int, int]] = []
    for start, stop, row_group, leaf in _runs(tables):
        first = bisect_right(starts, start) - 1
        for at in range(first, bisect_left(starts, stop)):
            inside = max(start, requests[at][0]), min(stop, requests[at][1])
            served.append((*inside, request_ids[at], row_group, leaf))
    return np.array(served, SERVED)


def read_recorded(
    source: Source, ranges: Sequence[Range], reason: Reason, **place: int
) -> list[Bytes]:
    """`source.read`; where this thread records, one event: `place` is cells of `EVENT`."""
    recording = active(source.name)
    if recording is None:
        return source.read(ranges)
    start_ns = time.perf_counter_ns()
    buffers = source.read(ranges)
    [request_id] = recording.request_ids(1)
    leaf, row_group = place.get("leaf", -1), place.get("row_group", -1)
    cells = {"offset": min((start for start, _ in ranges), default=-1), "request_id": request_id}
    cells["bytes_in"] = cells["bytes_out"] = sum(map(len, buffers))
    recording.event(Stage.FETCH, start_ns, reason=reason, **cells, **place)
    served = [(start, stop, request_id, row_group, leaf) for start, stop in ranges]
    recording.serve(np.array(served, SERVED))
    return buffers
