"""The keyword arguments of reading and of iterating, and what they may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, cast, get_args

from pqlab.errors import EngineError
from pqlab.trace import Trace

if TYPE_CHECKING:
    from pqlab.gpu.device import Device

Engine: TypeAlias = Literal["auto", "cpu", "gpu", "emulated"]
Int96Unit: TypeAlias = Literal["ns", "us"]
InvalidUtf8: TypeAlias = Literal["error", "binary"]
Strings: TypeAlias = Literal["string", "categorical", "enum"]
Prefetch: TypeAlias = int | Literal["adaptive"]
To: TypeAlias = Literal["polars", "arrow"]
ToDevice: TypeAlias = Literal["cupy", "dlpack", "arrow_device"]


TYPING = ("int96_unit", "invalid_utf8", "strings")  # the options that types of columns depend on


class DecodeOptions(TypedDict, total=False):
    """The keyword arguments of `FileSelection.submit`, which all that read share."""

    engine: Engine
    workers: int | None
    int96_unit: Int96Unit
    invalid_utf8: InvalidUtf8
    strings: Strings
    trace: Trace | None
    device: int
    device_memory_limit: int | None


class ReadOptions(DecodeOptions, total=False):
    """The keyword arguments of `FileSelection.read`."""

    memory_limit: int | None
    progress: bool


class Ahead(TypedDict, total=False):
    """How far ahead an iteration reads, of which row groups, in which order."""

    prefetch: Prefetch
    memory_limit: int | None
    shard: tuple[int, int] | None
    shuffle: int | None
    state: Mapping[str, Any] | None


class IterateOptions(DecodeOptions, Ahead, total=False):
    """The keyword arguments of `FileSelection.iter_row_groups` beside `to`."""


def engine_of(engine: str, *, stays: bool = False) -> tuple[str, str]:
    """The engine that is taken, and why; `stays`: frames stay on a device. Raises `EngineError`."""
    if engine not in get_args(Engine):
        known = ", ".join(get_args(Engine))
        raise EngineError(f"there is no engine {engine!r}", hint=f"Take one of {known}")
    if stays and engine == "cpu":
        raise EngineError(
            "the CPU decodes into host memory, and the frames are to stay on a device",
            hint='Leave engine out for the GPU, or take engine="emulated" to try it without one',
        )
    if stays and engine == "auto":
        return "gpu", "frames are to stay on the GPU"
    if engine == "auto":
        return "cpu", _why_auto_takes_the_cpu()
    if engine == "cpu":
        return "cpu", "asked for"
    if engine == "emulated":
        return "emulated", "asked for; the kernels run on the CPU, and no time is a GPU's"
    return "gpu", "asked for"


@cache
def _why_auto_takes_the_cpu() -> str:
    from pqlab.gpu.devices import why_no_gpu

    reason = why_no_gpu()
    if reason is None:
        return 'auto takes the CPU until a GPU was measured against it; engine="gpu" takes the GPU'
    return f"auto takes the CPU: {reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decode:
    """What `DecodeOptions` say. Raises `EngineError`, ValueError or TypeError if they cannot be."""

    engine: Engine = "auto"
    workers: int | None = None
    int96_unit: Int96Unit = "ns"
    invalid_utf8: InvalidUtf8 = "error"
    strings: Strings = "string"
    trace: Trace | None = None
    device: int = 0
    device_memory_limit: int | None = None
    stays: bool = False  # frames stay on the device

    def __post_init__(self) -> None:
        if self.trace is not None and not isinstance(self.trace, Trace):
            raise TypeError(f"trace is None or a pqlab.Trace to record into, not {self.trace!r}")
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers is None or a number of threads, not {self.workers!r}")
        check_choice("int96_unit", self.int96_unit, Int96Unit)
        check_choice("invalid_utf8", self.invalid_utf8, InvalidUtf8)
        check_choice("strings", self.strings, Strings)
        if self.strings != "string" and self.invalid_utf8 == "binary":
            told = f"strings={self.strings!r} is none"
            raise ValueError(f'invalid_utf8="binary" gives bytes, of which {told}')
        if self.strings != "string" and self.stays:
            raise ValueError(f"strings={self.strings!r} is of frames in host memory")
        if self.device < 0:
            raise ValueError(f"device is the ordinal of a GPU, from 0 on, not {self.device!r}")
        if self.device_memory_limit is not None and self.device_memory_limit < 1:
            told = f"not {self.device_memory_limit!r}"
            raise ValueError(f"device_memory_limit is None or a number of bytes, {told}")
        engine_of(self.engine, stays=self.stays)

    @property
    def runs_on(self) -> Device | None:
        """What the engine's kernels run on; None: native threads decode."""
        name, _ = engine_of(self.engine, stays=self.stays)
        if name == "cpu":
            return None
        from pqlab.gpu.devices import device_of

        return device_of(name, self.device)


def _within_device(decode: Decode, ahead: Ahead) -> Ahead:
    device = decode.runs_on
    assert device is not None
    limit = decode.device_memory_limit or max(device.free_bytes() // 2, 1)
    asked = ahead.get("memory_limit")
    return {**ahead, "memory_limit": limit if asked is None else min(asked, limit)}


def parted(options: IterateOptions, *, stays: bool = False) -> tuple[Decode, Ahead]:
    """How an iteration decodes, and how far ahead it reads. `stays`: frames stay on a device."""
    ahead = {name: value for name, value in options.items() if name in Ahead.__annotations__}
    decode = {name: value for name, value in options.items() if name not in ahead}
    made = Decode(**cast("DecodeOptions", decode), stays=stays)
    found = cast("Ahead", ahead)
    check_iterate_options(None, found.get("prefetch", 0), found.get("memory_limit"))
    return made, _within_device(made, found) if stays else found


def refuse_enum(strings: str) -> None:
    """Raise ValueError where frames come one after the other, each with values of its own."""
    if strings == "enum":
        raise ValueError(
            'strings="enum" needs all values before the first frame: frames of different Enums do '
            'not go together. Take strings="categorical", or read()'
        )


def check_choice(name: str, value: object, choices: Any) -> None:
    """Raise ValueError for what is none of a Literal's values."""
    known = get_args(choices)
    if value not in known:
        raise ValueError(f"{name} is one of {', '.join(known)}, not {value!r}")


def check_iterate_options(rows: int | None, prefetch: object, memory_limit: int | None) -> None:
    """As `Decode`."""
    if rows is not None and rows < 1:
        raise ValueError(f"rows is how many rows a frame has, at least 1, not {rows!r}")
    is_number = isinstance(prefetch, int) and not isinstance(prefetch, bool) and prefetch >= 0
    if prefetch != "adaptive" and not is_number:
        raise ValueError(f'prefetch is "adaptive" or a number of row groups, not {prefetch!r}')
    if memory_limit is not None and memory_limit < 1:
        raise ValueError(f"memory_limit is None or a number of bytes, not {memory_limit!r}")
