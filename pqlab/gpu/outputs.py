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
from pqlab.gpu.steps import stride_of


@dataclass(slots=True, eq=False)
class Parts:
    """A column's buffers on the device."""

    values: Any
    validity: Any  # None: nothing can be null
    offsets: list[Any]
    groups: list[Any]


@dataclass(slots=True, eq=False)
class _Places:
    """Where they are. Those of bits are in an arena whose memory is zero before."""

    values: slice
    values_are_bits: bool
    validity: slice | None
    offsets: list[slice]
    groups: list[slice]


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
        self._values, self._bits = Arena(), Arena()
        self._places = [
            self._place(leaf, num_rows, nested.get(ordinal)) for ordinal, leaf in enumerate(leaves)
        ]
        values = device.empty(self._values.nbytes, np.uint8)
        bits = device.zeros(self._bits.nbytes, np.uint8)
        self._on_device = values, bits
        self.columns = [self._parts(each, values, bits) for each in self._places]
        for ordinal, column in nested.items():
            self._end_offsets(column, self.columns[ordinal])

    def download(self) -> None:
        """Take all to the host, and wait for it."""
        self._on_host = tuple(download(self._device, part, np.uint8) for part in self._on_device)

    def taken(self, views: list[list[Any]]) -> list[tuple[Any, ...]]:
        """Of each column what `DevicePages.decoded` takes. `views`: its view buffers."""
        columns = [self._parts(places, *self._on_host) for places in self._places]
        return [
            (parts.values, parts.validity, buffers, parts.offsets, parts.groups)
            for parts, buffers in zip(columns, views, strict=True)
        ]

    def _place(self, leaf: LeafColumn, num_rows: int, nested: NestedColumn | None) -> _Places:
        count = num_rows if nested is None else nested.slots[-1]
        is_bits = leaf.kind == "BITS"
        optional = (
            leaf.max_definition_level > 0 if nested is None else leaf.nesting.leaf_is_optional
        )
        has_validity = optional and leaf.kind != "NOTHING"
        size = -(-count // 8)
        arena = self._bits if is_bits else self._values
        return _Places(
            values=arena.place(size if is_bits else count * stride_of(leaf.kind, leaf.width)),
            values_are_bits=is_bits,
            validity=self._bits.place(size) if has_validity else None,
            offsets=[
                self._values.place((n + 1) * 8) for n in (nested.slots[:-1] if nested else [])
            ],
            groups=[
                self._bits.place(-(-nested.slots[depth] // 8))
                for depth, _ in (leaf.nesting.groups if nested else ())
                if nested is not None
            ],
        )

    @staticmethod
    def _parts(places: _Places, values: Any, bits: Any) -> Parts:
        return Parts(
            (bits if places.values_are_bits else values)[places.values],
            bits[places.validity] if places.validity is not None else None,
            [values[part] for part in places.offsets],
            [bits[part] for part in places.groups],
        )

    def _end_offsets(self, column: NestedColumn, parts: Parts) -> None:
        """The last offset of a list level: that kernels write those of lists only."""
        for offsets, elements in zip(parts.offsets, column.slots[1:], strict=True):
            end: npt.NDArray[np.uint8] = np.array([elements], np.int64).view(np.uint8)
            self._device.upload(end, offsets[offsets.nbytes - 8 :])
