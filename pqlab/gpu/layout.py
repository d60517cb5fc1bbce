"""Where everything of a read goes on a device, and which kernels its pages need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pqlab.cpu.columns import LeafColumn
from pqlab.footer.page_table import PAGE
from pqlab.gpu.steps import Steps, steps_of, stride_of
from pqlab.gpu.work import (
    BLOCK,
    NOWHERE,
    PAGE_WORK,
    RANK_ROWS,
    SLACK_BYTES,
    Ints,
    LevelForm,
    Rows,
    offsets,
)
from pqlab.native import _native

_DICTIONARY_PAGE, _DATA_PAGE_V2 = 2, 3  # PageType
_BIT_PACKED = 4  # Encoding
_LEAST_BYTES = 64  # of the levels of least prefixes, of however few values
DEVICE_CODECS = {1: "decompress_snappy", 7: "decompress_lz4"}

Pages = list[int]


class Emission(NamedTuple):
    """A kernel for pages of a column; `joined`: their values are put together first."""

    kernel: str
    column: int
    joined: bool


@dataclass(slots=True, eq=False)
class Layout:
    """`staged_to`: of each page, in host memory of `staged_bytes`, with which `bytes` begins.

    Pages that the device decompresses are staged as they are; `blocks` says where in `bytes` they
    go. `..._bytes`: sizes of the buffers of work.cuh.
    """

    table: Rows
    column: Ints  # of each page
    is_data: npt.NDArray[np.bool_]
    works: Rows
    blocks: Rows
    on_device: npt.NDArray[np.bool_]
    staged_to: npt.NDArray[np.uint64]
    staged_bytes: int
    bytes_bytes: int
    bitmap_bytes: int = 0
    rank_bytes: int = 0
    level_bytes: int = 0
    record_bytes: int = 0
    entry_bytes: int = 0
    entries_at: dict[int, int] = field(default_factory=dict)  # of columns
    entry_ordinal: dict[int, int] = field(default_factory=dict)  # of dictionary pages, in them
    num_entries: dict[int, int] = field(default_factory=dict)
    decompressed: dict[str, Pages] = field(default_factory=lambda: defaultdict(list))
    listed: dict[str, Pages] = field(default_factory=lambda: defaultdict(list))
    joined: dict[str, Pages] = field(default_factory=lambda: defaultdict(list))
    entries: dict[Emission, Pages] = field(default_factory=lambda: defaultdict(list))
    emitted: dict[Emission, Pages] = field(default_factory=lambda: defaultdict(list))

    def capacity(self, page: int, column: LeafColumn) -> int:
        """Most PLAIN values that a page can hold, at most those that it claims."""
        count, size = (int(self.works[name][page]) for name in ("num_values", "body_bytes"))
        if column.kind == "NOTHING":
            return 0
        return min(count, 8 * size if column.kind == "BITS" else size // (column.width or 4))


def lay_out(
    pages: _native.DevicePages, codecs: npt.NDArray[np.int32], columns: Sequence[LeafColumn]
) -> Layout:
    """`codecs`: of the read's chunks, in the order (row group, column)."""
    table = pages.pages.view(PAGE)
    chunk = pages.chunks.view(np.uint32)
    layout = _bodies(table, chunk, codecs, pages.compressed.view(np.bool_), len(columns))
    layout.works["view_buffer"] = pages.view_buffers.view(np.uint32)
    layout.works["value_before"] = pages.values_before.view(np.uint32)
    _levels(layout, columns)
    _dictionaries(layout, chunk, columns)
    _steps(layout, columns)
    return layout


def _bodies(
    table: Rows,
    chunk: npt.NDArray[np.uint32],
    codecs: npt.NDArray[np.int32],
    compressed: npt.NDArray[np.bool_],
    num_columns: int,
) -> Layout:
    """Where the bytes of pages are: those that the host has whole first, then the others."""
    is_v2 = table["type"] == _DATA_PAGE_V2
    repetition = np.where(is_v2, table["repetition_levels_byte_length"], 0).astype(np.int64)
    definition = np.where(is_v2, table["definition_levels_byte_length"], 0).astype(np.int64)
    prefix = repetition + definition
    whole = table["uncompressed_page_size"].astype(np.int64)
    stored = table["total_bytes"].astype(np.int64) - table["header_bytes"]
    codec = codecs[chunk]
    on_device = compressed & np.isin(codec, list(DEVICE_CODECS))
    at_host, host_bytes = _padded(whole, ~on_device, 0)
    at_input, staged_bytes = _padded(stored, on_device, host_bytes)
    at_device, bytes_bytes = _padded(whole, on_device, staged_bytes)
    staged_to = np.where(on_device, at_input, at_host)
    at = np.where(on_device, at_device, at_host)
    blocks = np.zeros(len(table), BLOCK)
    blocks["from"], blocks["from_bytes"] = at_input + prefix, stored - prefix
    blocks["to"], blocks["to_bytes"] = at + prefix, whole - prefix
    works = np.zeros(len(table), PAGE_WORK)
    works["body"], works["body_bytes"] = at + prefix, whole - prefix
    works["repetition"], works["repetition_bytes"] = staged_to, repetition
    works["definition"], works["definition_bytes"] = staged_to + repetition, definition
    works["num_values"] = table["num_values"]
    layout = Layout(
        table=table,
        column=chunk.astype(np.int64) % max(num_columns, 1),
        is_data=table["type"] != _DICTIONARY_PAGE,
        works=works,
        blocks=blocks,
        on_device=on_device,
        staged_to=staged_to.astype(np.uint64),
        staged_bytes=staged_bytes,
        bytes_bytes=bytes_bytes,
    )
    for page in np.flatnonzero(on_device).tolist():
        layout.decompressed[DEVICE_CODECS[int(codec[page])]].append(page)
    return layout


