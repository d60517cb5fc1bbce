"""Folders and globs of object stores, and of fsspec's filesystems."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pqlab.errors import SourceError
from pqlab.io import failures, urls
from pqlab.io.crew import aside

_MAGIC = re.compile(r"[*?[]")


class Entry(NamedTuple):
    """A file: what opens it, its name, and what the listing says of it."""

    source: str
    name: str
    known: Any


def is_many(text: str) -> bool:
    """Whether a URL, or a path of a filesystem, is a folder (it ends in `/`) or a glob."""
    if urls.scheme_of(text) in urls.WEB:  # a ? begins a query, and nothing can be listed
        return False
    return text.endswith("/") or bool(_MAGIC.search(text))


def fixed_part(text: str) -> str:
    """The folders before the first wildcard, with a `/` behind them."""
    found = _MAGIC.search(text)
    return text[: text.rindex("/", 0, found.start()) + 1 if found else len(text)]


def entries(text: str, storage_options: Mapping[str, Any] | None, filesystem: Any) -> list[Entry]:
    """The files of a folder, all levels, or of a glob, by name. Raises `SourceError`.

    In a glob `*` and `?` stay within a level, `**` stands for any number of levels.
    """
    if filesystem is None and urls.scheme_of(text) in urls.STORES:
        found = _in_store(text, storage_options)
    else:
        found = _in_filesystem(text, storage_options, filesystem)
    pattern = _pattern(text) if _MAGIC.search(text) else None
    return sorted(
        (entry for entry in found if pattern is None or pattern.fullmatch(entry.source)),
        key=lambda entry: entry.source,
    )


def _in_store(text: str, storage_options: Mapping[str, Any] | None) -> Iterator[Entry]:
    import obstore

    from pqlab.io.objects import Known
    from pqlab.io.stores import store_of

    url = urls.parse(text)
    store, path = store_of(url, text, storage_options)
    prefix = fixed_part("/" + path)[1:]
    failure = None
    objects: list[Any] = []
    try:
        objects = aside(
            lambda: [item for batch in obstore.list(store, prefix=prefix or None) for item in batch]
        )
    except Exception as error:  # noqa: BLE001  # obstore raises builtins, too
        failure = failures.classify(error)
    if failure is not None:
        raise SourceError(
            f"cannot list the folder: {failure.message}", hint=failure.hint, file=url.shown
        )
    for item in objects:
        source = f"{url.root}/{item['path']}"
        yield Entry(source, urls.shown(source), Known.of(item))


def _in_filesystem(
    text: str, storage_options: Mapping[str, Any] | None, filesystem: Any
) -> Iterator[Entry]:
    from pqlab.io.filesystem import as_fsspec, filesystem_of

    if filesystem is None:
        found, path = filesystem_of(fixed_part(text), storage_options)
    else:
        found, path = as_fsspec(filesystem), fixed_part(text)
    failure = None
    names: list[str] = []
    try:
        names = found.find(path)
    except Exception as error:  # noqa: BLE001  # whatever the filesystem's code raises
        failure = f"cannot list the folder: {failures.reason(error)}"
    if failure is not None:
        raise SourceError(failure, file=urls.shown(text))
    for name in names:
        # Filesystems leave out scheme and slashes as they like.
        source = fixed_part(text) + name.lstrip("/").removeprefix(str(path).strip("/")).lstrip("/")
        yield Entry(source, urls.shown(source), None)


def _pattern(glob: str) -> re.Pattern[str]:
    parts = []
    for part in re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]+\])", glob):
        if part == "**/":
            parts.append("(?:.*/)?")
        elif part == "**":
            parts.append(".*")
        elif part in ("*", "?"):
            parts.append("[^/]" + part.replace("?", ""))
        elif part.startswith("[") and part.endswith("]") and len(part) > 2:
            inside = part[1:-1].replace("\\", r"\\").replace("^", r"\^")
            parts.append(f"[{'^' + inside[1:] if inside[0] == '!' else inside}]")
        else:
            parts.append(re.escape(part))
    return re.compile("".join(parts), re.DOTALL)
