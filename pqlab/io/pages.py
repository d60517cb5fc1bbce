"""What is known of a file's pages: fetched when first asked for, kept per column chunk."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pqlab.errors import CorruptError, SelectionError, placed
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.page_headers import HEADER_WINDOW_BYTES, drive, pages_from_headers, reaches
from pqlab.footer.page_index import index_ranges, pages_from_index
from pqlab.footer.page_merge import concat, merge
from pqlab.footer.page_table import PageTable
from pqlab.footer.raw import page_header
from pqlab.io.fetch import read_recorded
from pqlab.io.source import Bytes, Source
from pqlab.limits import Limits
from pqlab.plan.build import ChunkPages, Pages, about_pages, partial_chunks
from pqlab.plan.policy import IOPolicy
from pqlab.plan.ranges import Range, Ranges, length
from pqlab.plan.selection import Narrowed
from pqlab.trace import Reason, active

ChunkKey: TypeAlias = tuple[int, int]  # (row group, leaf)


class _Known(NamedTuple):
    table: PageTable  # of one chunk
    has_bounds: bool  # the column index, or the headers' statistics, were read
    has_headers: bool
    is_whole: bool  # a walk that was stopped early knows the first pages only


class PageStore:
    """The page tables of one file. Safe to use from several threads at once.

    Raises `CorruptError`, `LimitError` and `SourceError`, with the file's name.
    """

    def __init__(self, source: Source, metadata: FileMetaData, limits: Limits) -> None:
        self._source, self._metadata, self._limits = source, metadata, limits
        self._known: dict[ChunkKey, _Known] = {}
        self._unindexed: set[int] = set()  # rows of the chunk table whose index proved useless
        self._lock = threading.RLock()
        self._warnings: dict[str, None] = {}  # each once, in order

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was wrong in page indexes and page headers and was passed over."""
        with self._lock:
            return tuple(self._warnings)

    def known(self, keys: Iterable[ChunkKey]) -> dict[ChunkKey, Pages]:
        """The pages of those of the chunks of which some are known."""
        with self._lock:
            known = {key: self._known.get(key) for key in keys}
            return {key: found.table.pages for key, found in known.items() if found is not None}

    def table(
        self, keys: Sequence[ChunkKey], *, bounds: bool = True, headers: bool = False
    ) -> PageTable:
        """The pages of these chunks as one table, in order (row group, leaf, page).

        From the page index where the chunk has one, else from its page headers; with `headers`
        from both. `bounds=False` may leave minima and maxima out.
        """
        with self._lock, placed(file=self._source.name):
            self.load_indexes(keys, bounds=bounds)
            for key in keys:
                known = self._known.get(key)
                if known is None or not known.is_whole or (headers and not known.has_headers):
                    self._walk(key)
            return concat([self._known[key].table for key in keys])

    def whole_tables(self) -> list[PageTable]:
        """The tables of the chunks all of whose pages are known."""
        with self._lock:
            return [known.table for known in self._known.values() if known.is_whole]

    def dictionary(self, key: ChunkKey) -> tuple[Bytes, int]:
        """The bytes of a chunk's dictionary page, header included, and their offset.

        Raises `SelectionError` for a chunk without one.
        """
        column = self._metadata.leaves[key[1]].column
        with placed(file=self._source.name, row_group=key[0], column=column):
            pages = self.table([key], bounds=False).pages
            found = pages[pages["page"] == -1]
            if not len(found):
                raise SelectionError("the chunk has no dictionary page")
            offset = int(found["offset"][0])
            span = offset, offset + int(found["total_bytes"][0])
            return self._read(span, Reason.DICTIONARY, *key), offset

    def load_indexes(self, keys: Iterable[ChunkKey], *, bounds: bool = True) -> None:
        """Read the page index of those chunks that have one and whose pages are not yet known.

        `bounds=False` leaves the column index, with its minima and maxima, out.
        """
        with self._lock, placed(file=self._source.name):
            missing = [key for key in keys if self._lacks_index(key, bounds=bounds)]
            for leaves, row_groups in _rectangles(missing):
                self._load_rectangle(row_groups, leaves, bounds=bounds)

    def header(self, key: ChunkKey, page: int) -> Any:
        """The raw thrift struct `PageHeader` of a page; -1 is the dictionary page.

        Raises `SelectionError` for a page that the chunk does not have.
        """
        column = self._metadata.leaves[key[1]].column
        with placed(file=self._source.name, row_group=key[0], column=column, page=page):
            pages = self.table([key]).pages
            found = pages[pages["page"] == page]
            if not len(found):
                count = int((pages["page"] >= 0).sum())
                raise SelectionError(f"there is no page {page}: the chunk has {count:,} data pages")
            return self._header_at(int(found["offset"][0]), key)

    def _header_at(self, offset: int, key: ChunkKey) -> Any:
        # How long a header is stands in no index: read on until it is complete.
        most = min(self._metadata.footer_offset - offset, self._limits.page_header_bytes)
        size = min(HEADER_WINDOW_BYTES, most)
        while True:
            try:
                header = self._read((offset, offset + size), Reason.PAGE_HEADERS, *key)
                return page_header(header.data, offset=offset)[0]
            except CorruptError:
                if size == most:
                    raise
                size = min(8 * size, most)

    def walk_until(self, key: ChunkKey, row: int) -> None:
        """Walk the chunk's page headers until the pages before `row` of its row group are known."""
        with self._lock, placed(file=self._source.name):
            known = self._known.get(key)
            if known is None or not (known.is_whole or reaches(known.table.pages, row)):
                self._walk(key, row)

    def _lacks_index(self, key: ChunkKey, *, bounds: bool) -> bool:
        known = self._known.get(key)
        if known is not None and (known.has_bounds or not bounds):
            return False
        row = key[0] * self._metadata.num_leaves + key[1]
        has_index = int(self._metadata.chunks.present[row]) & Present.OFFSET_INDEX
        return bool(has_index) and row not in self._unindexed

    def _load_rectangle(self, row_groups: list[int], leaves: list[int], *, bounds: bool) -> None:
        wanted = index_ranges(
            self._metadata, row_groups, leaves, column_index=bounds, limits=self._limits
        )
        buffers = self._fetch(wanted.ranges, Reason.PAGE_INDEX)
        table, unindexed = pages_from_index(self._metadata, wanted, buffers, limits=self._limits)
        self._unindexed.update(unindexed.tolist())
        self._warnings.update(dict.fromkeys(table.warnings))
        pages = table.pages
        # Rows are in order (row group, leaf): a chunk's pages follow each other.
        changes = (np.diff(pages["row_group"]) != 0) | (np.diff(pages["leaf"]) != 0)
        cuts = [0, *(np.flatnonzero(changes) + 1).tolist(), len(pages)] if len(pages) else []
        for start, stop in pairwise(cuts):
            chunk = PageTable(pages[start:stop], table.statistics)
            key = int(pages["row_group"][start]), int(pages["leaf"][start])
            old = self._known.get(key)
            if old is not None and old.has_headers:
                continue
            self._known[key] = _Known(chunk, bounds, has_headers=False, is_whole=True)

    def _walk(self, key: ChunkKey, until_row: int | None = None) -> None:
        walk = pages_from_headers(self._metadata, *key, limits=self._limits, until_row=until_row)
        headers = drive(
            walk, lambda start, stop: self._read((start, stop), Reason.PAGE_HEADERS, *key)
        )
        self._warnings.update(dict.fromkeys(headers.warnings))
        known = self._known.get(key)
        if known is not None and not known.has_headers:
            headers = merge(known.table, headers)
        self._known[key] = _Known(
            headers, has_bounds=True, has_headers=True, is_whole=until_row is None
        )

    def _read(self, span: Range, reason: Reason, row_group: int, leaf: int) -> Bytes:
        return self._fetch([span], reason, row_group=row_group, leaf=leaf)[0]

    def _fetch(self, ranges: Sequence[Range], reason: Reason, **place: int) -> list[Bytes]:
        recording = active(self._source.name)
        if recording is not None:
            recording.name_columns(lambda: [leaf.column for leaf in self._metadata.leaves])
        buffers = read_recorded(self._source, ranges, reason, **place)
        self._source.check_unchanged()
        return buffers


