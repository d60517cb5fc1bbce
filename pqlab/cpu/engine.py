"""The CPU engine: a plan and its bytes to decoded columns, in one native call per read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypedDict, Unpack

import numpy as np

from pqlab.cpu.columns import InvalidUtf8, Strings, columns_of, values_of
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


class LocalBytes(NamedTuple):
    """A file that native code reads the plan's requests of; recorded, from that id on."""

    file: _native.File
    first_request_id: int = 0


class Team(NamedTuple):
    """Threads that several reads share: no more than so many work on them at a time."""

    native: _native.Team

    @classmethod
    def of(cls, workers: int | None = None) -> Team:
        """A team of so many; None: of the CPUs that this process may use."""
        return cls(_native.Team(workers or len(os.sched_getaffinity(0))))

    @property
    def workers(self) -> int:
        """How many."""
        return self.native.workers


class Options(TypedDict, total=False):
    """The keyword arguments of `begin`."""

    verify_checksums: bool
    invalid_utf8: InvalidUtf8
    int96_unit: Int96Unit
    strings: Strings
    for_polars: bool
    limits: Limits
    recorder: Recorder | None


class Reading:
    """A read under way: native threads work on it. Dropped, it is cancelled."""

    def __init__(
        self, job: _native.Job, plan: Plan, metadata: FileMetaData, recorder: Recorder | None
    ) -> None:
        self._job, self._plan, self._metadata = job, plan, metadata
        self._recorder = recorder

    @property
    def job(self) -> _native.Job:
        """The job: whether it is done, how far it is; to wait for it, or to cancel it."""
        return self._job

    def result(self) -> _native.Decoded:
        """Wait, and take the columns, once. Raises as `read`."""
        try:
            decoded, events = self._job.result()
        except PqlabError as error:
            if self._recorder is not None:
                self._recorder(self._job.events().view(EVENT))
            raise located(error, self._metadata, self._plan.file) from None
        if self._recorder is not None:
            self._recorder(events.view(EVENT))
        return decoded


def read(
    plan: Plan,
    metadata: FileMetaData,
    source: FetchedBytes | LocalBytes,
    *,
    workers: int | None = None,
    **options: Unpack[Options],
) -> _native.Decoded:
    """Decode the plan's pages into columns of `plan.num_rows` rows.

    `workers`: threads (default: the CPUs that this process may use). `options` as of `begin`.

    Raises `CorruptError`, `UnsupportedError`, `EncryptedError` and `LimitError` with file, row
    group, column, page and offset; `SourceError` for bytes that do not come; KeyboardInterrupt
    within a page.
    """
    return begin(plan, metadata, source, Team.of(workers), here=True, **options).result()


def begin(
    plan: Plan,
    metadata: FileMetaData,
    source: FetchedBytes | LocalBytes,
    team: Team,
    *,
    here: bool = False,
    verify_checksums: bool = False,
    invalid_utf8: InvalidUtf8 = "error",
    int96_unit: Int96Unit = "ns",
    strings: Strings = "string",
    for_polars: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    recorder: Recorder | None = None,
) -> Reading:
    """Begin to decode the plan's pages, as `read` does; reads begun earlier are served first.

    `here`: what is small is done at once, by the calling thread. `verify_checksums`: pages whose
    CRC-32 differs from their header's are corrupt. `invalid_utf8="binary"` gives text columns as
    bytes, unchecked. `strings`: other than "string" gives dictionaries, ordered for "enum".
    `for_polars` refuses dates beyond its calendar. `recorder` takes the events of
    all pages, and of the requests of `LocalBytes`, an array of dtype `EVENT`.
    """
    local = source if isinstance(source, LocalBytes) else None
    try:
        job = _native.decode(
            columns_of(metadata, plan.leaves, int96_unit, invalid_utf8, strings).native,
            plan.tables.arrays,
            () if isinstance(source, LocalBytes) else source.buffers,
            np.array(plan.requests if local else (), np.int64).reshape(-1, 2),
            local.file if local else None,
            team.native,
            first_request_id=local.first_request_id if local else 0,
            here=here,
            verify_checksums=verify_checksums,
            trace=recorder is not None,
            is_compressed_is_wrong=left_is_compressed_false(metadata.created_by),
            prefixes_reach_back=prefixes_reach_back(metadata.created_by),
            for_polars=for_polars,
            page_bytes=limits.page_bytes,
            read_bytes=limits.read_bytes,
        )
    except PqlabError as error:
        raise located(error, metadata, plan.file) from None
    return Reading(job, plan, metadata, recorder)


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
        raise located(error.at(row_group=row_group, page=-1), metadata, file, leaf) from None


def located(
    error: PqlabError, metadata: FileMetaData, file: str | None, leaf: int | None = None
) -> PqlabError:
    """The error of native code with the file, and with the column that its leaf is."""
    found = getattr(error, "leaf", None)
    leaf = found if found is not None else leaf
    column = metadata.leaves[leaf].column if leaf is not None else None
    return error.at(file=file, column=column)
