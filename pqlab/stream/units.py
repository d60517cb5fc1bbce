"""Units: what is read of one lane for one part, under way."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from pqlab.cpu import engine
from pqlab.cpu.engine import FetchedBytes, LocalBytes, Reading, Team
from pqlab.errors import PqlabError
from pqlab.gpu.reading import DeviceReading
from pqlab.gpu.stacked import Stacked
from pqlab.io.fetch import fetch
from pqlab.io.pages import learn_pages
from pqlab.io.waiting import result_of, wait_for
from pqlab.native._native import Decoded
from pqlab.plan.build import build, part as cut_plan, whole_row_groups
from pqlab.plan.plan import Plan
from pqlab.plan.ranges import Ranges
from pqlab.plan.selection import Narrowed
from pqlab.stream.options import Decode
from pqlab.stream.parts import Part
from pqlab.trace import Recording, Stage
from pqlab.trace.recorder import timed

if TYPE_CHECKING:
    from pqlab.gpu.device import Device
    from pqlab.reader import ParquetFile

_Reading: TypeAlias = Reading | DeviceReading
_MOST_PLANNED = 100_000  # chunks of a file that are planned at once: about 10 ms


class Unit:
    """Under way from the moment it is made: natively, or once a thread has fetched its bytes."""

    def __init__(self, begin: Callable[[], _Reading], executor: ThreadPoolExecutor | None) -> None:
        """`executor`: whose threads call `begin`; None: it does not wait for anything."""
        self._lock = threading.Lock()
        self._cancelled = False
        self._reading: _Reading | None = None
        self._failed_ns = 0
        self._begun_ns = time.perf_counter_ns()
        self.fetch_ns = (
            0  # what a thread took for its bytes, and until it had the time; 0: none did
        )
        self._future: Future[None] | None = None
        self._error: Exception | None = None
        if executor is None:
            self._begin(begin)
        else:
            self._future = executor.submit(self._fetched, begin)

    @property
    def done(self) -> bool:
        """Whether its result, or what ended it, is there."""
        if self._reading is not None:
            return self._reading.job.done
        return self._error is not None or (self._future is not None and self._future.done())

    @property
    def done_ns(self) -> int:
        """When it was done, of `time.perf_counter_ns`; 0: it is not."""
        return self._reading.job.done_ns if self._reading is not None else self._failed_ns

    def wait(self) -> None:
        """Wait for it, whatever comes of it; a signal's exception ends that."""
        if self._future is not None:
            wait_for(self._future)
        while self._reading is not None and not self._reading.job.wait(1 << 62):
            pass

    def wait_until(self, until: float) -> bool:
        """Wait, at most until that time of `time.monotonic`; whether it is done."""
        if self._future is not None:
            wait_for(self._future, until)
        if self._reading is not None:
            self._reading.job.wait(max(int((until - time.monotonic()) * 1e9), 0))
        return self.done

    def urge(self) -> None:
        """Have it served before all others."""
        if self._reading is not None:
            self._reading.job.urge()

    def cancel(self) -> None:
        """Take up nothing more of it."""
        with self._lock:
            self._cancelled = True
            if self._reading is not None:
                self._reading.job.cancel()
        if self._future is not None:
            self._future.cancel()

    def progress(self) -> tuple[int, int, int]:
        """Pages that are done, pages that there are (0: unknown), bytes of those that are done."""
        return self._reading.job.progress if self._reading is not None else (0, 0, 0)

    def result(self) -> Decoded:
        """Wait, and take the columns, once. Raises what ended it early."""
        if self._future is not None:
            result_of(self._future)
        if self._error is not None:
            raise self._error
        assert self._reading is not None
        return self._reading.result()

    def _begin(self, begin: Callable[[], _Reading]) -> None:
        # What is wrong here is told when its result is asked for: what comes before it is good.
        try:
            self._reading = begin()
        except Exception as error:  # noqa: BLE001  # raised by `result`
            self._error, self._failed_ns = error, time.perf_counter_ns()

    def _fetched(self, begin: Callable[[], _Reading]) -> None:
        if self._cancelled:
            return
        try:
            reading = begin()
        except BaseException:
            self._failed_ns = time.perf_counter_ns()
            raise
        self.fetch_ns = time.perf_counter_ns() - self._begun_ns
        with self._lock:
            self._reading = reading
        self._cancel_late(reading)

    def _cancel_late(self, reading: _Reading) -> None:
        # It may have been cancelled while its bytes were fetched.
        if self._cancelled:
            reading.job.cancel()


