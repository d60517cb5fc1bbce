"""The headers that the CPU's loops share with the GPU's, compiled by NVRTC, which needs no GPU."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path
from typing import Any

from cuda.bindings import nvrtc

import pqlab

HEADERS = Path(pqlab.__file__).parent / "native"
KERNELS = Path(__file__).parent / "kernels" / "headers.cu"
OPTIONS = (b"--gpu-architecture=sm_80", b"--std=c++17")


def load_nvrtc() -> None:
    """Load the library from its package, wherever on the path that is installed."""
    spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    assert spec is not None
    for folder in spec.submodule_search_locations or ():
        for library in (Path(folder) / "lib").glob("libnvrtc.so.*"):
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


def checked(result: tuple[Any, ...]) -> Any:
    status, *values = result
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, status
    return values[0] if values else None


def test_nvrtc_compiles_every_loop_and_includes_every_header() -> None:
    load_nvrtc()
    source = KERNELS.read_text(encoding="utf-8")
    for header in HEADERS.glob("*.cuh"):
        source += f'#include "{header.name}"\n'
    program = checked(nvrtc.nvrtcCreateProgram(source.encode(), b"headers.cu", 0, [], []))
    options = [*OPTIONS, b"-I" + bytes(HEADERS)]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    log = bytearray(checked(nvrtc.nvrtcGetProgramLogSize(program)))
    checked(nvrtc.nvrtcGetProgramLog(program, log))
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
    cubin_bytes = checked(nvrtc.nvrtcGetCUBINSize(program))
    checked(nvrtc.nvrtcDestroyProgram(program))
    assert cubin_bytes > 10_000
