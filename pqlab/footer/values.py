"""Single values in a buffer, as the format stores bounds: PLAIN, byte arrays without their length.

A span is (start, length) in bytes; a negative start is no value. Everything here is vectorised over
spans and copies no variable-length bytes. A span that is not a value of its type becomes null.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

import numpy as np
import polars as pl
import pyarrow as pa

from pqlab.footer.types import TypeKey, leaf_arrow_type
from pqlab.native import _native

# The layout of `struct TextFormat` in pqlab/native/cpu/value_text.hpp: how a leaf's values read.
TEXT_FORMAT = np.dtype(
    [("kind", "u1"), ("bits", "u1"), ("digits", "u1"), ("is_utc", "u1"), ("width", "<i4")]
)


class TextKind(IntEnum):
    """How values read; the numbers of `TextKind` in pqlab/native/cpu/value_text.hpp."""

    BYTES = 0
    STRING = 1
    BOOLEAN = 2
    SIGNED = 3
    UNSIGNED = 4
    FLOAT = 5
    DATE = 6
    TIME = 7
    TIMESTAMP = 8
    INT96 = 9
    DECIMAL = 10
    UUID = 11
    INTERVAL = 12


class ValueCheck(IntEnum):
    """What the bytes of a span are; the numbers of `ValueCheck` in the same file."""

    NONE = 0
    VALUE = 1
    NO_VALUE = 2  # of the wrong length for the type, or of no meaning
    NOT_A_NUMBER = 3


_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_FRACTION_DIGITS = {"ms": 3, "us": 6, "ns": 9}
_UNITS_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
_JULIAN_EPOCH = 2_440_588  # the Julian day of 1970-01-01


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Values in a buffer, one per row: `buffer[start : start + length]`; a negative start: none.

    Spans that do not lie inside the buffer are none.
    """

    buffer: np.ndarray  # of uint8
    start: np.ndarray  # int64
    length: np.ndarray  # int32

    @classmethod
    def of(cls, buffer: np.ndarray, start: np.ndarray, length: np.ndarray) -> Spans:
        """The spans, checked."""
        start, length = start.astype(np.int64, copy=False), length.astype(np.int32, copy=False)
        inside = (start >= 0) & (length >= 0) & (start <= len(buffer) - length)
        if inside.all():
            return cls(buffer, start, length)
        return cls(buffer, np.where(inside, start, -1), np.where(inside, length, np.int32(0)))

    def numbers(self, dtype: str) -> tuple[np.ndarray, np.ndarray]:
        """The values as little-endian numbers, and which of them have that many bytes."""
        valid = (self.length == np.dtype(dtype).itemsize) & (self.start >= 0)
        return _unaligned(self.buffer, self.start, dtype), valid

    def binary(self) -> pl.Series:
        """The values as Binary: Arrow's views into `buffer`, which they keep alive."""
        views = np.empty(16 * len(self), np.uint8)
        _native.binary_views(self.buffer, self.start, self.length, views)
        return self._series(pa.binary_view(), views, ())

    def text(self, leaf: np.ndarray, formats: np.ndarray) -> tuple[pl.Series, np.ndarray]:
        """The values as text for people, and a `ValueCheck` for each (uint8).

        `leaf`: the leaf of each value; `formats`: the `TEXT_FORMAT` of each leaf. A text has at
        most 64 characters and an ellipsis. Bytes, and what is no value of its type, are shown as
        hexadecimal digits after `0x`; what no calendar has is the number that is stored.
        """
        views, checks = np.empty(16 * len(self), np.uint8), np.empty(len(self), np.uint8)
        formats = formats.view(np.uint8)
        buffers = _native.text_views(
            self.buffer, self.start, self.length, leaf, formats, views, checks, _workers()
        )
        return self._series(pa.string_view(), views, buffers), checks

    def _series(
        self, data_type: pa.DataType, views: np.ndarray, buffers: Sequence[bytes]
    ) -> pl.Series:
        parts = range(0, len(self.buffer), _native.SPAN_REACH_BYTES)
        arrow = [
            _validity(self.start >= 0),
            pa.py_buffer(views),
            *map(pa.py_buffer, buffers),
            *(pa.py_buffer(self.buffer[begin:]) for begin in parts),
        ]
        return pl.Series(pa.Array.from_buffers(data_type, len(self), arrow))

    def __len__(self) -> int:
        return len(self.start)


def _workers() -> int:
    return min(len(os.sched_getaffinity(0)), 16)


