"""Planes of bits over the entries of nested pages, against numpy, in every form of the loops."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from forms import FORMS
from hypothesis import given, settings, strategies as st

from pqlab.native import _native

primitives = _native.primitives
MANY = settings(max_examples=80, deadline=None, derandomize=True)

Flags = npt.NDArray[np.bool_]


def words(flags: Flags) -> npt.NDArray[np.uint8]:
    """Packed, with zeros up to whole words of 64 bits."""
    packed = np.packbits(flags, bitorder="little")
    return np.pad(packed, (0, -len(packed) % 8))


def flags(bits: bytes, count: int) -> Flags:
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little").astype(bool)
    assert not unpacked[count:].any(), "bits behind the last are set"
    return unpacked[:count]


@st.composite
def planes(draw: st.DrawFn) -> tuple[Flags, Flags]:
    count = draw(st.integers(0, 400))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    shares = [draw(st.sampled_from((0.0, 0.05, 0.5, 0.95, 1.0))) for _ in range(2)]
    one, other = (rng.random(count) < share for share in shares)
    return one, other


@pytest.mark.parametrize("form", FORMS)
@given(
    levels=st.lists(st.integers(0, 600), max_size=200) | st.lists(st.integers(0, 3), max_size=400),
    level=st.integers(1, 4) | st.integers(1, 600),
)
@MANY
def test_reaching(form: str, levels: list[int], level: int) -> None:
    data = np.array(levels, np.uint16)
    found = primitives.reaching(data.view(np.uint8), level, form)
    assert len(found) == -(-len(levels) // 64) * 8
    assert (flags(found, len(levels)) == (data >= level)).all()


@pytest.mark.parametrize("form", FORMS)
@given(drawn=planes())
@MANY
def test_slots_are_gathered(form: str, drawn: tuple[Flags, Flags]) -> None:
    begins, bits = drawn
    out, slots, is_set = primitives.gathered_slots(words(begins), words(bits), form)
    assert slots == begins.sum()
    assert is_set == bits[begins].sum()
    assert (flags(out, slots) == bits[begins]).all()


@pytest.mark.parametrize("form", FORMS)
@given(drawn=planes(), first=st.integers(0, 1 << 40))
@MANY
def test_offsets_count_the_elements_before(
    form: str, drawn: tuple[Flags, Flags], first: int
) -> None:
    lists, elements = drawn
    out = np.frombuffer(primitives.list_offsets(words(lists), words(elements), first, form), "<i8")
    before = np.concatenate(([0], np.cumsum(elements)))[:-1] if len(elements) else elements
    assert out.tolist() == (first + before[lists]).tolist()
