"""Pages of chunks without a page index: a walk over their page headers.

Pure and resumable: the walk is a generator that yields the byte range that it needs next and is
sent the bytes; the io layer fetches, for one chunk or for many at once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from pqlab.errors import PqlabError, SourceError
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.page_index import Buffer, Range, at_chunk, chunk_spans, visible_rows
from pqlab.footer.page_table import PAGE, PageTable, frozen, shift_bounds
from pqlab.limits import DEFAULT_LIMITS, Limits
from pqlab.native import _native

Walk = Generator[Range, Buffer, PageTable]

# Old writers leave the dictionary page's header out of a chunk's size: pages may end that much
# later, where that completes the chunk's values (PARQUET-816).
SIZE_SLACK_BYTES = 100

HEADER_WINDOW_BYTES = 16 << 10  # first fetch of a walk; grows where pages are small
MAX_WINDOW_BYTES = 1 << 20
_DONE, _WINDOW, _HEADER_CUT = range(3)


def pages_from_headers(
    metadata: FileMetaData,
    row_group: int,
    leaf: int,
    *,
    limits: Limits = DEFAULT_LIMITS,
    window_bytes: int = HEADER_WINDOW_BYTES,
    until_row: int | None = None,
) -> Walk:
    """Walk the page headers of one chunk: a generator that yields the range [start, stop) it needs.

    It is sent the bytes from `start` on, at least to `stop`, and returns the chunk's `PageTable`:

        walk = pages_from_headers(metadata, 0, 3)
        wanted = next(walk)
        wanted = walk.send(fetch(wanted))  # until StopIteration, whose value is the table

    Bodies of pages are skipped where they reach beyond the bytes given. `until_row`: the walk may
    end, with the pages so far, once they hold the row group's rows before that one, or once the
    rows of pages prove to be unknown. Raises `CorruptError` with
    offset, page and field; `LimitError` for a header above `page_header_bytes`, or too many pages.
    """
    row = row_group * metadata.num_leaves + leaf
    visible, reasons = visible_rows(metadata, np.array([row]))
    if len(visible) == 0:
        return PageTable(frozen(np.empty(0, PAGE)), np.empty(0, np.uint8), tuple(reasons))
    start, stop = (int(bound[0]) for bound in chunk_spans(metadata, visible))
    hard_stop = min(stop + SIZE_SLACK_BYTES, metadata.footer_offset)
    num_values = int(metadata.chunks.num_values[row])
    flat = metadata.leaves[leaf].max_repetition_level == 0
    walk = _native.PageWalk(start, stop, hard_stop, num_values, row_group, leaf, flat)
    try:
        table = yield from _walk(walk, limits, window_bytes, until_row)
    except PqlabError as error:
        raise at_chunk(error, metadata, row) from None
    place = f"row group {row_group}, column {metadata.leaves[leaf].column!r}"
    remarks = tuple(f"{place}: {warning}" for warning in table.warnings)
    return PageTable(table.pages, table.statistics, remarks)


def _walk(walk: Any, limits: Limits, window_bytes: int, until_row: int | None) -> Walk:
    rows: list[np.ndarray] = [np.empty(0, PAGE)]
    statistics: list[np.ndarray] = [np.empty(0, np.uint8)]
    kept_bytes = unknown_pages = passed_over_fields = 0
    early_end = ""
    usual_bytes = next_bytes = window_bytes
    end = _DONE if walk.position >= walk.stop else _WINDOW
    while end != _DONE:
        start = walk.position
        window = (start, min(start + next_bytes, walk.hard_stop))
        buffer = _received((yield window), window)
        end, found, bounds, unknown, passed_over, early_end = walk.walk(buffer, start)
        rows.append(shift_bounds(found.view(PAGE), kept_bytes))
        statistics.append(bounds)
        kept_bytes += len(bounds)
        unknown_pages += unknown
        passed_over_fields += passed_over
        limits.check("pages", walk.num_pages, "the column chunk")
        if end == _HEADER_CUT and walk.position == start:
            next_bytes = 4 * len(buffer)
            if len(buffer) >= limits.page_header_bytes:
                limits.check("page_header_bytes", next_bytes, "a page header", offset=start)
        else:  # small pages: the more of them a window holds, the larger the next one
            if len(rows[-1]) > 1:
                usual_bytes = max(window_bytes, min(2 * usual_bytes, MAX_WINDOW_BYTES))
            next_bytes = usual_bytes
        if until_row is not None and reaches(rows[-1], until_row):
            break
    difference = walk.num_values - walk.values_left
    remarks = (
        (early_end, f"{early_end} (at byte {walk.position})"),
        (unknown_pages, f"{unknown_pages} pages of an unknown type were passed over"),
        (passed_over_fields, f"{passed_over_fields} page header fields of a wrong type, not used"),
        (
            end == _DONE and walk.num_values > 0 and walk.values_left != 0,
            f"the pages hold {difference} values, ColumnMetaData.num_values is {walk.num_values}",
        ),
    )
    return PageTable(
        frozen(np.concatenate(rows)),
        frozen(np.concatenate(statistics)),
        tuple(text for applies, text in remarks if applies),
    )


def reaches(pages: np.ndarray, row: int) -> bool:
    """Whether pages hold the row group's rows before `row`, or the rows of pages are unknown."""
    if not len(pages) or pages["page"][-1] < 0:
        return False
    first_row, num_rows = int(pages["first_row"][-1]), int(pages["num_rows"][-1])
    return first_row < 0 or num_rows < 0 or first_row + num_rows >= row


def _received(buffer: Buffer, window: Range) -> np.ndarray:
    received = np.frombuffer(buffer, np.uint8)
    wanted_bytes = window[1] - window[0]
    if len(received) < wanted_bytes:
        raise SourceError(
            f"{wanted_bytes} bytes were asked for, {len(received)} came", offset=window[0]
        )
    return received


def drive(walk: Walk, read: Callable[[int, int], Buffer]) -> PageTable:
    """Run a walk to its end, `read(start, stop)` giving the bytes it asks for."""
    try:
        start, stop = next(walk)
        while True:
            start, stop = walk.send(read(start, stop))
    except StopIteration as finished:
        table: PageTable = finished.value
        return table
