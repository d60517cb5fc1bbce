"""The first rows in which two files, or datasets, have other values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

import polars as pl

from pqlab.errors import PqlabError
from pqlab.footer import frame_columns
from pqlab.footer.schema import SchemaNode
from pqlab.text import clip, visible

BATCH_ROWS = 1 << 17
_SHOWN_CHARACTERS = 120


def value_differences(
    left: Any, right: Any, names: Iterable[str], *, max_rows: int
) -> pl.DataFrame:
    """Per root column, its first differing rows, and how many there are.

    `left`, `right`: files or datasets that both have columns of these `names`. Rows are compared by
    position, as far as both go; nulls are equal, and so are NaNs. A column that cannot be read, or
    has another type, is a row that says so.
    """
    found = [row for name in names for row in _column_differences(left, right, name, max_rows)]
    nothing = [None] * len(found)
    series = {
        **{column.name: pl.Series(nothing, dtype=column.dtype) for column in frame_columns.DIFF},
        "part": pl.Series(["values"] * len(found), dtype=pl.String),
        **{
            cell: pl.Series([row.get(cell) for row in found], dtype=dtype)
            for cell, dtype in _CELLS.items()
        },
    }
    return frame_columns.build(frame_columns.DIFF, series)


_CELLS = {
    "column": pl.String(),
    "row": pl.Int64(),
    "property": pl.String(),
    "left": pl.String(),
    "right": pl.String(),
    "change": pl.Float64(),
}


def shared_roots(left: SchemaNode, right: SchemaNode) -> list[str]:
    """The root columns that both schemas have, in the order of the left one."""
    others = {node.name for node in right.children}
    return [name for name in dict.fromkeys(n.name for n in left.children) if name in others]


def _column_differences(
    left: Any, right: Any, name: str, max_rows: int
) -> Iterator[dict[str, Any]]:
    shown, count, row = 0, 0, 0
    try:
        for one, other in zip_longest(_batches(left, name), _batches(right, name)):
            if one is None or other is None:
                break  # the number of rows is another difference
            if one.dtype != other.dtype:
                yield _row(name, "type", str(one.dtype), str(other.dtype))
                return
            height = min(len(one), len(other))
            differs = ~one.head(height).eq_missing(other.head(height))
            places = differs.arg_true()
            count += len(places)
            for place in places.head(max_rows - shown).to_list():
                yield _row(name, "value", _shown(one[place]), _shown(other[place]), row + place)
                shown += 1
            row += height
    except PqlabError as error:
        yield _row(name, "unread", error.message, error.message)
    if count:
        yield {**_row(name, "differing rows", None, None), "change": float(count)}


def _row(
    column: str, name: str, left: str | None, right: str | None, row: int | None = None
) -> dict[str, Any]:
    return {"column": column, "property": name, "left": left, "right": right, "row": row}


def _batches(source: Any, name: str) -> Iterable[pl.Series]:
    with source.iter_batches(BATCH_ROWS, (name,)) as frames:
        for frame in frames:
            yield frame.to_series()


def _shown(value: Any) -> str | None:
    if value is None:
        return None
    plain = value.to_list() if isinstance(value, pl.Series) else value
    return clip(visible(str(plain)), _SHOWN_CHARACTERS)
