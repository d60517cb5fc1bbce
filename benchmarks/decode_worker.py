"""What `benchmarks.decode` runs in processes of its own; each prints JSON.

    python -m benchmarks.decode_worker series ROW [--rounds N] [--release] [--compared] [--quick]
    python -m benchmarks.decode_worker first ROW --side SIDE --way WAY [--quick]
    python -m benchmarks.decode_worker peak ROW --side SIDE --way WAY [--quick]

The allocators' settings are the environment's; `benchmarks.decode` sets it. `--release`: pqlab's
pool is emptied before each run. `--compared`: results were compared before.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import mmap
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.decode_files import path_of
from benchmarks.decode_rows import ROWS, Row
from benchmarks.decode_sides import PEERS, Ways, as_arrow, check_equal, kept_metadata, ways
from benchmarks.timing import ROUNDS, interleave, run

if TYPE_CHECKING:
    import pyarrow as pa

TRIES = 3  # of each way that may be the fastest of its side
CLOSE = 1.3  # a way that takes so many times as long as another, tried once, is not
SLOW = 2.0  # a peer that takes so many times as long as the fastest is tried, not measured
TRACED = "pqlab, traced"


def series(
    row: Row, path: Path, rounds: int, *, release: bool, compared: bool, quick: bool
) -> dict[str, Any]:
    """Compare results, find each peer's fastest way, measure."""
    import pqlab

    ours = next(iter(ways("pqlab", row, path).values()))
    result = None if compared else ours()
    works = {peer: ways(peer, row, path) for peer in PEERS}
    for peer, ways_of_peer in works.items():
        theirs = next(iter(ways_of_peer.values()))()  # warms the peer up, too
        if result is not None:
            check_equal(result, theirs, peer)
        del theirs
    del result
    once = {
        peer: {name: run(way).wall_ms for name, way in ways_of_peer.items()}
        for peer, ways_of_peer in works.items()
    }
    most = SLOW * min(min(times.values()) for times in once.values())
    tried = {peer: fastest_of(works[peer], times, most) for peer, times in once.items()}
    measured: dict[str, Callable[[], object]] = {
        "pqlab": ours,
        **{peer: works[peer][way] for peer, (ms, way) in tried.items() if ms <= most},
    }
    if not row.sums:
        measured[TRACED] = lambda: _traced(row, path)
        measured |= kept_metadata(row, path, {"pyarrow"} & measured.keys())

    def before_each() -> None:
        gc.collect()
        if release:
            pqlab.memory(release=True)

    found = interleave(measured, rounds=rounds, tries=1 if quick else 2, before_each=before_each)
    return {
        "samples": {name: [asdict(s) for s in samples] for name, samples in found.samples.items()},
        "spin": found.spin,
        "tried": tried,
        "floor": floor(row, path),
    }


def fastest_of(works: Ways, once: dict[str, float], most: float) -> tuple[float, str]:
    """The least time in ms of a peer's fastest way, and its name.

    `once`: what each way took once; those that took no more than `most` are tried again.
    """
    again = [name for name, taken in once.items() if taken <= min(most, CLOSE * min(once.values()))]
    times = once | {
        name: min(once[name], *(run(works[name]).wall_ms for _ in range(TRIES - 1)))
        for name in again
    }
    return min((taken, name) for name, taken in times.items())


def _traced(row: Row, path: Path) -> Any:
    import pqlab

    trace = pqlab.Trace()
    file = pqlab.open(path, cache=None)
    if not row.sums:
        return trace, file.read(_columns(row), trace=trace)
    with file.iter_row_groups(_columns(row), trace=trace) as frames:
        return trace, [frame.sum() for frame in frames]


def _columns(row: Row) -> list[str] | None:
    return None if row.columns is None else list(row.columns)


