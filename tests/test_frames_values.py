"""Single values as text, as polars values and as bytes, against Python's own notion of each."""

from __future__ import annotations

import datetime as dt
import math
import random
import struct
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from pqlab.footer.schema import LogicalType as L
from pqlab.footer.types import TypeKey
from pqlab.footer.values import (
    TEXT_FORMAT,
    Spans,
    ValueCheck,
    _has_digits,
    text_format,
    typed_values,
)

SEED = 20261130

I32: TypeKey = ("INT32", None, None)
I64: TypeKey = ("INT64", None, None)
I96: TypeKey = ("INT96", None, None)
F32: TypeKey = ("FLOAT", None, None)
F64: TypeKey = ("DOUBLE", None, None)
BOOL: TypeKey = ("BOOLEAN", None, None)
BYTES: TypeKey = ("BYTE_ARRAY", None, None)
TEXT: TypeKey = ("BYTE_ARRAY", L("STRING"), None)
DATE: TypeKey = ("INT32", L("DATE"), None)
UUID: TypeKey = ("FIXED_LEN_BYTE_ARRAY", L("UUID"), 16)
HALF: TypeKey = ("FIXED_LEN_BYTE_ARRAY", L("FLOAT16"), 2)
INTERVAL: TypeKey = ("FIXED_LEN_BYTE_ARRAY", L("INTERVAL"), 12)
FIXED: TypeKey = ("FIXED_LEN_BYTE_ARRAY", None, 3)
UNKNOWN: TypeKey = ("INT32", L("UNKNOWN"), None)


def time(unit: Any) -> TypeKey:
    physical = "INT32" if unit == "MILLIS" else "INT64"
    return physical, L("TIME", unit=unit, is_adjusted_to_utc=False), None


def timestamp(unit: Any, *, utc: bool = False) -> TypeKey:
    return "INT64", L("TIMESTAMP", unit=unit, is_adjusted_to_utc=utc), None


def integer(bits: int, *, signed: bool) -> TypeKey:
    physical = "INT64" if bits == 64 else "INT32"
    return physical, L("INTEGER", bit_width=bits, is_signed=signed), None


def decimal(physical: str, precision: int, scale: int, length: int | None = None) -> TypeKey:
    return physical, L("DECIMAL", precision=precision, scale=scale), length


def naive(*parts: int) -> dt.datetime:
    """A time without a zone, as a local timestamp is."""
    return dt.datetime(*parts, tzinfo=dt.UTC).replace(tzinfo=None)  # type: ignore[misc,arg-type]


def spans(values: list[bytes | None], before: bytes = b"") -> Spans:
    """The values one behind the other in a buffer that ends with the last one."""
    start, at = [], len(before)
    for value in values:
        start.append(-1 if value is None else at)
        at += len(value or b"")
    return Spans.of(
        np.frombuffer(before + b"".join(value or b"" for value in values), np.uint8),
        np.array(start, np.int64),
        np.array([len(value or b"") for value in values], np.int32),
    )


def texts(values: list[bytes | None], key: TypeKey) -> list[str | None]:
    formats = np.array([text_format(key)], TEXT_FORMAT)
    text, _ = spans(values).text(np.zeros(len(values), np.int32), formats)
    found: list[str | None] = text.to_list()
    return found


def checks(values: list[bytes | None], key: TypeKey) -> list[int]:
    formats = np.array([text_format(key)], TEXT_FORMAT)
    _, check = spans(values).text(np.zeros(len(values), np.int32), formats)
    found: list[int] = check.tolist()
    return found


def i32(number: int) -> bytes:
    return struct.pack("<i", number)


def i64(number: int) -> bytes:
    return struct.pack("<q", number)


