"""What kernels the pages of a column need, by its kind and their encoding."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Encoding(IntEnum):
    """As numbered in parquet.thrift."""

    PLAIN = 0
    RLE = 3
    DELTA_BINARY_PACKED = 5
    DELTA_LENGTH_BYTE_ARRAY = 6
    DELTA_BYTE_ARRAY = 7
    BYTE_STREAM_SPLIT = 9
    ALP = 10


# Bytes of a value in the output where they are not those of a PLAIN one; 0: bits, or nothing.
_STRIDES = {"BITS": 0, "NOTHING": 0, "INT8": 1, "UINT8": 1, "INT16": 2, "UINT16": 2}
_STRIDES |= {"INT96_NS": 8, "INT96_US": 8, "TEXT": 16, "BYTES": 16, "FIXED_BYTES": 16}
_STRIDES |= dict.fromkeys(["DECIMAL_INT32", "DECIMAL_INT64", "DECIMAL_FIXED", "DECIMAL_BYTES"], 16)

VIEWS = frozenset(("TEXT", "BYTES", "FIXED_BYTES"))
_SAME = frozenset(("COPY", "FLOATING", "FIXED"))
_FIXED = {"FIXED_BYTES": "emit_fixed_views", "DECIMAL_FIXED": "emit_decimal_fixed"}
_BYTE_ARRAYS = {
    "TEXT": "emit_text",
    "BYTES": "emit_views",
    "DECIMAL_BYTES": "emit_decimal_bytes",
}
# Kernels that may refuse a value: of a page that is wanted in part they look at all.
REFUSING = (
    frozenset(
        f"emit_{source}_{kind}"
        for source in ("plain", "streams", "records")
        for kind in ("int8", "uint8", "int16", "uint16", "time_ms", "time_us", "time_ns")
    )
    | {"emit_text", "emit_decimal_bytes", "emit_decimal_fixed", "emit_plain_int96_ns"}
    | {"emit_plain_int96_us"}
)


class Steps(NamedTuple):
    """`listed`: kernels a warp a page; then the values are `joined`, and then `emitted`.

    `record_bits`: of a value, which the listing kernel writes.
    """

    listed: tuple[str, ...]
    emitted: str | None
    joined: str | None = None
    record_bits: int = 0
    boolean_source: int = 0


def stride_of(kind: str, width: int) -> int:
    """Bytes of a value in the output; 0: bits, or nothing."""
    return _STRIDES.get(kind, width)


def steps_of(kind: str, width: int, encoding: int, *, dictionary: bool) -> Steps:
    """The steps of a page. `width`: bytes of a PLAIN value; `dictionary`: the page is one."""
    if kind == "NOTHING":
        return Steps((), None)
    if dictionary or encoding == Encoding.PLAIN:
        return _plain(kind, width, dictionary=dictionary)
    number = _number(kind, width)
    match encoding:
        case Encoding.BYTE_STREAM_SPLIT:
            return _streams(kind, width)
        case Encoding.DELTA_BINARY_PACKED:
            return Steps((f"read_deltas_{width}",), f"emit_records_{number}", None, 8 * width)
        case Encoding.ALP:
            return Steps((f"read_alp_{width}",), f"emit_records_{number}", None, 8 * width)
        case Encoding.RLE:
            return Steps(("read_booleans",), "emit_booleans", None, 1, boolean_source=1)
        case Encoding.DELTA_LENGTH_BYTE_ARRAY:
            return Steps(("read_lengths",), _BYTE_ARRAYS[kind], None, 96)
        case Encoding.DELTA_BYTE_ARRAY:
            emitted = _BYTE_ARRAYS.get(kind) or _plain(kind, width, dictionary=False).emitted
            # Records, two numbers, and the least prefixes of every 32, 1,024 ... values.
            return Steps(("read_prefixes",), emitted, "join_prefixes", 136)
    is_bits = kind == "BITS"
    emitted = "emit_booleans" if is_bits else f"emit_entries_{stride_of(kind, width)}"
    return Steps(("read_indices",), emitted, None, 32, boolean_source=2 if is_bits else 0)


def _streams(kind: str, width: int) -> Steps:
    if kind in _FIXED:
        return Steps(("check_sizes",), _FIXED[kind], joined="join_streams")
    if kind in _SAME and width not in (4, 8):
        return Steps(("check_sizes",), "emit_streams_bytes")
    return Steps(("check_sizes",), f"emit_streams_{_number(kind, width)}")


def _plain(kind: str, width: int, *, dictionary: bool) -> Steps:
    if kind == "BITS":
        emitted = "emit_boolean_entries" if dictionary else "emit_booleans"
        return Steps(("check_booleans",), emitted)
    if kind in _BYTE_ARRAYS:
        listed = ("check_sizes", "read_strings") if dictionary else ("read_strings",)
        return Steps(listed, _BYTE_ARRAYS[kind], None, 64)
    if kind in _FIXED:
        return Steps(("check_sizes",), _FIXED[kind])
    if kind in _SAME and width not in (4, 8, 12, 16):
        return Steps(("check_sizes",), "emit_plain_bytes")
    return Steps(("check_sizes",), f"emit_plain_{_number(kind, width)}")


def _number(kind: str, width: int) -> str:
    return str(width) if kind in _SAME else kind.lower()
