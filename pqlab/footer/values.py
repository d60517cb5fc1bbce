"""Single values in a buffer, as the format stores bounds: PLAIN, byte arrays without their length.

A span is (start, length) in bytes; a negative start is no value. Everything here is vectorised over
spans and copies no variable-length bytes. A span that is not a value of its type becomes null.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from pqlab.footer.schema import LogicalType
from pqlab.footer.types import leaf_arrow_type

TypeKey = tuple[str, LogicalType | None, int | None]  # physical type, annotation, type length

MAX_TEXT_CHARACTERS = 64
MAX_HEX_BYTES = 24

_VIEW_REACH = 1 << 30  # views hold 32-bit offsets: a larger buffer is several to them
_UNITS_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
_JULIAN_EPOCH = 2_440_588  # the Julian day of 1970-01-01


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Values in a buffer, one per row: `buffer[start : start + length]`; a negative start: none.

    Spans that do not lie inside the buffer are none.
    """

    buffer: np.ndarray  # of uint8
    start: np.ndarray
    length: np.ndarray

    @classmethod
    def of(cls, buffer: np.ndarray, start: np.ndarray, length: np.ndarray) -> Spans:
        """The spans, checked."""
        inside = (start >= 0) & (length >= 0) & (start <= len(buffer) - length)
        if inside.all():
            return cls(buffer, start, length)
        return cls(buffer, np.where(inside, start, -1), np.where(inside, length, 0))

    def take(self, rows: np.ndarray) -> Spans:
        """The values of some rows."""
        return Spans(self.buffer, self.start[rows], self.length[rows])

    def cut(self, length: np.ndarray) -> Spans:
        """The first bytes of every value."""
        return Spans(self.buffer, self.start, length)

    def numbers(self, dtype: str) -> tuple[np.ndarray, np.ndarray]:
        """The values as little-endian numbers, and which of them have that many bytes."""
        valid = (self.length == np.dtype(dtype).itemsize) & (self.start >= 0)
        return _unaligned(self.buffer, self.start, dtype), valid

    def binary(self) -> pl.Series:
        """The values as Binary: Arrow's views into `buffer`, which they keep alive."""
        views = np.empty((len(self), 2), np.uint64)
        size = np.minimum(self.length, 12)
        first = _unaligned(self.buffer, self.start, "<u4") & _KEEP_FIRST[size]
        np.bitwise_or(self.length.astype(np.uint64), first << 32, out=views[:, 0])
        rest = _unaligned(self.buffer, self.start + 4, "<u8")
        np.bitwise_and(rest, _KEEP_NEXT[size], out=views[:, 1])
        rows = np.flatnonzero(self.length > 12)
        if len(rows):
            far = self.start[rows].astype(np.uint64)
            views[rows, 1] = far // _VIEW_REACH | (far % _VIEW_REACH) << 32
        parts = range(0, len(self.buffer), _VIEW_REACH)
        buffers = [
            _validity(self.start >= 0),
            pa.py_buffer(views),
            *(pa.py_buffer(self.buffer[begin:]) for begin in parts),
        ]
        return _series(pa.Array.from_buffers(pa.binary_view(), len(self), buffers))

    def __len__(self) -> int:
        return len(self.start)


# By the number of a value's bytes, 12 at most: which of the first four, of the next eight to keep.
_KEEP_FIRST = np.array([(1 << 8 * min(n, 4)) - 1 for n in range(13)], np.uint64)
_KEEP_NEXT = np.array([(1 << 8 * max(n - 4, 0)) - 1 for n in range(13)], np.uint64)


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

    Dates and timestamps beyond the years 1 to 9999 are null too: polars cannot print them.
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


