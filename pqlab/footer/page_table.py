"""The page table: one row per page, the spine of pqlab.

The planner narrows it, the fetcher turns it into byte ranges, the engines walk it, the trace joins
back to it. A cell that is not known is -1 (`known_from` says what was learned where).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

# The layout of `struct Page` in pqlab/native/page.cuh. An encoding is the low byte of its number:
# as u1, 255 is unknown and 254 stands for all numbers from there on.
PAGE = np.dtype(
    [
        ("offset", "<i8"),
        ("first_row", "<i8"),
        ("min_start", "<i8"),
        ("max_start", "<i8"),
        ("min_length", "<i4"),
        ("max_length", "<i4"),
        ("row_group", "<i4"),
        ("leaf", "<i4"),
        ("page", "<i4"),
        ("total_bytes", "<i4"),
        ("header_bytes", "<i4"),
        ("uncompressed_page_size", "<i4"),
        ("num_values", "<i4"),
        ("num_nulls", "<i4"),
        ("num_rows", "<i4"),
        ("definition_levels_byte_length", "<i4"),
        ("repetition_levels_byte_length", "<i4"),
        ("crc", "<u4"),
        ("type", "u1"),
        ("encoding", "i1"),
        ("definition_level_encoding", "i1"),
        ("repetition_level_encoding", "i1"),
        ("known_from", "u1"),
        ("flags", "u1"),
        ("bounds_state", "u1"),
        ("reserved", "u1"),
    ]
)
assert PAGE.itemsize == 96

KNOWN_FROM_INDEX, KNOWN_FROM_HEADER, KNOWN_FROM_LEVELS = 1, 2, 4
HAS_CRC, IS_COMPRESSED, MIN_EXACT, MAX_EXACT, MIN_INEXACT, MAX_INEXACT = 1, 2, 4, 8, 16, 32
CRC_HOLDS, CRC_IS_WRONG = 64, 128  # neither: not compared


class BoundsState(IntEnum):
    """What a minimum and maximum are worth, as frames show it in `bounds_state`."""

    ABSENT = 0
    PRESENT = 1
    DEPRECATED = 2  # only the legacy `min`/`max`, whose order is unspecified
    EMPTY = 3  # a page of nulls only (ColumnIndex.null_pages): there is no bound to have
    UNTRUSTED = 4  # present, but known to be wrong or of no defined order


@dataclass(frozen=True, slots=True, eq=False)
class PageTable:
    """`pages`: array of dtype `PAGE`, in order (row_group, leaf, page), the dictionary page first.

    `statistics`: the bytes that `min_start` and `max_start` point into. `warnings`: what was wrong
    in optional parts and was passed over.
    """

    pages: np.ndarray
    statistics: np.ndarray  # of uint8
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.pages)


def frozen(array: np.ndarray) -> np.ndarray:
    """The array itself, read only from now on."""
    array.setflags(write=False)
    return array


def shift_bounds(pages: np.ndarray, start: int) -> np.ndarray:
    """Move the bounds' positions by `start`, in place; returns the rows."""
    if start == 0:
        return pages
    for side in ("min_start", "max_start"):
        pages[side] += np.where(pages[side] >= 0, start, 0)
    return pages


def joined(parts: Sequence[np.ndarray], dtype: np.dtype) -> np.ndarray:
    """The parts one behind the other; a single part is not copied."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype)
