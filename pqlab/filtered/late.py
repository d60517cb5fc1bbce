"""Late reading: first the columns that the predicate looks at, then what is left of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from pqlab import text
from pqlab.plan.ranges import Ranges, length
from pqlab.stream.options import ReadOptions

if TYPE_CHECKING:
    from pqlab.filtered.selection import FilteredSelection

Positions = npt.NDArray[np.int64]

# Reading twice pays where the other columns have so many times the bytes that a request is worth.
_WORTH_REQUESTS = 4
# The others are read of the rows that are left, if these are no more than that share.
_MOST_SHARE = 0.5
# A range takes about 3 us to plan and decode, a row of four columns about 10 ns to decode and drop:
# ranges that are nearer to each other are read as one, and filtered. With more than `_MOST_RANGES`
# the second number counts.
_NEAR_ROWS = (256, 4_096)
_MOST_RANGES = 20_000


@dataclass(frozen=True, slots=True)
class Found:
    """`frame`: the `height` rows for which the predicate holds; it may have no columns.

    `rows`: which these are, counted over the file, where it was asked for.
    """

    frame: pl.DataFrame
    height: int
    rows: Positions | None


@dataclass(frozen=True, slots=True)
class LateRead:
    """A read of a filtered selection in two steps: `first` leaves, then `others`; or in one."""

    selection: FilteredSelection
    first: tuple[int, ...]
    others: tuple[int, ...]
    words: str
    is_certain: bool = False  # the predicate holds for all that is read, and is not applied

    def read(self, options: ReadOptions, *, with_rows: bool = False) -> Found:
        """Read; `with_rows`: say which rows were found."""
        selection, rows = self.selection, self.selection.rows
        frame = selection.picked(self.first, rows).read(**options)
        if self.is_certain:
            every = np.arange(frame.height)
            return Found(frame, frame.height, places(selection).rows(every) if with_rows else None)
        height = frame.height
        if not self.first:
            height = sum(map(length, rows.values()))
        mask = selection.mask(frame, height=height)
        count = int(mask.sum())
        positions = None
        if with_rows:
            positions = places(selection).rows(np.flatnonzero(mask.to_numpy()))
        if count < height and self.first:
            frame = frame.filter(mask)
        if self.others:
            frame = self._with_others(frame, mask, count, options)
        return Found(selection.narrowed(frame), count, positions)

    def _with_others(
        self, frame: pl.DataFrame, mask: pl.Series, count: int, options: ReadOptions
    ) -> pl.DataFrame:
        """`frame`, filtered by now, and the other columns beside it, in the file's order."""
        selection, rows = self.selection, self.selection.rows
        if count > _MOST_SHARE * len(mask):
            others = selection.picked(self.others, rows).read(**options)
            others = others if count == len(mask) else others.filter(mask)
        else:
            wanted = mask.to_numpy()
            spans, exact = spans_of(np.flatnonzero(wanted))
            picked = places(selection).ranges(spans) if count else {}
            others = selection.picked(self.others, picked).read(**options)
            if not exact:
                parts = [wanted[start:stop] for start, stop in spans.tolist()]
                others = others.filter(pl.Series(np.concatenate(parts)))
        columns = {column.name: column for column in (*frame, *others)}
        roots = [child.name for child in selection.asked.file.schema.children]
        return pl.DataFrame([columns[name] for name in roots if name in columns])


def late_read(selection: FilteredSelection) -> LateRead:
    """Whether columns are read late, and which."""
    looked_at = selection.where.columns
    metadata, leaves = selection.asked.file.metadata, selection.leaves
    everything = LateRead(selection, leaves, (), "")
    asked = selection.asked.narrowed.leaves
    if selection.pruned is not None and selection.pruned.is_certain and asked and selection.rows:
        return LateRead(
            selection, asked, (), "no: all rows that are left are wanted", is_certain=True
        )
    if selection.where.predicate is None or looked_at is None:
        return everything
    names = {path[0] for path in looked_at}
    roots = selection.picked(leaves, {}).roots()
    is_first = [metadata.leaves[root[0]].path[0] in names for root in roots]
    first = tuple(leaf for root, now in zip(roots, is_first, strict=True) if now for leaf in root)
    others = tuple(leaf for leaf in leaves if leaf not in first)
    if not first or not others:
        return everything
    size = _bytes_of(selection, others)
    worth = _WORTH_REQUESTS * selection.asked.file.io.gap_bytes
    columns = text.plural(len(others), "other leaf column")
    if size < worth:
        words = f"no: {columns} of about {text.size(size)} are not worth another request"
        return LateRead(selection, leaves, (), words)
    words = (
        f"{', '.join(metadata.leaves[leaf].column for leaf in first)} first; {columns} of about "
        f"{text.size(size)} then, of the rows that are left if these are at most {_MOST_SHARE:.0%}"
    )
    return LateRead(selection, first, others, words)


