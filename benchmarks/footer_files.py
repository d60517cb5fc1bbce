"""Files whose footers are large: written byte by byte, since a writer would take minutes.

The chunks are laid out as pyarrow's writer does it; there is no data behind them. Deterministic.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"PAR1"


def varint(value: int) -> bytes:
    """Encode an unsigned number as thrift's compact protocol does."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def zigzag(value: int) -> bytes:
    """Encode a signed number as thrift's compact protocol does."""
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def binary(value: bytes) -> bytes:
    """Encode a string with its length."""
    return varint(len(value)) + value


def list_header(size: int, element: int) -> bytes:
    """Encode the header of a list of elements of that compact type."""
    return bytes([size << 4 | element]) if size < 15 else bytes([0xF0 | element]) + varint(size)


@dataclass(frozen=True)
class Column:
    """A column of the file: its type's number, what its chunks usually hold, a bound's bytes."""

    name: bytes
    physical_type: int
    chunk_bytes: int
    nulls: int
    bound: Callable[[random.Random], bytes]


def _double(rng: random.Random) -> bytes:
    return struct.pack("<d", rng.random())


def _int64(rng: random.Random) -> bytes:
    return struct.pack("<q", rng.getrandbits(40))


def _date(rng: random.Random) -> bytes:
    return f"20{rng.randrange(10, 30)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}".encode()


def _text(rng: random.Random) -> bytes:
    return rng.randbytes(rng.randrange(0, 32)).hex().encode()


_KINDS = ((5, _double), (2, _int64), (5, _double), (6, _date))
_ADVERSARIAL_KINDS = ((6, _text),)


def _columns(count: int, rng: random.Random, *, adversarial: bool) -> list[Column]:
    kinds = _ADVERSARIAL_KINDS if adversarial else _KINDS
    return [
        Column(
            name=f"column_{i}".encode(),
            physical_type=kinds[i % len(kinds)][0],
            chunk_bytes=rng.randrange(2_000, 2_000_000),
            nulls=rng.choice((0, rng.randrange(1, 10_000))),
            bound=kinds[i % len(kinds)][1],
        )
        for i in range(count)
    ]


def footer(
    num_columns: int, num_row_groups: int, *, adversarial: bool, unlike: bool = False
) -> bytes:
    """The thrift bytes of FileMetaData.

    Sizes and null counts of a column differ by up to a tenth between its chunks. Adversarial: all
    bounds are strings of random length, every chunk has a page index. Unlike: every chunk has a
    random number of keys, too, so that hardly any is laid out like another.
    """
    rng = random.Random(11)
    table = _columns(num_columns, rng, adversarial=adversarial)
    rows = 20_000
    schema = b"".join(
        b"\x15" + zigzag(column.physical_type) + b"\x25\x02\x18" + binary(column.name) + b"\0"
        for column in table
    )
    root = b"\x48" + binary(b"schema") + b"\x15" + zigzag(num_columns) + b"\0"
    parts = [b"\x15\x04\x19", list_header(num_columns + 1, 12), root, schema]
    parts += [b"\x16", zigzag(rows * num_row_groups), b"\x19", list_header(num_row_groups, 12)]
    offset = 4
    for _ in range(num_row_groups):
        start = offset
        parts += [b"\x19", list_header(num_columns, 12)]
        for column in table:
            size = int(column.chunk_bytes * rng.uniform(0.9, 1.1))
            keys = rng.randrange(1, 14) if unlike else 0
            parts.extend(_chunk(column, rows, offset, size, rng, keys=keys, page_index=adversarial))
            offset += size
        total = zigzag(offset - start)
        parts += [b"\x16", total, b"\x16", zigzag(rows), b"\x26", zigzag(start), b"\x16", total]
        parts.append(b"\x14\x00\0")
    parts += [b"\x28", binary(b"pqlab benchmark"), b"\x19", list_header(num_columns, 12)]
    parts += [b"\x1c\0\0"] * num_columns
    parts.append(b"\0")
    return b"".join(parts)


def _chunk(
    column: Column,
    rows: int,
    offset: int,
    size: int,
    rng: random.Random,
    *,
    keys: int,
    page_index: bool,
) -> Iterator[bytes]:
    yield b"\x26\x00\x1c\x15" + zigzag(column.physical_type)
    yield b"\x19\x35\x00\x06\x10\x19\x18" + binary(column.name)
    yield b"\x15\x02\x16" + zigzag(rows)
    yield b"\x16" + zigzag(size + size // 3) + b"\x16" + zigzag(size)
    if keys:
        yield b"\x19" + list_header(keys, 12) + b"".join(_key_values(keys, rng)) + b"\x16"
    else:
        yield b"\x26"
    yield zigzag(offset + size // 8) + b"\x26" + zigzag(offset)
    nulls = int(column.nulls * rng.uniform(0.9, 1.1))
    low, high = sorted((column.bound(rng), column.bound(rng)))  # in some order, if not in theirs
    yield b"\x1c\x36" + zigzag(nulls) + b"\x28" + binary(high) + b"\x18" + binary(low)
    yield b"\x11\x11\x00"  # both exact
    yield b"\x19\x2c\x15\x04\x15\x00\x15\x02\x00\x15\x00\x15\x10\x15\x02\x00"
    yield b"\x3c\x29\x06\x19\x26" + zigzag(nulls) + zigzag(rows - nulls) + b"\x00\x00"
    if page_index:
        place = 200 << 40 | rng.getrandbits(37)
        yield b"\x16" + zigzag(place) + b"\x15" + zigzag(rng.randrange(20, 900))
        yield b"\x16" + zigzag(place + 1000) + b"\x15" + zigzag(rng.randrange(20, 900))
    yield b"\x00"


def _key_values(count: int, rng: random.Random) -> Iterator[bytes]:
    for number in range(count):
        value = b"v" * rng.randrange(3)
        yield b"\x18" + binary(b"key %d" % number) + b"\x18" + binary(value) + b"\0"


def write(
    path: Path,
    num_columns: int,
    num_row_groups: int,
    *,
    adversarial: bool = False,
    unlike: bool = False,
) -> int:
    """Write a file of that footer; returns the footer's size in bytes. Nothing if it is there."""
    if not path.exists():
        content = footer(num_columns, num_row_groups, adversarial=adversarial, unlike=unlike)
        path.write_bytes(MAGIC + content + struct.pack("<I", len(content)) + MAGIC)
    return path.stat().st_size - 12
