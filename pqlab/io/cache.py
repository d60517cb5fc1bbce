"""The on-disk cache: one private, checksummed, memory-mapped file per parsed footer, or per range.

    header      magic, checksum of the rest of the header, layout, sizes
    sections    name, dtype, length, offset
    identity    the source's identity, as bytes; another one means another file: never served
    checksums   XXH64 of each block of the data
    data        the sections, aligned

The header is verified when the file is opened, a block of data when it is first touched. Files are
written aside, synced and renamed, so a reader sees all of a file or none, whoever writes or dies.
Nothing is unpickled, and files of another user are not trusted. What a checksum cannot prevent is
a change of a file *after* its blocks were verified: nobody but the user may write there.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pqlab.errors import PqlabError
from pqlab.native import _native

DEFAULT_MAX_BYTES = 2 << 30
BLOCK_BYTES = 1 << 16

_MAGIC = b"pqlabFM\n"
_LAYOUT = 1  # raised with every change of this file's layout or of what the sections mean
_CHECKSUM_END = 16  # the checksum covers the header from here
_ALIGNMENT = 64
_READABLE_AFTER = 16  # decoders load whole words, beyond the end of a section
_HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("checksum", "<u8"),
        ("layout", "<u4"),
        ("block_bytes", "<u4"),
        ("num_sections", "<u4"),
        ("identity_bytes", "<u4"),
        ("data_start", "<u8"),
        ("file_bytes", "<u8"),
    ]
)
_SECTION = np.dtype([("name", "S44"), ("dtype", "S4"), ("length", "<u8"), ("offset", "<u8")])
_DTYPES = {
    np.dtype(name).str.encode(): np.dtype(name)
    for name in ("u1", "i1", "?", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f4", "<f8")
}
_OURS = re.compile(r"[0-9a-f]{16}\.(footer|[0-9a-f]+-[0-9a-f]+\.range|[0-9a-f]+\.part)")
_ABANDONED_SECONDS = 3600  # a `.part` file this old has no writer any more


@dataclass(frozen=True, slots=True)
class DiskCache:
    """Keep footers on disk, and the ranges of remote files that were fetched, for later processes.

    `folder`: None is the user's own. `range_bytes`: of ranges so much is kept, the last used; 0:
    none. Only files with a strong etag have their ranges kept. `ValueError` for a negative size.
    """

    folder: str | os.PathLike[str] | None = None
    range_bytes: int = 1 << 30

    def __post_init__(self) -> None:
        if self.range_bytes < 0:
            raise ValueError(f"range_bytes is {self.range_bytes}; it must be at least 0")


Cache: TypeAlias = str | os.PathLike[str] | DiskCache | None  # "memory", "disk", or a folder


class CacheDamagedError(PqlabError):
    """A block of a cache file does not have its checksum."""


class Sections(Mapping[str, npt.NDArray[Any]]):
    """The arrays of one cache file: read-only views of its mapping, verified when first touched."""

    def __init__(self, path: Path, mapping: npt.NDArray[np.uint8], header: np.void) -> None:
        self.path = path
        self._mapping = mapping
        self._data_start = int(header["data_start"])
        count = int(header["num_sections"])
        sections = np.frombuffer(mapping, _SECTION, count, _HEADER.itemsize)
        self._sections = {name.decode(): place for name, *place in sections.tolist()}
        num_blocks = -(-(len(mapping) - self._data_start) // BLOCK_BYTES)
        self._checksums = np.frombuffer(
            mapping, "<u8", num_blocks, self._data_start - num_blocks * 8
        )
        self._verified = np.zeros(num_blocks, np.bool_)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        self.verify(name, 0, self.length(name))
        return self.unverified(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sections)

    def __len__(self) -> int:
        return len(self._sections)

    def length(self, name: str) -> int:
        """The number of elements of an array."""
        return int(self._sections[name][1])

    def unverified(self, name: str) -> npt.NDArray[Any]:
        """The array as it is mapped: `verify` the part of it that is read."""
        dtype, length, offset = self._sections[name]
        return np.ndarray(length, _DTYPES[dtype], self._mapping, offset)

    def verify(self, name: str, start: int, stop: int) -> None:
        """Check elements [start, stop) of a section; raises `CacheDamagedError`."""
        dtype, _, offset = self._sections[name]
        offset -= self._data_start
        width = _DTYPES[dtype].itemsize
        first = (offset + start * width) // BLOCK_BYTES
        last = -(-(offset + stop * width) // BLOCK_BYTES)
        if self._verified[first:last].all():
            return
        begin = self._data_start + first * BLOCK_BYTES
        end = min(len(self._mapping), self._data_start + last * BLOCK_BYTES)
        hashes = _native.xxhash64_blocks(self._mapping[begin:end], BLOCK_BYTES, first)
        if not np.array_equal(hashes, self._checksums[first:last]):
            raise CacheDamagedError("a cache file is damaged", file=str(self.path))
        self._verified[first:last] = True


def default_folder() -> Path | None:
    """`$PQLAB_CACHE_DIR`, else `$XDG_CACHE_HOME/pqlab`, else `~/.cache/pqlab`; None: no home."""
    chosen = os.environ.get("PQLAB_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # the XDG specification: relative ones are ignored
        try:
            base = Path("~/.cache").expanduser()
        except RuntimeError:
            return None
    return base / "pqlab"


def load(folder: Path, name: str, identity: bytes) -> Sections | None:
    """The cached arrays of the source `name` in the state `identity`; None: there are none.

    A file that is damaged, of another layout, of another state or of another user counts as none.
    """
    return load_file(folder / _file_name(name), identity)


def load_file(path: Path, identity: bytes) -> Sections | None:
    """The arrays of a cache file, as `load`; the file counts as used."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if not _is_private(status) or status.st_size < _HEADER.itemsize:
            return None
        mapping = _native.map_file(fd, status.st_size)
        header = np.frombuffer(mapping, _HEADER, 1)[0]
        if not _is_whole(mapping, header, identity):
            return None
        _mark_used(fd)
    except (OSError, PqlabError):
        return None
    finally:
        os.close(fd)
    return Sections(path, mapping, header)


