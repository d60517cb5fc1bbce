"""The emulated device's memory: poisoned buffers with an unreadable page behind them.

A `DeviceArray` is what a `cupy.ndarray` is to the engine: address, size, dtype, slices and views.
Host code cannot read it but by `to_host`, as with a GPU.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import threading
import weakref
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

_ALIGNMENT = 256  # of every allocation, as cudaMalloc's
_POISON = 0xA5
_PROT_NONE = 0
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class Listener(Protocol):
    """A library of kernels, which knows the memory that they may touch."""

    def added(self, buffer: Buffer) -> None:
        """A buffer is there."""
        ...

    def removed(self, buffer: Buffer) -> None:
        """A buffer goes."""
        ...

    def written(self, address: int, nbytes: int) -> None:
        """The host has written so many bytes."""
        ...


# Every live buffer: libraries that are loaded later are told of them, too.
_buffers: dict[int, weakref.ref[Buffer]] = {}
_live = [0]  # their bytes
_lock = threading.RLock()  # buffers go when the last thread lets go of them
_listeners: list[Listener] = []


class Buffer:
    """`nbytes` bytes of device memory; the page after them can be neither read nor written."""

    def __init__(self, nbytes: int, *, initialised: bool) -> None:
        page = mmap.PAGESIZE
        room = _rounded(nbytes, _ALIGNMENT)
        whole = max(page, _rounded(room, page))
        self._map = mmap.mmap(-1, whole + page)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        if _libc.mprotect(base + whole, page, _PROT_NONE):
            raise OSError(ctypes.get_errno(), "mprotect failed")
        self.nbytes = nbytes
        self.initialised = initialised
        self.ptr = base + whole - room
        bytes_: Any = (ctypes.c_uint8 * nbytes).from_address(self.ptr)
        self.host: npt.NDArray[np.uint8] = np.ctypeslib.as_array(bytes_)
        if not initialised:
            self.host[:] = _POISON
        with _lock:
            _buffers[id(self)] = weakref.ref(self)
            _live[0] += nbytes
        for listener in _listeners:
            listener.added(self)

    def __del__(self) -> None:
        if getattr(self, "host", None) is None:
            return  # it was never there
        with _lock:
            _buffers.pop(id(self), None)
            _live[0] -= self.nbytes
        for listener in _listeners:
            listener.removed(self)


def listen(listener: Listener) -> None:
    """Have a library told of every buffer, those that are there first."""
    with _lock:
        found = [reference() for reference in _buffers.values()]
        _listeners.append(listener)
    for buffer in found:
        if buffer is not None:
            listener.added(buffer)


def live_bytes() -> int:
    """Bytes of all live buffers."""
    return _live[0]


class _Pointer:
    """`array.data.ptr`, as CuPy spells it."""

    __slots__ = ("ptr",)

    def __init__(self, ptr: int) -> None:
        self.ptr = ptr


class DeviceArray:
    """A contiguous array of one dimension on the emulated device."""

    __slots__ = ("__weakref__", "buffer", "dtype", "offset", "size")

    def __init__(self, buffer: Buffer, offset: int, size: int, dtype: npt.DTypeLike) -> None:
        self.buffer, self.offset, self.size = buffer, offset, size
        self.dtype = np.dtype(dtype)

    @property
    def data(self) -> _Pointer:
        """Its address is `data.ptr`."""
        return _Pointer(self.buffer.ptr + self.offset)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.size * self.dtype.itemsize

    @property
    def shape(self) -> tuple[int]:
        """One dimension."""
        return (self.size,)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("device memory is not read item by item; take it to the host")

    def __getitem__(self, part: slice) -> DeviceArray:
        start, stop, step = part.indices(self.size)
        if step != 1:
            raise ValueError("device arrays are contiguous")
        offset = self.offset + start * self.dtype.itemsize
        return DeviceArray(self.buffer, offset, max(0, stop - start), self.dtype)

    def view(self, dtype: npt.DTypeLike) -> DeviceArray:
        """The same bytes as values of another dtype."""
        dtype = np.dtype(dtype)
        if self.nbytes % dtype.itemsize or (self.buffer.ptr + self.offset) % dtype.alignment:
            raise ValueError(f"{self.nbytes} bytes at {self.offset} are no array of {dtype}")
        return DeviceArray(self.buffer, self.offset, self.nbytes // dtype.itemsize, dtype)

    def to_host(self) -> npt.NDArray[Any]:
        """A copy in host memory."""
        return self._host().copy()

    def from_host(self, values: npt.NDArray[Any]) -> None:
        """Copy from host memory; same dtype and size."""
        if values.dtype != self.dtype or values.shape != self.shape:
            raise ValueError(
                f"{values.dtype} {values.shape} does not fit {self.dtype} {self.shape}"
            )
        self._host()[:] = values
        for listener in _listeners:
            listener.written(self.data.ptr, self.nbytes)

    def as_host(self) -> npt.NDArray[Any]:
        """The memory itself, for those who take what a device hands out."""
        return np.asarray(_Exported(self))

    def _host(self) -> npt.NDArray[Any]:
        return self.buffer.host[self.offset : self.offset + self.nbytes].view(self.dtype)


class _Exported:
    """Keeps an array's memory as long as numpy has it."""

    def __init__(self, array: DeviceArray) -> None:
        self._array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        array = self._array
        return {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.data.ptr, False),
            "version": 3,
        }


def empty(size: int, dtype: npt.DTypeLike) -> DeviceArray:
    """Uninitialised: poisoned, and in check mode an error to read before it is written."""
    nbytes = _nbytes(size, dtype)
    return DeviceArray(Buffer(nbytes, initialised=False), 0, size, dtype)


def zeros(size: int, dtype: npt.DTypeLike) -> DeviceArray:
    """All bytes zero."""
    nbytes = _nbytes(size, dtype)
    return DeviceArray(Buffer(nbytes, initialised=True), 0, size, dtype)


def asarray(values: npt.NDArray[Any]) -> DeviceArray:
    """A copy of a host array of one dimension."""
    array = zeros(len(values), values.dtype)
    array.from_host(np.ascontiguousarray(values))
    return array


def _nbytes(size: int, dtype: npt.DTypeLike) -> int:
    return math.prod((size, np.dtype(dtype).itemsize))


def _rounded(size: int, to: int) -> int:
    return -(-size // to) * to
