from __future__ import annotations

import io
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pqlab.errors import SourceChangedError, SourceError
from pqlab.io.local import FileSource
from pqlab.io.source import PADDING_BYTES, Identity, Source, open_source

CONTENT = bytes(range(256)) * 40
RANGES = [(0, 0), (0, 4), (100, 1000), (len(CONTENT) - 3, len(CONTENT)), (0, len(CONTENT))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "a file.bin"
    file.write_bytes(CONTENT)
    os.utime(file, ns=(10**18 + 123, 10**18 + 123))
    return file


class Raw:
    """A file object of the plainest kind: `read` returns little at a time."""

    def __init__(self, data: bytes, most: int = 100) -> None:
        self.file, self.most = io.BytesIO(data), most

    def read(self, size: int) -> bytes:
        return self.file.read(min(size, self.most))

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.file.seek(offset, whence)


KINDS: dict[str, Any] = {
    "str": str,
    "path": lambda path: path,
    "url": lambda path: path.as_uri(),
    "url with host": lambda path: path.as_uri().replace("file://", "file://localhost"),
    "bytes": lambda path: path.read_bytes(),
    "bytearray": lambda path: bytearray(path.read_bytes()),
    "memoryview": lambda path: memoryview(path.read_bytes()),
    "memoryview of words": lambda path: memoryview(
        np.frombuffer(path.read_bytes(), np.uint32).data
    ),
    "BytesIO": lambda path: io.BytesIO(path.read_bytes()),
    "file": lambda path: path.open("rb"),
    "raw": lambda path: Raw(path.read_bytes()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_reads_the_ranges_with_padding(kind: str, path: Path) -> None:
    given = KINDS[kind](path)
    source = open_source(given)
    assert source.size == len(CONTENT)
    for (start, stop), buffer in zip(RANGES, source.read(RANGES), strict=True):
        assert buffer.dtype == np.uint8
        assert buffer.tobytes() == CONTENT[start:stop]
        behind = np.lib.stride_tricks.as_strided(buffer, (stop - start + PADDING_BYTES,))
        assert len(behind.tobytes()) == stop - start + PADDING_BYTES
    target = np.zeros(50, np.uint8)
    source.read_into(7, target)
    assert target.tobytes() == CONTENT[7:57]
    source.check_unchanged()
    assert open_source(source) is source
    source.close()
    source.close()
    with pytest.raises(SourceError, match="closed"):
        source.read([(0, 1)])
    if hasattr(given, "close"):
        given.close()


@pytest.mark.parametrize("kind", ["path", "bytes", "raw"])
@pytest.mark.parametrize("wanted", [(-1, 3), (5, 4), (0, len(CONTENT) + 1), (1 << 62, 1 << 62)])
def test_ranges_outside_are_errors_with_the_offset(
    kind: str, wanted: tuple[int, int], path: Path
) -> None:
    source = open_source(KINDS[kind](path))
    with pytest.raises(SourceError, match="outside") as caught:
        source.read([(0, 1), wanted])
    assert caught.value.offset == wanted[0]
    assert caught.value.file == source.name
    source.close()


def test_names_are_for_people(path: Path) -> None:
    assert open_source(str(path)).name == str(path)
    assert open_source(b"").name == "<bytes>"
    assert open_source(bytearray()).name == "<bytearray>"
    assert open_source(io.BytesIO()).name == "<BytesIO>"
    with path.open("rb") as file:
        assert open_source(file).name == str(path)


def test_mutable_buffers_are_copied_and_immutable_ones_are_not() -> None:
    data = bytearray(CONTENT)
    (copied,) = open_source(data).read([(0, 100)])
    data[0] = 99
    assert copied[0] == CONTENT[0]
    (view,) = open_source(CONTENT).read([(0, 100)])
    assert np.shares_memory(view, np.frombuffer(CONTENT, np.uint8))
    assert not view.flags.writeable


def test_identity_tells_states_apart(path: Path) -> None:
    old = open_source(path).identity
    assert old is None or isinstance(old, Identity)
    status = path.stat()
    # The ctime cannot be set: wait until it is older than the clock's tick.
    while (source := open_source(path)).identity is None:
        time.sleep(0.01)
    assert source.identity == Identity(
        str(path),
        len(CONTENT),
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
        status.st_dev,
    )
    assert hash(source.identity) == hash(open_source(path).identity)


def test_a_file_of_this_very_moment_has_no_identity(tmp_path: Path) -> None:
    # Ten tries: a loaded machine may let the tick pass between the write and the open.
    fresh = []
    for number in range(10):
        file = tmp_path / str(number)
        file.write_bytes(b"new")
        fresh.append(open_source(file).identity is None)
    assert any(fresh)


@pytest.mark.parametrize("kind", ["bytes", "bytearray", "BytesIO"])
def test_sources_that_may_change_unseen_have_no_identity(kind: str, path: Path) -> None:
    assert open_source(KINDS[kind](path)).identity is None


def test_a_change_is_seen(path: Path) -> None:
    source = open_source(path)
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(SourceChangedError, match="written to") as caught:
        source.check_unchanged()
    assert caught.value.file == str(path)


def test_a_replacement_is_seen(path: Path) -> None:
    source = open_source(path)
    other = path.with_name("other")
    other.write_bytes(CONTENT)
    other.replace(path)
    with pytest.raises(SourceChangedError, match="replaced"):
        source.check_unchanged()


def test_a_deletion_is_seen(path: Path) -> None:
    source = open_source(path)
    path.unlink()
    with pytest.raises(SourceChangedError, match="gone"):
        source.check_unchanged()


def test_other_permissions_or_links_are_no_change(path: Path) -> None:
    source = open_source(path)
    path.chmod(0o600)
    path.with_name("link").hardlink_to(path)
    source.check_unchanged()


def test_truncation_under_a_read_says_that_the_file_changed(path: Path) -> None:
    source = open_source(path)
    os.truncate(path, 10)
    with pytest.raises(SourceChangedError):
        source.read([(0, 100)])


def test_a_file_object_that_ends_early_or_grows() -> None:
    raw = Raw(CONTENT)
    source = open_source(raw)
    raw.file = io.BytesIO(CONTENT[:50])
    with pytest.raises(SourceChangedError, match=r"10,240 bytes .* now has 50"):
        source.read([(0, 100)])
    raw = Raw(CONTENT, most=0)
    with pytest.raises(SourceError, match="ended after 0 of the 100"):
        open_source(raw).read([(0, 100)])


class Broken(Raw):
    def read(self, size: int) -> Any:
        del size
        return "text"


class TooMuch(Raw):
    def read(self, size: int) -> bytes:
        return bytes(size + 1)


@pytest.mark.parametrize("kind", [Broken, TooMuch])
def test_a_file_object_that_lies_is_a_source_error(kind: type[Raw]) -> None:
    with pytest.raises(SourceError, match="the file object failed") as caught:
        open_source(kind(CONTENT)).read([(10, 100)])
    assert caught.value.offset == 10


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="this is a folder"):
        open_source(tmp_path)
    with pytest.raises(SourceError, match="cannot open: No such file"):
        open_source(tmp_path / "absent")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="not a regular file"):
        open_source(tmp_path / "pipe")
    with pytest.raises(SourceError, match="cannot open"):
        open_source("nul\0byte")
    with pytest.raises(SourceError, match="text mode"):
        open_source(io.StringIO("text"))
    with pytest.raises(SourceError, match="not contiguous"):
        open_source(memoryview(CONTENT)[::2])
    with pytest.raises(TypeError, match="not int"):
        open_source(3)


def test_a_scheme_that_nothing_knows() -> None:
    with pytest.raises(SourceError, match=r"bogus:// URLs cannot be opened here.*pqlab knows s3"):
        open_source("bogus://host/file.parquet")


def test_a_file_url_of_another_host() -> None:
    with pytest.raises(SourceError, match="elsewhere"):
        open_source("file://elsewhere/a.parquet")


def test_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "x").write_bytes(b"home")
    assert open_source("~/x").size == 4


