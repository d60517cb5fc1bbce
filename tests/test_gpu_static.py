"""What ptxas says of every kernel, for every architecture: no spills, and registers in bounds."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cuda.bindings import nvrtc
from test_gpu_headers import HEADERS, checked, load_nvrtc

import pqlab
from pqlab.gpu.cupy_device import kernel_source

GPU = Path(pqlab.__file__).parent / "gpu"
ARCHITECTURES = (75, 80, 89, 90, 100, 120)

# Most registers of a thread on any architecture, and bytes of shared memory of a block. Multiples
# of 8 are taken anyway; at 64 an SM of 65,536 registers is half full of warps.
BOUNDS = {
    "walk_headers": (104, 2_048), "read_headers": (64, 0),
    "decompress_": (64, 0), "read_levels": (80, 0), "read_nested_levels": (80, 0),
    "check_": (32, 0), "read_indices": (72, 0), "read_booleans": (64, 0),
    "read_strings": (136, 8_704), "read_lengths": (80, 0), "read_prefixes": (96, 0),
    "read_deltas_": (72, 0), "read_alp_": (88, 0), "join_": (64, 0), "emit_": (64, 0),
    "count_": (40, 0), "mark_": (32, 0), "fill_": (40, 0),
    "measure_": (40, 0), "place_": (40, 0), "gather_": (64, 0), "compare_": (32, 0),
    "expand_": (32, 0), "take_": (32, 0), "narrow_": (32, 0), "move_": (40, 0),
}  # fmt: skip
# Bytes of stack: of Thrift values that are skipped, what is open around them.
STACK = {"walk_headers": 1_024, "read_headers": 1_024}

_KERNEL = re.compile(
    r"Compiling entry function '(\w+)'.*?"
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?"
    r"Used (\d+) registers([^\n]*)",
    re.DOTALL,
)


def compiled(architecture: int) -> dict[str, tuple[int, int, int, int]]:
    """Of each kernel: stack, spilled and shared bytes, and registers."""
    program = checked(nvrtc.nvrtcCreateProgram(kernel_source().encode(), b"kernels.cu", 0, [], []))
    options = [
        f"--gpu-architecture=sm_{architecture}".encode(),
        b"--std=c++17",
        b"--ptxas-options=-v",
        b"--device-as-default-execution-space",  # which CuPy adds
        b"-I" + bytes(GPU),
        b"-I" + bytes(HEADERS),
    ]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    log = bytearray(checked(nvrtc.nvrtcGetProgramLogSize(program)))
    checked(nvrtc.nvrtcGetProgramLog(program, log))
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
    checked(nvrtc.nvrtcDestroyProgram(program))
    found = {}
    for name, stack, stores, loads, registers, rest in _KERNEL.findall(log.decode()):
        shared = re.search(r"(\d+) bytes smem", rest)
        spilled = int(stores) + int(loads)
        found[name] = int(stack), spilled, int(shared[1]) if shared else 0, int(registers)
    return found


def test_no_kernel_spills_and_registers_stay_in_bounds() -> None:
    load_nvrtc()
    names = set(re.findall(r"PQ_EXPORT\((\w+)\)", (GPU / "kernels.cu").read_text()))
    with ThreadPoolExecutor(2) as pool:
        tables = dict(zip(ARCHITECTURES, pool.map(compiled, ARCHITECTURES), strict=True))
    wrong = []
    for architecture, table in tables.items():
        assert names - {"name"} <= set(table), architecture
        for name, found in table.items():
            registers, shared = next(
                bound for prefix, bound in BOUNDS.items() if name.startswith(prefix)
            )
            stack, spilled = found[:2]
            fits = found[2] <= shared and found[3] <= registers and stack <= STACK.get(name, 0)
            if spilled or not fits:
                wrong.append((name, architecture, found))
    assert not wrong
