"""Many files: the catalogue of all footers, opened again, and checks.

`python -m benchmarks.datasets [--files N] [--checked N] [--rounds N] [--without-lineitem]` writes a
section of RESULTS.md. The files lie under build/; the page cache is warm.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import pqlab
from benchmarks import decode_files
from benchmarks.results import versions, write_section
from benchmarks.timing import Series, interleave

ROWS = 50
INTEGERS, FLOATS, TEXTS = 8, 6, 6
BARS = {"pyarrow": 5.0, "duckdb": 2.0, "second": 20.0, "quick": 2.0, "full": 3.0}


def make_files(folder: Path, count: int) -> None:
    """So many files of 20 columns and a row group, each of other values."""
    rng = np.random.default_rng(11)
    for number in range(count):
        columns: dict[str, Any] = {f"i{n}": rng.integers(0, 1000, ROWS) for n in range(INTEGERS)}
        columns |= {f"f{n}": rng.random(ROWS) for n in range(FLOATS)}
        words = rng.integers(0, 50, (TEXTS, ROWS))
        columns |= {f"s{n}": [f"v{word}" for word in words[n]] for n in range(TEXTS)}
        pq.write_table(pa.table(columns), folder / f"part-{number:05}.parquet")


def by_pyarrow(folder: Path) -> list[tuple[Any, ...]]:
    """What the catalogue has of each chunk, by pyarrow's dataset and a loop over its metadata."""
    rows = []
    for fragment in ds.dataset(folder, format="parquet").get_fragments():
        metadata = fragment.metadata
        for row_group in range(metadata.num_row_groups):
            group = metadata.row_group(row_group)
            for leaf in range(metadata.num_columns):
                chunk = group.column(leaf)
                statistics = chunk.statistics
                bounds = (statistics.min, statistics.max, statistics.null_count)
                rows.append(
                    (
                        fragment.path, row_group, chunk.path_in_schema, chunk.compression,
                        chunk.encodings, chunk.num_values, chunk.total_compressed_size,
                        chunk.total_uncompressed_size, *bounds,
                    )
                )  # fmt: skip
    return rows


def by_duckdb(folder: Path) -> Any:
    """The same by duckdb, as a polars frame."""
    return duckdb.sql(f"select * from parquet_metadata('{folder}/*.parquet')").pl()


def catalogue_of(folder: Path, cache: Any = None) -> Any:
    """The catalogue, from the folder's name on."""
    with pqlab.Dataset(folder, cache=cache) as dataset:
        return dataset.catalogue()


def quick_check(folder: Path) -> Any:
    """All files of a folder, by footers and page indexes."""
    with pqlab.Dataset(folder, cache=None) as dataset:
        return dataset.check(quick=True)


def catalogue_rows(folder: Path, kept: Path, rounds: int) -> list[str]:
    """The catalogue from cold, and the second open, as rows of the table."""
    first = catalogue_of(folder, kept)
    peers = by_pyarrow(folder), by_duckdb(folder)
    assert len(first) == len(peers[0]) == len(peers[1])
    sizes = [int(row[6]) for row in peers[0]]
    assert int(first["total_compressed_size"].sum()) == sum(sizes)
    series = interleave(
        {
            "pqlab": lambda: catalogue_of(folder),
            "second": lambda: catalogue_of(folder, kept),
            "pyarrow": lambda: by_pyarrow(folder),
            "duckdb": lambda: by_duckdb(folder),
        },
        rounds=rounds,
        tries=1,
    )
    return [
        row("catalogue, against pyarrow.dataset and a loop", series, "pyarrow", "pqlab", "pyarrow"),
        row("catalogue, against duckdb's parquet_metadata", series, "duckdb", "pqlab", "duckdb"),
        row("second open, nothing changed, against the first", series, "pqlab", "second", "second"),
    ]


def quick_row(folder: Path, rounds: int) -> str:
    """The quick check against the catalogue, which it must not cost many times."""
    work: dict[str, Callable[[], Any]] = {
        "catalogue": lambda: catalogue_of(folder),
        "quick": lambda: quick_check(folder),
    }
    series = interleave(work, rounds=rounds, tries=1)
    return row("check --quick, times the catalogue", series, "quick", "catalogue", "quick")


def full_row(rounds: int) -> str:
    """The check in full of lineitem against a read of it."""
    lineitem = decode_files.path_of(decode_files.lineitem_name("snappy", deltas=False))
    work: dict[str, Callable[[], Any]] = {
        "read": lambda: pqlab.read(lineitem, cache=None),
        "full": lambda: pqlab.Dataset([lineitem], cache=None).check(),
    }
    series = interleave(work, rounds=rounds, tries=1)
    return row("check in full of lineitem SF1, times a read", series, "full", "read", "full")


def row(name: str, series: Series, over: str, under: str, bar: str) -> str:
    """A row of the table; of the two kinds of check less is better."""
    ratio = series.ratio(over, under)
    medians = [float(np.median([one.wall_ms for one in series.samples[n]])) for n in (over, under)]
    missed = ratio.median > BARS[bar] if bar in ("quick", "full") else ratio.median < BARS[bar]
    shown = f"**{ratio.text(2)}**" if missed else ratio.text(2)
    quiet = "" if series.is_quiet else f", spin {max(series.spin):.1f}"
    return f"| {name} | {shown} | {BARS[bar]:g} | {medians[0]:.0f} / {medians[1]:.0f} ms{quiet} |"


def main() -> None:
    """Make the files, measure, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--checked", type=int, default=500, help="files of the quick check")
    parser.add_argument("--rounds", type=int, default=7)
    about = "leave the check in full out, which takes most of the time"
    parser.add_argument("--without-lineitem", action="store_true", help=about)
    options = parser.parse_args()
    decode_files.CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=decode_files.CACHE) as name:
        every, some, kept = (Path(name, part) for part in ("every", "some", "kept"))
        every.mkdir()
        make_files(every, options.files)
        some.mkdir()
        for path in sorted(every.iterdir())[: options.checked]:
            shutil.copy2(path, some / path.name)
        rows = catalogue_rows(every, kept, options.rounds)
        rows.append(quick_row(some, options.rounds))
    if not options.without_lineitem:
        rows.append(full_row(options.rounds))
    body = f"""\
{versions("pyarrow", "duckdb", "polars")}. {options.files:,} files of 20 columns and one row group,
{options.checked:,} of them for the quick check; the page cache is warm. Ratios are medians over
{options.rounds} rounds with their 95 % interval. What misses its bar is bold.

| work | ratio | bar | the two |
|---|---|---|---|
{chr(10).join(rows)}

The second open is bounded by listing the folder and asking the system for each file's state, which
both opens do; the quick check by building each file's frames for its rules.
"""
    print(write_section("Many files", "python -m benchmarks.datasets", body))


if __name__ == "__main__":
    main()
