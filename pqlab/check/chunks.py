"""A chunk's pages and values, read once and held against all that is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pqlab.check.blooms import bloom_violations
from pqlab.check.levels import level_violations
from pqlab.check.pages import header_violations
from pqlab.check.rules import Violation, is_ordered
from pqlab.check.values import leaf_values, sort_violations, value_violations
from pqlab.errors import CorruptError, EncryptedError, LimitError, PqlabError, UnsupportedError
from pqlab.footer import raw
from pqlab.footer.frames import statistics_frame
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.page_headers import drive, pages_from_headers
from pqlab.footer.page_index import chunk_spans
from pqlab.footer.page_merge import concat
from pqlab.footer.page_table import PageTable
from pqlab.io.fetch import read_recorded
from pqlab.io.page_bodies import span_of, with_checksums, with_rows
from pqlab.trace import Reason

if TYPE_CHECKING:
    from pqlab.io.source import Bytes
    from pqlab.reader import ParquetFile

_BATCH_BYTES = 64 << 20  # of values that are read together
_BOUNDARY_ORDERS = {1: "ASCENDING", 2: "DESCENDING"}  # 0: UNORDERED
_UNREAD = (UnsupportedError, EncryptedError, LimitError)


def chunk_violations(file: ParquetFile, leaf: int, indexed: PageTable) -> Iterator[Violation]:
    """What the chunks of one leaf contradict. `indexed`: the pages of the file's page index."""
    in_index = indexed.pages[indexed.pages["leaf"] == leaf]
    for row_groups in _batches(file.metadata, leaf):
        tables: dict[int, PageTable] = {}
        for row_group in row_groups:
            of_chunk = in_index[in_index["row_group"] == row_group]
            found: list[Violation] = []
            try:
                table = _pages(
                    file, row_group, leaf, PageTable(of_chunk, indexed.statistics), found
                )
                if len(table):
                    tables[row_group] = table
            except CorruptError as error:
                rule = "page headers" if error.field and "Header" in error.field else "values"
                found.append(_violation(rule, error, row_group, leaf))
            except _UNREAD as error:
                found.append(_violation("unread", error, row_group, leaf))
            yield from found
        yield from _values(file, leaf, tables)


def _batches(metadata: FileMetaData, leaf: int) -> Iterator[list[int]]:
    """The row groups in runs whose chunks of the leaf are read together."""
    rows = np.arange(metadata.num_row_groups) * metadata.num_leaves + leaf
    sizes = metadata.chunk_cells("total_uncompressed_size", rows).astype(np.int64)
    batch: list[int] = []
    batch_bytes = 0
    for row_group, size in enumerate(sizes.tolist()):
        if batch and batch_bytes + size > _BATCH_BYTES:
            yield batch
            batch, batch_bytes = [], 0
        batch.append(row_group)
        batch_bytes += size
    if batch:
        yield batch


def _violation(rule: str, error: PqlabError, row_group: int, leaf: int) -> Violation:
    return Violation(rule, error.message, row_group, leaf, error.page, error.offset)


def _pages(
    file: ParquetFile, row_group: int, leaf: int, index: PageTable, found: list[Violation]
) -> PageTable:
    """The chunk's pages as headers and index have them, and with them what these contradict."""
    metadata, node = file.metadata, file.metadata.leaves[leaf]
    walked, data, start = _walked(file, row_group, leaf)
    in_index = index if len(index) else None
    found += header_violations(metadata, row_group, leaf, walked, in_index)
    if not len(walked.pages):
        return walked
    table = walked
    if in_index is not None:
        table = file.page_store.table([(row_group, leaf)], headers=True)
    if not node.max_repetition_level:
        return table
    data_pages = walked.pages["page"][walked.pages["page"] >= 0]
    found += level_violations(file, row_group, leaf, data_pages)
    levels = with_rows(metadata, walked.pages, data, start, limits=file.limits)
    found += _rows(row_group, leaf, table.pages, levels)
    return PageTable(_with_rows_of(table.pages, levels), table.statistics)


def _values(file: ParquetFile, leaf: int, tables: dict[int, PageTable]) -> Iterator[Violation]:
    """What the values of these row groups contradict, read together where they can be read."""
    if not tables:
        return
    metadata = file.metadata
    statistics = statistics_frame(metadata, leaf, concat([*tables.values()]))
    of_group = statistics.partition_by("row_group", as_dict=True)
    frames = _frames(file, leaf, list(tables))
    for row_group, table in tables.items():
        try:
            frame = frames.get(row_group)
            if frame is None:
                frame = file.select(leaf, row_groups=row_group).read()
            stated = of_group[row_group,]
            yield from _boundary_order(file, row_group, leaf, stated)
            pages, values = table.pages[table.pages["page"] >= 0], leaf_values(frame)
            for found in value_violations(metadata.leaves[leaf], values, stated, pages):
                yield found._replace(leaf=leaf)
            yield from bloom_violations(file, row_group, leaf, values["value"])
        except CorruptError as error:
            yield _violation("values", error, row_group, leaf)
        except _UNREAD as error:
            yield _violation("unread", error, row_group, leaf)


def _frames(file: ParquetFile, leaf: int, row_groups: list[int]) -> dict[int, pl.DataFrame]:
    """The rows of row groups that can be read together; none where one of them is wrong."""
    try:
        frame = file.select(leaf, row_groups=row_groups).read()
    except (CorruptError, *_UNREAD):
        return {}
    counts = [int(file.metadata.row_groups.num_rows[row_group]) for row_group in row_groups]
    if sum(counts) != frame.height:
        return {}
    starts = np.cumsum([0, *counts]).tolist()
    return {
        row_group: frame.slice(start, count)
        for row_group, start, count in zip(row_groups, starts, counts, strict=False)
    }


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
