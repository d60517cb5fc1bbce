"""Reading: pqlab against polars, pyarrow and duckdb, in three states of memory.

    python -m benchmarks.decode [--only ROW]... [--quick] [--minutes N]

Writes its section of `RESULTS.md`, anew after every row; with `--only` or `--quick` (files of a
tenth, few rounds) it prints instead. Rows are those of `benchmarks/decode_rows.py`. The files are
written first, once, to build/benchmarks; the real one is found through PQLAB_DATA. What fails is
named beside what was measured, and what does not begin within the time (12 minutes, the writing of
files left out) is not measured.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks import decode_report
from benchmarks.decode_files import path_of
from benchmarks.decode_report import Result
from benchmarks.decode_rows import ROWS, Regime, Row
from benchmarks.results import write_section
from benchmarks.timing import Sample, Series

COMMAND = "python -m benchmarks.decode"
ROUNDS = 7
MINUTES = 12.0
QUICK = 1.4  # times the fastest peer in fresh memory: slower ones are not called first

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


class Measurement:
    """Runs workers until `deadline` (of `time.monotonic`), where the one that runs is ended."""

    def __init__(self, deadline: float, *, quick: bool) -> None:
        self.deadline = deadline
        self.quick = quick
        self.rounds = 3 if quick else ROUNDS

    def of(self, row: Row) -> Result:
        """All that is told of a row, or what could be found of it."""
        result = Result(row)
        try:
            self._fill(result)
        except subprocess.TimeoutExpired:
            result.failure = "the time was over"
        except (subprocess.CalledProcessError, OSError, ValueError, KeyError) as error:
            result.failure = str(error)
        return result

    def _fill(self, result: Result) -> None:
        row = result.row
        ways = {"pqlab": ""}
        for regime in row.bars:
            if regime == "first":
                result.series[regime] = self._first_calls(row, ways)
                continue
            options = ["--rounds", str(self.rounds)]
            # Results are compared once: the second process runs the same code on the same file.
            options += ["--release", "--compared"] if regime == "fresh" else []
            found = self._worker("series", row, regime, *options)
            samples = {
                side: [Sample(**sample) for sample in taken]
                for side, taken in found["samples"].items()
            }
            result.series[regime] = Series(samples, tuple(found["spin"]))
            result.tried[regime] = {peer: tuple(best) for peer, best in found["tried"].items()}
            result.floors[regime] = found["floor"]
            # The first call is measured of those that are quick in fresh memory.
            times = result.times(regime)
            most_ms = QUICK * times[result.fastest_peer(regime)]
            ways = {"pqlab": ""} | {
                peer: way
                for peer, (_, way) in result.tried[regime].items()
                if times.get(peer, math.inf) <= most_ms
            }
        if not row.sums:
            for side, way in ways.items():
                options = ["--side", side, "--way", way]
                result.peaks[side] = self._worker("peak", row, "first", *options)

    def _first_calls(self, row: Row, ways: dict[str, str]) -> Series:
        rng = random.Random(0)
        samples: dict[str, list[Sample]] = {side: [] for side in ways}
        for number in range(self.rounds + 1):  # the first round warms the page cache
            for side in rng.sample(list(ways), len(ways)):
                options = ("--side", side, "--way", ways[side])
                sample = Sample(**self._worker("first", row, "first", *options))
                if number > 0:
                    samples[side].append(sample)
        return Series(samples, (0.0, 0.0))

    def _worker(self, what: str, row: Row, regime: Regime, *options: str) -> Any:
        command = [sys.executable, "-m", "benchmarks.decode_worker", what, row.name, *options]
        if self.quick:
            command.append("--quick")
        done = subprocess.run(
            command,
            env={**os.environ, **ENVIRONMENTS[regime]},
            stdout=subprocess.PIPE,
            check=True,
            timeout=max(0.1, self.deadline - time.monotonic()),
        )
        return json.loads(done.stdout)


def written_files(rows: Sequence[Row], *, quick: bool) -> list[Row]:
    """The rows whose files are there, written if they were not."""
    there = []
    for row in rows:
        try:
            path_of(row.file, quick=quick)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{row.name} is left out: {error}", flush=True)
        else:
            there.append(row)
    return there


def main() -> None:
    """Measure the rows, print what was found of each, write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=[row.name for row in ROWS])
    parser.add_argument("--quick", action="store_true", help="files of a tenth, few rounds")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for all of it")
    arguments = parser.parse_args()
    rows = [row for row in ROWS if arguments.only is None or row.name in arguments.only]
    rows = written_files(rows, quick=arguments.quick)
    publishes = arguments.only is None and not arguments.quick
    start = time.monotonic()
    measurement = Measurement(start + 60 * arguments.minutes, quick=arguments.quick)
    results: dict[str, Result] = {}
    for row in sorted(rows, key=lambda row: row.is_rare):  # those that matter first
        results[row.name] = measurement.of(row)
        print(f"{time.monotonic() - start:4.0f} s  {decode_report.line(results[row.name])}")
        sys.stdout.flush()
        if publishes:
            in_order = [results[row.name] for row in rows if row.name in results]
            section = write_section("Reading", COMMAND, decode_report.body(in_order))
    if publishes:
        print(section)
    else:
        print(f"\n{decode_report.body(list(results.values()))}")


if __name__ == "__main__":
    main()
