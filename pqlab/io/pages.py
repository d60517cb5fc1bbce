"""What is known of a file's pages: fetched when first asked for, kept per column chunk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pqlab.errors import CorruptError, SelectionError, placed
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.page_headers import Walk, pages_from_headers, reaches
from pqlab.footer.page_index import IndexRanges, index_ranges, pages_from_index
from pqlab.footer.page_merge import concat, merge
from pqlab.footer.page_table import (
    CRC_HOLDS,
    CRC_IS_WRONG,
    HAS_CRC,
    KNOWN_FROM_LEVELS,
    PageTable,
)
from pqlab.footer.raw import page_header
from pqlab.io.fetch import read_recorded
from pqlab.io.page_bodies import span_of, with_checksums, with_rows
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

    def not_whole(self, keys: Iterable[ChunkKey]) -> list[ChunkKey]:
        """Those of the chunks of which not all pages are known."""
        with self._lock:
            known = [(key, self._known.get(key)) for key in keys]
        return [key for key, found in known if found is None or not found.is_whole]

    def table(
        self, keys: Sequence[ChunkKey], *, bounds: bool = True, headers: bool = False
    ) -> PageTable:
        """The pages of these chunks as one table, in order (row group, leaf, page).

        From the page index where the chunk has one, else from its page headers; with `headers`
        from both. `bounds=False` may leave minima and maxima out.
        """
        with self._lock, placed(file=self._source.name):
            self.load_indexes(keys, bounds=bounds)
            known = {key: self._known.get(key) for key in keys}
            self._walk(
                {
                    key: None
                    for key, of in known.items()
                    if of is None or not of.is_whole or (headers and not of.has_headers)
                }
            )
            return concat([self._known[key].table for key in keys])

    def verify_checksums(self, keys: Sequence[ChunkKey]) -> None:
        """Read the bodies of these chunks' pages and note which checksums hold."""
        with self._lock:
            self.table(keys, headers=True)
            for key in keys:
                pages = self._known[key].table.pages
                compared = pages["flags"] & (CRC_HOLDS | CRC_IS_WRONG)
                if ((pages["flags"] & HAS_CRC != 0) & (compared == 0)).any():
                    self._look_into(key, with_checksums)

    def learn_rows(self, keys: Iterable[ChunkKey]) -> None:
        """Learn from the repetition levels which rows begin in the pages of these chunks."""
        with self._lock:
            for key in keys:
                pages = self.table([key], bounds=False, headers=True).pages
                if not (pages["known_from"] & KNOWN_FROM_LEVELS).any():
                    self._look_into(key, partial(with_rows, self._metadata, limits=self._limits))

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
            return self._read(span, Reason.DICTIONARY, key), offset

    def note(self, warnings: Iterable[str]) -> None:
        """What was wrong in an optional part of the file and was passed over."""
        with self._lock:
            self._warnings.update(dict.fromkeys(warnings))

    def indexed(self, keys: Iterable[ChunkKey]) -> PageTable:
        """The pages with their bounds, as one table, of those of the chunks that have an index.

        The index is read. One that cannot be used counts as none, and is among the warnings.
        """
        with self._lock:
            keys = list(keys)
            self.load_indexes(keys)
            found = (self._known.get(key) for key in keys)
            return concat([known.table for known in found if known is not None and known.is_whole])

    def load_indexes(self, keys: Iterable[ChunkKey], *, bounds: bool = True) -> None:
        """Read the page index of those chunks that have one and whose pages are not yet known.

        `bounds=False` leaves the column index, with its minima and maxima, out.
        """
        with self._lock, placed(file=self._source.name):
            missing = [key for key in keys if self._lacks_index(key, bounds=bounds)]
            if missing:
                self._load_indexes(missing, bounds=bounds)

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
        size = min(self._source.policy.header_bytes, most)
        while True:
            try:
                header = self._read((offset, offset + size), Reason.PAGE_HEADERS, key)
                return page_header(header.data, offset=offset)[0]
            except CorruptError:
                if size == most:
                    raise
                size = min(8 * size, most)

    def walk_until(self, rows: Mapping[ChunkKey, int]) -> None:
        """Walk chunks' page headers until the pages before a row of the row group are known."""
        with self._lock, placed(file=self._source.name):
            known = {key: self._known.get(key) for key in rows}
            self._walk(
                {
                    key: rows[key]
                    for key, of in known.items()
                    if of is None or not (of.is_whole or reaches(of.table.pages, rows[key]))
                }
            )

    def _lacks_index(self, key: ChunkKey, *, bounds: bool) -> bool:
        known = self._known.get(key)
        if known is not None and (known.has_bounds or not bounds):
            return False
        row = key[0] * self._metadata.num_leaves + key[1]
        has_index = int(self._metadata.chunks.present[row]) & Present.OFFSET_INDEX
        return bool(has_index) and row not in self._unindexed

    def _load_indexes(self, keys: list[ChunkKey], *, bounds: bool) -> None:
        """Fetch the indexes of all the chunks at once."""
        wanted = [
            index_ranges(
                self._metadata, row_groups, leaves, column_index=bounds, limits=self._limits
            )
            for leaves, row_groups in _rectangles(keys)
        ]
        ranges = [ends for index in wanted for ends in index.ranges]
        buffers = iter(self._fetch(ranges, Reason.PAGE_INDEX))
        for index in wanted:
            self._learn(index, list(islice(buffers, len(index.ranges))), bounds=bounds)

    def _learn(self, wanted: IndexRanges, buffers: list[Bytes], *, bounds: bool) -> None:
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

    def _walk(self, rows: Mapping[ChunkKey, int | None]) -> None:
        """Walk chunks, each until its row if there is one, as many at once as memory allows."""
        policy = self._source.policy
        at_once = max(1, policy.window_bytes // policy.walk_bytes)
        keys = list(rows)
        for first in range(0, len(keys), at_once):
            walks = {
                key: pages_from_headers(
                    self._metadata,
                    *key,
                    limits=self._limits,
                    window_bytes=policy.walk_bytes,
                    largest_window_bytes=policy.largest_walk_bytes,
                    until_row=rows[key],
                )
                for key in keys[first : first + at_once]
            }
            for key, headers in self._driven(walks):
                self._warnings.update(dict.fromkeys(headers.warnings))
                known, table = self._known.get(key), headers
                if known is not None and not known.has_headers:
                    table = merge(known.table, headers)
                self._known[key] = _Known(
                    table, has_bounds=True, has_headers=True, is_whole=rows[key] is None
                )

    def _driven(self, walks: Mapping[ChunkKey, Walk]) -> Iterator[tuple[ChunkKey, PageTable]]:
        """Run walks to their ends: what each wants next is fetched for all of them together."""
        buffers: dict[ChunkKey, Bytes | None] = dict.fromkeys(walks)
        while buffers:
            wanted: dict[ChunkKey, Range] = {}
            for key, buffer in buffers.items():
                try:
                    # Nothing can be sent to a walk that has not begun.
                    wanted[key] = next(walks[key]) if buffer is None else walks[key].send(buffer)
                except StopIteration as finished:
                    yield key, finished.value
            ranges = list(wanted.values())
            came = self._fetch(ranges, Reason.PAGE_HEADERS, list(wanted))
            buffers = dict(zip(wanted, came, strict=True))

    def _look_into(self, key: ChunkKey, look: Callable[[Pages, Bytes, int], Pages]) -> None:
        """Replace the chunk's pages by what `look` makes of them and of the chunk's bytes."""
        known = self._known[key]
        pages = known.table.pages
        if not len(pages):
            return
        column = self._metadata.leaves[key[1]].column
        with placed(file=self._source.name, row_group=key[0], column=column):
            span = span_of(pages)
            data = np.frombuffer(self._read(span, Reason.PAGES, key), np.uint8)
            table = replace(known.table, pages=look(pages, data, span[0]))
        self._known[key] = known._replace(table=table)

    def _read(self, span: Range, reason: Reason, key: ChunkKey) -> Bytes:
        return self._fetch([span], reason, [key])[0]

    def _fetch(
        self, ranges: Sequence[Range], reason: Reason, keys: Sequence[ChunkKey] | None = None
    ) -> list[Bytes]:
        recording = active(self._source.name)
        if recording is not None:
            recording.name_columns(lambda: [leaf.column for leaf in self._metadata.leaves])
        return read_recorded(self._source, ranges, reason, keys)


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
    header_bytes = min(policy.header_bytes, chunk_bytes // num_pages)
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
    in_parts: bool = False,
) -> ChunkPages:
    """The pages of chunks of which only some rows are wanted, as far as it pays to know them.

    Page indexes are read; with `walk`, where there are none, page headers as far as that costs less
    than it saves. `in_parts`: the other rows are read later, so that all headers are.
    """
    partial = partial_chunks(metadata, narrowed)
    if not partial:
        return {}
    store.load_indexes(partial, bounds=False)
    if in_parts:
        store.table(partial, bounds=False)
    elif walk:
        store.walk_until(
            {
                key: narrowed.rows[key[0]][-1][1]
                for key in store.not_whole(partial)
                if walk_pays(metadata, key, narrowed.rows[key[0]], policy)
            }
        )
    return store.known(partial)
