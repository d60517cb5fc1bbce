"""RLE/bit-packed hybrid, run by run, and the deprecated BIT_PACKED (Encodings.md)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pqlab.errors import CorruptError

Numbers = npt.NDArray[np.int64]


class Run(NamedTuple):
    """A run: `offset` and `size_bytes` with its header; `value` of an RLE run."""

    kind: str
    offset: int
    size_bytes: int
    num_values: int
    value: int | None


def varint(data: bytes, at: int, stop: int) -> tuple[int, int]:
    """The unsigned LEB128 number at `at`, and where it ends. Raises `CorruptError`."""
    value, shift = 0, 0
    while at < stop and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise CorruptError("a number does not end where the page's bytes end", offset=at)


def zigzag(data: bytes, at: int, stop: int) -> tuple[int, int]:
    """The signed number at `at`, and where it ends."""
    value, at = varint(data, at, stop)
    return (value >> 1) ^ -(value & 1), at


def runs(data: bytes, start: int, stop: int, width: int, count: int) -> list[Run]:
    """The runs of [start, stop) until so many values are there; of a last one more are stated.

    Raises `CorruptError` where the bytes end before.
    """
    found: list[Run] = []
    at, done, value_bytes = start, 0, (width + 7) // 8
    while done < count:
        begin = at
        header, at = varint(data, at, stop)
        if header & 1:
            num_values, size = (header >> 1) * 8, (header >> 1) * width
            # The last groups may be cut where the values end.
            needed = -(-min(num_values, count - done) * width // 8)
            if at + needed > stop:
                raise CorruptError("a bit-packed run is longer than the page", offset=begin)
            at = min(at + size, stop)
            found.append(Run("bit-packed", begin, at - begin, num_values, None))
        else:
            num_values = header >> 1
            if at + value_bytes > stop:
                raise CorruptError("an RLE run is longer than the page", offset=begin)
            value = int.from_bytes(data[at : at + value_bytes], "little")
            at += value_bytes
            found.append(Run("rle", begin, at - begin, num_values, value))
        done += num_values
    return found


def values(data: bytes, found: list[Run], width: int, count: int) -> Numbers:
    """The numbers that the runs hold, `count` of them."""
    parts: list[Numbers] = [np.empty(0, np.int64)]
    for run in found:
        left = min(run.num_values, count)
        count -= left
        if run.value is not None:
            parts.append(np.full(left, run.value, np.int64))
        else:
            _, body = varint(data, run.offset, run.offset + run.size_bytes)
            parts.append(unpacked(data[body : run.offset + run.size_bytes], width, left))
    return np.concatenate(parts)


def unpacked(data: bytes, width: int, count: int, *, high_first: bool = False) -> Numbers:
    """Numbers of `width` bits each: from the low bit of each byte on, or from the high one.

    Bits beyond the bytes are 0.
    """
    if width == 0:
        return np.zeros(count, np.int64)
    stored = np.frombuffer(data, np.uint8)
    bits = np.unpackbits(stored, bitorder="big" if high_first else "little")
    whole = np.zeros(count * width, np.int64)
    taken = min(len(whole), len(bits))
    whole[:taken] = bits[:taken]
    weights = 1 << np.arange(width, dtype=np.int64)
    return whole.reshape(count, width) @ (weights[::-1] if high_first else weights)
