"""Sources: where the bytes of a file come from, and whether it is still the same file.

Every source has a `name` for people, a `size`, an `identity` that caches may key by, a `policy`
that says how it likes to be asked, and `read`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from pqlab.errors import SourceError
from pqlab.io.cache import Cache
from pqlab.io.waiting import results_of
from pqlab.native import _native
from pqlab.plan.policy import IOPolicy

Bytes: TypeAlias = npt.NDArray[np.uint8]
ByteRange: TypeAlias = tuple[int, int]
Item = TypeVar("Item")
Result = TypeVar("Result")

PADDING_BYTES = 16  # readable, zero or file bytes, after every buffer: decoders load whole words


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells one state of a file from another; hashable, a key for caches.

    `path`: or the URL, without what is secret in it. Of a local file the times, the inode and the
    device count, of a remote one `version`: its etag, or when it was last modified.
    """

    path: str
    size: int
    mtime_ns: int = -1
    ctime_ns: int = -1
    inode: int = -1
    device: int = -1
    version: str | None = None


class Attempt(NamedTuple):
    """One try of a request, at times of `time.perf_counter_ns`.

    `first_byte_ns` is None where it is not observed or none came, `error` where all bytes came.
    `cached_bytes`: no try, but so many bytes that came from the cache on disk.
    """

    start_ns: int
    first_byte_ns: int | None
    stop_ns: int
    received_bytes: int
    error: str | None = None
    cached_bytes: int = 0


class Transfer(NamedTuple):
    """How a request went. `attempts`: none where a source cannot fail and be asked again.

    `copy_bytes`: the size of the buffer that the bytes were copied through; 0 for none. `asked`:
    False where the bytes were at hand, and nobody was asked for them.
    """

    attempts: tuple[Attempt, ...] = ()
    copy_bytes: int = 0
    asked: bool = True


DIRECT = Transfer()
AT_HAND = Transfer(asked=False)


class Source(ABC):
    """Bytes at positions [0, size). Safe to use from several threads at once.

    `identity` is None where the content may change without a trace: such a source is not cached.
    `code`: the Python text that opens it, or None where there is none without secrets.
    """

    name: str
    size: int
    identity: Identity | None = None
    policy: IOPolicy = IOPolicy.local()
    code: str | None = None

    def read(self, ranges: Sequence[ByteRange]) -> list[Bytes]:
        """One uint8 array per half-open range; `PADDING_BYTES` more are readable after each.

        Each range is a request; `policy.concurrency` of them are made at once. Raises `SourceError`
        for a range outside the source and for bytes that do not come.
        """
        workers = self.workers(len(ranges), sum(stop - start for start, stop in ranges))
        return each(workers, lambda ends: self.request(*ends)[0], ranges)

    def request(self, start: int, stop: int) -> tuple[Bytes, Transfer]:
        """The bytes [start, stop) by one request; padded, and raises, as `read`."""
        self._check_range(start, stop)
        buffer = padded_empty(stop - start)
        return buffer, self._fill(start, buffer)

    def read_into(self, start: int, buffer: Bytes) -> Transfer:
        """Fill `buffer` from position `start` by one request; raises as `read`."""
        self._check_range(start, start + len(buffer))
        return self._fill(start, buffer)

    def read_tail(self, num_bytes: int) -> tuple[Bytes, Transfer]:
        """The last bytes of the source, all of a shorter one; padded, and raises, as `read`."""
        return self.request(max(0, self.size - num_bytes), self.size)

    def workers(self, num_requests: int, num_bytes: int) -> int:
        """How many threads are worth having for so many requests of so many bytes in all."""
        policy = self.policy
        return min(num_requests, policy.concurrency, 1 + num_bytes // policy.bytes_per_thread)

    def native_file(self) -> _native.File | None:
        """The file for native code to read by itself; None: bytes come through `request` alone.

        Raises `SourceError`, and `SourceChangedError` if it is no longer what was opened.
        """
        return None

    @abstractmethod
    def check_unchanged(self) -> None:
        """Raise `SourceChangedError` if the source is no longer what was opened."""

    @abstractmethod
    def close(self) -> None:
        """Release what is held; reading afterwards is a `SourceError`. Closing twice is fine."""

    @abstractmethod
    def _fill(self, start: int, buffer: Bytes) -> Transfer: ...

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


def each(workers: int, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """The results in order, by so many threads; the first error stops what has not begun."""
    if workers <= 1:
        return [function(item) for item in items]
    pool = ThreadPoolExecutor(workers, thread_name_prefix="pqlab-fetch")
    try:
        return results_of([pool.submit(function, item) for item in items])
    finally:
        # After an error or an interrupt what has not begun is dropped, the rest ends by itself.
        pool.shutdown(wait=False, cancel_futures=True)


def open_source(
    source: Any,
    *,
    storage_options: Mapping[str, Any] | None = None,
    filesystem: Any = None,
    policy: IOPolicy | None = None,
    known: Any = None,
    hold: bool = True,
    cache: Cache = None,
) -> Source:
    """The source for a path, URL, `os.PathLike`, bytes-like object or binary file object.

    A `Source` is returned as it is. `storage_options` are for URLs; with a `filesystem` of fsspec,
    `source` is a path in it. `policy`: how it is asked, if not as its kind and what is measured
    suggest. `known`: what a listing said of a remote file. `hold=False`: hold no file open, and no
    bytes, while it is not read. `cache`: a `DiskCache` keeps what is fetched. Raises `SourceError`
    for what cannot be read as a file, and `TypeError` for what is none of these.
    """
    from pqlab.io import local, memory, urls

    if isinstance(source, Source):
        return source
    opened: Source
    if isinstance(source, bytes | bytearray | memoryview):
        opened = memory.BytesSource(source)
    elif isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        if filesystem is not None:
            from pqlab.io.filesystem import FilesystemSource

            return FilesystemSource(filesystem, path, policy=policy)
        if urls.is_remote(path):
            from pqlab.io.stores import open_remote

            return open_remote(
                path, storage_options, policy=policy, known=known, hold=hold, cache=cache
            )
        opened = local.FileSource(local.local_path(path), hold=hold)
    elif hasattr(source, "read") and hasattr(source, "seek"):
        opened = memory.FileObjectSource(source)
    else:
        raise TypeError(
            "a source is a path, a URL, bytes, or a binary file object with read and seek, "
            f"not {type(source).__name__}"
        )
    if policy is not None:
        opened.policy = policy
    return opened
