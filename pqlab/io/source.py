"""Sources: where the bytes of a file come from, and whether it is still the same file.

Every source has a `name` for people, a `size`, an `identity` that caches may key by, and `read`.
"""

from __future__ import annotations

import io
import os
import re
import stat
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
import numpy.typing as npt

from pqlab.errors import SourceChangedError, SourceError
from pqlab.native import _native

Bytes: TypeAlias = npt.NDArray[np.uint8]
ByteRange: TypeAlias = tuple[int, int]

PADDING_BYTES = 16  # readable, zero or file bytes, after every buffer: decoders load whole words
_COPY_BYTES = 8 << 20  # longer reads are split among threads; a system call moves up to 2 GiB
_COPY_THREADS = 2
_CLOCK_REALTIME_COARSE = 5  # the clock that stamps files on Linux
_TICK_NS = 20_000_000  # twice the coarsest tick of that clock (100 Hz)
_SECONDS_TICK_NS = 2_000_000_000  # file systems that keep whole (FAT: even) seconds


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells one state of a local file from another; hashable, a key for caches."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int


class Source(ABC):
    """Bytes at positions [0, size). Safe to use from several threads at once.

    `identity` is None where the content may change without a trace: such a source is not cached.
    """

    name: str
    size: int
    identity: Identity | None = None

    def read(self, ranges: Sequence[ByteRange]) -> list[Bytes]:
        """One uint8 array per half-open range; `PADDING_BYTES` more are readable after each.

        Raises `SourceError` for a range outside the source and for bytes that do not come.
        """
        return [self._read_one(start, stop) for start, stop in ranges]

    def read_into(self, start: int, buffer: Bytes) -> None:
        """Fill `buffer` from position `start`; raises as `read`."""
        self._check_range(start, start + len(buffer))
        self._fill(start, buffer)

    @abstractmethod
    def check_unchanged(self) -> None:
        """Raise `SourceChangedError` if the source is no longer what was opened."""

    @abstractmethod
    def close(self) -> None:
        """Release what is held; reading afterwards is a `SourceError`. Closing twice is fine."""

    @abstractmethod
    def _fill(self, start: int, buffer: Bytes) -> None: ...

    def _read_one(self, start: int, stop: int) -> Bytes:
        self._check_range(start, stop)
        buffer = padded_empty(stop - start)
        self._fill(start, buffer)
        return buffer

    def _check_range(self, start: int, stop: int) -> None:
        if not 0 <= start <= stop <= self.size:
            raise SourceError(
                f"bytes {start:,} to {stop:,} lie outside the {self.size:,} bytes of the source",
                file=self.name,
                offset=start,
            )

    def _closed_error(self) -> SourceError:
        return SourceError("the source is closed", hint="Open it again", file=self.name)

    def _short_error(self, start: int, got: int, wanted: int) -> SourceError:
        self.check_unchanged()
        return SourceError(
            f"the source ended after {got:,} of the {wanted:,} bytes asked for",
            file=self.name,
            offset=start,
        )


def padded_empty(size: int) -> Bytes:
    """An uninitialised array of `size` bytes with `PADDING_BYTES` zeros readable after it.

    Raises `LimitError` where there is no memory.
    """
    return _native.padded_empty(size)


def open_source(source: Any) -> Source:
    """The source for a path, `os.PathLike`, `file://` URL, bytes-like object or binary file object.

    A `Source` is returned as it is. Raises `SourceError` for what cannot be read as a file, and
    `TypeError` for what is none of these.
    """
    if isinstance(source, str):
        return FileSource(local_path(source))
    if isinstance(source, os.PathLike):
        return FileSource(os.fsdecode(source))
    if isinstance(source, bytes | bytearray | memoryview):
        return BytesSource(source)
    if isinstance(source, Source):
        return source
    if hasattr(source, "read") and hasattr(source, "seek"):
        return FileObjectSource(source)
    raise TypeError(
        "a source is a path, a file:// URL, bytes, or a binary file object with read and seek, "
        f"not {type(source).__name__}"
    )


