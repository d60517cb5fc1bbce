"""Runs the command line in this process, and keeps what it writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pqlab import cli


class Result(NamedTuple):
    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        return json.loads(self.out, parse_constant=pytest.fail)  # type: ignore[no-any-return]

    def rows(self) -> list[dict[str, Any]]:
        return self.json()["rows"]  # type: ignore[no-any-return]


Run = Callable[..., Result]
Save = Callable[[bytes], Path]


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*argv: object) -> Result:
        capsys.readouterr()
        try:
            code = cli.main([str(word) for word in argv])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Result(code, *capsys.readouterr())

    return run


def refused(run: Run, path: Path, *words: str) -> str:
    """What the shell says to an error of the file: one line, with the file, and exit code 1."""
    result = run(*words, path)
    assert (result.code, result.out) == (1, "")
    assert result.err.count("\n") == 1
    assert str(path) in result.err
    return result.err


def columns(run: Run, path: Path) -> list[dict[str, Any]]:
    return run("columns", path, "--json").rows()
