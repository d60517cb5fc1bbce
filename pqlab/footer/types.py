"""The table of types: what a leaf becomes in Arrow and in polars. It never depends on values.

An annotation counts only on the physical type that LogicalTypes.md allows it on (a UUID of 12 bytes
is 12 bytes); everywhere else the leaf is what its physical type says. So every leaf has a type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache
from typing import Literal, NamedTuple

import polars as pl
import pyarrow as pa

from pqlab import text
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.schema import LogicalType, SchemaNode

Int96Unit = Literal["ns", "us"]
TypeKey = tuple[str, LogicalType | None, int | None]  # physical type, annotation, type length
ArrowTypeOf = Callable[[str, LogicalType], pa.DataType | None]

# DECIMAL of more digits stays as its bytes.
MAX_DECIMAL_PRECISION = 38

# Arrow's names of the units of TIME and TIMESTAMP.
ARROW_UNIT: dict[str | None, Literal["ms", "us", "ns"]] = {
    "MILLIS": "ms",
    "MICROS": "us",
    "NANOS": "ns",
}

INTERVAL_TYPE = pa.struct(
    [pa.field(name, pa.uint32(), nullable=False) for name in ("months", "days", "milliseconds")]
)

_PHYSICAL: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "INT32": pa.int32(),
    "INT64": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BYTE_ARRAY": pa.binary_view(),
    "FIXED_LEN_BYTE_ARRAY": pa.binary_view(),
}

_INTEGER: dict[tuple[str, int | None, bool | None], pa.DataType] = {
    ("INT32", 8, True): pa.int8(),
    ("INT32", 16, True): pa.int16(),
    ("INT32", 32, True): pa.int32(),
    ("INT64", 64, True): pa.int64(),
    ("INT32", 8, False): pa.uint8(),
    ("INT32", 16, False): pa.uint16(),
    ("INT32", 32, False): pa.uint32(),
    ("INT64", 64, False): pa.uint64(),
}

_TIME: dict[tuple[str, str | None], pa.DataType] = {
    ("INT32", "MILLIS"): pa.time32("ms"),
    ("INT64", "MICROS"): pa.time64("us"),
    ("INT64", "NANOS"): pa.time64("ns"),
}


def _integer(physical_type: str, annotation: LogicalType) -> pa.DataType | None:
    return _INTEGER.get((physical_type, annotation.bit_width, annotation.is_signed))


def _time(physical_type: str, annotation: LogicalType) -> pa.DataType | None:
    return _TIME.get((physical_type, annotation.unit))


def _timestamp(_: str, annotation: LogicalType) -> pa.DataType | None:
    unit = ARROW_UNIT.get(annotation.unit)
    return pa.timestamp(unit, "UTC" if annotation.is_adjusted_to_utc else None) if unit else None


def _decimal(_: str, annotation: LogicalType) -> pa.DataType | None:
    precision, scale = annotation.precision or 0, annotation.scale or 0
    fits = 1 <= precision <= MAX_DECIMAL_PRECISION and 0 <= scale <= precision
    return pa.decimal128(precision, scale) if fits else None


def _always(data_type: pa.DataType | None) -> ArrowTypeOf:
    return lambda _physical_type, _annotation: data_type


_AS_STORED = _always(None)


class SortOrder(Enum):
    """How the values of a leaf compare (ColumnOrder in parquet.thrift)."""

    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "signed, with NaN and two zeros"
    INT96 = "chronological"
    UNDEFINED = "undefined"


class Annotation(NamedTuple):
    """A row of the table: where a logical type may stand, and what it makes of the leaf."""

    lengths: dict[str, int | None]  # the physical types that it may stand on, the length if fixed
    arrow: ArrowTypeOf  # of the physical type and the annotation; None: the physical type's
    order: SortOrder


_BYTES: dict[str, int | None] = {"BYTE_ARRAY": None}
_INTEGERS: dict[str, int | None] = {"INT32": None, "INT64": None}
_NUMBERS: dict[str, int | None] = {**_INTEGERS, **_BYTES, "FIXED_LEN_BYTE_ARRAY": None}
_ANY: dict[str, int | None] = {**dict.fromkeys(_PHYSICAL), "INT96": None}

ANNOTATIONS: dict[str, Annotation] = {
    "STRING": Annotation(_BYTES, _always(pa.string_view()), SortOrder.UNSIGNED),
    "ENUM": Annotation(_BYTES, _always(pa.string_view()), SortOrder.UNSIGNED),
    "JSON": Annotation(_BYTES, _always(pa.string_view()), SortOrder.UNSIGNED),
    "BSON": Annotation(_BYTES, _AS_STORED, SortOrder.UNSIGNED),
    "UUID": Annotation({"FIXED_LEN_BYTE_ARRAY": 16}, _AS_STORED, SortOrder.UNSIGNED),
    "INTEGER": Annotation(_INTEGERS, _integer, SortOrder.SIGNED),  # unsigned where it says so
    "DECIMAL": Annotation(_NUMBERS, _decimal, SortOrder.SIGNED),
    "DATE": Annotation({"INT32": None}, _always(pa.date32()), SortOrder.SIGNED),
    "TIME": Annotation(_INTEGERS, _time, SortOrder.SIGNED),
    "TIMESTAMP": Annotation({"INT64": None}, _timestamp, SortOrder.SIGNED),
    "FLOAT16": Annotation({"FIXED_LEN_BYTE_ARRAY": 2}, _always(pa.float16()), SortOrder.FLOAT),
    "INTERVAL": Annotation(
        {"FIXED_LEN_BYTE_ARRAY": 12}, _always(INTERVAL_TYPE), SortOrder.UNDEFINED
    ),
    "GEOMETRY": Annotation(_BYTES, _AS_STORED, SortOrder.UNDEFINED),
    "GEOGRAPHY": Annotation(_BYTES, _AS_STORED, SortOrder.UNDEFINED),
    "UNKNOWN": Annotation(_ANY, _always(pa.null()), SortOrder.UNDEFINED),
}

_PHYSICAL_ORDER: dict[str, SortOrder] = {
    "BOOLEAN": SortOrder.SIGNED,
    "INT32": SortOrder.SIGNED,
    "INT64": SortOrder.SIGNED,
    "INT96": SortOrder.INT96,
    "FLOAT": SortOrder.FLOAT,
    "DOUBLE": SortOrder.FLOAT,
    "BYTE_ARRAY": SortOrder.UNSIGNED,
    "FIXED_LEN_BYTE_ARRAY": SortOrder.UNSIGNED,
}


def _row(
    physical_type: str, annotation: LogicalType | None, type_length: int | None
) -> Annotation | None:
    """The annotation's row, if it may stand on this leaf."""
    row = ANNOTATIONS.get(annotation.kind) if annotation else None
    if row is None or physical_type not in row.lengths:
        return None
    return row if row.lengths[physical_type] in (None, type_length) else None


