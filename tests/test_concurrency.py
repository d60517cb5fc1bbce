"""Many threads on one file; reads that are cancelled at any moment: right values, no deadlock."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from edited_footers import written

import pqlab

THREADS = 32
CANCELLED = 1000
SEED = 20_261_130
ROWS = 40_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dictionaries, lists, deltas: what waits for other pages, in four row groups."""
    rng = np.random.default_rng(SEED)
    numbers = rng.integers(0, 1 << 40, ROWS)
    texts = pa.array([f"a text of some length {number % 97}" for number in numbers.tolist()])
    lists = pa.array([[number % 7, None] for number in numbers.tolist()])
    table = pa.table({"number": numbers, "text": texts, "list": lists})
    path = tmp_path_factory.mktemp("concurrency") / "shared.parquet"
    path.write_bytes(written(table, row_group_size=ROWS // 4, data_page_size=5_000))
    return path


def test_32_threads_share_a_file(path: Path) -> None:
    """They read rows, row groups, pages and frames of it at once, by several workers each."""
    with pqlab.open(path, cache=None) as file:
        whole = pqlab.read(path)
        together = threading.Barrier(THREADS)

        def look(seed: int) -> bool:
            rng = random.Random(seed)
            together.wait()
            for _ in range(6):
                start = rng.randrange(ROWS)
                stop = rng.randrange(start, ROWS)
                names = rng.sample(whole.columns, rng.randrange(1, 4))
                names.sort(key=whole.columns.index)
                got = file.read(names, rows=(start, stop), workers=rng.randrange(1, 5))
                if not got.equals(whole.select(names)[start:stop]) or file.pages().height < 40:
                    return False
            frames = list(file.iter_row_groups(columns=["text"]))
            return bool(sum(frame.height for frame in frames) == ROWS)

        with ThreadPoolExecutor(THREADS) as pool:
            assert all(pool.map(look, range(THREADS)))


def test_a_thousand_reads_cancelled_at_any_moment(path: Path) -> None:
    rng = random.Random(SEED)
    begin = time.monotonic()
    with pqlab.open(path) as file:
        expected = file.read()
        alone_s = min(_seconds(file) for _ in range(3))
        ended = 0
        for number in range(CANCELLED):
            workers = rng.randrange(1, 4)
            if number % 5 == 0:  # an iteration that is left
                for _ in file.iter_batches(rng.randrange(500, 9_000), workers=workers):
                    if rng.random() < 0.5:
                        break
                continue
            job = file.select(rng.sample(expected.columns, 2)).submit(workers=workers)
            time.sleep(rng.random() * 1.5 * alone_s)
            job.cancel()
            if number % 2:
                with contextlib.suppress(CancelledError):
                    ended += job.result().height == ROWS
        assert file.read().equals(expected)
        assert pqlab.memory().in_use_bytes < 50 << 20
    assert 0 < ended < CANCELLED  # some were too late
    assert time.monotonic() - begin < 300


def _seconds(file: pqlab.ParquetFile) -> float:
    begin = time.monotonic()
    file.read()
    return time.monotonic() - begin
