"""Page headers read by the device, for chunks whose bytes only it has: the native walk's rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pqlab.footer.page_table import KNOWN_FROM_HEADER, PAGE
from pqlab.gpu.device import Device
from pqlab.gpu.memory import download, upload
from pqlab.native import _native

WALK = np.dtype(
    [
        ("position", "<i8"),
        ("stop", "<i8"),
        ("hard_stop", "<i8"),
        ("num_values", "<i8"),
        ("values_left", "<i8"),
        ("first_row", "<i8"),
        ("row_group", "<i4"),
        ("leaf", "<i4"),
        ("page", "<i4"),
        ("flat", "?"),
        ("has_dictionary", "?"),
        ("reserved", "<u2"),
        ("at", "<u8"),
        ("first", "<u4"),
        ("room", "<u4"),
        ("count", "<u4"),
        ("end", "<u4"),
    ]
)
PLACE = np.dtype([("at", "<u8"), ("size", "<u8")])
assert (WALK.itemsize, PLACE.itemsize) == (88, 16)

_FULL, _WRONG = 1, 2
_WARPS, _THREADS = 4, 128
_LEAST_ROOM = 64  # pages of a chunk that are walked at once


def walk(device: Device, bytes_: Any, chunks: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """The pages of chunks, of dtype PAGE, in the chunks' order.

    `chunks`, of dtype WALK: `position`, `stop`, `hard_stop` in the file, `at` where that position
    is among `bytes_`, the other columns as the footer has them. `bytes_`: the device's, with slack
    of 16 before and behind what the chunks take; `min_start` and `max_start` are places among them.
    Raises `CorruptError` as the walk on the host does.
    """
    left = chunks.copy()
    left["values_left"] = left["num_values"]
    room = _LEAST_ROOM
    found: list[list[npt.NDArray[np.void]]] = [[] for _ in chunks]
    waiting = np.arange(len(chunks))
    while len(waiting):
        rows = left[waiting]
        rows["room"], rows["first"] = room, np.arange(len(rows)) * room
        (on_device,) = upload(device, [rows])
        pages = device.empty(len(rows) * room * PAGE.itemsize, np.uint8)
        blocks = -(-len(rows) // _WARPS)
        arguments = [on_device, np.uint32(len(rows)), bytes_, pages]
        device.kernel("walk_headers")((blocks,), (_THREADS,), arguments)
        rows = download(device, on_device, WALK)
        table = download(device, pages, PAGE)
        for chunk, row in zip(waiting.tolist(), rows, strict=True):
            found[chunk].append(table[row["first"] : row["first"] + row["count"]])
            if row["end"] == _WRONG:
                _raise(device, bytes_, chunks[chunk])
        left[waiting] = rows
        waiting = waiting[rows["end"] == _FULL]
        room *= 4
    return np.concatenate([np.empty(0, PAGE), *(part for parts in found for part in parts)])


def read(device: Device, bytes_: Any, places: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """What headers tell of pages whose places, of dtype PLACE, an index tells; of dtype PAGE.

    A row of what is no header, or of a page that is longer than its place, has `known_from` 0.
    """
    (on_device,) = upload(device, [places])
    pages = device.empty(len(places) * PAGE.itemsize, np.uint8)
    wrong = device.empty(len(places), np.uint8)
    if len(places):
        arguments = [on_device, np.uint32(len(places)), bytes_, pages, wrong]
        device.kernel("read_headers")((-(-len(places) // _THREADS),), (_THREADS,), arguments)
    table: npt.NDArray[np.void] = download(device, pages, PAGE).copy()
    table["known_from"][download(device, wrong, np.bool_)] &= np.uint8(255 - KNOWN_FROM_HEADER)
    return table


def on_the_host(chunk: Any) -> _native.PageWalk:
    """The walk of a row of dtype WALK."""
    names = ("position", "stop", "hard_stop", "num_values", "row_group", "leaf")
    start, stop, hard_stop, num_values, row_group, leaf = (int(chunk[name]) for name in names)
    flat = bool(chunk["flat"])
    return _native.PageWalk(start, stop, hard_stop, num_values, row_group, leaf, flat)


def _raise(device: Device, bytes_: Any, chunk: Any) -> None:
    """Walk a chunk on the host, of whose headers one is wrong."""
    start, size = int(chunk["position"]), int(chunk["hard_stop"] - chunk["position"])
    at = int(chunk["at"])
    on_the_host(chunk).walk(download(device, bytes_[at : at + size], np.uint8), start)
    raise AssertionError("host and device walk alike")
