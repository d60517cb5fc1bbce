"""A chunk's pages and values, read once and held against all that is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pqlab.check.pages import header_violations
from pqlab.check.rules import Violation, is_ordered
from pqlab.check.values import leaf_values, sort_violations, value_violations
from pqlab.errors import CorruptError, EncryptedError, LimitError, PqlabError, UnsupportedError
from pqlab.footer import raw
from pqlab.footer.frames import pages_frame, statistics_frame
from pqlab.footer.metadata import Present
from pqlab.footer.page_headers import drive, pages_from_headers
from pqlab.footer.page_index import chunk_spans
from pqlab.footer.page_table import PageTable
from pqlab.io.fetch import read_recorded
from pqlab.io.page_bodies import span_of, with_checksums, with_rows
from pqlab.trace import Reason

if TYPE_CHECKING:
    from pqlab.io.source import Bytes
    from pqlab.reader import ParquetFile

_BOUNDARY_ORDERS = {1: "ASCENDING", 2: "DESCENDING"}  # 0: UNORDERED
_UNREAD = (UnsupportedError, EncryptedError, LimitError)


def chunk_violations(file: ParquetFile, leaf: int, indexed: PageTable) -> Iterator[Violation]:
    """What the chunks of one leaf contradict. `indexed`: the pages of the file's page index."""
    metadata = file.metadata
    in_index = indexed.pages[indexed.pages["leaf"] == leaf]
    for row_group in range(metadata.num_row_groups):
        try:
            yield from _one_chunk(
                file, row_group, leaf, in_index[in_index["row_group"] == row_group], indexed
            )
        except CorruptError as error:
            rule = "page headers" if error.field and "Header" in error.field else "values"
            yield _violation(rule, error, row_group, leaf)
        except _UNREAD as error:
            yield _violation("unread", error, row_group, leaf)


def _violation(rule: str, error: PqlabError, row_group: int, leaf: int) -> Violation:
    return Violation(rule, error.message, row_group, leaf, error.page, error.offset)


def _one_chunk(
    file: ParquetFile, row_group: int, leaf: int, in_index: np.ndarray, indexed: PageTable
) -> Iterator[Violation]:
    metadata, node = file.metadata, file.metadata.leaves[leaf]
    walked, data, start = _walked(file, row_group, leaf)
    index = PageTable(in_index, indexed.statistics) if len(in_index) else None
    yield from header_violations(metadata, row_group, leaf, walked, index)
    if not len(walked.pages):
        return
    table = walked if index is None else file.page_store.table([(row_group, leaf)], headers=True)
    if node.max_repetition_level:
        levels = with_rows(metadata, walked.pages, data, start, limits=file.limits)
        yield from _rows(row_group, leaf, table.pages, levels)
        table = PageTable(_with_rows_of(table.pages, levels), table.statistics)
    frame = file.select(leaf, row_groups=row_group).read()
    statistics = statistics_frame(metadata, leaf, table).filter(row_group=row_group)
    yield from _boundary_order(file, row_group, leaf, statistics)
    pages = pages_frame(metadata, table).filter(pl.col("page") >= 0)
    for found in value_violations(node, leaf_values(frame), statistics, pages):
        yield found._replace(leaf=leaf)


def _walked(file: ParquetFile, row_group: int, leaf: int) -> tuple[PageTable, Bytes, int]:
    """The chunk's pages by their headers alone, checksums compared; its bytes, and their start."""
    starts, _ = chunk_spans(file.metadata, np.array([file.metadata.chunk_row(row_group, leaf)]))
    start = int(starts[0])

    def read(begin: int, end: int) -> Bytes:
        return read_recorded(file.source, [(begin, end)], Reason.PAGES, [(row_group, leaf)])[0]

    walk = pages_from_headers(file.metadata, row_group, leaf, limits=file.limits)
    walked = drive(walk, read)
    if not len(walked.pages):
        return walked, np.empty(0, np.uint8), start
    start, stop = span_of(walked.pages)
    data = read(start, stop)
    checked = PageTable(
        with_checksums(walked.pages, data, start), walked.statistics, walked.warnings
    )
    return checked, data, start


def _rows(row_group: int, leaf: int, pages: np.ndarray, levels: np.ndarray) -> Iterator[Violation]:
    """Pages in which other rows begin than header or index say."""
    begun = dict(zip(levels["page"].tolist(), levels["num_rows"].tolist(), strict=True))
    for page, stated in zip(pages["page"].tolist(), pages["num_rows"].tolist(), strict=True):
        if page >= 0 and stated >= 0 and begun.get(page, stated) != stated:
            yield Violation(
                "page rows",
                "other rows begin in the page",
                row_group,
                leaf,
                page,
                stated=f"{stated:,}",
                found=f"{begun[page]:,}",
            )


def _with_rows_of(pages: np.ndarray, levels: np.ndarray) -> np.ndarray:
    if len(pages) != len(levels):
        return pages
    found = pages.copy()
    found["num_rows"], found["first_row"] = levels["num_rows"], levels["first_row"]
    return found


def _boundary_order(
    file: ParquetFile, row_group: int, leaf: int, statistics: pl.DataFrame
) -> Iterator[Violation]:
    """Whether the bounds of the pages are sorted as the column index says."""
    chunks, row = file.metadata.chunks, file.metadata.chunk_row(row_group, leaf)
    bounds = statistics.filter(pl.col("page").is_not_null(), bounds_state="present")
    has_index = int(chunks.present[row]) & Present.COLUMN_INDEX
    if len(bounds) < 2 or not has_index or not is_ordered(file.metadata.leaves[leaf]):
        return
    start = int(chunks.column_index_offset[row])
    ends = [(start, start + int(chunks.column_index_length[row]))]
    read = read_recorded(file.source, ends, Reason.PAGE_INDEX, [(row_group, leaf)])[0]
    order = _BOUNDARY_ORDERS.get(raw.column_index(read.data, offset=start).boundary_order)
    for side in ("min", "max") if order else ():
        values = bounds[side].drop_nulls()
        if not values.is_sorted(descending=order == "DESCENDING"):
            message = f"the pages' {side} are not sorted"
            yield Violation("boundary order", message, row_group, leaf, stated=order)


def row_order_violations(file: ParquetFile, row_group: int) -> Iterator[Violation]:
    """Whether a row group's rows are sorted as it says; columns that cannot be compared end it."""
    sorting = file.metadata.sorting_columns(row_group)
    columns: list[pl.Series] = []
    for column in sorting:
        in_schema = 0 <= column.column_idx < file.metadata.num_leaves
        if not in_schema or file.metadata.leaves[column.column_idx].max_repetition_level:
            break
        try:
            frame = file.select(column.column_idx, row_groups=row_group).read()
        except (CorruptError, *_UNREAD):
            break  # said where its pages are checked
        columns.append(leaf_values(frame)["value"])
    if columns and len(columns[0]):
        used = sorting[: len(columns)]
        descending = [column.descending for column in used]
        nulls_first = [column.nulls_first for column in used]
        yield from sort_violations(row_group, columns, descending, nulls_first)
