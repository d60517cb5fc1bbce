"""What bounds rule out, row by row and value by value: a slow oracle that shares no code.

Statistics come from pyarrow; the page index is read by thriftpy2, and its bounds are unpacked here.
"""

from __future__ import annotations

import datetime as dt
import io
import math
import operator
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow.parquet as pq
from edited_footers import footer_bytes
from thriftpy2.protocol.compact import TCompactProtocol
from thriftpy2.transport.memory import TMemoryBuffer

from pqlab.footer import raw
from pqlab.predicate.predicate import And, Comparison, IsNull, Membership, Not, Or, Predicate

COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True)
class Known:
    """What is stated of some values: bounds, if there are any, nulls (None: unknown), and rows."""

    bounds: tuple[Any, Any] | None
    nulls: int | None
    rows: int
    only_nulls: bool = False


def may_hold(predicate: Predicate, known: Callable[[str], list[Known]], *, holds: bool) -> bool:
    """Whether a row may be wanted, of whose column's values `known` says all that is stated."""
    if isinstance(predicate, Not):
        return may_hold(predicate.part, known, holds=not holds)
    if isinstance(predicate, (And, Or)):
        found = [may_hold(part, known, holds=holds) for part in predicate.parts]
        return all(found) if isinstance(predicate, And) is holds else any(found)
    stated = known(".".join(predicate.column))
    return all(_one(predicate, each, holds=holds) for each in stated)


def _one(predicate: Comparison | Membership | IsNull, known: Known, *, holds: bool) -> bool:
    has_values = not known.only_nulls and (known.nulls is None or known.nulls < known.rows)
    if isinstance(predicate, IsNull):
        return (known.nulls is None or known.nulls > 0) if holds else has_values
    if not has_values or known.bounds is None:
        return has_values
    low, high = known.bounds
    is_float = isinstance(low, float)  # of which nobody says that there is no NaN
    if isinstance(predicate, Membership):
        inside = [v for v in predicate.values if low <= v <= high]
        nan = is_float and any(isinstance(v, float) and math.isnan(v) for v in predicate.values)
        return bool(inside) or nan if holds else is_float or low != high or not inside
    name, value = predicate.operator, predicate.value
    name = name if holds else OPPOSITE[name]
    is_nan = isinstance(value, float) and math.isnan(value)
    if name == "==":
        return is_nan or low <= value <= high
    if name == "!=":
        return is_float or not low == high == value
    if name in ("<", "<="):
        return is_nan or bool(COMPARED[name](low, value))
    return is_float or bool(COMPARED[name](high, value))


EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
UNPACKED: Mapping[str, Callable[[bytes], Any]] = {
    "i": lambda data: struct.unpack("<q", data)[0],
    "f": lambda data: struct.unpack("<d", data)[0],
    "s": bytes.decode,
    "d": lambda data: dt.date(1970, 1, 1) + dt.timedelta(struct.unpack("<i", data)[0]),
    "t": lambda data: EPOCH + dt.timedelta(microseconds=struct.unpack("<q", data)[0]),
    "m": lambda data: Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-2),
    "b": lambda data: data != b"\0",
    "u": lambda data: struct.unpack("<I", data)[0],
}


@dataclass(frozen=True)
class Page:
    """A page as its index states it: the rows of its row group, and what is known of them."""

    start: int
    stop: int
    known: Known


def by_statistics(data: bytes) -> list[dict[str, Known]]:
    """Of each row group and column, what the footer states, as pyarrow reads it."""
    metadata = pq.ParquetFile(io.BytesIO(data)).metadata
    found = []
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        columns = {}
        for chunk in map(group.column, range(metadata.num_columns)):
            stated = chunk.statistics
            bounds = None
            if stated is not None and stated.has_min_max:
                bounds = (stated.min, stated.max)
            nulls = stated.null_count if stated is not None and stated.has_null_count else None
            columns[chunk.path_in_schema] = Known(bounds, nulls, chunk.num_values)
        found.append(columns)
    return found


def by_index(data: bytes) -> list[dict[str, list[Page]]]:
    """Of each row group and column, the pages that its index states; none without an index."""
    footer = footer_bytes(data)
    assert footer is not None
    found = []
    for group in _read("FileMetaData", footer).row_groups:
        columns: dict[str, list[Page]] = {}
        for chunk in group.columns:
            if not chunk.column_index_offset:
                continue
            column = ".".join(chunk.meta_data.path_in_schema)
            start, size = chunk.column_index_offset, chunk.column_index_length
            bounds = _read("ColumnIndex", data[start : start + size])
            start, size = chunk.offset_index_offset, chunk.offset_index_length
            places = _read("OffsetIndex", data[start : start + size]).page_locations
            starts = [place.first_row_index for place in places] + [group.num_rows]
            columns[column] = [
                _page(column[-1], bounds, number, starts[number], starts[number + 1])
                for number in range(len(places))
            ]
        found.append(columns)
    return found


def _page(kind: str, index: Any, number: int, start: int, stop: int) -> Page:
    nulls = index.null_counts[number] if index.null_counts else None
    if index.null_pages[number]:
        return Page(start, stop, Known(None, nulls, stop - start, only_nulls=True))
    low, high = (UNPACKED[kind](side[number]) for side in (index.min_values, index.max_values))
    bounds = None if low != low or high != high else (low, high)  # noqa: PLR0124  # only NaN
    return Page(start, stop, Known(bounds, nulls, stop - start))


def _read(name: str, data: bytes) -> Any:
    found = getattr(raw.idl(), name)()
    TCompactProtocol(TMemoryBuffer(data)).read_struct(found)
    return found