def _unaligned(buffer: np.ndarray, start: np.ndarray, dtype: str) -> np.ndarray:
    """Little-endian numbers at any `start`; bytes before and after the buffer count as 0."""
    width = np.dtype(dtype).itemsize
    last = len(buffer) - width
    if last < 0:
        buffer, last = np.concatenate([buffer, np.zeros(-last, np.uint8)]), 0
    everywhere = np.ndarray((last + 1,), dtype, buffer=buffer, strides=(1,))
    if not len(start) or (start.min() >= 0 and start.max() <= last):
        numbers: np.ndarray = everywhere[start]
        return numbers
    numbers = everywhere[np.clip(start, 0, last)]
    numbers[start < 0] = 0
    near_end = np.flatnonzero(start > last)
    end = np.concatenate([buffer[last:], np.zeros(2 * width, np.uint8)])
    after = np.ndarray((2 * width + 1,), dtype, buffer=end, strides=(1,))
    numbers[near_end] = after[np.minimum(start[near_end] - last, 2 * width)]
    return numbers


def typed_values(spans: Spans, key: TypeKey) -> pl.Series:
    """The spans as values of the leaf's polars type; null where the bytes are none.

    Dates and timestamps beyond the years 1 to 9999, and decimals of more digits than their type
    has, are null too: Python or polars cannot print them.
    """
    physical_type, annotation, type_length = key
    arrow = leaf_arrow_type(physical_type, annotation, type_length)
    if pa.types.is_null(arrow):
        return pl.Series(dtype=pl.Null).extend_constant(None, len(spans))
    if pa.types.is_decimal(arrow):
        return _decimals(spans, arrow, physical_type)
    if pa.types.is_struct(arrow):
        return _intervals(spans)
    if pa.types.is_string_view(arrow):
        return _utf8(spans.binary())
    if pa.types.is_binary_view(arrow):
        is_fixed = physical_type == "FIXED_LEN_BYTE_ARRAY"
        binary = spans.binary()
        return _valid(binary, spans.length == type_length) if is_fixed else binary
    if physical_type == "INT96":
        return _int96(spans)
    return _fixed(spans, physical_type, arrow)


@cache
def text_format(key: TypeKey) -> tuple[int, int, int, bool, int]:
    """How the values of a type read, as a `TEXT_FORMAT`."""
    physical_type, annotation, type_length = key
    arrow = leaf_arrow_type(physical_type, annotation, type_length)
    kind, bits, digits, is_utc = TextKind.BYTES, 0, 0, False
    if pa.types.is_string_view(arrow):
        kind = TextKind.STRING
    elif pa.types.is_boolean(arrow):
        kind = TextKind.BOOLEAN
    elif pa.types.is_integer(arrow):
        is_signed = pa.types.is_signed_integer(arrow)
        kind, bits = TextKind.SIGNED if is_signed else TextKind.UNSIGNED, arrow.bit_width
    elif pa.types.is_floating(arrow):
        kind = TextKind.FLOAT
    elif pa.types.is_date(arrow):
        kind = TextKind.DATE
    elif pa.types.is_time(arrow):
        kind, digits = TextKind.TIME, _FRACTION_DIGITS[arrow.unit]
    elif pa.types.is_timestamp(arrow):
        kind = TextKind.INT96 if physical_type == "INT96" else TextKind.TIMESTAMP
        digits, is_utc = _FRACTION_DIGITS[arrow.unit], arrow.tz is not None
    elif pa.types.is_decimal(arrow):
        kind, digits = TextKind.DECIMAL, arrow.scale
        bits = {"INT32": 32, "INT64": 64}.get(physical_type, 0)
    elif pa.types.is_struct(arrow):
        kind = TextKind.INTERVAL
    elif annotation is not None and annotation.kind == "UUID" and type_length == 16:
        kind = TextKind.UUID
    is_fixed = physical_type == "FIXED_LEN_BYTE_ARRAY"
    width = (type_length or 0) if is_fixed else _WIDTHS.get(physical_type, 0)
    return kind, bits, digits, is_utc, width


def _validity(valid: np.ndarray) -> pa.Buffer | None:
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


def _valid(series: pl.Series, valid: np.ndarray) -> pl.Series:
    return series if valid.all() else series.set(pl.Series(~valid), None)


_NUMPY = {
    "BOOLEAN": "|u1",
    "INT32": "<i4",
    "INT64": "<i8",
    "FLOAT": "<f4",
    "DOUBLE": "<f8",
    "FIXED_LEN_BYTE_ARRAY": "<f2",  # FLOAT16
}


