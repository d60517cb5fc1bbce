"""The GPU engine: drives kernels over a plan, on whatever device it is given."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from pqlab.cpu.columns import InvalidUtf8, LeafColumn, Strings, columns_of
from pqlab.cpu.engine import FetchedBytes, located
from pqlab.errors import PqlabError
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.types import Int96Unit
from pqlab.footer.writers import left_is_compressed_false, prefixes_reach_back
from pqlab.gpu.device import Device
from pqlab.gpu.frame import DeviceFrame
from pqlab.gpu.launch import Launcher
from pqlab.gpu.layout import Emission, Layout, lay_out
from pqlab.gpu.memory import check_budget, download, upload
from pqlab.gpu.nested import NestedColumn, NestedColumns
from pqlab.gpu.outputs import Outputs
from pqlab.gpu.results import Emitted, to_frame, to_host
from pqlab.gpu.steps import REFUSING
from pqlab.gpu.work import (
    JOINED_SIZES,
    NOTHING_WRONG,
    PAGE_STATE,
    SLACK_BYTES,
    STAGES,
    Pieces,
    Rows,
    looks_at,
    offsets,
    pieces_of,
    tiles_of,
)
from pqlab.limits import DEFAULT_LIMITS, Limits
from pqlab.native import _native
from pqlab.plan.plan import Plan


class Options(TypedDict, total=False):
    """The keyword arguments of `read`, as of the CPU engine's."""

    workers: int | None
    verify_checksums: bool
    invalid_utf8: InvalidUtf8
    int96_unit: Int96Unit
    strings: Strings
    for_polars: bool
    limits: Limits
    device_memory_limit: int | None


def read(
    plan: Plan,
    metadata: FileMetaData,
    source: FetchedBytes,
    device: Device,
    **options: Unpack[Options],
) -> _native.Decoded:
    """Decode the plan's pages into columns of `plan.num_rows` rows, which end in host memory.

    Raises as the CPU engine's `read`, and `OutOfDeviceMemoryError`.
    """
    try:
        return to_host(_Read(plan, metadata, source, device, **options).run())
    except PqlabError as error:
        raise located(error, metadata, plan.file) from None


def read_frame(
    plan: Plan,
    metadata: FileMetaData,
    source: FetchedBytes,
    device: Device,
    **options: Unpack[Options],
) -> DeviceFrame:
    """As `read`, into columns that stay on the device. Raises as `read`, and `LimitError`."""
    try:
        reading = _Read(plan, metadata, source, device, **options)
        return to_frame(reading.run(), reading.columns)
    except PqlabError as error:
        raise located(error, metadata, plan.file) from None


