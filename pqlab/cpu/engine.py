"""The CPU engine: a plan and its bytes to decoded columns, in one native call per read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypedDict, Unpack

import numpy as np

from pqlab.cpu.columns import InvalidUtf8, Strings, columns_of, values_of
from pqlab.errors import PqlabError
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.types import Int96Unit
from pqlab.footer.writers import left_is_compressed_false, prefixes_reach_back
from pqlab.limits import DEFAULT_LIMITS, Limits
from pqlab.native import _native
from pqlab.plan.coalesce import coalescing
from pqlab.plan.plan import Plan
from pqlab.plan.policy import IOPolicy
from pqlab.trace import EVENT, SERVED, Events, ServedRanges

Recorder = Callable[[Events, ServedRanges], None]


class FetchedBytes(Protocol):
    """The bytes of a plan's requests."""

    @property
    def buffers(self) -> Sequence[tuple[int, np.ndarray]]:
        """The file's bytes from a position on, uint8, in order; every run lies in one of them."""
        ...


class LocalBytes(NamedTuple):
    """A file that native code reads by itself, by the requests that the policy makes of a plan."""

    file: _native.File
    policy: IOPolicy


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
    """The keyword arguments of `planned`."""

    verify_checksums: bool
    invalid_utf8: InvalidUtf8
    int96_unit: Int96Unit
    strings: Strings
    for_polars: bool
    limits: Limits
    recorder: Recorder | None


class Reading:
    """A read under way: native threads work on it. Dropped, it is cancelled."""

    def __init__(self, job: _native.Job, planned: PlannedRead) -> None:
        self._job, self._planned = job, planned

    @property
    def job(self) -> _native.Job:
        """The job: whether it is done, how far it is; to wait for it, or to cancel it."""
        return self._job

    def result(self) -> _native.Decoded:
        """Wait, and take the columns, once. Raises as `read`."""
        try:
            decoded = self._job.result()
        except PqlabError as error:
            self._record()
            raise located(error, self._planned.metadata, self._planned.file) from None
        self._record()
        return decoded

    def _record(self) -> None:
        if self._planned.recorder is not None:
            events, served = self._job.recorded()
            self._planned.recorder(events.view(EVENT), served.view(SERVED))


@dataclass(frozen=True, slots=True, eq=False)
class PlannedRead:
    """A plan, and how it is read: its row groups are begun part by part. Made by `planned`."""

    native: _native.PlannedRead
    buffers: Sequence[tuple[int, np.ndarray]]
    metadata: FileMetaData
    file: str
    recorder: Recorder | None

    def begin(self, start: int, stop: int, *, here: bool = False) -> Reading:
        """Begin to read the row groups at positions [start, stop) of the plan.

        Reads begun earlier are served first. `here`: what is small is done at once, by the calling
        thread.
        """
        try:
            return Reading(self.native.begin(start, stop, self.buffers, here), self)
        except PqlabError as error:
            raise located(error, self.metadata, self.file) from None


def read(
    plan: Plan,
    metadata: FileMetaData,
    source: FetchedBytes | LocalBytes,
    *,
    workers: int | None = None,
    **options: Unpack[Options],
) -> _native.Decoded:
    """Decode the plan's pages into columns of `plan.num_rows` rows.

    `workers`: threads (default: the CPUs that this process may use). `options` as of `planned`.

    Raises `CorruptError`, `UnsupportedError`, `EncryptedError` and `LimitError` with file, row
    group, column, page and offset; `SourceError` for bytes that do not come; KeyboardInterrupt
    within a page.
    """
    read = planned(plan, metadata, source, Team.of(workers), **options)
    return read.begin(0, len(plan.tables.row_groups), here=True).result()


def planned(
    plan: Plan,
    metadata: FileMetaData,
    source: FetchedBytes | LocalBytes,
    team: Team,
    *,
    verify_checksums: bool = False,
    invalid_utf8: InvalidUtf8 = "error",
    int96_unit: Int96Unit = "ns",
    strings: Strings = "string",
    for_polars: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    recorder: Recorder | None = None,
) -> PlannedRead:
    """The plan's pages, to be decoded as `read` does.

    `verify_checksums`: pages whose CRC-32 differs from their header's are corrupt.
    `invalid_utf8="binary"` gives text columns as bytes, unchecked. `strings`: other than "string"
    gives dictionaries, ordered for "enum". `for_polars` refuses dates beyond its calendar.
    `recorder` takes, read by read, the events of all pages, and of the requests of `LocalBytes`,
    an array of dtype `EVENT`; and what those were for, one of dtype `SERVED`. Raises as `read`.
    """
    local = source if isinstance(source, LocalBytes) else None
    try:
        native = _native.PlannedRead(
            columns_of(metadata, plan.leaves, int96_unit, invalid_utf8, strings).native,
            plan.tables.arrays,
            local.file if local else None,
            team.native,
            coalescing(local.policy) if local else None,
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
    buffers = () if isinstance(source, LocalBytes) else source.buffers
    return PlannedRead(native, buffers, metadata, plan.file, recorder)


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