def _fixed(spans: Spans, physical_type: str, arrow: pa.DataType) -> pl.Series:
    values, valid = spans.numbers(_NUMPY[physical_type])
    if pa.types.is_boolean(arrow):
        return _valid(pl.Series(values.astype(np.bool_)), valid & (values <= 1))
    if pa.types.is_integer(arrow):
        narrow = values.astype(str(arrow))
        is_whole = narrow.itemsize == values.itemsize
        return _valid(pl.Series(narrow), valid if is_whole else valid & (narrow == values))
    if pa.types.is_date(arrow):
        valid &= (values >= _FIRST_DAY) & (values <= _LAST_DAY)
        return _valid(pl.Series(values), valid).cast(pl.Date)
    if pa.types.is_time(arrow):
        day = _UNITS_PER_DAY[arrow.unit]
        valid &= (values >= 0) & (values < day)
        nanoseconds = np.where(valid, values, 0).astype(np.int64) * (_UNITS_PER_DAY["ns"] // day)
        return _valid(pl.Series(nanoseconds), valid).cast(pl.Time)
    if pa.types.is_timestamp(arrow):
        day = _UNITS_PER_DAY[arrow.unit]
        if arrow.unit != "ns":  # 64 bits of nanoseconds end before the years do
            valid &= (values >= _FIRST_DAY * day) & (values < (_LAST_DAY + 1) * day)
        return _valid(pl.Series(values), valid).cast(pl.Datetime(arrow.unit, arrow.tz))
    return _valid(pl.Series(values), valid)


def _int96(spans: Spans) -> pl.Series:
    """Nanoseconds of the day (8 bytes), then the Julian day (4 bytes)."""
    in_day = _UNITS_PER_DAY["ns"]
    of_day = _unaligned(spans.buffer, spans.start, "<i8")
    day = _unaligned(spans.buffer, spans.start + 8, "<i4").astype(np.int64) - _JULIAN_EPOCH
    valid = (spans.length == 12) & (spans.start >= 0)
    valid &= (np.abs(day) < (1 << 63) // in_day) & (of_day >= 0) & (of_day < in_day)
    nanoseconds = np.where(valid, day, 0) * in_day + np.where(valid, of_day, 0)
    return _valid(pl.Series(nanoseconds), valid).cast(pl.Datetime("ns"))


def _decimals(spans: Spans, arrow: pa.DataType, physical_type: str) -> pl.Series:
    """Unscaled integers; in byte arrays big-endian two's complement of up to 32 bytes."""
    if physical_type in ("INT32", "INT64"):
        low, valid = spans.numbers(_NUMPY[physical_type])
        words = np.stack([low.astype(np.int64), low.astype(np.int64) >> 63], axis=1)
    else:
        valid = (spans.start >= 0) & (spans.length > 0) & (spans.length <= 32)
        sign = _unaligned(spans.buffer, spans.start, "|i1") >> 7
        digits = np.empty((len(spans), 32), np.int8)  # from the last byte on, sign-extended
        for place in range(32):
            digit = _unaligned(spans.buffer, spans.start + spans.length - 1 - place, "|i1")
            digits[:, place] = np.where(place < spans.length, digit, sign)
        words = digits[:, :16].copy().view("<i8")
        valid &= (digits[:, 15:] >> 7 == sign[:, None]).all(axis=1)
        valid &= (digits[:, 16:] == sign[:, None]).all(axis=1)
    valid &= _has_digits(words, arrow.precision)
    buffers = [_validity(valid), pa.py_buffer(words)]
    return pl.Series(pa.Array.from_buffers(arrow, len(words), buffers))


def _has_digits(words: np.ndarray, precision: int) -> np.ndarray:
    """Whether integers of two words, the low one first, have at most `precision` digits."""
    high, low = words[:, 1], words[:, 0].astype(np.uint64)
    is_negative = high < 0
    # The magnitude, less 1 where negative: two's complement without its sign.
    high, low = np.where(is_negative, ~high, high), np.where(is_negative, ~low, low)
    largest_high, largest_low = divmod(10**precision - 1, 1 << 64)
    within = low <= np.uint64(largest_low) - is_negative
    has: np.ndarray = (high < largest_high) | ((high == largest_high) & within)
    return has


def _intervals(spans: Spans) -> pl.Series:
    parts = {
        name: pl.Series(_unaligned(spans.buffer, spans.start + 4 * index, "<u4"))
        for index, name in enumerate(("months", "days", "milliseconds"))
    }
    return _valid(pl.DataFrame(parts).to_struct(), (spans.length == 12) & (spans.start >= 0))


def _utf8(values: pl.Series) -> pl.Series:
    """Binary as String, null where it is not UTF-8; polars' own cast is all or nothing."""
    try:
        return values.cast(pl.String)
    except pl.exceptions.ComputeError:
        return pl.Series([_decoded(value) for value in values], dtype=pl.String)


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None
