"""Reads whole files by the CPU engine, from bytes in memory and a plan of whole chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from pqlab.assemble import arrow
from pqlab.cpu import engine
from pqlab.errors import placed
from pqlab.footer.metadata import FileMetaData, parse_file_metadata
from pqlab.footer.schema import SchemaNode
from pqlab.native._native import Decoded
from pqlab.plan.plan import PageRun, Plan
from pqlab.plan.tables import CHUNK, IS_RESOLVED, ROW_GROUP, ROW_RANGE, RUN, PlanTables

Ranges = Sequence[tuple[int, int]]


class InMemory:
    def __init__(self, data: bytes) -> None:
        self.data = np.frombuffer(data, np.uint8)

    @property
    def pieces(self) -> list[tuple[int, np.ndarray]]:
        return [(0, self.data)]

    def view(self, start: int, stop: int) -> np.ndarray:
        return self.data[start:stop]

    @property
    def buffers(self) -> list[tuple[int, np.ndarray]]:
        return [(0, self.data)]


@dataclass(frozen=True)
class Column:
    """A decoded column whose root is a leaf."""

    leaf: SchemaNode
    array: pa.Array

    @property
    def view_buffer_sizes(self) -> list[int]:
        return [part.size for part in self.array.buffers()[2:]]


def to_array(column: Column) -> pa.Array:
    return column.array


def to_series(column: Column) -> pl.Series:
    return pl.Series(column.leaf.name, pl.from_arrow(column.array))


def metadata_of(data: bytes) -> FileMetaData:
    length = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - length
    return _parsed(data[start:-8], start)


@lru_cache(64)  # files of the same footer are read again and again
def _parsed(footer: bytes, start: int) -> FileMetaData:
    return parse_file_metadata(footer, start)


def chunk_range(metadata: FileMetaData, row_group: int, leaf: int) -> tuple[int, int]:
    row = metadata.chunk_row(row_group, leaf)
    start = int(metadata.chunks.data_page_offset[row])
    dictionary = int(metadata.chunks.dictionary_page_offset[row])
    if 0 < dictionary < start:
        start = dictionary
    stop = start + int(metadata.chunks.total_compressed_size[row])
    file_bytes = metadata.footer_offset + metadata.footer_bytes + 8
    start = min(start, file_bytes)
    return start, max(start, min(stop, file_bytes))


def tables_of(
    metadata: FileMetaData,
    leaves: Sequence[int],
    rows: dict[int, Ranges],
    chunks: Sequence[Sequence[PageRun]],
    *,
    resolved: bool = False,
) -> PlanTables:
    """`chunks`: the runs of each, in the order (row group, leaf)."""
    rows = {group: [r for r in ranges if r[0] < r[1]] for group, ranges in rows.items()}
    num_rows = metadata.row_groups.num_rows
    groups, first_range = [], 0
    for group, ranges in rows.items():
        groups.append((int(num_rows[group]), group, first_range, len(ranges), 0))
        first_range += len(ranges)
    cells, first_run = [], 0
    places = [(group, leaf) for group in rows for leaf in leaves]
    for (group, leaf), runs in zip(places, chunks, strict=True):
        row = metadata.chunk_row(group, leaf)
        num_values = int(metadata.chunks.num_values[row])
        codec = int(metadata.chunks.codec[row])
        flags = IS_RESOLVED if resolved else 0
        cells.append((num_values, first_run, len(runs), group, leaf, codec, flags, (0, 0, 0)))
        first_run += len(runs)
    runs_of_all = [
        (run.start, run.stop, run.first_row, run.num_rows, run.first_page, run.num_pages)
        for runs in chunks
        for run in runs
    ]
    return PlanTables(
        np.array(groups, ROW_GROUP),
        np.array(cells, CHUNK),
        np.array(runs_of_all, RUN),
        np.array([each for ranges in rows.values() for each in ranges], ROW_RANGE),
    )


def plan_of(
    metadata: FileMetaData,
    leaves: Sequence[int] | None = None,
    rows: dict[int, Ranges] | None = None,
) -> Plan:
    """`rows`: ranges of row groups; default: all rows of all of them."""
    leaves = list(range(metadata.num_leaves)) if leaves is None else list(leaves)
    if rows is None:
        counts = metadata.row_groups.num_rows.tolist()
        rows = {at: [(0, count)] for at, count in enumerate(counts)}
    chunks = [
        [PageRun(*chunk_range(metadata, row_group, leaf), 0, 0)]
        for row_group in rows
        for leaf in leaves
    ]
    tables = tables_of(metadata, leaves, rows, chunks)
    return Plan(
        file="memory",
        leaves=tuple(leaves),
        columns=tuple(metadata.leaves[leaf].column for leaf in leaves),
        tables=tables,
        requests=(),
        wanted_bytes=0,
        num_rows=sum(stop - start for ranges in rows.values() for start, stop in ranges),
        unresolved_chunks=0,
        unresolved_bytes=0,
        memory_low_bytes=0,
        memory_high_bytes=0,
        memory_source="",
        engine="cpu",
        engine_reason="",
    )


def decode(
    data: bytes,
    leaves: Sequence[int] | None = None,
    rows: dict[int, Ranges] | None = None,
    **options: Any,
) -> Decoded:
    metadata = metadata_of(data)
    return engine.read(plan_of(metadata, leaves, rows), metadata, InMemory(data), **options)


def read_columns(
    data: bytes,
    leaves: Sequence[int] | None = None,
    rows: dict[int, Ranges] | None = None,
    **options: Any,
) -> list[Column]:
    """`options`: of `decode`. Of leaves that are columns by themselves."""
    metadata = metadata_of(data)
    with placed(file="memory"):
        table = arrow.to_table([decode(data, leaves, rows, **options)])
    arrays = [column.chunk(0) for column in table.columns]
    picked = range(metadata.num_leaves) if leaves is None else leaves
    return [
        Column(metadata.leaves[leaf], array) for leaf, array in zip(picked, arrays, strict=True)
    ]


def read_table(data: bytes, leaves: Sequence[int] | None = None, **options: Any) -> pa.Table:
    """`options`: of `decode`."""
    return arrow.to_table([decode(data, leaves, **options)])


def read_frame(data: bytes, leaves: Sequence[int] | None = None, **options: Any) -> pl.DataFrame:
    return arrow.to_frame([decode(data, leaves, for_polars=True, **options)])
