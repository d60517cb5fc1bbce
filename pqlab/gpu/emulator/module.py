"""Kernels on the emulator, called as `cupy.RawModule` calls them, but without its tolerance.

CuPy passes arguments of any number, width and dtype on as bytes; here each must be what the kernel
declares. A launch that breaks a rule of CUDA's is a `KernelError` that names the kernel, the block,
the thread and the line.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pqlab.errors import PqlabError
from pqlab.gpu.emulator import memory
from pqlab.gpu.emulator.build import build
from pqlab.gpu.emulator.memory import Buffer, DeviceArray

_KINDS = ("i", "u", "f", "pointer", "struct")
WARP = 32


class KernelError(PqlabError):
    """A kernel broke a rule: a race, an access out of bounds, a divergent barrier, a deadlock ...

    `kernel`, `block` and `thread` say where, `line` the source line where it is known.
    """

    def __init__(
        self, message: str, *, kernel: str, block: int, thread: int, line: str | None
    ) -> None:
        where = f"{kernel}, block {block}, thread {thread}" + (f", {line}" if line else "")
        super().__init__(f"{message} [{where}]")
        self.kernel, self.block, self.thread, self.line = kernel, block, thread, line


@dataclass(slots=True)
class LaunchStatistics:
    """What a kernel's launches did; `operations` and `lane_slots` are counted in check mode."""

    launches: int = 0
    blocks: int = 0
    meetings: int = 0  # of warps and blocks
    operations: int = 0  # loads and stores
    lane_slots: int = 0  # between two meetings, 32 times the busiest lane's
    shared_bytes: int = 0  # of the block that took the most

    @property
    def active_lanes(self) -> float:
        """Lanes of a warp that work at a time, 1 to 32."""
        return WARP * self.operations / self.lane_slots if self.lane_slots else 0.0


@dataclass(slots=True)
class Schedule:
    """In which order fibres and blocks run: 0 as they come, 1 the last first, else by this seed."""

    seed: int = 0
    spin_limit: int = 1 << 24  # memory operations of a thread between two meetings


class _Parameter(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("is_const", ctypes.c_uint32),
        ("alignment", ctypes.c_uint32),
    )


