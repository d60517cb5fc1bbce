"""Every encoding of values and every codec, written slowly from the specification.

Values are what a physical type holds: bool, int (signed), float, or bytes (as stored).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from delta_pages import AlpVector, alp, delta_byte_array, delta_lengths, deltas, pack
from handmade import packed, prefixed, repeated

UNCOMPRESSED, SNAPPY, GZIP, BROTLI, LZ4, ZSTD, LZ4_RAW = 0, 1, 2, 4, 5, 6, 7
CODECS = (UNCOMPRESSED, SNAPPY, GZIP, BROTLI, LZ4, ZSTD, LZ4_RAW)
_ARROW_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 5: "lz4_raw", 6: "zstd", 7: "lz4_raw"}

ENCODINGS = {
    "PLAIN": 0,
    "RLE": 3,
    "DELTA_BINARY_PACKED": 5,
    "DELTA_LENGTH_BYTE_ARRAY": 6,
    "DELTA_BYTE_ARRAY": 7,
    "RLE_DICTIONARY": 8,
    "BYTE_STREAM_SPLIT": 9,
    "ALP": 10,
}
# Encodings.md and AlpEncoding.md: which types an encoding is defined for.
DEFINED = {
    "BOOLEAN": ("PLAIN", "RLE"),
    "INT32": ("PLAIN", "RLE_DICTIONARY", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"),
    "INT64": ("PLAIN", "RLE_DICTIONARY", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"),
    "INT96": ("PLAIN", "RLE_DICTIONARY"),
    "FLOAT": ("PLAIN", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT", "ALP"),
    "DOUBLE": ("PLAIN", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT", "ALP"),
    "BYTE_ARRAY": ("PLAIN", "RLE_DICTIONARY", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"),
    "FIXED_LEN_BYTE_ARRAY": ("PLAIN", "RLE_DICTIONARY", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"),
}
_FORMATS = {"INT32": "<i", "INT64": "<q", "FLOAT": "<f", "DOUBLE": "<d"}


def compress(codec: int, data: bytes) -> bytes:
    """A page's bytes; LZ4 as Hadoop writes it, in two blocks."""
    if codec == UNCOMPRESSED:
        return data
    arrow = pa.Codec(_ARROW_CODECS[codec])
    if codec != LZ4:
        return bytes(arrow.compress(data))
    out = b""
    for half in (data[: len(data) // 2], data[len(data) // 2 :]):
        if half:
            block = bytes(arrow.compress(half))
            out += struct.pack(">II", len(half), len(block)) + block
    return out


def _halves(codec: str, data: bytes) -> bytes:
    arrow = pa.Codec(codec)
    half = len(data) // 2
    return bytes(arrow.compress(data[:half])) + bytes(arrow.compress(data[half:]))


# Other ways in which a codec's bytes are framed, all of them read: the codec, and its compressor.
FRAMINGS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "LZ4 frame": (LZ4, lambda data: bytes(pa.Codec("lz4").compress(data))),
    "LZ4 raw block": (LZ4, lambda data: bytes(pa.Codec("lz4_raw").compress(data))),
    "GZIP of two members": (GZIP, partial(_halves, "gzip")),
    "ZSTD of two frames": (ZSTD, partial(_halves, "zstd")),
}


def stored(physical: str, value: Any) -> bytes:
    """The bytes of a PLAIN value; of BYTE_ARRAY without its length."""
    return struct.pack(_FORMATS[physical], value) if physical in _FORMATS else bytes(value)


def encode(encoding: str, physical: str, values: Sequence[Any]) -> bytes:
    """The values of a data page in any encoding but RLE_DICTIONARY."""
    match encoding:
        case "PLAIN":
            return plain(physical, values)
        case "RLE":
            return prefixed(hybrid([int(value) for value in values], 1))
        case "DELTA_BINARY_PACKED":
            return deltas(values, 32 if physical == "INT32" else 64)
        case "DELTA_LENGTH_BYTE_ARRAY":
            return delta_lengths(values)
        case "DELTA_BYTE_ARRAY":
            return delta_byte_array(values)
        case "BYTE_STREAM_SPLIT":
            whole = [stored(physical, value) for value in values]
            return b"".join(bytes(streams) for streams in zip(*whole, strict=True))
        case "ALP":
            return _alp(values, 4 if physical == "FLOAT" else 8)
    raise ValueError(encoding)


def plain(physical: str, values: Sequence[Any]) -> bytes:
    """PLAIN values."""
    if physical == "BOOLEAN":
        return pack([int(value) for value in values], 1)
    whole = [stored(physical, value) for value in values]
    return b"".join(map(prefixed, whole) if physical == "BYTE_ARRAY" else whole)


def hybrid(values: Sequence[int], width: int) -> bytes:
    """Runs of equal values where there are 8 of them, groups of 8 packed ones elsewhere."""
    out = b""
    at = 0
    while at < len(values):
        stop = at
        while stop < len(values) and values[stop] == values[at]:
            stop += 1
        if stop - at >= 8:
            out += repeated(values[at], stop - at, width)
        else:
            stop = min(at + 8, len(values))
            out += packed(list(values[at:stop]), width)
        at = stop
    return out


def dictionary_of(values: Sequence[Any]) -> list[Any]:
    """The distinct values, in the order in which they come."""
    return list(dict.fromkeys(values))


def indices(values: Sequence[Any], dictionary: Sequence[Any]) -> bytes:
    """The values of a data page in RLE_DICTIONARY."""
    places = {value: at for at, value in enumerate(dictionary)}
    width = max(len(dictionary) - 1, 0).bit_length()
    return bytes([width]) + hybrid([places[value] for value in values], width)


def _alp(values: Sequence[float], size: int) -> bytes:
    """Vectors of 8; what two decimals do not give exactly is an exception."""
    vectors = []
    real = np.float32 if size == 4 else np.float64
    bits_of = np.uint32 if size == 4 else np.uint64
    for start in range(0, len(values), 8):
        part = np.array(values[start : start + 8], real)
        numbers = [round(float(value) * 100) if abs(value) < 1e6 else 0 for value in part]
        exceptions = {}
        for at, (value, number) in enumerate(zip(part, numbers, strict=True)):
            # exponent 2, factor 0: number * 10**0 * 10**-2, in the type's own arithmetic
            decoded = real(number) * real(1.0) * real(0.01)
            if decoded.view(bits_of) != value.view(bits_of):
                exceptions[at] = int(value.view(bits_of))
                numbers[at] = numbers[0] if at else 0
        least = min(numbers)
        above = [number - least for number in numbers]
        width = max(above).bit_length()
        vectors.append(AlpVector(2, 0, least, width, above, exceptions))
    return alp(vectors, 3, size)
