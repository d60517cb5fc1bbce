"""The page index in bulk: offset indexes and column indexes to the page table.

Pure: `index_ranges` says which bytes it needs, the io layer fetches them, `pages_from_index` makes
the page table of them, many chunks at once. Chunks without an index: `page_headers.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pqlab.errors import CorruptError, PqlabError, SourceError
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.page_table import PAGE, PageTable, frozen, joined
from pqlab.limits import DEFAULT_LIMITS, Limits
from pqlab.native import _native

Buffer = bytes | bytearray | memoryview | np.ndarray
Range = tuple[int, int]

# The layout of `struct IndexedChunk` in pqlab/native/cpu/page_index.hpp.
INDEXED_CHUNK = np.dtype(
    [
        ("start", "<i8"),
        ("stop", "<i8"),
        ("dictionary_offset", "<i8"),
        ("num_rows", "<i8"),
        ("offset_index_start", "<i8"),
        ("column_index_start", "<i8"),
        ("offset_index_length", "<i4"),
        ("column_index_length", "<i4"),
        ("row_group", "<i4"),
        ("leaf", "<i4"),
        ("flags", "<u4"),
        ("reserved", "<u4"),
    ]
)
assert INDEXED_CHUNK.itemsize == 72
MAGIC_BYTES = 4
MAX_WARNINGS = 20  # of one kind, told one by one
_IS_FLAT, _MAY_HAVE_DICTIONARY = 1, 2
_DICTIONARY_ENCODINGS = 1 << 2 | 1 << 8  # PLAIN_DICTIONARY, RLE_DICTIONARY


@dataclass(frozen=True, slots=True, eq=False)
class IndexRanges:
    """What to fetch for a page index.

    `ranges`: byte ranges [start, stop) of the file, sorted and disjoint. `chunks`: a row of dtype
    `INDEXED_CHUNK` per chunk with an offset index, positions in the file. `unindexed`: the other
    chunks' rows (row_group * num_leaves + leaf), whose page headers must be walked. Chunks whose
    pages cannot be seen (encrypted, in another file) are in `warnings` only.
    """

    ranges: tuple[Range, ...]
    chunks: np.ndarray
    unindexed: np.ndarray
    warnings: tuple[str, ...]

    @property
    def wanted_bytes(self) -> int:
        """Bytes of all ranges."""
        return sum(stop - start for start, stop in self.ranges)


def chunk_rows(
    metadata: FileMetaData, row_groups: Iterable[int] | None, leaves: Iterable[int] | None
) -> np.ndarray:
    """Rows of the chunk table for these row groups and leaves, ascending; None takes all."""
    num_row_groups = len(metadata.row_groups.num_rows)
    groups = np.arange(num_row_groups) if row_groups is None else np.unique(list(row_groups))
    columns = np.arange(metadata.num_leaves) if leaves is None else np.unique(list(leaves))
    rows = groups.astype(np.int64)[:, None] * metadata.num_leaves + columns.astype(np.int64)
    return rows.ravel()


def chunk_spans(metadata: FileMetaData, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the chunks of these rows start and stop in the file, the dictionary page included.

    A stop beyond the footer is cut to it. Raises `CorruptError` for a start outside of the file.
    """
    chunks, end = metadata.chunks, metadata.footer_offset
    start = chunks.data_page_offset[rows].astype(np.int64)
    dictionary = _dictionary_offsets(metadata, rows)
    start = np.where(dictionary >= 0, dictionary, start)
    empty = (start < MAGIC_BYTES) & (chunks.num_values[rows] == 0)  # its offsets are left at 0
    start = np.where(empty, MAGIC_BYTES, start)
    outside = (start < MAGIC_BYTES) | (start > end)
    if outside.any():
        at = int(np.argmax(outside))
        raise at_chunk(
            CorruptError(
                f"the chunk's first page at byte {start[at]}, the footer at {end}",
                field="ColumnMetaData.data_page_offset",
            ),
            metadata,
            int(rows[at]),
        )
    size = np.clip(chunks.total_compressed_size[rows].astype(np.int64), 0, end)
    size = np.where(empty, 0, size)
    return start, np.minimum(start + size, end)


