"""Reading: pqlab against polars, pyarrow and duckdb, in three states of memory.

    python -m benchmarks.decode [--only ROW]... [--quick]

Writes its section of `RESULTS.md`; with `--only` or `--quick` (files of a tenth, few rounds) it
prints instead. Rows are those of `benchmarks/decode_rows.py`. The files are written first, once,
to build/benchmarks; the real one is found through PQLAB_DATA. Twelve minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from typing import Any

from benchmarks import decode_report
from benchmarks.decode_files import path_of
from benchmarks.decode_report import Result
from benchmarks.decode_rows import ROWS, Regime, Row
from benchmarks.results import write_section
from benchmarks.timing import Sample, Series

COMMAND = "python -m benchmarks.decode"
ROUNDS = 7

_KEEP, _RELEASE = (
    {
        "_RJEM_MALLOC_CONF": f"dirty_decay_ms:{decay_ms},muzzy_decay_ms:{decay_ms}",
        "MIMALLOC_PURGE_DELAY": str(decay_ms),
    }
    for decay_ms in (-1, 0)
)
# What every allocator is told: polars' (jemalloc), pyarrow's (mimalloc), the C library's. duckdb's
# has no settings of this kind.
ENVIRONMENTS: dict[Regime, dict[str, str]] = {
    "recycled": {
        **_KEEP,
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
        "MALLOC_TOP_PAD_": str(64 << 20),
    },
    "fresh": {
        **_RELEASE,
        "MALLOC_MMAP_THRESHOLD_": str(128 << 10),
        "MALLOC_TRIM_THRESHOLD_": str(128 << 10),
    },
    "first": {},
}


def _worker(what: str, row: Row, regime: Regime, *options: str, quick: bool) -> Any:
    command = [sys.executable, "-m", "benchmarks.decode_worker", what, row.name, *options]
    if quick:
        command.append("--quick")
    environment = {**os.environ, **ENVIRONMENTS[regime]}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _first_calls(row: Row, ways: dict[str, str], rounds: int, *, quick: bool) -> Series:
    rng = random.Random(0)
    samples: dict[str, list[Sample]] = {side: [] for side in ways}
    for number in range(rounds + 1):  # the first round warms the page cache
        for side in rng.sample(list(ways), len(ways)):
            options = ("--side", side, "--way", ways[side])
            sample = Sample(**_worker("first", row, "first", *options, quick=quick))
            if number > 0:
                samples[side].append(sample)
    return Series(samples, (0.0, 0.0))


def measure(row: Row, *, quick: bool = False) -> Result:
    """All that is told of a row."""
    path = path_of(row.file, quick=quick)
    rounds = 3 if quick else ROUNDS
    result = Result(row, path.stat().st_size)
    ways = {"pqlab": ""}
    for regime in row.bars:
        if regime == "first":
            result.series[regime] = _first_calls(row, ways, rounds, quick=quick)
            continue
        options = ("--rounds", str(rounds), *(("--release",) if regime == "fresh" else ()))
        found = _worker("series", row, regime, *options, quick=quick)
        samples = {
            side: [Sample(**sample) for sample in taken] for side, taken in found["samples"].items()
        }
        result.series[regime] = Series(samples, tuple(found["spin"]))
        result.tried[regime] = {peer: tuple(best) for peer, best in found["tried"].items()}
        result.floors[regime] = found["floor"]
        # The first call is measured of those that are quick in fresh memory.
        ways = {"pqlab": ""} | {
            peer: way for peer, (_, way) in result.tried[regime].items() if peer in samples
        }
    if not row.sums:
        for side, way in ways.items():
            options = ("--side", side, "--way", way)
            result.peaks[side] = _worker("peak", row, "first", *options, quick=quick)
    return result


def main() -> None:
    """Measure the rows, print what was found of each, write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=[row.name for row in ROWS])
    parser.add_argument("--quick", action="store_true", help="files of a tenth, few rounds")
    arguments = parser.parse_args()
    rows = [row for row in ROWS if arguments.only is None or row.name in arguments.only]
    results = []
    start = time.monotonic()
    for row in rows:
        try:
            results.append(measure(row, quick=arguments.quick))
        except FileNotFoundError as error:
            print(f"{row.name} is left out: {error}")
            continue
        print(f"{time.monotonic() - start:4.0f} s  {decode_report.line(results[-1])}", flush=True)
    body = decode_report.body(results)
    if arguments.only is None and not arguments.quick:
        print(write_section("Reading", COMMAND, body))
    else:
        print(f"\n{body}")


if __name__ == "__main__":
    main()
