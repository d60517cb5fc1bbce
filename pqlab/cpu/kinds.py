"""The table of kinds: what native code must make of a leaf's values, for its Arrow type."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
from pyarrow import types

from pqlab.errors import UnsupportedError
from pqlab.footer.schema import SchemaNode

# Bytes of a PLAIN value; the length of FIXED_LEN_BYTE_ARRAY is the schema's, BYTE_ARRAY's varies.
_WIDTHS = {
    "BOOLEAN": 0,
    "INT32": 4,
    "INT64": 8,
    "INT96": 12,
    "FLOAT": 4,
    "DOUBLE": 8,
    "BYTE_ARRAY": 0,
}

_NARROW = {pa.int8(): "INT8", pa.uint8(): "UINT8", pa.int16(): "INT16", pa.uint16(): "UINT16"}

_DECIMAL = {
    "INT32": "DECIMAL_INT32",
    "INT64": "DECIMAL_INT64",
    "FIXED_LEN_BYTE_ARRAY": "DECIMAL_FIXED",
    "BYTE_ARRAY": "DECIMAL_BYTES",
}

_INT96 = {"ns": "INT96_NS", "us": "INT96_US"}
# Of FIXED_LEN_BYTE_ARRAY whose length is not said: more than any page holds, so that the nulls of
# such a column are read, and a value is an error.
_NO_LENGTH = (1 << 31) - 1


class Kind(NamedTuple):
    """`name`: of `enum class Kind` in native/cpu/values.hpp; `width`: bytes of a PLAIN value."""

    name: str
    width: int


def kind_of(leaf: SchemaNode, arrow: pa.DataType) -> Kind:
    """The kind that makes a leaf's values the Arrow type's."""
    physical = leaf.physical_type or ""
    if physical == "FIXED_LEN_BYTE_ARRAY":
        width = leaf.type_length or _NO_LENGTH
    elif physical in _WIDTHS:
        width = _WIDTHS[physical]
    else:
        raise UnsupportedError(f"physical type {physical} is not read", column=leaf.column)
    return Kind(_name(physical, arrow), width)


def _name(physical: str, arrow: pa.DataType) -> str:
    if types.is_decimal(arrow):
        return _DECIMAL[physical]
    if types.is_time(arrow):
        return f"TIME_{arrow.unit.upper()}"
    if arrow in _NARROW:
        return _NARROW[arrow]
    if types.is_null(arrow) or types.is_dictionary(arrow):
        return "NOTHING" if types.is_null(arrow) else "CODES"
    match physical:
        case "BOOLEAN":
            return "BITS"
        case "INT96":
            return _INT96[arrow.unit]
        case "BYTE_ARRAY":
            return "TEXT" if arrow == pa.string_view() else "BYTES"
        case "FIXED_LEN_BYTE_ARRAY":
            return "FIXED_BYTES" if arrow == pa.binary_view() else "FIXED"
        case "FLOAT" | "DOUBLE":
            return "FLOATING"
        case _:
            return "COPY"
