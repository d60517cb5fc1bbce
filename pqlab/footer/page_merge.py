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

    A buffer of statistics that several tables share is taken once.
    """
    if len(tables) == 1:
        return tables[0]
    pages = np.concatenate([np.empty(0, PAGE), *(table.pages for table in tables)])
    starts: dict[int, int] = {}  # of each buffer in the joined one, by its id
    buffers = [np.empty(0, np.uint8)]
    row = size = 0
    for table in tables:
        if id(table.statistics) not in starts:
            starts[id(table.statistics)] = size
            buffers.append(table.statistics)
            size += len(table.statistics)
        shift_bounds(pages[row : row + len(table)], starts[id(table.statistics)])
        row += len(table)
    keys = _keys(pages, _num_leaves(pages))
    if (np.diff(keys) < 0).any():
        pages = pages[np.argsort(keys, kind="stable")]
    statistics = buffers[1] if len(buffers) == 2 else np.concatenate(buffers)
    warnings = tuple(warning for table in tables for warning in table.warnings)
    return PageTable(frozen(pages), frozen(statistics), warnings)


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
