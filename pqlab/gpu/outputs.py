"""The columns that kernels write: buffers as Arrow lays them out, and their way to the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pqlab.cpu.columns import LeafColumn
from pqlab.gpu.device import Device
from pqlab.gpu.memory import Arena, download
from pqlab.gpu.nested import NestedColumn
from pqlab.gpu.steps import VIEWS, stride_of


@dataclass(slots=True, eq=False)
class Parts:
    """A column's buffers on the device. `slots`: of a nested column, by depth."""

    slots: list[int]
    values: Any
    validity: Any  # None: nothing can be null
    offsets: list[Any]
    groups: list[Any]


@dataclass(slots=True, eq=False)
class _Places:
    """Where they are. `values_in`: in which of the arenas."""

    slots: list[int]
    values: slice
    values_in: int
    validity: slice | None
    offsets: list[slice]
    groups: list[slice]


# Arenas: of values and offsets; of bits, whose memory is zero before; of views, which frames that
# stay on the device do not keep.
_VALUES, _BITS, _VIEWS = range(3)


class Outputs:
    """The buffers of all columns. `nested`: by ordinal, those that are not `num_rows` values."""

    def __init__(
        self,
        device: Device,
        leaves: Sequence[LeafColumn],
        num_rows: int,
        nested: dict[int, NestedColumn],
    ) -> None:
        self._device = device
        self._arenas = Arena(), Arena(), Arena()
        self._places = [
            self._place(leaf, num_rows, nested.get(ordinal)) for ordinal, leaf in enumerate(leaves)
        ]
        takes = device.empty, device.zeros, device.empty
        self._on_device = tuple(
            take(arena.nbytes, np.uint8) for take, arena in zip(takes, self._arenas, strict=True)
        )
        self.columns = [self._parts(each, self._on_device) for each in self._places]
        for ordinal, column in nested.items():
            self._end_offsets(column, self.columns[ordinal])

    def download(self) -> None:
        """Take all to the host, and wait for it."""
        self._on_host = tuple(download(self._device, part, np.uint8) for part in self._on_device)

    def taken(self, views: list[list[Any]]) -> list[tuple[Any, ...]]:
        """Of each column what `DevicePages.decoded` takes. `views`: its view buffers."""
        columns = [self._parts(places, self._on_host) for places in self._places]
        return [
            (parts.values, parts.validity, buffers, parts.offsets, parts.groups)
            for parts, buffers in zip(columns, views, strict=True)
        ]

    def _place(self, leaf: LeafColumn, num_rows: int, nested: NestedColumn | None) -> _Places:
        values, bits, _ = self._arenas
        count = num_rows if nested is None else nested.slots[-1]
        values_in = _BITS if leaf.kind == "BITS" else _VIEWS if leaf.kind in VIEWS else _VALUES
        optional = (
            leaf.max_definition_level > 0 if nested is None else leaf.nesting.leaf_is_optional
        )
        has_validity = optional and leaf.kind != "NOTHING"
        size = -(-count // 8)
        value_bytes = size if values_in == _BITS else count * stride_of(leaf.kind, leaf.width)
        slots = [] if nested is None else nested.slots
        groups = leaf.nesting.groups if nested is not None else ()
        return _Places(
            slots=slots,
            values=self._arenas[values_in].place(value_bytes),
            values_in=values_in,
            validity=bits.place(size) if has_validity else None,
            offsets=[values.place((n + 1) * 8) for n in slots[:-1]],
            groups=[bits.place(-(-slots[depth] // 8)) for depth, _ in groups],
        )

    @staticmethod
    def _parts(places: _Places, arenas: Sequence[Any]) -> Parts:
        values, bits, _ = arenas
        return Parts(
            places.slots,
            arenas[places.values_in][places.values],
            bits[places.validity] if places.validity is not None else None,
            [values[part] for part in places.offsets],
            [bits[part] for part in places.groups],
        )

    def _end_offsets(self, column: NestedColumn, parts: Parts) -> None:
        """The last offset of a list level: that kernels write those of lists only."""
        for offsets, elements in zip(parts.offsets, column.slots[1:], strict=True):
            end: npt.NDArray[np.uint8] = np.array([elements], np.int64).view(np.uint8)
            self._device.upload(end, offsets[offsets.nbytes - 8 :])
