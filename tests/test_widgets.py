"""The widget in Python: its bundle, its traits, what is shown without JavaScript."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
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


def test_code_builds_the_same_selection_whatever_is_picked(taxi: Path) -> None:
    file = pqlab.open(taxi)
    widget = pqlab.inspect(file)
    for picked in (
        {"columns": ["trip_id", "extra"], "row_groups": [0, slice(2, 4)]},
        {"pages": {(1, "trip_id"): 0}, "columns": "extra"},
        {"rows": [(3, 7), (100, 2_000)]},
        {},
    ):
        widget.selection = file.select(**picked)
        again = eval(widget.code, {"pqlab": pqlab})
        assert again.selection == widget.selection.selection
        assert again.read().equals(widget.selection.read())


def test_selections_of_other_files_and_predicates_are_refused(taxi: Path, tmp_path: Path) -> None:
    widget = pqlab.inspect(taxi)
    other = tmp_path / "other.parquet"
    sample.write(other, rows=10_000)
    for refused in (
        pqlab.open(other).select(),
        pqlab.open(taxi).select(where="extra > 1"),
        "trip_id",
    ):
        with pytest.raises(traitlets.TraitError, match="one of its own file"):
            widget.selection = refused
    widget.selection = pqlab.open(taxi).select("extra")  # the same file, opened again
    assert "extra" in widget.code


def test_frame_and_trace_are_of_the_last_read(taxi: Path) -> None:
    widget = pqlab.inspect(taxi)
    read = threading.Event()
    widget.observe(lambda _: read.set(), "frame")
    widget.selection = widget.file.select(["extra"], row_groups=[1])
    widget.read()
    assert read.wait(60)
    assert widget.frame.equals(widget.selection.read())
    assert widget.trace.to_frame()["column"].drop_nulls().unique().to_list() == ["extra"]


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
