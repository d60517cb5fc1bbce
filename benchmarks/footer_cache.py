"""Reopening a footer that another process has parsed: the first lookup in a fresh process.

    python -m benchmarks.footer_cache

Each measurement is a process of its own; the clock starts behind the imports and stops when one
chunk's number is known. Contenders run in random order within each round. Results are compared
before anything is timed.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import footer_files
from benchmarks.timing import ratio_of

NUM_COLUMNS, NUM_ROW_GROUPS = 10_000, 61
ROW_GROUP, LEAF = 34, 5678
ROUNDS = 15
BASE = "pqlab, from the disk cache"

OURS = """
from pqlab.io.footer import load_metadata
from pqlab.io.local import FileSource
"""
# A first frame imports what polars and numpy load when they are first used.
WARM_FRAMES = """
import io
import polars
from pqlab.footer.chunk_frames import column_chunks_frame
from pqlab.io.memory import BytesSource
small = io.BytesIO()
polars.DataFrame({"a": [1]}).write_parquet(small)
column_chunks_frame(load_metadata(BytesSource(small.getvalue())), [0], [0])
"""
LOOK_UP = """
row = m.chunk_row(row_group, leaf)
found = m.chunks.total_compressed_size[row], m.chunks.num_values[row]
"""

# contender -> (imports, what is timed; it sets `found` to the chunk's size and number of values)
CONTENDERS = {
    BASE: (OURS, "m = load_metadata(FileSource(file), cache=cache)" + LOOK_UP),
    "pqlab, the same, and the chunk's frame": (
        OURS + WARM_FRAMES,
        """
m = load_metadata(FileSource(file), cache=cache)
frame = column_chunks_frame(m, [row_group], [leaf])
found = frame["total_compressed_size"][0], frame["num_values"][0]
""",
    ),
    "pqlab, parsed": (OURS, "m = load_metadata(FileSource(file), cache=None)" + LOOK_UP),
    "PalletJack, its index": (
        "import palletjack",
        """
m = palletjack.read_metadata(index, row_groups=[row_group], column_indices=[leaf])
chunk = m.row_group(0).column(0)
found = chunk.total_compressed_size, chunk.num_values
""",
    ),
    "pyarrow, parsed": (
        "import pyarrow.parquet as pq",
        """
m = pq.read_metadata(file)
chunk = m.row_group(row_group).column(leaf)
found = chunk.total_compressed_size, chunk.num_values
""",
    ),
}

MEASURE = """
import json, sys, time
file, cache, index, row_group, leaf = {arguments!r}
{imports}
start = time.perf_counter_ns()
{timed}
nanoseconds = time.perf_counter_ns() - start
print(json.dumps([nanoseconds, [int(number) for number in found]]))
"""


def measure(name: str, folder: Path) -> tuple[float, list[int]]:
    """Milliseconds, and what was found, in a process of its own."""
    imports, timed = CONTENDERS[name]
    arguments = (
        str(folder / "wide.parquet"), str(folder / "cache"), str(folder / "index"), ROW_GROUP, LEAF,
    )  # fmt: skip
    code = MEASURE.format(arguments=arguments, imports=imports, timed=timed)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    nanoseconds, found = json.loads(done.stdout)
    return nanoseconds / 1e6, found


def section(wide: Path, rounds: int = ROUNDS) -> str:
    """Compare the results, then the times, for that file: the body of its section."""
    import palletjack

    rng = random.Random(5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "wide.parquet").symlink_to(wide)
        palletjack.generate_metadata_index(str(folder / "wide.parquet"), str(folder / "index"))
        found = {contender: measure(contender, folder)[1] for contender in CONTENDERS}
        if len({tuple(numbers) for numbers in found.values()}) != 1:
            raise SystemExit(f"the results differ: {found}")
        times: dict[str, list[float]] = {contender: [] for contender in CONTENDERS}
        for _ in range(rounds):
            for contender in rng.sample(list(CONTENDERS), len(CONTENDERS)):
                times[contender].append(measure(contender, folder)[0])
    lines = [
        "The first lookup of one chunk, imports left out.",
        "The bars: under 2 ms; PalletJack takes 5 times as long.",
        "",
        "| | median ms | least ms | times the first |",
        "|---|---|---|---|",
    ]
    for contender, taken in times.items():
        ratio = ratio_of([one / base for one, base in zip(taken, times[BASE], strict=True)])
        lines.append(
            f"| {contender} | {statistics.median(taken):.2f} | {min(taken):.2f} | {ratio} |"
        )
    return "\n".join([*lines, "", f"{rounds} rounds, each measurement in its own process."])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "wide.parquet"
        footer_files.write(path, NUM_COLUMNS, NUM_ROW_GROUPS)
        print(section(path))
