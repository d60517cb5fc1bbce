"""Frames as text: aligned columns, rich tables, and JSON that other programs can rely on.

The JSON form: integers are exact; binary is `{"base64": "..."}`; floats that JSON lacks are
`{"float": "nan"}` (`"inf"`, `"-inf"`); decimals, dates, times, timestamps and durations are text
(ISO 8601); null is null; lists and structs are arrays and objects.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import polars as pl

from pqlab import text

if TYPE_CHECKING:
    from rich.table import Table

JSON_VERSION = 1
_SLICE_ROWS = 4096  # turned into Python objects at a time
_CELL_CHARACTERS = 60
_READABLE_CHARACTERS = 16  # of longer text, so many are worth showing


# ----------------------------------------------------------------------------------------- text


def plain_lines(frame: pl.DataFrame) -> Iterator[str]:
    """The frame as lines of aligned columns, a header first; numbers as they are, for `awk`."""
    columns = [[cell(value) for value in column] for column in portable(frame)]
    names = [text.visible(name) for name in frame.columns]
    widths = [
        max(len(name), max(map(len, cells), default=0))
        for name, cells in zip(names, columns, strict=True)
    ]
    right = [dtype.is_numeric() for dtype in frame.dtypes]
    for row in (names, *zip(*columns, strict=True)):
        yield "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ).rstrip()


def fitting(frame: pl.DataFrame, width: int) -> pl.DataFrame:
    """The first columns of the frame, as many as a terminal of so many characters can show well."""
    shown = portable(frame)
    for number, column in enumerate(shown):
        longest = max((len(cell(value, grouped=True)) for value in column), default=0)
        width -= min(longest, _READABLE_CHARACTERS) + 3  # and what parts columns
        if width < 0:
            return frame[:, : max(1, number)]
    return frame


def rich_table(frame: pl.DataFrame, title: str | None = None) -> Table:
    """The frame as a table for a terminal; cells and names are text, never markup."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=None if title is None else Text(title),
        box=box.SIMPLE_HEAD,
        title_justify="left",
        pad_edge=False,
        padding=(0, 1),
    )
    shown = portable(frame)
    columns = [[cell(value, grouped=True) for value in column] for column in shown]
    for name, dtype, cells in zip(frame.columns, frame.dtypes, columns, strict=True):
        heading = _folded(text.visible(name), max(map(len, cells), default=0))
        is_number = dtype.is_numeric()
        table.add_column(Text(heading), justify="right" if is_number else "left", no_wrap=is_number)
    for row in zip(*columns, strict=True):
        table.add_row(*(Text(shown, no_wrap=True, overflow="ellipsis") for shown in row))
    return table


def _folded(name: str, width: int) -> str:
    """The name on several lines, broken after underscores, where that makes a column narrower."""
    parts = [f"{part}_" for part in name.split("_")]
    parts[-1] = parts[-1][:-1]
    width = max(width, *map(len, parts))
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def cell(value: Any, *, grouped: bool = False) -> str:
    """One value on one line, clipped: absent as a dash, empty text as `""`.

    `grouped`: integers have commas between their thousands.
    """
    match value:
        case None:
            return text.ABSENT
        case str():
            return text.clip(text.visible(value), _CELL_CHARACTERS)
        case bytes():
            return text.from_bytes(value)
        case bool():
            return str(value).lower()
        case int():
            return f"{value:,}" if grouped else str(value)
        case pl.Series():
            return cell(value.to_list())
        case list() | dict():
            return text.clip(text.visible(to_json(value, ascii_only=False)), _CELL_CHARACTERS)
        case _:
            return str(value)


# ----------------------------------------------------------------------------------------- JSON


def json_rows(frame: pl.DataFrame) -> Iterator[str]:
    """Each row as one JSON object on one line. Names that occur once are kept as they are."""
    for part in portable(frame).iter_slices(_SLICE_ROWS):
        yield from map(to_json, part.iter_rows(named=True))


def to_json(value: Any, *, ascii_only: bool = True) -> str:
    """A value in the JSON form of this module, on one line.

    `ascii_only`: other characters are escaped, so that none can act on whoever prints it.
    """
    try:
        return _dumps(value, ensure_ascii=ascii_only)
    except ValueError:  # a float that JSON lacks
        return _dumps(_finite(value), ensure_ascii=ascii_only)


def _dumps(value: Any, *, ensure_ascii: bool) -> str:
    return json.dumps(value, default=_marked, ensure_ascii=ensure_ascii, allow_nan=False)


def json_document(
    command: str, values: Mapping[str, Any], rows: pl.DataFrame | None
) -> Iterator[str]:
    """The pieces of `{"pqlab": 1, "command": ..., ..., "rows": [...]}`, a row to a line."""
    head = {"pqlab": JSON_VERSION, "command": command, **values}
    yield to_json(head)[:-1]
    if rows is not None:
        yield ', "rows": ['
        for number, row in enumerate(json_rows(rows)):
            yield (",\n" if number else "\n") + row
        yield "\n]"
    yield "}\n"


def _marked(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, pl.Series):
        return value.to_list()
    if isinstance(value, Decimal):
        return format(value, "f")
    raise TypeError(f"no JSON form for {type(value).__name__}")


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return {"float": str(value)}
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list():
            return [_finite(item) for item in value]
        case _:
            return value


def portable(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with times of every kind as ISO text, exact to the nanosecond.

    Floats of 16 and 32 bits become the 64-bit floats with the same shortest decimal.
    """
    changed = [_portable(pl.col(name), dtype) for name, dtype in frame.schema.items()]
    return frame.with_columns(column for column in changed if column is not None)


def _portable(expression: pl.Expr, dtype: Any) -> pl.Expr | None:
    """The expression with what `portable` changes changed; None where there is nothing."""
    if dtype.is_temporal():
        return expression.dt.to_string("iso")
    if dtype.is_float() and dtype != pl.Float64:
        return expression.cast(pl.Float32).cast(pl.String).cast(pl.Float64)
    if isinstance(dtype, pl.List):
        inner = _portable(pl.element(), dtype.inner)
        return None if inner is None else expression.list.eval(inner)
    if isinstance(dtype, pl.Struct):
        fields = [_portable(pl.field(field.name), field.dtype) for field in dtype.fields]
        changed = [field for field in fields if field is not None]
        return expression.struct.with_fields(changed) if changed else None
    return None
