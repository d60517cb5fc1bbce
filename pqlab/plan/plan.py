"""A plan: the frozen, printable answer to "what would this selection read?"."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PageRun:
    """Consecutive whole pages of one chunk, in bytes [start, stop) of the file.

    The engine walks the page headers inside. `first_page` is the ordinal of the run's first data
    page, `first_row` the row of the row group at which that page starts. A run of the dictionary
    page alone has `first_page` -1. A run may begin with the dictionary page (a whole chunk does).
    """

    start: int
    stop: int
    first_page: int
    first_row: int


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """What is read of one column chunk: `runs` in file order, the dictionary page first.

    `resolved`: the pages are known; else the one run is the whole chunk.
    """

    row_group: int
    leaf: int
    runs: tuple[PageRun, ...]
    resolved: bool


@dataclass(frozen=True, slots=True)
class RowGroupPlan:
    """What is read of one row group. `rows`: half-open ranges within it, sorted and disjoint."""

    row_group: int
    rows: tuple[tuple[int, int], ...]
    chunks: tuple[ChunkPlan, ...]  # in the order of Plan.leaves


@dataclass(frozen=True)
class Plan:
    """Input of the engines, preview of the widgets, and `selection.plan()` for people.

    `leaves`: leaf ordinals in output order. `requests`: byte ranges [start, stop) to ask the source
    for, sorted, disjoint. Sizes in bytes; an estimate is (low, high, source of the estimate).
    """

    file: str
    leaves: tuple[int, ...]
    columns: tuple[str, ...]
    row_groups: tuple[RowGroupPlan, ...]
    requests: tuple[tuple[int, int], ...]
    wanted_bytes: int
    num_rows: int
    unresolved_chunks: int
    unresolved_bytes: int  # what reading the page headers of those chunks would take
    memory_low_bytes: int
    memory_high_bytes: int
    memory_source: str
    engine: str
    engine_reason: str
    warnings: tuple[str, ...] = field(default=())
