"""Every logical type on every carrier that LogicalTypes.md allows, and what its bytes mean there.

`meaning` is the specification's arithmetic in Python's own numbers: nothing of any reader is in it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any, NamedTuple

import polars as pl
from dremel import Node

from pqlab.footer import raw

EXACT = Context(prec=60)  # digits


class LogicalType(NamedTuple):
    """`word`, `element`: as in a `Node`; `value`: the i-th value as its physical type holds it.

    `meaning`: the value that this stands for, as a polars Series of type `dtype` gives it; numbers
    of days or units for DATE, TIME, TIMESTAMP.
    """

    word: str
    element: dict[str, Any]
    value: Callable[[int], Any]
    meaning: Callable[[Any], Any]
    dtype: pl.DataType | type[pl.DataType]

    @property
    def physical(self) -> str:
        return Node(f"required {self.word} x").physical


def same(value: Any) -> Any:
    return value


def logical(**member: Any) -> dict[str, Any]:
    return {"logicalType": raw.idl().LogicalType(**member)}


def converted(number: int, **more: Any) -> dict[str, Any]:
    return {"converted_type": number, **more}


def _integers() -> dict[str, LogicalType]:
    """INTEGER(8 to 64, signed or not), and UINT_8 (11) to INT_64 (18), as they came before."""
    dtypes = {
        True: (pl.Int8, pl.Int16, pl.Int32, pl.Int64),
        False: (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
    }
    found = {}
    for is_signed, kinds in dtypes.items():
        for at, dtype in enumerate(kinds):
            bits = 8 << at
            modulus = 1 << bits
            least = -modulus // 2 if is_signed else 0
            carrier = 64 if bits == 64 else 32

            def value(i: int, least: int = least, modulus: int = modulus, of: int = carrier) -> int:
                number = least + (i * (modulus // 29) + i // 29 * -1) % modulus
                return (number + (1 << of - 1)) % (1 << of) - (1 << of - 1)  # as the carrier has it

            def meaning(stored: int, least: int = least, modulus: int = modulus) -> int:
                return stored if least else stored % modulus

            new = raw.idl().IntType(bitWidth=bits, isSigned=is_signed)
            old = (15 if is_signed else 11) + at
            word = f"int{carrier}"
            name = f"{'int' if is_signed else 'uint'}{bits}"
            found[f"{name}_logical"] = LogicalType(
                word, logical(INTEGER=new), value, meaning, dtype
            )
            found[f"{name}_converted"] = LogicalType(word, converted(old), value, meaning, dtype)
    return found


def _decimal(
    word: str, precision: int, scale: int, size: int | None = None, *, old: bool = False
) -> LogicalType:
    """Of both signs, the largest of its digits among them; BYTE_ARRAYs of any length that holds."""

    def value(i: int) -> Any:
        most = 10**precision - 1
        number = (most - i * (most // 31)) * (-1) ** i
        if word.startswith("int"):
            return number
        least = (number + (number < 0)).bit_length() // 8 + 1
        return number.to_bytes(size or least + i % 3, "big", signed=True)

    def meaning(stored: Any) -> Decimal:
        number = stored if isinstance(stored, int) else int.from_bytes(stored, "big", signed=True)
        return Decimal(number).scaleb(-scale, EXACT)

    length = {"type_length": size} if size else {}
    new = logical(DECIMAL=raw.idl().DecimalType(scale=scale, precision=precision))
    element = converted(5, precision=precision, scale=scale) if old else new
    if precision > 38:
        return LogicalType(word, {**element, **length}, value, same, pl.Binary)
    return LogicalType(word, {**element, **length}, value, meaning, pl.Decimal(precision, scale))


def _decimals() -> dict[str, LogicalType]:
    made: list[tuple[str, int, int, int | None]]
    made = [("int32", digits, scale, None) for digits, scale in ((1, 0), (5, 5), (9, 2))]
    made += [("int64", digits, scale, None) for digits, scale in ((10, 0), (18, 18), (6, 3))]
    made += [("binary", digits, scale, None) for digits, scale in ((1, 1), (20, 4), (38, 19))]
    sizes = {1: 2, 2: 4, 3: 6, 4: 9, 5: 11, 7: 16, 8: 18, 9: 21, 12: 28, 15: 35, 16: 38, 20: 38}
    made += [("fixed", digits, digits // 3, size) for size, digits in sizes.items()]
    made += [("fixed", 39, 3, 17), ("binary", 50, 3, None)]
    return {
        f"decimal_{word}_{digits}_{scale}_{size or 0}_{'old' if old else 'new'}": _decimal(
            word, digits, scale, size, old=old
        )
        for word, digits, scale, size in made
        for old in (False, True)
    }


def _times() -> dict[str, LogicalType]:
    """TIME and TIMESTAMP in each unit, in UTC and local, and as their converted types."""
    p = raw.idl()
    units = {
        "MILLIS": ("ms", 10**3, p.MilliSeconds),
        "MICROS": ("us", 10**6, p.MicroSeconds),
        "NANOS": ("ns", 10**9, p.NanoSeconds),
    }

    def time(second: int) -> Callable[[int], int]:
        return lambda i: 86_400 * second - 1 - i * (1977 * second + 13)

    def moment(second: int) -> Callable[[int], int]:
        return lambda i: (i - 15) * (86_400 * 9973 * second // 11) + i

    found = {}
    for unit, (short, second, of) in units.items():
        word = "int32" if unit == "MILLIS" else "int64"

        def to_ns(stored: int, ns: int = 10**9 // second) -> int:  # which polars' Time counts
            return stored * ns

        for is_utc in (False, True):
            both = {"isAdjustedToUTC": is_utc, "unit": p.TimeUnit(**{unit: of()})}
            zone = "utc" if is_utc else "local"
            found[f"time_{short}_{zone}"] = LogicalType(
                word, logical(TIME=p.TimeType(**both)), time(second), to_ns, pl.Time
            )
            found[f"timestamp_{short}_{zone}"] = LogicalType(
                "int64",
                logical(TIMESTAMP=p.TimestampType(**both)),
                moment(second),
                same,
                pl.Datetime(short, "UTC" if is_utc else None),  # type: ignore[arg-type]
            )
        if unit != "NANOS":  # which has no converted type; TIME_MILLIS is 7, TIMESTAMP_MILLIS 9
            at = int(unit == "MICROS")
            found[f"time_{short}_converted"] = LogicalType(
                word, converted(7 + at), time(second), to_ns, pl.Time
            )
            found[f"timestamp_{short}_converted"] = LogicalType(
                "int64", converted(9 + at), moment(second), same, pl.Datetime(short, "UTC")  # type: ignore[arg-type]
            )  # fmt: skip
    return found


def _half(stored: bytes) -> float:
    return float(struct.unpack("<e", stored)[0])


def _interval(stored: bytes) -> dict[str, int]:
    return dict(zip(("months", "days", "milliseconds"), struct.unpack("<3I", stored), strict=True))


WORDS = ("", "a", "twelve bytes", "thirteen byte", "ünïcödé €uro 𝄞", '{"longer than a view": 1}')


def _bytes() -> dict[str, LogicalType]:
    p = raw.idl()

    def text(i: int) -> bytes:
        return (WORDS[i % 6] + "x" * (i // 6)).encode()

    def words(*kinds: tuple[str, dict[str, Any]]) -> dict[str, LogicalType]:
        return {
            name: LogicalType("binary", kind, text, bytes.decode, pl.String) for name, kind in kinds
        }

    def stored(word: str, element: dict[str, Any], size: int = 0) -> LogicalType:
        def value(i: int) -> bytes:
            return bytes((i * 37 + at) % 256 for at in range(size or i))

        return LogicalType(word, element, value, same, pl.Binary)

    months = pl.Struct(dict.fromkeys(("months", "days", "milliseconds"), pl.UInt32))
    return {
        **words(
            ("string_logical", logical(STRING=p.StringType())),
            ("string_converted", converted(0)),
            ("enum_logical", logical(ENUM=p.EnumType())),
            ("enum_converted", converted(4)),
            ("json_logical", logical(JSON=p.JsonType())),
            ("json_converted", converted(19)),
        ),
        "bson_logical": stored("binary", logical(BSON=p.BsonType())),
        "bson_converted": stored("binary", converted(20)),
        "geometry": stored("binary", logical(GEOMETRY=p.GeometryType())),
        "geography": stored("binary", logical(GEOGRAPHY=p.GeographyType())),
        "bytes": stored("binary", {}),
        "fixed": stored("fixed", {"type_length": 3}, 3),
        "uuid": stored("fixed", {"type_length": 16, **logical(UUID=p.UUIDType())}, 16),
        "float16": LogicalType(
            "fixed",
            {"type_length": 2, **logical(FLOAT16=p.Float16Type())},
            lambda i: struct.pack("<e", [i / 7, -i * 2000.0, 6e-8, float("inf")][i % 4]),
            _half,
            pl.Float16,
        ),
        "interval": LogicalType(
            "fixed",
            {"type_length": 12, **converted(21)},
            lambda i: struct.pack("<3I", i, 2**32 - 1 - i, i * 2**26),
            _interval,
            months,
        ),
    }


def _dates() -> dict[str, LogicalType]:
    def day(i: int) -> int:
        return (i - 15) * 40_009

    return {
        "date_logical": LogicalType(
            "int32", logical(DATE=raw.idl().DateType()), day, same, pl.Date
        ),
        "date_converted": LogicalType("int32", converted(6), day, same, pl.Date),
    }


LOGICAL = {**_integers(), **_decimals(), **_times(), **_bytes(), **_dates()}
