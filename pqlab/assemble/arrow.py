"""What was decoded to Arrow and polars, by the Arrow C data interface: buffers are not copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from pqlab.errors import UnsupportedError
from pqlab.native._native import Decoded

# A frame that is taken as a whole keeps all its memory until its last column is dropped, and taking
# columns one by one takes a few microseconds each.
_SMALL_BYTES = 1 << 20


def to_frame(decoded: Sequence[Decoded]) -> pl.DataFrame:
    """The columns, side by side, as a polars frame."""
    frames = [_frame(each) for each in decoded]
    if len(frames) == 1:
        return frames[0]
    return pl.DataFrame([column for frame in frames for column in frame])


def _frame(decoded: Decoded) -> pl.DataFrame:
    if not decoded.num_columns:
        return pl.DataFrame()
    if decoded.nbytes <= _SMALL_BYTES:
        return pl.DataFrame(decoded)
    columns = map(decoded.column, range(decoded.num_columns))
    return pl.DataFrame([pl.Series(column.name, column) for column in columns])


def to_table(decoded: Sequence[Decoded]) -> pa.Table:
    """The columns, side by side, as a pyarrow table.

    Raises `UnsupportedError` for lists and structs nested deeper than pyarrow takes them (64).
    """
    return beside([_table(each) for each in decoded])


def beside(parts: Sequence[Any]) -> Any:
    """Tables, or batches, of the same number of rows as one of all their columns."""
    if len(parts) == 1:
        return parts[0]
    columns = [column for part in parts for column in part.columns]
    fields = [field for part in parts for field in part.schema]
    return type(parts[0]).from_arrays(columns, schema=pa.schema(fields))


def _table(decoded: Decoded) -> pa.Table:
    try:
        return pa.table(decoded)
    except pa.ArrowInvalid as error:
        raise UnsupportedError(
            f"pyarrow does not take the column: {error}",
            hint="Take a frame of polars: read()",
            column=_first_refused(decoded),
        ) from None


def _first_refused(decoded: Decoded) -> str | None:
    for column in map(decoded.column, range(decoded.num_columns)):
        try:
            pa.array(column)
        except pa.ArrowInvalid:
            return column.name
    return None
