"""Writes the DELTA encodings and ALP as the specification describes them, slowly; tests read it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from handmade import varint


def zigzag(value: int) -> bytes:
    """A signed number of up to 64 bits."""
    return varint((value << 1 ^ value >> 63) & (1 << 64) - 1)


def pack(values: Sequence[int], width: int) -> bytes:
    """Packed from the low bit up."""
    whole = sum(value << (at * width) for at, value in enumerate(values))
    return whole.to_bytes((len(values) * width + 7) // 8, "little")


def wrapped(value: int, bits: int) -> int:
    """Two's complement of so many bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


@dataclass(frozen=True)
class DeltaLayout:
    """How DELTA_BINARY_PACKED writes; `unused_width`: of the mini-blocks that are not needed.

    `extra_width`: bits that every mini-block is wider than it must be.
    """

    block_values: int = 128
    mini_blocks: int = 4
    unused_width: int = 0
    extra_width: int = 0
    padding_bit: int = 0
    padded: bool = True


def deltas(values: Sequence[int], bits: int = 32, layout: DeltaLayout | None = None) -> bytes:
    """DELTA_BINARY_PACKED."""
    how = layout or DeltaLayout()
    first = values[0] if values else 0
    out = varint(how.block_values) + varint(how.mini_blocks) + varint(len(values)) + zigzag(first)
    differences = [wrapped(after - before, bits) for before, after in pairwise(values)]
    mini_values = how.block_values // how.mini_blocks
    for start in range(0, len(differences), how.block_values):
        block = differences[start : start + how.block_values]
        least = min(block)
        above = [(difference - least) & (1 << bits) - 1 for difference in block]
        minis = [above[at : at + mini_values] for at in range(0, len(above), mini_values)]
        widths = [min(max(mini).bit_length() + how.extra_width, bits) for mini in minis]
        out += zigzag(least) + bytes(widths)
        out += bytes([how.unused_width]) * (how.mini_blocks - len(minis))
        for mini, width in zip(minis, widths, strict=True):
            missing = mini_values - len(mini) if how.padded else 0
            padding = [((1 << width) - 1) * how.padding_bit] * missing
            out += pack(mini + padding, width)
    return out


def delta_lengths(values: Sequence[bytes]) -> bytes:
    """DELTA_LENGTH_BYTE_ARRAY."""
    return deltas([len(value) for value in values]) + b"".join(values)


def delta_byte_array(values: Sequence[bytes], before: bytes = b"") -> bytes:
    """DELTA_BYTE_ARRAY. `before`: what the first prefix is taken from (PARQUET-246)."""
    prefixes, suffixes = [], []
    for value in values:
        prefix = 0
        while prefix < min(len(before), len(value)) and before[prefix] == value[prefix]:
            prefix += 1
        prefixes.append(prefix)
        suffixes.append(value[prefix:])
        before = value
    return deltas(prefixes) + delta_lengths(suffixes)


@dataclass(frozen=True)
class AlpVector:
    """`packed`: above `frame_of_reference`; `exceptions`: the bits of values, by position."""

    exponent: int
    factor: int
    frame_of_reference: int
    width: int
    packed: list[int]
    exceptions: dict[int, int] = field(default_factory=dict)

    def written(self, size: int) -> bytes:
        count = len(self.exceptions)
        frame = (self.frame_of_reference & (1 << 8 * size) - 1).to_bytes(size, "little")
        return b"".join(
            [
                struct.pack("<BBH", self.exponent, self.factor, count) + frame,
                bytes([self.width]) + pack(self.packed, self.width),
                struct.pack(f"<{count}H", *self.exceptions),
                *(bits.to_bytes(size, "little") for bits in self.exceptions.values()),
            ]
        )


def alp(vectors: Sequence[AlpVector], log_vector_size: int, size: int) -> bytes:
    """ALP, of values of `size` bytes."""
    written = [vector.written(size) for vector in vectors]
    count = sum(len(vector.packed) for vector in vectors)
    offsets = []
    at = 4 * len(vectors)
    for data in written:
        offsets.append(at)
        at += len(data)
    header = struct.pack("<BBBi", 0, 0, log_vector_size, count)
    return header + struct.pack(f"<{len(offsets)}I", *offsets) + b"".join(written)