def index_ranges(
    metadata: FileMetaData,
    row_groups: Iterable[int] | None = None,
    leaves: Iterable[int] | None = None,
    *,
    column_index: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> IndexRanges:
    """The byte ranges of the page index of these chunks. `column_index=False`: no bounds.

    An index that lies outside of the file is not used: the chunk is `unindexed`, or its pages have
    no bounds; `warnings` say so. Raises `LimitError` for an index above `index_bytes`.
    """
    visible, warnings = visible_rows(metadata, chunk_rows(metadata, row_groups, leaves))
    offset_index = _index_spans(metadata, visible, "offset_index", limits, warnings)
    rows = visible[offset_index[:, 1] > 0]
    chunks = np.zeros(len(rows), INDEXED_CHUNK)
    chunks["row_group"], chunks["leaf"] = np.divmod(rows, max(metadata.num_leaves, 1))
    chunks["start"], chunks["stop"] = chunk_spans(metadata, rows)
    chunks["dictionary_offset"] = _dictionary_offsets(metadata, rows)
    chunks["num_rows"] = metadata.row_groups.num_rows[chunks["row_group"]]
    chunks["flags"] = _flags(metadata, rows, chunks["leaf"])
    spans = offset_index[offset_index[:, 1] > 0]
    chunks["offset_index_start"], chunks["offset_index_length"] = spans.T
    if column_index:
        spans = _index_spans(metadata, rows, "column_index", limits, warnings)
        chunks["column_index_start"], chunks["column_index_length"] = spans.T
    unindexed = visible[offset_index[:, 1] == 0]
    return IndexRanges(_ranges(chunks), chunks, unindexed, tuple(warnings))


def pages_from_index(
    metadata: FileMetaData,
    index: IndexRanges,
    buffers: Sequence[Buffer],
    *,
    limits: Limits = DEFAULT_LIMITS,
    threads: int | None = None,
) -> tuple[PageTable, np.ndarray]:
    """The pages of `index.chunks`, from `buffers`: one for each of `index.ranges`, in order.

    One buffer is used in place, as the table's `statistics`; several are joined. Data pages have
    offset, size, first row, rows, nulls and bounds; a dictionary page has offset and size.

    Returns the table and the rows of the chunks whose page headers must be walked: those without
    an index, and those whose offset index contradicts itself, its chunk or its row group (as
    several writers' did; the table's `warnings` say how). A column index that does so leaves its
    pages without bounds. Raises `LimitError` for a chunk of more than `pages` pages.
    """
    parts = [np.frombuffer(buffer, np.uint8) for buffer in buffers]
    if [len(part) for part in parts] != [stop - start for start, stop in index.ranges]:
        raise SourceError("the page index's bytes are not those asked for")
    data = joined(parts, np.dtype(np.uint8))
    starts = np.array([start for start, _ in index.ranges], np.int64)
    shift = starts - np.cumsum([0, *(len(part) for part in parts)])[: len(parts)]
    chunks = index.chunks.copy()
    for name in ("offset_index_start", "column_index_start"):
        chunks[name] = _to_position(chunks[name], chunks[f"{name[:-6]}_length"], starts, shift)
    try:
        rows, refused = _native.page_index(
            data, chunks.view(np.uint8), limits.pages, threads or _available_threads()
        )
    except PqlabError as error:
        raise _named(error, metadata) from None
    table = PageTable(
        frozen(rows.view(PAGE)), data, (*index.warnings, *_refusals(metadata, chunks, refused))
    )
    unused = chunks[[chunk for chunk, is_offset_index, *_ in refused if is_offset_index]]
    unused_rows = unused["row_group"].astype(np.int64) * metadata.num_leaves + unused["leaf"]
    return table, np.union1d(index.unindexed, unused_rows)


def _refusals(
    metadata: FileMetaData, chunks: np.ndarray, refused: list[tuple[int, bool, int, str, str]]
) -> list[str]:
    """A line for each index that is not used, the first ones in full."""
    lines = [
        f"row group {chunks[chunk]['row_group']}, "
        f"column {metadata.leaves[chunks[chunk]['leaf']].column!r}"
        f"{f', page {page}' if page >= 0 else ''}: {field}: {message}; "
        f"the {'offset' if is_offset_index else 'column'} index is not used"
        for chunk, is_offset_index, page, field, message in refused[:MAX_WARNINGS]
    ]
    more = len(refused) - len(lines)
    return [*lines, f"{more} more indexes are not used"] if more else lines


def visible_rows(metadata: FileMetaData, rows: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """The rows whose pages can be seen in this file, and why the others cannot."""
    present = metadata.chunks.present[rows].astype(np.uint32)
    encrypted = (present & (Present.CRYPTO_METADATA | Present.ENCRYPTED_COLUMN_METADATA)) != 0
    elsewhere = (present & Present.FILE_PATH) != 0
    blank = (present & Present.META_DATA) == 0
    warnings = [
        f"{int(hidden.sum())} column chunks {why}: their pages are not shown"
        for hidden, why in (
            (encrypted, "are encrypted"),
            (elsewhere & ~encrypted, "lie in another file (file_path)"),
            (blank & ~encrypted & ~elsewhere, "have no metadata"),
        )
        if hidden.any()
    ]
    return rows[~(encrypted | elsewhere | blank)], warnings


def _dictionary_offsets(metadata: FileMetaData, rows: np.ndarray) -> np.ndarray:
    """Where the dictionary pages are; -1 where the footer does not say (0 is said by mistake)."""
    table = metadata.chunks
    offset = table.dictionary_page_offset[rows].astype(np.int64)
    data_page_offset = table.data_page_offset[rows].astype(np.int64)
    said = (table.present[rows].astype(np.uint32) & Present.DICTIONARY_PAGE_OFFSET) != 0
    before_data = (offset < data_page_offset) | (data_page_offset < MAGIC_BYTES)
    return np.where(said & (offset > 0) & before_data, offset, -1)


def dictionary_span(metadata: FileMetaData, row: int) -> Range:
    """Where the dictionary page of a row of the chunk table is, as the footer says.

    Empty where it does not say, or where that is not in the file before the first data page.
    """
    start = int(_dictionary_offsets(metadata, np.array([row]))[0])
    stop = int(metadata.chunks.data_page_offset[row])
    inside = MAGIC_BYTES <= start < stop <= metadata.footer_offset
    return (start, stop) if inside else (0, 0)


def _flags(metadata: FileMetaData, rows: np.ndarray, leaves: np.ndarray) -> np.ndarray:
    levels = np.array([leaf.max_repetition_level for leaf in metadata.leaves], np.int64)
    encodings = metadata.chunks.encodings[rows].astype(np.int64)
    return np.where(levels[leaves] == 0, _IS_FLAT, 0) | np.where(
        (encodings & _DICTIONARY_ENCODINGS) != 0, _MAY_HAVE_DICTIONARY, 0
    )


def _index_spans(
    metadata: FileMetaData, rows: np.ndarray, name: str, limits: Limits, warnings: list[str]
) -> np.ndarray:
    """(start, length) in the file of each chunk's index; length 0 where there is none to use."""
    table, end = metadata.chunks, metadata.footer_offset
    start = getattr(table, f"{name}_offset")[rows].astype(np.int64)
    length = getattr(table, f"{name}_length")[rows].astype(np.int64)
    present = (table.present[rows].astype(np.uint32) & Present[name.upper()]) != 0
    inside = (start >= 0) & (start <= end) & (length > 0) & (length <= end - start)
    wrong = np.flatnonzero(present & ~inside)
    words = name.replace("_", " ")
    if len(wrong):
        first = wrong[0]
        warnings.append(
            f"{len(wrong)} {words}es lie outside of the file and are not used, "
            f"the first: {length[first]} bytes at {start[first]}"
        )
    usable = present & inside
    longest = int(length[usable].max(initial=0))
    limits.check("index_bytes", longest, f"the longest {words}")
    return np.where(usable[:, None], np.stack([start, length], axis=1), 0)


def _ranges(chunks: np.ndarray) -> tuple[Range, ...]:
    """The index spans of all chunks, joined where they touch or overlap."""
    starts = np.concatenate([chunks["offset_index_start"], chunks["column_index_start"]])
    lengths = np.concatenate([chunks["offset_index_length"], chunks["column_index_length"]])
    starts, stops = starts[lengths > 0], (starts + lengths)[lengths > 0]
    if len(starts) == 0:
        return ()
    order = np.argsort(starts, kind="stable")
    starts, stops = starts[order], np.maximum.accumulate(stops[order])
    first = np.concatenate([[True], starts[1:] > stops[:-1]])
    last = np.concatenate([first[1:], [True]])
    return tuple(zip(starts[first].tolist(), stops[last].tolist(), strict=True))


def _to_position(
    offsets: np.ndarray, lengths: np.ndarray, starts: np.ndarray, shift: np.ndarray
) -> np.ndarray:
    """File offsets to positions in the joined buffers."""
    if len(starts) == 0:
        return np.zeros_like(offsets)
    at = np.maximum(np.searchsorted(starts, offsets, "right") - 1, 0)
    return np.where(lengths > 0, offsets - shift[at], 0)


def _available_threads() -> int:
    return min(len(os.sched_getaffinity(0)), 16)


def _named(error: PqlabError, metadata: FileMetaData) -> PqlabError:
    """Native errors know the leaf: give it its name."""
    leaf = getattr(error, "leaf", None)
    return error if leaf is None else error.at(column=metadata.leaves[leaf].column)


def at_chunk(error: PqlabError, metadata: FileMetaData, row: int) -> PqlabError:
    """The error with row group and column of a row of the chunk table filled in."""
    row_group, leaf = divmod(row, metadata.num_leaves)
    return error.at(row_group=row_group, column=metadata.leaves[leaf].column)