def _rectangles(keys: list[ChunkKey]) -> list[tuple[list[int], list[int]]]:
    """The keys as (leaves, row groups): row groups of which the same leaves are wanted together."""
    leaves_of: dict[int, list[int]] = {}
    for row_group, leaf in keys:
        leaves_of.setdefault(row_group, []).append(leaf)
    groups_of: dict[tuple[int, ...], list[int]] = {}
    for row_group, leaves in leaves_of.items():
        groups_of.setdefault(tuple(leaves), []).append(row_group)
    return [(list(leaves), row_groups) for leaves, row_groups in groups_of.items()]


def walk_pays(metadata: FileMetaData, key: ChunkKey, rows: Ranges, policy: IOPolicy) -> bool:
    """Whether walking a chunk's page headers up to the last of `rows` costs less than it saves.

    The costs are bytes, where one more request counts as `gap_bytes`. The pages of a chunk are
    taken to be equally long.
    """
    row = key[0] * metadata.num_leaves + key[1]
    num_rows = int(metadata.row_groups.num_rows[key[0]])
    chunk_bytes = int(metadata.chunks.total_compressed_size[row])
    num_pages = about_pages(metadata, *key)
    walked_pages = 1 + num_pages * rows[-1][1] // num_rows
    header_bytes = min(HEADER_WINDOW_BYTES, chunk_bytes // num_pages)
    read_pages = min(num_pages, len(rows) + num_pages * length(rows) // num_rows)
    saved_bytes = chunk_bytes * (num_pages - read_pages) // num_pages
    return walked_pages * (header_bytes + policy.gap_bytes) < saved_bytes


def learn_pages(
    store: PageStore,
    metadata: FileMetaData,
    narrowed: Narrowed,
    policy: IOPolicy,
    *,
    walk: bool = True,
) -> ChunkPages:
    """The pages of chunks of which only some rows are wanted, as far as it pays to know them.

    Page indexes are read; with `walk`, where there are none, page headers as far as that costs less
    than it saves.
    """
    partial = partial_chunks(metadata, narrowed)
    if not partial:
        return {}
    store.load_indexes(partial, bounds=False)
    if walk:
        for key in partial:
            if walk_pays(metadata, key, narrowed.rows[key[0]], policy):
                store.walk_until(key, narrowed.rows[key[0]][-1][1])
    return store.known(partial)
