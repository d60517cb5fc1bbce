"""Nested columns on a device: their pages' levels, then tiles of entries, counted and filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pqlab.cpu.columns import LeafColumn
from pqlab.errors import PqlabError
from pqlab.gpu.launch import Launcher
from pqlab.gpu.layout import Layout
from pqlab.gpu.memory import download, upload
from pqlab.gpu.work import (
    KEPT,
    NESTED_COUNTS,
    NESTED_ENDS,
    STAGES,
    TILE,
    TILE_ROWS,
    Ints,
    Rows,
    tiles_of,
)
from pqlab.native import _native

_WORDS = TILE_ROWS // 32 * 4  # bytes of a tile's marks


@dataclass(slots=True, eq=False)
class NestedColumn:
    """A nested column's part of the read.

    `span`: its tiles among all; `first`: of each depth and tile the first slot; `slots`: of each
    depth all of them. `page_slots`: of each of its `pages` the innermost.
    """

    ordinal: int
    leaf: LeafColumn
    pages: Ints
    span: slice
    slots: list[int]
    first: list[Ints]
    page_slots: Ints

    @property
    def levels(self) -> tuple[int, ...]:
        """By depth, the definition level of the list; rows are at depth 0."""
        return (0, *self.leaf.nesting.list_levels)


class NestedColumns:
    """The nested columns of a read, from levels to the places of their values.

    `error`: what is wrong with the rows of pages, raised if their values are right.
    """

    def __init__(
        self, launcher: Launcher, layout: Layout, leaves: Sequence[LeafColumn], levels: Any
    ) -> None:
        self.launcher, self.layout, self.levels = launcher, layout, levels
        self.error: PqlabError | None = None
        self.columns: list[NestedColumn] = []
        tiles: list[Rows] = []
        start = 0
        for ordinal, leaf in enumerate(leaves):
            if not leaf.is_nested:
                continue
            pages = np.flatnonzero(layout.is_data & (layout.column == ordinal))
            nothing = np.zeros(len(pages), np.int64)
            tiles.append(tiles_of(nothing, layout.works["num_values"][pages], nothing, pages))
            span = slice(start, start + len(tiles[-1]))
            start = span.stop
            self.columns.append(NestedColumn(ordinal, leaf, pages, span, [], [], nothing))
        self.tiles = np.concatenate([np.zeros(0, TILE), *tiles])

    def read_levels(self, bytes_: Any) -> None:
        """Decode the levels of all pages, and check them."""
        launcher, layout = self.launcher, self.layout
        self.ends = launcher.device.zeros(max(len(layout.works), 1) * 8, np.uint8)
        for column in self.columns:
            (needed,) = upload(launcher.device, [np.array(column.levels, np.uint32)])
            errors = [launcher.errors[stage] for stage in STAGES[2:4]]
            launcher.pages(
                "read_nested_levels",
                column.pages,
                "repetition level",
                [*errors, needed, bytes_, self.levels, launcher.states, self.ends],
            )

    def count(self, pages: _native.DevicePages) -> None:
        """Find which entries are kept, and how many slots they begin."""
        launcher, layout = self.launcher, self.layout
        device = launcher.device
        counts = device.empty(len(self.tiles) * 8, np.uint8)
        (self.device_tiles,) = upload(device, [self.tiles])
        launcher.tiles("count_entries", self.device_tiles, self.levels, [counts])
        ends = download(device, self.ends, NESTED_ENDS)[: len(layout.works)]
        before = _before(download(device, counts, NESTED_COUNTS), self.tiles["page"])
        try:
            rows = ends["rows"].astype(np.uint64)
            first, last = (
                np.ascontiguousarray(ends[name]) for name in ("first_repetition", "last_definition")
            )
            kept = pages.kept(rows, first, last).view(KEPT)
        except PqlabError as error:
            self.error, kept = error, np.zeros(0, KEPT)
        page = kept["page"].astype(np.int64)
        num_kept = np.bincount(page, minlength=len(layout.works))
        first_kept = np.searchsorted(page, np.arange(len(layout.works)))
        self.is_cut = num_kept != 1
        self.is_cut[page[kept["stop"] != np.uint64((1 << 64) - 1)]] = True
        self.words = device.empty(len(self.tiles) * _WORDS, np.uint8)
        parts = upload(
            device, [kept, first_kept.astype(np.uint32), num_kept.astype(np.uint32), before]
        )
        self.before = parts[3]
        launcher.tiles(
            "mark_entries", self.device_tiles, self.levels, [*parts[:3], self.before, self.words]
        )
        self._count_slots(pages)

    def _count_slots(self, pages: _native.DevicePages) -> None:
        launcher = self.launcher
        slots_of_pages: list[tuple[int, ...]] = [()] * len(self.layout.works)
        for column in self.columns:
            num_tiles = column.span.stop - column.span.start
            found = launcher.device.empty(num_tiles * len(column.levels) * 4, np.uint8)
            for depth, level in enumerate(column.levels):
                part = found[depth * num_tiles * 4 : (depth + 1) * num_tiles * 4]
                numbers = [np.uint32(depth), np.uint32(level)]
                self._tiles("count_slots", column, [*numbers, part])
            counts = download(launcher.device, found, np.uint32).astype(np.int64)
            counts = counts.reshape(len(column.levels), num_tiles)
            ends = np.cumsum(counts, axis=1)
            column.first = list(ends - counts)
            column.slots = counts.sum(axis=1).tolist()
            page = self.tiles["page"][column.span].astype(np.int64)
            of_pages = np.zeros((len(column.levels), len(self.layout.works)), np.int64)
            for depth in range(len(column.levels)):
                np.add.at(of_pages[depth], page, counts[depth])
            column.page_slots = of_pages[-1][column.pages]
            for at in column.pages.tolist():
                slots_of_pages[at] = tuple(of_pages[:, at].tolist())
        pages.lay_out(slots_of_pages)

    def fill(self, column: NestedColumn, offsets: list[Any], groups: list[Any]) -> Any:
        """Fill offsets and groups' bits; gives, of each innermost slot, where its value is."""
        device = self.launcher.device
        nesting, levels = column.leaf.nesting, column.levels
        firsts = upload(device, [first.astype(np.uint64) for first in column.first])
        for depth in range(1, len(levels)):
            numbers = [np.uint32(each) for each in (depth, levels[depth - 1], levels[depth])]
            arrays = [firsts[depth - 1], firsts[depth], offsets[depth - 1]]
            self._tiles("fill_offsets", column, [*numbers, *arrays])
        for (depth, level), bits in zip(nesting.groups, groups, strict=True):
            numbers = [np.uint32(each) for each in (depth, levels[depth], level)]
            self._tiles("fill_group", column, [*numbers, firsts[depth], bits])
        positions = device.empty(max(column.slots[-1], 1) * 4, np.uint8)
        numbers = [np.uint32(len(levels) - 1), np.uint32(levels[-1])]
        before = self.before[column.span.start * 8 : column.span.stop * 8]
        self._tiles("fill_positions", column, [*numbers, before, firsts[-1], positions])
        return positions

    def _tiles(self, kernel: str, column: NestedColumn, arguments: list[Any]) -> None:
        """Launch for the column's tiles; their marks are the first of the arguments."""
        start, stop = column.span.start, column.span.stop
        size = TILE.itemsize
        tiles = self.device_tiles[start * size : stop * size]
        words = self.words[start * _WORDS : stop * _WORDS]
        self.launcher.tiles(kernel, tiles, self.levels, [words, *arguments])


def _before(counts: Rows, page: Ints) -> Rows:
    """What is in the tiles of each page before each of its tiles."""
    before = np.zeros(len(counts), NESTED_COUNTS)
    _, first, inverse = np.unique(page, return_index=True, return_inverse=True)
    for name in ("rows", "values"):
        ends = np.cumsum(counts[name].astype(np.int64))
        starts = ends - counts[name]
        before[name] = starts - starts[first][inverse] if len(counts) else 0
    return before