def _bytes_of(selection: FilteredSelection, leaves: tuple[int, ...]) -> int:
    """About how many bytes of these leaves the rows take."""
    metadata, total = selection.asked.file.metadata, 0.0
    for row_group, ranges in selection.rows.items():
        rows = row_group * metadata.num_leaves + np.array(leaves, np.int64)
        sizes = np.maximum(metadata.chunks.total_compressed_size[rows].astype(np.int64), 0)
        share = sum(stop - start for start, stop in ranges)
        total += float(sizes.sum()) * share / max(int(metadata.row_groups.num_rows[row_group]), 1)
    return int(total)


def places(selection: FilteredSelection) -> Places:
    """Of the rows of a selection that are left to be filtered."""
    first_rows = selection.asked.file.metadata.row_groups.first_row.astype(np.int64)
    return Places(first_rows, selection.rows)


class Places:
    """Positions among the rows that are read, and what these are in the file."""

    def __init__(self, first_rows: Positions, rows: Mapping[int, Ranges]) -> None:
        """`first_rows` of all row groups; `rows` by row group, in the order that is read."""
        table = [(group, *ends) for group, ranges in rows.items() for ends in ranges]
        self._groups, self._starts, stops = np.array(table, np.int64).reshape(-1, 3).T
        self._ends = np.cumsum(stops - self._starts)  # positions behind each range
        self._begins = self._ends - (stops - self._starts)
        self._first_rows = first_rows

    def rows(self, positions: Positions) -> Positions:
        """The rows, counted over the file."""
        of = np.searchsorted(self._ends, positions, "right")
        within: Positions = positions - self._begins[of] + self._starts[of]
        return within + self._first_rows[self._groups[of]]

    def ranges(self, spans: Positions) -> dict[int, Ranges]:
        """Spans [start, stop) of positions, sorted and disjoint, as ranges by row group."""
        edges = np.unique(np.concatenate([spans.ravel(), self._begins]))
        at = np.searchsorted(spans[:, 0], edges[:-1], "right") - 1
        inside = (at >= 0) & (edges[:-1] < spans[np.maximum(at, 0), 1])
        starts, stops = edges[:-1][inside], edges[1:][inside]
        of = np.searchsorted(self._ends, starts, "right")
        shift = self._starts[of] - self._begins[of]
        groups = self._groups[of].tolist()
        found: dict[int, list[tuple[int, int]]] = {}
        pairs = zip((starts + shift).tolist(), (stops + shift).tolist(), strict=True)
        for group, ends in zip(groups, pairs, strict=True):
            found.setdefault(group, []).append(ends)
        return {group: tuple(ranges) for group, ranges in found.items()}


def spans_of(positions: Positions) -> tuple[Positions, bool]:
    """Spans [start, stop) that cover sorted positions, an array of pairs; whether that is all."""
    gaps = np.diff(positions)
    breaks = np.flatnonzero(gaps > _NEAR_ROWS[0])
    if len(breaks) >= _MOST_RANGES:
        breaks = np.flatnonzero(gaps > _NEAR_ROWS[1])
    exact = len(breaks) == np.count_nonzero(gaps > 1)
    if not len(positions):
        return np.empty((0, 2), np.int64), True
    starts = positions[np.append(0, breaks + 1)]
    stops = positions[np.append(breaks, len(positions) - 1)] + 1
    return np.stack([starts, stops], axis=1), exact
