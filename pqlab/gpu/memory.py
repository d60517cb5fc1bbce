"""Device memory of a read: a few large buffers of bytes, and tables that are uploaded together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pqlab.gpu.device import Device

_ALIGNMENT = 256


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


class Arena:
    """Parts of one buffer, aligned to 256, with slack behind each: first asked for, then made."""

    def __init__(self) -> None:
        self.nbytes = 0

    def place(self, nbytes: int) -> slice:
        """Where a part of so many bytes will be."""
        part = slice(self.nbytes, self.nbytes + nbytes)
        self.nbytes += -(-(nbytes + 64) // _ALIGNMENT) * _ALIGNMENT
        return part
