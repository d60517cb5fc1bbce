"""The script for machines with a GPU: its logic runs on the emulator, and finds what is wrong."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent.parent / "tools" / "gpu_check.py"


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("gpu_check", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_line_says_that_it_is_emulated(
    script: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--device", "emulated", "--rows", "300"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["emulated, no GPU: 80 of 80 cells equal"]


@pytest.mark.parametrize("rows", ["300", "3000"])
def test_values_of_every_cell_are_stored(script: Any, rows: str) -> None:
    stored = json.loads(script.DIGESTS.read_text())[rows]
    names = {f"{c.values}, {c.encoding}" for c in script.COLUMNS}
    assert len(stored) == len(names) * len(script.CODECS) * len(script.NULLS)
    assert len(set(stored.values())) > len(names)


def test_other_values_and_other_bytes_are_found(
    script: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = list(script.cells(300))[:2]
    monkeypatch.setattr(script, "cells", lambda _: iter(few))
    device = script.device_of("emulated")
    digests = {few[0].name: "other"}
    assert script.check_equality(device, 300, digests, "emulated, no GPU") == 1
    assert "not the values that were stored" in capsys.readouterr().out
    right = script.decoded
    monkeypatch.setattr(script, "decoded", lambda _, on: right(few[0] if on else few[1], on))
    assert script.check_equality(device, 300, {}, "emulated, no GPU") == 2
    assert "not what the CPU engine gives" in capsys.readouterr().out


def test_without_cupy_a_sentence_says_so(script: Any, capsys: pytest.CaptureFixture[str]) -> None:
    if importlib.util.find_spec("cupy") is not None:
        return
    assert script.main([]) == 2
    assert "reached by CuPy" in capsys.readouterr().out
