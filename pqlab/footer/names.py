"""The format's enums as text: code -> name, for frames, plans and errors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

ENCODINGS = {
    0: "PLAIN",
    2: "PLAIN_DICTIONARY",
    3: "RLE",
    4: "BIT_PACKED",
    5: "DELTA_BINARY_PACKED",
    6: "DELTA_LENGTH_BYTE_ARRAY",
    7: "DELTA_BYTE_ARRAY",
    8: "RLE_DICTIONARY",
    9: "BYTE_STREAM_SPLIT",
    10: "ALP",
}

CODECS = {
    0: "UNCOMPRESSED",
    1: "SNAPPY",
    2: "GZIP",
    3: "LZO",
    4: "BROTLI",
    5: "LZ4",
    6: "ZSTD",
    7: "LZ4_RAW",
}

PAGE_TYPES = {0: "DATA_PAGE", 1: "INDEX_PAGE", 2: "DICTIONARY_PAGE", 3: "DATA_PAGE_V2"}


def name(code: int, names: Mapping[int, str]) -> str:
    """The name of a code; one that the format does not have is `UNKNOWN(code)`."""
    return names.get(code, f"UNKNOWN({code})")


def names_of(codes: np.ndarray, names: Mapping[int, str], unknown: int | None = None) -> pl.Series:
    """The names of many codes, as String; `unknown` is the code that stands for null."""
    if not len(codes):
        return pl.Series(dtype=pl.String)
    lowest, highest = int(codes.min()), int(codes.max())
    if lowest == highest:
        text = None if lowest == unknown else name(lowest, names)
        return pl.Series([text], dtype=pl.String).new_from_index(0, len(codes))
    if highest - lowest < 1 << 16:
        present = np.arange(lowest, highest + 1)
        positions = np.subtract(codes, lowest, dtype=np.int64)
    else:  # a hostile file's codes
        present, positions = np.unique(codes, return_inverse=True)
    texts = [None if code == unknown else name(code, names) for code in present.tolist()]
    return pl.Series(texts, dtype=pl.String).gather(positions.astype(np.uint32))


def encodings_of(mask: int) -> list[str]:
    """The names in a bit set of encodings (`ChunkTable.encodings`)."""
    texts = [name(code, ENCODINGS) for code in range(31) if mask >> code & 1]
    return [*texts, "UNKNOWN"] if mask >> 31 & 1 else texts
