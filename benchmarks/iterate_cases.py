"""Workloads of an iteration: who reads what, from where, and takes how long for each frame."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import pqlab
from benchmarks import iterate_files
from pqlab.io.local import FileSource
from pqlab.io.source import Bytes, Transfer
from pqlab.plan.policy import IOPolicy

PREFETCH = (0, 1, 2, 4, 8, "adaptive")
LATENCY_S = 0.02

Consumer = Callable[[Iterator[pl.DataFrame]], None]


class Distant(FileSource):
    """A file whose every request takes 20 ms before its first byte comes."""

    policy = IOPolicy.measured(LATENCY_S, 500e6)

    def native_file(self) -> None:
        """None: native code does not read it by itself."""

    def _fill(self, start: int, buffer: Bytes) -> Transfer:
        time.sleep(LATENCY_S)
        return super()._fill(start, buffer)


@dataclass(frozen=True)
class Case:
    """`source` with columns and row groups of it; `consume` takes the frames."""

    about: str
    source: Callable[[], Any]
    columns: Any
    consume: Consumer
    row_groups: int = 16

    def run(self, prefetch: Any, trace: pqlab.Trace | None = None) -> None:
        """Read it once."""
        with pqlab.open(self.source()) as file:
            selection = file.select(self.columns, row_groups=slice(self.row_groups))
            with selection.iter_row_groups(prefetch=prefetch, trace=trace) as frames:
                self.consume(frames)


def takes(seconds: float) -> Consumer:
    """A consumer that takes so long for each frame, without using a processor."""

    def consume(frames: Iterator[pl.DataFrame]) -> None:
        for _ in frames:
            time.sleep(seconds)

    return consume


def in_bursts(count: int, pause_s: float) -> Consumer:
    """A consumer that takes so many frames as fast as it can, and then does something else."""

    def consume(frames: Iterator[pl.DataFrame]) -> None:
        for number, _ in enumerate(frames, 1):
            if number % count == 0:
                time.sleep(pause_s)

    return consume


def first_frame(frames: Iterator[pl.DataFrame]) -> None:
    """A consumer that looks at the first frame and leaves."""
    for _ in islice(frames, 1):
        pass


def computes(frames: Iterator[pl.DataFrame]) -> None:
    """A consumer that sorts a column of each frame by itself: on one processor."""
    for frame in frames:
        np.sort(frame["l_orderkey"].to_numpy())


def cases() -> list[Case]:
    """The set in which no single fixed window is to be best everywhere."""
    slow, lineitem = str(iterate_files.slow_column()), str(iterate_files.lineitem())
    narrow = ["l_orderkey", "l_extendedprice"]
    return [
        Case("one slow column among fast ones", lambda: slow, None, takes(0.001)),
        Case("20 ms a request", lambda: Distant(slow), ["number_0", "text"], takes(0.001)),
        Case(
            "20 ms a request, frames taken in bursts of 8",
            lambda: Distant(slow),
            ["number_0", "number_1"],
            in_bursts(8, 0.06),
        ),
        Case("frames in bursts of 5", lambda: lineitem, narrow, in_bursts(5, 0.05), 10),
        Case("a consumer that computes", lambda: lineitem, narrow, computes, 8),
        Case("only the first frame", lambda: lineitem, None, first_frame),
    ]


def waited_s(case: Case, prefetch: Any) -> tuple[float, pqlab.Trace]:
    """What the consumer waited for frames by its own watch, and the trace of the same run."""
    waited_ns = 0
    trace = pqlab.Trace()

    def timed(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        nonlocal waited_ns
        while True:
            start_ns = time.perf_counter_ns()
            frame = next(frames, None)
            waited_ns += time.perf_counter_ns() - start_ns
            if frame is None:
                return
            yield frame

    observed = Case(
        case.about,
        case.source,
        case.columns,
        lambda frames: case.consume(timed(frames)),
        case.row_groups,
    )
    observed.run(prefetch, trace)
    return waited_ns / 1e9, trace


PEAK = """
import resource, sys
import pqlab

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))

path, columns, groups = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3])
with pqlab.open(path) as file:
    selection = file.select(columns, row_groups=slice(groups))
    one = file.read(columns, row_groups=0)
    size = one.estimated_size()
    del one
    start, halves, high = status("VmRSS"), [], 0
    for number, frame in enumerate(selection.iter_row_groups()):
        high = max(high, status("VmRSS"))
        if number + 1 in (groups // 2, groups):
            halves.append(high)
            high = 0
print(size, start, *halves, status("VmHWM"), pqlab.memory().high_water_bytes)
"""


def lineitem_path() -> Path:
    """The large file."""
    return iterate_files.lineitem()
