"""The pipeline: parts of a selection, read ahead of their consumer lane by lane.

It has no thread of its own: when the consumer asks for a part, it hands native code the units that
the lanes' windows reach by then, which progress while the consumer is busy.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from pqlab.cpu.engine import Team
from pqlab.errors import PqlabError
from pqlab.native import _native
from pqlab.native._native import Decoded
from pqlab.plan.policy import IOPolicy
from pqlab.stream.parts import Part
from pqlab.stream.units import FileParts, Unit
from pqlab.stream.windows import Asked, Window, after, short_of_memory
from pqlab.trace import Prefetch

_FREE_SHARE = 4  # of the memory that is free, a quarter


class Lane(NamedTuple):
    """Columns that are read together. `share` of a part's bytes; `pages` of a unit, about."""

    share: float
    pages: float


@dataclass(slots=True)
class _Pending:
    part: Part
    file: FileParts
    units: list[Unit | None]


class Pipeline:
    """Parts in order, with their columns. Not safe for several threads at once."""

    def __init__(
        self,
        parts: Iterator[Part],
        open_file: Callable[[int], FileParts],
        lanes: Sequence[Lane],
        team: Team,
        *,
        prefetch: int | None,
        memory_limit: int,
        fetched_share: float,
        policy: IOPolicy,
    ) -> None:
        """`prefetch`: parts ahead, None: as the consumer needs them.

        `fetched_share`: bytes that are fetched for each that is decoded. `policy`: how far ahead
        it begins, and how many threads fetch where native code does not.
        """
        self._parts, self._open_file, self._lanes, self._team = parts, open_file, lanes, team
        self._adaptive, self._memory_limit = prefetch is None, memory_limit
        first = policy.first_window if prefetch is None else prefetch
        self._windows = [Window(first) for _ in lanes]
        self._cost = 1 + fetched_share
        self._fetchers = policy.concurrency
        self._executor: ThreadPoolExecutor | None = None
        self._files: dict[int, FileParts] = {}
        self._pending: dict[int, _Pending] = {}  # by the part's number
        self._numbered = 0  # parts that were taken from `parts`
        self._newest_file = -1  # of the last of them
        self._next = [0] * len(lanes)  # of each lane, the part that is begun next
        self._asked = 0  # the part that the consumer asks for, or will
        self._held_bytes = 0.0
        self._before: tuple[int, int] | None = None  # when it got what it asked for, busy_ns then
        self._first: tuple[int, list[Asked], FileParts] | None = None  # when it asked first
        self._latencies_ns = [0] * len(lanes)
        self._to_record: Callable[[], None] | None = None
        self._alone: deque[Part] = deque()  # row groups of a part that failed, one by one
        self._broken: Exception | None = None  # what finding the next part has ended with
        self.closed = False

    def next_part(self) -> tuple[Part, FileParts, list[Decoded]] | None:
        """The next part and its columns; None behind the last. An error closes the pipeline."""
        if self.closed:
            return None
        try:
            return self._next_part()
        except BaseException as error:
            self.close(error)
            raise

    def close(self, error: BaseException | None = None) -> None:
        """Stop what is under way; nobody waits for it. Recorded reads end, with the error if any.

        The error counts for the file that the consumer asked for, whose part is the first pending.
        """
        self.closed = True
        asked = min(self._pending, default=None)
        failed = None if asked is None else self._pending[asked].file
        for file in self._files.values():
            if error is not None and file is failed:
                file.failed(error)
            else:
                file.ended()
        for pending in self._pending.values():
            for unit in pending.units:
                if unit is not None:
                    unit.cancel()
        self._pending.clear()
        self._files.clear()
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None

    def _next_part(self) -> tuple[Part, FileParts, list[Decoded]] | None:
        if self._alone:
            return self._read_alone(self._alone.popleft())
        asked_ns = time.perf_counter_ns()
        self._adapt_to_first(asked_ns)
        number = self._asked
        pending = self._take(number)
        if pending is None:
            self.close()
            return None
        found = [self._found(lane, pending) for lane in range(len(self._lanes))]
        self._begin_through(number)
        for unit in pending.units:
            if unit is not None and not unit.done:
                unit.urge()
        self._read_ahead(number, held=0)
        for unit in pending.units:
            if unit is not None and not unit.done:
                unit.wait()
        self._note(asked_ns, found, pending)
        try:
            decoded = pending.file.decoded(pending.units)
        except PqlabError:
            if len(pending.part.segments) == 1:
                raise
            # Those before the one that is bad are handed out.
            self._alone.extend(pending.part.one_by_one())
            return self._read_alone(self._alone.popleft())
        del self._pending[number]
        if len(self._files) > 1:
            self._forget_files()
        self._asked += 1
        # What the consumer now holds still takes its memory until it asks again.
        self._held_bytes -= self._bytes(pending.part) * (1 - 1 / self._cost)
        self._read_ahead(self._asked, held=1)
        self._held_bytes -= self._bytes(pending.part) / self._cost
        return pending.part, pending.file, decoded

    def _read_alone(self, part: Part) -> tuple[Part, FileParts, list[Decoded]]:
        file = self._pending[self._asked].file
        units = [file.begin(part, lane, self._executor) for lane in range(len(self._lanes))]
        for unit in units:
            if unit is not None:
                unit.wait()
        return part, file, file.decoded(units)

    def _found(self, lane: int, pending: _Pending) -> Prefetch:
        if self._next[lane] <= self._asked:
            return Prefetch.QUEUE_EMPTY if pending.file.lanes[lane] else Prefetch.READY
        unit = pending.units[lane]
        return Prefetch.READY if unit is None or unit.done else Prefetch.LATE

    def _begin_through(self, number: int) -> None:
        for lane in range(len(self._lanes)):
            while self._next[lane] <= number:
                self._begin(lane)

    def _read_ahead(self, first: int, *, held: int) -> None:
        """Begin what the windows reach from part `first` on, which the consumer has not yet.

        `held`: 1 if it holds the part before and has not asked for `first`.
        """
        reaches = [first + window.size - held for window in self._windows]
        for number in range(min(self._next), max(reaches) + 1):
            try:
                pending = self._take(number)
            except Exception:
                if number == first and not held:
                    raise
                return  # parts before it are handed out
            if pending is None:
                return
            for lane, reach in enumerate(reaches):
                if self._next[lane] != number or number > reach:
                    continue
                cost = self._bytes(pending.part) * self._lanes[lane].share
                if self._held_bytes + cost > self._memory_limit and number >= first + 1 - held:
                    self._cut_windows(number - first - 1 + held)
                    return
                self._begin(lane)

    def _begin(self, lane: int) -> None:
        number = self._next[lane]
        pending = self._pending[number]
        if self._executor is None and not pending.file.is_local:
            self._executor = ThreadPoolExecutor(self._fetchers, thread_name_prefix="pqlab-stream")
        pending.units[lane] = pending.file.begin(pending.part, lane, self._executor)
        self._next[lane] += 1
        self._held_bytes += self._bytes(pending.part) * self._lanes[lane].share

    def _take(self, number: int) -> _Pending | None:
        """The part with this number; None: there are not so many."""
        while self._numbered <= number:
            if self._broken is not None:
                raise self._broken
            try:
                part = next(self._parts, None)
                file = None if part is None else self._file(part)
            except Exception as error:
                self._broken = error
                raise
            if part is None or file is None:
                return None
            self._pending[self._numbered] = _Pending(part, file, [None] * len(self._lanes))
            self._numbered += 1
            self._newest_file = part.file
        return self._pending[number]

    def _file(self, part: Part) -> FileParts:
        """Its file, opened if this is the first part of it."""
        file = self._files.get(part.file)
        if file is None:
            file = self._files[part.file] = self._open_file(part.file)
            for lane in range(len(self._lanes)):
                self._record_window(lane, file)
        return file

    def _forget_files(self) -> None:
        """Those of which all was handed out; of the last that was begun there may be more."""
        needed = {self._newest_file, *(pending.part.file for pending in self._pending.values())}
        for file in self._files.keys() - needed:
            self._files.pop(file).ended()

    def _bytes(self, part: Part) -> float:
        return part.decoded_bytes * self._cost

    def _note(self, asked_ns: int, found: list[Prefetch], pending: _Pending) -> None:
        """Let the windows follow what the consumer found; it is recorded with `handed_out`."""
        now_ns = time.perf_counter_ns()
        lateness = [
            0 if unit is None else max(min(unit.done_ns, now_ns) - asked_ns, 0)
            for unit in pending.units
        ]
        if self._adaptive:
            self._adapt(asked_ns, now_ns, found, lateness, pending)
        if pending.file.recording is None:
            return
        last = max(range(len(lateness)), key=lateness.__getitem__, default=0)
        is_miss = bool(lateness) and lateness[last] > 0 and found[last] is not Prefetch.READY
        self._to_record = partial(
            pending.file.recording.asked,
            asked_ns,
            found[last] if is_miss else Prefetch.READY,
            row_groups=[segment.row_group for segment in pending.part.segments],
            leaf=pending.file.lanes[last][0] if is_miss else -1,
        )

    def handed_out(self) -> None:
        """What the consumer asked for is assembled: its wait ends, and is recorded."""
        if self._to_record is not None:
            self._to_record()
            self._to_record = None

    def _adapt(
        self,
        asked_ns: int,
        now_ns: int,
        found: list[Prefetch],
        lateness: list[int],
        pending: _Pending,
    ) -> None:
        threads, busy_ns = _native.pool_usage()
        before, self._before = self._before, (now_ns, busy_ns)
        since_ns = now_ns - (asked_ns if before is None else before[0])
        workers = max(min(threads, self._team.workers), 1)
        busy = 0.0 if before is None else (busy_ns - before[1]) / max(since_ns * workers, 1)
        own_ns = since_ns - max(lateness)
        asked = [
            Asked(
                found[lane],
                lateness[lane],
                since_ns,
                own_ns,
                self._ready_ahead(lane),
                busy,
                self._latency_ns(lane, pending),
            )
            for lane in range(len(self._windows))
        ]
        if before is None and any(each.latency_ns for each in asked):
            self._first = (asked_ns, asked, pending.file)
        else:
            self._follow(asked, pending.file)

    def _adapt_to_first(self, asked_ns: int) -> None:
        """What the consumer takes for itself shows when it asks for the second time."""
        if self._first is not None:
            first_ns, asked, file = self._first
            self._first = None
            since_ns = asked_ns - first_ns
            own_ns = since_ns - max(each.stall_ns for each in asked)
            self._follow([each._replace(since_ns=since_ns, own_ns=own_ns) for each in asked], file)

    def _follow(self, asked: Sequence[Asked], file: FileParts) -> None:
        for lane, each in enumerate(asked):
            self._set_window(lane, after(self._windows[lane], each), file)

    def _latency_ns(self, lane: int, pending: _Pending) -> int:
        """The shortest that a unit of the lane took to be fetched; 0: native code fetches.

        Others that are in flight make a unit take longer, which is not to have more in flight.
        """
        unit = pending.units[lane]
        if unit is not None and unit.fetch_ns:
            least = self._latencies_ns[lane]
            self._latencies_ns[lane] = min(least, unit.fetch_ns) if least else unit.fetch_ns
        return self._latencies_ns[lane]

    def _ready_ahead(self, lane: int) -> int:
        ahead = 0
        for number in range(self._asked + 1, self._next[lane]):
            unit = self._pending[number].units[lane]
            if unit is not None and not unit.done:
                break
            ahead += 1
        return ahead

    def _cut_windows(self, size: int) -> None:
        if self._adaptive:
            file = self._pending[min(self._pending)].file
            for lane, window in enumerate(self._windows):
                self._set_window(lane, short_of_memory(window, size), file)

    def _set_window(self, lane: int, window: Window, file: FileParts) -> None:
        changed = window.size != self._windows[lane].size
        self._windows[lane] = window
        if changed:
            self._record_window(lane, file)

    def _record_window(self, lane: int, file: FileParts) -> None:
        if file.recording is not None and file.lanes[lane]:
            window = self._windows[lane]
            pages = round(window.size * self._lanes[lane].pages)
            file.recording.window(file.lanes[lane][0], pages, window.why)


def free_memory_share() -> int:
    """Bytes: the part of the free memory that an iteration takes unless it is told otherwise."""
    return available_memory() // _FREE_SHARE


def available_memory() -> int:
    """Bytes that can be had without swapping, as far as the system tells."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123  # a device, in effect
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
