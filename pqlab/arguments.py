"""Selections as text, for the command line and the magics: what `select()` takes, spelled out.

| argument | text |
|---|---|
| columns | `fare_amount,address.city`; `#3` is the leaf of that ordinal; `^total_.*$` a pattern |
| row groups | `0`, `0,2,5:8`, `-1`; ranges are half open |
| pages | `COLUMN:PAGES` in every selected row group, or `ROW_GROUP/COLUMN:PAGES` |
| rows | `1000:2000`, `:100`, several with commas; half open, counted over the whole file |

A name that holds a comma stands in double quotes. Everything here raises `SelectionError`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from typing import Any

from pqlab.errors import SelectionError

_RANGE = re.compile(r"(-?\d+)?(?:(:)(-?\d+)?)?")
_PAGES = re.compile(r"(?:(\d+)/)?(.+?):(-?\d[-\d:,]*|:[-\d:,]*)", re.DOTALL)


def selection(
    columns: Iterable[str] | None = None,
    row_groups: Iterable[str] | None = None,
    pages: Iterable[str] | None = None,
    rows: Iterable[str] | None = None,
) -> dict[str, Any]:
    """Arguments of `select()` from the texts of options that were given, each any number of times.

    Raises `SelectionError` for text that does not follow the table above.
    """
    picked: dict[str, Any] = {}
    if columns:
        picked["columns"] = [name for text in columns for name in _columns(text)]
    if row_groups:
        picked["row_groups"] = [
            part for text in row_groups for part in _ordinals(text, "row groups")
        ]
    if pages:
        picked["pages"] = {}
        for key, ordinals in map(_pages, pages):
            picked["pages"].setdefault(key, []).extend(ordinals)
    if rows:
        picked["rows"] = [part for text in rows for part in _rows(text)]
    return picked


def _columns(text: str) -> list[str | int]:
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True)) or [""]]
    if not all(names):
        raise SelectionError(f"an empty column name in {text!r}")
    return [_column(name) for name in names]


def _column(name: str) -> str | int:
    """A name or pattern as it is; `#3` as the ordinal of a leaf."""
    return int(name[1:]) if re.fullmatch(r"#\d+", name) else name


def _ordinals(text: str, what: str) -> list[int | slice]:
    chosen: list[int | slice] = []
    for part in map(str.strip, text.split(",")):
        match = _RANGE.fullmatch(part)
        if match is None or not (match[1] or match[2]):
            raise SelectionError(
                f"{what}: {part!r} is neither an ordinal nor a range",
                hint="Write for instance 0,2,5:8; a range ends before its second number",
            )
        start, stop = (int(number) if number else None for number in (match[1], match[3]))
        chosen.append(int(match[1]) if match[2] is None else slice(start, stop))
    return chosen


def _pages(text: str) -> tuple[Any, list[int | slice]]:
    match = _PAGES.fullmatch(text.strip())
    if match is None:
        raise SelectionError(
            f"pages: {text!r} is not [ROW_GROUP/]COLUMN:PAGES",
            hint="Write for instance fare_amount:0,3 or 2/fare_amount:4:8",
        )
    column = _column(match[2])
    key = column if match[1] is None else (int(match[1]), column)
    return key, _ordinals(match[3], "pages")


def _rows(text: str) -> list[slice]:
    chosen = []
    for part in map(str.strip, text.split(",")):
        match = re.fullmatch(r"(\d*):(\d*)", part)
        if match is None:
            raise SelectionError(
                f"rows: {part!r} is not a range START:STOP",
                hint="Write for instance 1000:2000 or :100; the row STOP is not included",
            )
        start, stop = (int(number) if number else None for number in match.groups())
        if start is not None and stop is not None and start > stop:
            raise SelectionError(
                f"rows: {part!r} ends before it starts", hint=f"Write {stop}:{start}"
            )
        chosen.append(slice(start, stop))
    return chosen
