"""Opening: reads counted, what is not Parquet named, metadata shared within the process."""

from __future__ import annotations

import bz2
import gc
import gzip
import io
import lzma
import os
import sqlite3
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from pqlab.errors import (
    CorruptError,
    EncryptedError,
    LimitError,
    PqlabError,
    SourceChangedError,
)
from pqlab.footer.metadata import parse_file_metadata
from pqlab.io import footer as footer_module
from pqlab.io.footer import load_metadata
from pqlab.io.local import FileSource
from pqlab.io.memory import BytesSource
from pqlab.io.source import ByteRange, Bytes, Transfer
from pqlab.limits import Limits
from pqlab.plan.policy import IOPolicy

FRAME = pl.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"]})


class CountedSource(BytesSource):
    """Bytes in memory that note what is read of them."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.reads: list[ByteRange] = []

    def request(self, start: int, stop: int) -> tuple[Bytes, Transfer]:
        self.reads.append((start, stop))
        return super().request(start, stop)


def parquet_bytes(table: pa.Table | None = None, **options: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(FRAME.to_arrow() if table is None else table, buffer, **options)
    return buffer.getvalue()


def settled(path: Path, data: bytes) -> Path:
    """A file old enough that its timestamps identify its content."""
    path.write_bytes(data)
    long_ago = time.time() - 100
    os.utime(path, (long_ago, long_ago))
    while FileSource(str(path)).identity is None:  # the change time cannot be set
        time.sleep(0.01)
    return path


@pytest.fixture(autouse=True)
def nothing_shared() -> None:
    footer_module._shared.clear()


def test_a_small_footer_takes_one_read() -> None:
    source = CountedSource(parquet_bytes())
    metadata = load_metadata(source)
    assert source.reads == [(0, source.size)]
    assert metadata.num_rows == 3
    assert metadata.footer_offset == source.size - 8 - len(metadata.footer)
    assert not metadata.footer.flags.writeable


def test_a_large_footer_takes_two_reads() -> None:
    table = pa.table({f"column {i}": [i] for i in range(3000)})
    data = parquet_bytes(table)
    source = CountedSource(data)
    metadata = load_metadata(source)
    footer_bytes = int.from_bytes(data[-8:-4], "little")
    assert footer_bytes > 65536
    start = source.size - 8 - footer_bytes
    assert source.reads == [(source.size - 65536, source.size), (start, source.size - 8)]
    assert metadata.footer.tobytes() == data[start:-8]
    assert metadata.num_leaves == 3000


@pytest.mark.parametrize("guess_bytes", [8, 9, 100, 1 << 20])
def test_any_guess_gives_the_same_footer(guess_bytes: int) -> None:
    data = parquet_bytes()
    source = CountedSource(data)
    source.policy = IOPolicy(footer_guess_bytes=guess_bytes)
    metadata = load_metadata(source)
    assert metadata.footer.tobytes() == data[metadata.footer_offset : -8]
    assert len(source.reads) <= 2


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.parquet", parquet_bytes())
    return buffer.getvalue()


def _sqlite(tmp_path: Path) -> bytes:
    path = tmp_path / "a.db"
    connection = sqlite3.connect(path)
    connection.execute("create table t (x)")
    connection.commit()
    connection.close()
    return path.read_bytes()


def _written(write: object) -> bytes:
    buffer = io.BytesIO()
    assert callable(write)
    write(buffer)
    return buffer.getvalue()


def _ipc_stream() -> bytes:
    buffer = io.BytesIO()
    FRAME.write_ipc_stream(buffer)
    return buffer.getvalue()


def foreign_files(tmp_path: Path) -> dict[str, tuple[bytes, str]]:
    """Content, and what the error says, by name."""
    parquet = parquet_bytes()
    html = b"<!DOCTYPE html><html><body>403</body></html>"
    lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    return {
        "empty": (b"", "empty"),
        "one byte": (b"P", "text"),
        "magic only": (b"PAR1", "still being written"),
        "magic twice": (b"PAR1PAR1", "still being written"),
        "no footer yet": (parquet[:-20], "still being written, or truncated"),
        "cut in the middle": (parquet[: len(parquet) // 2], "still being written, or truncated"),
        "half copied": (parquet[:50] + bytes(500), "ends in zeros"),
        "zeros": (bytes(1000), "only zeros"),
        "something appended": (parquet + b"\n", "still being written, or truncated"),
        "gzip": (gzip.compress(parquet), "gzip"),
        "bzip2": (bz2.compress(parquet), "bzip2"),
        "xz": (lzma.compress(parquet), "xz"),
        "zip": (_zip(), "zip"),
        "csv": (FRAME.write_csv().encode(), "CSV"),
        "tsv": (b"\xef\xbb\xbfa\tb\r\n1\t2\r\n", "CSV"),
        "json": (FRAME.write_json().encode(), "JSON"),
        "ndjson": (FRAME.write_ndjson().encode(), "JSON"),
        "text": ("grüße\n".encode() * 30, "text"),
        "arrow file": (_written(FRAME.write_ipc), "Arrow IPC"),
        "arrow stream": (_ipc_stream(), "Arrow IPC stream"),
        "feather v1": (b"FEA1" + bytes(60) + b"FEA1", "Feather v1"),
        "orc": (_written(lambda buffer: orc.write_table(FRAME.to_arrow(), buffer)), "ORC"),
        "avro": (_written(FRAME.write_avro), "Avro"),
        "sqlite": (_sqlite(tmp_path), "SQLite"),
        "html": (html, "web page"),
        "xml": (b'<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>', "object store"),
        "lfs": (lfs, "Git LFS"),
        "noise": (np.random.default_rng(1).bytes(500), "magic bytes PAR1"),
        "short trailer": (b"\x01\x00\x00\x00PAR1", "not Parquet"),
    }


def test_what_is_not_parquet_is_named(tmp_path: Path) -> None:
    for name, (data, words) in foreign_files(tmp_path).items():
        with pytest.raises(CorruptError) as caught:
            load_metadata(BytesSource(data))
        error = caught.value
        assert words in error.message, name
        assert error.hint, name
        assert error.file == "<bytes>", name
        if data:
            assert f"{len(data):,} bytes" in error.message, name
            assert repr(data[:8]) in error.message, name
            assert repr(data[-8:]) in error.message, name


def test_a_footer_longer_than_the_file() -> None:
    data = parquet_bytes()
    for footer_bytes in (len(data) - 11, len(data), 1 << 29):
        bad = data[:-8] + footer_bytes.to_bytes(4, "little") + b"PAR1"
        with pytest.raises(CorruptError, match="trailer claims a footer of") as caught:
            load_metadata(BytesSource(bad))
        assert caught.value.offset == len(data) - 8


def test_a_footer_above_the_limit_is_not_read() -> None:
    data = parquet_bytes()
    source = CountedSource(data)
    with pytest.raises(LimitError, match="footer_bytes"):
        load_metadata(source, limits=Limits(footer_bytes=100))
    assert len(source.reads) == 1
    with pytest.raises(LimitError, match="footer_bytes"):
        load_metadata(BytesSource(data[:-8] + b"\xff\xff\xff\xffPAR1"))


def test_an_encrypted_footer_is_encrypted() -> None:
    data = parquet_bytes()
    for bad in (b"PARE" + data[4:-4] + b"PARE", b"PARE" + data[4:100]):
        with pytest.raises(EncryptedError, match="the footer is encrypted"):
            load_metadata(BytesSource(bad))


def test_encrypted_files_of_the_corpus(corpus: Path, manifest: list[dict[str, str]]) -> None:
    seen = {"encrypted footer": 0, "plaintext footer": 0}
    for row in manifest:
        path = corpus / row["file"]
        counts = row["encryption"] and not row["corrupt_by_design"]
        magic = path.read_bytes()[-4:] if counts else b""
        if magic == b"PARE":
            seen["encrypted footer"] += 1
            with pytest.raises(EncryptedError):
                load_metadata(FileSource(str(path)))
        elif magic == b"PAR1":
            seen["plaintext footer"] += 1
            assert load_metadata(FileSource(str(path))).encryption_algorithm is not None
    assert all(seen.values()), seen


def test_a_file_that_changes_between_the_two_reads() -> None:
    data = parquet_bytes(pa.table({f"column {i}": [i] for i in range(3000)}))

    class Changing(CountedSource):
        def request(self, start: int, stop: int) -> tuple[Bytes, Transfer]:
            found, transfer = super().request(start, stop)
            if len(self.reads) == 2:
                found = found.copy()
                found[-100] ^= 1
            return found, transfer

    with pytest.raises(SourceChangedError, match="changed while"):
        load_metadata(Changing(data))


def test_metadata_is_shared(tmp_path: Path) -> None:
    path = str(settled(tmp_path / "a.parquet", parquet_bytes()))
    first = load_metadata(FileSource(path))
    assert load_metadata(FileSource(path)) is first
    assert load_metadata(FileSource(path), cache=None) is not first
    assert load_metadata(FileSource(path), limits=Limits(pages=7)) is not first


def test_sources_without_identity_are_not_shared(tmp_path: Path) -> None:
    data = parquet_bytes()
    assert load_metadata(BytesSource(data)) is not load_metadata(BytesSource(data))
    path = tmp_path / "fresh.parquet"
    path.write_bytes(data)  # within the clock's last tick: one more write could look the same
    os.utime(path, (time.time() + 10,) * 2)
    source = FileSource(str(path))
    assert source.identity is None
    assert load_metadata(source) is not load_metadata(FileSource(str(path)))


def test_a_changed_file_is_not_served_stale(tmp_path: Path) -> None:
    path = settled(tmp_path / "a.parquet", parquet_bytes())
    before = load_metadata(FileSource(str(path)))
    settled(path, parquet_bytes(pa.table({"a": [1, 2, 3, 4]})))
    after = load_metadata(FileSource(str(path)))
    assert (before.num_rows, after.num_rows) == (3, 4)


def test_a_forged_timestamp_does_not_hide_other_last_bytes(tmp_path: Path) -> None:
    """Size and modification time the same: the change time and the last bytes still differ."""
    one = parquet_bytes(pa.table({"a": [1, 2, 3]}))
    two = parquet_bytes(pa.table({"a": [1, 2, 4]}))
    assert len(one) == len(two)
    path = settled(tmp_path / "a.parquet", one)
    status = path.stat()
    before = load_metadata(FileSource(str(path)))
    with path.open("r+b") as file:
        file.write(two)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    while FileSource(str(path)).identity is None:
        time.sleep(0.01)
    assert path.stat().st_mtime_ns == status.st_mtime_ns
    after = load_metadata(FileSource(str(path)))
    assert after is not before
    assert after.footer.tobytes() == two[after.footer_offset : -8]


def test_many_threads_parse_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(settled(tmp_path / "a.parquet", parquet_bytes()))
    calls: list[int] = []

    def slow_parse(*arguments: object, **options: object) -> object:
        calls.append(threading.get_ident())
        time.sleep(0.05)
        return parse_file_metadata(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(footer_module, "parse_file_metadata", slow_parse)
    found: list[object] = []
    threads = [
        threading.Thread(target=lambda: found.append(load_metadata(FileSource(path))))
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert len(found) == 16
    assert len({id(metadata) for metadata in found}) == 1


def test_an_error_is_not_shared(tmp_path: Path) -> None:
    data = bytearray(parquet_bytes())
    data[-100:-8] = b"\xff" * 92
    path = str(settled(tmp_path / "bad.parquet", bytes(data)))
    for _ in range(2):
        with pytest.raises(PqlabError) as caught:
            load_metadata(FileSource(path))
        assert caught.value.file == path


def test_what_nobody_holds_is_kept_up_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = parquet_bytes(pa.table({f"column {i}": [i] for i in range(100)}))
    paths = [str(settled(tmp_path / f"{i}.parquet", data)) for i in range(4)]
    first = load_metadata(FileSource(paths[0]))
    size = footer_module._shared.recent_bytes
    assert size >= first.footer.nbytes
    monkeypatch.setattr(footer_module._shared, "_max_bytes", 2 * size)
    held = id(first)
    for path in paths[1:]:
        load_metadata(FileSource(path))
    assert footer_module._shared.recent_bytes == 2 * size
    assert id(load_metadata(FileSource(paths[0]))) == held  # held by us, though not by the bound
    del first
    for path in paths[2:]:
        load_metadata(FileSource(path))
    gc.collect()
    assert len(footer_module._shared._live) == 2


def test_an_empty_cache_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="cache is"):
        load_metadata(BytesSource(parquet_bytes()), cache="")
    assert not list(tmp_path.iterdir())
