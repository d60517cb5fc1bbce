"""The widget in Python: its bundle, its traits, what is shown without JavaScript."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import traitlets

import pqlab
from pqlab import sample, widgets
from pqlab.errors import SelectionError

SOURCES = Path(widgets.__file__).parent / "js"
BUNDLE = Path(widgets.__file__).parent / "static"


@pytest.fixture
def taxi(tmp_path: Path) -> Path:
    path = tmp_path / "taxi.parquet"
    sample.write(path, rows=20_000)
    return path


@pytest.mark.node
def test_the_bundle_is_what_its_sources_make(tmp_path: Path) -> None:
    sources = tmp_path / "js"
    shutil.copytree(SOURCES, sources, ignore=shutil.ignore_patterns("node_modules"))
    run = ["npm", "ci", "--no-audit", "--no-fund", "--silent"]
    subprocess.run(run, cwd=sources, check=True, timeout=300)
    subprocess.run(["npm", "run", "--silent", "check"], cwd=sources, check=True, timeout=120)
    built = tmp_path / "built"
    subprocess.run(["node", "build.mjs", str(built)], cwd=sources, check=True, timeout=120)
    for path in BUNDLE.iterdir():
        assert (built / path.name).read_bytes() == path.read_bytes(), path.name


def test_the_bundle_is_small() -> None:
    assert (BUNDLE / "inspector.js").stat().st_size < 150_000
    assert "MIT" in (BUNDLE / "NOTICES").read_text()


def test_traits_go_both_ways(taxi: Path) -> None:
    file = pqlab.open(taxi)
    widget = file.inspect()
    seen = []
    widget.observe(lambda change: seen.append(change.new), "code")
    widget.selection = file.select(["trip_id"], rows=(5, 10))
    assert widget.code == file.select(["trip_id"], rows=(5, 10)).code == seen[-1]
    widget.view = {"screen": "column", "leaf": 2}
    assert widget.view["screen"] == "column"
    with pytest.raises(traitlets.TraitError):
        widget.code = "anything"


def test_static_overview_stands_beside_the_widget(taxi: Path) -> None:
    data, _ = pqlab.inspect(taxi)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "pickup_at" in data["text/html"]
    assert "run the cell again" in data["text/html"]
    assert "<script" not in data["text/html"]


def test_it_is_shown_where_there_is_no_kernel(taxi: Path) -> None:
    """In IPython's terminal: text, and nothing is shown again later."""
    code = f"import pqlab; pqlab.inspect({str(taxi)!r})"
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "Inspector of <pqlab.ParquetFile" in done.stdout
    assert not done.stderr


def test_a_dataset_is_refused_with_what_to_do(taxi: Path) -> None:
    with pytest.raises(SelectionError, match="one of the dataset's files"):
        pqlab.inspect(taxi.parent)
