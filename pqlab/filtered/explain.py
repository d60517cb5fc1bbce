"""Why row groups and pages are read or skipped: as a frame, and as a tree for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from pqlab import text
from pqlab.footer import frame_columns
from pqlab.plan.build import ChunkPages, PageRows, page_rows
from pqlab.plan.ranges import intersect, length

if TYPE_CHECKING:
    from pqlab.filtered.prune import Pruned
    from pqlab.filtered.selection import FilteredSelection

_SHOWN_LINES = 200
_BLOOM = {True: "maybe", False: "absent", None: "no filter"}


class Explained(NamedTuple):
    """A row of the frame: a row group, or a page of one of its chunks."""

    row_group: int
    column: str | None
    leaf: int | None
    page: int | None
    kept: bool
    step: str | None
    reason: str
    bound: str | None
    bloom_filter: str | None
    first_row: int
    num_rows: int
    kept_rows: int
    size_bytes: int
    kept_bytes: int


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """What is read and what is skipped; `frame` has a row per row group and page."""

    title: str
    frame: pl.DataFrame
    late: str
    warnings: tuple[str, ...]

    @property
    def tree(self) -> str:
        """The row groups, below each its pages that are not all read, as text."""
        return "\n".join(self._lines())

    def __str__(self) -> str:
        return self.tree

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.tree)}</pre>"

    def _lines(self) -> Iterator[str]:
        groups = self.frame.filter(pl.col("page").is_null())
        kept, rows, kept_rows, size, kept_bytes = (
            int(groups[name].sum())
            for name in ("kept", "num_rows", "kept_rows", "size_bytes", "kept_bytes")
        )
        yield self.title
        yield (
            f"{kept:,} of {text.plural(len(groups), 'row group')}, "
            f"{kept_rows:,} of {text.plural(rows, 'row')}, "
            f"about {text.size(kept_bytes)} of {text.size(size)} are left to be read"
        )
        if self.late:
            yield f"late: {self.late}"
        yield from (f"warning: {text.visible(warning)}" for warning in self.warnings)
        lines = [*self._tree_lines()]
        yield from lines[:_SHOWN_LINES]
        if len(lines) > _SHOWN_LINES:
            yield f"and {text.plural(len(lines) - _SHOWN_LINES, 'more line')}: see .frame"

    def _tree_lines(self) -> Iterator[str]:
        """Pages that follow each other and have one reason are one line, with the first bound."""
        rows = [Explained(*row) for row in self.frame.rows()]
        is_whole, leaf = False, None
        for _, same in groupby(rows, lambda row: (row.leaf, row.kept, row.step, row.reason)):
            pages = list(same)
            for row in pages if pages[0].page is None else ():
                yield f"{_mark(row)} row group {row.row_group}: {_words(row)}"
                is_whole, leaf = row.kept_rows == row.num_rows, None
            if pages[0].page is None or is_whole:
                continue
            first = pages[0]
            if leaf != first.leaf:
                leaf = first.leaf
                yield f"    {text.visible(first.column or '')}"
            count = f"page {first.page}"
            if len(pages) > 1:
                count = f"pages {first.page} to {pages[-1].page}"
                totals = ("num_rows", "kept_rows", "size_bytes", "kept_bytes")
                sums = {name: sum(getattr(page, name) for page in pages) for name in totals}
                first = first._replace(**sums)
            yield f"      {_mark(first)} {count}: {_words(first)}"


def explain(selection: FilteredSelection) -> Explanation:
    """Of a selection that was pruned by now: no more is read, but indexes of partly kept chunks."""
    pruned = selection.pruned
    keys = [(row_group, leaf) for row_group in selection.rows for leaf in selection.leaves]
    chunks = dict(selection.asked.file.page_store.known(keys))
    chunks |= selection.scanned.known_pages() if keys else {}
    series = _columns(list(_rows(selection, pruned, chunks)))
    frame = frame_columns.build(frame_columns.EXPLAIN, series)
    name = text.visible(selection.asked.file.name)
    return Explanation(
        f"{name} where {text.visible(str(selection.where))}",
        frame,
        selection.late.words,
        () if pruned is None else pruned.warnings,
    )


def _columns(rows: list[Explained]) -> dict[str, pl.Series]:
    columns = zip(*rows, strict=True) if rows else [()] * len(Explained._fields)
    dtypes = {column.name: column.dtype for column in frame_columns.EXPLAIN}
    return {
        name: pl.Series(name, values, dtypes[name])
        for name, values in zip(Explained._fields, columns, strict=True)
    }


def _rows(
    selection: FilteredSelection, pruned: Pruned | None, chunks: ChunkPages
) -> Iterator[Explained]:
    metadata = selection.asked.file.metadata
    for row_group, asked in selection.asked_rows.items():
        kept = selection.rows.get(row_group, ())
        first = int(metadata.row_groups.first_row[row_group])
        at = row_group * metadata.num_leaves + np.array(selection.leaves, np.int64)
        sizes = np.maximum(metadata.chunks.total_compressed_size[at].astype(np.int64), 0)
        num_rows = max(int(metadata.row_groups.num_rows[row_group]), 1)
        size, pages, kept_bytes = int(sizes.sum() * length(asked) / num_rows), [], 0.0
        for leaf, chunk_bytes in zip(selection.leaves, sizes.tolist(), strict=True):
            known = chunks.get((row_group, leaf))
            of_chunk = None if known is None or not kept else page_rows(known, num_rows)
            if of_chunk is None or of_chunk.bounds[-1] != num_rows:
                kept_bytes += chunk_bytes * length(kept) / num_rows
                continue
            found = list(_pages(selection, (row_group, leaf), of_chunk))
            pages += found
            kept_bytes += sum(page.kept_bytes for page in found)
        yield Explained(
            row_group, None, None, None, bool(kept),
            *_why(selection, None if kept else first + asked[0][0]), _bloom(pruned, row_group),
            first, length(asked), length(kept), size, int(kept_bytes),
        )  # fmt: skip
        yield from pages


def _pages(
    selection: FilteredSelection, chunk: tuple[int, int], pages: PageRows
) -> Iterator[Explained]:
    """The pages of a chunk that have rows that are asked for."""
    row_group, leaf = chunk
    metadata = selection.asked.file.metadata
    asked, kept = selection.asked_rows[row_group], selection.rows[row_group]
    first_row = int(metadata.row_groups.first_row[row_group])
    for page, span in enumerate(pairwise(pages.bounds.tolist())):
        wanted = intersect(asked, (span,))
        if not wanted:
            continue
        left = intersect(kept, (span,))
        size = int(pages.pages["total_bytes"][page])
        yield Explained(
            row_group, metadata.leaves[leaf].column, leaf, page, bool(left),
            *_why(selection, None if left else first_row + wanted[0][0]), None,
            first_row + span[0], length(wanted), length(left), size, size if left else 0,
        )  # fmt: skip


def _why(
    selection: FilteredSelection, skipped_row: int | None
) -> tuple[str | None, str, str | None]:
    """The step, the reason and the bound."""
    pruned = selection.pruned
    if skipped_row is None or pruned is None:
        return None, selection.kept_reason, None
    found = pruned.judged.why(skipped_row)
    return found.step, f"no row has {found.condition}", found.bound


def _bloom(pruned: Pruned | None, row_group: int) -> str | None:
    """What the filters that were asked say, one after the other; None: none was asked."""
    if pruned is None:
        return None
    states = [found[row_group] for found in pruned.blooms.values() if row_group in found]
    return "; ".join(_BLOOM[state] for state in states) or None


def _mark(row: Explained) -> str:
    return "+" if row.kept else "-"


def _words(row: Explained) -> str:
    rows = f"{row.kept_rows:,} of {text.plural(row.num_rows, 'row')}"
    filters = f"; bloom filter: {row.bloom_filter}" if row.bloom_filter else ""
    if row.kept:
        return f"{rows}, {text.size(row.kept_bytes)} of {text.size(row.size_bytes)}{filters}"
    bound = f" ({text.visible(row.bound)})" if row.bound else ""
    return f"{text.visible(row.reason)}, by {row.step}{bound}{filters}"
