"""Bloom filters: which bytes they take, and whether a chunk may hold a value. Pure.

A filter is a row of blocks of 32 bytes: eight words, in each of which a value sets one bit. The
upper half of the value's hash picks the block, the lower half the bits. Hashed (XXH64, seed 0) is
the value as PLAIN stores it, without the length that stands before byte arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pqlab.errors import CorruptError, UnsupportedError
from pqlab.footer import raw
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.types import TypeKey, leaf_arrow_type
from pqlab.native import _native

BLOCK_BYTES = 32
HEADER_BYTES = 64  # a header takes about 20
_SALT = np.array(
    [
        0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947,
        0x5C6BFB31,
    ],
    np.uint32,
)  # fmt: skip
_WORD_BITS = 32
_KNOWN = {"algorithm": "BLOCK", "hash": "XXHASH", "compression": "UNCOMPRESSED"}

Hashes = npt.NDArray[np.uint64]


class Bitset(NamedTuple):
    """Where a filter's blocks are in the file: `num_blocks` of `BLOCK_BYTES` from `start` on."""

    start: int
    num_blocks: int

    def block_ranges(self, hashes: Hashes) -> list[tuple[int, int]]:
        """The byte range of the block of each hash."""
        starts = self.start + BLOCK_BYTES * block_of(hashes, self.num_blocks)
        return [(start, start + BLOCK_BYTES) for start in starts.tolist()]


def filter_span(metadata: FileMetaData, row: int) -> tuple[int, int | None] | None:
    """Where the filter of a row of the chunk table starts, and its length, header included.

    None for the length: not stated. None instead of both: the chunk has no filter, or it is
    encrypted. Raises `CorruptError` for one that does not lie before the footer.
    """
    chunks = metadata.chunks
    present = int(chunks.present[row])
    if present & Present.CRYPTO_METADATA or not present & Present.BLOOM_FILTER_OFFSET:
        return None
    start, length = int(chunks.bloom_filter_offset[row]), None
    if present & Present.BLOOM_FILTER_LENGTH:
        length = int(chunks.bloom_filter_length[row])
    end = metadata.footer_offset
    if not 0 <= start < end or (length is not None and not 0 < length <= end - start):
        size = "" if length is None else f" of {length:,} bytes"
        raise CorruptError(
            f"the bloom filter{size} does not lie before the footer at {end:,}",
            offset=start,
            field="ColumnMetaData.bloom_filter_offset",
        )
    return start, length