CASES: list[tuple[TypeKey, bytes, str, Any]] = [
    (BOOL, b"\x01", "true", True),
    (BOOL, b"\x00", "false", False),
    (BOOL, b"\x02", "0x02", None),
    (I32, i32(-(2**31)), "-2147483648", -(2**31)),
    (I32, b"\x01\x02", "0x0102", None),
    (I64, i64(2**63 - 1), "9223372036854775807", 2**63 - 1),
    (integer(8, signed=True), i32(-128), "-128", -128),
    (integer(8, signed=True), i32(200), "200", None),  # wider than its annotation says
    (integer(16, signed=False), i32(65535), "65535", 65535),
    (integer(32, signed=False), i32(-1), "4294967295", 2**32 - 1),
    (integer(64, signed=False), i64(-1), "18446744073709551615", 2**64 - 1),
    (F32, struct.pack("<f", 0.1), "0.1", np.float32(0.1)),
    (F64, struct.pack("<d", 1.0), "1.0", 1.0),
    (F64, struct.pack("<d", -0.0), "-0.0", -0.0),
    (F64, struct.pack("<d", math.inf), "inf", math.inf),
    (F64, struct.pack("<d", -math.inf), "-inf", -math.inf),
    (HALF, np.float16(-1.5).tobytes(), "-1.5", -1.5),
    (HALF, np.float16(65504).tobytes(), "65504.0", 65504.0),
    (HALF, b"\x01\x00", "5.9604645e-08", 2.0**-24),
    (DATE, i32(0), "1970-01-01", dt.date(1970, 1, 1)),
    (DATE, i32(-719162), "0001-01-01", dt.date.min),
    (DATE, i32(2932896), "9999-12-31", dt.date.max),
    (DATE, i32(2932897), "2932897 days", None),
    (DATE, i32(2**31 - 1), "2147483647 days", None),
    (time("MILLIS"), i32(86399999), "23:59:59.999", dt.time(23, 59, 59, 999000)),
    (time("MICROS"), i64(1), "00:00:00.000001", dt.time(0, 0, 0, 1)),
    (time("NANOS"), i64(10**9), "00:00:01", dt.time(0, 0, 1)),
    (time("NANOS"), i64(86400 * 10**9), "86400000000000 ns", None),
    (time("MILLIS"), i32(-1), "-1 ms", None),
    (
        timestamp("MILLIS", utc=True),
        i64(-1),
        "1969-12-31 23:59:59.999Z",
        dt.datetime(1969, 12, 31, 23, 59, 59, 999000, dt.UTC),
    ),
    (
        timestamp("MICROS"),
        i64(10**15),
        "2001-09-09 01:46:40",
        naive(2001, 9, 9, 1, 46, 40),
    ),
    (timestamp("MICROS"), i64(-(2**63)), "-9223372036854775808 us", None),
    (timestamp("MILLIS"), i64(2**63 - 1), "9223372036854775807 ms", None),
    (
        I96,
        struct.pack("<qI", 1, 2440589),
        "1970-01-02 00:00:00.000000001",
        naive(1970, 1, 2),
    ),
    (I96, struct.pack("<qI", 1, 1), "0x010000000000000001000000", None),
    (decimal("INT32", 9, 2), i32(-5), "-0.05", Decimal("-0.05")),
    (decimal("INT64", 18, 0), i64(12), "12", Decimal(12)),
    (decimal("BYTE_ARRAY", 38, 3), b"\xff", "-0.001", Decimal("-0.001")),
    (decimal("BYTE_ARRAY", 38, 3), b"", "0x", None),
    (decimal("FIXED_LEN_BYTE_ARRAY", 5, 2, 20), b"\xff" * 19 + b"\x85", "-1.23", Decimal("-1.23")),
    (decimal("FIXED_LEN_BYTE_ARRAY", 5, 2, 20), b"\x01" * 20, "0x" + "01" * 20, None),
    (TEXT, b"", "", ""),
    (TEXT, "ä".encode(), "ä", "ä"),
    (TEXT, b"\xff", "0xff", None),
    (BYTES, b"", "0x", b""),
    (BYTES, b"\x00a", "0x0061", b"\x00a"),
    (BYTES, b"x" * 25, "0x" + "78" * 24 + "…", b"x" * 25),
    (FIXED, b"abc", "0x616263", b"abc"),
    (FIXED, b"ab", "0x6162", None),
    (UUID, uuid.UUID(int=7).bytes, str(uuid.UUID(int=7)), uuid.UUID(int=7).bytes),
    (
        INTERVAL,
        struct.pack("<III", 1, 2, 3),
        "1 months 2 days 3 ms",
        {"months": 1, "days": 2, "milliseconds": 3},
    ),
    (UNKNOWN, i32(1), "0x01000000", None),
]


@pytest.mark.parametrize(("key", "value", "text", "typed"), CASES)
def test_text_and_value(key: TypeKey, value: bytes, text: str, typed: Any) -> None:
    assert texts([value], key) == [text]
    found = typed_values(spans([value]), key)[0]
    assert found == typed
    assert str(found) == str(typed) or isinstance(typed, np.floating)  # tells -0.0 from 0.0


@pytest.mark.parametrize(("key", "value", "text", "_"), CASES)
def test_nothing_is_null_in_every_form(key: TypeKey, value: bytes, text: str, _: Any) -> None:
    assert texts([None, value, None], key) == [None, text, None]
    assert typed_values(spans([None, value, None]), key)[0] is None
    assert spans([None, value, None]).binary().to_list() == [None, value, None]


