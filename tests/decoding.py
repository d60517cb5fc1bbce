"""Reads whole files by the CPU engine, from bytes in memory and a plan of whole chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from pqlab.assemble import arrow
from pqlab.cpu import engine
from pqlab.footer.metadata import FileMetaData, parse_file_metadata
from pqlab.plan.plan import ChunkPlan, PageRun, Plan, RowGroupPlan

Ranges = Sequence[tuple[int, int]]


class InMemory:
    def __init__(self, data: bytes) -> None:
        self.data = np.frombuffer(data, np.uint8)

    def view(self, start: int, stop: int) -> np.ndarray:
        return self.data[start:stop]


def metadata_of(data: bytes) -> FileMetaData:
    length = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - length
    return parse_file_metadata(data[start:-8], start)


def chunk_range(metadata: FileMetaData, row_group: int, leaf: int) -> tuple[int, int]:
    row = metadata.chunk_row(row_group, leaf)
    start = int(metadata.chunks.data_page_offset[row])
    dictionary = int(metadata.chunks.dictionary_page_offset[row])
    if 0 < dictionary < start:
        start = dictionary
    return start, start + int(metadata.chunks.total_compressed_size[row])


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
    groups = tuple(
        RowGroupPlan(
            row_group,
            tuple(ranges),
            tuple(
                ChunkPlan(
                    row_group,
                    leaf,
                    (PageRun(*chunk_range(metadata, row_group, leaf), 0, 0),),
                    resolved=False,
                )
                for leaf in leaves
            ),
        )
        for row_group, ranges in rows.items()
    )
    return Plan(
        file="memory",
        leaves=tuple(leaves),
        columns=tuple(metadata.leaves[leaf].column for leaf in leaves),
        row_groups=groups,
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


def read_columns(
    data: bytes,
    leaves: Sequence[int] | None = None,
    rows: dict[int, Ranges] | None = None,
    **options: Any,
) -> list[engine.DecodedColumn]:
    metadata = metadata_of(data)
    return engine.read(plan_of(metadata, leaves, rows), metadata, InMemory(data), **options)


def read_table(data: bytes, leaves: Sequence[int] | None = None, **options: Any) -> pa.Table:
    """`options`: of `read_columns`."""
    columns = read_columns(data, leaves, **options)
    return arrow.to_table(columns, columns[0].num_rows if columns else 0)


def read_frame(data: bytes, leaves: Sequence[int] | None = None, **options: Any) -> pl.DataFrame:
    return arrow.to_frame(read_columns(data, leaves, **options))