@pytest.mark.parametrize("kind", ["path", "raw"])
def test_threads_share_a_source(kind: str, path: Path) -> None:
    source: Source = open_source(KINDS[kind](path))

    def read(start: int) -> bool:
        (buffer,) = source.read([(start, start + 500)])
        return buffer.tobytes() == CONTENT[start : start + 500]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, [number * 37 % 9000 for number in range(400)]))
    source.close()


def test_closing_under_reads_never_reads_another_file(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"\xff" * len(CONTENT))
    for _ in range(20):
        source = open_source(path)
        wrong: list[int] = []

        def read(source: Source = source, wrong: list[int] = wrong) -> None:
            try:
                while True:
                    (buffer,) = source.read([(0, 256)])
                    if buffer.tobytes() != CONTENT[:256]:
                        wrong.append(1)
            except SourceError:
                pass

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        source.close()
        with other.open("rb"):
            for thread in threads:
                thread.join()
        assert not wrong


def test_a_file_that_is_not_held_is_open_only_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")
    before = len(list(Path("/proc/self/fd").iterdir()))
    source = FileSource(str(path), hold=False)
    assert source.read([(2, 5), (0, 1)])[0].tobytes() == b"234"
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    source.check_unchanged()
    path.rename(tmp_path / "b")
    with pytest.raises(SourceError, match="No such file") as caught:
        source.read([(0, 1)])
    assert caught.value.file == str(path)
    path.write_bytes(b"abcdefghij")
    with pytest.raises(SourceChangedError, match="replaced"):
        source.read([(0, 1)])
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    source.close()
    with pytest.raises(SourceError, match="closed"):
        source.read([(0, 1)])
