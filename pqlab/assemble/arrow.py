"""What was decoded to Arrow and polars, by the Arrow C data interface: buffers are not copied."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from pqlab.errors import UnsupportedError
from pqlab.native._native import Decoded

# A frame that is taken as a whole keeps all its memory until its last column is dropped, and taking
# columns one by one takes a few microseconds each.
_SMALL_BYTES = 1 << 20


def to_frame(decoded: Decoded) -> pl.DataFrame:
    """The columns as a polars frame."""
    if not decoded.num_columns:
        return pl.DataFrame()
    if decoded.nbytes <= _SMALL_BYTES:
        return pl.DataFrame(decoded)
    columns = map(decoded.column, range(decoded.num_columns))
    return pl.DataFrame([pl.Series(column.name, column) for column in columns])


def to_table(decoded: Decoded) -> pa.Table:
    """The columns as a pyarrow table of `decoded.num_rows` rows.

    Raises `UnsupportedError` for lists and structs nested deeper than pyarrow takes them (64).
    """
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
