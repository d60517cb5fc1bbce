"""Lists of files: folders, globs and lists, what was left out and why, and what the folders say."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from pqlab.errors import SourceError, UnsupportedError
from pqlab.io import remote_listing, urls
from pqlab.io.local import local_path
from pqlab.io.sniff import ENCRYPTED_MAGIC, MAGIC, SHOWN_BYTES, not_parquet
from pqlab.io.source import open_source

_SUFFIXES = (".parquet", ".parq", ".pq", ".geoparquet")
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"

Partition = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a dataset: what `open_source` opens, its name, and its hive folders' values.

    `known`: what the listing of a store says of it.
    """

    source: Any
    name: str
    partition: Partition = ()
    known: Any = None


@dataclass(frozen=True, slots=True)
class Listing:
    """`files` in the order of the dataset; `skipped`: (path, reason) of what is none of them."""

    files: tuple[ListedFile, ...]
    skipped: tuple[tuple[str, str], ...]


def _is_folder(path: str) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - False for what cannot be a path, where Path raises


def is_many(source: Any, filesystem: Any = None) -> bool:
    """Whether `source` stands for several files: a folder, a glob, or an iterable of sources."""
    if isinstance(source, str | os.PathLike):
        if filesystem is not None or urls.is_remote(os.fsdecode(source)):
            return remote_listing.is_many(os.fsdecode(source))
        path = _path(source)
        return _is_folder(path) or (glob.has_magic(path) and not os.path.lexists(path))
    return (
        isinstance(source, Iterable)
        and not isinstance(source, bytes | bytearray | memoryview)
        and not hasattr(source, "read")
    )


def list_files(
    source: Any, storage_options: Mapping[str, Any] | None = None, filesystem: Any = None
) -> Listing:
    """The files of a folder (all levels), of a glob, or of a list of files, folders and globs.

    Folders and globs come in the order of their paths, lists as they are given. In a folder or a
    glob, what is hidden or begins with `_` is skipped, and a file that is not called like Parquet
    is skipped unless it ends like Parquet. The elements of a list may be what `pqlab.open` takes,
    or tasks of pyiceberg's `plan_files()`; deltalake's `file_uris()` is a list of paths.

    `key=value` folders count below a folder, from the first wildcard of a glob on, and anywhere in
    the path of an element of a list. Folders of stores are URLs that end in `/`; in them, and in
    their globs, only files called like Parquet are taken. Raises `SourceError` if nothing is left
    or a folder cannot be listed, and `UnsupportedError` for a task with row-level deletes.
    """
    skipped: list[tuple[str, str]] = []
    where = _Where(storage_options, filesystem)
    items = [source] if isinstance(source, str | os.PathLike) else source
    files = [file for item in items for file in _item(item, where, skipped)]
    if not files:
        raise SourceError(_nothing(source, skipped), hint=_first_reasons(skipped))
    return Listing(tuple(files), tuple(sorted(skipped)))


def _path(path: str | os.PathLike[str]) -> str:
    return local_path(os.fsdecode(path))


class _Where(NamedTuple):
    storage_options: Mapping[str, Any] | None
    filesystem: Any

    def has(self, item: Any) -> bool:
        """Whether the path or URL is not one of this machine."""
        return isinstance(item, str | os.PathLike) and (
            self.filesystem is not None or urls.is_remote(os.fsdecode(item))
        )


def _remote(text: str, where: _Where, skipped: list[tuple[str, str]]) -> Iterator[ListedFile]:
    if not remote_listing.is_many(text):
        name = urls.shown(text)
        yield ListedFile(text, name, _partition(name.split("/")[:-1]))
        return
    for entry in remote_listing.entries(text, *where):
        below = entry.name.removeprefix(remote_listing.fixed_part(urls.shown(text))).split("/")
        hidden = next((name for name in below if _is_hidden(name)), None)
        if hidden is not None:
            skipped.append((entry.name, _hidden_reason(hidden)))
        elif not entry.name.lower().endswith(_SUFFIXES):
            skipped.append((entry.name, "not called like a Parquet file"))
        else:
            yield ListedFile(entry.source, entry.name, _partition(below[:-1]), entry.known)


