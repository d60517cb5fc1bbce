"""Metadata, a selection and the pages that are known, to a plan. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pqlab import text
from pqlab.errors import CorruptError, SelectionError, UnsupportedError, placed
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.page_headers import HEADER_WINDOW_BYTES
from pqlab.footer.writers import prefixes_reach_back
from pqlab.limits import DEFAULT_LIMITS, Limits
from pqlab.plan.chunks import chunk_ranges
from pqlab.plan.coalesce import coalesce
from pqlab.plan.memory import DELTA_BYTE_ARRAY, estimate
from pqlab.plan.picks import ordinals
from pqlab.plan.plan import ChunkPlan, PageRun, Plan, RowGroupPlan
from pqlab.plan.policy import IOPolicy
from pqlab.plan.ranges import Range, Ranges, intersect, length, union
from pqlab.plan.selection import Narrowed

Pages: TypeAlias = npt.NDArray[np.void]  # rows of the page table (dtype PAGE), of one chunk
ChunkPages: TypeAlias = Mapping[tuple[int, int], Pages]  # by (row group, leaf)

_GUESSED_PAGE_BYTES = 1 << 20  # most writers' target, where no count of pages is known


@dataclass(frozen=True, slots=True)
class PageRows:
    """The data pages of a chunk and the rows of its row group at which they begin.

    `bounds[i]` to `bounds[i + 1]` are the rows of `pages[i]`. The pages are the chunk's first ones;
    all of them, if the last bound is the row group's number of rows.
    """

    pages: Pages
    bounds: npt.NDArray[np.int64]

    def rows(self, page: int) -> Range:
        """The half-open rows of a data page."""
        return int(self.bounds[page]), int(self.bounds[page + 1])

    def covering(self, ranges: Ranges) -> Ranges:
        """The half-open ranges of pages whose rows cover those asked for."""
        starts, stops = np.array(ranges, np.int64).T
        first = np.searchsorted(self.bounds[:-1], starts, "right") - 1
        last = np.searchsorted(self.bounds[:-1], stops, "left")
        return union(zip(first.tolist(), last.tolist(), strict=True))


def page_rows(pages: Pages, num_rows: int) -> PageRows | None:
    """Where a chunk's known data pages begin, in a row group of `num_rows`.

    None if only their levels would tell: of nested v1 pages, and of v2 pages whose headers claim
    rows that the row group does not have, as several writers' do.
    """
    data = pages[pages["page"] >= 0]
    if not len(data):
        return None
    if (data["first_row"] >= 0).all():
        last = int(data["num_rows"][-1])
        stop = num_rows if last < 0 else int(data["first_row"][-1]) + last
        bounds = np.append(data["first_row"], stop)
    elif (data["num_rows"] >= 0).all():
        bounds = np.append(0, np.cumsum(data["num_rows"], dtype=np.int64))
    else:
        return None
    if bounds[0] != 0 or bounds[-1] > num_rows or (np.diff(bounds) < 0).any():
        return None
    return PageRows(data, bounds)


def pick_pages(metadata: FileMetaData, narrowed: Narrowed, pages: ChunkPages) -> Narrowed:
    """The same selection with the pages that were picked turned into rows.

    Raises `SelectionError` for a page that does not exist, `UnsupportedError` for pages whose rows
    are not known.
    """
    rows = dict(narrowed.rows)
    lacking: dict[int, list[bool]] = {}  # leaf -> of each row group: has it none of the pages?
    most: dict[int, int] = {}  # leaf -> the most pages that it has in a row group
    for (row_group, leaf), picked in narrowed.pages.items():
        strict = (row_group, leaf) in narrowed.strict_pages
        with placed(row_group=row_group, column=metadata.leaves[leaf].column):
            known = _known_rows(metadata, pages, row_group, leaf)
            if known is None:
                raise UnsupportedError(
                    "the rows of these pages stand only in their levels: they cannot be picked",
                    hint="Select rows instead",
                )
            chosen = ordinals(picked, len(known.pages), "data page", strict=strict)
        # Slices may be empty; a page picked by its ordinal has to be somewhere.
        by_ordinal = any(isinstance(item, int) for item in picked)
        lacking.setdefault(leaf, []).append(by_ordinal and not chosen)
        most[leaf] = max(most.get(leaf, 0), len(known.pages))
        wanted = union(known.rows(page) for page in chosen)
        rows[row_group] = intersect(rows[row_group], wanted)
    for leaf, lacks in lacking.items():
        if all(lacks):
            raise SelectionError(
                "no selected row group has any of the picked pages",
                hint=f"None has more than {text.plural(most[leaf], 'data page')}, counted from 0",
                column=metadata.leaves[leaf].column,
            )
    rows = {row_group: ranges for row_group, ranges in rows.items() if ranges}
    return Narrowed(narrowed.leaves, rows, {}, frozenset())


def partial_chunks(metadata: FileMetaData, narrowed: Narrowed) -> list[tuple[int, int]]:
    """The (row group, leaf) of which only some rows are wanted: where knowing the pages pays."""
    return [
        (row_group, leaf)
        for row_group, ranges in narrowed.rows.items()
        if length(ranges) < metadata.row_groups.num_rows[row_group]
        for leaf in narrowed.leaves
    ]


def about_pages(metadata: FileMetaData, row_group: int, leaf: int) -> int:
    """About how many data pages a chunk has, at least 1: as its metadata counts, else a guess."""
    row = row_group * metadata.num_leaves + leaf
    counted = int(metadata.chunks.num_data_pages[row])
    size = int(metadata.chunks.total_uncompressed_size[row])
    return counted if counted > 0 else 1 + max(size, 0) // _GUESSED_PAGE_BYTES


def build(
    metadata: FileMetaData,
    narrowed: Narrowed,
    pages: ChunkPages,
    policy: IOPolicy,
    *,
    file: str,
    limits: Limits = DEFAULT_LIMITS,
    engine: str = "cpu",
    engine_reason: str = "asked for",
) -> Plan:
    """The plan of a selection whose picked pages are rows by now (`pick_pages`).

    Every column reads the pages that cover the rows; a chunk whose pages are not in `pages` is
    read whole. Raises what `chunk_ranges` raises, and `CorruptError` for an offset index that
    contradicts its chunk.
    """
    with placed(file=file):
        groups = tuple(
            RowGroupPlan(
                row_group,
                ranges,
                tuple(_chunks(metadata, row_group, narrowed, pages)),
            )
            for row_group, ranges in narrowed.rows.items()
        )
    runs = _wanted(groups)
    unresolved = [
        chunk
        for group in groups
        if length(group.rows) < metadata.row_groups.num_rows[group.row_group]
        for chunk in group.chunks
        if chunk.runs and not chunk.resolved
    ]
    memory = estimate(metadata, narrowed.leaves, groups)
    warnings = []
    if memory.high_bytes > limits.read_bytes:
        warnings.append(
            f"reading is refused: up to {memory.high_bytes:,} bytes decoded is above the limit "
            f"read_bytes = {limits.read_bytes:,}"
        )
    return Plan(
        file=file,
        leaves=narrowed.leaves,
        columns=tuple(metadata.leaves[leaf].column for leaf in narrowed.leaves),
        row_groups=groups,
        requests=coalesce(runs, policy),
        wanted_bytes=length(union(runs)),
        num_rows=sum(length(group.rows) for group in groups),
        unresolved_chunks=len(unresolved),
        unresolved_bytes=sum(
            min(
                about_pages(metadata, chunk.row_group, chunk.leaf) * HEADER_WINDOW_BYTES,
                chunk.wanted_bytes,
            )
            for chunk in unresolved
        ),
        memory_low_bytes=memory.low_bytes,
        memory_high_bytes=memory.high_bytes,
        memory_source=memory.source,
        engine=engine,
        engine_reason=engine_reason,
        warnings=tuple(warnings),
    )


def split(plan: Plan, policy: IOPolicy) -> list[Plan]:
    """The plan in parts of consecutive row groups, of at most `window_bytes` or one row group."""
    if plan.wanted_bytes <= policy.window_bytes:
        return [plan]
    parts: list[list[RowGroupPlan]] = [[]]
    part_bytes = 0
    for group in plan.row_groups:
        wanted_bytes = length(_wanted([group]))
        if parts[-1] and part_bytes + wanted_bytes > policy.window_bytes:
            parts.append([])
            part_bytes = 0
        parts[-1].append(group)
        part_bytes += wanted_bytes
    return [_part(plan, tuple(groups), policy) for groups in parts]


def _part(plan: Plan, groups: tuple[RowGroupPlan, ...], policy: IOPolicy) -> Plan:
    runs = _wanted(groups)
    return replace(
        plan,
        row_groups=groups,
        requests=coalesce(runs, policy),
        wanted_bytes=length(union(runs)),
        num_rows=sum(length(group.rows) for group in groups),
    )


def _wanted(groups: Iterable[RowGroupPlan]) -> list[Range]:
    return [
        (run.start, run.stop) for group in groups for chunk in group.chunks for run in chunk.runs
    ]


def _chunks(
    metadata: FileMetaData, row_group: int, narrowed: Narrowed, pages: ChunkPages
) -> Iterator[ChunkPlan]:
    rows, leaves = narrowed.rows[row_group], narrowed.leaves
    num_rows = int(metadata.row_groups.num_rows[row_group])
    whole = length(rows) == num_rows
    ranges = chunk_ranges(metadata, row_group, leaves)
    at = row_group * metadata.num_leaves + np.array(leaves, int)
    counts = metadata.chunks.num_data_pages[at]
    linked = _need_pages_before(metadata, at)
    for leaf, chunk_range, count, all_pages in zip(
        leaves, ranges, counts.tolist(), linked.tolist(), strict=True
    ):
        known = _known_rows(metadata, pages, row_group, leaf)
        if known is not None and (all_pages or known.bounds[-1] < rows[-1][1]):
            known = None  # a walk that stopped before these rows, or pages that need others
        runs: tuple[PageRun, ...] = ()
        if known is not None and not whole:
            with placed(row_group=row_group, column=metadata.leaves[leaf].column):
                runs = _runs(known, rows, chunk_range)
        elif chunk_range[0] < chunk_range[1]:
            num_pages = count or -1 if known is None else len(known.pages)
            runs = (PageRun(*chunk_range, 0, 0, num_pages),)
        yield ChunkPlan(row_group, leaf, runs, known is not None and not whole)


def _need_pages_before(
    metadata: FileMetaData, rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Whether a page of these chunks may need the values of the one before it."""
    if not prefixes_reach_back(metadata.created_by):
        return np.zeros(len(rows), np.bool_)
    encodings = metadata.chunks.encodings[rows].astype(np.int64)
    linked: npt.NDArray[np.bool_] = (encodings & DELTA_BYTE_ARRAY) != 0
    return linked


