"""Device memory of a read: a few large buffers of bytes, and tables that are uploaded together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pqlab.cpu.columns import LeafColumn
from pqlab.gpu.device import Device, OutOfDeviceMemoryError
from pqlab.gpu.layout import Layout
from pqlab.gpu.steps import stride_of
from pqlab.gpu.work import BLOCK, PAGE_STATE, PAGE_WORK, STAGES

_ALIGNMENT = 256
_PAGE_BYTES = PAGE_WORK.itemsize + BLOCK.itemsize + 8 * len(STAGES) + 3 * PAGE_STATE.itemsize


def upload(device: Device, arrays: list[npt.NDArray[Any]]) -> list[Any]:
    """Upload host arrays at once; of each the bytes on the device, aligned to 256."""
    sizes = [-(-array.nbytes // _ALIGNMENT) * _ALIGNMENT for array in arrays]
    host = device.pinned_empty(max(sum(sizes), 1))
    target = device.zeros(len(host), np.uint8)
    parts, at = [], 0
    for array, size in zip(arrays, sizes, strict=True):
        host[at : at + array.nbytes] = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        parts.append(target[at : at + array.nbytes])
        at += size
    device.upload(host, target)
    return parts


def download(device: Device, array: Any, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The bytes of a device array as values on the host; waits for them."""
    host = device.pinned_empty(array.nbytes)
    if array.nbytes:
        device.download(array, host)
        device.synchronize()
    return host.view(dtype)


def check_budget(
    layout: Layout, leaves: Sequence[LeafColumn], num_rows: int, device: Device, limit: int | None
) -> None:
    """Raise `OutOfDeviceMemoryError`, before any is taken, where a read needs more than there is.

    `limit`: bytes, at most what is free. Counted are the buffers of work.cuh and the columns; of
    lists as many values as their pages claim.
    """
    needed = max(layout.bytes_bytes, layout.staged_bytes) + layout.bitmap_bytes
    needed += layout.rank_bytes + layout.level_bytes + layout.record_bytes + layout.entry_bytes
    needed += _PAGE_BYTES * len(layout.works)
    values = layout.works["num_values"].astype(np.int64)
    for ordinal, leaf in enumerate(leaves):
        mine = values[layout.is_data & (layout.column == ordinal)]
        count = int(mine.sum()) if leaf.is_nested else num_rows
        a_value = stride_of(leaf.kind, leaf.width) + 1 + 12 * len(leaf.nesting.list_levels)
        needed += count * a_value
    free = device.free_bytes()
    budget = free if limit is None else min(limit, free)
    if needed > budget:
        given = "are free" if limit is None or free < limit else "may be taken"
        raise OutOfDeviceMemoryError(
            f"{needed:,} bytes are needed for {num_rows:,} rows, and {budget:,} {given}", needed
        )


class Arena:
    """Parts of one buffer, aligned to 256, with slack behind each: first asked for, then made."""

    def __init__(self) -> None:
        self.nbytes = 0

    def place(self, nbytes: int) -> slice:
        """Where a part of so many bytes will be."""
        part = slice(self.nbytes, self.nbytes + nbytes)
        self.nbytes += -(-(nbytes + 64) // _ALIGNMENT) * _ALIGNMENT
        return part