class FileParts:
    """A file from which parts are read. `lanes`: the leaves of each, in the order of the result."""

    def __init__(
        self,
        file: ParquetFile,
        lanes: Sequence[tuple[int, ...]],
        team: Team,
        options: engine.Options,
        recording: Recording | None,
        *,
        device: Device | None = None,
        stays: bool = False,
        device_memory_limit: int | None = None,
    ) -> None:
        """`device`: what decodes instead of the team's threads; `stays`: frames stay on it."""
        self._stays, self._device_memory_limit = stays, device_memory_limit
        self.file, self.lanes, self.recording = file, lanes, recording
        self._team, self._options, self._device = team, options, device
        # A device is given bytes: native code reads no file for it.
        self._local = file.source.native_file() if device is None else None
        self._reads: dict[tuple[int, ...], engine.PlannedRead | None] = {}  # by their leaves

    @property
    def is_local(self) -> bool:
        """Whether native code reads the file by itself."""
        return self._local is not None

    def ended(self) -> None:
        """Nothing more is read: the recorded read ends."""
        if self.recording is not None:
            self.recording.ended()

    def failed(self, error: BaseException) -> None:
        """The recorded read ends with an error."""
        if self.recording is not None:
            self.recording.failed(error)

    def begin(self, part: Part, lane: int, executor: ThreadPoolExecutor | None) -> Unit | None:
        """Begin to read a lane of a part; None where the file has nothing of the lane."""
        if not self.lanes[lane]:
            return None
        leaves = self.lanes[lane]
        return Unit(lambda: self._begin(part, leaves), None if self.is_local else executor)

    def _begin(self, part: Part, leaves: tuple[int, ...]) -> _Reading:
        numbers = part.row_groups
        if part.decoded_bytes > self.file.limits.read_bytes:
            numbers = None
        with timed(self.recording, Stage.PLAN):
            read = self._whole_read(leaves) if numbers is not None else None
            if numbers is not None and read is not None:
                return read.begin(numbers.start, numbers.stop)
            whole = self._whole(leaves) if numbers is not None else None
            if numbers is not None and whole is not None:
                plan = cut_plan(whole, numbers.start, numbers.stop, self.file.io)
            else:
                plan = self._own_plan(part, leaves)
        return self.begin_plan(plan)

    def _whole_read(self, leaves: tuple[int, ...]) -> engine.PlannedRead | None:
        """All row groups, to be begun part by part; None: native code does not fetch them."""
        if self._local is None:
            return None
        if leaves not in self._reads:
            plan = self._whole(leaves)
            self._reads[leaves] = None if plan is None else self._planned(plan, self._bytes(plan))
        return self._reads[leaves]

    def _whole(self, leaves: tuple[int, ...]) -> Plan | None:
        """The plan of all row groups; None: they are many, or a chunk may not be read at all."""
        file = self.file
        if file.metadata.num_row_groups * len(leaves) > _MOST_PLANNED:
            return None

        def plan() -> Plan | bool:
            try:
                return whole_row_groups(file.metadata, leaves, file.io, file=file.name)
            except PqlabError:
                return False

        found = file.metadata.kept(("whole row groups", leaves, file.io, file.name), plan)
        return found if isinstance(found, Plan) else None

    def _own_plan(self, part: Part, leaves: tuple[int, ...]) -> Plan:
        in_parts = any(segment.in_parts for segment in part.segments)
        return self._plan_of(part.rows, leaves, in_parts=in_parts)

    def _plan_of(
        self, rows: dict[int, Ranges], leaves: tuple[int, ...], *, in_parts: bool = True
    ) -> Plan:
        file = self.file
        narrowed = Narrowed(leaves, rows, {}, frozenset())
        pages = learn_pages(file.page_store, file.metadata, narrowed, file.io, in_parts=in_parts)
        plan = build(file.metadata, narrowed, pages, file.io, file=file.name, limits=file.limits)
        size = plan.memory_high_bytes
        file.limits.check("read_bytes", size, "what is decoded", file=file.name)
        return plan

    def begin_plan(
        self, plan: Plan, fetched: FetchedBytes | None = None, *, here: bool = False
    ) -> _Reading:
        """Begin to read what is planned; bytes that native code does not fetch are fetched here.

        `fetched`: the bytes, if they are there. `here`: what is small is done at once, by the
        calling thread.
        """
        found = self._bytes(plan) if fetched is None else fetched
        if self._device is not None and not isinstance(found, LocalBytes):
            return self._on_device(plan, found, self._device)
        return self._planned(plan, found).begin(0, len(plan.tables.row_groups), here=here)

    def _planned(self, plan: Plan, found: FetchedBytes | LocalBytes) -> engine.PlannedRead:
        return engine.planned(plan, self.file.metadata, found, self._team, **self._options)

    def _on_device(self, plan: Plan, found: FetchedBytes, device: Device) -> DeviceReading:
        from pqlab.gpu.engine import read, read_frame
        from pqlab.gpu.joining import join
        from pqlab.gpu.splitting import read_in_parts

        given = self._options

        def parts(decode: Callable[..., Any]) -> list[Any]:
            return read_in_parts(
                plan,
                lambda part: decode(
                    part,
                    self.file.metadata,
                    found,
                    device,
                    workers=self._team.workers,
                    verify_checksums=given.get("verify_checksums", False),
                    invalid_utf8=given.get("invalid_utf8", "error"),
                    int96_unit=given.get("int96_unit", "ns"),
                    strings=given.get("strings", "string"),
                    for_polars=given.get("for_polars", False),
                    limits=given.get("limits", self.file.limits),
                    device_memory_limit=self._device_memory_limit,
                ),
                lambda rows: self._plan_of(rows, plan.leaves),
            )

        def in_host_memory() -> Decoded | Stacked:
            made = parts(read)
            return made[0] if len(made) == 1 else Stacked(made)

        with timed(self.recording, Stage.DECODE if device.is_emulated else Stage.KERNEL):
            return DeviceReading(
                lambda: join(parts(read_frame)) if self._stays else in_host_memory()
            )

    def _bytes(self, plan: Plan) -> FetchedBytes | LocalBytes:
        if self._local is None:
            file = self.file
            return fetch(file.source, plan.requests, plan.tables, file.io, self.recording)
        return LocalBytes(self._local, self.file.io)

    def in_order(self, plans: Sequence[Plan]) -> Iterator[Decoded]:
        """What is read of each plan; the next one is begun before one is waited for."""
        begun: deque[_Reading] = deque()
        for number, plan in enumerate(plans):
            begun.append(self.begin_plan(plan, here=len(plans) == 1))
            if number:
                yield self._checked(begun.popleft())
        yield self._checked(begun.popleft())

    def _checked(self, reading: _Reading) -> Decoded:
        try:
            return reading.result()
        finally:
            self.file.source.check_unchanged()

    def decoded(self, units: Sequence[Unit | None]) -> list[Decoded]:
        """The columns of a part, lane by lane. Raises what ended one early.

        `SourceChangedError` if the file changed before all bytes were there.
        """
        try:
            return [unit.result() for unit in units if unit is not None]
        finally:
            if self.is_local:
                # Also where a page is corrupt: this explains what else looks like it.
                self.file.source.check_unchanged()