def local_path(text: str) -> str:
    """The path that a path or a `file://` URL names, `~` expanded; `SourceError` for other URLs."""
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", text)
    if scheme is None:
        return str(Path(text).expanduser()) if text.startswith("~") else text
    if scheme[1].lower() != "file":
        raise SourceError(
            f"{scheme[1].lower()}:// URLs are not read yet",
            hint="Download the file, or pass a binary file object with read and seek",
        )
    url = urlsplit(text)
    if url.netloc not in ("", "localhost"):
        raise SourceError(f"a file:// URL names this machine, not the host {url.netloc!r}")
    return url2pathname(url.path)


class FileSource(Source):
    """A local regular file, read with `pread`: nothing points into a mapping of it.

    `hold=False`: it is open only while it is read, and each time checked to be the same file. A
    dataset may have more files than a process may hold open.
    """

    def __init__(self, path: str, *, hold: bool = True) -> None:
        self.name = path
        self._hold = hold
        self._path = str(Path(path).absolute())
        self._lock = threading.Lock()
        self._readers = 0
        self._closed = False
        self._fd = -1
        status = self._open()
        self.size = status.st_size
        self._state = _content_state(status)
        self.identity = _identity(self._path, status)
        self._release()

    def _fill(self, start: int, buffer: Bytes) -> None:
        self._acquire()
        try:
            if len(buffer) < 2 * _COPY_BYTES:
                self._fill_piece(start, buffer)
                return
            # One core alone zeroes and copies at the speed of its memory port.
            pieces = range(0, len(buffer), _COPY_BYTES)
            with ThreadPoolExecutor(_COPY_THREADS, thread_name_prefix="pqlab-copy") as pool:
                for _ in pool.map(
                    lambda at: self._fill_piece(start + at, buffer[at : at + _COPY_BYTES]), pieces
                ):
                    pass
        finally:
            with self._lock:
                self._readers -= 1
                self._release()

    def _fill_piece(self, start: int, buffer: Bytes) -> None:
        view = buffer.data
        done = 0
        try:
            while done < len(view):
                got = os.preadv(self._fd, [view[done:]], start + done)
                if got == 0:
                    raise self._short_error(start, done, len(view))
                done += got
        except OSError as error:
            raise SourceError(
                f"cannot read: {_reason(error)}", file=self.name, offset=start + done
            ) from error

    def check_unchanged(self) -> None:
        """Raise `SourceChangedError` if the path now leads to other content, or to none."""
        try:
            status = Path(self._path).stat()
        except OSError as error:
            raise SourceChangedError(
                f"the file is gone since it was opened: {_reason(error)}", file=self.name
            ) from error
        self._check_state(status)

    def close(self) -> None:
        """Close the file once no read is under way."""
        with self._lock:
            self._closed = True
            self._release()

    def _open(self) -> os.stat_result:
        try:
            # O_NONBLOCK: opening a pipe that nobody writes to must not hang.
            self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            status = os.fstat(self._fd)
        except (OSError, ValueError) as error:
            raise SourceError(f"cannot open: {_reason(error)}", file=self.name) from error
        if not stat.S_ISREG(status.st_mode):
            os.close(self._fd)
            self._fd = -1
            is_folder = stat.S_ISDIR(status.st_mode)
            raise SourceError(
                "this is a folder" if is_folder else "this is not a regular file",
                hint="Open one of its files" if is_folder else "Read it and pass the bytes",
                file=self.name,
            )
        return status

    def _check_state(self, status: os.stat_result) -> None:
        state = _content_state(status)
        if state != self._state:
            replaced = state[2:] != self._state[2:]
            raise SourceChangedError(
                f"the file was {'replaced' if replaced else 'written to'} since it was opened",
                hint="Open it again",
                file=self.name,
            )

    def _acquire(self) -> None:
        with self._lock:
            if self._closed:
                raise self._closed_error()
            if self._fd < 0:
                status = self._open()
                try:
                    self._check_state(status)
                except SourceChangedError:
                    self._release()
                    raise
            self._readers += 1

    def _release(self) -> None:
        # Under the lock. The last reader closes: a descriptor number that was given back while a
        # read is under way could by then belong to another file.
        if (self._closed or not self._hold) and self._readers == 0 and self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            os.close(self._fd)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _content_state(status: os.stat_result) -> tuple[int, int, int, int]:
    # Not the ctime: a chmod, or a backup that links the file, leaves the content as it is.
    return status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev


