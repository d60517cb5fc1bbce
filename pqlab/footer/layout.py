"""Every byte of the file: what stands where, what overlaps, and what nothing points to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from pqlab.footer import frame_columns
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.page_table import PageTable
from pqlab.footer.series import nullable

_MAGIC_BYTES = 4
_LENGTH_BYTES = 4
_FILE_OFFSET_FIELD = 0x26  # ColumnChunk.file_offset as the struct's first field: 2, an i64
_VARINT_BYTES = 10
_NONE = -2  # an ordinal that does not apply; the dictionary page is -1

# What a span can be.
KINDS = (
    "magic",
    "dictionary page",
    "data page",
    "index page",
    "column chunk",
    "column metadata",
    "column index",
    "offset index",
    "bloom filter",
    "footer",
    "extension",
    "footer length",
    "gap",
)
_PAGE_KINDS = np.array(
    [KINDS.index(kind) for kind in ("data page", "index page", "dictionary page")]
)


class Span(NamedTuple):
    """A span that the footer does not tell, found by reading: a bloom filter without its length.

    `kind` is one of `KINDS`; `offset` and `size_bytes` are within the file.
    """

    kind: str
    offset: int
    size_bytes: int
    row_group: int | None = None
    leaf: int | None = None
    note: str | None = None


@dataclass(slots=True)
class _Spans:
    """Spans in columns, collected part by part; `note` is an index of `notes`."""

    num_leaves: int
    parts: list[dict[str, np.ndarray]] = field(default_factory=list)
    notes: list[str | None] = field(default_factory=lambda: [None])

    def add(
        self,
        kind: str | np.ndarray,
        offset: np.ndarray | int,
        size: np.ndarray | int,
        *,
        row_group: np.ndarray | int | None = None,
        leaf: np.ndarray | int | None = None,
        page: np.ndarray | int | None = None,
        note: str | None = None,
    ) -> None:
        if note not in self.notes:
            self.notes.append(note)
        columns = {
            "offset": offset,
            "size": size,
            "kind": KINDS.index(kind) if isinstance(kind, str) else kind,
            "row_group": _NONE if row_group is None else row_group,
            "leaf": _NONE if leaf is None else leaf,
            "page": _NONE if page is None else page,
            "note": self.notes.index(note),
        }
        shape = np.atleast_1d(offset).shape
        self.parts.append(
            {name: np.broadcast_to(np.asarray(v, np.int64), shape) for name, v in columns.items()}
        )

    def add_of_chunks(
        self, kind: str, rows: np.ndarray, offset: np.ndarray, size: np.ndarray
    ) -> None:
        """One span for each of these rows of the chunk table; `offset`, `size` are of all rows."""
        row_group, leaf = np.divmod(rows, max(self.num_leaves, 1))
        self.add(kind, offset[rows], size[rows], row_group=row_group, leaf=leaf)

    def joined(self) -> dict[str, np.ndarray]:
        return {name: np.concatenate([part[name] for part in self.parts]) for name in self.parts[0]}


def layout_frame(
    metadata: FileMetaData,
    file_size: int,
    page_tables: Sequence[PageTable] = (),
    found: Iterable[Span] = (),
) -> pl.DataFrame:
    """Every byte of a file of `file_size` bytes, by offset; what nothing points to is a gap.

    A chunk none of whose pages is in `page_tables` is one span. `found` adds what reading the file
    showed. In every file the sizes less the overlaps and less what lies outside add up to the size
    of the file: spans that a corrupt footer puts over each other, or beyond the end, are shown
    where it puts them.
    """
    spans = _Spans(metadata.num_leaves)
    spans.add("magic", 0, min(_MAGIC_BYTES, file_size))
    _add_chunks(spans, metadata, page_tables)
    _add_indexes(spans, metadata)
    for span in found:
        place = {"row_group": span.row_group, "leaf": span.leaf}
        spans.add(span.kind, span.offset, span.size_bytes, **place, note=span.note)
    _add_footer(spans, metadata)
    return _frame(metadata, file_size, spans)


def _chunk_spans(metadata: FileMetaData) -> tuple[np.ndarray, np.ndarray]:
    """Where every chunk's pages begin, and how many bytes they are (int64, a row per chunk).

    They begin with the dictionary page where the footer says that there is one: an offset of 0,
    or behind the data pages, says nothing; without data pages their own offset may be left at 0.
    A chunk in another file, or without its metadata, has size 0.
    """
    chunks = metadata.chunks
    data = chunks.data_page_offset.astype(np.int64)
    dictionary = chunks.dictionary_page_offset.astype(np.int64)
    is_first = (dictionary > 0) & ((dictionary < data) | (data < _MAGIC_BYTES))
    begins = np.where(is_first, dictionary, data)
    where = chunks.present & np.uint32(Present.META_DATA | Present.FILE_PATH)
    is_here = where == Present.META_DATA
    return begins, np.where(is_here, chunks.total_compressed_size.astype(np.int64), 0)


def _add_chunks(spans: _Spans, metadata: FileMetaData, page_tables: Sequence[PageTable]) -> None:
    begins, sizes = _chunk_spans(metadata)
    known = np.zeros(len(begins), np.bool_)
    for table in page_tables:
        pages = table.pages[table.pages["total_bytes"] >= 0]
        known[pages["row_group"].astype(np.int64) * metadata.num_leaves + pages["leaf"]] = True
        data_kind = KINDS.index("data page")
        kinds = np.full(len(pages), data_kind)
        kinds[pages["page"] == -1] = KINDS.index("dictionary page")
        kinds[pages["type"] == 1] = KINDS.index("index page")
        spans.add(
            kinds, pages["offset"], pages["total_bytes"],
            row_group=pages["row_group"], leaf=pages["leaf"], page=pages["page"],
        )  # fmt: skip
    spans.add_of_chunks("column chunk", np.flatnonzero(~known & (sizes > 0)), begins, sizes)


def _add_indexes(spans: _Spans, metadata: FileMetaData) -> None:
    chunks = metadata.chunks
    for kind, bit, offset, length in (
        ("column index", Present.COLUMN_INDEX, "column_index_offset", "column_index_length"),
        ("offset index", Present.OFFSET_INDEX, "offset_index_offset", "offset_index_length"),
        ("bloom filter", Present.BLOOM_FILTER_OFFSET, "bloom_filter_offset", "bloom_filter_length"),
    ):
        rows = np.flatnonzero(chunks.present & np.uint32(bit))
        spans.add_of_chunks(kind, rows, getattr(chunks, offset), getattr(chunks, length))


def _add_footer(spans: _Spans, metadata: FileMetaData) -> None:
    """The footer, the extensions in it as spans of their own, its length and the magic bytes."""
    begin, end = metadata.footer_offset, metadata.footer_offset + len(metadata.footer)
    for extension in metadata.extensions:
        start, stop = (metadata.footer_offset + at for at in (extension.start, extension.stop))
        spans.add("footer", begin, start - begin)
        place = {"row_group": extension.row_group, "leaf": extension.leaf}
        note = f"field 32767 of {extension.owner}"
        spans.add("extension", start, stop - start, **place, note=note)
        begin = stop
    spans.add("footer", begin, end - begin)
    spans.add("footer length", end, _LENGTH_BYTES)
    spans.add("magic", end + _LENGTH_BYTES, _MAGIC_BYTES)


def _metadata_copies(metadata: FileMetaData, gaps: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns of gaps, where those that hold a copy of a chunk's ColumnMetaData are named.

    Writers put it behind the chunk, and let the deprecated `ColumnChunk.file_offset` point there,
    or, where a dictionary page was forgotten in counting, beyond. Its size is not stated: what lies
    there is a copy if it is about as long as the struct in the footer.
    """
    if not len(gaps["offset"]):
        return {}
    begins, sizes = _chunk_spans(metadata)
    ends = begins + sizes
    rows = np.flatnonzero((sizes > 0) & (_file_offsets(metadata) >= ends))
    if not len(rows):
        return {}
    rows = rows[np.argsort(ends[rows], kind="stable")]
    at = np.searchsorted(ends[rows], gaps["offset"])
    row = rows[np.minimum(at, len(rows) - 1)]
    positions = np.append(metadata.chunks.position.astype(np.int64), len(metadata.footer))
    struct_bytes = positions[row + 1] - positions[row]
    is_copy = (ends[row] == gaps["offset"]) & (gaps["size"] <= 2 * struct_bytes)
    row_group, leaf = np.divmod(row, metadata.num_leaves)
    kind = KINDS.index("column metadata")
    return {
        "kind": np.where(is_copy, kind, gaps["kind"]),
        "row_group": np.where(is_copy, row_group, gaps["row_group"]),
        "leaf": np.where(is_copy, leaf, gaps["leaf"]),
    }


