"""What users pick, as values: columns, ordinals, pages and rows, before any file is looked at."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from pqlab.errors import SelectionError
from pqlab.plan.ranges import Range


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


_COLUMNS_HINT = (
    "Give names, dotted paths, tuples of path parts, leaf ordinals, or regular expressions '^...$'"
)


def to_columns(columns: Any) -> tuple[ColumnPick, ...]:
    """Columns from one or several of what `to_column` takes. Raises `SelectionError`."""
    if isinstance(columns, str | tuple) or _index(columns) is not None:
        return (to_column(columns),)
    if isinstance(columns, Iterable) and not isinstance(columns, bytes | Mapping):
        return tuple(to_column(pick) for pick in columns)
    raise SelectionError(f"columns cannot be {columns!r}", hint=_COLUMNS_HINT)


def to_column(pick: Any) -> ColumnPick:
    """A column from a name, a path, a pattern or an ordinal. Raises `SelectionError`."""
    if isinstance(pick, str):
        return pick
    if isinstance(pick, tuple) and pick and all(isinstance(part, str) for part in pick):
        return pick
    index = _index(pick)
    if index is None:
        raise SelectionError(f"a column cannot be {pick!r}", hint=_COLUMNS_HINT)
    return index


def to_ordinal(value: Any, what: str) -> int:
    """One ordinal, as any integer. Raises `SelectionError`."""
    index = _index(value)
    if index is None:
        raise SelectionError(f"{what} cannot be {value!r}", hint="Give an ordinal")
    return index


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


def to_pages(pages: Any) -> tuple[tuple[PageKey, Ordinals], ...]:
    """Pages from a mapping of (row group, column), or of columns. Raises `SelectionError`."""
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
            return row_group, to_column(key[1])
    return to_column(key)


def to_rows(rows: Any) -> tuple[Range | Slice, ...]:
    """Rows from a half-open pair, a slice, or a list of these. Raises `SelectionError`."""
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
            return tuple(part for item in items for part in to_rows(item))
    raise SelectionError(
        f"rows cannot be {rows!r}", hint="Give (start, stop), a slice, or a list of these"
    )


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


def _index(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


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
