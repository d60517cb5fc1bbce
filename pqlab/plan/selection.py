"""Selections: what a user picks of a file, as a frozen value, and what it means for one file."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

from pqlab.errors import SelectionError, placed
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.schema import SchemaNode
from pqlab.plan.ranges import Range, Ranges, intersect, union

_NEAR_MATCHES = 3
_COMPARED_NAMES = 200
_MAX_LISTED = 10


class Slice(NamedTuple):
    """A slice of ordinals; hashable, unlike Python's own before 3.12."""

    start: int | None
    stop: int | None
    step: int | None

    def __repr__(self) -> str:
        return repr(slice(self.start, self.stop, self.step)).replace(", None)", ")")


ColumnPick: TypeAlias = str | tuple[str, ...] | int
Ordinals: TypeAlias = tuple[int | Slice, ...]
PageKey: TypeAlias = ColumnPick | tuple[int, ColumnPick]


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
            columns=None if columns is None else _column_picks(columns),
            row_groups=None if row_groups is None else to_ordinals(row_groups, "row_groups"),
            pages=None if pages is None else _page_picks(pages),
            rows=None if rows is None else _row_ranges(rows),
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


def find_leaf(column: Any, metadata: FileMetaData) -> int:
    """The ordinal of the one leaf that `column` names. Raises `SelectionError` for any other."""
    pick = _column_pick(column)
    names = _Names(metadata)
    return _only(names.leaves(pick), pick, names)


def find_row_group(row_group: Any, metadata: FileMetaData) -> int:
    """The ordinal of a row group, counted from the end if negative. Raises `SelectionError`."""
    picked = to_ordinals(row_group, "a row group")
    found = ordinals(picked, metadata.num_row_groups, "row group")
    if len(found) != 1:
        raise SelectionError(f"{row_group!r} is not one row group")
    return found[0]


def _only(found: list[int], pick: ColumnPick, names: _Names) -> int:
    if len(found) != 1:
        raise SelectionError(
            f"one leaf column is wanted, and {pick!r} has {len(found)}",
            hint=f"Take one of {names.listed(found)}",
        )
    return found[0]


def _narrow(selection: Selection, metadata: FileMetaData) -> Narrowed:
    names = _Names(metadata)
    leaves: Sequence[int] = range(metadata.num_leaves)
    if selection.columns is not None:
        leaves = names.all(selection.columns)
    num_row_groups = metadata.num_row_groups
    row_groups = set(range(num_row_groups))
    if selection.row_groups is not None:
        row_groups = set(ordinals(selection.row_groups, num_row_groups, "row group"))
    pages, strict = _narrow_pages(selection, metadata, names, row_groups)
    if pages and len(strict) == len(selection.pages or ()):
        row_groups &= {row_group for row_group, _ in strict}
    picked = (
        None
        if selection.rows is None
        else union(row_range(rows, metadata.num_rows) for rows in selection.rows)
    )
    rows: dict[int, Ranges] = {}
    for row_group in sorted(row_groups):
        first, count = (
            int(metadata.row_groups.first_row[row_group]),
            int(metadata.row_groups.num_rows[row_group]),
        )
        here: Ranges = ((0, count),) if count else ()
        if picked is not None:
            inside = intersect(picked, ((first, first + count),))
            here = tuple((start - first, stop - first) for start, stop in inside)
        if here:
            rows[row_group] = here
    pages = {key: value for key, value in pages.items() if key[0] in rows}
    return Narrowed(tuple(leaves), rows, pages, frozenset(strict))


def _narrow_pages(
    selection: Selection, metadata: FileMetaData, names: _Names, row_groups: set[int]
) -> tuple[dict[tuple[int, int], Ordinals], set[tuple[int, int]]]:
    pages: dict[tuple[int, int], Ordinals] = {}
    strict: set[tuple[int, int]] = set()
    for key, picked in selection.pages or ():
        named, column = _split_key(key)
        where = sorted(row_groups)
        if named is not None:
            where = ordinals((named,), metadata.num_row_groups, "row group")
        leaf = _only(names.leaves(column), column, names)
        for row_group in where:
            if (row_group, leaf) in pages:
                raise SelectionError(
                    "pages picks the pages of this chunk twice",
                    row_group=row_group,
                    column=names.text(leaf),
                )
            pages[row_group, leaf] = picked
            if named is not None:
                strict.add((row_group, leaf))
    return pages, strict


