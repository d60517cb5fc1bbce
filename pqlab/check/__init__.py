"""Whether a file is sound: its redundant facts, held against each other. `ParquetFile.check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pqlab.check.chunks import chunk_violations, row_order_violations
from pqlab.check.footer import footer_violations
from pqlab.check.index import index_violations
from pqlab.check.rules import RULES, Rule, Violation
from pqlab.errors import CorruptError, EncryptedError, PqlabError, placed
from pqlab.footer import frame_columns
from pqlab.footer.chunk_frames import column_chunks_frame
from pqlab.footer.page_index import index_ranges, pages_from_index
from pqlab.footer.page_table import PAGE, PageTable
from pqlab.io.fetch import read_recorded
from pqlab.trace import Reason

if TYPE_CHECKING:
    from pqlab.reader import ParquetFile

__all__ = ["RULES", "Rule", "Violation", "check", "unreadable"]


def check(file: ParquetFile, *, quick: bool = False) -> pl.DataFrame:
    """A row per rule that does not hold, in the order footer, page index, chunks.

    `quick`: by the footer and the page index alone; else every page is read and decoded. What
    cannot be read (encrypted, of an unknown codec) is a note, as are gaps.
    Raises `SourceError` for bytes that do not come.
    """
    with placed(file=file.name):
        return _frame(file, list(_violations(file, quick=quick)))


def unreadable(name: str, error: PqlabError) -> pl.DataFrame:
    """The frame of a file that cannot be opened: one row, the error."""
    rule = "unread" if isinstance(error, EncryptedError) else "readable"
    shown = Violation(rule, error.message, error.row_group, None, error.page, error.offset)
    return _build([shown], [error.column], name)


def _violations(file: ParquetFile, *, quick: bool) -> Iterator[Violation]:
    metadata = file.metadata
    indexed = PageTable(np.empty(0, PAGE), np.empty(0, np.uint8))
    try:
        chunks = column_chunks_frame(metadata)
        yield from footer_violations(metadata, chunks, file.source.size)
        indexed = _indexed(file)
        yield from index_violations(metadata, chunks, indexed)
    except CorruptError as error:  # of offsets beyond the file, mostly
        leaf = next((n for n, at in enumerate(metadata.leaves) if at.column == error.column), None)
        yield Violation("outside", error.message, error.row_group, leaf, None, error.offset)
    if quick:
        return
    for leaf in range(metadata.num_leaves):
        yield from chunk_violations(file, leaf, indexed)
    for row_group in np.flatnonzero(metadata.row_groups.num_sorting_columns > 0).tolist():
        yield from row_order_violations(file, row_group)


def _indexed(file: ParquetFile) -> PageTable:
    """The pages as the page index alone has them."""
    index = index_ranges(file.metadata, limits=file.limits)
    buffers = read_recorded(file.source, index.ranges, Reason.PAGE_INDEX)
    return pages_from_index(file.metadata, index, buffers, limits=file.limits)[0]


def _frame(file: ParquetFile, violations: list[Violation]) -> pl.DataFrame:
    columns = [leaf.column for leaf in file.metadata.leaves]
    named = [None if found.leaf is None else columns[found.leaf] for found in violations]
    return _build(violations, named, file.name)


def _build(violations: list[Violation], columns: list[str | None], file: str) -> pl.DataFrame:
    rules = [RULES[found.rule] for found in violations]
    series: dict[str, Any] = {
        "file": pl.Series([file] * len(rules), dtype=pl.String),
        "rule": pl.Series([found.rule for found in violations], dtype=pl.String),
        "is_note": pl.Series([rule.is_note for rule in rules], dtype=pl.Boolean),
        "column": pl.Series(columns, dtype=pl.String),
        "must": pl.Series([rule.must for rule in rules], dtype=pl.String),
        "section": pl.Series([rule.section for rule in rules], dtype=pl.String),
    }
    for name in ("row_group", "leaf", "page", "offset"):
        series[name] = pl.Series([getattr(found, name) for found in violations], dtype=pl.Int64)
    for name in ("message", "stated", "found"):
        series[name] = pl.Series([getattr(found, name) for found in violations], dtype=pl.String)
    return frame_columns.build(frame_columns.CHECK, series)
