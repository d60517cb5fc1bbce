"""Prefetch misses made on purpose, and what the trace says of them; bounds of time and memory."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from streams import Slow, parquet, table_of

import pqlab

GROUPS = 12
DATA = parquet(table_of(GROUPS * 2_000).select(["row", "number"]), 2_000)
# Row groups are parts of their own: what is smaller is read together.
APART = 80_000


def iterate(source: Any, trace: pqlab.Trace, **options: Any) -> Any:
    return pqlab.open(source).iter_row_groups(trace=trace, memory_limit=APART, **options)


def test_without_prefetch_every_ask_finds_the_queue_empty() -> None:
    trace, slow = pqlab.Trace(), Slow(DATA, 0.005)
    assert len(list(iterate(slow, trace, prefetch=0))) == GROUPS
    misses = trace.prefetch_misses()
    assert set(misses["kind"]) == {"queue_empty"}
    assert misses.height >= GROUPS
    assert misses["stall_ns"].min() >= 5_000_000  # type: ignore[operator]


def test_what_is_in_flight_is_late() -> None:
    trace, slow = pqlab.Trace(), Slow(DATA, 0.03)
    frames = iterate(slow, trace, prefetch=1)
    for _ in range(6):
        next(frames)
    frames.close()
    kinds = trace.prefetch_misses()["kind"].to_list()
    assert kinds[0] == "queue_empty"  # nothing could be begun before the first ask
    assert set(kinds[1:]) == {"late"}


def test_what_is_ready_is_no_miss() -> None:
    trace = pqlab.Trace()
    frames = iterate(DATA, trace, prefetch=4)
    next(frames)
    first = trace.prefetch_misses().height
    for _ in range(5):
        time.sleep(0.1)
        next(frames)
    frames.close()
    assert trace.prefetch_misses().height == first
    waits = trace.to_frame().filter(pl.col("stage") == "wait")
    assert waits["prefetch"][0] == "queue_empty"
    assert waits["prefetch"].to_list().count("ready") >= 5


def test_stalls_are_what_the_consumer_waited() -> None:
    trace, slow = pqlab.Trace(), Slow(DATA, 0.05)
    frames = iterate(slow, trace, prefetch=1)
    waited_ns = 0
    for _ in range(GROUPS):
        begun = time.perf_counter_ns()
        next(frames)
        waited_ns += time.perf_counter_ns() - begun
        time.sleep(0.005)
    stalled_ns = trace.prefetch_misses()["stall_ns"].sum()
    assert 0 <= waited_ns - stalled_ns < 0.05 * waited_ns


def test_planning_and_assembling_are_part_of_a_stall(large: Path) -> None:
    trace = pqlab.Trace()
    frames = pqlab.open(large).iter_row_groups(trace=trace, prefetch=0)
    waited_ns = 0
    for _ in range(64):
        begun = time.perf_counter_ns()
        next(frames)
        waited_ns += time.perf_counter_ns() - begun
    assert trace.reads().height == 1  # also where nothing is in flight in between
    stalled_ns = trace.prefetch_misses()["stall_ns"].sum()
    assert 0 <= waited_ns - stalled_ns < 0.05 * waited_ns


def test_windows_grow_until_latency_is_hidden() -> None:
    # Row groups of 4.8 MB are parts of their own; of a constant they take no time to decode.
    part, sink = pa.table({"x": np.zeros(600_000)}), io.BytesIO()
    with pq.ParquetWriter(sink, part.schema) as writer:
        for _ in range(40):
            writer.write_table(part)
    trace = pqlab.Trace()
    source: Any = Slow(sink.getvalue(), 0.1)
    file = pqlab.open(source, io=pqlab.IOPolicy(concurrency=16))
    for frame in file.iter_row_groups(trace=trace):
        assert frame.height == 600_000
        time.sleep(0.02)
    windows = trace.windows()
    assert windows["why"][0] == "start"
    assert "late" in set(windows["why"])
    assert windows["window_pages"].max() >= 4 * windows["window_pages"][0]
    stalls = trace.prefetch_misses()["stall_ns"]
    assert stalls.sum() < 40 * 80_000_000 / 2  # what a window of one would cost


INTERRUPTED = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have set to ignore
sys.path.insert(0, {tests!r})
import polars  # handles signals, too: before that was set, its handler would be lost
import pqlab
from streams import Slow, parquet, table_of
data = parquet(table_of(2000), 100)
slow = Slow(data)
slows = [Slow(data), Slow(data)]
file, files = pqlab.open(slow), pqlab.open(slows)
files.info
begin = {begin}
with slow.hold(), slows[0].hold(), slows[1].hold():
    def interrupt():
        time.sleep(0.3)
        global sent
        sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt).start()
    try:
        begin()
    except KeyboardInterrupt:
        print(time.perf_counter() - sent)
        sys.stdout.flush()
        os._exit(0)
os._exit(1)
"""