def file_parts(
    file: ParquetFile,
    lanes: Sequence[tuple[int, ...]],
    team: Team,
    recording: Recording | None,
    options: Decode,
    *,
    device: Device | None,
    for_polars: bool,
    memory_limit: int | None = None,
) -> FileParts:
    """The file, with what was said of it when it was opened; `memory_limit`: of each part."""
    given: engine.Options = {
        "int96_unit": options.int96_unit,
        "invalid_utf8": options.invalid_utf8,
        "strings": options.strings,
        "for_polars": for_polars,
        "verify_checksums": file.verify_checksums,
        "limits": file.limits if memory_limit is None else file.limits.within(memory_limit),
        "recorder": recording.add_native if recording is not None else None,
    }
    return FileParts(
        file,
        lanes,
        team,
        given,
        recording,
        device=device,
        stays=options.stays,
        device_memory_limit=options.device_memory_limit,
    )


def begin_all(
    file: FileParts, plans: Sequence[Plan]
) -> tuple[list[Unit], ThreadPoolExecutor | None]:
    """A unit for each plan, served in order, and whose thread fetches where native code does not.

    That thread is one plan ahead of decoding, at most.
    """
    if file.is_local:
        return [Unit(partial(file.begin_plan, plan), None) for plan in plans], None
    executor = ThreadPoolExecutor(1, thread_name_prefix="pqlab-submit")
    units: list[Unit] = []
    for number, plan in enumerate(plans):
        before = units[number - 1] if number else None
        units.append(Unit(partial(_begin_behind, file, plan, before), executor))
    executor.shutdown(wait=False)  # its thread ends once all is fetched
    return units, executor


def _begin_behind(file: FileParts, plan: Plan, before: Unit | None) -> _Reading:
    reading = file.begin_plan(plan)
    if before is not None:
        before.wait()
    return reading
