"""Random files, read by pqlab, pyarrow, duckdb and polars: `python differential.py SEED COUNT`.

Every file has a seed, printed with what differs, that makes it again: `python differential.py SEED
1`. Its schema is up to five levels deep, its writer's settings and what is read of it are random.
Where readers differ by design, `known` says so; the specification decides.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from nested_values import combined, difference
from random_tables import VALUES, Tables

import pqlab

DEPTH = 5
EMULATED_EVERY = 25  # files; the emulator is slow
CODECS = ("none", "snappy", "zstd", "gzip", "lz4", "brotli")
DELTAS = {"int32": "DELTA_BINARY_PACKED", "int64": "DELTA_BINARY_PACKED",
          "string": "DELTA_BYTE_ARRAY", "binary": "DELTA_LENGTH_BYTE_ARRAY"}  # fmt: skip
STREAMS = ("float", "double", "int32", "int64", "fixed_size_binary[5]")


def settings(rng: random.Random, table: pa.Table) -> dict[str, Any]:
    """Of pyarrow's writer."""
    chosen: dict[str, Any] = {
        "compression": rng.choice(CODECS),
        "data_page_version": rng.choice(["1.0", "2.0"]),
        "data_page_size": rng.choice([1, 100, 2_000, 1 << 20]),
        "write_batch_size": rng.choice([1, 5, 64, 1024]),
        "row_group_size": rng.choice([7, 50, 1000]),
        "write_page_index": rng.random() < 0.5,
        "write_page_checksum": rng.random() < 0.3,
        "write_statistics": rng.random() < 0.8,
        "store_schema": False,
        "use_compliant_nested_type": rng.random() < 0.8,
        "store_decimal_as_integer": rng.random() < 0.5,
        "use_dictionary": rng.random() < 0.5,
    }
    if chosen["use_dictionary"]:
        chosen["dictionary_pagesize_limit"] = rng.choice([1, 40, 1 << 20])
    else:
        flat = {field.name: str(field.type) for field in table.schema}
        deltas = {name: DELTAS[kind] for name, kind in flat.items() if kind in DELTAS}
        streams = dict.fromkeys([name for name, kind in flat.items() if kind in STREAMS],
                                "BYTE_STREAM_SPLIT")  # fmt: skip
        both = {**deltas, **streams}
        chosen["column_encoding"] = {name: of for name, of in both.items() if rng.random() < 0.6}
    return chosen


def written(rng: random.Random, table: pa.Table, path: Path) -> str:
    """By pyarrow mostly, or by polars or duckdb; returns whose and how."""
    writer = rng.choices(["pyarrow", "polars", "duckdb"], [7, 2, 1])[0]
    if writer == "polars" and not any("map" in str(field.type) for field in table.schema):
        frame = pl.DataFrame(pl.from_arrow(table))
        if not any("Null" in str(dtype) for dtype in frame.dtypes):
            options: dict[str, Any] = {"compression": rng.choice(["zstd", "lz4", "uncompressed"])}
            options["row_group_size"] = rng.choice([7, 50, 1000])
            frame.write_parquet(path, data_page_size=rng.choice([100, 1 << 20]), **options)
            return f"polars, {options}"
    if writer == "duckdb":
        codec = rng.choice(["snappy", "zstd", "uncompressed"])
        version = rng.choice(["V1", "V2"])
        how = f"FORMAT parquet, COMPRESSION {codec}, PARQUET_VERSION {version}, ROW_GROUP_SIZE 2048"
        try:
            CONNECTION.register("given", table)
            CONNECTION.sql(f"COPY (SELECT * FROM given) TO '{path}' ({how})")
        except duckdb.Error:
            pass  # it has no column of some types
        else:
            return f"duckdb, {how}"
    chosen = settings(rng, table)
    try:
        pq.write_table(table, path, **chosen)
    except (pa.ArrowInvalid, OSError, NotImplementedError):
        del chosen["column_encoding"]  # of a list's leaf
        pq.write_table(table, path, **chosen)
    return f"pyarrow, {chosen}"


CONNECTION = duckdb.connect()
CONNECTION.sql("SET TimeZone = 'UTC'")


