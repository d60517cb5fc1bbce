"""Selections: what a user picks of a file, as a frozen value, and what it means for one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pqlab.errors import SelectionError, placed
from pqlab.footer.metadata import FileMetaData
from pqlab.plan.columns import find_leaf, find_leaves
from pqlab.plan.picks import (
    ColumnPick,
    Ordinals,
    PageKey,
    Slice,
    ordinals,
    row_range,
    to_columns,
    to_ordinals,
    to_pages,
    to_rows,
)
from pqlab.plan.ranges import Range, Ranges, intersect, union


@dataclass(frozen=True, slots=True)
class Selection:
    """What was asked for; None means everything. Build one with `Selection.of`.

    `rows`: file-global half-open ranges; a `Slice` counts and clips as Python's slices do.
    """

    columns: tuple[ColumnPick, ...] | None = None
    row_groups: Ordinals | None = None
    pages: tuple[tuple[PageKey, Ordinals], ...] | None = None
    rows: tuple[Range | Slice, ...] | None = None

    @classmethod
    def of(
        cls, columns: Any = None, *, row_groups: Any = None, pages: Any = None, rows: Any = None
    ) -> Selection:
        """A selection from arguments as `ParquetFile.select` takes them.

        Raises `SelectionError` for a value that has no meaning, whatever the file.
        """
        return cls(
            columns=None if columns is None else to_columns(columns),
            row_groups=None if row_groups is None else to_ordinals(row_groups, "row_groups"),
            pages=None if pages is None else to_pages(pages),
            rows=None if rows is None else to_rows(rows),
        )

    def arguments(self) -> str:
        """The arguments of `select` that build this selection again, as Python text."""
        words = []
        if self.columns is not None:
            words.append(f"columns={list(self.columns)!r}")
        if self.row_groups is not None:
            words.append(f"row_groups={_text(self.row_groups)}")
        if self.pages is not None:
            pages = ", ".join(f"{key!r}: {_text(picked)}" for key, picked in self.pages)
            words.append(f"pages={{{pages}}}")
        if self.rows is not None:
            words.append(f"rows={_text(self.rows)}")
        return ", ".join(words)


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A selection resolved against one file's metadata.

    `leaves`: ordinals in file order. `rows`: for every row group that is read, in file order, the
    half-open ranges within it. `pages`: which data pages were picked, per (row group, leaf);
    `strict_pages`: those whose row group was named, so that every page must exist.
    """

    leaves: tuple[int, ...]
    rows: dict[int, Ranges]
    pages: dict[tuple[int, int], Ordinals]
    strict_pages: frozenset[tuple[int, int]]


def narrow(selection: Selection, metadata: FileMetaData, file: str) -> Narrowed:
    """Resolve names and ordinals. Raises `SelectionError` for what the file does not have."""
    with placed(file=file):
        return _narrow(selection, metadata)


def _narrow(selection: Selection, metadata: FileMetaData) -> Narrowed:
    leaves: Sequence[int] = range(metadata.num_leaves)
    if selection.columns is not None:
        leaves = find_leaves(selection.columns, metadata)
    num_row_groups = metadata.num_row_groups
    row_groups: Sequence[int] = range(num_row_groups)
    if selection.row_groups is not None:
        row_groups = sorted(ordinals(selection.row_groups, num_row_groups, "row group"))
    pages, strict = _narrow_pages(selection, metadata, row_groups)
    if pages and len(strict) == len(selection.pages or ()):
        row_groups = sorted({row_group for row_group, _ in strict}.intersection(row_groups))
    picked = (
        None
        if selection.rows is None
        else union(row_range(rows, metadata.num_rows) for rows in selection.rows)
    )
    rows: dict[int, Ranges] = {}
    for row_group in row_groups:
        first = int(metadata.row_groups.first_row[row_group])
        count = int(metadata.row_groups.num_rows[row_group])
        here: Ranges = ((0, count),) if count else ()
        if picked is not None:
            inside = intersect(picked, ((first, first + count),))
            here = tuple((start - first, stop - first) for start, stop in inside)
        if here:
            rows[row_group] = here
    pages = {key: value for key, value in pages.items() if key[0] in rows}
    return Narrowed(tuple(leaves), rows, pages, frozenset(strict))


def _narrow_pages(
    selection: Selection, metadata: FileMetaData, row_groups: Sequence[int]
) -> tuple[dict[tuple[int, int], Ordinals], set[tuple[int, int]]]:
    pages: dict[tuple[int, int], Ordinals] = {}
    strict: set[tuple[int, int]] = set()
    for key, picked in selection.pages or ():
        named, column = _split_key(key)
        where = row_groups
        if named is not None:
            where = ordinals((named,), metadata.num_row_groups, "row group")
        leaf = find_leaf(column, metadata)
        for row_group in where:
            if (row_group, leaf) in pages:
                raise SelectionError(
                    "pages picks the pages of this chunk twice",
                    row_group=row_group,
                    column=metadata.leaves[leaf].column,
                )
            pages[row_group, leaf] = picked
            if named is not None:
                strict.add((row_group, leaf))
    return pages, strict


def _split_key(key: PageKey) -> tuple[int | None, ColumnPick]:
    if isinstance(key, tuple) and isinstance(key[0], int):
        return key
    return None, key


def find_row_group(row_group: Any, metadata: FileMetaData) -> int:
    """The ordinal of a row group, counted from the end if negative. Raises `SelectionError`."""
    picked = to_ordinals(row_group, "a row group")
    found = ordinals(picked, metadata.num_row_groups, "row group")
    if len(found) != 1:
        raise SelectionError(f"{row_group!r} is not one row group")
    return found[0]


def _text(values: Sequence[Any]) -> str:
    return repr(values[0]) if len(values) == 1 else f"[{', '.join(map(repr, values))}]"
