"""Reads random parts of random files for a long time, and shows what memory it took on the way.

`python tools/soak.py MINUTES [SEED]`, with PQLAB_CORPUS set to a folder of Parquet files. Prints a
line a minute, then whether the curve is flat: the last third takes no more than the one before it
and 3 %. Exits with 1 if it is not, or if anything but an error of pqlab's own was raised.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pqlab

FLAT = 1.03
LARGEST_BYTES = 1 << 20  # of a file
HELD = 8  # frames that live at a time
KEPT_BYTES = 256 << 20  # of what is freed, for what comes
LIMITS = pqlab.Limits(read_bytes=1 << 28)  # a few small files unfold to gigabytes


def resident_bytes() -> int:
    """What of the process is in memory."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def random_part(rng: random.Random, file: pqlab.ParquetFile) -> pqlab.FileSelection:
    """Some columns; some row groups or rows, or all."""
    info = file.info
    options: dict[str, Any] = {}
    if info.num_row_groups > 1 and rng.random() < 0.3:
        options["row_groups"] = rng.randrange(info.num_row_groups)
    elif info.num_rows > 1 and rng.random() < 0.5:
        start = rng.randrange(info.num_rows)
        options["rows"] = (start, rng.randrange(start, info.num_rows) + 1)
    leaves = list(range(info.num_columns))
    columns = sorted(rng.sample(leaves, min(len(leaves), rng.randrange(1, 13))))
    part: pqlab.FileSelection = file.select(columns, **options)
    return part


def read(part: pqlab.FileSelection) -> object:
    """A frame."""
    return part.read(workers=2)


def to_arrow(part: pqlab.FileSelection) -> object:
    """A table."""
    return part.to_arrow(workers=1)


def traced(part: pqlab.FileSelection) -> object:
    """A read's trace."""
    trace = pqlab.Trace()
    part.read(trace=trace)
    return trace.to_frame()


def iterated(part: pqlab.FileSelection) -> object:
    """Frames, one after the other."""
    return sum(frame.height for frame in part.iter_batches(500))


def cancelled(part: pqlab.FileSelection) -> object:
    """A read that nobody waits for."""
    part.submit().cancel()
    return None


def shown(part: pqlab.FileSelection) -> object:
    """What is shown of a file."""
    return str(part.plan()), part.file._repr_html_(), part.file.pages().height


WAYS: tuple[Callable[[pqlab.FileSelection], object], ...] = (
    read, read, to_arrow, traced, iterated, cancelled, shown,
)  # fmt: skip


def step(rng: random.Random, paths: list[Path], held: deque[object]) -> str:
    """Look at a random part of a random file in a random way; returns how it ended."""
    try:
        with pqlab.open(
            rng.choice(paths), cache=rng.choice(["memory", None]), limits=LIMITS
        ) as file:
            held.append(rng.choice(WAYS)(random_part(rng, file)))
    except pqlab.PqlabError as error:
        return type(error).__name__
    return "values"


def is_flat(curve: list[float]) -> bool:
    """Whether the last third takes no more than the one before it, and 3 %."""
    third = len(curve) // 3
    before, last = curve[third : 2 * third], curve[2 * third :]
    return bool(before) and max(last) <= FLAT * max(before)


def main(minutes: float, seed: int) -> int:
    """Run, print, judge; returns the exit status."""
    rng = random.Random(seed)
    corpus = Path(os.environ["PQLAB_CORPUS"])
    files = (path for path in sorted(corpus.rglob("*.parq*")) if path.is_file())
    paths = [path for path in files if path.stat().st_size < LARGEST_BYTES]
    pqlab.memory(limit_bytes=KEPT_BYTES)
    held: deque[object] = deque(maxlen=HELD)
    outcomes: Counter[str] = Counter()
    curve: list[float] = []
    begin = time.monotonic()
    print(f"seed {seed}, {len(paths):,} files\nminute   steps  resident MiB  kept by pqlab MiB")
    while (now := time.monotonic() - begin) < 60 * minutes:
        outcomes[step(rng, paths, held)] += 1
        if now >= 60 * (len(curve) + 1):
            held.clear()
            gc.collect()
            curve.append(resident_bytes() / (1 << 20))
            kept = pqlab.memory().kept_bytes / (1 << 20)
            steps = outcomes.total()
            print(f"{len(curve):6} {steps:7,} {curve[-1]:13.1f} {kept:18.1f}", flush=True)
    print(dict(outcomes), "flat" if is_flat(curve) else "NOT FLAT")
    return 0 if is_flat(curve) else 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))
