"""What importing pqlab costs beside importing polars, each in fresh processes."""

from __future__ import annotations

import random
import subprocess
import sys
from statistics import median

ROUNDS = 15
BAR = "The bar: pqlab at most 50 ms more than polars."
STATEMENTS = (
    "import polars",
    "import pqlab",
    "import polars, pqlab",
    "import pqlab; pqlab.open, pqlab.Trace",
)

CODE = """
import time
start = time.perf_counter_ns()
{statement}
print(time.perf_counter_ns() - start)
"""


def section() -> str:
    """The section's body."""
    rng = random.Random(0)
    times: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
    for number in range(ROUNDS + 1):  # the first round warms the page cache
        for statement in rng.sample(STATEMENTS, len(STATEMENTS)):
            command = [sys.executable, "-c", CODE.format(statement=statement)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            if number > 0:
                times[statement].append(int(done.stdout) / 1e6)
    lines = [BAR, "", "| | median ms | least ms |", "|---|---|---|"]
    for statement, found in times.items():
        lines.append(f"| `{statement}` | {median(found):.1f} | {min(found):.1f} |")
    return "\n".join([*lines, "", f"{ROUNDS} rounds, each measurement in its own process."])
