"""`engine=`: the emulated engine by every public way, and what is said where there is no GPU."""

from __future__ import annotations

import importlib.util
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import runner
from edited_footers import written
from handmade import Column, Page, file_of
from polars.testing import assert_frame_equal

import pqlab
from pqlab import sample
from pqlab.gpu import devices
from pqlab.gpu.emulator.device import EmulatedDevice

ROWS = 3_000
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int64()),
        "value": pa.array([None if n % 7 == 0 else n / 3 for n in range(ROWS)], pa.float64()),
        "name": pa.array([f"name {n % 11}" for n in range(ROWS)]),
        "list": pa.array([list(range(n % 4)) for n in range(ROWS)], pa.list_(pa.int32())),
    }
)
DATA = written(
    TABLE, row_group_size=1_000, data_page_size=1_000, write_batch_size=100, write_page_index=True
)
WAYS: dict[str, dict[str, Any]] = {
    "everything": {},
    "columns": {"columns": ["name", "list"]},
    "row groups": {"row_groups": [0, 2]},
    "rows": {"rows": (900, 1_100)},
    "pages": {"columns": ["value", "list"], "pages": {(1, "id"): 1}},
}


@pytest.fixture(scope="module")
def file() -> pqlab.ParquetFile:
    opened = pqlab.open(DATA)
    assert isinstance(opened, pqlab.ParquetFile)
    return opened


@pytest.mark.parametrize("way", WAYS)
def test_frames_are_those_of_pyarrow_and_of_the_cpu(file: pqlab.ParquetFile, way: str) -> None:
    selection = file.select(**WAYS[way])
    frame = selection.read(engine="emulated")
    assert_frame_equal(frame, selection.read(engine="cpu"))
    if way == "everything":
        assert_frame_equal(frame, pl.DataFrame(pq.read_table(pa.BufferReader(DATA))))
    assert selection.to_arrow(engine="emulated").equals(selection.to_arrow())


def test_iterations_and_jobs(file: pqlab.ParquetFile) -> None:
    options: Any = {"engine": "emulated"}
    frames = list(file.iter_row_groups(["id", "list"], **options))
    assert [len(frame) for frame in frames] == [1_000] * 3
    assert_frame_equal(pl.concat(frames), file.read(["id", "list"]))
    batches = file.iter_batches(700, "name", prefetch=2, **options)
    assert_frame_equal(pl.concat(list(batches)), file.read("name"))
    assert_frame_equal(file.submit("value", engine="emulated").result(), file.read("value"))


def test_several_threads_may_read_at_once(file: pqlab.ParquetFile) -> None:
    with ThreadPoolExecutor(4) as pool:
        frames = list(pool.map(lambda _: file.read("list", engine="emulated"), range(8)))
    for frame in frames:
        assert_frame_equal(frame, file.read("list"))


def test_a_local_file_and_its_trace(tmp_path: Path) -> None:
    path = sample.write(tmp_path / "trips.parquet", rows=2_000)
    trace = pqlab.Trace()
    frame = pqlab.read(path, engine="emulated", trace=trace)
    assert_frame_equal(frame, pl.read_parquet(path), check_dtypes=False)
    stages = set(trace.to_frame()["stage"])
    assert "decode" in stages
    assert "kernel" not in stages, "what the emulator takes is no GPU's time"


def test_plans_say_which_engine_and_why(file: pqlab.ParquetFile) -> None:
    assert file.select().plan(engine="emulated").engine == "emulated"
    assert "no time is a GPU's" in str(file.select().plan(engine="emulated"))
    plan = file.select().plan()
    assert plan.engine == "cpu"
    assert plan.engine_reason.startswith("auto takes the CPU")


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")
def test_no_gpu_is_said_and_not_fallen_back_from(file: pqlab.ParquetFile) -> None:
    with pytest.raises(pqlab.EngineError, match=r"CuPy.*cupy-cuda"):
        file.read(engine="gpu")
    assert "CuPy is not installed" in file.select().plan().engine_reason


def test_errors_have_the_same_place(file: pqlab.ParquetFile) -> None:
    broken = file_of(Column("INT64", [Page(b"\0" * 16, 2), Page(b"\0" * 20, 3)]))
    found = []
    for engine in ("cpu", "emulated"):
        with pqlab.open(broken) as opened, pytest.raises(pqlab.CorruptError) as caught:
            opened.read(engine=engine)
        found.append((caught.value.message, caught.value.place))
    assert found[0] == found[1]
    with pytest.raises(pqlab.EngineError, match="there is no engine 'cuda'"):
        file.read("name", engine="cuda")  # type: ignore[arg-type]


@pytest.mark.parametrize("strings", ["categorical", "enum"])
def test_text_as_codes(strings: Literal["categorical", "enum"]) -> None:
    words = [None if at % 7 == 0 else f"{'long ' * (at % 4)}word {at % 90}" for at in range(2_000)]
    table = pa.table({"t": words, "plain": words, "b": [b"x"] * 2_000})
    if strings == "categorical":
        table = table.append_column("l", pa.array([words[at : at + at % 3] for at in range(2_000)]))
    sink = io.BytesIO()
    pq.write_table(table, sink, use_dictionary=["t"], data_page_size=2_000, compression="snappy")
    opened = pqlab.open(sink.getvalue())
    ours = opened.read(engine="emulated", strings=strings)
    assert_frame_equal(ours, opened.read(engine="cpu", strings=strings))
    assert ours["plain"].cast(pl.String).to_list() == words


def test_too_little_memory_is_said(
    file: pqlab.ParquetFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = EmulatedDevice(memory_bytes=1_000)
    monkeypatch.setitem(devices._DEVICES, "emulated", lambda _: small)
    with pytest.raises(pqlab.EngineError, match="too little memory"):
        file.read(engine="emulated")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "few.parquet"
    path.write_bytes(DATA)
    run = runner(capsys)
    ours = run("read", path, "-c", "id,name", "-r", "0:5", "-e", "emulated")
    assert ours.code == 0
    assert ours.out == run("read", path, "-c", "id,name", "-r", "0:5").out
