"""The emulator as a device: one thing after the other, in host memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pqlab.gpu.device import OutOfDeviceMemoryError
from pqlab.gpu.emulator import memory
from pqlab.gpu.emulator.memory import DeviceArray
from pqlab.gpu.emulator.module import RawModule, Schedule

_GPU = Path(__file__).parent.parent
_INCLUDES = (_GPU, _GPU.parent / "native")


class EmulatedDevice:
    """`memory_bytes`: what it has. `checked`: check mode, which finds what a GPU would hide."""

    name = "emulator"
    is_emulated = True
    ordinal = 0
    arrow_type = 1

    def __init__(
        self,
        *,
        checked: bool = False,
        schedule: Schedule | None = None,
        memory_bytes: int = 8 << 30,
    ) -> None:
        self.module = RawModule(
            _GPU / "kernels.cu", checked=checked, includes=_INCLUDES, schedule=schedule
        )
        self.memory_bytes = memory_bytes

    def kernel(self, name: str) -> Any:
        """A kernel of kernels.cu."""
        return self.module.get_function(name)

    def empty(self, size: int, dtype: npt.DTypeLike) -> DeviceArray:
        """Poisoned."""
        self._check(size, dtype)
        return memory.empty(size, dtype)

    def zeros(self, size: int, dtype: npt.DTypeLike) -> DeviceArray:
        """All bytes zero."""
        self._check(size, dtype)
        return memory.zeros(size, dtype)

    def pinned_empty(self, nbytes: int) -> npt.NDArray[np.uint8]:
        """Host memory."""
        return np.empty(nbytes, np.uint8)

    def upload(self, host: npt.NDArray[Any], array: DeviceArray) -> None:
        """Copy at once."""
        array.from_host(host)

    def download(self, array: DeviceArray, host: npt.NDArray[Any]) -> None:
        """Copy at once."""
        host[:] = array.to_host()

    def copy(self, array: DeviceArray, to: DeviceArray) -> None:
        """Copy at once."""
        to.from_host(array.to_host())

    def exported(self, array: DeviceArray) -> npt.NDArray[Any]:
        """The emulated memory itself."""
        return array.as_host()

    def synchronize(self) -> None:
        """Nothing is under way."""

    def free_bytes(self) -> int:
        """What is not taken by live arrays."""
        return self.memory_bytes - memory.live_bytes()

    def statistics(self) -> dict[str, Any]:
        """What the launches of each kernel did."""
        kernels: Sequence[str] = self.module.names
        return {name: self.module.get_function(name).statistics for name in kernels}

    def _check(self, size: int, dtype: npt.DTypeLike) -> None:
        needed = size * np.dtype(dtype).itemsize
        if needed > self.free_bytes():
            raise OutOfDeviceMemoryError(f"{needed:,} bytes of {self.free_bytes():,}")
