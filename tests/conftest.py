"""Fixtures and needs that every test shares.

`PQLAB_CORPUS` names the folder of public Parquet files (with `manifest.csv`), `PQLAB_DATA` the
folder of real files. Without them the tests that need them are skipped, for one counted reason.
With `CI=true` nothing is skipped but for want of a GPU: what is missing there is a failure.
"""

from __future__ import annotations

import csv
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import Run, Save, runner
from forms import FORMS

if TYPE_CHECKING:
    from lab_server import Lab

IN_CI = os.environ.get("CI") == "true"

# marker -> (is it here?, why the test is skipped if not)
NEEDS: dict[str, tuple[Callable[[], bool], str]] = {
    "browser": (lambda: shutil.which("chromium") is not None, "no chromium on this machine"),
    "node": (lambda: shutil.which("npm") is not None, "no node on this machine"),
    "root": (lambda: os.geteuid() == 0, "not running as root"),
    "gpu": (lambda: Path("/dev/nvidiactl").exists(), "no GPU on this machine"),
}


def _unavailable(reason: str, *, may_skip: bool = not IN_CI) -> None:
    if may_skip:
        pytest.skip(reason)
    pytest.fail(f"{reason} (in CI this is a failure)", pytrace=False)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, (is_here, reason) in NEEDS.items():
        if item.get_closest_marker(marker) and not is_here():
            _unavailable(reason, may_skip=marker == "gpu" or not IN_CI)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The forms of the loops that were tested, and a line per reason to skip with its tests."""
    terminalreporter.write_line(f"decoding loops tested: {', '.join(FORMS)}")
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped {count:4} tests: {reason}")


def _folder(variable: str) -> Path:
    value = os.environ.get(variable)
    if not value or not Path(value).is_dir():
        _unavailable(f"{variable} is not set to a folder of Parquet files")
    return Path(value or "").resolve()


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of public Parquet files."""
    return _folder("PQLAB_CORPUS")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real, larger files."""
    return _folder("PQLAB_DATA")


@pytest.fixture(scope="session")
def manifest(corpus: Path) -> list[dict[str, str]]:
    """The rows of the corpus' `manifest.csv`, as text."""
    with (corpus / "manifest.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """`run("info", path)`: the command line's exit code and what it wrote."""
    return runner(capsys)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab with a browser; its folder has taxi.parquet."""
    from lab_server import lab_server

    from pqlab import sample

    folder = tmp_path_factory.mktemp("lab")
    sample.write(folder / "taxi.parquet", rows=200_000)
    with lab_server(folder) as running:
        yield running


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """`save(data)`: the path of a file with these bytes."""

    def save(data: bytes) -> Path:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        path.write_bytes(data)
        return path

    return save
