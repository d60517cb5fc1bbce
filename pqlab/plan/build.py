"""Metadata, a selection and the pages that are known, to a plan. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pqlab import text
from pqlab.errors import CorruptError, SelectionError, placed
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.page_table import KNOWN_FROM_INDEX, KNOWN_FROM_LEVELS
from pqlab.footer.writers import prefixes_reach_back
from pqlab.limits import DEFAULT_LIMITS, Limits
from pqlab.plan.chunks import whole_chunks
from pqlab.plan.coalesce import coalesce_arrays
from pqlab.plan.memory import DELTA_BYTE_ARRAY, estimate
from pqlab.plan.picks import ordinals
from pqlab.plan.plan import Plan
from pqlab.plan.policy import IOPolicy
from pqlab.plan.ranges import Range, Ranges, intersect, length, union
from pqlab.plan.selection import Narrowed
from pqlab.plan.tables import (
    IS_RESOLVED,
    ROW_GROUP,
    ROW_RANGE,
    RUN,
    PlanTables,
    Rows,
)

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

    @property
    def from_levels(self) -> bool:
        """Whether the rows of the pages were learned from their levels."""
        return bool((self.pages["known_from"] & KNOWN_FROM_LEVELS).any())

    def rows(self, page: int) -> Range:
        """The half-open rows of a data page."""
        return int(self.bounds[page]), int(self.bounds[page + 1])

    def covering(self, ranges: Ranges) -> Ranges:
        """The half-open ranges of pages whose rows cover those asked for."""
        starts, stops = np.array(ranges, np.int64).T
        first = np.searchsorted(self.bounds[:-1], starts, "right") - 1
        last = np.searchsorted(self.bounds[:-1], stops, "left")
        begins = np.append(True, first[1:] > last[:-1])  # the others go on where one before ends
        ends = last[np.append(begins[1:], True)]
        return tuple(zip(first[begins].tolist(), ends.tolist(), strict=True))


def page_rows(pages: Pages, num_rows: int) -> PageRows | None:
    """Where a chunk's known data pages begin, in a row group of `num_rows`.

    None if only their levels would tell: of nested v1 pages, and of v2 pages whose headers claim
    rows that the row group does not have, as several writers' do.
    """
    data = pages[pages["page"] >= 0]
    if not len(data):
        return None
    last = int(data["num_rows"][-1])
    # An index has all pages. Of headers alone these may be the first few, and the first of them
    # begins in row 0 wherever it ends.
    is_whole = bool(data["known_from"][-1] & KNOWN_FROM_INDEX)
    if (data["first_row"] >= 0).all() and (last >= 0 or is_whole):
        stop = num_rows if last < 0 else int(data["first_row"][-1]) + last
        bounds = np.append(data["first_row"], stop)
    elif (data["num_rows"] >= 0).all():
        bounds = np.append(0, np.cumsum(data["num_rows"], dtype=np.int64))
    else:
        return None
    if bounds[0] != 0 or bounds[-1] > num_rows or (np.diff(bounds) < 0).any():
        return None
    return PageRows(data, bounds)


def unknown_rows(
    metadata: FileMetaData, narrowed: Narrowed, pages: ChunkPages
) -> list[tuple[int, int]]:
    """The (row group, leaf) of which pages are picked, and whose rows only their levels tell."""
    return [key for key in narrowed.pages if _known_rows(metadata, pages, *key) is None]


def pick_pages(metadata: FileMetaData, narrowed: Narrowed, pages: ChunkPages) -> Narrowed:
    """The same selection with the pages that were picked turned into rows.

    The rows of a page are those that begin in it. Raises `SelectionError` for a page that does not
    exist, `CorruptError` for pages that do not hold the row group's rows.
    """
    rows = dict(narrowed.rows)
    lacking: dict[int, list[bool]] = {}  # leaf -> of each row group: has it none of the pages?
    most: dict[int, int] = {}  # leaf -> the most pages that it has in a row group
    for (row_group, leaf), picked in narrowed.pages.items():
        strict = (row_group, leaf) in narrowed.strict_pages
        with placed(row_group=row_group, column=metadata.leaves[leaf].column):
            known = _known_rows(metadata, pages, row_group, leaf)
            if known is None:
                raise CorruptError("the pages of this chunk do not hold the row group's rows")
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
        tables = _tables(metadata, narrowed, pages)
    requests, wanted_bytes = coalesce_arrays(tables.runs["start"], tables.runs["stop"], policy)
    wanted_rows = tables.wanted_rows()
    unresolved = _unresolved(tables, wanted_rows)
    memory = estimate(metadata, narrowed.leaves, tables, wanted_rows)
    warnings = []
    if memory.high_bytes > limits.read_bytes:
        warnings.append(
            f"reading is refused: up to {memory.high_bytes:,} bytes decoded is above the limit "
            f"read_bytes = {limits.read_bytes:,}"
        )
    return Plan(
        file=file,
        leaves=narrowed.leaves,
        columns=_columns(metadata, narrowed.leaves),
        tables=tables,
        requests=requests,
        wanted_bytes=wanted_bytes,
        num_rows=int(wanted_rows.sum()),
        unresolved_chunks=len(unresolved),
        unresolved_bytes=_header_bytes(metadata, tables, unresolved, policy),
        memory_low_bytes=memory.low_bytes,
        memory_high_bytes=memory.high_bytes,
        memory_source=memory.source,
        engine=engine,
        engine_reason=engine_reason,
        policy=policy.words,
        warnings=tuple(warnings),
    )


def _columns(metadata: FileMetaData, leaves: tuple[int, ...]) -> tuple[str, ...]:
    return metadata.kept(
        ("column names", leaves), lambda: tuple(metadata.leaves[leaf].column for leaf in leaves)
    )


def whole_row_groups(
    metadata: FileMetaData, leaves: tuple[int, ...], policy: IOPolicy, *, file: str
) -> Plan:
    """The plan of these leaves in all row groups, those without rows included: cut by `part`.

    Raises as `build`.
    """
    rows: dict[int, Ranges] = {
        row_group: ((0, num_rows),)
        for row_group, num_rows in enumerate(metadata.row_groups.num_rows.tolist())
    }
    return build(metadata, Narrowed(leaves, rows, {}, frozenset()), {}, policy, file=file)


def split(plan: Plan, policy: IOPolicy) -> list[Plan]:
    """The plan in parts of consecutive row groups, of at most `window_bytes` or one row group."""
    if plan.wanted_bytes <= policy.window_bytes:
        return [plan]
    starts, part_bytes = [0], 0
    for number, run_bytes in enumerate(plan.tables.row_group_bytes().tolist()):
        if number > starts[-1] and part_bytes + run_bytes > policy.window_bytes:
            starts.append(number)
            part_bytes = 0
        part_bytes += run_bytes
    bounds = pairwise([*starts, len(plan.tables.row_groups)])
    return [part(plan, *bound, policy) for bound in bounds]


def part(plan: Plan, start: int, stop: int, policy: IOPolicy) -> Plan:
    """The plan of its row groups at positions [start, stop); estimates remain those of all."""
    tables = plan.tables.part(start, stop)
    requests, wanted_bytes = coalesce_arrays(tables.runs["start"], tables.runs["stop"], policy)
    return replace(
        plan,
        tables=tables,
        requests=requests,
        wanted_bytes=wanted_bytes,
        num_rows=tables.num_rows,
    )


def _tables(metadata: FileMetaData, narrowed: Narrowed, pages: ChunkPages) -> PlanTables:
    row_groups, ranges = _row_groups(metadata, narrowed)
    first_rows = row_groups["row_group"].astype(np.int64) * metadata.num_leaves
    rows = np.add.outer(first_rows, np.array(narrowed.leaves, np.int64)).ravel()
    chunks, runs = whole_chunks(metadata, rows)
    if pages:
        resolved = _resolved(metadata, narrowed, pages, runs)
        for chunk, of_chunk in resolved.items():
            chunks["flags"][chunk] |= IS_RESOLVED
            chunks["num_runs"][chunk] = len(of_chunk)
        runs = _with_resolved(runs, resolved)
    counts = chunks["num_runs"]
    chunks["first_run"] = np.cumsum(counts) - counts
    if len(runs) != int(counts.sum()):
        runs = runs[runs["start"] < runs["stop"]]  # chunks without bytes have no run
    return PlanTables(row_groups, chunks, runs, ranges)


def _row_groups(metadata: FileMetaData, narrowed: Narrowed) -> tuple[Rows, Rows]:
    """The tables of row groups and of their ranges."""
    row_groups = np.zeros(len(narrowed.rows), ROW_GROUP)
    row_groups["row_group"] = picked = np.fromiter(narrowed.rows, np.int64)
    row_groups["num_rows"] = metadata.row_groups.num_rows[picked]
    counts = np.fromiter(map(len, narrowed.rows.values()), np.int64)
    row_groups["num_ranges"] = counts
    row_groups["first_range"] = np.cumsum(counts) - counts
    ranges = [each for of_group in narrowed.rows.values() for each in of_group]
    return row_groups, np.array(ranges, ROW_RANGE)


def _with_resolved(runs: Rows, resolved: Mapping[int, Rows]) -> Rows:
    """A run for each chunk, and instead of it the runs of those chunks that are resolved."""
    parts, done = [], 0
    for chunk, of_chunk in resolved.items():
        parts += [runs[done:chunk], of_chunk]
        done = chunk + 1
    return np.concatenate([*parts, runs[done:]])


def _resolved(
    metadata: FileMetaData, narrowed: Narrowed, pages: ChunkPages, whole: Rows
) -> dict[int, Rows]:
    """The runs of those chunks of which only known pages are read, by their ordinals, in order.

    `whole`: a run for each chunk that is all of it.
    """
    found: dict[int, Rows] = {}
    leaves = narrowed.leaves
    linked = _need_pages_before(metadata, narrowed)
    for group, (row_group, rows) in enumerate(narrowed.rows.items()):
        if length(rows) == metadata.row_groups.num_rows[row_group]:
            continue
        for chunk, leaf in enumerate(leaves, group * len(leaves)):
            known = _known_rows(metadata, pages, row_group, leaf)
            # A walk may have stopped before these rows; pages may need the values of those before
            # them; and where levels tell the rows, one may go on in the pages behind its own.
            if known is None or known.bounds[-1] < rows[-1][1] or (row_group, leaf) in linked:
                continue
            if known.from_levels:
                continue
            with placed(row_group=row_group, column=metadata.leaves[leaf].column):
                found[chunk] = _runs(known, rows, whole[chunk])
    return found


def _unresolved(tables: PlanTables, wanted_rows: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """The chunks that are read whole though only some rows are wanted."""
    is_partial = wanted_rows < tables.row_groups["num_rows"]
    if not is_partial.any():
        return np.zeros(0, np.intp)
    chunks = tables.chunks
    is_partial = np.repeat(is_partial, len(chunks) // len(is_partial))
    return np.flatnonzero(
        is_partial & (chunks["num_runs"] > 0) & ((chunks["flags"] & IS_RESOLVED) == 0)
    )


def _header_bytes(
    metadata: FileMetaData, tables: PlanTables, chunks: npt.NDArray[np.intp], policy: IOPolicy
) -> int:
    """About how many bytes of page headers would tell the pages of these chunks, read whole."""
    total = 0
    if not len(chunks):
        return total
    for chunk in tables.chunks[chunks]:
        run = tables.runs[chunk["first_run"]]
        headers = about_pages(metadata, int(chunk["row_group"]), int(chunk["leaf"]))
        total += min(headers * policy.header_bytes, int(run["stop"] - run["start"]))
    return total


def _need_pages_before(metadata: FileMetaData, narrowed: Narrowed) -> set[tuple[int, int]]:
    """The chunks of which a page may need the values of the one before it."""
    if not prefixes_reach_back(metadata.created_by):
        return set()
    chunks = [(row_group, leaf) for row_group in narrowed.rows for leaf in narrowed.leaves]
    rows = [row_group * metadata.num_leaves + leaf for row_group, leaf in chunks]
    encodings = metadata.chunks.encodings[rows].astype(np.int64)
    return {chunks[at] for at in np.flatnonzero(encodings & DELTA_BYTE_ARRAY).tolist()}


def _known_rows(
    metadata: FileMetaData, pages: ChunkPages, row_group: int, leaf: int
) -> PageRows | None:
    known = pages.get((row_group, leaf))
    if known is None:
        return None
    return page_rows(known, int(metadata.row_groups.num_rows[row_group]))


def _runs(known: PageRows, rows: Ranges, whole: np.void) -> Rows:
    first_byte, last_byte = int(whole["start"]), int(whole["stop"])
    offset = known.pages["offset"].astype(np.int64)
    stop = offset + known.pages["total_bytes"]
    _check_inside(offset, stop, (first_byte, last_byte))
    runs = []
    if first_byte < offset[0]:
        # The dictionary page: whatever stands before the first data page, since the footer may not
        # say where it is.
        runs.append((first_byte, int(offset[0]), 0, -1, -1, 0))
    # Pages follow each other without a gap, unless the writer left one.
    breaks = np.flatnonzero(offset[1:] != stop[:-1]) + 1
    for first, last in known.covering(rows):
        inside = breaks[(breaks > first) & (breaks < last)].tolist()
        for begin, end in zip([first, *inside], [*inside, last], strict=True):
            num_rows = int(known.bounds[end] - known.bounds[begin])
            place = int(offset[begin]), int(stop[end - 1])
            runs.append((*place, int(known.bounds[begin]), num_rows, begin, end - begin))
    return np.array(runs, RUN)


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
