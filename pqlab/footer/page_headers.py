"""Pages of chunks without a page index: a walk over their page headers.

Pure and resumable: the walk is a generator that yields the byte range that it needs next and is
sent the bytes; the io layer fetches, for one chunk or for many at once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np

from pqlab.errors import PqlabError, SourceError
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.page_index import Buffer, Range, chunk_spans, visible_rows
from pqlab.footer.page_table import PAGE, PageTable, frozen, joined, shift_bounds
from pqlab.limits import DEFAULT_LIMITS, Limits
from pqlab.native import _native

Walk = Generator[Range, Buffer, PageTable]
Windows = tuple[int | None, int | None]

# Old writers leave the dictionary page's header out of a chunk's size: pages may end that much
# later, where that completes the chunk's values (PARQUET-816).
SIZE_SLACK_BYTES = 100

_DONE, _WINDOW, _HEADER_CUT = range(3)


def pages_from_headers(
    metadata: FileMetaData,
    row_group: int,
    leaf: int,
    *,
    limits: Limits = DEFAULT_LIMITS,
    window_bytes: int | None = None,
    largest_window_bytes: int | None = None,
    until_row: int | None = None,
) -> Walk:
    """Walk the page headers of one chunk: a generator that yields the range [start, stop) it needs.

    It is sent the bytes from `start` on, at least to `stop`, and returns the chunk's `PageTable`:

        walk = pages_from_headers(metadata, 0, 3)
        wanted = next(walk)
        wanted = walk.send(fetch(wanted))  # until StopIteration, whose value is the table

    Bodies of pages are skipped where they reach beyond the bytes given. `window_bytes` are asked
    for first, None: all there are; then as many, or twice as many as before where pages are small,
    up to `largest_window_bytes`. `until_row`: the walk may
    end, with the pages so far, once they hold the row group's rows before that one, or once the
    rows of pages prove to be unknown. Raises `CorruptError` with offset, page and field;
    `LimitError` for a header above `page_header_bytes`, or too many pages.
    """
    row = metadata.chunk_row(row_group, leaf)
    visible, reasons = visible_rows(metadata, np.array([row]))
    if len(visible) == 0:
        return PageTable(frozen(np.empty(0, PAGE)), np.empty(0, np.uint8), tuple(reasons))
    windows = window_bytes, largest_window_bytes
    found = walks(metadata, visible, limits=limits, windows=windows, until_row=until_row)
    return (yield from next(found))


def walks(
    metadata: FileMetaData,
    rows: np.ndarray,
    *,
    limits: Limits = DEFAULT_LIMITS,
    windows: Windows = (None, None),
    until_row: int | None = None,
) -> Iterator[Walk]:
    """A walk as `pages_from_headers` gives it for each of these rows of the chunk table.

    `windows`: its `window_bytes` and `largest_window_bytes`.

    The rows must be visible ones, as `index_ranges` and `pages_from_index` name them.
    """
    starts, stops = chunk_spans(metadata, rows)
    table, leaves = metadata.chunks, metadata.leaves
    num_values, sizes = table.num_values[rows], table.total_compressed_size[rows]
    columns = [rows, starts, stops, num_values, sizes]
    for row, start, stop, values, size in zip(*(c.tolist() for c in columns), strict=True):
        row_group, leaf = divmod(row, metadata.num_leaves)
        hard_stop = min(stop + SIZE_SLACK_BYTES, metadata.footer_offset)
        flat = leaves[leaf].max_repetition_level == 0
        walk = _native.PageWalk(start, stop, hard_stop, values, row_group, leaf, flat)
        remark = "its size reaches into the footer" if start + size > stop and values else ""
        pages = _walk(walk, limits, windows, until_row)
        yield _placed(pages, row_group, leaves[leaf].column, remark)


def _placed(walk: Walk, row_group: int, column: str, remark: str) -> Walk:
    """The walk, its errors and warnings with their place."""
    try:
        table = yield from walk
    except PqlabError as error:
        raise error.at(row_group=row_group, column=column) from None
    remarks = (remark, *table.warnings) if remark else table.warnings
    if not remarks:
        return table
    place = f"row group {row_group}, column {column!r}"
    return PageTable(table.pages, table.statistics, tuple(f"{place}: {text}" for text in remarks))


def _walk(walk: Any, limits: Limits, windows: Windows, until_row: int | None) -> Walk:
    window_bytes = windows[0] or max(1, walk.hard_stop - walk.position)
    largest_bytes = max(window_bytes, windows[1] or 0)
    rows: list[np.ndarray] = []
    statistics: list[np.ndarray] = []
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
        else:  # pages are small where windows hold several, or skip less than they fetch
            if len(rows[-1]) > 1 or walk.position - start < 2 * len(buffer):
                usual_bytes = min(2 * usual_bytes, largest_bytes)
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
        frozen(joined(rows, PAGE)),
        frozen(joined(statistics, np.dtype(np.uint8))),
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