def _known_rows(
    metadata: FileMetaData, pages: ChunkPages, row_group: int, leaf: int
) -> PageRows | None:
    known = pages.get((row_group, leaf))
    if known is None:
        return None
    return page_rows(known, int(metadata.row_groups.num_rows[row_group]))


def _runs(known: PageRows, rows: Ranges, chunk_range: Range) -> tuple[PageRun, ...]:
    offset = known.pages["offset"].astype(np.int64)
    stop = offset + known.pages["total_bytes"]
    _check_inside(offset, stop, chunk_range)
    runs = []
    if chunk_range[0] < offset[0]:
        # The dictionary page: whatever stands before the first data page, since the footer may not
        # say where it is.
        runs.append(PageRun(chunk_range[0], int(offset[0]), -1, 0, 0))
    # Pages follow each other without a gap, unless the writer left one.
    breaks = np.flatnonzero(offset[1:] != stop[:-1]) + 1
    for first, last in known.covering(rows):
        inside = breaks[(breaks > first) & (breaks < last)].tolist()
        for start, end in zip([first, *inside], [*inside, last], strict=True):
            runs.append(
                PageRun(
                    int(offset[start]),
                    int(stop[end - 1]),
                    start,
                    int(known.bounds[start]),
                    end - start,
                    int(known.bounds[end] - known.bounds[start]),
                )
            )
    return tuple(runs)


def _check_inside(
    offset: npt.NDArray[np.int64], stop: npt.NDArray[np.int64], chunk_range: Range
) -> None:
    wrong = (offset < chunk_range[0]) | (stop > chunk_range[1]) | (stop <= offset)
    wrong[1:] |= offset[1:] < stop[:-1]
    bad = np.flatnonzero(wrong)
    if len(bad):
        page = int(bad[0])
        raise CorruptError(
            f"the page at bytes {offset[page]:,} to {stop[page]:,} does not lie in its chunk, "
            f"{chunk_range[0]:,} to {chunk_range[1]:,}, after the page before",
            page=page,
            offset=int(offset[page]),
            field="OffsetIndex.page_locations",
        )
