"""XXH64 against published hashes, and against the algorithm written out in Python."""

from __future__ import annotations

import numpy as np
import pytest

from pqlab.native import _native

P1, P2, P3, P4, P5 = (
    11400714785074694791,
    14029467366897019727,
    1609587929392839161,
    9650029242287828579,
    2870177450012600261,
)
MASK = (1 << 64) - 1


def rotate(x: int, bits: int) -> int:
    return (x << bits | x >> (64 - bits)) & MASK


def reference(data: bytes, seed: int) -> int:
    """XXH64 from its specification, on Python integers."""

    def lane_round(lane: int, word: int) -> int:
        return rotate((lane + word * P2) & MASK, 31) * P1 & MASK

    position = 0
    if len(data) >= 32:
        lanes = [seed + P1 + P2, seed + P2, seed, seed - P1]
        while len(data) - position >= 32:
            for i in range(4):
                word = int.from_bytes(data[position : position + 8], "little")
                lanes[i] = lane_round(lanes[i] & MASK, word)
                position += 8
        value = sum(rotate(x, n) for x, n in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
        for lane in lanes:
            value = ((value ^ lane_round(0, lane)) * P1 + P4) & MASK
    else:
        value = seed + P5
    value = (value + len(data)) & MASK
    while len(data) - position >= 8:
        word = int.from_bytes(data[position : position + 8], "little")
        value = (rotate(value ^ lane_round(0, word), 27) * P1 + P4) & MASK
        position += 8
    if len(data) - position >= 4:
        word = int.from_bytes(data[position : position + 4], "little")
        value = (rotate(value ^ (word * P1 & MASK), 23) * P2 + P3) & MASK
        position += 4
    for byte in data[position:]:
        value = rotate(value ^ (byte * P5 & MASK), 11) * P1 & MASK
    value = (value ^ value >> 33) * P2 & MASK
    value = (value ^ value >> 29) * P3 & MASK
    return value ^ value >> 32


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0xEF46DB3751D8E999),
        ("a", 0xD24EC4F1A98C6E5B),
        ("abc", 0x44BC2CF5AD770999),
    ],
)
def test_published_hashes(text: str, expected: int) -> None:
    assert _native.xxhash64(np.frombuffer(text.encode(), np.uint8)) == expected
    assert reference(text.encode(), 0) == expected


@pytest.mark.parametrize("seed", [0, 1, (1 << 63) + 5])
def test_every_length(seed: int) -> None:
    data = np.random.default_rng(7).integers(0, 256, 300, dtype=np.uint8)
    for length in range(300):
        piece = data[300 - length :]  # also at odd addresses
        assert _native.xxhash64(piece, seed) == reference(piece.tobytes(), seed)


def test_blocks_are_seeded_by_their_ordinal() -> None:
    data = np.random.default_rng(8).integers(0, 256, 2500, dtype=np.uint8)
    hashes = _native.xxhash64_blocks(data, 1000, 5)
    expected = [reference(data[i : i + 1000].tobytes(), 5 + i // 1000) for i in (0, 1000, 2000)]
    assert hashes.tolist() == expected
    assert _native.xxhash64_blocks(data[:0], 1000).size == 0
    with pytest.raises(ValueError, match="block_bytes"):
        _native.xxhash64_blocks(data, 0)
