"""What was decoded to Arrow and polars, by the Arrow C data interface: buffers are not copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import polars as pl
import pyarrow as pa

from pqlab.errors import UnsupportedError
from pqlab.gpu.stacked import Stacked
from pqlab.native._native import Decoded, DecodedColumn

# A frame that is taken as a whole keeps all its memory until its last column is dropped, and taking
# columns one by one takes a few microseconds each.
_SMALL_BYTES = 1 << 20

# What polars has an Enum's codes in, for fewer categories than that.
_CODES = ((1 << 8, pl.UInt8), (1 << 16, pl.UInt16), (1 << 32, pl.UInt32))


def to_frame(decoded: Sequence[Decoded | Stacked]) -> pl.DataFrame:
    """The columns, side by side, as a polars frame."""
    frames = [_frame(each) for each in decoded]
    if len(frames) == 1:
        return frames[0]
    return pl.DataFrame([column for frame in frames for column in frame])


def _frame(decoded: Decoded | Stacked) -> pl.DataFrame:
    if isinstance(decoded, Stacked):
        return joined([_frame(part) for part in decoded.parts])
    if not decoded.num_columns:
        return pl.DataFrame()
    ordered = decoded.ordered
    if not ordered and (decoded.num_columns == 1 or decoded.nbytes <= _SMALL_BYTES):
        return pl.DataFrame(decoded)
    columns = list(map(decoded.column, range(decoded.num_columns)))
    return pl.DataFrame(
        [
            _enum(column) if at in ordered else pl.Series(column.name, column)
            for at, column in enumerate(columns)
        ]
    )


def _enum(column: DecodedColumn) -> pl.Series:
    """Codes and their words as an Enum, which has codes no wider than they must be."""
    array = pa.array(column)
    dtype = pl.Enum(array.dictionary.to_pylist())
    codes = cast("pl.Series", pl.from_arrow(array.indices))
    narrow = next(dtype for count, dtype in _CODES if len(array.dictionary) < count)
    return codes.cast(narrow).cat.to(dtype).alias(column.name)


def joined(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Frames under each other; their Enums become those of all their categories, sorted."""
    if len(frames) == 1:
        return frames[0]
    enums = {}
    for name, dtype in frames[0].schema.items():
        if isinstance(dtype, pl.Enum):
            found = (cast("pl.Enum", frame.schema[name]).categories for frame in frames)
            enums[name] = pl.Enum(sorted({word for words in found for word in words}))
    if enums:
        frames = [frame.cast(cast("Any", enums)) for frame in frames]
    return pl.concat(frames, rechunk=False)


def to_table(decoded: Sequence[Decoded | Stacked]) -> pa.Table:
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


def _table(decoded: Decoded | Stacked) -> pa.Table:
    if isinstance(decoded, Stacked):
        return pa.concat_tables([_table(part) for part in decoded.parts])
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
