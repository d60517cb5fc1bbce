"""Who reads, and how: pqlab and its peers, each in every way that might be its fastest.

Each starts from the path and ends with the columns in memory as polars or Arrow has them. A
library is imported when it is asked for, so that a new process has only what it measures.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.decode_rows import Row

if TYPE_CHECKING:
    import pyarrow as pa

Ways = Mapping[str, Callable[[], Any]]

PEERS = ("polars", "pyarrow", "duckdb")

# What a first call would import behind the clock.
_MODULES = {
    "pqlab": (
        *("pqlab.file_selection", "pqlab.dataset", "pqlab.cpu.engine", "pqlab.assemble.arrow"),
        *("pqlab.stream.units", "pqlab.stream.iterator", "pqlab.io.memory"),
    ),
    "polars": ("polars",),
    "pyarrow": ("pyarrow.parquet", "pyarrow.dataset", "pyarrow.compute"),
    "duckdb": ("duckdb", "polars", "pyarrow"),
}


def ways(side: str, row: Row, path: Path) -> Ways:
    """What the side may do for the row, by the name of the way."""
    for module in _MODULES[side]:
        importlib.import_module(module)
    make = (_SUMS if row.sums else _READS)[side]
    return make(str(path), None if row.columns is None else list(row.columns))


def kept_metadata(row: Row, path: Path, peers: Iterable[str]) -> Ways:
    """Reads that are given the file's metadata, of pqlab and of the peers that can keep it."""
    import pqlab

    columns = None if row.columns is None else list(row.columns)
    file = pqlab.open(path, cache=None)
    made: dict[str, Callable[[], Any]] = {"pqlab, metadata kept": lambda: file.read(columns)}
    if "pyarrow" in peers:
        import pyarrow.parquet as pq

        metadata = pq.read_metadata(path)
        made["pyarrow, metadata kept"] = lambda: pq.ParquetFile(
            path, metadata=metadata, pre_buffer=True
        ).read(columns)
    return made


def _pqlab(path: str, columns: list[str] | None) -> Ways:
    import pqlab

    return {"": lambda: pqlab.open(path, cache=None).read(columns)}


def _polars(path: str, columns: list[str] | None) -> Ways:
    import polars as pl

    def scan(**options: Any) -> pl.DataFrame:
        frame = pl.scan_parquet(path)
        found = (frame if columns is None else frame.select(columns)).collect(**options)
        assert isinstance(found, pl.DataFrame)
        return found

    return {
        "read_parquet": lambda: pl.read_parquet(path, columns=columns),
        "read_parquet, parallel row groups": lambda: pl.read_parquet(
            path, columns=columns, parallel="row_groups"
        ),
        "scan, collect": scan,
        "scan, collect streaming": lambda: scan(engine="streaming"),
    }


def _pyarrow(path: str, columns: list[str] | None) -> Ways:
    import pyarrow.parquet as pq

    def way(**options: bool) -> Callable[[], Any]:
        return lambda: pq.read_table(path, columns=columns, **options)

    return {
        ", ".join(f"{name}={value}" for name, value in options.items()): way(**options)
        for options in (
            {"memory_map": memory_map, "pre_buffer": pre_buffer}
            for memory_map, pre_buffer in product((False, True), repeat=2)
        )
    }


def _duckdb(path: str, columns: list[str] | None) -> Ways:
    import duckdb

    wanted = "*" if columns is None else ", ".join(columns)
    query = f"SELECT {wanted} FROM read_parquet('{path}')"

    def relation() -> duckdb.DuckDBPyRelation:
        found = duckdb.sql(query)
        assert found is not None
        return found

    return {"to Arrow": lambda: relation().to_arrow_table(), "to polars": lambda: relation().pl()}


_READS = {"pqlab": _pqlab, "polars": _polars, "pyarrow": _pyarrow, "duckdb": _duckdb}


def _pqlab_sums(path: str, columns: list[str] | None) -> Ways:
    import polars as pl

    import pqlab

    def by_row_groups() -> dict[str, Any]:
        with pqlab.open(path, cache=None).iter_row_groups(columns) as frames:
            return pl.concat([frame.sum() for frame in frames]).sum().row(0, named=True)

    return {"iter_row_groups": by_row_groups}


def _polars_sums(path: str, columns: list[str] | None) -> Ways:
    import polars as pl

    def sums(**options: Any) -> dict[str, Any]:
        found = pl.scan_parquet(path).select(pl.col(columns or []).sum()).collect(**options)
        assert isinstance(found, pl.DataFrame)
        return found.row(0, named=True)

    return {"streaming": lambda: sums(engine="streaming"), "in memory": sums}


def _pyarrow_sums(path: str, columns: list[str] | None) -> Ways:
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    def by_batches() -> dict[str, Any]:
        sums = dict.fromkeys(columns or [], 0.0)
        for batch in ds.dataset(path).to_batches(columns=columns):
            for name in sums:
                sums[name] += pc.sum(batch[name]).as_py() or 0.0
        return sums

    return {"dataset, batches": by_batches}


def _duckdb_sums(path: str, columns: list[str] | None) -> Ways:
    import duckdb

    wanted = ", ".join(f"sum({name}) AS {name}" for name in columns or [])

    def query() -> dict[str, Any]:
        found = duckdb.sql(f"SELECT {wanted} FROM read_parquet('{path}')")
        assert found is not None
        return dict(zip(found.columns, found.fetchall()[0], strict=True))

    return {"query": query}


_SUMS = {
    "pqlab": _pqlab_sums,
    "polars": _polars_sums,
    "pyarrow": _pyarrow_sums,
    "duckdb": _duckdb_sums,
}


def check_equal(ours: Any, theirs: Any, peer: str) -> None:
    """Fail unless both hold the same values; their types may differ, as maps and lists do."""
    if isinstance(ours, dict):
        for name, value in ours.items():
            if abs(value - theirs[name]) > 1e-6 * abs(value):
                raise AssertionError(f"{peer}: the sum of {name} differs")
        return
    table, other = as_arrow(ours), as_arrow(theirs)
    if table.column_names != other.column_names:
        raise AssertionError(f"{peer}: columns {other.column_names}, not {table.column_names}")
    for name in table.column_names:
        if not _equal(table[name].combine_chunks(), other[name].combine_chunks()):
            raise AssertionError(f"{peer}: column {name} differs")


def as_arrow(result: Any) -> pa.Table:
    """A result as Arrow has it, its buffers as they are."""
    import polars as pl
    import pyarrow as pa

    if isinstance(result, pa.Table):
        return result
    return result.to_arrow(compat_level=pl.CompatLevel.newest())


def _equal(array: pa.Array, other: pa.Array) -> bool:
    """Whether both hold the same values. A list's own nulls and lengths come before its values."""
    import pyarrow as pa

    types = pa.types
    if len(array) != len(other) or not array.is_null().equals(other.is_null()):
        return False
    if types.is_struct(array.type):
        pairs = zip(array.flatten(), other.flatten(), strict=True)
        return all(_equal(one, another) for one, another in pairs)
    if not types.is_nested(array.type):
        return bool(array.equals(other if other.type == array.type else other.cast(array.type)))
    mine, its = (_list_parts(each) for each in (array, other))
    return bool(mine[0].equals(its[0])) and _equal(mine[1], its[1])


def _list_parts(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """How many values each list or map has, and those of them all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_map(array.type):
        entry = pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])
        array = array.cast(pa.list_(entry))
    return pc.list_value_length(array).cast(pa.int64()), array.flatten()
