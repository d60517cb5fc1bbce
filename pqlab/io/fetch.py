"""Fetching: a plan's requests to buffers, from which every run of pages is a view."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from functools import cache, partial
from itertools import count
from typing import NamedTuple, TypeAlias

import numpy as np

from pqlab.errors import SourceError
from pqlab.io.crew import Crew
from pqlab.io.source import Bytes, Source, Transfer, padded_empty
from pqlab.io.waiting import result_of
from pqlab.plan.coalesce import coalesce
from pqlab.plan.plan import Plan
from pqlab.plan.policy import IOPolicy
from pqlab.plan.ranges import Range, Ranges, intersect, length, union
from pqlab.plan.tables import RUN, PlanTables, Rows
from pqlab.trace import SERVED, Attempt, Reason, Recording, Stage, blank_events
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
    record = _recorder(recording, Reason.PAGES, lambda: _runs(tables))
    [fetched] = _fetch_parts(source, requests, [tables.runs], policy, record)
    return fetched


def fetch_ahead(
    source: Source,
    requests: Ranges,
    parts: Sequence[Plan],
    policy: IOPolicy,
    recording: Recording | None = None,
) -> Iterator[tuple[Plan, Fetched]]:
    """Each part of a plan with its bytes, as soon as they are there.

    `requests` cover all parts. They are made in their order, `policy.concurrency` at a time, up to
    `policy.window_bytes` ahead of the part in use. Recorded, every request and every wait for bytes
    is an event. Raises as `fetch`.
    """

    def all_runs() -> list[_Run]:
        return sorted(run for part in parts for run in _runs(part.tables))

    record = _recorder(recording, Reason.PAGES, all_runs)
    runs = [part.tables.runs for part in parts]
    fetching = _fetch_parts(source, requests, runs, policy, record)
    try:
        for part in parts:
            with timed(recording, Stage.WAIT) as cells:
                fetched = next(fetching)
                cells["bytes_in"] = cells["bytes_out"] = fetched.nbytes
            yield part, fetched
    finally:
        fetching.close()


def _fetch_parts(
    source: Source,
    requests: Ranges,
    parts: Sequence[Rows],
    policy: IOPolicy,
    record: _Record | None,
) -> Generator[Fetched]:
    """The bytes of the runs of each part. `record` is told which requests are done."""
    pieces = [_Piece(piece) for piece in _pieces(requests, parts)]
    starts = np.array([piece.start for piece in pieces], np.int64)
    needs = [
        sorted(set(np.searchsorted(starts, runs["start"], "right").tolist())) for runs in parts
    ]
    for number in (number for need in needs for number in need):
        pieces[number - 1].users += 1
    worker = _worker_numbers()
    threads = min(
        policy.concurrency, len(requests), 1 + length(requests) // policy.bytes_per_thread
    )
    crew = Crew(threads) if threads > 1 else None
    held_bytes = begun = 0
    try:
        for need in needs:
            last = max(need, default=0)
            while begun < len(pieces) and (
                begun < last or (crew and held_bytes + pieces[begun].size <= policy.window_bytes)
            ):
                held_bytes += pieces[begun].size
                pieces[begun].begin(source, crew, worker)
                begun += 1
            mine = [pieces[number - 1] for number in need]
            asked = [done for piece in mine for done in piece.take() if done.transfer.asked]
            source.check_unchanged()
            if record is not None and asked:
                record(asked)
            yield Fetched({piece.start: piece.buffer for piece in mine})
            held_bytes -= sum(piece.release() for piece in mine)
    finally:
        if crew is not None:  # after an error nobody waits for what is under way
            crew.dismiss()


class _Request(NamedTuple):
    """A request that is done."""

    start: int
    stop: int
    start_ns: int
    duration_ns: int
    worker: int
    transfer: Transfer


_Record: TypeAlias = Callable[[Sequence[_Request]], None]


class _Piece:
    """Requests whose bytes stand together. `users`: parts that have not yet used them."""

    def __init__(self, ranges: Sequence[Range]) -> None:
        self._ranges = ranges
        self.start, self.size = ranges[0][0], ranges[-1][1] - ranges[0][0]
        self.buffer: Bytes = padded_empty(0)
        self.users = 0
        self._requests: list[Future[_Request] | _Request] = []

    def begin(self, source: Source, crew: Crew | None, worker: Callable[[], int]) -> None:
        """Make the requests, by a crew if there is one."""
        shared = len(self._ranges) > 1
        if shared:
            self.buffer = padded_empty(self.size)

        def run(ends: Range) -> _Request:
            start, stop = ends
            start_ns = time.perf_counter_ns()
            if shared:
                part = self.buffer[start - self.start : stop - self.start]
                transfer = source.read_into(start, part)
            else:  # left to the source, which may have the bytes in memory
                self.buffer, transfer = source.request(start, stop)
            duration_ns = time.perf_counter_ns() - start_ns
            return _Request(start, stop, start_ns, duration_ns, worker(), transfer)

        for ends in self._ranges:
            self._requests.append(run(ends) if crew is None else crew.submit(partial(run, ends)))

    def take(self) -> list[_Request]:
        """Wait for the bytes. The requests, for the first who asks."""
        requests, self._requests = self._requests, []
        return [result_of(one) if isinstance(one, Future) else one for one in requests]

    def release(self) -> int:
        """Note that a part has used them; the bytes that nobody needs any more."""
        self.users -= 1
        if self.users:
            return 0
        self.buffer = padded_empty(0)
        return self.size


def _pieces(requests: Ranges, parts: Sequence[Rows]) -> list[list[Range]]:
    """The requests, those together whose bytes one run needs in one piece."""
    if len(requests) < 2:
        return [[request] for request in requests]
    runs = parts[0] if len(parts) == 1 else np.concatenate(parts)
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


def _recorder(
    recording: Recording | None, reason: Reason, runs: Callable[[], Sequence[_Run]]
) -> _Record | None:
    """What records requests. `runs`: all that they are for, in order; taken when there are some."""
    if recording is None:
        return None
    runs = cache(runs)
    return lambda requests: _record(recording, reason, requests, runs())


def _record(
    recording: Recording, reason: Reason, requests: Sequence[_Request], runs: Sequence[_Run]
) -> None:
    """An event per request, what each was for, and its attempts."""
    events = blank_events(len(requests))
    ids = recording.request_ids(len(requests))
    events["stage"], events["reason"], events["request_id"] = Stage.FETCH, reason, ids
    starts = [start for start, *_ in runs]
    served: list[tuple[int, int, int, int, int]] = []
    for event, request, request_id in zip(events, requests, ids, strict=True):
        start, stop = request.start, request.stop
        first = max(bisect_right(starts, start) - 1, 0)
        inside = [run for run in runs[first : bisect_left(starts, stop)] if run[1] > start]
        wanted = intersect(union(run[:2] for run in inside), ((start, stop),))
        event["start_ns"], event["duration_ns"] = request.start_ns, request.duration_ns
        event["worker"], event["offset"] = request.worker, start
        event["bytes_in"], event["bytes_out"] = stop - start, length(wanted)
        for place, cell in ((2, "row_group"), (3, "leaf")):
            values = {run[place] for run in inside}
            if len(values) == 1:
                event[cell] = values.pop()
        served += [
            (max(start, run[0]), min(stop, run[1]), request_id, run[2], run[3]) for run in inside
        ]
        transfer = request.transfer
        recording.attempt(
            *(Attempt(request_id, *attempt, transfer.copy_bytes) for attempt in transfer.attempts)
        )
    recording.add(events)
    recording.serve(np.array(served, SERVED))


def read_recorded(
    source: Source,
    ranges: Sequence[Range],
    reason: Reason,
    chunks: Sequence[tuple[int, int]] | None = None,
) -> list[Bytes]:
    """The bytes of each range, by as few requests as the source's policy suggests, all at once.

    `chunks`: the (row group, leaf) of each range. Recorded where this thread records. Raises as
    `fetch`.
    """
    policy = source.policy
    requests = coalesce(ranges, policy, allowance_bytes=policy.footer_guess_bytes)
    places = chunks if chunks is not None else [(-1, -1)] * len(ranges)
    wanted = sorted((*ends, *place) for ends, place in zip(ranges, places, strict=True))
    runs = np.zeros(len(ranges), RUN)
    runs["start"], runs["stop"] = np.array(ranges, np.int64).reshape(-1, 2).T
    record = _recorder(active(source.name), reason, lambda: wanted)
    [fetched] = _fetch_parts(source, requests, [runs[runs["start"] < runs["stop"]]], policy, record)
    return [
        fetched.view(start, stop) if start < stop else padded_empty(0) for start, stop in ranges
    ]


def read_tail(source: Source) -> Bytes:
    """The end of the source, as much as its policy guesses that a footer takes."""
    start_ns = time.perf_counter_ns()
    tail, transfer = source.read_tail(source.policy.footer_guess_bytes)
    run = (source.size - len(tail), source.size, -1, -1)
    record = _recorder(active(source.name), Reason.FOOTER, lambda: [run])
    if record is not None:
        start = source.size - len(tail)
        begun_ns = transfer.attempts[0].start_ns if transfer.attempts else start_ns
        ended_ns = transfer.attempts[-1].stop_ns if transfer.attempts else time.perf_counter_ns()
        request = _Request(start, source.size, begun_ns, ended_ns - begun_ns, -1, transfer)
        record([request])
    return tail
