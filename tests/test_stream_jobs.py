"""Jobs: reads that go on while the caller does something else."""

from __future__ import annotations

import gc
import io
import random
import time
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from streams import Slow, oracle, parquet, table_of

import pqlab
from pqlab.errors import CorruptError, LimitError, SelectionError
from pqlab.plan.policy import IOPolicy

DATA = parquet(table_of(5_000), 500, data_page_size=500)
SMALL_WINDOWS = IOPolicy(window_bytes=10_000)


def source_of(kind: str, folder: Path) -> Any:
    path = folder / "file.parquet"
    path.write_bytes(DATA)
    kinds: dict[str, Any] = {
        "path": path,
        "bytes": DATA,
        "object": io.BytesIO(DATA),
        "slow": Slow(DATA, 0.001),
    }
    return kinds[kind]


@pytest.mark.parametrize("kind", ["path", "bytes", "object", "slow"])
@pytest.mark.parametrize("policy", [None, SMALL_WINDOWS])
def test_a_job_gives_what_read_gives(kind: str, policy: IOPolicy | None, tmp_path: Path) -> None:
    trace = pqlab.Trace()
    job = pqlab.open(source_of(kind, tmp_path), io=policy).submit(trace=trace)
    assert_frame_equal(job.result(), oracle(DATA))
    assert job.done
    assert job.progress.bytes_done == job.progress.num_bytes > 0
    assert job.progress.share == 1
    assert job.result() is job.result()
    assert trace.reads()["failure"].to_list() == [None]
    assert repr(job) == "<pqlab job: done, 100%>"


def test_a_job_takes_a_selection() -> None:
    job = pqlab.open(DATA).submit(["row", "list"], row_groups=[2])
    assert_frame_equal(job.result(), oracle(DATA, [2]).select("row", "list"))
    assert pqlab.open(DATA).submit(rows=(0, 0)).result().height == 0
    with pytest.raises(SelectionError):
        pqlab.open(DATA).submit(["nothing"])


def test_progress_grows_and_waiting_ends_in_time() -> None:
    slow: Any = Slow(DATA)
    file = pqlab.open(slow, io=SMALL_WINDOWS)
    with slow.hold():
        job = file.submit()
        begun = time.monotonic()
        assert not job.wait(0.05)
        assert 0.04 < time.monotonic() - begun < 2
        assert job.progress.bytes_done == 0
        assert not job.done
    assert job.wait(20)
    assert job.progress.pages_done > 0


def test_a_bar_is_shown_on_request(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    frame = pqlab.open(source_of("path", tmp_path)).read(progress=True)
    assert_frame_equal(frame, oracle(DATA))
    assert "100%" in capsys.readouterr().err
    dataset = pqlab.open([DATA, DATA])
    assert dataset.read(progress=True).height == 10_000
    assert "2/2" in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("kind", ["path", "slow"])
def test_cancelling_at_any_time_leaves_nothing_behind(kind: str, seed: int, tmp_path: Path) -> None:
    random.seed(seed)
    source = source_of(kind, tmp_path)
    job = pqlab.open(source, io=SMALL_WINDOWS).submit(workers=2)
    time.sleep(random.random() * 0.02)
    job.cancel()
    if job.cancelled:
        with pytest.raises(CancelledError):
            job.result()
    else:
        assert_frame_equal(job.result(), oracle(DATA))
    if kind == "slow":
        time.sleep(0.02)
        made = len(source.requests)
        time.sleep(0.02)
        assert len(source.requests) == made


def test_a_job_that_nobody_wants_stops() -> None:
    slow: Any = Slow(DATA, 0.005)
    job = pqlab.open(slow, io=SMALL_WINDOWS).submit()
    del job
    gc.collect()
    time.sleep(0.05)
    made = len(slow.requests)
    time.sleep(0.1)
    assert len(slow.requests) == made


def test_an_error_comes_with_the_result() -> None:
    bad = bytearray(DATA)
    bad[100:400] = b"\xff" * 300
    trace = pqlab.Trace()
    job = pqlab.open(bytes(bad)).submit(trace=trace)
    for _ in range(2):
        with pytest.raises(CorruptError) as raised:
            job.result()
    assert raised.value.row_group == 0
    assert trace.to_frame().filter(pl.col("stage") == "failure").height == 1


def test_a_read_beyond_its_memory_limit_is_refused_before_it_begins() -> None:
    file = pqlab.open(DATA)
    with pytest.raises(LimitError, match="memory_limit = 1,000") as raised:
        file.read(memory_limit=1_000)
    assert "iter_batches" in str(raised.value)
    assert file.read(memory_limit=100_000_000).height == 5_000
    with pytest.raises(LimitError, match="memory_limit = 1,000"):
        pqlab.open([DATA, DATA]).read(memory_limit=1_000)
