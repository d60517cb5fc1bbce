"""Builds kernels for the emulator: one shared library a set of sources, kept by their digest."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pqlab.errors import EngineError

_HERE = Path(__file__).parent
_RUNTIME = ("runtime.cpp", "fibre.cpp")
_MEMORY = {False: "unchecked.cpp", True: "checked.cpp"}
# Check mode: the hooks of -fsanitize=thread are the emulator's. At -O1 g++ does not merge accesses.
_KERNEL_FLAGS = {False: ("-O2",), True: ("-O1", "-g", "-fsanitize=thread")}
_FLAGS = (
    "-std=c++17",
    "-fPIC",
    "-DPQ_EMULATOR",
    "-fno-strict-aliasing",
    "-Wall",
    "-Wextra",
    "-Wno-unknown-pragmas",
)
_SUFFIXES = (".cu", ".cuh", ".cpp", ".hpp")


def build(
    kernels: Path, *, checked: bool, includes: Sequence[Path] = (), folder: Path | None = None
) -> Path:
    """Compile a `.cu` file with g++; gives the shared library, built once for its sources.

    `checked`: with check mode's hooks. `includes`: folders of the headers that it includes.
    `folder`: where libraries are kept, by default a private one of this user's cache. Raises
    `EngineError` where there is no g++, or where it does not take the sources.
    """
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        raise EngineError(
            "the emulator compiles kernels with g++, which is not here",
            hint="Install g++ (apt-get install g++)",
        )
    folder = folder or _cache_folder()
    library = folder / f"{kernels.stem}-{_digest(kernels, includes, f'{compiler} {checked}')}.so"
    if library.exists():
        return library
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    flags = [*_FLAGS, f"-I{_HERE}", *(f"-I{include}" for include in includes)]
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        compiled, linked = Path(scratch, "kernels.o"), Path(scratch, "kernels.so")
        header = ("-include", str(_HERE / "cuda.hpp"))
        kernel_flags = (*_KERNEL_FLAGS[checked], *header, "-x", "c++", "-c", str(kernels))
        _run([compiler, *flags, *kernel_flags, "-o", str(compiled)], kernels)
        runtime = [str(_HERE / name) for name in (*_RUNTIME, _MEMORY[checked])]
        options = ("-O2", "-shared", "-fvisibility=hidden")
        _run([compiler, *flags, *options, *runtime, str(compiled), "-o", str(linked)], kernels)
        linked.replace(library)  # whole, or not at all
    return library


def _run(command: list[str], kernels: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # g++, of names of our own
    if done.returncode != 0:
        raise EngineError(f"g++ does not take {kernels.name}:\n{done.stderr}")


def _digest(kernels: Path, includes: Sequence[Path], how: str) -> str:
    digest = hashlib.sha256(how.encode())
    files = {kernels}
    for folder in (_HERE, *includes):
        files.update(path for path in folder.iterdir() if path.suffix in _SUFFIXES)
    for path in sorted(files):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:24]


def _cache_folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root, "pqlab", "emulator")
