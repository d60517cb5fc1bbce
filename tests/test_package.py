"""The package as a whole: what it costs to import, what it exports, what it ships."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pqlab

# What `import pqlab` must not load: each takes longer than pqlab itself.
HEAVY = (
    "IPython",
    "altair",
    "anywidget",
    "cramjam",
    "cupy",
    "dask",
    "fsspec",
    "ipywidgets",
    "numpy",
    "obstore",
    "polars",
    "pyarrow",
    "rich",
    "thriftpy2",
)


def test_import_loads_nothing_heavy() -> None:
    program = "import sys, json, pqlab; print(json.dumps(sorted(sys.modules)))"
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(json.loads(out.stdout))
    assert "pqlab" in loaded
    assert loaded.isdisjoint(HEAVY), sorted(loaded & set(HEAVY))


def test_public_names_resolve() -> None:
    assert len(pqlab.__all__) == len(set(pqlab.__all__))
    for name in pqlab.__all__:
        assert getattr(pqlab, name) is not None, name
    assert set(pqlab.__all__) <= set(dir(pqlab))


def test_versions_agree() -> None:
    assert pqlab.__version__ == importlib.metadata.version("pqlab")


def test_is_typed() -> None:
    assert importlib.resources.files("pqlab").joinpath("py.typed").is_file()


def test_versions_are_known_without_importing_packages() -> None:
    program = "import sys, json; from pqlab.versions import versions; v = versions(); "
    program += "print(json.dumps([v, sorted(sys.modules)]))"
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    found, modules = json.loads(out.stdout)
    assert found["pqlab"] == pqlab.__version__
    assert found["packages"]["polars"] == importlib.metadata.version("polars")
    assert {"ZSTD", "GZIP", "BROTLI", "SNAPPY", "LZ4", "LZ4_RAW"} <= found["codecs"].keys()
    assert set(modules).isdisjoint({"polars", "pyarrow", "altair", "cupy"})


def test_show_versions_prints_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    pqlab.show_versions()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["pqlab", pqlab.__version__]
    assert any(line.startswith("codec ZSTD ") for line in lines)


def test_binder_makes_an_environment_that_pqlab_runs_in() -> None:
    root = Path(__file__).parent.parent
    environment = (root / "binder" / "environment.yml").read_text(encoding="utf-8")
    (version,) = re.findall(r"- python=(\d+)\.(\d+)\n", environment)
    needed = re.search(r'requires-python = ">=(\d+)\.(\d+)"', (root / "pyproject.toml").read_text())
    assert needed is not None
    assert tuple(map(int, version)) >= tuple(map(int, needed.groups()))
    script = root / "binder" / "postBuild"
    assert os.access(script, os.X_OK)
    assert '".[lab]"' in script.read_text(encoding="utf-8")
    subprocess.run(["sh", "-n", str(script)], check=True)
