"""Devices with little memory: reads are split by rows, and equal those that are not."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from edited_footers import written
from polars.testing import assert_frame_equal

import pqlab
from pqlab.errors import EngineError
from pqlab.gpu import devices
from pqlab.gpu.device import OutOfDeviceMemoryError
from pqlab.gpu.emulator.device import EmulatedDevice
from pqlab.gpu.splitting import halves

ROWS = 6_000
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int64()),
        "value": pa.array([None if n % 7 == 0 else n / 3 for n in range(ROWS)], pa.float64()),
        "text": pa.array([f"{'longer ' * (n % 3)}text {n % 500}" for n in range(ROWS)]),
        "list": pa.array([list(range(n % 4)) for n in range(ROWS)], pa.list_(pa.int32())),
    }
)
DATA = written(
    TABLE,
    row_group_size=2_500,
    data_page_size=900,
    write_batch_size=100,
    write_page_index=True,
    use_dictionary=["text"],
)


class Counted(EmulatedDevice):
    """Allocation number `fails_at`, and every `every`-th from there on, finds no memory."""

    def __init__(self, fails_at: int = -1, every: int = 1 << 30) -> None:
        super().__init__()
        self.fails_at, self.every = fails_at, every
        self.allocations = self.failed = 0

    def _check(self, size: int, dtype: npt.DTypeLike) -> None:
        number, self.allocations = self.allocations, self.allocations + 1
        if number >= self.fails_at >= 0 and (number - self.fails_at) % self.every == 0:
            self.failed += 1
            raise OutOfDeviceMemoryError("none is left")
        super()._check(size, dtype)


@pytest.fixture
def file() -> pqlab.ParquetFile:
    opened = pqlab.open(DATA)
    assert isinstance(opened, pqlab.ParquetFile)
    return opened


def take(monkeypatch: pytest.MonkeyPatch, device: EmulatedDevice) -> None:
    monkeypatch.setitem(devices._DEVICES, "emulated", lambda _: device)


@pytest.mark.parametrize("limit", [400_000, 250_000])
def test_what_does_not_fit_is_split_by_rows(file: pqlab.ParquetFile, limit: int) -> None:
    expected = file.read(engine="cpu")
    assert_frame_equal(file.read(engine="emulated", device_memory_limit=limit), expected)
    arrow = file.select().to_arrow(engine="emulated", device_memory_limit=limit)
    assert arrow.equals(file.select().to_arrow(engine="cpu"))
    frame = file.select().to_cupy(engine="emulated", device_memory_limit=limit)
    batch = pa.record_batch(frame)
    assert batch.num_rows == ROWS
    for name in TABLE.column_names:
        assert batch[name].to_pylist() == TABLE[name].to_pylist()


def test_codes_of_parts_go_together(file: pqlab.ParquetFile) -> None:
    ours = file.read("text", engine="emulated", strings="enum", device_memory_limit=220_000)
    assert_frame_equal(ours, file.read("text", engine="cpu", strings="enum"))


@pytest.mark.parametrize("fails_at", [0, 1, 5, 12, 20, 26])
def test_an_allocation_that_fails_splits_the_read(
    file: pqlab.ParquetFile, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    device = Counted(fails_at)
    take(monkeypatch, device)
    assert_frame_equal(file.read(engine="emulated"), file.read(engine="cpu"))
    assert device.failed == 1


def test_no_memory_at_all_is_said(file: pqlab.ParquetFile, monkeypatch: pytest.MonkeyPatch) -> None:
    take(monkeypatch, Counted(0, every=1))
    with pytest.raises(EngineError, match=r"too little memory: none is left.*fewer columns"):
        file.read("id", rows=(0, 20), engine="emulated")
    monkeypatch.undo()
    with pytest.raises(EngineError, match=r"too little memory: .* needed for .* 100 may be taken"):
        file.read(engine="emulated", device_memory_limit=100)
    with pytest.raises(ValueError, match="device_memory_limit is None or a number of bytes"):
        file.read(engine="emulated", device_memory_limit=0)


def test_rows_that_save_nothing_end_it() -> None:
    """Without an index, pages of lists cannot be told apart: all of the chunk is needed."""
    data = written(TABLE.select(["list"]), row_group_size=ROWS, data_page_size=900)
    opened = pqlab.open(data)
    with pytest.raises(EngineError, match="too little memory"):
        opened.read(engine="emulated", device_memory_limit=20_000)


def test_iterations_stay_within_the_limit(file: pqlab.ParquetFile) -> None:
    limit = 120_000
    frames = list(
        file.iter_row_groups(to="cupy", engine="emulated", device_memory_limit=limit, prefetch=3)
    )
    assert [frame.num_rows for frame in frames] == [2_500, 2_500, 1_000]
    ids = np.concatenate([frame["id"].values for frame in frames])
    assert np.array_equal(ids, np.arange(ROWS))
    texts = [row for frame in frames for row in pa.record_batch(frame)["text"].to_pylist()]
    assert texts == TABLE["text"].to_pylist()


def test_halves_have_all_rows() -> None:
    rows: dict[int, Any] = {0: ((0, 10), (20, 25)), 3: ((4, 5),), 4: ((0, 3),)}
    first, second = halves(rows)
    assert first == {0: ((0, 9),)}
    assert second == {0: ((9, 10), (20, 25)), 3: ((4, 5),), 4: ((0, 3),)}


def test_small_files_are_read_whole() -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"x": [1, 2, 3]}), sink)
    opened = pqlab.open(sink.getvalue())
    read = opened.read(engine="emulated", device_memory_limit=10_000)
    assert read["x"].to_list() == [1, 2, 3]