def _padded(sizes: Ints, which: npt.NDArray[np.bool_], first: int) -> tuple[Ints, int]:
    """Where those begin from `first` on, with slack before and after each; and their end."""
    at, end = offsets(np.where(which, sizes + 2 * SLACK_BYTES, 0), SLACK_BYTES)
    return first + at + SLACK_BYTES, first + end


def _levels(layout: Layout, columns: Sequence[LeafColumn]) -> None:
    """How pages tell their levels, and where what they say goes."""
    works, table = layout.works, layout.table
    max_r = np.array([each.max_repetition_level for each in columns], np.int64)
    max_d = np.array([each.max_definition_level for each in columns], np.int64)
    nested = np.array([each.is_nested for each in columns], np.bool_)[layout.column]
    works["max_repetition_level"] = np.where(layout.is_data, max_r[layout.column], 0)
    works["max_definition_level"] = np.where(layout.is_data, max_d[layout.column], 0)
    is_v2 = table["type"] == _DATA_PAGE_V2
    for which in ("repetition", "definition"):
        packed = table[f"{which}_level_encoding"] == _BIT_PACKED
        in_body = np.where(packed, LevelForm.PACKED_IN_BODY, LevelForm.RLE_IN_BODY)
        form = np.where(is_v2, LevelForm.RLE_APART, in_body)
        works[f"{which}_form"] = np.where(works[f"max_{which}_level"] > 0, form, LevelForm.NONE)
    count = table["num_values"].astype(np.int64)
    flat = (works["max_definition_level"] > 0) & ~nested
    bitmap_bytes = np.where(flat, -(-count // 8), 0)
    works["bitmap"], layout.bitmap_bytes = offsets(bitmap_bytes, 8)
    rank_bytes = np.where(flat, 4 * -(-count // RANK_ROWS), 0)
    works["ranks"], layout.rank_bytes = offsets(rank_bytes, 8)
    items = np.where(nested & layout.is_data, count * (1 + (max_r > 0)[layout.column]), 0)
    works["nested"], num_items = offsets(items, 8)
    layout.level_bytes = 2 * num_items


def _dictionaries(
    layout: Layout, chunk: npt.NDArray[np.uint32], columns: Sequence[LeafColumn]
) -> None:
    """Where entries go: those of a column's chunks one after the other, each column aligned."""
    layout.works["entries"] = NOWHERE
    pages = np.flatnonzero(~layout.is_data)
    for ordinal, column in enumerate(columns):
        width = stride_of(column.kind, column.width) or 1
        count = 0
        for page in pages[layout.column[pages] == ordinal].tolist():
            entries = layout.capacity(page, column)
            layout.num_entries[page] = entries
            users = chunk == chunk[page]
            layout.works["entries"][users] = layout.entry_bytes + count * width
            layout.works["num_entries"][users] = entries
            layout.entry_ordinal[page] = count
            count += entries
        layout.entries_at[ordinal] = layout.entry_bytes
        layout.entry_bytes += -(-count * width // 256) * 256


def _steps(layout: Layout, columns: Sequence[LeafColumn]) -> None:
    works = layout.works
    keys = np.stack([layout.column, layout.table["encoding"].astype(np.int64), layout.is_data])
    found, inverse = np.unique(keys, axis=1, return_inverse=True)
    record_bytes = np.zeros(len(works), np.int64)
    for at, (ordinal, encoding, is_data) in enumerate(found.T.tolist()):
        column = columns[ordinal]
        steps: Steps = steps_of(column.kind, column.width, encoding, dictionary=not is_data)
        pages = np.flatnonzero(inverse == at)
        works["width"][pages] = column.width
        works["boolean_source"][pages] = steps.boolean_source
        if steps.record_bits:
            values = works["num_values"][pages].astype(np.int64)
            if "read_strings" in steps.listed:  # each takes the 4 bytes of its length
                values = np.minimum(values, works["body_bytes"][pages].astype(np.int64) // 4)
            record_bytes[pages] = -(-values * steps.record_bits // 8) + _LEAST_BYTES
        for kernel in steps.listed:
            layout.listed[kernel] += pages.tolist()
        if steps.joined is not None:
            layout.joined[steps.joined] += pages.tolist()
        if steps.emitted is not None:
            into = layout.emitted if is_data else layout.entries
            into[Emission(steps.emitted, ordinal, steps.joined is not None)] += pages.tolist()
    works["records"], layout.record_bytes = offsets(record_bytes, 16)