@cache
def leaf_arrow_type(
    physical_type: str,
    annotation: LogicalType | None,
    type_length: int | None,
    int96_unit: Int96Unit = "ns",
) -> pa.DataType:
    """Arrow type of a leaf's values; `int96_unit`: the unit of INT96 timestamps."""
    row = _row(physical_type, annotation, type_length)
    arrow = row.arrow(physical_type, annotation) if row and annotation else None
    if arrow is not None:
        return arrow
    return pa.timestamp(int96_unit) if physical_type == "INT96" else _PHYSICAL[physical_type]


@cache
def _polars_type(arrow: pa.DataType) -> pl.DataType:
    return pl.Series(pl.from_arrow(pa.nulls(0, arrow))).dtype


def type_key(leaf: SchemaNode) -> TypeKey:
    """All that a leaf's type depends on."""
    if leaf.physical_type is None:
        raise TypeError(f"{leaf.column!r} is a group: only leaves have values")
    return leaf.physical_type, leaf.annotation, leaf.type_length


def arrow_type(leaf: SchemaNode, int96_unit: Int96Unit = "ns") -> pa.DataType:
    """Arrow type that a leaf's values are assembled into: its own type, without its lists.

    Strings and bytes are views; TIME and TIMESTAMP keep the file's unit.
    """
    return leaf_arrow_type(*type_key(leaf), int96_unit)


def polars_type(leaf: SchemaNode, int96_unit: Int96Unit = "ns") -> pl.DataType:
    """Polars dtype of a leaf's values: its own type, without its lists."""
    return _polars_type(arrow_type(leaf, int96_unit))


@cache
def leaf_sort_order(
    physical_type: str, annotation: LogicalType | None, type_length: int | None
) -> SortOrder:
    """How the values compare; UNDEFINED for an annotation that is new, or not allowed there."""
    if annotation is None:
        return _PHYSICAL_ORDER[physical_type]
    row = _row(physical_type, annotation, type_length)
    if row is None:
        return SortOrder.UNDEFINED
    if annotation.kind == "INTEGER" and not annotation.is_signed:
        return SortOrder.UNSIGNED
    return row.order


def type_warnings(metadata: FileMetaData) -> tuple[str, ...]:
    """The annotations whose leaves are read as what they are stored as, and why; kept with it."""
    return metadata.kept("type warnings", lambda: tuple(_type_warnings(metadata)))


def _type_warnings(metadata: FileMetaData) -> Iterator[str]:
    columns: dict[str, list[str]] = {}
    for leaf in metadata.leaves:
        warning = _type_warning(*type_key(leaf))
        if warning is not None:
            columns.setdefault(warning, []).append(leaf.column)
    for warning, found in columns.items():
        more = f" and {text.plural(len(found) - 1, 'more column')}" if len(found) > 1 else ""
        yield f"{found[0]!r}{more}: {warning}"


@cache
def _type_warning(
    physical_type: str, annotation: LogicalType | None, type_length: int | None
) -> str | None:
    if annotation is None or annotation.kind not in ANNOTATIONS:
        return None
    row = _row(physical_type, annotation, type_length)
    is_placed = row is not None and (
        row.arrow is _AS_STORED or row.arrow(physical_type, annotation) is not None
    )
    if is_placed:
        return None
    precision, scale = annotation.precision or 0, annotation.scale or 0
    if row is not None and precision > MAX_DECIMAL_PRECISION and 0 <= scale <= precision:
        return f"{annotation} has more digits than decimals of 128 bits: read as {physical_type}"
    length = f" of {type_length} bytes" if physical_type == "FIXED_LEN_BYTE_ARRAY" else ""
    return f"{annotation} may not stand on {physical_type}{length}: read as the physical type"
