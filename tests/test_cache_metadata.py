"""Metadata kept on disk: the same as parsed, never stale, and never in the way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from pqlab.errors import PqlabError
from pqlab.footer.chunk_frames import column_chunks_frame
from pqlab.footer.metadata import FileMetaData
from pqlab.io import cache, footer as footer_module
from pqlab.io.footer import load_metadata
from pqlab.io.local import FileSource


@pytest.fixture(autouse=True)
def nothing_shared() -> Iterator[None]:
    """Every load in a test goes to the disk, as in a new process."""
    footer_module._shared.clear()
    yield
    footer_module._shared.clear()


SCALARS = (
    "footer_offset", "format_version", "num_rows", "created_by", "warnings", "num_leaves",
    "num_row_groups", "key_value_metadata", "column_orders",
)  # fmt: skip


def settle(path: Path) -> str:
    while FileSource(str(path)).identity is None:
        time.sleep(0.01)
    return str(path)


def write(path: Path, rows: int = 30, columns: int = 5) -> str:
    table = pa.table({f"column {i}": np.arange(rows) * i for i in range(columns)})
    pq.write_table(table, path, row_group_size=10)
    return settle(path)


def load(path: str, folder: Path | str) -> FileMetaData:
    footer_module._shared.clear()
    return load_metadata(FileSource(path), cache=folder)


def assert_same(one: FileMetaData, two: FileMetaData) -> None:
    """Field by field, cell by cell."""
    for name in SCALARS:
        assert getattr(one, name) == getattr(two, name)
    assert one.footer.tobytes() == two.footer.tobytes()
    for table in ("chunks", "row_groups"):
        for field in fields(getattr(one, table)):
            columns = [getattr(getattr(side, table), field.name) for side in (one, two)]
            np.testing.assert_array_equal(*columns)
            assert columns[0].dtype == columns[1].dtype
    assert [node.path for node in one.leaves] == [node.path for node in two.leaves]
    assert one.raw() == two.raw()
    left, right = one.statistics(), two.statistics()
    for field in fields(left):
        np.testing.assert_array_equal(getattr(left, field.name), getattr(right, field.name))


def is_from_disk(metadata: FileMetaData) -> bool:
    """A cached footer lies in a mapping that numpy does not own."""
    return metadata.nbytes == 0


def test_files_of_the_corpus_come_back_the_same(corpus: Path, tmp_path: Path) -> None:
    seen = 0
    for path in sorted(corpus.rglob("*.parquet"))[::10]:
        try:
            parsed = load_metadata(FileSource(str(path)), cache=None)
        except PqlabError:  # damaged on purpose, or encrypted
            continue
        load(str(path), tmp_path)
        cached = load(str(path), tmp_path)
        assert is_from_disk(cached)
        assert_same(cached, parsed)
        seen += 1
    assert seen >= 100


def test_another_process_reads_what_one_wrote(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet")
    load(path, tmp_path / "cache")
    code = f"""
from pqlab.io import footer
from pqlab.io.local import FileSource
def refuse(*arguments, **options):
    raise AssertionError("parsed")
footer.parse_file_metadata = refuse
metadata = footer.load_metadata(FileSource({path!r}), cache={str(tmp_path / "cache")!r})
print(metadata.num_rows, metadata.chunks.num_values[7])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["30", "10"]


def test_a_changed_source_is_parsed_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", rows=30)
    folder = tmp_path / "cache"
    load(path, folder)
    write(tmp_path / "a.parquet", rows=40)
    assert load(path, folder).num_rows == 40
    assert load(path, folder).num_rows == 40
    assert len(list(folder.iterdir())) == 1


def test_a_source_that_was_only_touched_is_parsed_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet")
    load(path, tmp_path / "cache")
    os.utime(path, (1, 1))
    settle(Path(path))
    assert not is_from_disk(load(path, tmp_path / "cache"))
    assert is_from_disk(load(path, tmp_path / "cache"))


