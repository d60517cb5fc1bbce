"""The CPU engine: a plan and its bytes to decoded columns, in one native call per read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from pqlab.cpu.columns import InvalidUtf8, columns_of, values_of
from pqlab.errors import PqlabError
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.types import Int96Unit
from pqlab.footer.writers import left_is_compressed_false, prefixes_reach_back
from pqlab.limits import DEFAULT_LIMITS, Limits
from pqlab.native import _native
from pqlab.plan.plan import Plan
from pqlab.trace import EVENT

Recorder = Callable[[np.ndarray], None]


class FetchedBytes(Protocol):
    """The bytes of a plan's requests."""

    @property
    def buffers(self) -> Sequence[tuple[int, np.ndarray]]:
        """The file's bytes from a position on, uint8, in order; every run lies in one of them."""
        ...


def read(
    plan: Plan,
    metadata: FileMetaData,
    fetched: FetchedBytes,
    *,
    workers: int | None = None,
    verify_checksums: bool = False,
    invalid_utf8: InvalidUtf8 = "error",
    int96_unit: Int96Unit = "ns",
    for_polars: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    recorder: Recorder | None = None,
) -> _native.Decoded:
    """Decode the plan's pages into columns of `plan.num_rows` rows.

    `workers`: threads (default: the CPUs that this process may use). `verify_checksums`: pages
    whose CRC-32 differs from their header's are corrupt. `invalid_utf8="binary"` gives text columns
    as bytes, unchecked. `for_polars` refuses dates beyond its calendar. `recorder` takes the events
    of all pages, an array of dtype `EVENT`.

    Raises `CorruptError`, `UnsupportedError`, `EncryptedError` and `LimitError` with file, row
    group, column, page and offset; KeyboardInterrupt within a page.
    """
    try:
        decoded, events = _native.decode(
            columns_of(metadata, plan.leaves, int96_unit, invalid_utf8).native,
            plan.tables.arrays,
            fetched.buffers,
            workers=workers or len(os.sched_getaffinity(0)),
            verify_checksums=verify_checksums,
            trace=recorder is not None,
            is_compressed_is_wrong=left_is_compressed_false(metadata.created_by),
            prefixes_reach_back=prefixes_reach_back(metadata.created_by),
            for_polars=for_polars,
            page_bytes=limits.page_bytes,
            read_bytes=limits.read_bytes,
        )
    except PqlabError as error:
        raise _placed(error, metadata, plan.file) from None
    if recorder is not None:
        recorder(events.view(EVENT))
    return decoded


def read_dictionary(
    metadata: FileMetaData,
    row_group: int,
    leaf: int,
    data: np.ndarray,
    offset: int,
    *,
    file: str | None = None,
    invalid_utf8: InvalidUtf8 = "error",
    int96_unit: Int96Unit = "ns",
    limits: Limits = DEFAULT_LIMITS,
) -> _native.Decoded:
    """Decode a chunk's dictionary page, from `offset` on, into a column for polars.

    `data` is the page with its header. Raises as `read`; `CorruptError` where no dictionary page
    stands there.
    """
    try:
        return _native.decode_dictionary_page(
            values_of(metadata.leaves[leaf], int96_unit, invalid_utf8).native,
            row_group,
            int(metadata.chunks.codec[metadata.chunk_row(row_group, leaf)]),
            data,
            offset,
            page_bytes=limits.page_bytes,
            read_bytes=limits.read_bytes,
        )
    except PqlabError as error:
        raise _placed(error.at(row_group=row_group, page=-1), metadata, file, leaf) from None


def _placed(
    error: PqlabError, metadata: FileMetaData, file: str | None, leaf: int | None = None
) -> PqlabError:
    found = getattr(error, "leaf", None)
    leaf = found if found is not None else leaf
    column = metadata.leaves[leaf].column if leaf is not None else None
    return error.at(file=file, column=column)
