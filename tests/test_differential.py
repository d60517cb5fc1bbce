"""2,000 random files, read by pqlab, pyarrow, duckdb and polars, whole and in parts."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

FILES = 500  # of each seed


@pytest.mark.parametrize("seed", [20_261_000, 20_262_000, 20_263_000, 20_264_000])
def test_readers_agree_on_random_files(seed: int) -> None:
    program = Path(__file__).with_name("differential.py")
    done = subprocess.run(
        [sys.executable, program, str(seed), str(FILES)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "\nseed " not in done.stdout, done.stdout[:5000]
    counts = re.search(r"written by (\{.*\}), refused by (\{.*\})", done.stdout)
    assert counts is not None, done.stdout[-2000:]
    written, refused = map(ast.literal_eval, counts.groups())
    assert sum(written.values()) == FILES
    assert min(written[writer] for writer in ("pyarrow", "polars", "duckdb")) > FILES // 50
    assert sum(refused.values()) < FILES // 10  # by other readers
