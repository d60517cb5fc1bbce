"""The page index: the frame of all pages, from the path, against duckdb's `parquet_page_index`.

    python -m benchmarks.footer_pages

The file has the shape of TPC-H's lineitem in 61 row groups: 16 columns of 500 pages each. A page
holds one row, which an index cannot tell from 20,000 but by shorter numbers. No other library
offers the page index in Python.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import pqlab

ROW_GROUPS, PAGES = 61, 500
ROUNDS = 9

_MODES = ("AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB", "REG AIR")


def write_file(path: Path) -> None:
    """Write the file: a page per row, since pages are what is measured. About 35 MB, 4 s."""
    rng = random.Random(61)
    rows = range(ROW_GROUPS * PAGES)
    keys = ("orderkey", "partkey", "suppkey", "linenumber")
    amounts = ("quantity", "extendedprice", "discount", "tax")
    codes = ("returnflag", "linestatus", "shipinstruct", "shipmode")
    dates = ("shipdate", "commitdate", "receiptdate")
    columns: dict[str, pa.Array] = {
        **{name: pa.array([rng.getrandbits(27) for _ in rows]) for name in keys},
        **{name: pa.array([rng.random() for _ in rows]) for name in amounts},
        **{name: pa.array(rng.choices(_MODES, k=len(rows))) for name in codes},
        **{
            name: pa.array([rng.randrange(8000, 12000) for _ in rows], pa.int32()).cast(pa.date32())
            for name in dates
        },
        "comment": pa.array([f"a comment of {rng.getrandbits(40):x}" for _ in rows]),
    }
    pq.write_table(
        pa.table({f"l_{name}": values for name, values in columns.items()}),
        path,
        row_group_size=PAGES,
        data_page_size=1,
        write_batch_size=1,
        write_page_index=True,
        use_dictionary=False,
        compression="none",
    )


def by_pqlab(path: Path) -> pl.DataFrame:
    """Read the footer and the page index, and make the frame of all pages."""
    return pqlab.open(path, cache=None).pages()


def by_duckdb(path: Path) -> pa.Table:
    """All columns of `parquet_page_index`, as Arrow."""
    relation = duckdb.sql(f"SELECT * FROM parquet_page_index('{path}')")
    assert relation is not None
    return relation.to_arrow_table()


def check_equal(path: Path) -> None:
    """Fail unless both tell of the same pages: places, rows, nulls and bounds' presence."""
    ours = by_pqlab(path).filter(pl.col("page") >= 0).sort("row_group", "leaf", "page")
    theirs = pl.DataFrame(by_duckdb(path)).sort("row_group_id", "column_id", "page_id")
    for name, other in {
        "row_group": "row_group_id",
        "leaf": "column_id",
        "page": "page_id",
        "offset": "page_offset",
        "total_bytes": "compressed_page_size",
        "first_row": "first_row_index",
        "num_rows": "num_rows",
        "num_nulls": "null_count",
    }.items():
        if ours[name].cast(pl.Int64).to_list() != theirs[other].to_list():
            raise AssertionError(f"{name} differs from duckdb's {other}")
    texts = ours.filter(pl.col("column") == "l_comment")["min_text"]
    expected = theirs.filter(pl.col("column_id") == 15)["min_value"]
    if texts.to_list() != expected.to_list():
        raise AssertionError("min_text differs from duckdb's min_value")


@dataclass(frozen=True)
class Run:
    """What one run took: wall time, and user and system time of all threads, in ms."""

    wall_ms: float
    cpu_ms: float


def measure(work: Mapping[str, Callable[[], object]]) -> dict[str, list[Run]]:
    """Run each piece of work once per round, in random order."""
    rng = random.Random(0)
    runs: dict[str, list[Run]] = {name: [] for name in work}
    for _ in range(ROUNDS):
        for name in rng.sample(list(work), len(work)):
            wall, cpu = time.perf_counter_ns(), time.process_time_ns()
            work[name]()
            wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
            runs[name].append(Run(wall / 1e6, cpu / 1e6))
    return runs


def ratio_text(over: Sequence[float], under: Sequence[float]) -> str:
    """The median of the paired ratios, and its bootstrap interval of 95 %."""
    ratios = [a / b for a, b in zip(over, under, strict=True)]
    rng = random.Random(0)
    medians = sorted(median(rng.choices(ratios, k=len(ratios))) for _ in range(2000))
    return f"{median(ratios):.1f} ({medians[50]:.1f} to {medians[1949]:.1f})"


def main() -> None:
    """Write the file, compare the results, then the times."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pages.parquet"
        write_file(path)
        check_equal(path)
        runs = measure({"pqlab": lambda: by_pqlab(path), "duckdb": lambda: by_duckdb(path)})
    pages = ROW_GROUPS * 16 * PAGES
    print(f"page index of {pages:,} pages, from the path to the frame; {ROUNDS} rounds, ms")
    for kind in ("wall_ms", "cpu_ms"):
        values = {name: [getattr(run, kind) for run in found] for name, found in runs.items()}
        for name, found in values.items():
            print(f"  {kind:8} {name:8} median {median(found):8.1f}  minimum {min(found):8.1f}")
        print(f"  {kind:8} duckdb / pqlab: {ratio_text(values['duckdb'], values['pqlab'])}")
    print("the bar: 10 in wall time")


if __name__ == "__main__":
    main()
