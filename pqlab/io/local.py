"""Local files."""

from __future__ import annotations

import os
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
import numpy.typing as npt

from pqlab.errors import SourceChangedError, SourceError
from pqlab.io.source import DIRECT, Bytes, Identity, Source, Transfer
from pqlab.native import _native

_COPY_THREADS = 2
_CLOCK_REALTIME_COARSE = 5  # the clock that stamps files on Linux
_TICK_NS = 20_000_000  # twice the coarsest tick of that clock (100 Hz)
_SECONDS_TICK_NS = 2_000_000_000  # file systems that keep whole (FAT: even) seconds


def local_path(text: str) -> str:
    """The path that a path or a `file://` URL names, `~` expanded."""
    if not text.lower().startswith("file://"):
        return str(Path(text).expanduser()) if text.startswith("~") else text
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
        self.code = repr(path)
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

    def _fill(self, start: int, buffer: Bytes) -> Transfer:
        piece_bytes = self.policy.max_request_bytes
        self._acquire()
        try:
            if len(buffer) <= 2 * piece_bytes:
                self._fill_piece(start, buffer)
                return DIRECT
            # One core alone zeroes and copies at the speed of its memory port.
            pieces = range(0, len(buffer), piece_bytes)
            with ThreadPoolExecutor(_COPY_THREADS, thread_name_prefix="pqlab-copy") as pool:
                for _ in pool.map(
                    lambda at: self._fill_piece(start + at, buffer[at : at + piece_bytes]), pieces
                ):
                    pass
            return DIRECT
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

    def native_file(self) -> _native.File:
        """A descriptor of its own, which stays open as long as native code has use for it."""
        self._acquire()
        try:
            return _native.File(self._fd)
        finally:
            with self._lock:
                self._readers -= 1
                self._release()

    def check_unchanged(self) -> None:
        """Raise `SourceChangedError` if the path now leads to other content, or to none."""
        try:
            status = os.stat(self._path)  # noqa: PTH116 - a Path takes as long as the call
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


def is_settled(mtime_ns: npt.NDArray[Any], ctime_ns: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which files cannot be written to once more without another time.

    Those can that were written to in the clock's last tick.
    """
    mtime_ns, ctime_ns = mtime_ns.astype(np.int64), ctime_ns.astype(np.int64)
    keeps_fractions = (mtime_ns % 1_000_000_000 != 0) | (ctime_ns % 1_000_000_000 != 0)
    tick = np.where(keeps_fractions, _TICK_NS, _SECONDS_TICK_NS)
    settled: npt.NDArray[np.bool_] = np.maximum(mtime_ns, ctime_ns) + tick < _file_clock_ns()
    return settled


def _identity(path: str, status: os.stat_result) -> Identity | None:
    """None for a file so fresh that one more write could leave the same timestamps."""
    times = np.array([status.st_mtime_ns]), np.array([status.st_ctime_ns])
    if not is_settled(*times)[0]:
        return None
    return Identity(
        path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev
    )


def _file_clock_ns() -> int:
    try:
        return time.clock_gettime_ns(_CLOCK_REALTIME_COARSE)
    except OSError:  # not Linux
        return time.time_ns()