def store(
    folder: Path,
    name: str,
    identity: bytes,
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> None:
    """Write the arrays as the cache file of `name`, then evict the longest unused files.

    Arrays are one-dimensional. Raises `OSError` where the folder cannot be written.
    """
    if file_bytes(arrays, identity) > max_bytes:
        return
    path = folder / _file_name(name)
    store_file(path, identity, arrays)
    _sync_folder(folder)
    evict(folder, max_bytes, keep=path)


def file_bytes(arrays: Mapping[str, npt.NDArray[Any]], identity: bytes) -> int:
    """The size of the cache file that would hold these arrays."""
    return _layout(arrays, len(identity))[2]


def store_file(
    path: Path, identity: bytes, arrays: Mapping[str, npt.NDArray[Any]], *, sync: bool = True
) -> None:
    """Write a cache file, all of it or nothing; raises as `store`.

    Not synced, it may be torn where the machine, not the process, dies: then it counts as none.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name[:16]}.{os.getpid():x}{secrets.token_hex(4)}.part")
    try:
        _write(aside, identity, arrays, sync=sync)
        aside.rename(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def discard(sections: Sections) -> None:
    """Remove a cache file that turned out to be damaged."""
    try:
        sections.path.unlink(missing_ok=True)
    except OSError:
        return  # it is verified again by whoever opens it next


def info(folder: Path | str | None = None) -> dict[str, Any]:
    """The folder, its numbers of footers and ranges, their bytes, and the bound on footers."""
    where = Path(folder) if folder is not None else default_folder()
    files = list(files_in(where)) if where is not None else []
    return {
        "folder": None if where is None else str(where),
        "num_footers": sum(path.endswith(".footer") for path, _ in files),
        "num_ranges": sum(path.endswith(".range") for path, _ in files),
        "size_bytes": sum(status.st_size for _, status in files),
        "max_bytes": DEFAULT_MAX_BYTES,
    }


def clear(folder: Path | str | None = None) -> int:
    """Remove the cache files in the folder, and nothing else; returns the bytes freed."""
    where = Path(folder) if folder is not None else default_folder()
    if where is None:
        return 0
    return sum(_remove(path, status) for path, status in files_in(where))


def _file_name(name: str) -> str:
    data = np.frombuffer(os.fsencode(name), np.uint8)
    return f"{_native.xxhash64(data):016x}.footer"


def _is_private(status: os.stat_result) -> bool:
    return (
        stat.S_ISREG(status.st_mode)
        and status.st_uid == os.geteuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _is_whole(mapping: npt.NDArray[np.uint8], header: np.void, identity: bytes) -> bool:
    """Whether the header is intact, of this layout, and of the source in this state."""
    _, checksum, layout, block_bytes, num_sections, identity_bytes, data_start, file_bytes = (
        header.tolist()
    )
    sections_end = _HEADER.itemsize + num_sections * _SECTION.itemsize
    identity_end = sections_end + identity_bytes
    num_blocks = -(-(file_bytes - data_start) // BLOCK_BYTES)
    return bool(
        mapping[: len(_MAGIC)].tobytes() == _MAGIC
        and layout == _LAYOUT
        and block_bytes == BLOCK_BYTES
        and identity_end + num_blocks * 8 <= data_start <= file_bytes == len(mapping)
        and _native.xxhash64(mapping[_CHECKSUM_END:data_start]) == checksum
        and mapping[sections_end:identity_end].tobytes() == identity
    )


def _layout(
    arrays: Mapping[str, npt.NDArray[Any]], identity_bytes: int
) -> tuple[npt.NDArray[np.void], int, int]:
    """The section table, where the data starts, and the size of the file."""
    sections = np.zeros(len(arrays), _SECTION)
    fixed = _HEADER.itemsize + sections.nbytes + identity_bytes
    position = 0
    for i, (name, array) in enumerate(arrays.items()):
        code = array.dtype.str.encode()
        if array.ndim != 1 or code not in _DTYPES or len(name) > _SECTION["name"].itemsize:
            raise TypeError(f"{name}: not an array that the cache keeps: {array.dtype}")
        sections[i] = (name, code, len(array), position)
        position = _aligned(position + array.nbytes + _READABLE_AFTER)
    data_start = _aligned(fixed + -(-position // BLOCK_BYTES) * 8)
    sections["offset"] += data_start
    return sections, data_start, data_start + position


def _aligned(position: int) -> int:
    return -(-position // _ALIGNMENT) * _ALIGNMENT


def _write(
    path: Path,
    identity: bytes,
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    sync: bool,
) -> None:
    sections, data_start, num_bytes = _layout(arrays, len(identity))
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "r+b") as file:
        for section, array in zip(sections, arrays.values(), strict=True):
            file.seek(int(section["offset"]))
            file.write(np.ascontiguousarray(array).data)
        file.truncate(num_bytes)
        file.flush()
        # Checksums are of what the file holds now: no copy of the arrays is laid out in memory.
        data = _native.map_file(fd, num_bytes)[data_start:]
        checksums = _native.xxhash64_blocks(data, BLOCK_BYTES).tobytes()
        header = np.zeros(1, _HEADER)
        header[0] = (
            _MAGIC, 0, _LAYOUT, BLOCK_BYTES, len(sections), len(identity), data_start, num_bytes,
        )  # fmt: skip
        head = header.tobytes() + sections.tobytes() + identity
        head += bytes(data_start - len(head) - len(checksums)) + checksums
        covered = np.frombuffer(head, np.uint8)[_CHECKSUM_END:]
        header["checksum"] = _native.xxhash64(covered)
        file.seek(0)
        file.write(header.tobytes() + head[_HEADER.itemsize :])
        file.flush()
        if sync:
            os.fsync(fd)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _mark_used(fd: int) -> None:
    try:
        os.utime(fd)
    except OSError:
        return  # a read-only folder evicts nothing either


def files_in(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The cache's own files in the folder, with their status."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if _OURS.fullmatch(entry.name):
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # another process removed it
            if stat.S_ISREG(status.st_mode):
                yield entry.path, status


def _remove(path: str, status: os.stat_result) -> int:
    try:
        Path(path).unlink()
    except OSError:
        return 0
    return status.st_size


def evict(
    folder: Path, max_bytes: int, *, keep: Path | None = None, suffix: str = ".footer"
) -> int:
    """Remove the longest unused files of a kind until the others fit; returns their bytes."""
    now = time.time()
    kept = []
    for path, status in files_in(folder):
        if path.endswith(".part"):
            if now - status.st_mtime > _ABANDONED_SECONDS:
                _remove(path, status)
        elif path.endswith(suffix):
            kept.append((status.st_mtime_ns, path, status))
    total = sum(status.st_size for _, _, status in kept)
    for _, path, status in sorted(kept, key=lambda item: item[:2]):
        if total <= max_bytes:
            break
        if keep is None or path != str(keep):
            total -= _remove(path, status)
    return total