class _Kernel(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("call", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("num_parameters", ctypes.c_uint32),
        ("parameters", ctypes.POINTER(_Parameter)),
    )


class _Options(ctypes.Structure):
    _fields_ = (("seed", ctypes.c_uint64), ("spin_limit", ctypes.c_uint64))


class _Report(ctypes.Structure):
    _fields_ = (
        ("failed", ctypes.c_uint32),
        ("block", ctypes.c_uint32),
        ("thread", ctypes.c_uint32),
        ("line", ctypes.c_int32),
        ("file", ctypes.c_char_p),
        ("code", ctypes.c_uint64),
        ("meetings", ctypes.c_uint64),
        ("operations", ctypes.c_uint64),
        ("lane_slots", ctypes.c_uint64),
        ("shared_bytes", ctypes.c_uint64),
        ("text", ctypes.c_char * 1024),
    )


class RawModule:
    """The kernels of a `.cu` file. `schedule` may be changed between launches."""

    def __init__(
        self,
        kernels: Path,
        *,
        checked: bool = False,
        includes: Sequence[Path] = (),
        schedule: Schedule | None = None,
    ) -> None:
        self.path = build(kernels, checked=checked, includes=includes)
        self.checked = checked
        self.schedule = schedule or Schedule()
        self._library = ctypes.CDLL(str(self.path))
        self._library.pq_emulator_register.argtypes = (
            ctypes.c_void_p,
            ctypes.c_uint64,
            ctypes.c_uint32,
        )
        self._library.pq_emulator_unregister.argtypes = (ctypes.c_void_p,)
        self._library.pq_emulator_written.argtypes = (ctypes.c_void_p, ctypes.c_uint64)
        found = ctypes.POINTER(_Kernel)()
        count = self._library.pq_emulator_kernels(ctypes.byref(found))
        self._kernels = {found[i].name.decode(): Kernel(self, i, found[i]) for i in range(count)}
        memory.listen(self)

    @property
    def names(self) -> list[str]:
        """The kernels that there are."""
        return list(self._kernels)

    def get_function(self, name: str) -> Kernel:
        """The kernel of that name; KeyError if there is none."""
        return self._kernels[name]

    def added(self, buffer: Buffer) -> None:
        """Let kernels touch a buffer."""
        self._library.pq_emulator_register(buffer.ptr, buffer.nbytes, buffer.initialised)

    def written(self, address: int, nbytes: int) -> None:
        """The host has written bytes that they may touch."""
        if self.checked and nbytes:
            self._library.pq_emulator_written(address, nbytes)

    def removed(self, buffer: Buffer) -> None:
        """Let them no longer."""
        self._library.pq_emulator_unregister(buffer.ptr)

    def line_of(self, code: int) -> str | None:
        """The source line of an instruction, where binutils are here to tell."""
        tool = shutil.which("addr2line")
        if tool is None or code == 0:
            return None
        command = [tool, "-e", str(self.path), hex(code - 1)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # addr2line
        line = done.stdout.strip().split(" ")[0]
        return None if "?" in line or not line else Path(line).name


@dataclass(slots=True)
class Kernel:
    """A kernel: `kernel((blocks,), (threads,), arguments)`."""

    module: RawModule
    ordinal: int
    native: _Kernel
    statistics: LaunchStatistics = field(default_factory=LaunchStatistics)

    @property
    def name(self) -> str:
        """As in the source."""
        name: bytes = self.native.name
        return name.decode()

    def __call__(self, grid: tuple[int], block: tuple[int], arguments: Sequence[Any]) -> None:
        """Run it to its end. `grid`: blocks, `block`: threads, a multiple of 32.

        Pointers take a `DeviceArray` of their item size, or of bytes (pointers to bytes take any),
        scalars a numpy scalar of exactly the parameter's type. Raises `KernelError`, and
        TypeError for other arguments.
        """
        declared = [self.native.parameters[i] for i in range(self.native.num_parameters)]
        if len(declared) != len(arguments):
            raise TypeError(f"{self.name} takes {len(declared)} arguments, not {len(arguments)}")
        values = [
            _argument(f"{self.name}, argument {place}", parameter, argument)
            for place, (parameter, argument) in enumerate(zip(declared, arguments, strict=True))
        ]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        schedule = self.module.schedule
        options = _Options(schedule.seed, schedule.spin_limit)
        report = _Report()
        self.module._library.pq_emulator_launch(  # noqa: SLF001  # its module
            self.ordinal,
            grid[0],
            block[0],
            pointers,
            ctypes.byref(options),
            ctypes.byref(report),
        )
        self._count(grid[0], report)
        if report.failed:
            file = report.file
            line = f"{Path(file.decode()).name}:{report.line}" if file else None
            raise KernelError(
                report.text.decode(errors="replace"),
                kernel=self.name,
                block=report.block,
                thread=report.thread,
                line=line or self.module.line_of(report.code),
            )

    def _count(self, blocks: int, report: _Report) -> None:
        statistics = self.statistics
        statistics.launches += 1
        statistics.blocks += blocks
        statistics.meetings += report.meetings
        statistics.operations += report.operations
        statistics.lane_slots += report.lane_slots
        statistics.shared_bytes = max(statistics.shared_bytes, report.shared_bytes)


def _argument(what: str, parameter: _Parameter, argument: Any) -> Any:
    """The argument as bytes that a ctypes object holds."""
    kind = _KINDS[parameter.kind]
    if kind == "pointer":
        return ctypes.c_uint64(_address(what, parameter, argument))
    if kind == "struct":
        if not isinstance(argument, np.void) or argument.dtype.itemsize != parameter.size:
            raise TypeError(f"{what} is a struct of {parameter.size} bytes, not {argument!r}")
    elif not isinstance(argument, np.generic) or (
        argument.dtype.kind != kind or argument.dtype.itemsize != parameter.size
    ):
        wanted = f"{kind}{parameter.size}"
        raise TypeError(f"{what} is a numpy scalar of type {wanted}, not {argument!r}")
    return (ctypes.c_uint8 * parameter.size).from_buffer_copy(argument.tobytes())


def _address(what: str, parameter: _Parameter, argument: Any) -> int:
    if argument is None:
        return 0
    if not isinstance(argument, DeviceArray):
        raise TypeError(f"{what} is an array of the device, not {type(argument).__name__}")
    itemsize = argument.dtype.itemsize
    if parameter.size not in (1, itemsize) and itemsize != 1:
        raise TypeError(f"{what} points to {parameter.size} bytes, not to {argument.dtype}")
    address = argument.data.ptr
    if address % parameter.alignment:
        raise TypeError(f"{what} is at an address that is not a multiple of {parameter.alignment}")
    return address
