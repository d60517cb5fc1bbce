"""Looks at damaged files in every way: run as a program, so that a crash is seen as one.

`python hostile_files.py FILE...`: prints what is wrong, a line each, then the peak of memory.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from sanitizers import SANITIZED

import pqlab

MAX_SECONDS = 5
MAX_BYTES = 1 << 30
SMALL = pqlab.Limits(
    schema_elements=1000, column_chunks=1000, pages=1000, page_bytes=1 << 22, read_bytes=1 << 24
)


def ways(file: pqlab.ParquetFile) -> Iterator[Callable[[], object]]:
    """Every way to look at the file, and to read its columns one by one."""
    yield lambda: (file.info, file.schema, file.leaves, file.row_groups, file.column_chunks)
    yield lambda: (file.key_value_metadata, file.pandas_metadata())
    yield file.arrow_schema
    yield file._repr_html_
    yield file.layout
    yield lambda: str(file.pages(headers=True))
    yield lambda: file.layout(pages=True)
    for leaf in range(file.info.num_columns):
        yield lambda leaf=leaf: str(file.statistics(leaf, pages=True))  # type: ignore[misc]
        yield lambda leaf=leaf: file.select(leaf).plan()  # type: ignore[misc]
        yield lambda leaf=leaf: str(file.read(leaf))  # type: ignore[misc]
        for row_group in range(file.info.num_row_groups):
            yield lambda g=row_group, leaf=leaf: str(file.dictionary(g, leaf))  # type: ignore[misc]


def look_at(data: bytes) -> None:
    """All of it, at bytes; raises what is no error of pqlab's own."""
    with suppress(pqlab.PqlabError), pqlab.open(data, cache=None, limits=SMALL) as file:
        for way in ways(file):
            with suppress(pqlab.PqlabError):
                way()


def try_(path: str, way: Callable[[], object]) -> None:
    try:
        way()
    except pqlab.PqlabError as error:
        if error.file != path:
            print(f"{path}: no file in {error!r}")  # noqa: T201
    except BaseException as error:  # noqa: BLE001 - panics of polars are no Exception
        print(f"{path}: {type(error).__name__}: {error}")  # noqa: T201


def main(paths: list[str]) -> None:
    for path in paths:
        begin = time.process_time()  # what hangs without work, the caller ends
        opened: list[pqlab.ParquetFile] = []
        try_(path, lambda path=path, opened=opened: opened.append(pqlab.open(path)))  # type: ignore[misc]
        for file in opened:
            for way in ways(file):
                try_(path, way)
        if time.process_time() - begin > MAX_SECONDS:
            print(f"{path}: more than {MAX_SECONDS} s")  # noqa: T201
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if peak > MAX_BYTES and not SANITIZED:  # AddressSanitizer keeps what was freed
        print(f"{peak:,} bytes at the peak")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
