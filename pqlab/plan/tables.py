"""The tables of a plan: what is read of which row groups, chunks and pages, as arrays.

Their rows are the structs of native/plan.cuh, which the engines take as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Rows: TypeAlias = npt.NDArray[np.void]

# `num_rows`: of the row group, whatever is wanted of it.
ROW_GROUP = np.dtype(
    [
        ("num_rows", "<i8"),
        ("row_group", "<i4"),
        ("first_range", "<u4"),
        ("num_ranges", "<u4"),
        ("reserved", "<u4"),
    ]
)

# Rows of a row group that are wanted.
ROW_RANGE = np.dtype([("start", "<i8"), ("stop", "<i8")])

# `num_values`: as the metadata says. `flags`: see below.
CHUNK = np.dtype(
    [
        ("num_values", "<i8"),
        ("first_run", "<u4"),
        ("num_runs", "<u4"),
        ("row_group", "<i4"),
        ("leaf", "<i4"),
        ("codec", "<i4"),
        ("flags", "u1"),
        ("reserved", "u1", 3),
    ]
)
IS_RESOLVED = 1  # the runs are some of its pages; else the one run is all of it

# Consecutive whole pages of a chunk: bytes of the file. `plan.PageRun` says what the cells mean.
RUN = np.dtype(
    [
        ("start", "<i8"),
        ("stop", "<i8"),
        ("first_row", "<i8"),
        ("num_rows", "<i8"),
        ("first_page", "<i4"),
        ("num_pages", "<i4"),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class PlanTables:
    """`row_groups` in file order, each with its `ranges`: sorted, disjoint, none empty.

    `chunks` stand in the order (row group, leaf), as many of each row group as leaves are read;
    each has its `runs` in file order.
    """

    row_groups: Rows  # of dtype ROW_GROUP
    chunks: Rows  # of dtype CHUNK
    runs: Rows  # of dtype RUN
    ranges: Rows  # of dtype ROW_RANGE

    @property
    def arrays(self) -> tuple[Rows, Rows, Rows, Rows]:
        """The tables in the order in which native code takes them."""
        return self.row_groups, self.chunks, self.runs, self.ranges

    @property
    def num_rows(self) -> int:
        """How many rows are wanted."""
        return int((self.ranges["stop"] - self.ranges["start"]).sum())

    def wanted_rows(self) -> npt.NDArray[np.int64]:
        """How many rows are wanted of each row group."""
        counts = self.ranges["stop"] - self.ranges["start"]
        if not len(counts):
            return np.zeros(len(self.row_groups), np.int64)
        sums: npt.NDArray[np.int64] = np.add.reduceat(counts, self.row_groups["first_range"])
        return sums

    def chunk_bytes(self) -> npt.NDArray[np.int64]:
        """Bytes of the runs of each chunk."""
        before = np.append(0, np.cumsum(self.runs["stop"] - self.runs["start"]))
        first = self.chunks["first_run"].astype(np.int64)
        sizes: npt.NDArray[np.int64] = before[first + self.chunks["num_runs"]] - before[first]
        return sizes

    def row_group_bytes(self) -> npt.NDArray[np.int64]:
        """Bytes of the runs of each row group."""
        sizes: npt.NDArray[np.int64] = self.chunk_bytes().reshape(len(self.row_groups), -1).sum(1)
        return sizes

    def part(self, start: int, stop: int) -> PlanTables:
        """The row groups [start, stop), at least one, with what belongs to them."""
        row_groups = self.row_groups[start:stop].copy()
        width = len(self.chunks) // len(self.row_groups)
        chunks = self.chunks[start * width : stop * width].copy()
        ranges = _spanned(self.ranges, row_groups["first_range"], row_groups["num_ranges"])
        runs = _spanned(self.runs, chunks["first_run"], chunks["num_runs"])
        return PlanTables(row_groups, chunks, runs, ranges)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PlanTables):
            return NotImplemented
        return all(map(np.array_equal, self.arrays, other.arrays))

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, field.name).tobytes() for field in fields(self)))


def _spanned(rows: Rows, first: npt.NDArray[np.uint32], count: npt.NDArray[np.uint32]) -> Rows:
    """The rows that consecutive spans cover; the spans, given in place, then count from these."""
    if not len(first):
        return rows[:0]
    start, stop = int(first[0]), int(first[-1] + count[-1])
    first -= np.uint32(start)
    return rows[start:stop]