class _Read:
    """One read: its pages, and what of them is where on the device."""

    def __init__(
        self,
        plan: Plan,
        metadata: FileMetaData,
        source: FetchedBytes,
        device: Device,
        *,
        workers: int | None = None,
        verify_checksums: bool = False,
        invalid_utf8: InvalidUtf8 = "error",
        int96_unit: Int96Unit = "ns",
        strings: Strings = "string",
        for_polars: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        device_memory_limit: int | None = None,
    ) -> None:
        columns = columns_of(metadata, plan.leaves, int96_unit, invalid_utf8, strings)
        self.device, self.columns = device, columns
        # Codes of text are made of it on the host.
        self.leaves = [
            leaf._replace(kind="TEXT") if leaf.kind == "CODES" else leaf for leaf in columns.leaves
        ]
        self.pages = _native.DevicePages(
            columns.native,
            plan.tables.arrays,
            source.buffers,
            workers=workers or len(os.sched_getaffinity(0)),
            verify_checksums=verify_checksums,
            is_compressed_is_wrong=left_is_compressed_false(metadata.created_by),
            prefixes_reach_back=prefixes_reach_back(metadata.created_by),
            for_polars=for_polars,
            page_bytes=limits.page_bytes,
            read_bytes=limits.read_bytes,
        )
        tables = plan.tables
        self.layout = lay_out(self.pages, tables.chunks["codec"], self.leaves)
        self.num_rows = tables.num_rows
        check_budget(self.layout, self.leaves, self.num_rows, device, device_memory_limit)
        self.flat = _flat_pieces(self.layout, self.pages, self.leaves, tables)

    def run(self) -> Emitted:
        """Launch all, and raise what is found wrong."""
        self._upload()
        self._decompress()
        self._read_levels()
        self._list_values()
        if self.nested.columns:
            self.nested.count(self.pages)
        self._join_values()
        self.outputs = Outputs(self.device, self.leaves, self.num_rows, self._nested_columns())
        self._emit_entries()
        for ordinal in range(len(self.leaves)):
            self._emit_column(ordinal)
        self._raise_errors()
        return self._emitted()

    def _upload(self) -> None:
        """Stage the pages in host memory, and take the device's."""
        device, layout = self.device, self.layout
        self.staged = device.pinned_empty(layout.staged_bytes + SLACK_BYTES)
        self.pages.stage(layout.staged_to, layout.on_device, self.staged)
        self.bytes = device.zeros(max(layout.bytes_bytes, layout.staged_bytes) + 16, np.uint8)
        device.upload(self.staged, self.bytes[: len(self.staged)])
        nothing_wrong = np.full(len(layout.works) * len(STAGES), NOTHING_WRONG, np.uint64)
        works, self.blocks, self.errors = upload(
            device, [layout.works, layout.blocks, nothing_wrong]
        )
        size = 8 * len(layout.works)
        errors = {
            stage: self.errors[at * size : (at + 1) * size] for at, stage in enumerate(STAGES)
        }
        states = device.zeros(len(layout.works) * PAGE_STATE.itemsize, np.uint8)
        self.launcher = Launcher(device, works, states, errors)
        self.bitmaps = device.zeros(layout.bitmap_bytes, np.uint8)
        self.ranks = device.empty(layout.rank_bytes, np.uint8)
        zeroed = "read_booleans" in layout.listed
        take = device.zeros if zeroed else device.empty
        self.records = take(layout.record_bytes, np.uint8)
        self.entries = device.empty(layout.entry_bytes, np.uint8)
        self.used = device.zeros(4 * len(layout.works), np.uint8)
        levels = device.zeros(
            layout.level_bytes, np.uint8
        )  # of wrong pages they are looked at, too
        self.nested = NestedColumns(self.launcher, layout, self.leaves, levels)

    def _decompress(self) -> None:
        for kernel, pages in self.layout.decompressed.items():
            self.launcher.pages(kernel, pages, "block", [self.blocks, self.bytes])

    def _read_levels(self) -> None:
        layout = self.layout
        nested = np.array([leaf.is_nested for leaf in self.leaves], np.bool_)[layout.column]
        flat = np.flatnonzero(~(nested & layout.is_data))
        arguments = [self.bytes, self.bitmaps, self.ranks, self.launcher.states]
        self.launcher.pages("read_levels", flat, "definition level", arguments)
        self.nested.read_levels(self.bytes)

    def _list_values(self) -> None:
        size = JOINED_SIZES.itemsize * len(self.layout.works)
        self.joined_sizes = self.device.zeros(size, np.uint8)
        for kernel, pages in self.layout.listed.items():
            arguments = [self.launcher.states]
            if not kernel.startswith("check_"):
                arguments += [self.bytes, self.records]
            if kernel == "read_prefixes":
                arguments.append(self.joined_sizes)
            self.launcher.pages(kernel, pages, "value", arguments)

    def _join_values(self) -> None:
        """Put values together whose bytes are apart; how many there are is known by now."""
        layout, device = self.layout, self.device
        self.joined, self.joined_states = self.bytes, self.launcher.states
        if not layout.joined:
            return
        states = download(device, self.launcher.states, PAGE_STATE)
        found = download(device, self.joined_sizes, JOINED_SIZES)
        self._check_first_prefixes(states, found)
        sizes = found["bytes"].astype(np.int64)
        streams = np.array(layout.joined["join_streams"], np.int64)
        sizes[streams] = states["num_valid"][streams] * layout.works["width"][streams]
        for page in np.flatnonzero(sizes).tolist():
            self.pages.check_joined(page, int(sizes[page]))
        at, end = offsets(sizes + SLACK_BYTES, SLACK_BYTES)
        made = states.copy()
        made["values"], made["values_bytes"] = at, sizes
        (self.joined_states,) = upload(device, [made])
        self.joined = device.zeros(end, np.uint8)
        for kernel, pages in layout.joined.items():
            count = layout.works["num_values"][pages]
            nothing = np.zeros(len(pages), np.int64)
            tiles = tiles_of(nothing, count, nothing, np.array(pages, np.int64))
            before = [self.launcher.works, self.launcher.states, self.joined_states]
            after = [self.bytes, self.records, self.joined]
            self.launcher.blocks(kernel, tiles, before, after)

    def _check_first_prefixes(self, states: Rows, found: Rows) -> None:
        """Raise where a page's first prefix is longer than the last value of the page before."""
        works, length = self.layout.works, np.zeros(len(found), np.int64)
        for page in self.layout.joined.get("join_prefixes", ()):
            before = int(works["value_before"][page])
            length_before = length[before - 1] if before else 0
            if found["first_prefix"][page] > length_before:
                self._raise_errors(of_pages=page)
                self.pages.fail(page, "value", _PREFIX)
            length[page] = (
                found["last_length"][page] if states["num_valid"][page] else length_before
            )

    def _nested_columns(self) -> dict[int, NestedColumn]:
        return {column.ordinal: column for column in self.nested.columns}

    def _emit_entries(self) -> None:
        layout = self.layout
        for emission, pages in layout.entries.items():
            page = np.array(pages, np.int64)
            out = np.array([layout.entry_ordinal[each] for each in pages], np.int64)
            count = np.array([layout.num_entries[each] for each in pages], np.int64)
            tiles = tiles_of(np.zeros(len(page), np.int64), count, out, page)
            self._emit(emission, tiles, None, self.entries[layout.entries_at[emission.column] :])

    def _emit_column(self, ordinal: int) -> None:
        """Values and validity of a column's pages."""
        parts = self.outputs.columns[ordinal]
        pieces, positions, cut = self._pieces(ordinal)
        for emission, pages in self.layout.emitted.items():
            if emission.column != ordinal:
                continue
            of_kernel = np.isin(pieces.page, pages)
            tiles = tiles_of(*(part[of_kernel] for part in pieces))
            self._emit(emission, tiles, positions, parts.values)
            if emission.kernel in REFUSING:
                page = np.array([each for each in pages if cut[each]], np.int64)
                looked_at = looks_at(page, self.layout.works["num_values"][page])
                self._emit(emission, looked_at, None, parts.values)
        if parts.validity is not None:
            everything = Emission("emit_validity", ordinal, joined=False)
            self._emit(everything, tiles_of(*pieces), positions, parts.validity)

    def _pieces(self, ordinal: int) -> tuple[Pieces, Any, npt.NDArray[np.bool_]]:
        """A column's pieces, the positions of its values, and which pages are not all wanted."""
        column = self._nested_columns().get(ordinal)
        if column is None:
            of_column = self.layout.column[self.flat.page] == ordinal
            pieces = Pieces(*(part[of_column] for part in self.flat))
            wanted = np.zeros(len(self.layout.works), np.int64)
            np.add.at(wanted, pieces.page, pieces.num_rows)
            return pieces, None, wanted != self.layout.works["num_values"]
        parts = self.outputs.columns[ordinal]
        positions = self.nested.fill(column, parts.offsets, parts.groups)
        ends = np.cumsum(column.page_slots)
        nothing = np.zeros(len(ends), np.int64)
        pieces = Pieces(nothing, column.page_slots, ends - column.page_slots, column.pages)
        return pieces, positions, self.nested.is_cut

    def _emit(self, emission: Emission, tiles: Rows, positions: Any, out: Any) -> None:
        launcher = self.launcher
        states = self.joined_states if emission.joined else launcher.states
        from_ = self.joined if emission.joined else self.bytes
        buffers = [from_, self.bitmaps, self.ranks, self.records, self.entries, positions]
        views = [self.used] if emission.kernel in _WITH_VIEWS else []
        after = [*buffers, out, launcher.errors["value"], *views]
        launcher.blocks(emission.kernel, tiles, [launcher.works, states], after)

    def _raise_errors(self, of_pages: int | None = None) -> None:
        """Raise what is wrong with the first page, of so many, of which something is."""
        count = len(self.layout.works)
        words = download(self.device, self.errors, np.uint64)[: count * len(STAGES)]
        words = words.reshape(len(STAGES), count)
        wrong = words[:, :of_pages] != NOTHING_WRONG
        if wrong.any():
            page = int(np.flatnonzero(wrong.any(axis=0))[0])
            stage = int(np.flatnonzero(wrong[:, page])[0])
            self.pages.fail(page, STAGES[stage], int(words[stage, page]))
        if self.nested.error is not None:
            raise self.nested.error

    def _emitted(self) -> Emitted:
        layout, device = self.layout, self.device
        states = download(device, self.launcher.states, PAGE_STATE)
        is_joined = np.zeros(len(layout.works), np.bool_)
        for pages in layout.joined.values():
            is_joined[pages] = True
        if is_joined.any():
            joined = download(device, self.joined_states, PAGE_STATE)
            states = np.where(is_joined, joined[: len(is_joined)], states[: len(is_joined)])
        return Emitted(
            device=device,
            pages=self.pages,
            layout=layout,
            leaves=self.leaves,
            outputs=self.outputs,
            num_rows=self.num_rows,
            states=states,
            is_joined=is_joined,
            used=download(device, self.used, np.uint32) != 0,
            staged=self.staged,
            bytes=self.bytes,
            joined=self.joined,
        )


_PREFIX = 16  # Status::PREFIX, of the page's first value
_WITH_VIEWS = frozenset(("emit_text", "emit_views", "emit_fixed_views"))


def _flat_pieces(
    layout: Layout, pages: _native.DevicePages, leaves: Sequence[LeafColumn], tables: Any
) -> Pieces:
    """Of all pages of flat columns."""
    row_groups = np.arange(len(tables.chunks)) // max(len(leaves), 1)
    groups = tables.row_groups[row_groups]
    nested = np.array([leaf.is_nested for leaf in leaves], np.bool_)[layout.column]
    page = np.flatnonzero(layout.is_data & ~nested)
    chunk = pages.chunks.view(np.uint32)[page].astype(np.int64)
    first, count = (groups[name].astype(np.int64) for name in ("first_range", "num_ranges"))
    found = pieces_of(layout.table[page], chunk, first, count, tables.ranges)
    return found._replace(page=page[found.page])
