"""What the kernels are told of a read's pages: where each lies, and where its values go.

The dtypes are the structs of work.cuh. A read has a few large buffers, and all places are offsets
into them; so a table is uploaded as it is, whatever the addresses are.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

PAGE_WORK = np.dtype(
    [
        ("body", "<u8"),
        ("body_bytes", "<u8"),
        ("repetition", "<u8"),
        ("definition", "<u8"),
        ("bitmap", "<u8"),
        ("ranks", "<u8"),
        ("nested", "<u8"),
        ("records", "<u8"),
        ("entries", "<u8"),
        ("repetition_bytes", "<u4"),
        ("definition_bytes", "<u4"),
        ("num_values", "<u4"),
        ("num_entries", "<u4"),
        ("max_repetition_level", "<u4"),
        ("max_definition_level", "<u4"),
        ("repetition_form", "<u4"),
        ("definition_form", "<u4"),
        ("width", "<u4"),
        ("boolean_source", "<u4"),
        ("view_buffer", "<u4"),
        ("value_before", "<u4"),
    ]
)
PAGE_STATE = np.dtype([("values", "<u8"), ("values_bytes", "<u8"), ("num_valid", "<u8")])
TILE = np.dtype(
    [("out", "<u8"), ("page", "<u4"), ("first", "<u4"), ("count", "<u4"), ("reserved", "<u4")]
)
BLOCK = np.dtype([("from", "<u8"), ("from_bytes", "<u8"), ("to", "<u8"), ("to_bytes", "<u8")])
JOINED_SIZES = np.dtype([("bytes", "<u8"), ("first_prefix", "<u4"), ("last_length", "<u4")])
NESTED_ENDS = np.dtype([("rows", "<u4"), ("first_repetition", "<u2"), ("last_definition", "<u2")])
NESTED_COUNTS = np.dtype([("rows", "<u4"), ("values", "<u4")])
VIEW_SOURCE = np.dtype([("start", "<u8"), ("joined", "<u4"), ("reserved", "<u4")])
KEPT = np.dtype([("page", "<u8"), ("start", "<u8"), ("stop", "<u8")])
assert (PAGE_WORK.itemsize, PAGE_STATE.itemsize) == (120, 24)
assert (TILE.itemsize, BLOCK.itemsize) == (24, 32)

TILE_ROWS = 1024
RANK_ROWS = 256
NOWHERE = (1 << 64) - 1
NOTHING_WRONG = (1 << 64) - 1
SLACK_BYTES = 16  # readable before and after every page: values are loaded by words
STAGES = ("block", "repetition level", "definition level", "order", "value")  # in which pages fail

Rows = npt.NDArray[np.void]
Ints = npt.NDArray[np.int64]


class LevelForm(IntEnum):
    """How a page tells its definition levels."""

    NONE = 0
    RLE_IN_BODY = 1
    PACKED_IN_BODY = 2
    RLE_APART = 3


def offsets(sizes: npt.ArrayLike, alignment: int) -> tuple[Ints, int]:
    """Where parts of these sizes begin, one after the other, each aligned; and their end."""
    rounded = -(-np.asarray(sizes, np.int64) // alignment) * alignment
    ends = np.cumsum(rounded)
    return ends - rounded, int(ends[-1]) if len(ends) else 0


def tiles_of(first: Ints, count: Ints, out: Ints, page: Ints) -> Rows:
    """Tiles of pieces: rows [first, first + count) of `page`, to rows from `out` on."""
    count = np.asarray(count, np.int64)
    num_tiles = -(-count // TILE_ROWS)
    piece = np.repeat(np.arange(len(count)), num_tiles)
    before = np.arange(len(piece)) - np.repeat(np.cumsum(num_tiles) - num_tiles, num_tiles)
    tiles = np.zeros(len(piece), TILE)
    tiles["first"] = first[piece] + before * TILE_ROWS
    tiles["out"] = out[piece] + before * TILE_ROWS
    tiles["count"] = np.minimum(TILE_ROWS, count[piece] - before * TILE_ROWS)
    tiles["page"] = page[piece]
    return tiles


def looks_at(page: Ints, count: Ints) -> Rows:
    """Tiles by which all values of pages are looked at, none of which goes to the output."""
    nothing = np.zeros(len(page), np.int64)
    tiles = tiles_of(nothing, count, nothing, page)
    tiles["out"] = NOWHERE
    return tiles


class Pieces(NamedTuple):
    """Rows of pages that are wanted, and where they go; in the order of the pages."""

    first: Ints  # within the page
    num_rows: Ints
    out: Ints
    page: Ints


def pieces_of(
    table: Rows, chunk: Ints, first_range: Ints, num_ranges: Ints, ranges: Rows
) -> Pieces:
    """Of the pages of flat columns. `first_range`, `num_ranges`: of the chunks, in `ranges`.

    `ranges`: (start, stop) of row groups; they become the output's rows one after the other.
    """
    start, stop = ranges["start"].astype(np.int64), ranges["stop"].astype(np.int64)
    out = np.cumsum(stop - start) - (stop - start)
    first_row = table["first_row"].astype(np.int64)
    last_row = first_row + table["num_values"]
    low, high = np.zeros(len(table), np.int64), np.zeros(len(table), np.int64)
    for at in np.unique(first_range[chunk]).tolist():
        which = np.flatnonzero(first_range[chunk] == at)
        end = at + int(num_ranges[chunk[which[0]]])
        low[which] = at + np.searchsorted(stop[at:end], first_row[which], side="right")
        high[which] = at + np.searchsorted(start[at:end], last_row[which], side="left")
    counts = np.maximum(high - low, 0)
    page = np.repeat(np.arange(len(table)), counts)
    of_range = np.arange(len(page)) - np.repeat(np.cumsum(counts) - counts - low, counts)
    begin = np.maximum(first_row[page], start[of_range])
    end_row = np.minimum(last_row[page], stop[of_range])
    kept = end_row > begin
    page, of_range, begin, end_row = page[kept], of_range[kept], begin[kept], end_row[kept]
    return Pieces(
        begin - first_row[page], end_row - begin, out[of_range] + begin - start[of_range], page
    )
