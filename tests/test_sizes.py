"""Sizes of I/O stand in `pqlab/plan/policy.py` alone: nothing else fixes a buffer or a window."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pqlab

PACKAGE = Path(pqlab.__file__).parent
MODULES = [path for folder in ("io", "dataset") for path in sorted((PACKAGE / folder).glob("*.py"))]
LEAST_BYTES = 4_096  # no smaller number is a buffer
# What is a size and not of I/O: kept footers, the layout of a cache file, a measure's threshold.
OTHER = {
    ("io/footer.py", "SHARED_BYTES"),
    ("io/cache.py", "DEFAULT_MAX_BYTES"),
    ("io/cache.py", "BLOCK_BYTES"),
    ("io/cache.py", "range_bytes"),
    ("io/objects.py", "_MEASURABLE_BYTES"),
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


def test_the_search_finds_sizes() -> None:
    found = set(sizes(PACKAGE / "plan" / "policy.py"))
    assert ("plan/policy.py", "gap_bytes") in found
    assert ("plan/policy.py", "copy_buffer_bytes") in found