def _file_offsets(metadata: FileMetaData) -> np.ndarray:
    """`ColumnChunk.file_offset` of every chunk; 0 where another field stands before it."""
    footer, positions = metadata.footer, metadata.chunks.position.astype(np.int64)
    offsets, going = np.zeros(len(positions), np.uint64), footer[positions] == _FILE_OFFSET_FIELD
    for place in range(_VARINT_BYTES):
        byte = footer[np.minimum(positions + 1 + place, len(footer) - 1)].astype(np.uint64)
        offsets[going] |= (byte[going] & np.uint64(0x7F)) << np.uint64(7 * place)
        going = going & (byte >= 0x80)
    zigzag = (offsets >> np.uint64(1)).astype(np.int64)
    return np.where(offsets & np.uint64(1), np.int64(0), zigzag)


def _frame(metadata: FileMetaData, file_size: int, spans: _Spans) -> pl.DataFrame:
    """The spans by offset, with the gaps between them, what overlaps, and what is outside."""
    columns = spans.joined()
    order = np.argsort(columns["offset"], kind="stable")
    columns = {name: values[order] for name, values in columns.items()}
    begin = np.clip(columns["offset"], 0, file_size)
    in_file = np.minimum(columns["size"], file_size - begin)  # no sum of a hostile offset overflows
    end = np.maximum(begin, np.minimum(columns["offset"], file_size) + in_file)
    reached = np.maximum.accumulate(end)
    before = np.concatenate([[0], reached[:-1]])
    columns["overlap"] = np.maximum(np.minimum(before, end) - begin, 0)
    columns["outside"] = columns["size"] - (end - begin)
    gap_begin = np.append(before, reached[-1])
    gap_size = np.append(begin, file_size) - gap_begin
    is_gap = gap_size > 0
    gaps = {name: np.zeros(is_gap.sum(), np.int64) for name in columns}
    gaps |= {"offset": gap_begin[is_gap], "size": gap_size[is_gap]}
    gaps |= {"kind": gaps["kind"] + KINDS.index("gap")}
    gaps |= {name: gaps[name] + _NONE for name in ("row_group", "leaf", "page")}
    gaps |= _metadata_copies(metadata, gaps)
    columns = {name: np.concatenate([values, gaps[name]]) for name, values in columns.items()}
    leaf = nullable(columns["leaf"], columns["leaf"] >= 0)
    series = {
        "offset": pl.Series(columns["offset"]),
        "size_bytes": pl.Series(columns["size"]),
        "kind": pl.Series(KINDS).gather(columns["kind"]),
        "row_group": nullable(columns["row_group"], columns["row_group"] >= 0),
        "column": pl.Series([node.column for node in metadata.leaves], dtype=pl.String).gather(
            leaf
        ),
        "leaf": leaf,
        "page": nullable(columns["page"], columns["page"] != _NONE),
        "overlap_bytes": pl.Series(columns["overlap"]),
        "outside_bytes": pl.Series(columns["outside"]),
        "note": pl.Series(spans.notes, dtype=pl.String).gather(columns["note"]),
    }
    return frame_columns.build(frame_columns.LAYOUT, series).sort("offset", maintain_order=True)
