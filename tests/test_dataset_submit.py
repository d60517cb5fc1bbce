"""Jobs of datasets: several files read while the caller does something else."""

from __future__ import annotations

import io
import time
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal
from streams import Slow, parquet, table_of

import pqlab
from pqlab.errors import CorruptError, LimitError, SelectionError

FILES = 3


def opened(source: Any, **options: Any) -> Any:
    return pqlab.open(source, **options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of which the last lacks a column."""
    for number in range(FILES):
        table = table_of(1_000, number)
        if number == FILES - 1:
            table = table.drop_columns("text")
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=300)
    return tmp_path


def oracle(folder: Path) -> pl.DataFrame:
    tables = [pq.read_table(path) for path in sorted(folder.iterdir())]
    frames = [pl.DataFrame(table) for table in tables]
    return pl.concat(frames, how="diagonal").select(frames[0].columns)


def test_a_job_of_a_dataset_gives_the_rows_of_all_files(folder: Path) -> None:
    trace = pqlab.Trace()
    with opened(folder) as dataset:
        job = dataset.submit(trace=trace)
        assert_frame_equal(job.result(), oracle(folder))
        assert job.result() is job.result()
    assert job.done
    assert not job.cancelled
    assert job.progress.bytes_done == job.progress.num_bytes > 0
    assert trace.reads()["failure"].to_list() == [None] * FILES


def test_a_job_of_a_dataset_takes_a_selection(folder: Path) -> None:
    selection = opened(folder).select(
        ["row"], rows=slice(900, 2_100), include_row_index=True, include_file=True
    )
    found = selection.submit().result()
    wanted = oracle(folder).select("row")[900:2_100]
    assert_frame_equal(found.select("row"), wanted)
    assert found["row_index"].to_list() == [row % 1_000 for row in range(900, 2_100)]
    assert found["file"].n_unique() == FILES
    text = opened(folder).select(["text"], files=[2]).submit().result()
    assert text["text"].null_count() == text.height == 1_000
    with pytest.raises(SelectionError):
        opened(folder).submit(["nothing"])


def test_a_bar_shows_a_job_of_a_dataset(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert opened(folder).submit().result(progress=True).height == FILES * 1_000
    assert "100%" in capfd.readouterr().err


def test_a_corrupt_page_ends_a_job_of_a_dataset(folder: Path) -> None:
    path = folder / "1.parquet"
    data = bytearray(path.read_bytes())
    start = pq.read_metadata(path).row_group(2).column(0).data_page_offset
    assert start is not None
    data[start : start + 40] = bytes(40)
    path.write_bytes(bytes(data))
    with pytest.raises(CorruptError, match=r"1\.parquet") as raised:
        opened(folder).submit().result()
    assert raised.value.place["row_group"] == 2


def test_what_all_files_decode_to_is_bounded(folder: Path) -> None:
    limits = pqlab.Limits(read_bytes=130_000)
    for file in opened(folder).files:
        assert opened(file, limits=limits).read().height == 1_000
    with pytest.raises(LimitError):
        opened(folder, limits=limits).submit().result()


def test_a_cancelled_job_of_a_dataset_asks_for_nothing_more() -> None:
    sources = [Slow(parquet(table_of(500, seed), 500), 0.0) for seed in range(8)]
    dataset = opened(sources)
    selection = dataset.select()
    before = [len(source.requests) for source in sources]
    for source in sources:
        source.latency_s = 0.2
    job = selection.submit()
    assert not job.wait(0.05)
    begun = time.perf_counter()
    job.cancel()
    with pytest.raises(CancelledError):
        job.result()
    assert time.perf_counter() - begun < 0.15
    time.sleep(0.5)
    asked = [len(source.requests) > count for source, count in zip(sources, before, strict=True)]
    assert sum(asked) <= dataset.io.concurrency < 8


def test_files_in_memory_are_submitted_too() -> None:
    sources = [io.BytesIO(parquet(table_of(100, seed), 50)) for seed in range(2)]
    found = opened(sources).submit(["row"]).result()
    assert found["row"].to_list() == [*range(100), *range(1_000_000, 1_000_100)]
    assert isinstance(found.to_arrow(), pa.Table)
