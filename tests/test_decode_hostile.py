"""Mutated pages, interrupts, forks, many readers at once: nothing crashes, hangs or leaks."""

from __future__ import annotations

import ast
import io
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from decoding import read_columns, read_table

MUTATIONS = 25_000  # of each seed


@pytest.mark.parametrize("seed", [20_240_603, 20_240_604])
def test_mutated_pages_are_values_or_errors_of_our_own(seed: int) -> None:
    here = Path(__file__).parent
    out = subprocess.run(
        [sys.executable, str(here / "hostile_pages.py"), str(seed), str(MUTATIONS)],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
        cwd=here,
    )
    assert out.returncode == 0, (seed, out.stderr[-2_000:])
    outcomes = ast.literal_eval(out.stdout)
    assert set(outcomes) <= {"values", "CorruptError", "UnsupportedError", "LimitError"}, (
        seed,
        outcomes,
    )
    assert sum(outcomes.values()) == MUTATIONS
    assert outcomes["CorruptError"] > MUTATIONS / 10
    assert outcomes["values"] > MUTATIONS / 10


def large_file(columns: int, rows: int) -> bytes:
    """One that is quick to write and slow to decompress."""
    values = pa.array(np.arange(rows) % 1_000)
    sink = io.BytesIO()
    pq.write_table(
        pa.table({f"c{at}": values for at in range(columns)}),
        sink,
        compression="brotli",
        compression_level=1,
        use_dictionary=False,
        data_page_size=100_000,
    )
    return sink.getvalue()


def test_an_interrupt_stops_a_read_within_pages() -> None:
    data = large_file(10, rows=1_500_000)
    started = time.monotonic()
    read_columns(data, workers=1)
    whole_s = time.monotonic() - started
    for workers in (1, 3):
        timer = threading.Timer(whole_s / 10, lambda: os.kill(os.getpid(), signal.SIGINT))
        started = time.monotonic()
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            read_columns(data, workers=workers)
        assert time.monotonic() - started < whole_s / 10 + 1
        timer.join()
    assert len(read_columns(data, [3], workers=2)[0].array) == 1_500_000


def test_a_forked_child_reads_with_threads_of_its_own() -> None:
    data = large_file(3, rows=50_000)
    script = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from decoding import read_columns
data = open(sys.argv[1], "rb").read()
def read():
    return [c.array for c in read_columns(data, workers=2)]
expected = read()
child = os.fork()
if child == 0:
    os._exit(0 if read() == expected else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert read() == expected
"""
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"pqlab-fork-{os.getpid()}.parquet"
    path.write_bytes(data)
    try:
        command = [sys.executable, "-W", "ignore", "-c", script, str(path)]
        subprocess.run(command, check=True, timeout=60)
    finally:
        path.unlink()


def test_many_threads_read_at_once() -> None:
    data = large_file(6, rows=60_000)
    expected = pq.read_table(io.BytesIO(data))

    def read(workers: int) -> bool:
        return bool(read_table(data, workers=workers).equals(expected))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(read, [1, 2, 3, 4] * 6))
