"""The table of types: what a leaf becomes in Arrow and in polars. It never depends on values.

An annotation counts only on the physical type that LogicalTypes.md allows it on (a UUID of 12 bytes
is 12 bytes); everywhere else the leaf is what its physical type says. So every leaf has a type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Literal

import polars as pl
import pyarrow as pa

from pqlab.footer.schema import LogicalType, SchemaNode

Int96Unit = Literal["ns", "us"]

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


def _always(data_type: pa.DataType) -> Callable[[str, LogicalType], pa.DataType | None]:
    return lambda _physical_type, _annotation: data_type


# annotation -> (the physical types that it may stand on, with the length where that is fixed; type)
_ANNOTATED: dict[
    str,
    tuple[dict[str, int | None], Callable[[str, LogicalType], pa.DataType | None]],
] = {
    "STRING": ({"BYTE_ARRAY": None}, _always(pa.string_view())),
    "ENUM": ({"BYTE_ARRAY": None}, _always(pa.string_view())),
    "JSON": ({"BYTE_ARRAY": None}, _always(pa.string_view())),
    "INTEGER": ({"INT32": None, "INT64": None}, _integer),
    "DECIMAL": (
        {"INT32": None, "INT64": None, "BYTE_ARRAY": None, "FIXED_LEN_BYTE_ARRAY": None},
        _decimal,
    ),
    "DATE": ({"INT32": None}, _always(pa.date32())),
    "TIME": ({"INT32": None, "INT64": None}, _time),
    "TIMESTAMP": ({"INT64": None}, _timestamp),
    "FLOAT16": ({"FIXED_LEN_BYTE_ARRAY": 2}, _always(pa.float16())),
    "INTERVAL": ({"FIXED_LEN_BYTE_ARRAY": 12}, _always(INTERVAL_TYPE)),
    "UNKNOWN": (dict.fromkeys([*_PHYSICAL, "INT96"]), _always(pa.null())),
    # Known to be no more than their bytes: UUID, BSON, GEOMETRY, GEOGRAPHY.
}


@cache
def leaf_arrow_type(
    physical_type: str,
    annotation: LogicalType | None,
    type_length: int | None,
    int96_unit: Int96Unit = "ns",
) -> pa.DataType:
    """Arrow type of a leaf's values; `int96_unit`: the unit of INT96 timestamps."""
    if annotation is not None and annotation.kind in _ANNOTATED:
        allowed, build = _ANNOTATED[annotation.kind]
        length = allowed.get(physical_type)
        if physical_type in allowed and length in (None, type_length):
            annotated = build(physical_type, annotation)
            if annotated is not None:
                return annotated
    if physical_type == "INT96":
        return pa.timestamp(int96_unit)
    return _PHYSICAL[physical_type]


@cache
def _polars_type(arrow: pa.DataType) -> pl.DataType:
    return pl.Series(pl.from_arrow(pa.nulls(0, arrow))).dtype


def arrow_type(leaf: SchemaNode, int96_unit: Int96Unit = "ns") -> pa.DataType:
    """Arrow type that a leaf's values are assembled into: its own type, without its lists.

    Strings and bytes are views; TIME and TIMESTAMP keep the file's unit.
    """
    assert leaf.physical_type is not None, "a group has no values"
    return leaf_arrow_type(leaf.physical_type, leaf.annotation, leaf.type_length, int96_unit)


def polars_type(leaf: SchemaNode, int96_unit: Int96Unit = "ns") -> pl.DataType:
    """Polars dtype of a leaf's values: its own type, without its lists."""
    return _polars_type(arrow_type(leaf, int96_unit))
