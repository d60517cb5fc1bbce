"""The documentation says what is so: its code runs, its links lead somewhere, its tables agree."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pqlab

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md"))
    if path.is_file()
)
PYTHON = [
    pytest.param(code, id=f"{page.name}-{number}")
    for page in PAGES
    for number, code in enumerate(
        re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    )
]
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@pytest.mark.parametrize("code", PYTHON)
def test_python_runs(code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout, "an example shows something"


def test_readme_has_an_example_of_fifteen_lines() -> None:
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert code is not None
    assert len([line for line in code[1].splitlines() if line.strip()]) <= 15


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"https?:|#", target):
            assert (page.parent / target.partition("#")[0]).exists(), target


def test_paths_named_in_prose_exist() -> None:
    for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text("utf-8")
        for path in re.findall(r"`((?:pqlab|tests|tools|docs|benchmarks)/[\w./]+)`", text):
            assert (ROOT / path).exists(), f"{name} names {path}"


def test_architecture_has_every_module() -> None:
    table = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("## Folders")[1].split("## ")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {name.rstrip("/") for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    there = {
        path.stem
        for path in (ROOT / "pqlab").iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").exists()) and path.stem[:2] != "__"
    }
    assert named == there


def test_make_targets_named_in_the_docs_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"(?:`|^)make ([\w-]+)", page.read_text("utf-8"), re.MULTILINE))
        assert named <= targets, page.name


def _number(text: str) -> int:
    number, _, unit = text.partition(" ")
    return int(number.replace(",", "")) * UNITS.get(unit, 1)


def test_limits_page_has_every_limit_with_its_default() -> None:
    page = (ROOT / "docs" / "limits.md").read_text("utf-8")
    stated = {
        name: _number(default)
        for name, default in re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", page, re.MULTILINE)
    }
    assert stated == dataclasses.asdict(pqlab.Limits())


def test_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "generate_docs.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
