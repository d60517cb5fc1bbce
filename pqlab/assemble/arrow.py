"""Decoded buffers to Arrow and polars: the buffers are handed on as they are, not copied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa

from pqlab.cpu.engine import DecodedColumn
from pqlab.errors import UnsupportedError

# The days since 1970 that polars has a calendar for, half open: printing others panics it.
_CALENDAR_DAYS = (-96_465_292, 95_026_237)
# (nanoseconds never leave it)
_UNITS_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}


def to_array(column: DecodedColumn) -> pa.Array:
    """The column as one Arrow array."""
    if pa.types.is_null(column.type):
        return pa.nulls(column.num_rows)
    if pa.types.is_struct(column.type):
        return _struct(column)
    buffers = [_buffer(column.validity), _buffer(column.values)]
    if column.type in (pa.string_view(), pa.binary_view()):
        buffers += [
            pa.py_buffer(b"") if part is None else _buffer(part) for part in column.view_buffers
        ]
    return pa.Array.from_buffers(column.type, column.num_rows, buffers, column.null_count)


def to_table(columns: Sequence[DecodedColumn], num_rows: int) -> pa.Table:
    """The columns side by side; `num_rows` counts where there are none."""
    fields = [
        pa.field(column.leaf.name, column.type, column.leaf.max_definition_level > 0)
        for column in columns
    ]
    if not fields:
        return pa.table({"": pa.nulls(num_rows)}).select([])
    return pa.Table.from_arrays([to_array(column) for column in columns], schema=pa.schema(fields))


def to_frame(columns: Sequence[DecodedColumn]) -> pl.DataFrame:
    """The columns as a polars frame."""
    return pl.DataFrame([to_series(column) for column in columns])


def to_series(column: DecodedColumn) -> pl.Series:
    """The column as a polars series with the leaf's name.

    Raises `UnsupportedError` for dates and timestamps beyond polars' calendar.
    """
    _check_calendar(column)
    return pl.Series(column.leaf.name, pl.from_arrow(to_array(column)))


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
            field.type, column.num_rows, [None, pa.py_buffer(np.ascontiguousarray(parts[:, at]))]
        )
        for at, field in enumerate(fields)
    ]
    return pa.Array.from_buffers(
        column.type,
        column.num_rows,
        [_buffer(column.validity)],
        column.null_count,
        children=children,
    )