@pytest.mark.parametrize(
    "begin",
    [
        "lambda: list(file.iter_row_groups())",
        "lambda: list(file.iter_batches(7, prefetch=0))",
        "lambda: file.submit().result()",
        "files.read",
        "lambda: list(files.iter_row_groups())",
        "lambda: files.submit().result()",
    ],
)
def test_an_interrupt_ends_a_wait_at_once(begin: str) -> None:
    program = INTERRUPTED.format(tests=str(Path(__file__).parent), begin=begin)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1  # about 0.1 on a machine that has time


BUSY = """
import os, signal, sys, threading, time
import pqlab
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have set to ignore
file = pqlab.open(sys.argv[1])
def interrupt():
    time.sleep(0.2)
    global sent
    sent = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    while True:
        for _ in file.iter_row_groups():
            pass
except KeyboardInterrupt:
    print(time.perf_counter() - sent)
"""


def test_an_interrupt_ends_a_busy_iteration(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    path.write_bytes(parquet(table_of(40_000), 10_000))
    done = subprocess.run(
        [sys.executable, "-c", BUSY, path], capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1


PEAK = """
import sys
import pqlab
def peak():
    with open("/proc/self/status") as lines:
        return int([line for line in lines if line.startswith("VmHWM")][0].split()[1]) << 10
file = pqlab.open(sys.argv[1])
options = eval(sys.argv[2])
frame = file.read(row_groups=0)
del frame
before, peaks = peak(), []
for frame in (file.iter_batches if "rows" in options else file.iter_row_groups)(**options):
    peaks.append(peak() - before)
print(peaks[len(peaks) // 4], peaks[-1])
"""


def peaks(path: Path, options: str) -> tuple[int, int]:
    done = subprocess.run(
        [sys.executable, "-c", PEAK, path, options],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    early, late = done.stdout.split()
    return int(early), int(late)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """64 row groups of 4 MB."""
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    numbers = np.arange(125_000, dtype=np.int64)
    part = pa.table({f"c{at}": numbers * (at + 1) for at in range(4)})
    options = {"use_dictionary": False, "compression": "NONE"}
    with pq.ParquetWriter(path, part.schema, **options) as writer:
        for _ in range(64):
            writer.write_table(part)
    return path


@pytest.mark.memory
@pytest.mark.parametrize("options", ["{}", "{'prefetch': 1}"])
def test_memory_does_not_grow_with_the_number_of_row_groups(large: Path, options: str) -> None:
    _, last = peaks(large, options)
    # 256 MB in all; a row group takes 4 MB decoded and as much fetched.
    assert last < 60 << 20


@pytest.mark.memory
def test_the_memory_limit_is_kept_for_one_large_row_group(tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    path.write_bytes(parquet(table_of(300_000).select(["row", "list", "number"]), 300_000))
    limit = 4 << 20
    _, last = peaks(path, f"{{'rows': 10_000, 'memory_limit': {limit}}}")
    assert last < 4 * limit  # beside pages in flight, and what allocators keep


def test_a_fork_loses_what_is_under_way_and_nothing_else() -> None:
    frames = pqlab.open(DATA).iter_row_groups(prefetch=3, memory_limit=APART)
    next(frames)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            frames.close()
            again = pqlab.open(DATA).iter_row_groups()
            status = 0 if sum(frame.height for frame in again) == GROUPS * 2_000 else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert sum(frame.height for frame in frames) == (GROUPS - 1) * 2_000
