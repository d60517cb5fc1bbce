"""What is compiled for one instruction set is called for it alone.

The linker keeps one of all inline functions of a name. Were one compiled with -mavx512f among them,
every processor could be handed it. So each function that those objects offer has its instruction
set in its name, which no other code can mean.
"""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXTENDED = ("avx2", "avx512")


def newest_build() -> Path:
    """Where the editable installation was built."""
    builds = [path.parent.parent for path in ROOT.glob("build/*/CMakeFiles/loops_portable.dir")]
    builds = [path for path in builds if "sanitize" not in path.parts]
    assert builds, "no build in build/: tools/install core"
    return max(builds, key=lambda path: (path / "CMakeCache.txt").stat().st_mtime)


def objects_of(instruction_set: str) -> list[Path]:
    found = sorted((newest_build() / f"CMakeFiles/loops_{instruction_set}.dir").rglob("*.o"))
    sources = {path.name for path in (ROOT / "pqlab/native/cpu/simd").glob("*.cpp")}
    assert sources <= {path.name.removesuffix(".o") for path in found}
    return [path for path in found if path.name.removesuffix(".o") in sources]


def offered(path: Path) -> set[str]:
    """The names, as the linker sees them, of all that other objects could take from this one."""
    command = ["nm", "--defined-only", "--extern-only", "--format=posix", str(path)]
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return {line.split()[0] for line in out.stdout.splitlines()}


def foreign(names: set[str], instruction_set: str) -> set[str]:
    """Those without the instruction set's namespace in them, mangled: its length, then it."""
    return {name for name in names if f"{len(instruction_set)}{instruction_set}" not in name}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the sets are x86-64's")
@pytest.mark.parametrize("instruction_set", EXTENDED)
def test_objects_offer_nothing_under_a_name_that_others_have(instruction_set: str) -> None:
    for path in objects_of(instruction_set):
        names = offered(path)
        assert names, path.name
        assert foreign(names, instruction_set) == set(), path.name


def test_a_shared_inline_function_would_be_found(tmp_path: Path) -> None:
    source = tmp_path / "shared.cpp"
    source.write_text(
        "inline __attribute__((noinline)) int twice(int x) { return 2 * x; }\n"
        "namespace avx2 { int four(int x) { return twice(twice(x)); } }\n"
    )
    compiled = tmp_path / "shared.o"
    subprocess.run(["g++", "-c", "-O1", "-o", compiled, source], check=True, timeout=60)
    assert foreign(offered(compiled), "avx2") == {"_Z5twicei"}
