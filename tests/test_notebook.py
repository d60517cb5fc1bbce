"""The notebooks run from top to bottom, and are stored without outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
# What each shows: words of a page in HTML, and how many charts.
SHOWN: dict[str, tuple[tuple[str, ...], int]] = {
    "01_tour.ipynb": (("taxi.parquet", "pickup_at"), 0),
    "02_row_groups.ipynb": (("iteration is", "one read each"), 2),
    "03_prefetch.ipynb": (("queue_empty", "stall_ns"), 3),
    "04_why_slow.ipynb": (("time by stage", "small pages"), 2),
    "05_gpu.ipynb": (("kernel", "active_lanes"), 1),
    "06_remote.ipynb": (("pages", "wasted_bytes"), 3),
    "07_lake.ipynb": (("finding", "evidence"), 2),
}


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.name)
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture
def notebook(path: Path) -> Any:
    reads: Any = nbformat.reads  # untyped
    return reads(path.read_text(encoding="utf-8"), as_version=4)


def test_is_stored_without_outputs(notebook: Any) -> None:
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_runs(notebook: Any, path: Path, tmp_path: Path) -> None:
    client = NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    outputs = [
        output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
    ]
    assert all(output.output_type != "error" for output in outputs)
    assert not [output for output in outputs if output.get("name") == "stderr"]
    pages = [
        output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})
    ]
    words, num_charts = SHOWN[path.name]
    assert any(all(word in page for word in words) for page in pages)
    assert not any("<script" in page for page in pages)
    charts = [output for output in outputs if "image/svg+xml" in output.get("data", {})]
    assert len(charts) == num_charts
    assert not list(tmp_path.iterdir())
