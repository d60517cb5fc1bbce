"""Ranges of remote files on disk: what came once, of the same state, is not asked for again."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pqlab.io import cache as disk
from pqlab.io.cache import CacheDamagedError, DiskCache
from pqlab.io.source import Attempt, Bytes, Identity, Transfer
from pqlab.native import _native
from pqlab.plan.ranges import Range

_BYTES = "bytes"  # the one section of such a file
_SUFFIX = ".range"
_NAME = re.compile(r"([0-9a-f]{16})\.([0-9a-f]+)-([0-9a-f]+)\.range")
_SLICE = 16  # a 16th of the bound is written, or made room for, between two looks at the folder


class _Room:
    """How much may still be written to a folder. One for all files of a process."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder, self._max_bytes = folder, max_bytes
        self._lock = threading.Lock()
        self._free_bytes = self._pending_bytes = 0

    def take(self, num_bytes: int) -> bool:
        """Whether there is room for a file; the longest unused ones are removed for it."""
        if num_bytes > self._max_bytes:
            return False
        with self._lock:
            self._pending_bytes += num_bytes
            self._free_bytes -= num_bytes
            if self._free_bytes < 0:
                least_free = self._max_bytes // _SLICE
                most_bytes = self._max_bytes - self._pending_bytes - least_free
                kept_bytes = disk.evict(self._folder, most_bytes, suffix=_SUFFIX)
                free_bytes = self._max_bytes - self._pending_bytes - kept_bytes
                self._free_bytes = min(free_bytes, least_free)
            if self._free_bytes < 0:  # others are being written
                self._pending_bytes -= num_bytes
                return False
            return True

    def written(self, num_bytes: int) -> None:
        """Note that a file for which room was taken is there, or will not come."""
        with self._lock:
            self._pending_bytes -= num_bytes


_rooms: dict[tuple[Path, int], _Room] = {}


class KeptRanges:
    """What is on disk of one file in one state. Safe to use from several threads at once."""

    def __init__(self, folder: Path, max_bytes: int, identity: Identity) -> None:
        self._folder = folder
        self._identity = repr(identity).encode(errors="surrogateescape")
        self._hash = f"{_native.xxhash64(np.frombuffer(self._identity, np.uint8)):016x}"
        self._room = _rooms.setdefault((folder, max_bytes), _Room(folder, max_bytes))
        self._writes = max_bytes > 0
        names = (_NAME.fullmatch(Path(path).name) for path, _ in disk.files_in(folder))
        self._ranges = {
            (int(name[2], 16), int(name[3], 16)) for name in names if name and name[1] == self._hash
        }

    def fill(self, start: int, buffer: Bytes, fetch: Callable[[int, Bytes], Transfer]) -> Transfer:
        """Fill `buffer` from position `start`: from disk, and by one request for what is not there.

        `fetch` makes the request; what it brings is kept.
        """
        begun_ns = time.perf_counter_ns()
        first, stop = self._copy(start, buffer)
        kept_bytes = len(buffer) - (stop - first)
        kept = Attempt(begun_ns, None, time.perf_counter_ns(), 0, None, kept_bytes)
        if first == stop:
            return Transfer((kept,))
        missing = buffer[first - start : stop - start]
        transfer = fetch(first, missing)
        self._keep(first, missing)
        return transfer._replace(attempts=(kept, *transfer.attempts)) if kept_bytes else transfer

    def _copy(self, start: int, buffer: Bytes) -> Range:
        """Copy what is on disk of the buffer's beginning and end; the range between them."""
        first, stop = start, start + len(buffer)
        while first < stop:
            found = [ends for ends in list(self._ranges) if ends[0] <= first < ends[1]]
            if not found:
                break
            ends = max(found, key=lambda ends: ends[1])
            if self._copy_range(ends, first, min(ends[1], stop), start, buffer):
                first = min(ends[1], stop)
        while first < stop:
            found = [ends for ends in list(self._ranges) if ends[0] < stop <= ends[1]]
            if not found:
                break
            ends = min(found)
            if self._copy_range(ends, max(ends[0], first), stop, start, buffer):
                stop = max(ends[0], first)
        return first, stop

    def _copy_range(self, ends: Range, first: int, stop: int, start: int, buffer: Bytes) -> bool:
        """Copy the bytes [first, stop) of a kept range; if it is gone or damaged, forget it."""
        sections = disk.load_file(self._path(ends), self._identity)
        if sections is not None:
            try:
                sections.verify(_BYTES, first - ends[0], stop - ends[0])
                data = sections.unverified(_BYTES)
                buffer[first - start : stop - start] = data[first - ends[0] : stop - ends[0]]
            except CacheDamagedError:
                disk.discard(sections)
            else:
                return True
        self._ranges.discard(ends)
        return False

    def _keep(self, start: int, data: Bytes) -> None:
        """Keep the bytes, if there is room; a folder that cannot be written is left alone."""
        arrays = {_BYTES: data}
        num_bytes = disk.file_bytes(arrays, self._identity)
        if not self._writes or not self._room.take(num_bytes):
            return
        ends = start, start + len(data)
        try:
            disk.store_file(self._path(ends), self._identity, arrays, sync=False)
            self._ranges.add(ends)
        except OSError:
            self._writes = False
        finally:
            self._room.written(num_bytes)

    def _path(self, ends: Range) -> Path:
        return self._folder / f"{self._hash}.{ends[0]:x}-{ends[1]:x}{_SUFFIX}"


def kept_ranges(cache: disk.Cache, identity: Identity | None) -> KeptRanges | None:
    """The ranges that are kept of a file; None where none are, or nothing proves its state."""
    if not isinstance(cache, DiskCache) or not cache.range_bytes or identity is None:
        return None
    folder = disk.default_folder() if cache.folder is None else Path(os.fspath(cache.folder))
    version = identity.version or ""
    if folder is None or not version.startswith("etag ") or version.startswith("etag W/"):
        return None
    return KeptRanges(folder, cache.range_bytes, identity)
