"""Footers: found in one read or two, parsed once, shared, and kept on disk when asked to."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pqlab import __version__
from pqlab.errors import CorruptError, PqlabError, SourceChangedError, SourceError, placed
from pqlab.footer.metadata import FileMetaData, parse_file_metadata
from pqlab.io import cache as disk
from pqlab.io.cache import Cache, DiskCache
from pqlab.io.fetch import read_recorded, read_tail
from pqlab.io.local import local_path
from pqlab.io.mapped import MappedArrays, MappedMetaData
from pqlab.io.shared import Shared
from pqlab.io.sniff import MAGIC, MIN_FILE_BYTES, SHOWN_BYTES, TRAILER_BYTES, not_parquet
from pqlab.io.source import Bytes, Identity, Source, open_source, padded_empty
from pqlab.limits import DEFAULT_LIMITS, MIB, Limits
from pqlab.native import _native
from pqlab.trace import Reason

SHARED_BYTES = 256 * MIB  # of the metadata that is kept while nobody uses it

_shared: Shared[FileMetaData] = Shared(
    SHARED_BYTES, lambda metadata: metadata.nbytes + metadata.footer_bytes
)


@dataclass(frozen=True, slots=True)
class _Key:
    """What metadata depends on: the file's state, its last bytes, and how it was asked for."""

    identity: Identity
    tail_hash: int
    limits: Limits
    cache: str | None  # None: memory

    def to_bytes(self) -> bytes:
        state = f"{__version__}\n{self.identity!r}\n{self.tail_hash:016x}\n{self.limits!r}"
        return state.encode(errors="surrogateescape")


def load_metadata(
    source: Source,
    *,
    cache: Cache = "memory",
    limits: Limits = DEFAULT_LIMITS,
) -> FileMetaData:
    """The parsed footer of a source, in one read of its end and at most one more.

    `cache`: "memory" shares the metadata within the process; "disk" (`pqlab.io.cache` says where)
    or the path of a folder keeps it for other processes, too; None does neither. A source without
    an identity is parsed each time. A folder that cannot be used is a warning of the metadata.

    Raises `CorruptError`, with the likely cause, for what is not Parquet, `EncryptedError` for an
    encrypted footer, `LimitError`, `SourceError`; `ValueError` for an empty `cache`.
    """
    if isinstance(cache, DiskCache):
        cache = "disk" if cache.folder is None else cache.folder
    if cache is not None and not os.fspath(cache):
        raise ValueError('cache is "memory", "disk", a folder, or None; not an empty text')
    try:
        tail, start = _tail(source, limits)

        def parse() -> FileMetaData:
            return parse_file_metadata(_footer(source, tail, start), start, limits=limits)

        if cache is None or source.identity is None:
            return parse()
        where = None if cache == "memory" else os.fspath(cache)
        key = _Key(source.identity, _native.xxhash64(tail), limits, where)
        return _shared.get(key, lambda: _load(source, key, parse))
    except PqlabError as error:
        error.at(file=source.name)
        raise


def read_footer(source: Source, limits: Limits = DEFAULT_LIMITS) -> tuple[Bytes, int]:
    """The bytes of a source's FileMetaData, and where they start; raises as `load_metadata`."""
    with placed(file=source.name):
        tail, start = _tail(source, limits)
        return _footer(source, tail, start), start


def _tail(source: Source, limits: Limits) -> tuple[Bytes, int]:
    tail = read_tail(source)
    return tail, _footer_start(source, tail, limits)


def known_metadata(path: str) -> FileMetaData | None:
    """The parsed footer of a file, by its path or URL, if the process has it; reads nothing.

    The file may have changed meanwhile.
    """
    where = path if "://" in path else str(Path(local_path(path)).absolute())
    return _shared.latest(lambda key: isinstance(key, _Key) and key.identity.path == where)


def _footer_start(source: Source, tail: Bytes, limits: Limits) -> int:
    """Where the FileMetaData begins; an error that says what the file is if it has none."""
    trailer = tail[-TRAILER_BYTES:].tobytes()
    if source.size < MIN_FILE_BYTES or not trailer.endswith(MAGIC):
        [head] = source.read([(0, min(SHOWN_BYTES, source.size))])
        raise not_parquet(source.size, head.tobytes(), tail[-SHOWN_BYTES:].tobytes())
    footer_bytes = int.from_bytes(trailer[:4], "little")
    limits.check("footer_bytes", footer_bytes, "the footer")
    start = source.size - TRAILER_BYTES - footer_bytes
    if start < len(MAGIC):
        raise CorruptError(
            f"the trailer claims a footer of {footer_bytes:,} bytes in a file of {source.size:,}",
            hint="The file lost its beginning, or its last 8 bytes are damaged: copy it again",
            offset=source.size - TRAILER_BYTES,
        )
    return start


def _footer(source: Source, tail: Bytes, start: int) -> Bytes:
    """The bytes of FileMetaData, read only: out of the tail, or in one more read."""
    stop = source.size - TRAILER_BYTES
    tail_start = source.size - len(tail)
    if start >= tail_start:
        footer = padded_empty(stop - start)  # a copy: the rest of the tail is not retained
        footer[:] = tail[start - tail_start : -TRAILER_BYTES]
    else:
        [footer] = read_recorded(source, [(start, stop)], Reason.FOOTER)
        if not np.array_equal(footer[tail_start - start :], tail[:-TRAILER_BYTES]):
            raise SourceChangedError("the file changed while its footer was read")
    footer.flags.writeable = False
    return footer


def _load(source: Source, key: _Key, parse: Callable[[], FileMetaData]) -> FileMetaData:
    """What `_shared` keeps: from disk where it may, else parsed from a file that held still."""
    if key.cache is None:
        return _parsed_unchanged(source, parse)
    folder = disk.default_folder() if key.cache == "disk" else Path(key.cache)
    if folder is None:
        reason = "there is no home folder: set PQLAB_CACHE_DIR, or pass a folder"
        return _with_warning(_parsed_unchanged(source, parse), reason)
    name = key.identity.path
    sections = disk.load(folder, name, key.to_bytes())
    if sections is not None:
        return MappedMetaData.from_arrays(MappedArrays(sections, lambda: _parse_again(key)))
    metadata = _parsed_unchanged(source, parse)
    try:
        disk.store(folder, name, key.to_bytes(), metadata.arrays())
    except OSError as error:
        return _with_warning(metadata, f"{folder}: {error.strerror or error}")
    return metadata


def _parse_again(key: _Key) -> FileMetaData:
    """Parse the file whose cached metadata is damaged, if it is still the same file."""
    if key.identity.version is not None:  # its name alone does not open it
        raise SourceError(
            "the cached metadata of the file was damaged and is removed",
            hint="Open it again",
            file=key.identity.path,
        )
    with closing(open_source(key.identity.path)) as source:
        metadata = load_metadata(source, cache=None, limits=key.limits)
        if source.identity != key.identity:
            raise SourceChangedError("the file changed since it was opened", hint="Open it again")
        return metadata


def _parsed_unchanged(source: Source, parse: Callable[[], FileMetaData]) -> FileMetaData:
    metadata = parse()
    source.check_unchanged()
    return metadata


def _with_warning(metadata: FileMetaData, reason: str) -> FileMetaData:
    warning = f"the metadata is not kept on disk ({reason})"
    return replace(metadata, warnings=(*metadata.warnings, warning))
