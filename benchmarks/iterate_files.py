"""The files that `benchmarks.iterate` reads, written once under `build/benchmarks`."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pqlab import sample

FOLDER = Path(__file__).parent.parent / "build" / "benchmarks"
ROW_GROUPS, ROW_GROUP_ROWS = 61, 1_000_000
SMALL_ROW_GROUPS, SMALL_ROWS = 2_000, 16
TAXI_FILES, TAXI_ROWS = 8, 1_000_000


def kept(name: str, write: Callable[[Path], None]) -> Path:
    """The file of that name; written if it is not there."""
    path = FOLDER / name
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        write(partial)
        partial.rename(path)
    return path


def lineitem() -> Path:
    """TPC-H lineitem in 61 row groups of 1 M rows: those of scale factor 1, again and again."""

    def write(path: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            command = ["tpchgen-cli", "parquet", "-s", "1", "-T", "lineitem", "-o", folder]
            subprocess.run(command, check=True, capture_output=True)
            table = pq.read_table(Path(folder) / "lineitem.parquet")
        parts = [
            table.slice(start, ROW_GROUP_ROWS).combine_chunks()
            for start in range(0, table.num_rows - ROW_GROUP_ROWS, ROW_GROUP_ROWS)
        ]
        with pq.ParquetWriter(path, table.schema, compression="snappy") as writer:
            for number in range(ROW_GROUPS):
                writer.write_table(parts[number % len(parts)], row_group_size=ROW_GROUP_ROWS)

    return kept("lineitem.parquet", write)


def small_row_groups(num_columns: int) -> Path:
    """2,000 row groups of 16 rows: what is left is what a row group and a column cost."""

    def write(path: Path) -> None:
        rng = np.random.default_rng(num_columns)
        names = [f"c{number}" for number in range(num_columns)]
        schema = pa.schema([pa.field(name, pa.int64(), nullable=False) for name in names])
        with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
            for _ in range(SMALL_ROW_GROUPS):
                values = rng.integers(0, 1 << 40, (num_columns, SMALL_ROWS))
                writer.write_table(pa.table(list(values), schema=schema))

    return kept(f"small_{num_columns}.parquet", write)


def slow_column() -> Path:
    """40 row groups: seven columns of numbers, and one of strings in DELTA_BYTE_ARRAY."""

    def write(path: Path) -> None:
        rng = np.random.default_rng(1)
        rows, groups = 100_000, 40
        names = [f"number_{at}" for at in range(7)]
        schema = pa.schema([*((name, pa.float64()) for name in names), ("text", pa.string())])
        with pq.ParquetWriter(
            path,
            schema,
            use_dictionary=False,
            column_encoding={"text": "DELTA_BYTE_ARRAY"},
            compression="zstd",
        ) as writer:
            for number in range(groups):
                keys = np.sort(rng.integers(0, 1 << 40, rows)).tolist()
                text = [f"https://example.org/a/path/{number}/{key:012d}" for key in keys]
                columns = [*(rng.random(rows).round(3) for _ in names), pa.array(text)]
                writer.write_table(pa.table(columns, schema=schema))

    return kept("slow_column.parquet", write)


def taxi() -> Path:
    """A folder of 8 files of 1 M taxi rows in 4 row groups and 20 columns."""

    def write(path: Path) -> None:
        path.mkdir()
        for number in range(TAXI_FILES):
            target = path / f"{number}.parquet"
            sample.write(target, kind="taxi", rows=TAXI_ROWS, seed=number)

    return kept("taxi", write)


def large_taxi() -> Path:
    """3 M taxi rows in 4 row groups."""
    return kept("taxi_3m.parquet", lambda path: _taxi_rows(path, 3_000_000))


def _taxi_rows(path: Path, rows: int) -> None:
    sample.write(path, kind="taxi", rows=rows, seed=20)


def warm() -> None:
    """Have the system keep all files in memory: it gives back what was not asked for of late."""
    for path in FOLDER.rglob("*.parquet"):
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 24):
                pass


def write_all() -> list[Path]:
    """All files, written if they are not there: in a minute or two."""
    small = [small_row_groups(count) for count in (1, 100)]
    return [slow_column(), *small, taxi(), large_taxi(), lineitem()]


if __name__ == "__main__":
    print(*write_all(), sep="\n")
