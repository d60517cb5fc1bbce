"""Snappy blocks made by hand, element by element, in every form of the loop."""

from __future__ import annotations

import numpy as np
import pytest
from forms import FORMS
from hypothesis import given, settings, strategies as st

from pqlab.errors import CorruptError
from pqlab.native import _native

UNTOUCHED = b"\xa5" * 64


class Block:
    """A block as Snappy's format describes it, and what it holds."""

    def __init__(self) -> None:
        self.elements, self.plain = bytearray(), bytearray()

    def literal(self, data: bytes, extra: int = 0) -> None:
        """`extra`: bytes that the length takes behind the tag; 0: as few as it needs."""
        length = len(data) - 1
        if length < 60 and extra == 0:
            self.elements.append(length << 2)
        else:
            extra = max(extra, (length.bit_length() + 7) // 8, 1)
            self.elements.append(59 + extra << 2)
            self.elements += length.to_bytes(extra, "little")
        self.elements += data
        self.plain += data

    def copy(self, distance: int, count: int, kind: int) -> None:
        """`kind`: 1, 2 or 3, for offsets of 1, 2 or 4 bytes."""
        if kind == 1:
            self.elements += bytes((1 | count - 4 << 2 | distance >> 8 << 5, distance & 0xFF))
        else:
            self.elements.append(kind | count - 1 << 2)
            self.elements += distance.to_bytes(2 if kind == 2 else 4, "little")
        for _ in range(count):
            self.plain.append(self.plain[-distance])

    def __bytes__(self) -> bytes:
        length, preamble = len(self.plain), bytearray()
        while length >= 0x80:
            preamble.append(length & 0x7F | 0x80)
            length >>= 7
        return bytes((*preamble, length)) + bytes(self.elements)


def other_block() -> Block:
    rng = np.random.default_rng(5)
    block = Block()
    block.literal(rng.integers(0, 256, 40, np.uint8).tobytes())
    for _ in range(60):
        block.copy(int(rng.integers(1, 40)), int(rng.integers(4, 12)), 1)
        block.literal(rng.integers(0, 256, rng.integers(1, 20), np.uint8).tobytes())
    return block


OTHER = other_block()


def decompressed(block: bytes, size: int, form: str) -> bytes:
    """Alone; and beside another block, before or after it, which changes neither."""
    mine = np.frombuffer(block, np.uint8), size
    other = np.frombuffer(bytes(OTHER), np.uint8), len(OTHER.plain)
    first = _native.primitives.snappy_two(*mine, *other, form)
    second = _native.primitives.snappy_two(*other, *mine, form)
    assert first[1] == second[0] == bytes(OTHER.plain) + UNTOUCHED
    assert first[0] == second[1]
    if first[0] is None:
        with pytest.raises(CorruptError):
            _native.primitives.snappy(*mine, form)
        raise CorruptError("as alone, so beside another block")
    out = bytes(_native.primitives.snappy(*mine, form))
    assert out == first[0]
    assert out[size:] == UNTOUCHED, "bytes behind the output were written"
    return out[:size]


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_elements_of_every_kind(form: str, data: st.DataObject) -> None:
    block = Block()
    block.literal(data.draw(st.binary(min_size=1, max_size=80)))
    for _ in range(data.draw(st.integers(0, 60))):
        kind = data.draw(st.sampled_from((0, 0, 1, 1, 2, 2, 2, 3)))
        if kind == 0:
            block.literal(
                data.draw(st.binary(min_size=1, max_size=200)),
                data.draw(st.sampled_from((0, 0, 0, 1, 2, 3, 4))),
            )
            continue
        far = min(len(block.plain), 2047 if kind == 1 else 5000)
        distance = data.draw(st.integers(1, far) | st.integers(1, min(far, 20)))
        least, most = (4, 11) if kind == 1 else (1, 64)
        block.copy(distance, data.draw(st.integers(least, most)), kind)
    plain = bytes(block.plain)
    assert decompressed(bytes(block), len(plain), form) == plain


@pytest.mark.parametrize("form", FORMS)
def test_every_distance_with_every_count(form: str) -> None:
    rng = np.random.default_rng(3)
    for distance in range(1, 67):
        block = Block()
        block.literal(rng.integers(0, 256, distance, np.uint8).tobytes())
        for count in range(1, 65):
            block.copy(distance, count, 2)
        block.literal(bytes(200))  # room for the loop that looks ahead
        plain = bytes(block.plain)
        assert decompressed(bytes(block), len(plain), form) == plain


@pytest.mark.parametrize("form", FORMS)
def test_copies_from_before_the_output_are_corrupt(form: str) -> None:
    for length, distance, count in ((1, 2, 4), (5, 6, 64), (100, 101, 8), (300, 0, 8)):
        for before in (0, 50):
            block = Block()
            for _ in range(before):
                block.literal(b"ab")
            block.literal(bytes(length))
            wrong = distance and distance + 2 * before
            block.elements += bytes((2 | count - 1 << 2,)) + wrong.to_bytes(2, "little")
            block.plain += bytes(count)
            block.literal(bytes(200))
            with pytest.raises(CorruptError):
                decompressed(bytes(block), len(block.plain), form)


@pytest.mark.parametrize("form", FORMS)
def test_literals_longer_than_the_block_are_corrupt(form: str) -> None:
    for extra in (1, 2, 3, 4):
        for length in (100, 255, (1 << 8 * extra) - 1):
            block = Block()
            for _ in range(60):
                block.literal(b"abc")
            block.elements.append(59 + extra << 2)
            block.elements += min(length, (1 << 8 * extra) - 1).to_bytes(extra, "little")
            block.elements += bytes(90)
            block.plain += bytes(90)
            with pytest.raises(CorruptError):
                decompressed(bytes(block), len(block.plain), form)


@pytest.mark.parametrize("form", FORMS)
def test_damaged_blocks_are_errors_or_of_the_right_size(form: str) -> None:
    rng = np.random.default_rng(4)
    block = Block()
    block.literal(rng.integers(0, 256, 300, np.uint8).tobytes())
    for _ in range(300):
        block.copy(int(rng.integers(1, 300)), int(rng.integers(4, 12)), 1)
        block.literal(rng.integers(0, 256, rng.integers(1, 30), np.uint8).tobytes())
    whole, errors = bytes(block), 0
    for _ in range(2_000):
        damaged = np.frombuffer(whole, np.uint8).copy()
        for at in rng.integers(2, len(damaged), rng.integers(1, 4)):
            damaged[at] = rng.integers(0, 256)
        try:
            decompressed(damaged.tobytes(), len(block.plain), form)
        except CorruptError:
            errors += 1
    assert errors > 100
