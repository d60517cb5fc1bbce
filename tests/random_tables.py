"""Random tables for writers: any schema, lists, maps and structs in each other, and nulls."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

WORDS = ("", "a", "twelve bytes", "longer than twelve bytes", "ünïcödé €uro 𝄞")
DAY = dt.datetime(2001, 1, 1, tzinfo=dt.UTC)

# Each type's value for a number below 100.
COMMON: dict[pa.DataType, Callable[[int], Any]] = {
    pa.int64(): lambda n: (-1) ** n * 2 ** (n % 63),
    pa.int8(): lambda n: n - 50,
    pa.float64(): lambda n: n / 7,
    pa.bool_(): lambda n: n < 50,
    pa.string(): lambda n: WORDS[n % len(WORDS)],
    pa.binary(5): lambda n: n.to_bytes(5, "little"),
    pa.decimal128(9, 2): lambda n: Decimal(n) / 4,
    pa.date32(): lambda n: dt.date(2001, 1, 1) + dt.timedelta(n * 100),
    pa.time64("us"): lambda n: dt.time(n % 24, 1, 2, n),
    pa.timestamp("us", "UTC"): lambda n: DAY + dt.timedelta(n, microseconds=n),
    pa.null(): lambda _: None,
}
OTHERS: dict[pa.DataType, Callable[[int], Any]] = {
    pa.int16(): lambda n: n * 327,
    pa.int32(): lambda n: n * 2**24 - 2**30,
    pa.uint8(): lambda n: n * 2,
    pa.uint16(): lambda n: n * 655,
    pa.uint32(): lambda n: n * 2**25,
    pa.uint64(): lambda n: n * 2**57,
    pa.float32(): lambda n: n / 8,
    pa.binary(): lambda n: bytes(range(n % 30)),
    pa.decimal128(18, 5): lambda n: Decimal(n) / 8,
    pa.decimal128(38, 3): lambda n: Decimal(10) ** (n % 30) / 8,
    pa.time32("ms"): lambda n: dt.time(n % 24, 1, 2, n * 1000),
    pa.timestamp("ms"): lambda n: (DAY + dt.timedelta(n)).replace(tzinfo=None),
    pa.timestamp("ns"): lambda n: (DAY + dt.timedelta(n)).replace(tzinfo=None),
}
VALUES = {**COMMON, **OTHERS}


class Tables:
    """Makes tables of these leaf types, nested at most so deep."""

    def __init__(self, seed: int, leaves: Sequence[pa.DataType], depth: int) -> None:
        self.rng = random.Random(seed)
        self.leaves = leaves
        self.depth = depth

    def table(self, columns: int, rows: int, *, nested_only: bool = False) -> pa.Table:
        """`columns` of any type, and a flat one of INT64."""
        fields: list[pa.Field] = []
        while len(fields) < columns:
            field = self.field(f"c{len(fields)}", self.depth)
            if pa.types.is_nested(field.type) or not nested_only:
                fields.append(field)
        fields.insert(1, pa.field("flat", pa.int64()))
        arrays = [pa.array([self.value(f) for _ in range(rows)], f.type) for f in fields]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def type(self, depth: int) -> pa.DataType:
        pick = self.rng.randrange(6 if depth else 1)
        if pick in (0, 1):
            return self.rng.choice(self.leaves)
        if pick == 2:
            return pa.map_(pa.string(), self.type(depth - 1))
        if pick == 3:
            fields = [self.field(f"f{at}", depth - 1) for at in range(self.rng.randrange(1, 4))]
            return pa.struct(fields)
        return pa.list_(self.field("element", depth - 1))

    def field(self, name: str, depth: int) -> pa.Field:
        kind = self.type(depth)
        return pa.field(name, kind, pa.types.is_null(kind) or self.rng.random() < 0.7)

    def value(self, field: pa.Field) -> Any:
        kind, rng = field.type, self.rng
        if pa.types.is_null(kind) or (field.nullable and rng.random() < 0.2):
            return None
        if pa.types.is_struct(kind):
            return {child.name: self.value(child) for child in kind}
        if pa.types.is_map(kind):
            return [(name, self.value(kind.item_field)) for name in WORDS if rng.random() < 0.4]
        if pa.types.is_list(kind):
            size = rng.randrange(5) if rng.random() < 0.95 else 60 // self.depth
            return [self.value(kind.value_field) for _ in range(size)]
        return VALUES[kind](rng.randrange(100))


def nested_table(seed: int, columns: int, rows: int) -> pa.Table:
    """Nested columns of the common types, and a flat one."""
    return Tables(seed, list(COMMON), 4).table(columns, rows, nested_only=True)