def _item(item: Any, where: _Where, skipped: list[tuple[str, str]]) -> Iterator[ListedFile]:
    data_file = getattr(item, "file", item)
    if hasattr(data_file, "file_path"):  # pyiceberg: FileScanTask.file, or a DataFile itself
        if getattr(item, "delete_files", None):
            raise UnsupportedError(
                "this Iceberg file has row-level deletes, which pqlab does not apply",
                hint="Compact the table, or read it with pyiceberg",
                file=str(data_file.file_path),
            )
        item = data_file.file_path
    if where.has(item):
        yield from _remote(os.fsdecode(item), where, skipped)
    elif isinstance(item, str | os.PathLike):
        path = _path(item)
        if is_many(path):
            yield from _expanded(path, skipped)
        else:
            yield ListedFile(path, path, _partition(Path(path).parts[:-1]))
    else:
        source = open_source(item)
        yield ListedFile(source, source.name)


def _expanded(path: str, skipped: list[tuple[str, str]]) -> Iterable[ListedFile]:
    files = _folder(path, (), skipped) if _is_folder(path) else _glob(path, skipped)
    return sorted(files, key=lambda file: file.name)


def _glob(pattern: str, skipped: list[tuple[str, str]]) -> Iterator[ListedFile]:
    parts = Path(pattern).parts
    fixed = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    # Path.glob takes no absolute pattern.
    for path in glob.iglob(pattern, recursive=True, include_hidden=True):  # noqa: PTH207
        names = Path(path).parts[fixed:]
        hidden = next((name for name in names if _is_hidden(name)), None)
        if hidden is not None:
            skipped.append((path, _hidden_reason(hidden)))
        elif _is_folder(path):
            if "**" not in parts:  # which matches what lies in the folders, too
                yield from _folder(path, _partition(names), skipped)
        elif _is_taken(path, skipped):
            yield ListedFile(path, path, _partition(names[:-1]))


def _folder(
    folder: str, partition: Partition, skipped: list[tuple[str, str]]
) -> Iterator[ListedFile]:
    # Links are followed; `above` are the folders on the way, by device and inode.
    waiting: list[tuple[str, Partition, frozenset[tuple[int, int]]]] = [
        (folder, partition, frozenset())
    ]
    while waiting:
        folder, partition, above = waiting.pop()
        try:
            status = os.stat(folder)  # noqa: PTH116  # paths here are text
            entries = list(os.scandir(folder))
        except OSError as error:
            raise SourceError(f"cannot list the folder: {error.strerror}", file=folder) from error
        here = (status.st_dev, status.st_ino)
        if here in above:
            skipped.append((folder, "a link to a folder that it lies in"))
            continue
        for entry in entries:
            if _is_hidden(entry.name):
                skipped.append((entry.path, _hidden_reason(entry.name)))
            elif entry.is_dir():
                below = partition + _partition((entry.name,))
                waiting.append((entry.path, below, above | {here}))
            elif _is_taken(entry.path, skipped):
                yield ListedFile(entry.path, entry.path, partition)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _hidden_reason(name: str) -> str:
    return "hidden" if name.startswith(".") else "begins with _"


def _is_taken(path: str, skipped: list[tuple[str, str]]) -> bool:
    """Files called like Parquet must be Parquet (reading says so); others may be."""
    if path.lower().endswith(_SUFFIXES):
        return True
    reason = _why_not_parquet(path)
    if reason is not None:
        skipped.append((path, reason))
    return reason is None


def _why_not_parquet(path: str) -> str | None:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116  # as above
            return "not a regular file"
        with Path(path).open("rb") as file:
            head = file.read(SHOWN_BYTES)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - SHOWN_BYTES))
            tail = file.read(SHOWN_BYTES)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if tail.endswith((MAGIC, ENCRYPTED_MAGIC)):
        return None
    return not_parquet(size, head, tail).message


def _partition(folders: Iterable[str]) -> Partition:
    """The values of the `key=value` folders among the names, percent signs decoded."""
    found = (name.partition("=") for name in folders if not name.startswith("="))
    return tuple(
        (unquote(key), None if value == _NULL_PARTITION else unquote(value))
        for key, equals, value in found
        if equals
    )


def _nothing(source: Any, skipped: list[tuple[str, str]]) -> str:
    what = (
        repr(urls.shown(os.fsdecode(source)))
        if isinstance(source, str | os.PathLike)
        else "the list"
    )
    left_out = f": {len(skipped):,} skipped" if skipped else ""
    return f"there is no Parquet file in {what}{left_out}"


def _first_reasons(skipped: list[tuple[str, str]]) -> str | None:
    return "; ".join(f"{path}: {reason}" for path, reason in skipped[:3]) or None
