"""Launches: of what kernels take in common, and how many threads they get."""

from __future__ import annotations

from typing import Any

import numpy as np

from pqlab.gpu.device import Device
from pqlab.gpu.memory import upload
from pqlab.gpu.work import TILE, TILE_ROWS, Rows

_WARPS = 4  # of a block of the kernels of which a warp does one thing
_LISTING_THREADS = 32 * _WARPS
_EMIT_THREADS = 256


class Launcher:
    """Launches kernels on a device. `works`, `states`: of pages; `errors`: of pages, by stage."""

    def __init__(self, device: Device, works: Any, states: Any, errors: dict[str, Any]) -> None:
        self.device, self.works, self.states, self.errors = device, works, states, errors

    def pages(self, kernel: str, pages: Any, stage: str, arguments: list[Any]) -> None:
        """A warp a page. `arguments`: after pages and errors."""
        if not len(pages):
            return
        (listed,) = upload(self.device, [np.array(pages, np.uint32)])
        common = [self.works, listed, np.uint32(len(pages)), self.errors[stage]]
        blocks = -(-len(pages) // _WARPS)
        self.device.kernel(kernel)((blocks,), (_LISTING_THREADS,), [*common, *arguments])

    def tiles(self, kernel: str, tiles: Any, levels: Any, arguments: list[Any]) -> None:
        """A warp a tile of entries, whose tiles are on the device."""
        count = tiles.nbytes // TILE.itemsize
        if not count:
            return
        common = [self.works, tiles, np.uint32(count), levels]
        blocks = -(-count // _WARPS)
        self.device.kernel(kernel)((blocks,), (_LISTING_THREADS,), [*common, *arguments])

    def blocks(self, kernel: str, tiles: Rows, before: list[Any], after: list[Any]) -> None:
        """A block a tile of rows; its argument stands between `before` and `after`."""
        if not len(tiles):
            return
        (on_device,) = upload(self.device, [tiles])
        self.device.kernel(kernel)((len(tiles),), (_EMIT_THREADS,), [*before, on_device, *after])


def launch_over(device: Device, kernel: str, count: int, arguments: list[Any]) -> None:
    """A warp a tile of `count` items that lie one after the other; for kernels of frames.cuh."""
    if count:
        blocks = -(-count // (TILE_ROWS * _WARPS))
        device.kernel(kernel)((blocks,), (_LISTING_THREADS,), arguments)