def _split_key(key: PageKey) -> tuple[int | None, ColumnPick]:
    if isinstance(key, tuple) and isinstance(key[0], int):
        return key
    return None, key


def ordinals(picked: Ordinals, count: int, what: str, *, strict: bool = True) -> list[int]:
    """The picked ordinals of `count` things, sorted, each once.

    Negative ones count from the end; slices clip as Python's do. Raises `SelectionError` for a
    single ordinal that is out of range, unless not `strict`.
    """
    found: set[int] = set()
    for item in picked:
        if isinstance(item, Slice):
            found.update(range(count)[slice(*item)])
        elif -count <= item < count:
            found.add(item % count)
        elif strict:
            has = f"they are 0 to {count - 1}" if count else "there is none"
            raise SelectionError(f"there is no {what} {item}: {has}")
    return sorted(found)


class HasLeaves(Protocol):
    """A schema with its leaves: of a file, or of a dataset."""

    @property
    def schema(self) -> SchemaNode: ...  # noqa: D102
    @property
    def leaves(self) -> tuple[SchemaNode, ...]: ...  # noqa: D102
    @property
    def num_leaves(self) -> int: ...  # noqa: D102


def find_leaves(columns: Iterable[ColumnPick], schema: HasLeaves) -> list[int]:
    """The leaf ordinals of all picked columns, in schema order; `SelectionError` as in `narrow`."""
    return _Names(schema).all(columns)


class _Names:
    """Looks up the leaves under a name, a path, a regular expression, or an ordinal."""

    def __init__(self, metadata: HasLeaves) -> None:
        self._metadata = metadata

    def all(self, picks: Iterable[ColumnPick]) -> list[int]:
        return sorted({leaf for pick in picks for leaf in self.leaves(pick)})

    def leaves(self, pick: ColumnPick) -> list[int]:
        if isinstance(pick, int):
            return ordinals((pick,), self._metadata.num_leaves, "leaf column")
        if isinstance(pick, tuple):
            return self._one(pick, [node for node in self._nodes() if node.path == pick])
        if pick.startswith("^") and pick.endswith("$") and len(pick) > 1:
            return self._matching(pick)
        return self._one(pick, [node for node in self._nodes() if node.column == pick])

    def text(self, leaf: int) -> str:
        return self._metadata.leaves[leaf].column

    def listed(self, leaves: Sequence[int]) -> str:
        shown = [f"{leaf} ({self.text(leaf)!r})" for leaf in leaves[:_MAX_LISTED]]
        more = len(leaves) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more else "")

    def _nodes(self) -> Iterable[SchemaNode]:
        return _descendants(self._metadata.schema)

    def _matching(self, pattern: str) -> list[int]:
        try:
            matches = re.compile(pattern).search
        except re.error as error:
            raise SelectionError(f"{pattern!r} is not a regular expression: {error}") from None
        found: set[int] = set()
        for node in self._nodes():
            if matches(node.column):
                found.update(_leaves_under(node))
        if not found:
            raise SelectionError(f"no column matches {pattern!r}")
        return sorted(found)

    def _one(self, pick: str | tuple[str, ...], nodes: list[SchemaNode]) -> list[int]:
        if not nodes:
            wanted = pick if isinstance(pick, str) else ".".join(pick)
            known = {node.column for node in self._nodes()}
            near = _near_matches(wanted, known)
            raise SelectionError(
                f"there is no column {pick!r}",
                hint=f"Near matches: {', '.join(map(repr, near))}" if near else None,
            )
        if len(nodes) > 1:
            leaves = sorted(leaf for node in nodes for leaf in _leaves_under(node))
            paths = {node.path for node in nodes}
            by_path = ", or a tuple of the path's names" if len(paths) > 1 else ""
            raise SelectionError(
                f"the column {pick!r} is not unique: it is leaf columns {self.listed(leaves)}",
                hint=f"Pick by leaf ordinal{by_path}",
            )
        return _leaves_under(nodes[0])


def _near_matches(wanted: str, known: Iterable[str]) -> list[str]:
    # The exact comparison is slow: it sees the names that share most pairs of letters.
    pairs = set(pairwise(wanted.lower()))
    likely = nlargest(
        _COMPARED_NAMES, known, key=lambda name: len(pairs.intersection(pairwise(name.lower())))
    )
    return difflib.get_close_matches(wanted, likely, _NEAR_MATCHES)


