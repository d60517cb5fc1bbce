"""Row-group iteration: what it costs beyond reading, and how prefetch follows its consumer.

    python -m benchmarks.iterate [SECTION ...]

Writes its sections of `RESULTS.md`. The files are kept under `build/benchmarks` (3 GB).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import pqlab
from benchmarks import iterate_files
from benchmarks.iterate_cases import PEAK, PREFETCH, Case, cases, takes, waited_s
from benchmarks.results import versions, write_section
from benchmarks.timing import interleave, table

COMMAND = "python -m benchmarks.iterate"
LINEITEM = {
    1: ["l_extendedprice"],
    3: ["l_orderkey", "l_extendedprice", "l_shipdate"],
    16: None,
}
NOT_QUIET = "**The machine was not quiet: do not trust this series.**"
PEERS_BAR = "The bar: the fastest peer takes twice as long."
# Of 16 columns all 61 would take 13 GB in one frame.
LINEITEM_ROW_GROUPS = {1: 61, 3: 61, 16: 6}


def one_by_one(path: str, columns: Any, row_groups: int, **options: Any) -> int:
    """The rows of all row groups, by an iteration."""
    with pqlab.open(path) as file:
        selection = file.select(columns, row_groups=slice(row_groups))
        return sum(frame.height for frame in selection.iter_row_groups(**options))


def next_us(path: str, columns: Any, row_groups: int, pause_s: float) -> float:
    """Microseconds of its own thread that the median `next` takes, beside what workers do."""
    taken: list[float] = []
    with pqlab.open(path) as file:
        frames = file.select(columns, row_groups=slice(row_groups)).iter_row_groups()
        for _ in range(row_groups):
            begun = time.thread_time_ns()
            next(frames)
            taken.append((time.thread_time_ns() - begun) / 1e3)
            time.sleep(pause_s)
    return median(taken)


def against_bulk(rounds: int) -> str:
    """Row group by row group, against one read of all."""
    path, parts = str(iterate_files.lineitem()), []
    for count, columns in LINEITEM.items():
        groups = LINEITEM_ROW_GROUPS[count]
        work: dict[str, Callable[[], object]] = {
            "one read": lambda c=columns, g=groups: pqlab.read(path, c, row_groups=slice(g)).height,
            "one by one": lambda c=columns, g=groups: one_by_one(path, c, g),
        }
        assert work["one read"]() == work["one by one"]()
        series = interleave(work, rounds=rounds, tries=1)
        with pqlab.Trace() as trace:
            one_by_one(path, columns, groups)
        footers = trace.requests().filter(pl.col("reason") == "footer").height
        parts.append(
            f"{count} of 16 columns, {groups} row groups of 1 M rows; {footers} requests for the "
            f"footer; {series.ratio('one by one', 'one read').text(2)} times one read. What bounds "
            f"it: `next` takes {next_us(path, columns, groups, 0):.0f} µs of the consumer's thread "
            f"while workers have all cores.\n\n"
            f"{table(series, 'one read')}"
        )
    return "The bar: 1.1 times one read; the footer read once.\n\n" + "\n\n".join(parts)


def small(rounds: int) -> str:
    """What a row group costs beyond its decode, and the same loops in pyarrow and polars."""
    parts = ["The bar: 50 µs a row group and 2 µs a column, beyond decoding; peers 2 times."]
    groups = iterate_files.SMALL_ROW_GROUPS
    for count in (1, 100):
        path = str(iterate_files.small_row_groups(count))
        loops: dict[str, Callable[[], object]] = {
            "pqlab": lambda p=path: one_by_one(p, None, groups),
            "pyarrow, kept ParquetFile": lambda p=path: by_pyarrow(p, groups),
        }
        series = interleave(loops, rounds=rounds, tries=1)
        trace = pqlab.Trace()
        one_by_one(path, None, groups, trace=trace)
        pages = trace.to_frame().filter(pl.col("page").is_not_null())
        decode_us = pages["duration_ns"].sum() / groups / 1e3
        wall_us = median(s.wall_ms for s in series.samples["pqlab"]) * 1e3 / groups
        bar_us = 50 + 2 * count
        parts.append(
            f"{count} columns, {groups:,} row groups of 16 rows: {wall_us:.0f} µs a row group, of "
            f"which pages take {decode_us:.1f} µs: {wall_us - decode_us:.0f} µs beyond, the bar "
            f"{bar_us}.\n\n{table(series, 'pqlab')}"
        )
    return "\n\n".join(parts)


def by_pyarrow(path: str, row_groups: int, columns: Any = None) -> int:
    """The loop in pyarrow, with one ParquetFile."""
    file = pq.ParquetFile(path)
    return sum(file.read_row_group(n, columns=columns).num_rows for n in range(row_groups))


def peers(rounds: int) -> str:
    """The same loop over 20 row groups, peers with metadata kept and reopened."""
    path, columns, groups = str(iterate_files.lineitem()), LINEITEM[3], 20
    metadata = pq.read_metadata(path)
    starts = [n * iterate_files.ROW_GROUP_ROWS for n in range(groups)]
    scan = pl.scan_parquet(path).select(columns)

    def kept_metadata() -> int:
        return sum(
            pq.ParquetFile(path, metadata=metadata).read_row_group(n, columns=columns).num_rows
            for n in range(groups)
        )

    def reopened() -> int:
        return sum(
            pq.ParquetFile(path).read_row_group(n, columns=columns).num_rows for n in range(groups)
        )

    def by_polars() -> int:
        rows = iterate_files.ROW_GROUP_ROWS
        return sum(scan.slice(start, rows).collect().height for start in starts)

    work: dict[str, Callable[[], object]] = {
        "pqlab": lambda: one_by_one(path, columns, groups),
        "pyarrow, kept ParquetFile": lambda: by_pyarrow(path, groups, columns),
        "pyarrow, metadata= kept": kept_metadata,
        "pyarrow, reopened": reopened,
        "polars, scan and slice": by_polars,
    }
    assert len({one() for one in work.values()}) == 1
    series = interleave(work, rounds=rounds, tries=1)
    return f"3 of 16 columns, 20 row groups. {PEERS_BAR}\n\n{table(series, 'pqlab')}"


def five_ms(rounds: int) -> str:
    """A consumer that takes 5 ms a row group."""
    path, columns, groups = str(iterate_files.lineitem()), LINEITEM[1], 61
    case = Case("5 ms", lambda: path, columns, takes(0.005), groups)
    work: dict[str, Callable[[], object]] = {
        f"prefetch {prefetch}": lambda p=prefetch: case.run(p) for prefetch in PREFETCH
    }
    work["read alone"] = lambda: one_by_one(path, columns, groups)
    work["consumer alone"] = lambda: [time.sleep(0.005) for _ in range(groups)]
    series = interleave(work, rounds=rounds, tries=1)
    alone = max("read alone", "consumer alone", key=lambda n: _median(series.samples[n]))
    ratio = series.ratio("prefetch adaptive", alone).text(2)
    return (
        f"1 of 16 columns. The bar: 1.1 times the slower of reading alone and the consumer alone. "
        f"Adaptive: {ratio} times {alone}. What bounds it: `next` takes "
        f"{next_us(path, columns, groups, 0.005):.0f} µs of the consumer's thread, though all is "
        f"ready, and the first frame has to be read.\n\n{table(series, alone)}"
    )


def adaptive(rounds: int) -> str:
    """Adaptive windows against fixed ones."""
    lines = [
        "| times the best fixed window | " + " | ".join(map(str, PREFETCH)) + " |",
        "|---" * (len(PREFETCH) + 1) + "|",
    ]
    ratios: dict[Any, list[float]] = {prefetch: [] for prefetch in PREFETCH}
    misses, quiet = [], True
    for case in cases():
        work = {str(p): (lambda p=p, c=case: c.run(p)) for p in PREFETCH}
        series = interleave(work, rounds=rounds, tries=1)
        quiet = quiet and series.is_quiet
        fixed = [str(p) for p in PREFETCH if p != "adaptive"]
        best = min(fixed, key=lambda name: _median(series.samples[name]))
        found = {p: series.ratio(str(p), best) for p in PREFETCH}
        for prefetch, ratio in found.items():
            ratios[prefetch].append(ratio.median)
        cells = [
            ratio.text(2) if prefetch == "adaptive" else f"{ratio.median:.2f}"
            for prefetch, ratio in found.items()
        ]
        lines.append(f"| {case.about} | {' | '.join(cells)} |")
        misses.append(_misses(case))
    means = [f"{geometric_mean(ratios[prefetch]):.2f}" for prefetch in PREFETCH]
    lines.append(f"| geometric mean | {' | '.join(means)} |")
    return (
        "The bars: adaptive's interval holds 1 or lies below; its mean is the least; no fixed "
        "window is within 1.1 everywhere."
        + ("" if quiet else f" {NOT_QUIET}")
        + "\n\n"
        + "\n".join(lines)
        + "\n\n"
        "Misses: what the trace's stalls add up to, against the consumer's own watch around "
        "`next`. The bar: within 5 %.\n\n| adaptive | misses | stalls ms | watch ms |\n"
        "|---|---|---|---|\n" + "\n".join(misses)
    )


def _misses(case: Case) -> str:
    waited, trace = waited_s(case, "adaptive")
    found = trace.prefetch_misses()
    stalls = found["stall_ns"].sum() / 1e6
    return f"| {case.about} | {found.height} | {stalls:.1f} | {1e3 * waited:.1f} |"


def several_files(rounds: int) -> str:
    """Eight files one after the other: the sum of 3 of 20 columns."""
    glob = f"{iterate_files.taxi()}/*.parquet"
    return sums(iterate_files.taxi(), glob, PEERS_BAR, rounds)


def one_file(rounds: int) -> str:
    """The same of one file of 3 M rows."""
    path = iterate_files.large_taxi()
    return sums(path, str(path), "The bar: the fastest peer takes 2.5 times as long.", rounds)


def sums(path: Path, glob: str, bar: str, rounds: int) -> str:
    """The sum of 3 of 20 columns, frame after frame. `glob`: the same files for the peers."""
    columns = ["fare_amount", "tip_amount", "total_amount"]

    def by_pqlab() -> float:
        total = 0.0
        with pqlab.open(path) as files:
            for frame in files.select(columns).iter_row_groups():
                total += sum(float(column.sum()) for column in frame)
        return total

    def by_polars() -> float:
        scan = pl.scan_parquet(glob).select(pl.col(columns).sum())
        return float(scan.collect(engine="streaming").sum_horizontal()[0])

    def by_duckdb() -> float:
        added = " + ".join(f"sum({column})" for column in columns)
        relation = duckdb.sql(f"SELECT {added} FROM read_parquet('{glob}')")
        assert relation is not None
        return float(relation.fetchall()[0][0])

    def by_dataset() -> float:
        scanner = ds.dataset(str(path)).scanner(columns=columns)
        return sum(_sum(batch) for batch in scanner.to_batches())

    work = {
        "pqlab": by_pqlab,
        "polars, streaming": by_polars,
        "duckdb": by_duckdb,
        "pyarrow dataset": by_dataset,
    }
    found = {name: one() for name, one in work.items()}
    assert max(found.values()) - min(found.values()) < 1e-6 * abs(found["pqlab"]), found
    series = interleave(work, rounds=rounds, tries=1)
    with pqlab.open(path) as files, pqlab.Trace() as trace:
        for _ in files.select(columns).iter_row_groups():
            pass
    stages = trace.to_frame().filter(pl.col("page").is_not_null())["duration_ns"].sum() / 1e6
    cores = len(os.sched_getaffinity(0))
    return (
        f"3 of 20 columns. {bar} What bounds pqlab: its pages take workers {stages:.0f} ms, "
        f"{stages / cores:.0f} on each of {cores} cores.\n\n{table(series, 'pqlab')}"
    )


def _sum(batch: pa.RecordBatch) -> float:
    return sum(float(pc.sum(column).as_py() or 0) for column in batch.columns)


def peak(_: int) -> str:
    """Memory of an iteration, in row groups."""
    lines = [
        "| columns | a row group | half way, row groups | at the end | peak | of it in buffers |",
        "|---" * 6 + "|",
    ]
    path = str(iterate_files.lineitem())
    names = pq.read_schema(path).names
    for count, columns in LINEITEM.items():
        command = [sys.executable, "-c", PEAK, path, ",".join(columns or names), "61"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        size, start, half, end, high, buffers = map(int, done.stdout.split())
        parts = [f"{(rss - start) / size:+.2f}" for rss in (half, end, high)]
        parts.append(f"{buffers / size:.2f}")
        lines.append(f"| {count} | {size >> 20} MiB | {' | '.join(parts)} |")
    return (
        "Resident memory beyond what one read of a row group left, in row groups' worth of decoded "
        "bytes. The bar: at most 3, flat. *In buffers*: what was in use at once, the first read's "
        "included; the rest of the peak is what the pool has between them.\n\n" + "\n".join(lines)
    )


SECTIONS: dict[str, tuple[str, Callable[[int], str]]] = {
    "bulk": ("Iteration: one by one against one read", against_bulk),
    "small": ("Iteration: small row groups", small),
    "peers": ("Iteration: peers", peers),
    "consumer": ("Iteration: a consumer that takes 5 ms", five_ms),
    "adaptive": ("Iteration: adaptive prefetch", adaptive),
    "files": ("Iteration: eight files", several_files),
    "sum": ("Iteration: sums of one file", one_file),
    "memory": ("Iteration: peak memory", peak),
}


def _median(samples: Any) -> float:
    return median(sample.wall_ms for sample in samples)


def main() -> int:
    """Measure and write the sections, as far as the time goes; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--minutes", type=float, default=7, help="for all of it, files left out")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    packages = versions("pyarrow", "polars", "duckdb")
    given = parser.parse_args()
    iterate_files.write_all()
    start, failed = time.monotonic(), []
    for name in given.sections or SECTIONS:
        if time.monotonic() - start > 60 * given.minutes:
            print(f"{name}: left out, the time is over", flush=True)
            continue
        iterate_files.warm()
        heading, measure = SECTIONS[name]
        try:
            body = measure(given.rounds)
        except Exception:  # noqa: BLE001  # the other sections are measured all the same
            failed.append(name)
            traceback.print_exc()
        else:
            print(write_section(heading, COMMAND, f"{body}\n\n{packages}"), flush=True)
        print(f"{name}: {time.monotonic() - start:.0f} s since the first began", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
