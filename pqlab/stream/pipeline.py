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
        self._next = [0] * len(lanes)  # of each lane, the part that is begun next
        self._asked = 0  # the part that the consumer asks for, or will
        self._held_bytes = 0.0
        self._before: tuple[int, int] | None = None  # when it asked last, busy_ns then
        self._alone: deque[Part] = deque()  # row groups of a part that failed, one by one
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
        self._forget_file(pending.part.file)
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
            if self._take(number) is None:
                return
            for lane, reach in enumerate(reaches):
                if self._next[lane] != number or number > reach:
                    continue
                part = self._pending[number].part
                cost = self._bytes(part) * self._lanes[lane].share
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
            part = next(self._parts, None)
            if part is None:
                return None
            file = self._files.get(part.file)
            if file is None:
                file = self._files[part.file] = self._open_file(part.file)
                for lane in range(len(self._lanes)):
                    self._record_window(lane, file)
            self._pending[self._numbered] = _Pending(part, file, [None] * len(self._lanes))
            self._numbered += 1
        return self._pending[number]

    def _forget_file(self, file: int) -> None:
        if all(pending.part.file != file for pending in self._pending.values()):
            self._files.pop(file).ended()

    def _bytes(self, part: Part) -> float:
        return part.decoded_bytes * self._cost

    def _note(self, asked_ns: int, found: list[Prefetch], pending: _Pending) -> None:
        """Let the windows follow what the consumer found, and record it."""
        now_ns = time.perf_counter_ns()
        stalls, last = self._stalls(asked_ns, now_ns, pending.units)
        if self._adaptive:
            self._adapt(now_ns, found, stalls, pending)
        recording = pending.file.recording
        if recording is None:
            return
        row_groups = [segment.row_group for segment in pending.part.segments]
        worst = Prefetch.READY if last is None else found[last]
        leaves = () if last is None else pending.file.lanes[last]
        leaf = leaves[0] if worst is not Prefetch.READY and leaves else -1
        recording.asked(asked_ns, worst, row_groups=row_groups, leaf=leaf)

    @staticmethod
    def _stalls(
        asked_ns: int, now_ns: int, units: Sequence[Unit | None]
    ) -> tuple[list[int], int | None]:
        """How long each lane kept the consumer waiting beyond those before, and which came last."""
        done_ns = [0 if unit is None else min(unit.done_ns, now_ns) for unit in units]
        stalls, reached, last = [0] * len(units), asked_ns, None
        for lane in sorted(range(len(units)), key=done_ns.__getitem__):
            if done_ns[lane] > reached:
                stalls[lane], reached, last = done_ns[lane] - reached, done_ns[lane], lane
        return stalls, last

    def _adapt(
        self,
        now_ns: int,
        found: list[Prefetch],
        stalls: list[int],
        pending: _Pending,
    ) -> None:
        threads, busy_ns = _native.pool_usage()
        before, self._before = self._before, (now_ns, busy_ns)
        if before is None:
            return  # nothing could be ready when the consumer asked first
        since_ns = max(now_ns - before[0], 1)
        workers = max(min(threads, self._team.workers), 1)
        busy = (busy_ns - before[1]) / (since_ns * workers)
        for lane, window in enumerate(self._windows):
            ahead = self._ready_ahead(lane)
            asked = Asked(found[lane], stalls[lane], since_ns, ahead, busy)
            self._set_window(lane, after(window, asked), pending.file)

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