def text_values(spans: Spans, key: TypeKey) -> pl.Series:
    """The spans as text for people, at most `MAX_TEXT_CHARACTERS` and an ellipsis.

    Bytes, and what is not a value of its type, are shown as hexadecimal digits after `0x`.
    """
    physical_type, annotation, type_length = key
    arrow = leaf_arrow_type(physical_type, annotation, type_length)
    if pa.types.is_string_view(arrow):
        text = _strings(spans)
    elif annotation is not None and annotation.kind == "UUID" and type_length == 16:
        text = _uuids(typed_values(spans, key))
    elif pa.types.is_binary_view(arrow) or pa.types.is_null(arrow):
        return _hexadecimal(spans)
    else:
        text = _plain_text(typed_values(spans, key), arrow)
        if physical_type in ("INT32", "INT64") and text.null_count():
            text = _fill(text, _stored_number(spans, physical_type, arrow))
    return _fill(text, _hexadecimal(spans)) if text.null_count() else text


def _fill(text: pl.Series, other: pl.Series) -> pl.Series:
    return pl.select(pl.coalesce(text, other)).to_series()


def _validity(valid: np.ndarray) -> pa.Buffer | None:
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


def _series(array: pa.Array) -> pl.Series:
    return pl.Series(array)


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
    buffers = [_validity(valid), pa.py_buffer(words)]
    return _series(pa.Array.from_buffers(arrow, len(words), buffers))


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


def _plain_text(typed: pl.Series, arrow: pa.DataType) -> pl.Series:
    if pa.types.is_struct(arrow):
        fields = [typed.struct.field(name) for name in typed.struct.fields]
        text = pl.format("{} months {} days {} ms", *fields)
        return pl.select(pl.when(typed.is_not_null()).then(text)).to_series()
    if pa.types.is_timestamp(arrow):
        return typed.dt.to_string(f"%Y-%m-%d %H:%M:%S%.f{'Z' if arrow.tz else ''}")
    if pa.types.is_time(arrow):
        return typed.dt.to_string("%H:%M:%S%.f")
    return typed.cast(pl.String)


def _stored_number(spans: Spans, physical_type: str, arrow: pa.DataType) -> pl.Series:
    """What no calendar and no narrower type has, as the number that is stored, with its unit."""
    values, valid = spans.numbers(_NUMPY[physical_type])
    unit = "days" if pa.types.is_date(arrow) else getattr(arrow, "unit", "")
    text = _valid(pl.Series(values), valid).cast(pl.String)
    return text + f" {unit}" if unit else text


def _uuids(typed: pl.Series) -> pl.Series:
    digits = typed.bin.encode("hex")
    ends = ((0, 8), (8, 4), (12, 4), (16, 4), (20, 12))
    parts = [digits.str.slice(begin, size) for begin, size in ends]
    return pl.select(pl.concat_str(parts, separator="-")).to_series()


def _hexadecimal(spans: Spans) -> pl.Series:
    is_long = spans.length > MAX_HEX_BYTES
    shown = spans.cut(np.minimum(spans.length, MAX_HEX_BYTES)) if is_long.any() else spans
    ends = pl.Series(["", "…"]).gather(is_long.astype(np.uint32))
    return pl.select(pl.lit("0x") + shown.binary().bin.encode("hex") + ends).to_series()


def _strings(spans: Spans) -> pl.Series:
    """UTF-8 text; only the first bytes of a long value are looked at, cut between characters."""
    if not len(spans) or spans.length.max() <= MAX_TEXT_CHARACTERS:
        return _utf8(spans.binary())
    cut = np.minimum(spans.length, 4 * MAX_TEXT_CHARACTERS)
    is_long = cut < spans.length
    for _ in range(3):  # a character has up to three bytes of the form 10xxxxxx behind its first
        inside = _unaligned(spans.buffer, spans.start + cut, "|u1") & 0xC0 == 0x80
        cut = cut - (is_long & inside)
    text = _utf8(spans.cut(cut).binary())
    shown = text.str.head(MAX_TEXT_CHARACTERS)
    is_cut = pl.Series(is_long) | (text.str.len_bytes() != shown.str.len_bytes())
    return pl.select(pl.when(is_cut).then(shown + "…").otherwise(shown)).to_series()
