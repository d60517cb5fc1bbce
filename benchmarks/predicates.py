"""Filtered reads: pqlab against polars, duckdb and pyarrow's datasets.

    python -m benchmarks.predicates [--quick] [--minutes N] [--only WORD]

Writes its section of `RESULTS.md`, or, with `--quick` (a tenth of the rows) and `--only`, prints.
The files are made first, once, under build/benchmarks: TPC-H's lineitem as it is written, sorted by
date, and in its order with a page index and a bloom filter. What does not begin within the time is
not measured.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import pqlab
from benchmarks import remote
from benchmarks.decode_files import path_of
from benchmarks.results import versions, write_section
from benchmarks.timing import interleave

COMMAND = "python -m benchmarks.predicates"
ROUNDS, MINUTES, PAGE_ROWS, GROUP_ROWS = 9, 8.0, 20_000, 1_000_000
NETWORK = remote.Network(30, 100)
COLUMNS = ["l_orderkey", "l_partkey", "l_extendedprice", "l_discount"]
FIRST, AFTER = date(1995, 3, 1), date(1995, 4, 1)


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of work: the file, what is wanted of it, and the bar (fastest peer / pqlab)."""

    name: str
    path: str
    columns: list[str]
    where: pl.Expr
    dataset_filter: Any
    sql: str
    bar: float


def files(*, quick: bool) -> tuple[Path, Path, Path]:
    """Lineitem as written; sorted by date; with a page index and a bloom filter of comments."""
    written = path_of("lineitem-snappy", quick=quick)
    by_date, indexed = (written.with_name(f"{name}.parquet") for name in ("by-date", "indexed"))
    options: dict[str, Any] = {
        "row_group_size": GROUP_ROWS,
        "max_rows_per_page": PAGE_ROWS,
        "data_page_size": 1 << 30,
        "write_page_index": True,
    }
    for path, more in (
        (by_date, {}),
        (indexed, {"bloom_filter_options": {"l_comment": {"ndv": GROUP_ROWS, "fpp": 0.01}}}),
    ):
        if not path.exists():
            frame = pl.read_parquet(written)
            frame = frame.sort("l_shipdate") if path == by_date else frame
            table = frame.to_arrow()
            pq.write_table(table, path.with_suffix(".part"), **options, **more)
            path.with_suffix(".part").rename(path)
    return written, by_date, indexed


def rows(*, quick: bool) -> list[Row]:
    """The kinds of work."""
    written, by_date, indexed = map(str, files(quick=quick))
    month = (pl.col("l_shipdate") >= FIRST) & (pl.col("l_shipdate") < AFTER)
    in_month = (ds.field("l_shipdate") >= FIRST) & (ds.field("l_shipdate") < AFTER)
    sql = f"l_shipdate >= '{FIRST}' and l_shipdate < '{AFTER}' and l_quantity < 5"
    of_month = (COLUMNS, month & (pl.col("l_quantity") < 5))
    five = pa.scalar(Decimal(5), pa.decimal128(15, 2))
    arrow_month = in_month & (ds.field("l_quantity") < five)
    some = pqlab.open(indexed)
    middle = some.metadata.num_rows // 2
    key, comment = some.read(["l_orderkey", "l_comment"], rows=(middle, middle + 1)).row(0)
    return [
        Row("a month, as written", written, *of_month, arrow_month, sql, 1.3),
        Row("a month, sorted by date", by_date, *of_month, arrow_month, sql, 3),
        Row(
            "one l_orderkey, page index",
            indexed,
            COLUMNS,
            pl.col("l_orderkey") == key,
            ds.field("l_orderkey") == key,
            f"l_orderkey = {key}",
            5,
        ),
        Row(
            "one l_comment, bloom filter",
            indexed,
            [*COLUMNS, "l_comment"],
            pl.col("l_comment") == comment,
            ds.field("l_comment") == comment,
            f"l_comment = '{comment}'",
            5,
        ),
    ]


def work_of(row: Row, filesystem: Any = None, url: str | None = None) -> dict[str, Any]:
    """How each side does it, from the path on."""
    path = url or row.path
    names = ", ".join(row.columns)

    def mine(*, prune: bool = True) -> pl.DataFrame:
        return pqlab.read(path, row.columns, where=row.where, prune=prune)

    def by_pyarrow() -> pa.Table:
        place = "lake/indexed.parquet" if filesystem else path
        dataset = ds.dataset(place, format="parquet", filesystem=filesystem)
        return dataset.to_table(columns=row.columns, filter=row.dataset_filter)

    work: dict[str, Callable[[], Any]] = {
        "pqlab": mine,
        "polars": lambda: pl.scan_parquet(path).filter(row.where).select(row.columns).collect(),
        "pyarrow": by_pyarrow,
    }
    if filesystem is None:
        work["duckdb"] = lambda: duckdb.sql(
            f"select {names} from '{path}' where {row.sql}"  # our own text
        ).to_arrow_table()
    return work


