"""Page tables joined: chunks side by side, and what index and page headers know of one page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pqlab.errors import CorruptError
from pqlab.footer.page_table import (
    HAS_CRC,
    IS_COMPRESSED,
    KNOWN_FROM_HEADER,
    KNOWN_FROM_INDEX,
    PAGE,
    BoundsState,
    PageTable,
    frozen,
    shift_bounds,
)

_ROW = np.dtype((np.void, PAGE.itemsize))  # joins faster than a structured type

# What only a page header says, or says better.
_FROM_HEADER = (
    "total_bytes", "header_bytes", "uncompressed_page_size", "num_values", "crc", "type",
    "definition_levels_byte_length", "repetition_levels_byte_length",
    "encoding", "definition_level_encoding", "repetition_level_encoding",
)  # fmt: skip
_FROM_EITHER = ("num_nulls", "num_rows", "first_row")  # the index's, where it has them
_BOUNDS = ("min_start", "max_start", "min_length", "max_length", "bounds_state")


def concat(tables: Sequence[PageTable]) -> PageTable:
    """One table of several that share no page, in order (row_group, leaf, page).

    A buffer of statistics that several tables share is taken once, and tables that are neighbouring
    rows of one array are not copied.
    """
    tables = [table for table in tables if len(table) or table.warnings]
    if len(tables) == 1:
        return tables[0]
    warnings = tuple(warning for table in tables for warning in table.warnings)
    parts = [table for table in tables if len(table)]
    lengths = np.array([len(part) for part in parts], np.int64)
    together = _neighbours(parts)
    if together is not None and _in_order(together, lengths):
        return PageTable(together, parts[0].statistics, warnings)
    pages = np.concatenate([np.empty(0, _ROW), *(part.pages.view(_ROW) for part in parts)])
    pages = pages.view(PAGE)
    starts: dict[int, int] = {}  # of each buffer in the joined one, by its id
    buffers = [np.empty(0, np.uint8)]
    row = size = 0
    for part in parts:
        if id(part.statistics) not in starts:
            starts[id(part.statistics)] = size
            buffers.append(part.statistics)
            size += len(part.statistics)
        shift_bounds(pages[row : row + len(part)], starts[id(part.statistics)])
        row += len(part)
    if not _in_order(pages, lengths):
        pages = pages[np.argsort(_keys(pages, _num_leaves(pages)), kind="stable")]
    statistics = buffers[1] if len(buffers) == 2 else np.concatenate(buffers)
    return PageTable(frozen(pages), frozen(statistics), warnings)


def _neighbours(tables: Sequence[PageTable]) -> np.ndarray | None:
    """The rows of all tables, where they follow each other in one array and share statistics."""
    if not tables:
        return None
    first = tables[0]
    root, address = first.pages.base, _address(first.pages)
    if not isinstance(root, np.ndarray) or root.ndim != 1 or not root.flags.c_contiguous:
        return None
    expected = address
    for table in tables:
        same = table.pages.base is root and table.statistics is first.statistics
        if not same or _address(table.pages) != expected:
            return None
        expected += table.pages.nbytes
    start = address - _address(root)
    whole = root.view(np.uint8)[start : start + expected - address]
    return frozen(whole.view(PAGE))


def _address(array: np.ndarray) -> int:
    return array.ctypes.data  # its __array_interface__ would describe every field of the row


def _in_order(pages: np.ndarray, lengths: np.ndarray) -> bool:
    """Whether each of the tables, whose rows are in order, follows the one before."""
    stops = np.cumsum(lengths)
    ends = pages[np.stack([stops - lengths, stops - 1], axis=1).ravel()]
    return bool((np.diff(_keys(ends, _num_leaves(ends))) >= 0).all())


def merge(table: PageTable, headers: PageTable) -> PageTable:
    """Add what page headers know to the rows of `table` that they belong to (any part of them).

    Rows, nulls and bounds of the index stay; where it has none the header's are taken. Pages that
    `table` lacks (a dictionary page, a chunk without an index) become rows of their own. Raises
    `CorruptError` where a page does not stand where the offset index says, or is not in it.
    """
    num_leaves = _num_leaves(table.pages, headers.pages)
    keys, found_keys = _keys(table.pages, num_leaves), _keys(headers.pages, num_leaves)
    at = np.minimum(np.searchsorted(keys, found_keys), max(len(keys) - 1, 0))
    known = keys[at] == found_keys if len(keys) else np.zeros(len(found_keys), bool)
    indexed = np.isin(found_keys >> 32, keys >> 32)
    _refuse(headers.pages, ~known & indexed & (headers.pages["page"] >= 0), "it lacks the page")
    mine, found = table.pages[at[known]], headers.pages[known]
    from_index = (mine["known_from"] & KNOWN_FROM_INDEX) != 0
    _refuse(found, from_index & (mine["offset"] != found["offset"]), "its offset differs")
    statistics, warnings = table.statistics, [*table.warnings, *headers.warnings]
    if (found["bounds_state"] != BoundsState.ABSENT).any():
        found = shift_bounds(found, len(statistics))
        statistics = frozen(np.concatenate([statistics, headers.statistics]))
    differ = from_index & (found["num_rows"] >= 0) & (mine["num_rows"] != found["num_rows"])
    if differ.any():
        warnings.append(f"{int(differ.sum())} page headers have other num_rows than the page index")
    pages = table.pages.copy()
    pages[at[known]] = _merged(mine, found)
    merged = PageTable(frozen(pages), statistics, tuple(warnings))
    if known.all():
        return merged
    return concat([merged, PageTable(headers.pages[~known], headers.statistics)])


def _merged(mine: np.ndarray, found: np.ndarray) -> np.ndarray:
    for name in _FROM_HEADER:
        mine[name] = found[name]
    for name in _FROM_EITHER:
        mine[name] = np.where(mine[name] >= 0, mine[name], found[name])
    takes_bounds = mine["bounds_state"] == BoundsState.ABSENT
    for name in _BOUNDS:
        mine[name] = np.where(takes_bounds, found[name], mine[name])
    # The other flags say how exact the bounds are, and go with them.
    of_page = HAS_CRC | IS_COMPRESSED
    mine["flags"] = np.where(takes_bounds, found["flags"], found["flags"] & of_page)
    mine["known_from"] |= KNOWN_FROM_HEADER
    return mine


def _refuse(pages: np.ndarray, wrong: np.ndarray, message: str) -> None:
    if not wrong.any():
        return
    page = pages[int(np.argmax(wrong))]
    raise CorruptError(
        f"the offset index contradicts the page header: {message}",
        row_group=int(page["row_group"]),
        page=int(page["page"]),
        offset=int(page["offset"]),
        field="PageLocation.offset",
    )


def _keys(pages: np.ndarray, num_leaves: int) -> np.ndarray:
    """Numbers in the order (row_group, leaf, page)."""
    chunk = pages["row_group"].astype(np.int64) * num_leaves + pages["leaf"]
    return np.asarray((chunk << 32) + (pages["page"].astype(np.int64) + 1))


def _num_leaves(*tables: np.ndarray) -> int:
    return max((int(pages["leaf"].max(initial=0)) for pages in tables), default=0) + 1
