"""Decoded buffers to Arrow and polars: the buffers are handed on as they are, not copied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
import pyarrow as pa

from pqlab.assemble.nested import Assembled, assemble
from pqlab.cpu.engine import DecodedColumn
from pqlab.cpu.nesting import roots
from pqlab.errors import UnsupportedError

# The days since 1970 that polars has a calendar for, half open: printing others panics it.
_CALENDAR_DAYS = (-96_465_292, 95_026_237)
# (nanoseconds never leave it)
_UNITS_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}


def to_array(column: DecodedColumn) -> pa.Array:
    """The leaf's values as one Arrow array; the lists and groups above them are left out."""
    if pa.types.is_null(column.type):
        return pa.nulls(column.num_values)
    if pa.types.is_struct(column.type):
        return _struct(column)
    buffers = [_buffer(column.validity), _buffer(column.values)]
    if column.type in (pa.string_view(), pa.binary_view()):
        buffers += [
            pa.py_buffer(b"") if part is None else _buffer(part) for part in column.view_buffers
        ]
    return pa.Array.from_buffers(column.type, column.num_values, buffers, column.null_count)


def to_table(columns: Sequence[DecodedColumn], num_rows: int) -> pa.Table:
    """The root columns side by side; `num_rows` counts where there are none."""
    made = list(_root_columns(columns))
    if not made:
        return pa.table({"": pa.nulls(num_rows)}).select([])
    fields = [column.field for column in made]
    return pa.Table.from_arrays([column.array for column in made], schema=pa.schema(fields))


def to_frame(columns: Sequence[DecodedColumn]) -> pl.DataFrame:
    """The root columns as a polars frame. Raises as `to_series`."""
    for column in columns:
        _check_calendar(column)
    made = _root_columns(columns)
    return pl.DataFrame([_series(column.field.name, column.array) for column in made])


def to_series(column: DecodedColumn) -> pl.Series:
    """The leaf's values as a polars series with the leaf's name.

    Raises `UnsupportedError` for dates and timestamps beyond polars' calendar.
    """
    _check_calendar(column)
    return _series(column.leaf.name, to_array(column))


def _series(name: str, array: pa.Array) -> pl.Series:
    return pl.Series(name, pl.from_arrow(array))


def _root_columns(columns: Sequence[DecodedColumn]) -> Iterator[Assembled]:
    """One column per root field, of those of its leaves that were read."""
    for start, stop in roots([column.path for column in columns]):
        under = columns[start:stop]
        yield assemble(under, [to_array(column) for column in under])


def _check_calendar(column: DecodedColumn) -> None:
    is_date = pa.types.is_date(column.type)
    if not is_date and not (pa.types.is_timestamp(column.type) and column.type.unit != "ns"):
        return
    units = 1 if is_date else _UNITS_PER_DAY[column.type.unit]
    values = column.values.view(np.int32 if is_date else np.int64)  # 0 where they are null
    first, stop = (day * units for day in _CALENDAR_DAYS)
    for value in (values.min(initial=0), values.max(initial=0)):
        if not first <= value < stop:
            raise UnsupportedError(
                f"polars has no calendar for the value {value:,} ({column.type} since 1970)",
                hint="Read it with to_arrow(), which keeps it as stored",
                column=column.leaf.column,
            )


def _buffer(array: np.ndarray | None) -> pa.Buffer | None:
    return None if array is None else pa.py_buffer(array)


def _struct(column: DecodedColumn) -> pa.Array:
    """A struct of 32-bit fields, which stand side by side in each value."""
    fields = list(column.type)
    parts = column.values.view(np.uint32).reshape(-1, len(fields))
    children = [
        pa.Array.from_buffers(
            field.type, column.num_values, [None, pa.py_buffer(np.ascontiguousarray(parts[:, at]))]
        )
        for at, field in enumerate(fields)
    ]
    return pa.Array.from_buffers(
        column.type,
        column.num_values,
        [_buffer(column.validity)],
        column.null_count,
        children=children,
    )
