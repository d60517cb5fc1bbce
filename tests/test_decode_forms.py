"""Loops whose oracle is short, in every form: values that are PLAIN, wide entries, levels, streams.

Inputs and outputs end where no memory is: what reads or writes beyond them ends the process.
"""

from __future__ import annotations

import numpy as np
import pytest
from forms import FORMS
from handmade import packed, repeated
from hypothesis import given, settings, strategies as st

from pqlab.errors import CorruptError
from pqlab.native._native import primitives

MANY = settings(max_examples=100, deadline=None, derandomize=True)
STRIDES = (1, 2, 4, 8, 12, 16)
BUFFER, OFFSET = 7, 1000  # that primitives.plain makes views of


def array(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


def view(value: bytes, at: int) -> bytes:
    head = len(value).to_bytes(4, "little")
    if len(value) <= 12:
        return head + value.ljust(12, b"\0")
    place = BUFFER.to_bytes(4, "little") + (OFFSET + at).to_bytes(4, "little")
    return head + value[:4] + place


@pytest.mark.parametrize("form", FORMS)
@given(values=st.lists(st.text(max_size=150).map(str.encode), max_size=40), bad=st.integers(0, 40))
@MANY
def test_text_becomes_views(form: str, values: list[bytes], bad: int) -> None:
    body = b"".join(len(value).to_bytes(4, "little") + value for value in values)
    starts = np.cumsum([0] + [4 + len(value) for value in values]) + 4
    expected = b"".join(view(value, int(at)) for value, at in zip(values, starts, strict=False))
    assert primitives.plain("TEXT", 0, array(body), len(values), form) == expected
    if bad < len(values) and values[bad]:  # a character that ends within the next length
        at = int(starts[bad]) + len(values[bad]) - 1
        wrong = body[:at] + b"\xc3" + body[at + 1 :]
        with pytest.raises(CorruptError, match=f"UTF-8, at value {bad}$"):
            primitives.plain("TEXT", 0, array(wrong), len(values), form)
        assert len(primitives.plain("BYTES", 0, array(wrong), len(values), form)) == len(expected)


@pytest.mark.parametrize("form", FORMS)
def test_a_character_never_takes_a_byte_of_a_length(form: str) -> None:
    body = b"\1\0\0\0\xc3" + (0xA9).to_bytes(4, "little") + b"x" * 0xA9
    with pytest.raises(CorruptError, match="UTF-8, at value 0"):
        primitives.plain("TEXT", 0, array(body), 2, form)


@pytest.mark.parametrize("form", FORMS)
@given(width=st.integers(1, 20), data=st.data())
@MANY
def test_decimals(form: str, width: int, data: st.DataObject) -> None:
    limit = 1 << (8 * min(width, 16) - 1)
    values = data.draw(st.lists(st.integers(-limit, limit - 1), max_size=20))
    body = b"".join(value.to_bytes(width, "big", signed=True) for value in values)
    expected = b"".join(value.to_bytes(16, "little", signed=True) for value in values)
    assert primitives.plain("DECIMAL_FIXED", width, array(body), len(values), form) == expected
    if width > 16 and values:
        with pytest.raises(CorruptError, match="does not fit the column's type, at value 0"):
            primitives.plain("DECIMAL_FIXED", width, array(b"\1" + body[1:]), len(values), form)


@pytest.mark.parametrize("form", FORMS)
@given(values=st.lists(st.integers(-128, 127), max_size=100), bad=st.integers(0, 99))
@MANY
def test_narrow_integers(form: str, values: list[int], bad: int) -> None:
    body = np.array(values, np.int32)
    out = primitives.plain("INT8", 4, body.view(np.uint8), len(values), form)
    assert np.frombuffer(out, np.int8).tolist() == values
    if bad < len(values):
        body[bad] = 128
        with pytest.raises(CorruptError, match=f"at value {bad}$"):
            primitives.plain("INT8", 4, body.view(np.uint8), len(values), form)


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("form", FORMS)
@given(
    runs=st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 9), min_size=8, max_size=80))),
    entries=st.integers(1, 16),
)
@MANY
def test_entries_of_every_size(
    form: str, stride: int, runs: list[tuple[bool, list[int]]], entries: int
) -> None:
    body, indices = bytes([4]), []
    for is_packed, values in runs:
        values = values[: len(values) & ~7] if is_packed else values[:1] * len(values)  # noqa: PLW2901
        body += packed(values, 4) if is_packed else repeated(values[0], len(values), 4)
        indices += values
    dictionary = np.random.default_rng(stride).bytes(entries * stride)
    args = (array(body), len(indices), array(dictionary), stride, form)
    beyond = [at for at, index in enumerate(indices) if index >= entries]
    if beyond:
        with pytest.raises(CorruptError, match="beyond the dictionary"):
            primitives.indices(*args)
        return
    expected = [dictionary[index * stride : (index + 1) * stride] for index in indices]
    assert primitives.indices(*args) == b"".join(expected)


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("form", FORMS)
@given(bits=st.lists(st.sampled_from([False, True, True]), max_size=200))
@MANY
def test_values_among_nulls(form: str, stride: int, bits: list[bool]) -> None:
    validity = np.packbits(bits, bitorder="little") if bits else array(b"")
    dense = np.random.default_rng(stride).integers(0, 256, (sum(bits), stride), np.uint8)
    expected = np.zeros((len(bits), stride), np.uint8)
    expected[np.array(bits, bool)] = dense
    out = primitives.scattered(validity, len(bits), dense.reshape(-1), stride, form)
    assert out == expected.tobytes()


@pytest.mark.parametrize("form", FORMS)
@given(bits=st.lists(st.sampled_from([False, True, True]), max_size=200))
@MANY
def test_booleans_among_nulls(form: str, bits: list[bool]) -> None:
    dense = np.random.default_rng(len(bits)).integers(0, 2, sum(bits)).astype(bool)
    expected = np.zeros(len(bits), bool)
    expected[np.array(bits, bool)] = dense
    out = primitives.scattered(
        np.packbits(np.array(bits, bool), bitorder="little"),
        len(bits),
        np.packbits(dense, bitorder="little"),
        0,
        form,
    )
    assert out == np.packbits(expected, bitorder="little").tobytes()


@pytest.mark.parametrize("form", FORMS)
@given(width=st.integers(1, 20), count=st.integers(0, 100), more=st.integers(0, 5))
@MANY
def test_byte_streams(form: str, width: int, count: int, more: int) -> None:
    streams = np.random.default_rng(width).integers(0, 256, (width, count + more), np.uint8)
    out = primitives.joined_streams(streams.reshape(-1), width, count, form)
    assert out == streams.T[:count].tobytes()


@pytest.mark.parametrize("form", FORMS)
@given(levels=st.lists(st.integers(0, 5), max_size=100), run=st.integers(1, 100))
@MANY
def test_levels(form: str, levels: list[int], run: int) -> None:
    body = repeated(5, run, 3) + packed(levels + [0] * (-len(levels) % 8), 3)
    wanted = [5] * run + levels
    out = primitives.levels(array(body), 5, len(wanted), False, form)
    assert np.frombuffer(out, np.uint16).tolist() == wanted
    if 5 in wanted:
        with pytest.raises(CorruptError, match="above the column's maximum"):
            primitives.levels(array(body), 4, len(wanted), False, form)
