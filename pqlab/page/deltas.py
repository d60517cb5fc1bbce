"""The blocks and miniblocks of DELTA_BINARY_PACKED (Encodings.md)."""

from __future__ import annotations

from typing import NamedTuple

from pqlab.errors import CorruptError
from pqlab.page.hybrid import varint, zigzag


class Miniblock(NamedTuple):
    """`offset`, `size_bytes`: of its packed deltas; `num_values`: deltas without padding."""

    block: int
    miniblock: int
    offset: int
    size_bytes: int
    bit_width: int
    num_values: int
    min_delta: int


class Deltas(NamedTuple):
    """A stream: its header, its miniblocks, and where it ends."""

    block_size: int
    num_miniblocks: int
    total_count: int
    first_value: int
    miniblocks: list[Miniblock]
    stop: int


def deltas(data: bytes, start: int, stop: int) -> Deltas:
    """The stream that begins at `start`. Raises `CorruptError` for one that is none."""
    block_size, at = varint(data, start, stop)
    num_miniblocks, at = varint(data, at, stop)
    total_count, at = varint(data, at, stop)
    first_value, at = zigzag(data, at, stop)
    if num_miniblocks == 0 or block_size == 0 or block_size % num_miniblocks:
        raise CorruptError(
            f"blocks of {block_size:,} values do not part into {num_miniblocks:,} miniblocks",
            offset=start,
        )
    per_miniblock = block_size // num_miniblocks
    found: list[Miniblock] = []
    left, block = total_count - 1, 0
    while left > 0:
        min_delta, at = zigzag(data, at, stop)
        widths, at = data[at : min(at + num_miniblocks, stop)], at + num_miniblocks
        if at > stop:
            raise CorruptError("a block is longer than the page", offset=at)
        for number, width in enumerate(widths):
            if left <= 0:
                break  # what is not needed is not stored, whatever its width says
            size = per_miniblock * width // 8
            if at + size > stop:
                raise CorruptError("a miniblock is longer than the page", offset=at)
            count = min(left, per_miniblock)
            found.append(Miniblock(block, number, at, size, width, count, min_delta))
            at += size
            left -= count
        block += 1
    return Deltas(block_size, num_miniblocks, total_count, first_value, found, at)
