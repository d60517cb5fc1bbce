"""Codecs against pyarrow's and cramjam's compressors, from every place a library may come from."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import zlib

import cramjam
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from pqlab.errors import CorruptError, PqlabError, UnsupportedError
from pqlab.native import _native

SNAPPY, GZIP, LZO, BROTLI, LZ4, ZSTD, LZ4_RAW = 1, 2, 3, 4, 5, 6, 7
PYARROW = {SNAPPY: "snappy", GZIP: "gzip", BROTLI: "brotli", ZSTD: "zstd", LZ4_RAW: "lz4_raw"}
LIBRARIES = ("", "system", "cramjam", "zlib")
SEED = 20_240_601


def decompress(codec: int, data: bytes, size: int, only: str = "") -> bytes:
    return bytes(_native.decompress(codec, np.frombuffer(data, np.uint8), size, only))


def payloads() -> list[bytes]:
    rng = np.random.default_rng(SEED)
    made = [b"", b"a", b"abc" * 7, bytes(70_000)]
    for size in (3, 64, 4_097, 200_000):
        made += [
            rng.integers(0, 256, size, np.uint8).tobytes(),
            rng.integers(0, 3, size, np.uint8).tobytes(),
            rng.integers(0, 50, size // 4 + 1, np.uint32).tobytes(),
            (b"a pattern of some length " * size)[:size],
            np.repeat(rng.integers(0, 256, size // 5 + 1, np.uint8), 5).tobytes(),
        ]
    return made


@pytest.mark.parametrize("only", LIBRARIES)
@pytest.mark.parametrize("codec", PYARROW)
def test_gives_what_was_compressed(codec: int, only: str) -> None:
    for data in payloads():
        compressed = pa.Codec(PYARROW[codec]).compress(data, asbytes=True)
        assert decompress(codec, compressed, len(data), only) == data


@pytest.mark.parametrize("codec", [SNAPPY, GZIP, BROTLI, ZSTD])
def test_reads_cramjams_blocks(codec: int) -> None:
    for data in payloads():
        if codec == SNAPPY:
            compressed = bytes(cramjam.snappy.compress_raw(data))
        else:
            compressed = bytes(getattr(cramjam, PYARROW[codec]).compress(data))
        assert decompress(codec, compressed, len(data)) == data


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.binary(min_size=1, max_size=40), st.integers(1, 300)), max_size=12),
    st.sampled_from([SNAPPY, LZ4_RAW]),
)
def test_own_codecs_on_patterns_of_every_period(parts: list[tuple[bytes, int]], codec: int) -> None:
    data = b"".join(pattern * times for pattern, times in parts)
    compressed = pa.Codec(PYARROW[codec]).compress(data, asbytes=True)
    assert decompress(codec, compressed, len(data)) == data


@pytest.mark.parametrize("only", LIBRARIES)
@pytest.mark.parametrize("codec", PYARROW)
def test_another_size_than_the_header_says_is_corrupt(codec: int, only: str) -> None:
    for data in payloads()[1:]:
        compressed = pa.Codec(PYARROW[codec]).compress(data, asbytes=True)
        for size in (0, len(data) - 1, len(data) + 1, 2 * len(data)):
            if size != len(data):
                with pytest.raises(CorruptError, match=PYARROW[codec].upper()):
                    decompress(codec, compressed, size, only)


@pytest.mark.parametrize("codec", PYARROW)
def test_truncated_blocks_are_corrupt(codec: int) -> None:
    data = payloads()[9]
    compressed = pa.Codec(PYARROW[codec]).compress(data, asbytes=True)
    for stop in range(0, len(compressed) - 1, max(1, len(compressed) // 40)):
        with pytest.raises(CorruptError):
            decompress(codec, compressed[:stop], len(data))


@pytest.mark.parametrize("codec", [*PYARROW, LZ4])
def test_mutated_blocks_are_errors_or_of_the_right_size(codec: int) -> None:
    rng = np.random.default_rng(SEED + codec)
    data = payloads()[10][:3_000]
    compressed = pa.Codec(PYARROW.get(codec, "lz4_raw")).compress(data, asbytes=True)
    errors = 0
    for _ in range(400):
        mutated = np.frombuffer(compressed, np.uint8).copy()
        for at in rng.integers(0, len(mutated), rng.integers(1, 4)):
            mutated[at] = rng.integers(0, 256)
        try:
            assert len(decompress(codec, mutated.tobytes(), len(data))) == len(data)
        except CorruptError:
            errors += 1
    assert errors > 10


@pytest.mark.parametrize("only", LIBRARIES)
def test_gzip_of_several_members(only: str) -> None:
    data = payloads()[6]
    members = [data[:10], b"", data[10:500], data[500:]]
    compressed = b"".join(gzip.compress(member) for member in members)
    assert decompress(GZIP, compressed, len(data), only) == data
    for size in (510, len(data) - 1, len(data) + 1):
        with pytest.raises(CorruptError):
            decompress(GZIP, compressed, size, only)


@pytest.mark.parametrize("only", ["", "zlib"])
def test_the_zlib_format_is_taken_for_gzip(only: str) -> None:
    data = payloads()[6]
    assert decompress(GZIP, zlib.compress(data), len(data), only) == data


def test_zlib_stands_in_for_libdeflate() -> None:
    assert "deflate" not in _native.codec_sources("zlib")["GZIP"]


@pytest.mark.parametrize("only", LIBRARIES)
def test_zstd_of_several_frames(only: str) -> None:
    data = payloads()[7]
    codec = pa.Codec("zstd")
    frames = codec.compress(data[:700], asbytes=True) + codec.compress(data[700:], asbytes=True)
    assert decompress(ZSTD, frames, len(data), only) == data


def hadoop_blocks(data: bytes, outer: int, inner: int) -> bytes:
    codec, framed = pa.Codec("lz4_raw"), b""
    for start in range(0, len(data), outer):
        block = data[start : start + outer]
        framed += len(block).to_bytes(4, "big")
        for at in range(0, len(block), inner):
            compressed = codec.compress(block[at : at + inner], asbytes=True)
            framed += len(compressed).to_bytes(4, "big") + compressed
    return framed


def test_lz4_in_its_three_framings() -> None:
    for data in payloads():
        forms = [
            pa.Codec("lz4_raw").compress(data, asbytes=True),
            pa.Codec("lz4").compress(data, asbytes=True),
            bytes(cramjam.lz4.compress(data)),
            hadoop_blocks(data, 1 << 20, 1 << 20),
            hadoop_blocks(data, 50_000, 7_000),
        ]
        for compressed in forms:
            assert decompress(LZ4, compressed, len(data)) == data


def test_codecs_that_are_not_read_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="LZO"):
        decompress(LZO, b"abc", 3)
    with pytest.raises(UnsupportedError, match="codec 200"):
        decompress(200, b"abc", 3)


def test_the_sources_are_told_and_can_be_forced() -> None:
    assert all(source.startswith("cramjam 2.") for source in libraries("cramjam").values())
    told = _native.codec_sources()
    assert told["SNAPPY"] == told["LZ4_RAW"] == "own"
    assert set(told) == {"SNAPPY", "LZ4", "LZ4_RAW", "GZIP", "ZSTD", "BROTLI"}
    script = "from pqlab.native import _native; print(_native.codec_sources()['ZSTD'])"
    out = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PQLAB_CODECS": "cramjam"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout.startswith("cramjam 2.")
    with pytest.raises(PqlabError, match="nowhere"):
        _native.codec_sources("nowhere")


def libraries(only: str) -> dict[str, str]:
    sources = _native.codec_sources(only)
    return {name: sources[name] for name in ("GZIP", "ZSTD", "BROTLI")}
