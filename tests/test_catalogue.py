"""A dataset's catalogue against pyarrow, the files' own frames, and what changes on disk."""

from __future__ import annotations

import io
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal
from range_server import RangeServer

import pqlab
from pqlab.footer import frame_columns
from pqlab.footer.bulk import Footers
from pqlab.footer.chunk_frames import column_chunks_frame
from pqlab.footer.metadata import parse_file_metadata
from pqlab.limits import DEFAULT_LIMITS

ROWS = 100
OF_FILE = ("error", "file_size_bytes", "footer_bytes", "row_group_num_rows")


def table(seed: int, **more: pa.Array) -> pa.Table:
    rng = np.random.default_rng(seed)
    columns = {
        "id": pa.array(rng.integers(0, 1000, ROWS)),
        "name": pa.array([f"name {n % 13}" for n in range(ROWS)]),
        "list": pa.array([[n, n + 1] for n in range(ROWS)], pa.list_(pa.int32())),
    }
    return pa.table({**columns, **more})


def settle() -> None:
    """Wait until a file that was just written is no longer too fresh to be known again."""
    time.sleep(0.05)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    there = tmp_path / "files"
    there.mkdir()
    for number in range(5):
        pq.write_table(table(number), there / f"{number}.parquet", row_group_size=40)
    settle()
    return there


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many footers are parsed, call by call."""
    counts: list[int] = []
    parse = Footers.parse

    def counted(sources: Sequence[Any], *arguments: Any, **options: Any) -> Footers:
        counts.append(len(sources))
        return parse(sources, *arguments, **options)

    monkeypatch.setattr(Footers, "parse", counted)
    return counts


def of_files(dataset: pqlab.Dataset) -> pl.DataFrame:
    """The frames of the files, opened one by one."""
    frames = [
        file.column_chunks.select(pl.lit(file.name).alias("file"), pl.all())
        for file in map(dataset.file, range(len(dataset)))
    ]
    return pl.concat(frames)


def test_it_is_what_pyarrow_says(folder: Path) -> None:
    expected = []
    for path in sorted(folder.iterdir()):
        metadata = pq.read_metadata(path)
        for row_group in range(metadata.num_row_groups):
            group = metadata.row_group(row_group)
            for leaf in range(metadata.num_columns):
                chunk = group.column(leaf)
                expected.append(
                    (
                        str(path), group.num_rows, row_group, chunk.path_in_schema,
                        chunk.compression, chunk.num_values, chunk.total_compressed_size,
                        chunk.statistics.null_count,
                        set(chunk.encodings),
                    )
                )  # fmt: skip
    found = pqlab.Dataset(folder).catalogue()
    assert found["error"].null_count() == len(found)
    rows = found.select(
        "file", "row_group_num_rows", "row_group", "column", "codec", "num_values",
        "total_compressed_size", "null_count", "encodings",
    ).rows()  # fmt: skip
    assert [(*row[:8], set(row[8])) for row in rows] == expected
    assert len(rows) == 5 * 3 * 3
    sizes = found.select("file", "file_size_bytes", "footer_bytes").unique(maintain_order=True)
    assert sizes.rows() == [
        (str(path), path.stat().st_size, pq.read_metadata(path).serialized_size)
        for path in sorted(folder.iterdir())
    ]


def test_bounds_are_those_of_the_files(folder: Path) -> None:
    dataset = pqlab.Dataset(folder)
    catalogue = dataset.catalogue().drop(OF_FILE)
    assert_frame_equal(catalogue, of_files(dataset))


def test_files_of_other_schemas_and_writers_lie_beside_each_other(tmp_path: Path) -> None:
    for number in range(200):  # several blocks of files, in turns of two schemas
        more = {"price": pa.array([1.5] * ROWS)} if number % 2 else {}
        pq.write_table(table(number, **more), tmp_path / f"{number:03}.parquet")
    dataset = pqlab.Dataset(tmp_path)
    catalogue = dataset.catalogue().drop(OF_FILE)
    assert_frame_equal(catalogue, of_files(dataset))
    schemas = dataset.schemas()
    drift = schemas.filter("is_drift")
    assert drift.select("column", "num_files", "num_other_files").rows() == [("price", 100, 100)]
    assert schemas["is_drift"].to_list() == [True, False, False, False]


def test_public_files_are_as_when_they_are_opened_alone(corpus: Path) -> None:
    dataset = pqlab.Dataset(pqlab.Dataset(corpus).files[::4])
    catalogue = dataset.catalogue()
    errors = dict(catalogue.filter(pl.col("error").is_not_null()).select("file", "error").rows())
    frames, expected = [], {}
    for number, name in enumerate(dataset.files):
        try:
            frame = dataset.file(number).column_chunks
        except pqlab.PqlabError as error:
            expected[name] = f"{type(error).__name__}: {error.message}"
        else:
            frames.append(frame.select(pl.lit(name).alias("file"), pl.all()))
    assert errors == expected
    whole = catalogue.filter(pl.col("row_group").is_not_null()).drop(OF_FILE)
    assert_frame_equal(whole, pl.concat(frames))


def test_a_bad_file_is_a_row_and_the_others_go_on(folder: Path) -> None:
    good = (folder / "0.parquet").read_bytes()
    start = len(good) - 8 - int.from_bytes(good[-8:-4], "little")
    (folder / "5.parquet").write_bytes(good[:start] + b"\xff" * 9 + good[start + 9 :])
    (folder / "6.parquet").write_bytes(b"not Parquet at all")
    (folder / "7.parquet").write_bytes(b"")
    pq.write_table(table(0).slice(0, 0), folder / "8.parquet", row_group_size=10)
    dataset = pqlab.Dataset(folder)
    (folder / "1.parquet").unlink()
    catalogue = dataset.catalogue()
    rows = catalogue.filter(pl.col("row_group").is_null()).select("file", "error").rows()
    errors = {Path(file).name: error for file, error in rows}
    assert sorted(errors) == ["1.parquet", "5.parquet", "6.parquet", "7.parquet"]
    assert "cannot open: No such file" in errors["1.parquet"]
    for name in ("5.parquet", "6.parquet", "7.parquet"):
        assert errors[name].startswith("CorruptError: ")
    assert catalogue["file"].n_unique() == 9
    assert catalogue["file"].is_sorted()


def test_a_file_without_row_groups_is_a_row_without_an_error(tmp_path: Path) -> None:
    with pq.ParquetWriter(tmp_path / "a.parquet", table(0).schema):
        pass
    assert pq.read_metadata(tmp_path / "a.parquet").num_row_groups == 0
    catalogue = pqlab.Dataset(tmp_path).catalogue()
    assert catalogue.select("file", "error", "row_group").rows() == [
        (str(tmp_path / "a.parquet"), None, None)
    ]


def test_only_what_changed_is_read_again(folder: Path, parsed: list[int]) -> None:
    dataset = pqlab.Dataset(folder)
    first = dataset.catalogue()
    assert sum(parsed) == 5
    assert dataset.catalogue().equals(first)
    assert sum(parsed) == 5
    pq.write_table(table(9).slice(0, 7), folder / "2.parquet")
    settle()
    second = dataset.catalogue()
    assert sum(parsed) == 6
    fresh = pqlab.Dataset(folder).catalogue()
    assert_frame_equal(second, fresh)
    assert second.filter(pl.col("file").str.ends_with("2.parquet"))["row_group_num_rows"][0] == 7
    (folder / "2.parquet").unlink()
    third = dataset.catalogue()
    assert third["error"].drop_nulls().len() == 1
    assert third.filter(pl.col("error").is_null()).equals(
        fresh.filter(~pl.col("file").str.ends_with("2.parquet"))
    )


@pytest.mark.parametrize("same_size_and_time", [False, True])
def test_a_file_that_was_replaced_is_read_again(
    folder: Path, parsed: list[int], same_size_and_time: bool
) -> None:
    dataset = pqlab.Dataset(folder)
    dataset.catalogue()
    path = folder / "3.parquet"
    status = path.stat()
    shutil.copy(path, folder / "other")
    if same_size_and_time:
        os.utime(folder / "other", ns=(status.st_atime_ns, status.st_mtime_ns))
    (folder / "other").rename(path)
    settle()
    parsed.clear()
    dataset.catalogue()
    assert sum(parsed) == 1


def test_on_disk_it_is_there_for_the_next_who_opens_the_folder(
    folder: Path, tmp_path: Path, parsed: list[int]
) -> None:
    cache = tmp_path / "cache"
    with pqlab.Dataset(folder, cache=cache) as dataset:
        first = dataset.catalogue()
    parsed.clear()
    shutil.copy(folder / "1.parquet", folder / "6.parquet")
    (folder / "0.parquet").unlink()
    settle()
    second = pqlab.Dataset(folder, cache=cache).catalogue()
    assert sum(parsed) == 1
    assert_frame_equal(second, pqlab.Dataset(folder).catalogue())
    parsed.clear()
    third = pqlab.Dataset(folder, cache=cache)
    assert_frame_equal(third.catalogue(), second)
    assert third.schemas()["num_files"].to_list() == [5, 5, 5]
    assert parsed == []
    assert not first.equals(second)
    kept = next(cache.glob("*.footer"))
    damaged = bytearray(kept.read_bytes())
    damaged[-100] ^= 1
    kept.write_bytes(damaged)
    assert_frame_equal(pqlab.Dataset(folder, cache=cache).catalogue(), second)
    assert sum(parsed) == 5


def test_a_cache_that_cannot_be_written_is_said(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.warns(UserWarning, match="not kept on disk"):
        pqlab.Dataset(folder, cache=tmp_path / "file").catalogue()


def test_sources_that_are_no_paths_are_in_it_too(folder: Path) -> None:
    data = (folder / "0.parquet").read_bytes()
    dataset = pqlab.Dataset([folder / "0.parquet", data, io.BytesIO(data), b"PAR1 no PAR1"])
    catalogue = dataset.catalogue()
    assert catalogue["row_group"].to_list() == [*[0] * 3, *[1] * 3, *[2] * 3] * 3 + [None]
    assert catalogue["error"].to_list()[:27] == [None] * 27
    assert catalogue["error"][27].startswith("CorruptError")


def test_a_remote_file_is_asked_for_once(folder: Path) -> None:
    data = (folder / "0.parquet").read_bytes()
    files: dict[str, Any] = {"a.parquet": data, "b.parquet": data, "bad.parquet": b"x" * 100}
    with RangeServer(files) as server:
        dataset = pqlab.Dataset([server.url(name) for name in (*files, "gone.parquet")])
        catalogue = dataset.catalogue()
        assert len(server.log) <= 5
    good = catalogue.filter(pl.col("error").is_null())
    assert good["file_size_bytes"].to_list() == [len(data)] * 18
    assert catalogue["error"].drop_nulls().len() == 2


def test_layout_drift_names_who_differs(tmp_path: Path) -> None:
    pq.write_table(table(0), tmp_path / "0.parquet")
    pq.write_table(table(1), tmp_path / "1.parquet", compression="zstd", use_dictionary=False)
    layouts = pqlab.Dataset(tmp_path).layouts()
    codecs = layouts.filter(pl.col("property") == "codec", pl.col("column") == "id")
    assert codecs["is_drift"].all()
    assert dict(codecs.select("value", "first_file").rows()) == {
        "SNAPPY": str(tmp_path / "0.parquet"),
        "ZSTD": str(tmp_path / "1.parquet"),
    }
    assert not layouts.filter(pl.col("property") == "has an offset index")["is_drift"].any()


def test_damaged_footers_are_told_from_sound_ones_as_when_parsed_alone(folder: Path) -> None:
    data = (folder / "0.parquet").read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    footer = np.frombuffer(data[-8 - size : -8], np.uint8)
    rng = np.random.default_rng(20)
    damaged = []
    for _ in range(600):
        padded = np.zeros(size + 16, np.uint8)
        padded[:size] = footer
        places = rng.integers(0, size, rng.integers(0, 4))
        padded[places] = rng.integers(0, 256, len(places))
        damaged.append(padded[:size])
    found = Footers.parse(damaged, DEFAULT_LIMITS, guess_bytes=64, threads=2)
    is_ok = found.files["ok"].astype(bool).tolist()
    file, series = found.chunks()
    rows = frame_columns.build(frame_columns.COLUMN_CHUNKS, series)
    for number, (one, ok) in enumerate(zip(damaged, is_ok, strict=True)):
        try:
            metadata = parse_file_metadata(one, 0, DEFAULT_LIMITS)
        except pqlab.PqlabError:
            assert not ok
        else:
            assert ok
            expected = column_chunks_frame(metadata)
            assert_frame_equal(rows.filter(pl.Series(file == number)), expected)
    assert 50 < sum(is_ok) < 550
