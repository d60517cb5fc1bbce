"""Sizes of I/O stand in `pqlab/plan/policy.py`; each that stands elsewhere is named here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pqlab

PACKAGE = Path(pqlab.__file__).parent
MODULES = [path for folder in ("io", "dataset") for path in sorted((PACKAGE / folder).glob("*.py"))]
REST = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if path not in MODULES and path != PACKAGE / "plan" / "policy.py"
]
LEAST_BYTES = 4_096  # no smaller number is a buffer
# What is a size and not of I/O: kept footers, the layout of a cache file, a measure's threshold.
OTHER = {
    ("io/footer.py", "SHARED_BYTES"),
    ("io/cache.py", "DEFAULT_MAX_BYTES"),
    ("io/cache.py", "BLOCK_BYTES"),
    ("io/cache.py", "range_bytes"),
    ("io/objects.py", "_MEASURABLE_BYTES"),
}

# Sizes by name in the rest of the package.
ELSEWHERE = {
    # Decoded bytes, not of I/O.
    ("assemble/arrow.py", "_SMALL_BYTES"),
    ("check/chunks.py", "_BATCH_BYTES"),
    ("stream/parts.py", "FIRST_BYTES"),
    ("stream/parts.py", "LANE_BYTES"),
    ("stream/parts.py", "PART_BYTES"),
    # An estimate of a file's pages; the emulated device's memory; bounds on hostile files.
    ("plan/build.py", "_GUESSED_PAGE_BYTES"),
    ("gpu/emulator/device.py", "memory_bytes"),
    # Limits of findings.
    ("findings/rules.py", "_TINY_FILE_BYTES"),
    ("findings/rules.py", "_TINY_ROW_GROUP_BYTES"),
    ("findings/rules.py", "_LARGE_ROW_GROUP_BYTES"),
    ("findings/rules.py", "_SMALL_PAGE_BYTES"),
    ("findings/rules.py", "_LARGE_PAGE_BYTES"),
    ("findings/rules.py", "_LARGE_DICTIONARY_BYTES"),
    ("findings/rules.py", "_LEAST_FOOTER_BYTES"),
    # What the inspector reads only when it is asked twice.
    ("inspector/chunk.py", "ASKS_ABOVE_BYTES"),
    ("limits.py", "footer_bytes"),
    ("limits.py", "index_bytes"),
    ("limits.py", "page_bytes"),
    ("limits.py", "page_header_bytes"),
    ("limits.py", "read_bytes"),
}


def sizes(path: Path) -> Iterator[tuple[str, str]]:
    """The names of constants, or lines, that hold a size of 4 KiB or more as a number."""
    for statement in ast.walk(ast.parse(path.read_text())):
        if not isinstance(statement, ast.BinOp | ast.Constant):
            continue
        try:
            value = eval(ast.unparse(statement), {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30})
        except (NameError, TypeError, AttributeError, SyntaxError):
            continue
        is_size = isinstance(value, int) and value >= LEAST_BYTES and value % 1_024 == 0
        if is_size:
            line = path.read_text().splitlines()[statement.lineno - 1]
            name = line.split(" = ")[0].split(":")[0].strip()
            if not name.endswith("_NS"):
                yield str(path.relative_to(PACKAGE)), name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_size_stands_outside_the_policy(path: Path) -> None:
    assert set(sizes(path)) <= OTHER


def test_sizes_elsewhere_are_those_named() -> None:
    found = {cell for path in REST for cell in sizes(path) if cell[1].lower().endswith("_bytes")}
    assert found == ELSEWHERE


def test_the_search_finds_sizes() -> None:
    found = set(sizes(PACKAGE / "plan" / "policy.py"))
    assert ("plan/policy.py", "gap_bytes") in found
    assert ("plan/policy.py", "copy_buffer_bytes") in found
