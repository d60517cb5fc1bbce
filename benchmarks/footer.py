"""Footers: parsed from the path, kept in memory, reopened, and their page index.

    python -m benchmarks.footer [--slow]

Writes its sections of `RESULTS.md`. The large files are written first (half a minute) and removed
afterwards. `--slow` adds the peers that take seconds to minutes, measured once.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet as pq

from benchmarks import footer_cache, footer_files, footer_pages, imports
from benchmarks.results import versions, write_section
from benchmarks.timing import interleave, ratio_of, run, table
from pqlab.footer.metadata import FileMetaData, parse_file_metadata
from pqlab.io.footer import load_metadata
from pqlab.io.local import FileSource

COMMAND = "python -m benchmarks.footer"
NUM_COLUMNS, NUM_ROW_GROUPS, NUM_UNLIKE = 10_000, 61, 20


def by_pqlab(path: Path) -> FileMetaData:
    """All metadata in columns, from the path."""
    source = FileSource(str(path))
    try:
        return load_metadata(source, cache=None)
    finally:
        source.close()


def check_equal(path: Path) -> None:
    """Fail unless pqlab and pyarrow tell the same of a few thousand chunks."""
    ours, theirs = by_pqlab(path), pq.read_metadata(path)
    names = ("num_values", "total_compressed_size", "total_uncompressed_size", "data_page_offset")
    for group in (0, 1, ours.num_row_groups // 2, ours.num_row_groups - 1):
        for leaf in range(0, ours.num_leaves, 10):
            chunk, row = theirs.row_group(group).column(leaf), ours.chunk_row(group, leaf)
            for name in names:
                if int(getattr(ours.chunks, name)[row]) != getattr(chunk, name):
                    raise AssertionError(f"{name} of row group {group}, leaf {leaf} differs")


def parsing(path: Path, what: str, bars: str) -> str:
    """The section's body: pqlab against pyarrow and polars, and against its own plain walker."""
    footer = np.frombuffer(path.read_bytes(), np.uint8)[4:-8]
    series = interleave(
        {
            "pqlab": lambda: by_pqlab(path),
            "pyarrow.parquet.read_metadata": lambda: pq.read_metadata(path),
            "polars.read_parquet_schema (keeps less)": lambda: pl.read_parquet_schema(path),
            "pqlab, of bytes": lambda: parse_file_metadata(footer, 4),
            "pqlab, of bytes, every chunk walked": lambda: parse_file_metadata(
                footer, 4, predict=False
            ),
        }
    )
    walked = series.ratio("pqlab, of bytes", "pqlab, of bytes, every chunk walked")
    return (
        f"{what}: footer of {len(footer):,} bytes. {bars}\n\n"
        f"{first_calls(path)}\n\n"
        "The same again and again in one process, where allocators recycle what they have:\n\n"
        f"{table(series, 'pqlab')}\n\n"
        "What pqlab takes from the path over what it takes of bytes is the kernel's: it zeroes "
        "fresh memory and copies the footer, which pqlab retains and pyarrow does not, into it."
        "\n\n"
        f"Recognising chunks takes {walked.text(2)} times as long as walking them."
    )


def unlike(path: Path) -> str:
    """The section's body for a file that recognising can do nothing for."""
    footer = np.frombuffer(path.read_bytes(), np.uint8)[4:-8]
    every, walked = "pqlab, of bytes", "pqlab, of bytes, every chunk walked"
    series = interleave(
        {
            every: lambda: parse_file_metadata(footer, 4),
            walked: lambda: parse_file_metadata(footer, 4, predict=False),
            "pyarrow.parquet.read_metadata": lambda: pq.read_metadata(path),
        }
    )
    return (
        f"{NUM_COLUMNS:,} columns x {NUM_UNLIKE} row groups, hardly two chunks laid out alike: "
        f"footer of {len(footer):,} bytes. The bar: trying to recognise chunks costs at most 1.1 "
        f"times walking them.\n\n{table(series, every)}\n\n"
        f"Trying costs {series.ratio(every, walked).text(2)} times walking."
    )


FIRST_CALL = """
import sys, time
{imports}
start = time.perf_counter_ns()
found = {timed}
print(time.perf_counter_ns() - start)
"""
FIRST_CALLS = {
    "pqlab": (
        "from pqlab.io.footer import load_metadata\nfrom pqlab.io.local import FileSource",
        "load_metadata(FileSource(sys.argv[1]), cache=None)",
    ),
    "pyarrow": ("import pyarrow.parquet as pq", "pq.read_metadata(sys.argv[1])"),
}


