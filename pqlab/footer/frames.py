"""The inspector's frames, made of the columnar metadata: polars, vectorised, without I/O.

`frame_columns` says what every column means. Null is "not known" or "not stated"; it is never 0.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from pqlab.footer import frame_columns, names
from pqlab.footer.bounds import (
    Bounds,
    LeafBounds,
    bounds_columns,
)
from pqlab.footer.chunk_frames import (
    chunk_bounds,
    column_names,
    encoding_lists,
    has,
)
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.page_table import (
    CRC_HOLDS,
    CRC_IS_WRONG,
    HAS_CRC,
    IS_COMPRESSED,
    KNOWN_FROM_HEADER,
    KNOWN_FROM_INDEX,
    KNOWN_FROM_LEVELS,
    MAX_EXACT,
    MAX_INEXACT,
    MIN_EXACT,
    MIN_INEXACT,
    BoundsState,
    PageTable,
)
from pqlab.footer.schema import SchemaNode
from pqlab.footer.series import flag_pair, int64, known, nullable, ratio, tristate
from pqlab.footer.types import polars_type, type_key
from pqlab.footer.values import Spans, typed_values


def leaves_frame(metadata: FileMetaData) -> pl.DataFrame:
    """One row per leaf column: its types, levels, and sums over the row groups."""
    nodes = metadata.leaves
    chunks = metadata.chunks
    shape = (metadata.num_row_groups, len(nodes))
    compressed = _sums(chunks.total_compressed_size, shape)
    uncompressed = _sums(chunks.total_uncompressed_size, shape)
    states_nulls = has(chunks.present, Present.NULL_COUNT).reshape(shape)
    codecs = [np.unique(column) for column in chunks.codec.reshape(shape).T]
    encodings = np.bitwise_or.reduce(chunks.encodings.reshape(shape), axis=0, initial=0)
    series = {
        "leaf": pl.Series(np.arange(len(nodes), dtype=np.int32)),
        "column": column_names(metadata.leaves),
        "physical_type": pl.Series([node.physical_type for node in nodes], dtype=pl.String),
        "type_length": pl.Series([node.type_length for node in nodes], dtype=pl.Int32),
        "logical_type": pl.Series(
            [node.logical_type and str(node.logical_type) for node in nodes],
            dtype=pl.String,
        ),
        "converted_type": pl.Series([node.converted_type for node in nodes], dtype=pl.String),
        "polars_type": pl.Series([str(polars_type(node)) for node in nodes], dtype=pl.String),
        "repetition_type": pl.Series([node.repetition_type for node in nodes], dtype=pl.String),
        "max_definition_level": pl.Series([node.max_definition_level for node in nodes]),
        "max_repetition_level": pl.Series([node.max_repetition_level for node in nodes]),
        "field_id": pl.Series([node.field_id for node in nodes], dtype=pl.Int32),
        "column_order": pl.Series(list(metadata.column_orders), dtype=pl.String),
        "num_values": pl.Series(_sums(chunks.num_values, shape)),
        "null_count": nullable(
            _sums(chunks.null_count, shape), np.all(states_nulls, axis=0, keepdims=True)[0]
        ),
        "total_compressed_size": pl.Series(compressed),
        "total_uncompressed_size": pl.Series(uncompressed),
        "compression_ratio": ratio(uncompressed, compressed),
        "codecs": pl.Series(
            [[names.name(code, names.CODECS) for code in found.tolist()] for found in codecs],
            dtype=pl.List(pl.String),
        ),
        "encodings": encoding_lists(encodings),
    }
    return frame_columns.build(frame_columns.LEAVES, series)


def row_groups_frame(metadata: FileMetaData) -> pl.DataFrame:
    """One row per row group."""
    groups = metadata.row_groups
    shape = (metadata.num_row_groups, metadata.num_leaves)
    compressed = _sums(metadata.chunks.total_compressed_size, shape, axis=1)
    uncompressed = _sums(metadata.chunks.total_uncompressed_size, shape, axis=1)
    series = {
        "row_group": pl.Series(np.arange(shape[0], dtype=np.int32)),
        "num_rows": int64(groups.num_rows),
        "first_row": int64(groups.first_row),
        "total_byte_size": known(groups.total_byte_size),
        "total_compressed_size": known(groups.total_compressed_size),
        "chunks_compressed_size": pl.Series(compressed),
        "chunks_uncompressed_size": pl.Series(uncompressed),
        "compression_ratio": ratio(uncompressed, compressed),
        "file_offset": known(groups.file_offset),
        "ordinal": known(groups.ordinal),
        "num_sorting_columns": known(groups.num_sorting_columns),
    }
    return frame_columns.build(frame_columns.ROW_GROUPS, series)


def pages_frame(metadata: FileMetaData, page_table: PageTable) -> pl.DataFrame:
    """One row per page of the table, in its order."""
    pages = _transposed(page_table.pages)
    leaf, row_group, flags = pages["leaf"], pages["row_group"], pages["flags"]
    from_header = pages["known_from"] & KNOWN_FROM_HEADER != 0
    body = pages["header_bytes"]
    if from_header.any():
        is_sized = (pages["total_bytes"] >= 0) & (pages["header_bytes"] >= 0)
        body = np.where(is_sized, pages["total_bytes"] - pages["header_bytes"], -1)
    bounds = _page_bounds(pages, page_table.statistics)
    series = {
        **{name: known(pages[name]) for name in _PAGE_NUMBERS},
        **{
            name: names.names_of(pages[name].view(np.uint8), names.ENCODINGS, unknown=255)
            for name in ("encoding", "definition_level_encoding", "repetition_level_encoding")
        },
        "row_group": pl.Series(row_group),
        "column": column_names(metadata.leaves).gather(leaf),
        "leaf": pl.Series(leaf),
        "page": pl.Series(pages["page"]),
        "type": names.names_of(pages["type"], names.PAGE_TYPES, unknown=255),
        "codec": names.names_of(_page_codecs(metadata, row_group, leaf), names.CODECS),
        "compressed_page_size": known(body),
        "compression_ratio": ratio(pages["uncompressed_page_size"], body),
        **bounds_columns(bounds, leaf_bounds(metadata)),
        "is_min_value_exact": flag_pair(flags, MIN_EXACT, MIN_INEXACT),
        "is_max_value_exact": flag_pair(flags, MAX_EXACT, MAX_INEXACT),
        "is_compressed": nullable(flags & IS_COMPRESSED != 0, from_header),
        "crc": nullable(pages["crc"], flags & HAS_CRC != 0),
        "crc_state": _crc_states(flags, from_header),
        "known_from": names.names_of(pages["known_from"], _KNOWN_FROM),
    }
    return frame_columns.build(frame_columns.PAGES, series)


def statistics_frame(
    metadata: FileMetaData, leaf: int, page_table: PageTable | None = None
) -> pl.DataFrame:
    """One column's bounds as values of its polars type, a row per row group.

    With a page table also a row per data page of it, behind the row group's own. `min` and `max`
    are null where the bytes are not a value of the type; `bounds_state` says what they are worth.
    """
    node = metadata.leaves[leaf]
    of_leaf = LeafBounds.of([node], [metadata.column_orders[leaf]], metadata.created_by)
    rows = np.arange(metadata.num_row_groups, dtype=np.int64) * metadata.num_leaves + leaf
    chunks, statistics = metadata.chunks, metadata.statistics(rows)
    present = chunks.present[rows]
    unknown = pl.Series(dtype=pl.Int64).extend_constant(None, len(rows))
    series = {
        "row_group": pl.Series(np.arange(len(rows), dtype=np.int32)),
        "page": unknown,
        "num_values": int64(chunks.num_values[rows]),
        "null_count": nullable(chunks.null_count[rows], has(present, Present.NULL_COUNT)),
        "distinct_count": nullable(
            chunks.distinct_count[rows], has(present, Present.DISTINCT_COUNT)
        ),
        "nan_count": nullable(statistics.nan_count, has(present, Present.NAN_COUNT)),
        "is_min_value_exact": tristate(statistics.is_min_value_exact),
        "is_max_value_exact": tristate(statistics.is_max_value_exact),
    }
    bounds = chunk_bounds(
        metadata.footer_of(rows), statistics, np.zeros(len(rows), np.int32), of_leaf
    )
    frame = _statistics(node, bounds, of_leaf, series)
    if page_table is None:
        return frame
    of_pages = _page_statistics(node, of_leaf, page_table)
    return pl.concat([frame, of_pages]).sort("row_group", maintain_order=True)


def leaf_bounds(metadata: FileMetaData) -> LeafBounds:
    """What the bounds of every leaf are worth in this file, and how they read."""
    return LeafBounds.of(metadata.leaves, metadata.column_orders, metadata.created_by)


def page_bounds(page_table: PageTable) -> Bounds:
    """The bounds of the pages; those of pages of nulls only are not looked at."""
    return _page_bounds(_transposed(page_table.pages), page_table.statistics)


def _page_bounds(pages: dict[str, np.ndarray], statistics: np.ndarray) -> Bounds:
    is_empty = pages["bounds_state"] == BoundsState.EMPTY
    starts = [pages["min_start"], pages["max_start"]]
    if is_empty.any():
        starts = [np.where(is_empty, -1, start) for start in starts]
    return Bounds(
        pages["leaf"],
        pages["bounds_state"],
        Spans.of(statistics, starts[0], pages["min_length"]),
        Spans.of(statistics, starts[1], pages["max_length"]),
    )


_PAGE_NUMBERS = (
    "offset",
    "total_bytes",
    "header_bytes",
    "uncompressed_page_size",
    "num_values",
    "num_nulls",
    "num_rows",
    "first_row",
    "definition_levels_byte_length",
    "repetition_levels_byte_length",
)

_CRC_STATES = {0: "absent", 1: "ok", 2: "wrong"}


def _crc_states(flags: np.ndarray, from_header: np.ndarray) -> pl.Series:
    states = np.full(len(flags), 3, np.uint8)  # not compared
    states[from_header & (flags & HAS_CRC == 0)] = 0
    states[flags & CRC_HOLDS != 0] = 1
    states[flags & CRC_IS_WRONG != 0] = 2
    return names.names_of(states, _CRC_STATES, unknown=3)


_KNOWN_FROM_BITS = {
    KNOWN_FROM_INDEX: "index",
    KNOWN_FROM_HEADER: "header",
    KNOWN_FROM_LEVELS: "levels",
}
_KNOWN_FROM = {
    mask: "+".join(text for bit, text in _KNOWN_FROM_BITS.items() if mask & bit)
    for mask in range(2 ** len(_KNOWN_FROM_BITS))
}


def _page_statistics(node: SchemaNode, of_leaf: LeafBounds, page_table: PageTable) -> pl.DataFrame:
    pages = page_table.pages
    pages = pages[(pages["leaf"] == node.leaf) & (pages["page"] >= 0)].copy()
    pages["leaf"] = 0  # of `of_leaf`
    flags = np.ascontiguousarray(pages["flags"])
    unknown = pl.Series(dtype=pl.Int64).extend_constant(None, len(pages))
    series = {
        "row_group": pl.Series(pages["row_group"]),
        "page": pl.Series(pages["page"]),
        "num_values": known(pages["num_values"]),
        "null_count": known(pages["num_nulls"]),
        "distinct_count": unknown,
        "nan_count": unknown,
        "is_min_value_exact": flag_pair(flags, MIN_EXACT, MIN_INEXACT),
        "is_max_value_exact": flag_pair(flags, MAX_EXACT, MAX_INEXACT),
    }
    bounds = page_bounds(PageTable(pages, page_table.statistics))
    return _statistics(node, bounds, of_leaf, series)


def _statistics(
    node: SchemaNode, bounds: Bounds, of_leaf: LeafBounds, series: dict[str, pl.Series]
) -> pl.DataFrame:
    series["bounds_state"] = bounds_columns(bounds, of_leaf)["bounds_state"]
    key = type_key(node)
    typed = [typed_values(bounds.min, key).alias("min"), typed_values(bounds.max, key).alias("max")]
    before = frame_columns.build(frame_columns.STATISTICS_BEFORE, series)
    after = frame_columns.build(frame_columns.STATISTICS_AFTER, series)
    return pl.concat([before, pl.DataFrame(typed), after], how="horizontal")


def _page_codecs(metadata: FileMetaData, row_group: np.ndarray, leaf: np.ndarray) -> np.ndarray:
    codec = metadata.chunks.codec
    if codec.strides == (0,):  # all chunks have the same one
        return np.broadcast_to(codec[:1], len(leaf))
    of_pages: np.ndarray = codec[row_group.astype(np.int64) * metadata.num_leaves + leaf]
    return of_pages


def _transposed(pages: np.ndarray, rows_at_once: int = 4096) -> dict[str, np.ndarray]:
    """The fields of the records as arrays, copied while a part of the records is in the cache.

    They share one block of memory, since numpy asks for huge pages for large ones.
    """
    block = np.empty(pages.nbytes, np.uint8)
    fields, begin = {}, 0
    for name in sorted(pages.dtype.names or (), key=lambda name: -pages.dtype[name].itemsize):
        end = begin + len(pages) * pages.dtype[name].itemsize
        fields[name], begin = block[begin:end].view(pages.dtype[name]), end
    pairs = [(column, pages[name]) for name, column in fields.items()]
    for begin in range(0, len(pages), rows_at_once):
        for column, field in pairs:
            column[begin : begin + rows_at_once] = field[begin : begin + rows_at_once]
    return fields


def _sums(values: np.ndarray, shape: tuple[int, int], axis: int = 0) -> np.ndarray:
    sums: np.ndarray = values.reshape(shape).sum(axis=axis, dtype=np.int64)
    return sums
