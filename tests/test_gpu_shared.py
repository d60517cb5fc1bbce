"""The decode functions that both engines share, run by a warp: right, and clean in check mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cramjam
import numpy as np
import pytest
from delta_pages import DeltaLayout, deltas
from handmade import packed, repeated

import pqlab
from pqlab.gpu.emulator.memory import asarray, empty, zeros
from pqlab.gpu.emulator.module import RawModule, Schedule

PACKAGE = Path(pqlab.__file__).parent
INCLUDES = (PACKAGE / "native", PACKAGE / "gpu")
OVER_READ_BYTES = 16  # readable after every input
SEEDS = range(6)

Ints = np.ndarray


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "checked"])
def module(request: pytest.FixtureRequest) -> RawModule:
    kernels = Path(__file__).parent / "kernels" / "shared.cu"
    return RawModule(kernels, checked=request.param, includes=INCLUDES)


def run(module: RawModule, name: str, data: bytes, *arguments: Any, out: Any) -> tuple[Any, int]:
    """Launch one warp under each seed; what is in `out`, and the status."""
    found: list[tuple[np.ndarray, int]] = []
    for seed in SEEDS:
        module.schedule = Schedule(seed=seed)
        bytes_ = asarray(np.frombuffer(data + bytes(OVER_READ_BYTES), np.uint8))
        status, target = empty(1, np.uint64), out()
        module.get_function(name)(
            (1,), (32,), [bytes_, np.uint64(len(data)), *arguments, target, status]
        )
        found.append((target.to_host(), int(status.to_host()[0])))
    for values, status_word in found[1:]:
        np.testing.assert_array_equal(values.view(np.uint8), found[0][0].view(np.uint8))
        assert status_word == found[0][1]
    return found[0]


def runs(rng: np.random.Generator, width: int, top: int) -> tuple[bytes, Ints]:
    """Runs of both kinds, short and long, and the values that they hold."""
    data, values = b"", []
    for count in (1, 3, 8, 200, 8, 32, 1000, 64, 5):
        if rng.random() < 0.5:
            value = int(rng.integers(top + 1))
            data += repeated(value, count, width)
            values += [value] * count
        else:
            some = rng.integers(top + 1, size=-(-count // 8) * 8).tolist()
            data += packed(some, width)
            values += some
    return data, np.array(values)


@pytest.mark.parametrize("max_level", [1, 2, 3, 5])
def test_levels(module: RawModule, max_level: int) -> None:
    width = max_level.bit_length()
    data, values = runs(np.random.default_rng(max_level), width, max_level)
    count = len(values)
    common = np.uint32(max_level), np.uint64(count)
    out, status = run(module, "levels", data, *common, out=lambda: empty(count, np.uint16))
    assert status == 0
    np.testing.assert_array_equal(out, values)
    size = -(-count // 8)
    bits, status = run(module, "validity", data, *common, out=lambda: zeros(size, np.uint8))
    assert status == 0
    found = np.unpackbits(bits, count=count, bitorder="little")
    np.testing.assert_array_equal(found, values == max_level)


def test_bit_packed_levels(module: RawModule) -> None:
    values = np.random.default_rng(1).integers(4, size=1001)
    bits = np.unpackbits(values.astype(np.uint8)[:, None], axis=1)[:, -2:]
    data = np.packbits(bits.ravel()).tobytes()
    out, status = run(
        module, "bit_packed", data, np.uint32(3), np.uint64(1001), out=lambda: empty(126, np.uint8)
    )
    assert status == 0
    found = np.unpackbits(out, count=1001, bitorder="little")
    np.testing.assert_array_equal(found, values == 3)


@pytest.mark.parametrize("width", [0, 1, 2, 3, 7, 8, 9, 13, 20, 31, 32])
def test_hybrid_and_dictionary(module: RawModule, width: int) -> None:
    rng = np.random.default_rng(width)
    top = min((1 << width) - 1, 999)
    data, values = runs(rng, width, top)
    count = len(values)
    out, status = run(
        module,
        "hybrid",
        data,
        np.uint32(width),
        np.uint64(count),
        out=lambda: empty(count, np.uint32),
    )
    assert status == 0
    np.testing.assert_array_equal(out, values)
    entries = rng.integers(1 << 62, size=top + 1, dtype=np.uint64)
    arguments = np.uint64(count), asarray(entries), np.uint64(top + 1)
    page = bytes([width]) + data
    decoded, status = run(
        module, "dictionary", page, *arguments, out=lambda: empty(count, np.uint64)
    )
    assert status == 0
    np.testing.assert_array_equal(decoded, entries[values])


def test_an_index_beyond_the_dictionary_is_its_ordinal(module: RawModule) -> None:
    page = bytes([3]) + packed([0, 1, 2, 3, 4, 5, 1, 0], 3)
    entries = asarray(np.zeros(4, np.uint64))
    _, status = run(
        module,
        "dictionary",
        page,
        np.uint64(8),
        entries,
        np.uint64(4),
        out=lambda: zeros(8, np.uint64),
    )
    assert status == 4 << 8 | 5  # Status::INDEX, at value 4


def test_scatter(module: RawModule) -> None:
    rng = np.random.default_rng(3)
    valid = rng.random(1003) < 0.4
    dense = rng.integers(1 << 32, size=int(valid.sum()), dtype=np.uint32)
    bits = np.packbits(valid, bitorder="little").tobytes()
    module.schedule = Schedule()
    out, status = empty(1003, np.uint32), empty(1, np.uint64)
    arguments = [asarray(np.frombuffer(bits + bytes(16), np.uint8)), np.uint64(1003)]
    module.get_function("scatter")((1,), (32,), [*arguments, asarray(dense), out, status])
    expected = np.zeros(1003, np.uint32)
    expected[valid] = dense
    np.testing.assert_array_equal(out.to_host(), expected)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("layout", [None, DeltaLayout(256, 2), DeltaLayout(128, 1)])
def test_deltas(module: RawModule, bits: int, layout: DeltaLayout | None) -> None:
    rng = np.random.default_rng(bits)
    top = 1 << (bits - 1)
    values = [*range(300), *rng.integers(-top, top - 1, size=300).tolist(), 7, 7, 7]
    dtype = f"i{bits // 8}"
    count = len(values)
    out, status = run(
        module,
        f"deltas_{bits}",
        deltas(values, bits, layout),
        np.uint64(count),
        out=lambda: empty(count, dtype.replace("i", "u")),
    )
    assert status == 0
    np.testing.assert_array_equal(out.view(dtype), values)


@pytest.mark.parametrize("width", [2, 4, 8, 16])
def test_byte_streams(module: RawModule, width: int) -> None:
    values = np.random.default_rng(width).integers(256, size=(501, width), dtype=np.uint8)
    out, status = run(
        module,
        "byte_streams",
        values.T.tobytes(),
        np.uint64(501),
        np.uint32(width),
        out=lambda: empty(501 * width, np.uint8),
    )
    assert status == 0
    np.testing.assert_array_equal(out, values.ravel())


def test_strings_become_views(module: RawModule) -> None:
    texts = ["", "a", "zwölf Bytes", "thirteen bytes", "ß" * 100, "x" * 12, "日本語"] * 20
    encoded = [text.encode() for text in texts]
    data = b"".join(len(each).to_bytes(4, "little") + each for each in encoded)
    view_type = np.dtype((np.void, 16))
    out, status = run(
        module, "strings", data, np.uint64(len(texts)), out=lambda: empty(len(texts), view_type)
    )
    assert status == 0
    for view, text in zip(out.view(np.uint8).reshape(-1, 16), encoded, strict=True):
        length, buffer, offset = (int.from_bytes(view[at : at + 4], "little") for at in (0, 8, 12))
        assert length == len(text)
        if length <= 12:
            assert view[4 : 4 + length].tobytes() == text
            assert not view[4 + length :].any()
        else:
            assert (buffer, data[offset : offset + length]) == (7, text)
            assert view[4:8].tobytes() == text[:4]


def plain_strings(lengths: list[int]) -> bytes:
    rng = np.random.default_rng(len(lengths))
    return b"".join(length.to_bytes(4, "little") + rng.bytes(length) for length in lengths)


def string_places(
    module: RawModule, data: bytes, count: int, cut: int | None = None
) -> tuple[np.ndarray, int]:
    out, status = run(
        module,
        "string_places",
        data[:cut],
        np.uint64(count),
        out=lambda: zeros(count, np.uint64),
    )
    return out.view(np.uint32).reshape(-1, 2), status


@pytest.mark.parametrize(
    "lengths",
    [
        [0] * 700,
        [1] * 500,
        [5, 0, 1020, 3, 1016, 1017, 1024, 7, 5000, 0, 0, 2],
        np.random.default_rng(4).geometric(1 / 20, size=400).tolist(),
        [],
    ],
    ids=["empty", "short", "long", "mixed", "none"],
)
def test_plain_strings_are_found_by_doubling(module: RawModule, lengths: list[int]) -> None:
    places, status = string_places(module, plain_strings(lengths), len(lengths))
    assert status == 0
    ends = np.cumsum([4 + length for length in lengths])
    np.testing.assert_array_equal(places[:, 1], lengths)
    np.testing.assert_array_equal(places[:, 0], ends - np.array(lengths, int))


def test_plain_strings_that_are_cut_or_too_long(module: RawModule) -> None:
    data = plain_strings([3] * 300)
    assert string_places(module, data, 300, cut=7 * 200 + 2)[1] == 200 << 8 | 1  # TRUNCATED
    assert string_places(module, data, 300, cut=7 * 200 + 6)[1] == 200 << 8 | 7  # VALUE_LENGTH
    wrong = data[: 7 * 250] + b"\xff\xff\xff\xff" + data[7 * 250 + 4 :]
    assert string_places(module, wrong, 300)[1] == 250 << 8 | 7
    assert string_places(module, data, 301)[1] == 300 << 8 | 1


@pytest.mark.parametrize("name", ["snappy", "lz4"])
def test_blocks_decompress(module: RawModule, name: str) -> None:
    rng = np.random.default_rng(5)
    pieces = [
        rng.bytes(70),
        rng.bytes(701),
        b"a" * 300,
        b"abcdefg" * 40,
        rng.bytes(9),
        b"xy" * 100,
        b"abcdefg" * 9,
    ]
    plain = b"".join(pieces)
    compressed: bytes = (
        bytes(cramjam.snappy.compress_raw(plain))
        if name == "snappy"
        else bytes(cramjam.lz4.compress_block(plain, store_size=False))
    )
    out, status = run(
        module,
        name,
        compressed,
        np.uint64(len(plain)),
        out=lambda: zeros(len(plain), np.uint8),
    )
    assert status == 0
    assert out.tobytes() == plain