def test_a_nan_is_told() -> None:
    nan = struct.pack("<d", math.nan)
    assert texts([nan], F64) == ["NaN"]
    assert checks([nan, struct.pack("<d", 1.0), b"\x00", None], F64) == [
        ValueCheck.NOT_A_NUMBER, ValueCheck.VALUE, ValueCheck.NO_VALUE, ValueCheck.NONE,
    ]  # fmt: skip
    assert checks([np.float16(math.nan).tobytes()], HALF) == [ValueCheck.NOT_A_NUMBER]


def test_long_texts_end_in_an_ellipsis_between_characters() -> None:
    values = ["x" * 64, "x" * 65, "é" * 64, "é" * 65, "€" * 10_000, "x" * 63 + "𝄞y"]
    shown = texts([value.encode() for value in values], TEXT)
    assert shown == [v if len(v) <= 64 else v[:64] + "…" for v in values]


@pytest.mark.parametrize("width", [0, 1, 11, 12, 13, 40])
def test_views_of_values_up_to_the_last_byte_of_the_buffer(width: int) -> None:
    value = bytes(range(65, 65 + width))
    assert spans([b"ab", value]).binary().to_list() == [b"ab", value]
    assert spans([value]).binary().to_list() == [value]
    assert texts([b"ab", value], TEXT) == ["ab", value.decode()]


def test_spans_outside_of_the_buffer_are_none() -> None:
    start = np.array([0, 3, -5, 2**40, 5], np.int64)
    length = np.array([6, 2, 2, 4, -1], np.int32)
    outside = Spans.of(np.frombuffer(b"abcde", np.uint8), start, length)
    assert outside.binary().to_list() == [None, b"de", None, None, None]
    formats = np.array([text_format(TEXT)], TEXT_FORMAT)
    text, _ = outside.text(np.zeros(5, np.int32), formats)
    assert text.to_list() == [None, "de", None, None, None]


def test_random_values_read_back() -> None:
    rng = random.Random(SEED)
    words = [rng.getrandbits(64) - 2**63 for _ in range(2000)]
    assert texts([i64(word) for word in words], I64) == [str(word) for word in words]
    doubles = [struct.unpack("<d", i64(word))[0] for word in words]
    for text, double in zip(texts([i64(w) for w in words], F64), doubles, strict=True):
        assert text is not None
        assert float(text) == double or math.isnan(double)
    days = [rng.randrange(-719162, 2932897) for _ in range(2000)]
    epoch = dt.date(1970, 1, 1).toordinal()
    dates = [dt.date.fromordinal(epoch + day) for day in days]
    assert texts([i32(day) for day in days], DATE) == [date.isoformat() for date in dates]
    assert typed_values(spans([i32(day) for day in days]), DATE).to_list() == dates
    micros = [rng.randrange(-(10**15), 10**16) for _ in range(2000)]
    start = naive(1970, 1, 1)
    times = [start + dt.timedelta(microseconds=micro) for micro in micros]
    shown = texts([i64(micro) for micro in micros], timestamp("MICROS"))
    assert [dt.datetime.fromisoformat(text or "") for text in shown] == times


def test_random_decimals_read_back() -> None:
    rng = random.Random(SEED)
    numbers = [rng.randrange(-(10**38) + 1, 10**38) // 10 ** rng.randrange(38) for _ in range(2000)]
    values: list[bytes | None] = [
        n.to_bytes(rng.randrange(17, 30), "big", signed=True) for n in numbers
    ]
    expected = [Decimal(f"{n}E-5") for n in numbers]
    key = decimal("BYTE_ARRAY", 38, 5)
    assert [Decimal(text or "") for text in texts(values, key)] == expected
    assert typed_values(spans(values), key).to_list() == expected


def test_every_leaf_reads_by_its_own_format() -> None:
    values: list[bytes | None] = [i32(1), b"abc", i32(1), None]
    formats = np.array([text_format(DATE), text_format(TEXT), text_format(I32)], TEXT_FORMAT)
    text, _ = spans(values).text(np.array([0, 1, 2, 1], np.int32), formats)
    assert text.to_list() == ["1970-01-02", "abc", "1", None]
    assert text.dtype == pl.String


@pytest.mark.parametrize("precision", range(1, 39))
def test_decimals_have_the_digits_that_python_counts(precision: int) -> None:
    end = 10**precision
    borders = [end - 1, end, end + 1, 0, 1, 1 << 63, 1 << 64, (1 << 64) - 1, (1 << 127) - 1]
    values = [value for border in borders for value in (border, -border) if abs(border) < 1 << 127]
    words = np.frombuffer(b"".join(v.to_bytes(16, "little", signed=True) for v in values), "<i8")
    fits = _has_digits(words.reshape(-1, 2), precision)
    assert fits.tolist() == [abs(value) < end for value in values]
