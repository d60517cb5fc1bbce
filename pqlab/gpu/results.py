"""What kernels have written, as host memory or as a frame that stays on the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pqlab.cpu.columns import Columns, LeafColumn
from pqlab.cpu.tree import Node, NodeKind
from pqlab.errors import LimitError
from pqlab.gpu.device import Device
from pqlab.gpu.frame import DeviceColumn, DeviceFrame, type_on_device
from pqlab.gpu.launch import launch_over
from pqlab.gpu.layout import Layout
from pqlab.gpu.memory import download, upload
from pqlab.gpu.outputs import Outputs
from pqlab.gpu.steps import VIEWS
from pqlab.gpu.work import TILE_ROWS, VIEW_SOURCE, Rows
from pqlab.native import _native

_MOST_OFFSET = (1 << 31) - 1
_PARTS = 3  # of an interval


@dataclass(slots=True, eq=False)
class Emitted:
    """A read whose kernels are done, and found nothing wrong.

    `states`: of pages, where their values are, in `joined` where `is_joined`, else in `bytes`, of
    which the host has `staged` up to where pages begin that the device decompressed. `used`: which
    pages views point into.
    """

    device: Device
    pages: _native.DevicePages
    layout: Layout
    leaves: Sequence[LeafColumn]
    outputs: Outputs
    num_rows: int
    states: Rows
    is_joined: npt.NDArray[np.bool_]
    used: npt.NDArray[np.bool_]
    staged: npt.NDArray[np.uint8]
    bytes: Any
    joined: Any


def to_host(emitted: Emitted) -> _native.Decoded:
    """Take the columns to the host. Raises what only whole columns show to be wrong."""
    emitted.outputs.download()
    views: list[list[Any]] = [[] for _ in emitted.leaves]
    for page in np.flatnonzero(emitted.used).tolist():
        of_column = views[emitted.layout.column[page]]
        buffer = int(emitted.layout.works["view_buffer"][page])
        of_column += [None] * (buffer + 1 - len(of_column))
        of_column[buffer] = _view_buffer(emitted, page)
    return emitted.pages.decoded(emitted.outputs.taken(views))


def _view_buffer(emitted: Emitted, page: int) -> npt.NDArray[np.uint8]:
    """The bytes of a page that views point into: on the host already, or taken there."""
    start = int(emitted.states["values"][page])
    stop = start + int(emitted.states["values_bytes"][page])
    if emitted.is_joined[page]:
        return download(emitted.device, emitted.joined[start:stop], np.uint8)
    if emitted.layout.on_device[page]:
        return download(emitted.device, emitted.bytes[start:stop], np.uint8)
    return emitted.staged[start:stop]


def to_frame(emitted: Emitted, columns: Columns) -> DeviceFrame:
    """The columns where they are. Raises as `to_host`, and `LimitError` beyond 32-bit offsets."""
    if _disagree(emitted):
        to_host(emitted)  # which says where
        raise AssertionError("columns agree on the host")
    made = _Columns(emitted)
    nodes = iter(columns.nodes)
    found = tuple(made.column(field.name, field.type, nodes) for field in columns.schema)
    emitted.device.synchronize()
    return DeviceFrame(found, emitted.num_rows, emitted.device)


def _disagree(emitted: Emitted) -> bool:
    """Whether a leaf's levels say of lists and groups what those of the leaf before do not."""
    device, columns = emitted.device, emitted.outputs.columns
    pairs: list[tuple[Any, Any]] = []
    for ordinal, leaf in enumerate(emitted.leaves):
        here, before = columns[ordinal], columns[ordinal - 1]
        lists, groups = leaf.shared_lists, leaf.shared_groups
        pairs += zip(here.offsets[:lists], before.offsets[:lists], strict=True)
        pairs += zip(here.groups[:groups], before.groups[:groups], strict=True)
    if not pairs:
        return False
    if any(ours.nbytes != theirs.nbytes for ours, theirs in pairs):
        return True
    differ = device.zeros(1, np.uint32)
    for ours, theirs in pairs:
        words = -(-ours.nbytes // 4)
        arguments = [ours, theirs, np.uint64(words), differ]
        launch_over(device, "compare_words", words, arguments)
    return bool(download(device, differ.view(np.uint8), np.uint32)[0])


class _Columns:
    """Makes a frame's columns of what a read has written."""

    def __init__(self, emitted: Emitted) -> None:
        self._emitted, self._device = emitted, emitted.device
        self._parts = emitted.outputs.columns
        self._nulls = self._count_nulls()
        self._text_bytes = self._measure()
        self._make: dict[NodeKind, Callable[..., DeviceColumn]] = {
            NodeKind.VALUES: self._values,
            NodeKind.INTERVAL: self._interval,
            NodeKind.STRUCT: self._struct,
            NodeKind.LIST: self._list,
        }

    def column(self, name: str, data_type: pa.DataType, nodes: Iterator[Node]) -> DeviceColumn:
        """The column of the next node, and of those under it."""
        node = next(nodes)
        return self._make[node.kind](name, data_type, node, nodes)

    def _length(self, ordinal: int, depth: int = -1) -> int:
        slots = self._parts[ordinal].slots
        return slots[depth] if slots else self._emitted.num_rows

    def _column(self, name: str, data_type: pa.DataType, length: int, **parts: Any) -> DeviceColumn:
        nothing: dict[str, Any] = {"bits": None, "starts": None, "data": None, "children": ()}
        parts = {"null_count": 0, **nothing, **parts}
        made = type_on_device(data_type)
        return DeviceColumn(name=name, type=made, length=length, device=self._device, **parts)

    def _values(
        self, name: str, data_type: pa.DataType, node: Node, _: Iterator[Node]
    ) -> DeviceColumn:
        ordinal = node.column
        parts, leaf = self._parts[ordinal], self._emitted.leaves[ordinal]
        length = self._length(ordinal)
        if leaf.kind == "NOTHING":
            return self._column(name, data_type, length, null_count=length)
        validity = self._validity(ordinal, length)
        if leaf.kind in VIEWS:
            return self._column(name, data_type, length, **validity, **self._text(ordinal, name))
        return self._column(name, data_type, length, **validity, data=parts.values)

    def _interval(
        self, name: str, data_type: pa.DataType, node: Node, nodes: Iterator[Node]
    ) -> DeviceColumn:
        length = self._length(node.column)
        children = []
        for field in data_type:
            part = next(nodes).depth
            out = self._device.empty(4 * length, np.uint8)
            values = self._parts[node.column].values
            arguments = [values, np.uint64(length), np.uint32(part), out]
            launch_over(self._device, "take_part", length, arguments)
            children.append(self._column(field.name, field.type, length, data=out))
        validity = self._validity(node.column, length)
        return self._column(name, data_type, length, **validity, children=tuple(children))

    def _struct(
        self, name: str, data_type: pa.DataType, node: Node, nodes: Iterator[Node]
    ) -> DeviceColumn:
        length = self._length(node.column, node.depth)
        children = tuple(self.column(field.name, field.type, nodes) for field in data_type)
        group = self._group(node, length)
        return self._column(name, data_type, length, **group, children=children)

    def _list(
        self, name: str, data_type: pa.DataType, node: Node, nodes: Iterator[Node]
    ) -> DeviceColumn:
        length = self._length(node.column, node.depth - 1)
        check_offset(self._length(node.column, node.depth), "elements of lists", name)
        field = data_type.value_field
        child = self.column(field.name, field.type, nodes)
        starts = self._device.empty(length + 1, np.int32)
        wide = self._parts[node.column].offsets[node.depth - 1].view(np.int64)
        arguments = [wide, np.uint64(length + 1), starts]
        launch_over(self._device, "narrow_offsets", length + 1, arguments)
        group = self._group(node, length)
        return self._column(name, data_type, length, **group, starts=starts, children=(child,))

    def _validity(self, ordinal: int, length: int) -> dict[str, Any]:
        bits = self._parts[ordinal].validity
        return {"bits": bits, "null_count": self._null_count((ordinal, -1), bits, length)}

    def _group(self, node: Node, length: int) -> dict[str, Any]:
        bits = None if node.group < 0 else self._parts[node.column].groups[node.group]
        null_count = self._null_count((node.column, node.group), bits, length)
        return {"bits": bits, "null_count": null_count}

    def _null_count(self, key: tuple[int, int], bits: Any, length: int) -> int:
        return 0 if bits is None else length - self._nulls[key]

    def _count_nulls(self) -> dict[tuple[int, int], int]:
        """Of leaves (ordinal, -1), and of groups (ordinal, group): how many are no nulls."""
        bitmaps = {}
        for ordinal, parts in enumerate(self._parts):
            if parts.validity is not None:
                bitmaps[ordinal, -1] = parts.validity
            bitmaps |= {(ordinal, at): bits for at, bits in enumerate(parts.groups)}
        counts = count_bits(self._device, list(bitmaps.values()))
        return dict(zip(bitmaps, counts, strict=True))

    def _measure(self) -> dict[int, npt.NDArray[np.uint64]]:
        """Of text, by the leaf's ordinal: where the bytes of each tile end."""
        device = self._device
        ordinals = [at for at, leaf in enumerate(self._emitted.leaves) if leaf.kind in VIEWS]
        tiles = [-(-self._length(ordinal) // TILE_ROWS) for ordinal in ordinals]
        sizes = device.empty(8 * sum(tiles), np.uint8)
        at = 0
        for ordinal, count in zip(ordinals, tiles, strict=True):
            length = self._length(ordinal)
            part = sizes[8 * at : 8 * (at + count)]
            arguments = [self._parts[ordinal].values, np.uint64(length), part]
            launch_over(device, "measure_views", length, arguments)
            at += count
        found, stops = download(device, sizes, np.uint64), np.cumsum(tiles, dtype=np.int64)
        return {
            each: np.cumsum(found[stop - count : stop])
            for each, count, stop in zip(ordinals, tiles, stops, strict=True)
        }

    def _text(self, ordinal: int, name: str) -> dict[str, Any]:
        """Text as offsets and bytes: gathered from where its views point to."""
        device, emitted = self._device, self._emitted
        length, ends = self._length(ordinal), self._text_bytes[ordinal]
        total = int(ends[-1]) if len(ends) else 0
        check_offset(total, "bytes of text", name)
        starts = device.empty(length + 1, np.int32) if length else device.zeros(1, np.int32)
        data = device.empty(total, np.uint8)
        starts_of_tiles = np.concatenate([np.zeros(1, np.uint64), ends[:-1]])
        before, sources = upload(device, [starts_of_tiles, self._sources(ordinal)])
        views = self._parts[ordinal].values
        count = np.uint64(length)
        launch_over(device, "place_views", length, [views, count, before, starts])
        where = [sources, emitted.bytes, emitted.joined, starts, data]
        launch_over(device, "gather_views", length, [views, count, *where])
        return {"starts": starts, "data": data}

    def _sources(self, ordinal: int) -> Rows:
        """Where the bytes of the column's view buffers are."""
        emitted = self._emitted
        pages = np.flatnonzero(emitted.used & (emitted.layout.column == ordinal))
        buffers = emitted.layout.works["view_buffer"][pages].astype(np.int64)
        sources = np.zeros(int(buffers.max(initial=0)) + 1, VIEW_SOURCE)
        sources["start"][buffers] = emitted.states["values"][pages]
        sources["joined"][buffers] = emitted.is_joined[pages]
        return sources


def count_bits(device: Device, bitmaps: Sequence[Any]) -> list[int]:
    """Bits that are set in each, on the device; waits for it."""
    if not bitmaps:
        return []
    counts = device.zeros(len(bitmaps), np.uint64)
    for at, bits in enumerate(bitmaps):
        words = -(-bits.nbytes // 4)
        launch_over(device, "count_bits", words, [bits, np.uint64(words), counts[at : at + 1]])
    found: list[int] = download(device, counts.view(np.uint8), np.uint64).tolist()
    return found


def check_offset(count: int, what: str, column: str) -> None:
    """Raise `LimitError` where offsets of 32 bits do not count so many."""
    if count > _MOST_OFFSET:
        raise LimitError(
            f"{count:,} {what} in one frame are more than offsets of 32 bits count",
            hint="Read fewer rows at a time",
            column=column,
        )