def _descendants(root: SchemaNode) -> Iterable[SchemaNode]:
    waiting = list(reversed(root.children))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def _leaves_under(node: SchemaNode) -> list[int]:
    if node.leaf is not None:
        return [node.leaf]
    return [child.leaf for child in _descendants(node) if child.leaf is not None]


def _column_picks(columns: Any) -> tuple[ColumnPick, ...]:
    if isinstance(columns, str | tuple) or _index(columns) is not None:
        return (_column_pick(columns),)
    if isinstance(columns, Iterable) and not isinstance(columns, bytes | Mapping):
        return tuple(_column_pick(pick) for pick in columns)
    raise SelectionError(f"columns cannot be {columns!r}", hint=_COLUMNS_HINT)


_COLUMNS_HINT = (
    "Give names, dotted paths, tuples of path parts, leaf ordinals, or regular expressions '^...$'"
)


def _column_pick(pick: Any) -> ColumnPick:
    if isinstance(pick, str):
        return pick
    if isinstance(pick, tuple) and pick and all(isinstance(part, str) for part in pick):
        return pick
    index = _index(pick)
    if index is None:
        raise SelectionError(f"a column cannot be {pick!r}", hint=_COLUMNS_HINT)
    return index


def _index(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _slice(value: slice | range, what: str) -> Slice:
    try:
        range(0)[slice(value.start, value.stop, value.step)]
    except (TypeError, ValueError) as error:
        raise SelectionError(f"{what} cannot be {value!r}: {error}") from None
    step = None if value.step == 1 else value.step
    if step is not None and step < 0:
        raise SelectionError(
            f"{what} cannot be {value!r}", hint="Results come in file order: give a positive step"
        )
    return Slice(value.start, value.stop, step)


def to_ordinals(value: Any, what: str) -> Ordinals:
    """Ordinals as they are picked: an integer, a slice, or any iterable of these."""
    if isinstance(value, slice | range):
        return (_slice(value, what),)
    index = _index(value)
    if index is not None:
        return (index,)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        return tuple(part for item in value for part in to_ordinals(item, what))
    raise SelectionError(f"{what} cannot be {value!r}", hint="Give ordinals, slices, or a list")


def _page_picks(pages: Any) -> tuple[tuple[PageKey, Ordinals], ...]:
    if not isinstance(pages, Mapping):
        raise SelectionError(
            f"pages cannot be {pages!r}",
            hint="Give {(row_group, column): pages} or {column: pages}",
        )
    return tuple((_page_key(key), to_ordinals(value, "pages")) for key, value in pages.items())


def _page_key(key: Any) -> PageKey:
    if isinstance(key, tuple) and len(key) == 2:
        row_group = _index(key[0])
        if row_group is not None:
            return row_group, _column_pick(key[1])
    return _column_pick(key)


def _row_ranges(rows: Any) -> tuple[Range | Slice, ...]:
    if isinstance(rows, slice | range):
        picked = _slice(rows, "rows")
        if picked.step is not None:
            raise SelectionError(f"rows cannot be {rows!r}", hint="Rows are taken without a step")
        return (picked,)
    if isinstance(rows, Iterable) and not isinstance(rows, str | bytes | Mapping):
        items = list(rows)
        indexes = [_index(item) for item in items]
        given = [index for index in indexes if index is not None]
        if len(items) == len(given) == 2:
            start, stop = given
            if not 0 <= start <= stop:
                raise SelectionError(
                    f"rows cannot be {rows!r}", hint="Give (start, stop), half open"
                )
            return ((start, stop),)
        if not given:
            return tuple(part for item in items for part in _row_ranges(item))
    raise SelectionError(
        f"rows cannot be {rows!r}", hint="Give (start, stop), a slice, or a list of these"
    )


def row_range(rows: Range | Slice, num_rows: int) -> Range:
    """The half-open range among `num_rows` rows; a slice clips, a range must fit."""
    if isinstance(rows, Slice):
        start, stop, _ = slice(rows.start, rows.stop).indices(num_rows)
        return start, stop
    if rows[1] > num_rows:
        raise SelectionError(
            f"rows {rows[0]:,} to {rows[1]:,} are not all in the file, which has {num_rows:,}",
            hint="A slice clips: rows=slice(start, stop)",
        )
    return rows


def _text(values: Sequence[Any]) -> str:
    return repr(values[0]) if len(values) == 1 else f"[{', '.join(map(repr, values))}]"