def _identity(path: str, status: os.stat_result) -> Identity | None:
    """None for a file so fresh that one more write could leave the same timestamps."""
    newest = max(status.st_mtime_ns, status.st_ctime_ns)
    keeps_fractions = status.st_mtime_ns % 1_000_000_000 or status.st_ctime_ns % 1_000_000_000
    tick = _TICK_NS if keeps_fractions else _SECONDS_TICK_NS
    if newest + tick >= _file_clock_ns():
        return None
    return Identity(
        path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev
    )


def _file_clock_ns() -> int:
    try:
        return time.clock_gettime_ns(_CLOCK_REALTIME_COARSE)
    except OSError:  # not Linux
        return time.time_ns()


class BytesSource(Source):
    """Bytes in memory. Views of an immutable `bytes` object where padding allows, else copies."""

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self.name = f"<{type(data).__name__}>"
        self._immutable = isinstance(data, bytes)
        try:
            self._data: Bytes | None = np.frombuffer(data, np.uint8)
        except (BufferError, ValueError) as error:
            raise SourceError(
                f"the {type(data).__name__} is not contiguous bytes: {error}", file=self.name
            ) from error
        self.size = len(self._data)

    def _read_one(self, start: int, stop: int) -> Bytes:
        if self._immutable and self._data is not None and stop + PADDING_BYTES <= self.size:
            self._check_range(start, stop)
            return self._data[start:stop]
        return super()._read_one(start, stop)

    def _fill(self, start: int, buffer: Bytes) -> None:
        if self._data is None:
            raise self._closed_error()
        buffer[:] = self._data[start : start + len(buffer)]

    def check_unchanged(self) -> None:
        """Nothing to compare: whoever changes a `bytearray` under its reader knows it."""

    def close(self) -> None:
        """Let go of the bytes."""
        self._data = None


class FileObjectSource(Source):
    """A binary file object with `read` and `seek`. Its position moves; it is never closed."""

    def __init__(self, file: Any) -> None:
        name = getattr(file, "name", None)
        self.name = name if isinstance(name, str) else f"<{type(file).__name__}>"
        self._lock = threading.Lock()
        self._file: Any = file
        if isinstance(file, io.TextIOBase):
            raise SourceError(
                "the file object is in text mode", hint="Open it in mode 'rb'", file=self.name
            )
        self.size = self._end()

    def _fill(self, start: int, buffer: Bytes) -> None:
        done = 0
        with self._lock:
            file = self._opened()
            try:
                file.seek(start)
                while done < len(buffer):
                    data = file.read(len(buffer) - done)
                    if not data:
                        break
                    part = np.frombuffer(data, np.uint8)
                    buffer[done : done + len(part)] = part
                    done += len(part)
            except Exception as error:
                raise SourceError(
                    f"the file object failed: {type(error).__name__}: {error}",
                    file=self.name,
                    offset=start + done,
                ) from error
        if done < len(buffer):
            raise self._short_error(start, done, len(buffer))

    def check_unchanged(self) -> None:
        """Raise `SourceChangedError` if the file object's size is another."""
        with self._lock:
            size = self._end()
        if size != self.size:
            raise SourceChangedError(
                f"the file object had {self.size:,} bytes when it was opened and now has {size:,}",
                hint="Open it again",
                file=self.name,
            )

    def close(self) -> None:
        """Let go of the file object; it stays open."""
        with self._lock:
            self._file = None

    def _opened(self) -> Any:
        if self._file is None:
            raise self._closed_error()
        return self._file

    def _end(self) -> int:
        file = self._opened()
        try:
            end = file.seek(0, os.SEEK_END)
            return int(file.tell() if end is None else end)
        except Exception as error:
            raise SourceError(
                f"the file object cannot seek: {type(error).__name__}: {error}", file=self.name
            ) from error