def test_memory_and_disk_do_not_hide_each_other(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet")
    load_metadata(FileSource(path), cache="memory")
    load_metadata(FileSource(path), cache=tmp_path / "cache")
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_the_word_disk_is_the_default_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PQLAB_CACHE_DIR", str(tmp_path / "own"))
    path = write(tmp_path / "a.parquet")
    load(path, "disk")
    assert cache.info()["num_footers"] == 1
    assert cache.info()["folder"] == str(tmp_path / "own")
    assert is_from_disk(load(path, "disk"))
    assert cache.clear() > 0
    assert cache.info()["size_bytes"] == 0


def test_flipped_bytes_never_change_an_answer(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", rows=200, columns=40)
    folder = tmp_path / "cache"
    parsed = load_metadata(FileSource(path), cache=None)
    load(path, folder)
    [file] = folder.iterdir()
    good = file.read_bytes()
    random = np.random.default_rng(500)
    for flip, position in enumerate(random.integers(0, len(good), 500).tolist()):
        bad = bytearray(good)
        bad[position] ^= int(random.integers(1, 256))
        file.write_bytes(bad)
        cached = load(path, folder)
        assert cached.leaf_nodes([3])[0].path == ("column 3",), position
        for rows in ([3], [799]):  # single cells first: they verify less
            cells, expected = (
                side.chunk_cells("data_page_offset", rows) for side in (cached, parsed)
            )
            assert np.array_equal(cells, expected), position
            maxima, expected = (side.statistics(rows).max_value_start for side in (cached, parsed))
            assert np.array_equal(maxima, expected), position
        assert cached.footer.tobytes() == parsed.footer.tobytes(), position
        for field in fields(parsed.chunks):
            columns = [getattr(side.chunks, field.name) for side in (cached, parsed)]
            assert np.array_equal(*columns), (position, field.name)
        assert cached.num_rows == parsed.num_rows
        assert cached.column_orders == parsed.column_orders
        if flip % 25 == 0:  # each takes a write that is synced
            load(path, folder)
            assert is_from_disk(load(path, folder)), position  # replaced


def unusable_folders(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "file").touch()
    return {
        "a file": tmp_path / "file",
        "below a file": tmp_path / "file" / "cache",
        "not a folder of the system's": Path("/proc/pqlab"),
    }


def test_a_folder_that_cannot_be_used_is_a_warning(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet")
    for name, folder in unusable_folders(tmp_path).items():
        metadata = load(path, folder)
        assert metadata.num_rows == 30, name
        [warning] = metadata.warnings
        assert "not kept on disk" in warning, name
        assert str(folder) in warning, name


def test_a_read_only_folder_still_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, other = write(tmp_path / "a.parquet"), write(tmp_path / "b.parquet", rows=50)
    folder = tmp_path / "cache"
    load(path, folder)

    def refuse(*_arguments: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Root may write anywhere: what a read-only folder refuses is refused here.
    monkeypatch.setattr(os, "utime", refuse)
    open_file = os.open
    monkeypatch.setattr(
        os, "open", lambda path, flags, *rest: refuse() if flags & os.O_CREAT
        else open_file(path, flags, *rest)
    )  # fmt: skip
    assert is_from_disk(load(path, folder))
    metadata = load(other, folder)
    assert metadata.num_rows == 50
    assert "Permission denied" in metadata.warnings[0]


def test_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PQLAB_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def no_home(_path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", no_home)
    metadata = load(write(tmp_path / "a.parquet"), "disk")
    assert metadata.num_rows == 30
    assert "PQLAB_CACHE_DIR" in metadata.warnings[0]
    assert cache.info()["folder"] is None
    assert cache.clear() == 0


def test_single_leaves_and_chunks_are_read_without_the_rest(corpus: Path, tmp_path: Path) -> None:
    """What is made of a few chunks alone is what is made of all."""
    seen = 0
    for path in sorted(corpus.rglob("*.parquet"))[::40]:
        try:
            whole = load_metadata(FileSource(str(path)), cache=None)
        except PqlabError:
            continue
        load(str(path), tmp_path)
        if whole.num_leaves < 9:
            continue
        for leaf in (0, whole.num_leaves // 2, whole.num_leaves - 1):
            for metadata in (load_metadata(FileSource(str(path)), cache=None),
                             load(str(path), tmp_path)):  # fmt: skip
                [node] = metadata.leaf_nodes([leaf])
                assert "_nodes" not in metadata.__dict__
                for field in fields(node):
                    assert getattr(node, field.name) == getattr(whole.leaves[leaf], field.name)
                groups = range(whole.num_row_groups)[-1:]
                frame = column_chunks_frame(metadata, groups, [leaf])
                all_frames = column_chunks_frame(whole)
                same = (pl.col("leaf") == leaf) & (pl.col("row_group") == pl.max("row_group"))
                assert_frame_equal(frame, all_frames.filter(same))
                rows = [leaf] if whole.num_row_groups else []
                few, all_of_them = metadata.statistics(rows), whole.statistics()
                for field in fields(few):
                    expected = getattr(all_of_them, field.name)[rows]
                    np.testing.assert_array_equal(getattr(few, field.name), expected)
                seen += 1
    assert seen >= 30
