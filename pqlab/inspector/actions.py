"""What a user can do to the state: pure functions, in one table by name.

What they are given comes from a browser: it is checked, and cut to what the file has.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

from pqlab.errors import SelectionError
from pqlab.footer.metadata import FileMetaData
from pqlab.inspector.columns import column_picks, grid_rows, leaves_of
from pqlab.inspector.state import GridOrder, Lens, Order, Screen, State, Tab
from pqlab.plan.picks import PageKey, Slice
from pqlab.plan.selection import Selection, narrow

Mode = Literal["replace", "add", "toggle"]


def act(metadata: FileMetaData, state: State, name: str, arguments: Mapping[str, Any]) -> State:
    """The state after an action. Raises `SelectionError` for what is none."""
    if name not in ACTIONS:
        raise SelectionError(f"there is no action {name!r}")
    try:
        return ACTIONS[name](metadata, state, **arguments)
    except (TypeError, ValueError, IndexError) as error:
        raise SelectionError(
            f"the action {name!r} cannot be {dict(arguments)!r}: {error}"
        ) from None


def go(
    metadata: FileMetaData,
    state: State,
    *,
    screen: str,
    row_group: int | None = None,
    leaf: int | None = None,
    page: int | None = None,
    tab: str | None = None,
) -> State:
    """Go to a screen, and there to a place; what is not given stays as it is."""
    new = replace(state, screen=_choice(screen, Screen))
    if row_group is not None:
        new = replace(new, row_group=_ordinal(row_group, metadata.num_row_groups))
    if leaf is not None:
        new = replace(new, leaf=_ordinal(leaf, metadata.num_leaves))
    if (new.leaf, new.row_group) != (state.leaf, state.row_group):
        new = replace(new, page=None, tab="pages", search="", probe="")
    if page is not None:
        new = replace(new, page=int(page), tab="page")
    if tab is not None:
        new = replace(new, tab=_choice(tab, Tab))
    if screen in ("column", "chunk"):
        _ordinal(new.leaf if new.leaf is not None else -1, metadata.num_leaves)
    if screen == "chunk":
        _ordinal(new.row_group if new.row_group is not None else -1, metadata.num_row_groups)
    return new


def look(
    metadata: FileMetaData,  # noqa: ARG001  # as every action
    state: State,
    *,
    lens: str | None = None,
    order: str | None = None,
    pattern: str | None = None,
    search: str | None = None,
    probe: str | None = None,
) -> State:
    """Look at the grid through another lens, in another order, or at some of it.

    Or at the dictionary's entries that have `search` in them; or for `probe` in the bloom filter.
    """
    if lens is not None:
        state = replace(state, lens=_choice(lens, Lens))
    if order is not None:
        state = replace(state, grid_order=_choice(order, GridOrder))
    if pattern is not None:
        state = replace(state, filter=str(pattern)[:200])
    if probe is not None:
        state = replace(state, probe=str(probe)[:1000])
    return state if search is None else replace(state, search=str(search)[:200])


def fold(metadata: FileMetaData, state: State, *, root: int) -> State:
    """Hide the leaves of a root column, or show them again."""
    root = _ordinal(root, len(metadata.schema.children))
    return replace(state, folded=state.folded ^ {root})


def sort(metadata: FileMetaData, state: State, *, table: str, column: str) -> State:  # noqa: ARG001  # as every action
    """Sort a table by a column: rising, falling, as it was."""
    old = state.order(table)
    new = Order(column)
    if old.column == column:
        new = Order() if old.descending else Order(column, descending=True)
    others = tuple(pair for pair in state.orders if pair[0] != table)
    return replace(state, orders=(*others, (table, new)))


def pick_cells(
    metadata: FileMetaData,
    state: State,
    *,
    rows: tuple[int, int] | None,
    row_groups: tuple[int, int] | None,
    mode: Mode = "replace",
) -> State:
    """Pick a rectangle of the grid: rows as it shows them, and row groups, both half open.

    None: all, in that direction. "add" joins what is picked, "toggle" takes away what is.
    """
    chosen_leaves = None if rows is None else _leaves_between(metadata, state, *rows)
    chosen_groups = (
        None if row_groups is None else list(range(*_span(row_groups, metadata.num_row_groups)))
    )
    old_leaves, old_groups = picked(metadata, state.selection)
    if mode == "replace":
        leaves, groups = chosen_leaves, chosen_groups
    else:
        leaves = _joined(old_leaves, chosen_leaves, mode)
        groups = _joined(old_groups, chosen_groups, mode)
    return _with(metadata, state, leaves, groups)


def picked(
    metadata: FileMetaData, selection: Selection
) -> tuple[list[int] | None, list[int] | None]:
    """The picked leaves and row groups; None: all, unasked. Raises `SelectionError`."""
    narrowed = narrow(replace(selection, pages=None, rows=None), metadata, "")
    return (
        None if selection.columns is None else list(narrowed.leaves),
        None if selection.row_groups is None else list(narrowed.rows),
    )


def pick_pages(
    metadata: FileMetaData, state: State, *, pages: tuple[int, int] | None, mode: Mode = "replace"
) -> State:
    """Pick pages [start, stop) of the chunk where the user is; None: all of it."""
    if state.leaf is None or state.row_group is None:
        raise SelectionError("there is no chunk here whose pages could be picked")
    (column,) = column_picks(metadata, [state.leaf])
    key: PageKey = (state.row_group, column)
    others = tuple(pair for pair in state.selection.pages or () if pair[0] != key)
    if pages is None:
        return replace(state, selection=replace(state.selection, pages=others or None))
    start, stop = (int(page) for page in pages)
    if not 0 <= start < stop:
        raise SelectionError(f"pages {start}:{stop} are none")
    new: tuple[int | Slice, ...] = (start,) if stop == start + 1 else (Slice(start, stop, None),)
    if mode == "add":
        before = dict(state.selection.pages or ()).get(key, ())
        new = (*(pick for pick in before if pick not in new), *new)
    else:
        others = ()
    return replace(state, selection=replace(state.selection, pages=(*others, (key, new))))


def pick_rows(metadata: FileMetaData, state: State, *, rows: tuple[int, int] | None) -> State:
    """Pick rows [start, stop) of the whole file; None: all."""
    if rows is None:
        return replace(state, selection=replace(state.selection, rows=None))
    start, stop = _span(rows, metadata.num_rows)
    return replace(state, selection=replace(state.selection, rows=((start, stop),)))


def clear(metadata: FileMetaData, state: State) -> State:  # noqa: ARG001  # as every action
    """Pick nothing in particular, which is everything."""
    return replace(state, selection=Selection())


def name(metadata: FileMetaData, state: State, *, variable: str) -> State:  # noqa: ARG001  # as every action
    """Name the variable that the frame goes into."""
    if not variable.isidentifier() or keyword.iskeyword(variable):
        raise SelectionError(f"{variable!r} is not the name of a variable")
    return replace(state, variable=variable)


ACTIONS: dict[str, Callable[..., State]] = {
    function.__name__: function
    for function in (go, look, fold, sort, pick_cells, pick_pages, pick_rows, clear, name)
}


def _leaves_between(metadata: FileMetaData, state: State, start: int, stop: int) -> list[int]:
    rows = grid_rows(metadata, state.grid_order, state.filter, state.folded)
    start, stop = _span((start, stop), len(rows))
    return sorted({leaf for row in rows[start:stop] for leaf in leaves_of(metadata, row)})


def _joined(old: list[int] | None, new: list[int] | None, mode: Mode) -> list[int] | None:
    if new is None or old is None:
        return new if old is None else old
    if mode == "toggle" and set(new) <= set(old):
        return sorted(set(old) - set(new)) or None
    return sorted({*old, *new})


def _with(
    metadata: FileMetaData, state: State, leaves: list[int] | None, groups: Iterable[int] | None
) -> State:
    columns = None if leaves is None else column_picks(metadata, leaves)
    row_groups = None if groups is None else _slices(list(groups))
    selection = Selection(columns=columns, row_groups=row_groups, rows=state.selection.rows)
    return replace(state, selection=selection)


def _slices(numbers: list[int]) -> tuple[int | Slice, ...]:
    """Sorted ordinals as slices where several follow each other."""
    found: list[int | Slice] = []
    start = 0
    for end in range(1, len(numbers) + 1):
        if end == len(numbers) or numbers[end] != numbers[end - 1] + 1:
            several = end - start > 2
            stop = numbers[end - 1] + 1
            found += [Slice(numbers[start], stop, None)] if several else numbers[start:end]
            start = end
    return tuple(found)


def _span(span: Iterable[Any], count: int) -> tuple[int, int]:
    start, stop = (min(max(int(end), 0), count) for end in span)
    if start >= stop:
        raise SelectionError(f"{start}:{stop} is empty")
    return start, stop


def _ordinal(value: Any, count: int) -> int:
    if not isinstance(value, int) or not 0 <= value < count:
        raise SelectionError(f"there is no {value!r} among {count:,}")
    return value


def _choice(value: str, choices: Any) -> Any:
    if value not in get_args(choices):
        raise SelectionError(f"{value!r} is none of {', '.join(get_args(choices))}")
    return value
