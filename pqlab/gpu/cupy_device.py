"""A GPU by CuPy. Nothing else imports CuPy; memory comes from its current allocator."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pqlab.errors import EngineError
from pqlab.gpu.device import Kernel, OutOfDeviceMemoryError

_GPU = Path(__file__).parent
_FOLDERS = (_GPU, _GPU.parent / "native")


class CupyDevice:
    """The card of that ordinal, its work on CuPy's current stream.

    Raises `EngineError` where CuPy is not installed, or finds no card of that ordinal.
    """

    is_emulated = False
    arrow_type = 2

    def __init__(self, ordinal: int = 0) -> None:
        self._cupy, self._cupyx = _cupy()
        self.ordinal = ordinal
        try:
            self._card = self._cupy.cuda.Device(ordinal)
            properties = self._cupy.cuda.runtime.getDeviceProperties(ordinal)
        except self._cupy.cuda.runtime.CUDARuntimeError as error:
            raise EngineError(
                f"CuPy finds no GPU of ordinal {ordinal}: {error}", hint='Read with engine="cpu"'
            ) from None
        self.name: str = properties["name"].decode()
        self._module = self._cupy.RawModule(
            code=kernel_source(),
            options=("--std=c++17", *(f"-I{folder}" for folder in _FOLDERS)),
        )
        self._threads = threading.local()  # each keeps the host memory of copies that it queued

    def kernel(self, name: str) -> Kernel:
        """A kernel of kernels.cu."""
        try:
            with self._card:
                function = self._module.get_function(name)  # compiles all, once
        except self._cupy.cuda.compiler.CompileException as error:
            raise EngineError(
                f"the kernels do not compile for {self.name}: {str(error).splitlines()[0]}",
                hint='Read with engine="cpu", and report it with pqlab.show_versions()',
            ) from None

        def launch(grid: tuple[int], block: tuple[int], arguments: Sequence[Any]) -> None:
            # Some versions of CuPy pass None on as no argument at all.
            given = tuple(np.uint64(0) if each is None else each for each in arguments)
            with self._card:
                function(grid, block, given)

        return launch

    def empty(self, size: int, dtype: npt.DTypeLike) -> Any:
        """Not initialised."""
        return self._allocated(self._cupy.empty, size, dtype)

    def zeros(self, size: int, dtype: npt.DTypeLike) -> Any:
        """All bytes zero."""
        return self._allocated(self._cupy.zeros, size, dtype)

    def pinned_empty(self, nbytes: int) -> npt.NDArray[np.uint8]:
        """Page-locked host memory; ordinary memory where the system locks no more."""
        try:
            with self._card:
                array: npt.NDArray[np.uint8] = self._cupyx.empty_pinned(nbytes, np.uint8)
        except self._cupy.cuda.runtime.CUDARuntimeError:
            return np.empty(nbytes, np.uint8)
        return array

    def upload(self, host: npt.NDArray[Any], array: Any) -> None:
        """Queue a copy; the host memory is kept until `synchronize`."""
        with self._card:
            array.set(host)
        self._under_way().append(host)

    def download(self, array: Any, host: npt.NDArray[Any]) -> None:
        """Queue a copy; there after `synchronize`."""
        with self._card:
            array.get(out=host, blocking=False)
        self._under_way().append(host)

    def copy(self, array: Any, to: Any) -> None:
        """Queue a copy within the device."""
        with self._card:
            to.data.copy_from_device_async(array.data, array.nbytes)

    def exported(self, array: Any) -> Any:
        """The CuPy array as it is."""
        return array

    def synchronize(self) -> None:
        """Until all that was asked for is done."""
        with self._card:
            self._cupy.cuda.get_current_stream().synchronize()
        self._under_way().clear()

    def free_bytes(self) -> int:
        """What the card has left, with what CuPy's pool keeps unused."""
        with self._card:
            free: int = self._card.mem_info[0]
            unused: int = self._cupy.get_default_memory_pool().free_bytes()
        return free + unused

    def _under_way(self) -> list[Any]:
        found: list[Any] = self._threads.__dict__.setdefault("under_way", [])
        return found

    def _allocated(self, make: Any, size: int, dtype: npt.DTypeLike) -> Any:
        try:
            with self._card:
                return make(size, dtype)
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise OutOfDeviceMemoryError(str(error)) from None


def _cupy() -> tuple[Any, Any]:
    try:
        import cupy
        import cupyx
    except ImportError as error:
        raise EngineError(
            f"a GPU is reached by CuPy, which is not to be had: {error}",
            hint="pip install cupy-cuda12x, or cupy-cuda13x, as the driver is",
        ) from None
    return cupy, cupyx


def kernel_source() -> str:
    """What CuPy compiles. It keeps that by the text, which so must tell of the headers, too."""
    digest = hashlib.sha256()
    for folder in _FOLDERS:
        for path in sorted(folder.glob("*.cuh")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    kernels = (_GPU / "kernels.cu").read_text(encoding="utf-8")
    return f"// headers {digest.hexdigest()}\n{kernels}"
