"""Which device an engine's name stands for, and what speaks for or against it."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable
from functools import cache

from pqlab.errors import EngineError
from pqlab.gpu.device import Device

_lock = threading.Lock()


def device_of(engine: str, ordinal: int = 0) -> Device:
    """The device of `engine="gpu"` or `"emulated"`, made once. Raises `EngineError`."""
    with _lock:  # the emulator is compiled when it is first asked for
        return _DEVICES[engine](ordinal)


def why_no_gpu() -> str | None:
    """Why there is no GPU for pqlab here; None if there is one."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed"
    try:
        device_of("gpu")
    except EngineError as error:
        return error.message
    return None


@cache
def _gpu(ordinal: int) -> Device:
    from pqlab.gpu.cupy_device import CupyDevice

    return CupyDevice(ordinal)


@cache
def _emulated() -> Device:
    from pqlab.gpu.emulator.device import EmulatedDevice

    return EmulatedDevice()


def _the_emulator(ordinal: int) -> Device:
    if ordinal:
        raise EngineError(f"there is one emulator, of ordinal 0, and none of ordinal {ordinal}")
    return _emulated()


_DEVICES: dict[str, Callable[[int], Device]] = {"gpu": _gpu, "emulated": _the_emulator}