def differs(rng: random.Random, path: Path, number: int, table: pa.Table) -> str | None:
    """What another reader reads otherwise; where all refuse the file, what was written to it."""
    tables = {name: tried(name, path) for name in READERS}
    theirs = {name: table for name, table in tables.items() if table is not None}
    theirs = theirs or {"the writer": table}
    whose, expected = next(iter(theirs.items()))
    with pqlab.open(path, verify_checksums=rng.random() < 0.5, cache=None) as file:
        ours = file.select().to_arrow(workers=rng.choice([1, 2]))
        for name, values in theirs.items():
            found = against(ours, values, name)
            if found:
                return found
        found = frames(file.read(), ours) or selections(rng, file, expected, whose)
        if number % EMULATED_EVERY == 0 and not found:
            found = against(file.select().to_arrow(engine="emulated"), ours, "the CPU engine")
    return found


REFUSED: Counter[str] = Counter()


def tried(name: str, path: Path) -> pa.Table | None:
    try:
        return READERS[name](path)
    except (OSError, pa.ArrowInvalid, duckdb.Error, pl.exceptions.ComputeError):
        REFUSED[name] += 1  # some encodings of some types, single rows in pages of one value
        return None


def against(ours: pa.Table, theirs: pa.Table, whose: str) -> str | None:
    if ours.column_names != theirs.column_names or len(ours) != len(theirs):
        return f"{whose}: {theirs.column_names}, {len(theirs)} rows"
    for name in ours.column_names:
        mine, other = combined(ours[name]), combined(theirs[name])
        if whose == "duckdb" and known(mine.type):
            continue
        found = difference(mine, other)
        if found:
            return f"{whose}, column {name}: {found}"
    return None


def known(kind: pa.DataType) -> bool:
    """What duckdb gives otherwise: columns that are always null have a type of their own there."""
    return "null" in str(kind).replace("not null", "")


def in_duckdb(path: Path) -> pa.Table:
    return CONNECTION.sql(f"SELECT * FROM read_parquet('{path}')").to_arrow_table()


READERS: dict[str, Callable[[Path], pa.Table]] = {
    "pyarrow": lambda path: pq.ParquetFile(path).read(),
    "duckdb": in_duckdb,
    "polars": lambda path: pl.read_parquet(path).to_arrow(),
}


def frames(ours: pl.DataFrame, table: pa.Table) -> str | None:
    """Whether the frame holds what the table does."""
    for name in ours.columns:
        found = difference(ours[name].to_arrow(), combined(table[name]))
        if found:
            return f"frame, column {name}: {found}"
    return None


def selections(
    rng: random.Random, file: pqlab.ParquetFile, expected: pa.Table, whose: str
) -> str | None:
    """Some rows, and a row group, of some columns of what another reader read of the file."""
    names = rng.sample(expected.column_names, rng.randrange(1, len(expected.column_names) + 1))
    names.sort(key=expected.column_names.index)
    start = rng.randrange(len(expected) + 1)
    stop = rng.randrange(start, len(expected) + 1)
    part = file.select(names, rows=(start, stop)).to_arrow()
    found = against(part, expected.select(names).slice(start, stop - start), whose)
    if found or not file.info.num_row_groups:
        return found
    group = rng.randrange(file.info.num_row_groups)
    part = file.select(names, row_groups=group).to_arrow()
    sizes = file.row_groups["num_rows"].to_list()
    theirs = expected.select(names).slice(sum(sizes[:group]), sizes[group])
    return against(part, theirs, whose)


def one(seed: int, number: int, folder: Path) -> tuple[str, str | None]:
    rng = random.Random(seed)
    rows = rng.choice([0, 1, 9, 60, 60])
    leaves = rng.sample(list(VALUES), 6)
    table = Tables(seed, leaves, DEPTH).table(rng.randrange(1, 5), rows)
    path = folder / f"{seed}.parquet"
    how = written(rng, table, path)
    try:
        found = differs(rng, path, number, table)
    except Exception as error:  # noqa: BLE001 - the seed belongs to whatever is raised
        found = f"{type(error).__name__}: {error}"
    path.unlink()
    return how, found


def main(first: int, count: int) -> None:
    writers: Counter[str] = Counter()
    print(f"seeds {first} to {first + count - 1}")  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            how, found = one(first + number, number, Path(folder))
            writers[how.partition(",")[0]] += 1
            if found:
                print(f"seed {first + number} ({how}): {found[:1000]}")  # noqa: T201
    print(f"written by {dict(writers)}, refused by {dict(REFUSED)}")  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