def parse_header(header: memoryview, offset: int, end: int) -> Bitset:
    """Where the blocks are of the filter whose first bytes, at `offset` of the file, these are.

    `end`: where the filter, or what it lies in, ends. Raises `CorruptError`, and `UnsupportedError`
    for an algorithm, a hash or a compression that the format did not have when pqlab was written.
    """
    found, length = raw.bloom_filter_header(header, offset=offset)
    for name, known in _KNOWN.items():
        if getattr(getattr(found, name), known, None) is None:
            raise UnsupportedError(
                f"the bloom filter's {name} is not {known}",
                offset=offset,
                field=f"BloomFilterHeader.{name}",
            )
    size, start = found.numBytes, offset + length
    if size is None or size < BLOCK_BYTES or size % BLOCK_BYTES or size > end - start:
        raise CorruptError(
            f"the bloom filter has {size} bytes, not a multiple of {BLOCK_BYTES} that ends by "
            f"byte {end:,}",
            offset=offset,
            field="BloomFilterHeader.numBytes",
        )
    return Bitset(start, size // BLOCK_BYTES)


def block_of(hashes: Hashes, num_blocks: int) -> npt.NDArray[np.int64]:
    """The block that each hash falls into."""
    picked: Hashes = ((hashes >> np.uint64(32)) * np.uint64(num_blocks)) >> np.uint64(32)
    return picked.astype(np.int64)


def has_bits(blocks: npt.NDArray[np.uint8], hashes: Hashes) -> npt.NDArray[np.bool_]:
    """Whether each block, of as many as there are hashes, has all bits that its hash sets."""
    words = np.ascontiguousarray(blocks).view("<u4").reshape(-1, len(_SALT))
    bits = (hashes.astype(np.uint32)[:, None] * _SALT) >> np.uint32(27)
    found: npt.NDArray[np.bool_] = ((words >> bits) & np.uint32(1)).all(axis=1)
    return found


def hashes_of(stored: Sequence[bytes]) -> Hashes:
    """The hashes of values as PLAIN stores them."""
    return np.array([_native.xxhash64(np.frombuffer(each, np.uint8)) for each in stored], np.uint64)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BloomFilter:
    """The bloom filter of a column chunk; made by `ParquetFile.bloom_filter`.

    `bitset`: its bytes (uint8), a multiple of 32. `key`: the type of the column.
    """

    bitset: npt.NDArray[np.uint8]
    key: TypeKey

    @property
    def num_blocks(self) -> int:
        """Blocks of 32 bytes."""
        return len(self.bitset) // BLOCK_BYTES

    @property
    def set_share(self) -> float:
        """The share of bits that are set."""
        return float(np.bitwise_count(self.bitset).sum() / (8 * len(self.bitset)))

    @property
    def false_positive_share(self) -> float:
        """Of values that the chunk does not have, how many it may seem to have."""
        words = self.bitset.view("<u4").reshape(-1, len(_SALT))
        shares = np.bitwise_count(words) / _WORD_BITS
        return float(np.prod(shares, axis=1).mean())

    def might_contain(self, value: Any) -> bool:
        """False: the chunk does not have the value. True: it may have it.

        `value`: as polars compares it with the column. True, too, for what cannot be told: NaN, and
        values whose bytes in the file are not certain.
        """
        stored = stored_values(value, self.key)
        if stored is None:
            return True
        hashes = hashes_of(stored)
        blocks = self.bitset.reshape(-1, BLOCK_BYTES)[block_of(hashes, self.num_blocks)]
        return bool(has_bits(blocks, hashes).any())

    def __repr__(self) -> str:
        return (
            f"<BloomFilter: {self.num_blocks:,} blocks of {BLOCK_BYTES} bytes, "
            f"{self.set_share:.0%} of the bits set, "
            f"{self.false_positive_share:.2%} of other values may seem to be there>"
        )


def stored_values(value: Any, key: TypeKey) -> tuple[bytes, ...] | None:
    """The bytes that PLAIN has, without their length, for all that polars finds equal to `value`.

    None where this is not certain: NaN; numbers and times that the column does not hold exactly,
    or holds in more than one way; types without filters; values of another kind.
    """
    arrow = leaf_arrow_type(*key)
    makers = (made for fits, made in _MAKERS if fits(arrow, key))
    maker = next(makers, None)
    return None if maker is None else maker(value, arrow, key)


Stored = tuple[bytes, ...] | None


def _integer(value: Any, arrow: pa.DataType, key: TypeKey) -> Stored:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    is_unsigned = pa.types.is_unsigned_integer(arrow)
    bits = arrow.bit_width
    least, most = (0, 2**bits - 1) if is_unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if not least <= value <= most:
        return None
    size = _SIZES[key[0]]
    return ((value % (1 << 8 * size)).to_bytes(size, "little"),)


def _float(value: Any, arrow: pa.DataType, _: TypeKey) -> Stored:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    dtype = np.dtype(f"<f{arrow.bit_width // 8}")
    try:
        with np.errstate(over="ignore"):
            stored = dtype.type(value)
    except OverflowError:
        return None
    if math.isnan(value) or float(stored) != value:
        return None
    both = (stored, -stored) if value == 0 else (stored,)
    return tuple(each.tobytes() for each in both)


def _text(value: Any, _: pa.DataType, __: TypeKey) -> Stored:
    return (value.encode(),) if isinstance(value, str) else None


def _bytes(value: Any, _: pa.DataType, key: TypeKey) -> Stored:
    if not isinstance(value, bytes):
        return None
    is_fixed = key[0] == "FIXED_LEN_BYTE_ARRAY"
    return None if is_fixed and len(value) != key[2] else (value,)


def _date(value: Any, _: pa.DataType, __: TypeKey) -> Stored:
    if not isinstance(value, date) or isinstance(value, datetime):
        return None
    return ((value - date(1970, 1, 1)).days.to_bytes(4, "little", signed=True),)


def _time(value: Any, arrow: pa.DataType, key: TypeKey) -> Stored:
    if not isinstance(value, time) or value.tzinfo is not None:
        return None
    since = timedelta(
        hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
    )
    return _counted(since, arrow.unit, key)


def _timestamp(value: Any, arrow: pa.DataType, key: TypeKey) -> Stored:
    if not isinstance(value, datetime) or (value.tzinfo is None) != (arrow.tz is None):
        return None
    if arrow.unit == "ns":  # compared in microseconds, of which each is a thousand values
        return None
    epoch = datetime(1970, 1, 1, tzinfo=None if value.tzinfo is None else UTC)
    return _counted(value - epoch, arrow.unit, key)


def _counted(since: timedelta, unit: str, key: TypeKey) -> Stored:
    microseconds = since // timedelta(microseconds=1)
    count, rest = divmod(microseconds, 1000) if unit == "ms" else (microseconds, 0)
    count *= 1000 if unit == "ns" else 1
    return None if rest else (count.to_bytes(_SIZES[key[0]], "little", signed=True),)


def _decimal(value: Any, arrow: pa.DataType, key: TypeKey) -> Stored:
    """Byte arrays may pad a number; the other types hold it in one way."""
    if not isinstance(value, Decimal) or not value.is_finite():
        return None
    sign, digits, exponent = value.as_tuple()
    shift = int(exponent) + arrow.scale
    if not -len(digits) <= shift <= arrow.precision:
        return None
    number = int("".join(map(str, digits)))
    unscaled, rest = divmod(number * 10 ** max(shift, 0), 10 ** max(-shift, 0))
    if rest or unscaled >= 10**arrow.precision:
        return None
    unscaled = -unscaled if sign else unscaled
    fixed = key[0] == "FIXED_LEN_BYTE_ARRAY"
    size = (key[2] or 0) if fixed else _SIZES[key[0]]
    try:
        return (unscaled.to_bytes(size, "big" if fixed else "little", signed=True),)
    except OverflowError:
        return None


_SIZES = {"INT32": 4, "INT64": 8}
_Maker = Callable[[Any, pa.DataType, TypeKey], Stored]
_MAKERS: tuple[tuple[Callable[[pa.DataType, TypeKey], bool], _Maker], ...] = (
    (lambda _, key: key[0] in ("BOOLEAN", "INT96"), lambda *_: None),
    (lambda arrow, _: pa.types.is_integer(arrow), _integer),
    (lambda arrow, _: pa.types.is_floating(arrow), _float),
    (lambda arrow, _: pa.types.is_string_view(arrow), _text),
    (lambda arrow, _: pa.types.is_binary_view(arrow), _bytes),
    (lambda arrow, _: pa.types.is_date(arrow), _date),
    (lambda arrow, _: pa.types.is_time(arrow), _time),
    (lambda arrow, _: pa.types.is_timestamp(arrow), _timestamp),
    (lambda arrow, key: pa.types.is_decimal(arrow) and key[0] != "BYTE_ARRAY", _decimal),
)
