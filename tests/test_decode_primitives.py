"""Bit unpacking, the hybrid, levels, dictionary indices, UTF-8: against slow oracles in Python.

Each runs in every form that this machine has: the loops that a GPU shares, and those of each
instruction set.
"""

from __future__ import annotations

import numpy as np
import pytest
from forms import FORMS
from hypothesis import given, settings, strategies as st

from pqlab.errors import CorruptError
from pqlab.native._native import primitives

MANY = settings(max_examples=200, deadline=None, derandomize=True)


def array(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


def pack(values: list[int], width: int) -> bytes:
    """Packed from the low bit up, as the hybrid packs."""
    whole = sum(value << (at * width) for at, value in enumerate(values))
    return whole.to_bytes((len(values) * width + 7) // 8, "little")


def pack_high_first(values: list[int], width: int) -> bytes:
    """Packed from the high bit down, as BIT_PACKED packs."""
    bits = "".join(format(value, f"0{width}b") for value in values) if width else ""
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))


def unpacked(data: bytes, width: int, count: int) -> list[int]:
    whole = int.from_bytes(data, "little")
    return [whole >> (at * width) & ((1 << width) - 1) for at in range(count)]


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def bits_of(data: bytes, count: int) -> list[int]:
    return [data[at >> 3] >> (at & 7) & 1 for at in range(count)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("width", range(65))
def test_unpack_every_width(width: int, form: str) -> None:
    rng = np.random.default_rng(width)
    for count in (0, 1, 7, 8, 31, 32, 33, 64, 100, 257):
        data = rng.bytes((count * width + 7) // 8)
        out = primitives.unpack(array(data), width, count, form)
        assert np.frombuffer(out, np.uint64).tolist() == unpacked(data, width, count)


@pytest.mark.parametrize("form", FORMS)
@given(width=st.integers(0, 64), data=st.binary(max_size=200), count=st.integers(0, 400))
@MANY
def test_unpack_takes_missing_bytes_for_zeros(
    form: str, width: int, data: bytes, count: int
) -> None:
    out = primitives.unpack(array(data), width, count, form)
    assert np.frombuffer(out, np.uint64).tolist() == unpacked(data, width, count)


@st.composite
def hybrids(draw: st.DrawFn, max_width: int = 32) -> tuple[int, bytes, list[int]]:
    """A width, runs of both kinds, and the values that they hold (padding left out)."""
    width = draw(st.integers(0, max_width))
    value = st.integers(0, (1 << width) - 1)
    data, values = b"", []
    for last in [False] * draw(st.integers(0, 5)) + [True]:
        if draw(st.booleans()):
            repeated, count = draw(value), draw(st.integers(1, 200))
            data += varint(count << 1) + repeated.to_bytes((width + 7) // 8, "little")
            values += [repeated] * count
            continue
        run = draw(st.lists(value, min_size=1, max_size=70))
        padding = -len(run) % 8
        if not last:
            run += [0] * padding
            padding = 0
        packed = pack(run + [0] * padding, width)
        if last and draw(st.booleans()):
            packed = packed[: (len(run) * width + 7) // 8]  # without the padding's bytes
        data += varint((len(run) + padding) // 8 << 1 | 1) + packed
        values += run
    return width, data, values


@pytest.mark.parametrize("form", FORMS)
@given(given=hybrids())
@MANY
def test_hybrid(form: str, given: tuple[int, bytes, list[int]]) -> None:
    width, data, values = given
    out = primitives.hybrid(array(data), width, len(values), form)
    assert np.frombuffer(out, np.uint32).tolist() == values


@pytest.mark.parametrize("form", FORMS)
@given(given=hybrids(), cut=st.integers(1, 40))
@MANY
def test_hybrid_that_ends_too_soon(
    form: str, given: tuple[int, bytes, list[int]], cut: int
) -> None:
    width, data, values = given
    with pytest.raises(CorruptError, match="ends before"):
        primitives.hybrid(array(data[:-cut]), width, len(values) + 8, form)


@pytest.mark.parametrize("form", FORMS)
@given(data=st.binary(max_size=60), width=st.integers(0, 40), count=st.integers(0, 500))
@MANY
def test_hybrid_of_any_bytes_is_values_or_an_error(
    form: str, data: bytes, width: int, count: int
) -> None:
    try:
        out = primitives.hybrid(array(data), width, count, form)
    except CorruptError:
        return
    values = np.frombuffer(out, np.uint32)
    assert len(values) == count
    # A repeated value stands in whole bytes, so that it may be wider than `width`.
    assert all(int(value) < 1 << (width + 7) // 8 * 8 for value in values)


def test_hybrid_headers_beyond_32_bits() -> None:
    for header in (b"\xff\xff\xff\xff\x1f", b"\x80\x80\x80\x80\x80\x01"):
        with pytest.raises(CorruptError, match="32 bits"):
            primitives.hybrid(array(header + b"\0" * 9), 1, 5, "serial")
    longest = varint((1 << 32) - 2) + b"\x01"  # one value repeated 2^31 - 1 times
    assert primitives.hybrid(array(longest), 1, 3, "serial") == b"\1\0\0\0" * 3


@pytest.mark.parametrize("form", FORMS)
@given(given=hybrids(max_width=3), max_level=st.integers(1, 7))
@MANY
def test_validity_from_rle(form: str, given: tuple[int, bytes, list[int]], max_level: int) -> None:
    width, data, levels = given
    if width != max_level.bit_length():
        return
    args = (array(data), max_level, len(levels), False, form)
    if max(levels, default=0) > max_level:
        with pytest.raises(CorruptError, match="above the column's maximum"):
            primitives.validity(*args)
    else:
        out = primitives.validity(*args)
        assert bits_of(out, len(levels)) == [int(level == max_level) for level in levels]
        assert bits_of(out, len(out) * 8)[len(levels) :] == [0] * (len(out) * 8 - len(levels))


@pytest.mark.parametrize("form", FORMS)
@given(max_level=st.sampled_from([1, 2, 3, 7]), data=st.data())
@MANY
def test_validity_from_bit_packed(form: str, max_level: int, data: st.DataObject) -> None:
    levels = data.draw(st.lists(st.integers(0, max_level), max_size=50))
    packed = pack_high_first(levels, max_level.bit_length())
    out = primitives.validity(array(packed), max_level, len(levels), True, form)
    assert bits_of(out, len(levels)) == [int(level == max_level) for level in levels]
    if packed:
        with pytest.raises(CorruptError, match="ends before"):
            primitives.validity(array(packed[:-1]), max_level, len(levels), True, form)


@pytest.mark.parametrize("form", FORMS)
@given(given=hybrids(max_width=9), entries=st.integers(0, 255))
@MANY
def test_dictionary_indices(form: str, given: tuple[int, bytes, list[int]], entries: int) -> None:
    width, data, indices = given
    dictionary = bytes(reversed(range(entries)))
    args = (array(bytes([width]) + data), len(indices), array(dictionary), 1, form)
    beyond = [at for at, index in enumerate(indices) if index >= entries]
    if beyond:
        with pytest.raises(CorruptError, match="beyond the dictionary"):
            primitives.indices(*args)
    else:
        assert primitives.indices(*args) == bytes(dictionary[index] for index in indices)


@pytest.mark.parametrize("form", FORMS)
@given(bits=st.lists(st.sampled_from([0, 1, 1]), max_size=300), solid=st.integers(0, 150))
@MANY
def test_scatter(form: str, bits: list[int], solid: int) -> None:
    bits = [1] * solid + bits + [0] * solid
    dense = bytes(at % 251 + 1 for at in range(sum(bits)))
    left = iter(dense)
    expected = bytes(next(left) if bit else 0 for bit in bits)
    packed = array(pack(bits, 1))
    assert primitives.scattered(packed, len(bits), array(dense), 1, form) == expected


@given(
    st.lists(st.tuples(st.binary(min_size=1, max_size=40), st.integers(0, 20), st.integers(0, 320)))
)
@MANY
def test_bitmaps_merged_at_any_bit(parts: list[tuple[bytes, int, int]]) -> None:
    expected: list[int] = []
    given_parts = []
    for data, start, wanted in parts:
        start = min(start, len(data) * 8)  # noqa: PLW2901 (what the bytes hold)
        count = min(wanted, len(data) * 8 - start)
        given_parts.append((array(data), start, count))
        expected += bits_of(data, len(data) * 8)[start : start + count]
    out = primitives.merged(given_parts, len(expected))
    assert bits_of(out, len(expected)) == expected


@pytest.mark.parametrize("form", FORMS)
@given(
    data=st.one_of(st.binary(max_size=60), st.text(max_size=200).map(str.encode)),
    end=st.binary(max_size=3),
)
@MANY
def test_utf8_as_python_sees_it(form: str, data: bytes, end: bytes) -> None:
    text = data + end
    try:
        text.decode()
        expected = len(text)
    except UnicodeDecodeError as error:
        expected = error.start
    assert primitives.utf8_valid_up_to(array(text), form) == expected


@pytest.mark.parametrize("form", FORMS)
def test_utf8_at_every_border_of_the_definition(form: str) -> None:
    for first in range(256):
        for second in (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF):
            for tail in (b"", b"\x80", b"\xbf\x80", b"\xbf\xc0"):
                text = b"seven by" + bytes([first, second]) + tail
                try:
                    text.decode()
                    expected = len(text)
                except UnicodeDecodeError as error:
                    expected = error.start
                assert primitives.utf8_valid_up_to(array(text), form) == expected, text