def floor(row: Row, path: Path) -> dict[str, Any]:
    """What no reader can be faster than, in ms: writing the output, and decompressing alone.

    Memory is written by all cores at once, at memcpy's speed, from a source that stays in a cache;
    sums write none. Decompression is what the trace says of it, over the number of workers.
    """
    import polars as pl

    import pqlab

    workers = len(os.sched_getaffinity(0))
    size, writes = 0, [0.0]
    if not row.sums:
        table = pqlab.open(path, cache=None).select(_columns(row)).to_arrow()
        size = sum(_output_bytes(column) for column in table)
        del table
        writes = [
            median(_write(size // workers, workers, huge=huge) for _ in range(5))
            for huge in (False, True)
        ]
    stages: list[dict[str, float]] = []
    for _ in range(3):
        trace, _frame = _traced(row, path)
        sums = trace.to_frame().group_by("stage").agg(pl.col("duration_ns").sum())
        stages.append({stage: ns / 1e6 for stage, ns in sums.iter_rows()})
    middle = sorted(stages, key=lambda found: sum(found.values()))[1]
    return {
        "output_bytes": size,
        "write_ms": min(writes),
        "decompress_ms": middle.get("decompress", 0.0) / workers,
        "stages_ms": middle,
    }


def _output_bytes(column: pa.ChunkedArray) -> int:
    """Bytes of values, validity and offsets; text that views point at is the page's own."""
    return sum(_array_bytes(chunk) for chunk in column.chunks)


def _array_bytes(array: pa.Array) -> int:
    import pyarrow as pa

    kind = array.type
    if kind in (pa.string_view(), pa.binary_view()):
        return int(sum(buffer.size for buffer in array.buffers()[:2] if buffer is not None))
    if pa.types.is_nested(kind):
        own = array.buffers()[: 2 if not pa.types.is_struct(kind) else 1]
        sizes = sum(buffer.size for buffer in own if buffer is not None)
        if pa.types.is_struct(kind):
            return sizes + sum(_array_bytes(array.field(at)) for at in range(kind.num_fields))
        return int(sizes + _array_bytes(array.values))
    return int(sum(buffer.size for buffer in array.buffers() if buffer is not None))


def _write(size: int, workers: int, *, huge: bool) -> float:
    """Wall time in ms of writing so many bytes per worker, into memory as a reader would get it.

    It comes from the C library, or `huge`: from the kernel in huge pages. It is given back.
    """
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.restype, libc.free.argtypes = None, [ctypes.c_void_p]
    step = 1 << 20
    source = bytes(step)

    def fill(output: int) -> None:
        for start in range(0, size, step):
            ctypes.memmove(output + start, source, min(step, size - start))

    def taken(outputs: list[int]) -> float:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda _: time.sleep(0.001), range(workers)))
            start_ns = time.perf_counter_ns()
            list(pool.map(fill, outputs))
            return (time.perf_counter_ns() - start_ns) / 1e6

    if not huge:
        outputs = [libc.malloc(size + step) for _ in range(workers)]
        found = taken(outputs)
        for output in outputs:
            libc.free(output)
        return found
    maps = [mmap.mmap(-1, size + step, flags=mmap.MAP_PRIVATE) for _ in range(workers)]
    for each in maps:
        each.madvise(mmap.MADV_HUGEPAGE)
    views = [ctypes.c_char.from_buffer(each) for each in maps]
    found = taken([ctypes.addressof(view) for view in views])
    del views
    for each in maps:
        each.close()
    return found


def first(row: Row, path: Path, side: str, way: str) -> dict[str, Any]:
    """What the first call takes."""
    return asdict(run(ways(side, row, path)[way]))


def peak(row: Row, path: Path, side: str, way: str) -> dict[str, int]:
    """How far resident memory rises in the first call; what the frame takes; what is fetched."""
    import pqlab

    fetched = pqlab.open(path, cache=None).select(_columns(row)).plan().wanted_bytes
    work = ways(side, row, path)[way]
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the high-water mark
    result = work()
    rise = _status("VmHWM") - before
    frame_bytes = as_arrow(result).get_total_buffer_size()
    return {"rise": rise, "frame": frame_bytes, "fetched": fetched}


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    raise OSError(f"/proc/self/status has no {name}")


def main() -> None:
    """Run what the arguments say and print its result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("series", "first", "peak"))
    parser.add_argument("row", choices=[row.name for row in ROWS])
    parser.add_argument("--side", default="pqlab")
    parser.add_argument("--way", default="")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--release", action="store_true")
    parser.add_argument("--compared", action="store_true")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    row = next(row for row in ROWS if row.name == arguments.row)
    path = path_of(row.file, quick=arguments.quick)
    made: Any
    if arguments.what == "series":
        made = series(
            row,
            path,
            arguments.rounds,
            release=arguments.release,
            compared=arguments.compared,
            quick=arguments.quick,
        )
    else:
        made = {"first": first, "peak": peak}[arguments.what](
            row, path, arguments.side, arguments.way
        )
    print(json.dumps(made))


if __name__ == "__main__":
    main()