def first_calls(path: Path, rounds: int = 9) -> str:
    """The first call in a fresh process, imports left out: memory that nobody has touched yet."""
    rng = random.Random(0)
    times: dict[str, list[float]] = {name: [] for name in FIRST_CALLS}
    for _ in range(rounds):
        for name in rng.sample(list(FIRST_CALLS), len(FIRST_CALLS)):
            imports, timed = FIRST_CALLS[name]
            code = FIRST_CALL.format(imports=imports, timed=timed)
            command = [sys.executable, "-c", code, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            times[name].append(int(done.stdout) / 1e6)
    ratio = ratio_of([b / a for a, b in zip(times["pqlab"], times["pyarrow"], strict=True)])
    medians = {name: f"{median(found):.1f} ms" for name, found in times.items()}
    return (
        f"First call in a fresh process: pqlab {medians['pqlab']}, pyarrow {medians['pyarrow']}, "
        f"{ratio} times as long ({rounds} rounds)."
    )


def slow_peers(path: Path) -> str:
    """Peers that keep as much and take long: measured once."""
    import fastparquet

    def by_duckdb() -> object:
        relation = duckdb.sql(f"SELECT * FROM parquet_metadata('{path}')")
        assert relation is not None
        return relation.to_arrow_table()

    peers: dict[str, Callable[[], object]] = {
        "fastparquet.ParquetFile": lambda: fastparquet.ParquetFile(str(path)),
        "duckdb, parquet_metadata": by_duckdb,
        "thriftpy2 (FileMetaData.raw)": lambda: by_pqlab(path).raw(),
    }
    ours = median(run(lambda: by_pqlab(path)).wall_ms for _ in range(5))
    lines = [f"Once each, beside {ours:.1f} ms for pqlab:", "", "| | ms | times pqlab |",
             "|---|---|---|"]  # fmt: skip
    for name, work in peers.items():
        taken = run(work).wall_ms
        lines.append(f"| {name} | {taken:,.0f} | {taken / ours:,.0f} |")
    return "\n".join(lines)


def memory(paths: dict[str, Path]) -> str:
    """What is kept in memory, in parts of the footer."""
    lines = [
        "| | footer bytes, retained | arrays | together, in footers |",
        "|---|---|---|---|",
    ]
    for name, path in paths.items():
        metadata = by_pqlab(path)
        retained = len(metadata.footer)
        lines.append(
            f"| {name} | {retained:,} | {metadata.nbytes:,} ({metadata.nbytes / retained:.2f}) "
            f"| {1 + metadata.nbytes / retained:.2f} |"
        )
    bar = "The bars: arrays at most 0.5 footers, together at most 1.5."
    return "\n".join([*lines, "", bar, "Readers of one file share these arrays; none copies them."])


def main() -> None:
    """Write the files, compare results, measure, write the sections."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slow", action="store_true", help="peers that take seconds to minutes")
    slow = parser.parse_args().slow
    packages = versions("pyarrow", "polars", "duckdb")
    with tempfile.TemporaryDirectory() as folder:
        wide, adversarial = Path(folder) / "wide.parquet", Path(folder) / "adversarial.parquet"
        footer_files.write(wide, NUM_COLUMNS, NUM_ROW_GROUPS)
        footer_files.write(adversarial, NUM_COLUMNS, NUM_ROW_GROUPS, adversarial=True)
        apart = Path(folder) / "unlike.parquet"
        footer_files.write(apart, NUM_COLUMNS, NUM_UNLIKE, adversarial=True, unlike=True)
        for path in (wide, adversarial, apart):
            check_equal(path)
        shape = f"{NUM_COLUMNS:,} columns x {NUM_ROW_GROUPS} row groups"
        body = parsing(wide, shape, "The bar: pyarrow takes 10 times as long.")
        body += f"\n\n{slow_peers(wide)}" if slow else ""
        sections = {
            "Footer: all metadata from the path": f"{body}\n\n{packages}",
            "Footer: adversarial": parsing(
                adversarial,
                f"{shape}, string bounds of random length, page index",
                "The bars: pyarrow takes 4 times as long; recognising at most 1.1 times walking.",
            ),
            "Footer: no two chunks alike": unlike(apart),
            "Footer: memory": memory({"wide": wide, "adversarial": adversarial}),
            "Footer: reopened in a new process": footer_cache.section(wide),
            "Page index: the frame of all pages": footer_pages.section(),
            "Import": imports.section(),
        }
    for heading, text in sections.items():
        print(write_section(heading, COMMAND, text))


if __name__ == "__main__":
    main()
