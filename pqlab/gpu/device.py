"""The device layer: what the engine asks of a device, be it a GPU by CuPy or the emulator.

Arrays are contiguous, of one dimension, and stay on the device: `array[a:b]`, `array.view(dtype)`,
`array.nbytes`, `array.data.ptr`. Kernels are called as `kernel((blocks,), (threads,), arguments)`
with such arrays, None for null, and numpy scalars; they, uploads and downloads are done in the
order in which they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Kernel = Callable[[tuple[int], tuple[int], Sequence[Any]], None]


class Device(Protocol):
    """Memory and kernels of one device."""

    @property
    def name(self) -> str:
        """For people: the card, or the emulator."""
        ...

    @property
    def is_emulated(self) -> bool:
        """Whether its times are the CPU's, and so no GPU's."""
        ...

    @property
    def ordinal(self) -> int:
        """Which of the devices it is."""
        ...

    @property
    def arrow_type(self) -> int:
        """What Arrow calls memory like its: ARROW_DEVICE_CPU 1, ARROW_DEVICE_CUDA 2."""
        ...

    def kernel(self, name: str) -> Kernel:
        """A kernel of kernels.cu."""
        ...

    def empty(self, size: int, dtype: npt.DTypeLike) -> Any:
        """An array, not initialised; raises `OutOfDeviceMemory`."""
        ...

    def zeros(self, size: int, dtype: npt.DTypeLike) -> Any:
        """An array of zero bytes; raises `OutOfDeviceMemory`."""
        ...

    def pinned_empty(self, nbytes: int) -> npt.NDArray[np.uint8]:
        """Host memory that is copied to and from without the CPU."""
        ...

    def upload(self, host: npt.NDArray[Any], array: Any) -> None:
        """Queue a copy to the device; `host` must stay as it is until then."""
        ...

    def download(self, array: Any, host: npt.NDArray[Any]) -> None:
        """Queue a copy to the host."""
        ...

    def copy(self, array: Any, to: Any) -> None:
        """Queue a copy within the device, of arrays of one size."""
        ...

    def exported(self, array: Any) -> Any:
        """The array as callers take it: CuPy's, or numpy's over emulated memory."""
        ...

    def synchronize(self) -> None:
        """Until all that was asked for is done."""
        ...

    def free_bytes(self) -> int:
        """Memory that can be had."""
        ...


class OutOfDeviceMemoryError(Exception):
    """The device has not that much memory left. `needed_bytes`: of all of a read, where known."""

    def __init__(self, message: str, needed_bytes: int | None = None) -> None:
        super().__init__(message)
        self.needed_bytes = needed_bytes