def check(work: dict[str, Any]) -> int:
    """How many rows are found; that all sides find the same."""
    found = {name: pl.DataFrame(each()) for name, each in work.items()}
    mine = found["pqlab"].sort(pl.all())
    for name, frame in found.items():
        same = frame.sort(pl.all()).cast(dict(mine.schema)).equals(mine)
        assert same, f"{name} finds something else"
    return mine.height


def measured(row: Row, work: dict[str, Any], bar: float, rounds: int) -> tuple[str, str]:
    """A line of the table, and what bounds it."""
    height = check(work)
    series = interleave(work, rounds=rounds, tries=1)
    taken = {name: median(s.wall_ms for s in series.samples[name]) for name in work}
    best = min((name for name in work if name != "pqlab"), key=taken.__getitem__)
    ratio = series.ratio(best, "pqlab")
    verdict = "" if ratio.median >= bar else " **missed**"
    noisy = "" if series.is_quiet else " (not quiet)"
    peers = " | ".join(f"{taken[name]:.1f}" if name in taken else "" for name in PEERS)
    line = (
        f"| {row.name} | {height:,} | {taken['pqlab']:.1f} | {peers} | {ratio.text(2)} {best} | "
        f"{bar}{verdict}{noisy} |"
    )
    return line, bound(row) if ratio.median < bar else ""


PEERS = ("polars", "duckdb", "pyarrow")


def bound(row: Row) -> str:
    """What a read is made of, where it misses its bar."""
    file = pqlab.open(row.path)
    selection = file.select(row.columns, where=row.where)
    trace = pqlab.Trace()
    start = time.perf_counter()
    selection.read(trace=trace)
    wall_ms = (time.perf_counter() - start) * 1e3
    start = time.perf_counter()
    file.select(row.columns, where=row.where).plan()
    plan_ms = (time.perf_counter() - start) * 1e3
    pages = trace.to_frame().filter(pl.col("page").is_not_null())
    busy = pages.group_by("stage").agg(pl.col("duration_ns").sum() / 1e6)
    stages = ", ".join(f"{stage} {ms:.1f}" for stage, ms in busy.sort("duration_ns").rows()[::-1])
    return (
        f"{row.name}: {wall_ms:.1f} ms with its file open, of which about {plan_ms:.1f} are "
        f"pruning and planning; on all workers {stages} ms; {selection.plan().late}"
    )


def keeps_everything(path: str, rounds: int) -> str:
    """A predicate that all rows meet, against the read without it."""
    columns = ["l_quantity", *COLUMNS]
    work: dict[str, Callable[[], object]] = {
        "unfiltered": lambda: pqlab.read(path, columns),
        "filtered": lambda: pqlab.read(path, columns, where="l_quantity > 0"),
    }
    series = interleave(work, rounds=rounds, tries=1)
    ratio = series.ratio("filtered", "unfiltered")
    verdict = "" if ratio.median <= 1.05 else " **missed**"
    taken = {name: median(s.wall_ms for s in series.samples[name]) for name in work}
    return (
        f"A predicate that keeps everything takes {ratio.text(3)} times the read without it "
        f"({taken['filtered']:.1f} ms, {taken['unfiltered']:.1f} ms); the bar 1.05{verdict}."
    )


def fetched(row: Row) -> str:
    """Pages that the point look-up fetches of each column, and their bytes."""
    with pqlab.Trace() as trace:
        pqlab.open(row.path, cache=None).read(row.columns, where=row.where)
    pages = trace.to_frame().filter(pl.col("page") >= 0).unique(["row_group", "column", "page"])
    most = pages.group_by("row_group", "column").len()["len"].max()
    requests = trace.requests()
    sizes = (requests["stop"] - requests["start"]).sum()
    return f"{row.name}: at most {most} pages a column, {sizes:,} bytes fetched in all"


def report(*, quick: bool, minutes: float, only: str | None) -> str:
    """All rows that begin within the time."""
    until = time.monotonic() + 60 * minutes
    rounds = 3 if quick else ROUNDS
    lines = [
        "| work | rows | pqlab ms | polars | duckdb | pyarrow | fastest peer / pqlab | bar |",
        "|---|---|---|---|---|---|---|---|",
    ]
    notes = []
    found = [row for row in rows(quick=quick) if only is None or only in row.name]
    for row in found:
        if time.monotonic() > until:
            notes.append(f"{row.name}: not measured, the time was over")
            continue
        line, note = measured(row, work_of(row), row.bar, rounds)
        lines.append(line)
        notes += [note] if note else []
        print(line, note, sep="\n", flush=True)
        if row.name.startswith("one "):
            notes.append(fetched(row))
    if only is None:
        notes.append(keeps_everything(files(quick=quick)[0].as_posix(), rounds))
    told = "\n".join(f"- {note}" for note in notes)
    used = versions("pqlab", "polars", "duckdb", "pyarrow")
    return f"{used}. Each side begins from the path.\n\n" + "\n".join(lines) + f"\n\n{told}"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--only")
    options = parser.parse_args()
    body = report(quick=options.quick, minutes=options.minutes, only=options.only)
    if options.quick or options.only:
        print(body)
    else:
        write_section("Predicates", COMMAND, body)


if __name__ == "__main__":
    main()
