"""Bytes in memory, and binary file objects."""

from __future__ import annotations

import io
import os
import threading
from typing import Any

import numpy as np

from pqlab.errors import SourceChangedError, SourceError
from pqlab.io import urls
from pqlab.io.failures import reason
from pqlab.io.source import DIRECT, PADDING_BYTES, Bytes, Source, Transfer


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

    def request(self, start: int, stop: int) -> tuple[Bytes, Transfer]:
        """The bytes [start, stop), as of `Source.request`; not copied where that can be."""
        if self._immutable and self._data is not None and stop + PADDING_BYTES <= self.size:
            self._check_range(start, stop)
            return self._data[start:stop], DIRECT
        return super().request(start, stop)

    def _fill(self, start: int, buffer: Bytes) -> Transfer:
        if self._data is None:
            raise self._closed_error()
        buffer[:] = self._data[start : start + len(buffer)]
        return DIRECT

    def check_unchanged(self) -> None:
        """Nothing to compare: whoever changes a `bytearray` under its reader knows it."""

    def close(self) -> None:
        """Let go of the bytes."""
        self._data = None


class FileObjectSource(Source):
    """A binary file object with `read` and `seek`. Its position moves; it is never closed."""

    def __init__(self, file: Any) -> None:
        name = getattr(file, "name", None)
        self.name = urls.shown(name) if isinstance(name, str) else f"<{type(file).__name__}>"
        self._lock = threading.Lock()
        self._file: Any = file
        if isinstance(file, io.TextIOBase):
            raise SourceError(
                "the file object is in text mode", hint="Open it in mode 'rb'", file=self.name
            )
        self.size = self._end()

    def _fill(self, start: int, buffer: Bytes) -> Transfer:
        piece_bytes = min(self.policy.copy_buffer_bytes, len(buffer))
        done = 0
        failure = None
        with self._lock:
            file = self._opened()
            try:
                file.seek(start)
                while done < len(buffer):
                    data = file.read(min(piece_bytes, len(buffer) - done))
                    if not data:
                        break
                    part = np.frombuffer(data, np.uint8)
                    buffer[done : done + len(part)] = part
                    done += len(part)
            except Exception as error:  # noqa: BLE001  # whatever the object's code raises
                failure = f"the file object failed: {reason(error)}"
        if failure is not None:
            raise SourceError(failure, file=self.name, offset=start + done)
        if done < len(buffer):
            raise self._short_error(start, done, len(buffer))
        return Transfer(copy_bytes=piece_bytes)

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
        except Exception as error:  # noqa: BLE001  # as above
            failure = f"the file object cannot seek: {reason(error)}"
        raise SourceError(failure, file=self.name)
