"""Decoded buffers to Arrow and polars: the buffers are handed on as they are, not copied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa

from pqlab.cpu.engine import DecodedColumn


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
    """The column as a polars series with the leaf's name."""
    return pl.Series(column.leaf.name, pl.from_arrow(to_array(column)))


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
