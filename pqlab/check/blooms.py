"""Whether a chunk's bloom filter has the chunk's values: it may deny none of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from pqlab.check.rules import Violation, shown_value
from pqlab.errors import CorruptError, UnsupportedError
from pqlab.footer.bloom_filter import BLOCK_BYTES, block_of, has_bits, hashes_of
from pqlab.footer.metadata import Present
from pqlab.io.bloom_filters import read_filter
from pqlab.native import _native

if TYPE_CHECKING:
    from pqlab.reader import ParquetFile

# Types whose polars values have, as numbers, the bytes that are stored.
_STORED = {"INT32": "<i4", "INT64": "<i8", "FLOAT": "<f4", "DOUBLE": "<f8"}
_OTHERWISE = (pl.Decimal, pl.Time, pl.Float16, pl.Boolean)


def bloom_violations(
    file: ParquetFile, row_group: int, leaf: int, values: pl.Series
) -> Iterator[Violation]:
    """`values`: of the chunk. Types whose bytes polars does not keep are not looked at."""
    metadata, node = file.metadata, file.metadata.leaves[leaf]
    present = int(metadata.chunk_cells("present", [metadata.chunk_row(row_group, leaf)])[0])
    if not present & Present.BLOOM_FILTER_OFFSET or values.dtype in _OTHERWISE:
        return
    known = _certain(values.drop_nulls().unique())
    hashes = _hashes(known, node.physical_type)
    if hashes is None:
        return
    try:
        found = read_filter(file.source, metadata, (row_group, leaf), file.limits)
    except CorruptError as error:
        yield Violation("bloom filter", error.message, row_group, leaf, None, error.offset)
        return
    except UnsupportedError as error:
        yield Violation("unread", error.message, row_group, leaf, None, error.offset)
        return
    blocks = found.bitset.reshape(-1, BLOCK_BYTES)[block_of(hashes, found.num_blocks)]
    denied = np.flatnonzero(~has_bits(blocks, hashes))
    if len(denied):
        yield Violation(
            "bloom filter",
            f"it denies {len(denied):,} of {len(known):,} distinct values",
            row_group,
            leaf,
            found=shown_value(known[int(denied[0])]),
        )


def _certain(values: pl.Series) -> pl.Series:
    """Without those that have several forms: NaN, and zeros of either sign."""
    if not values.dtype.is_float():
        return values
    return values.filter(values.is_not_nan() & (values != 0))


def _hashes(values: pl.Series, physical_type: str | None) -> npt.NDArray[np.uint64] | None:
    """The hashes of what is stored; None where polars does not tell what that is."""
    if physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"):
        if values.dtype not in (pl.String, pl.Binary):
            return None
        return hashes_of(values.cast(pl.Binary).to_list())
    dtype = _STORED.get(physical_type or "")
    if dtype is None:
        return None
    numbers = values.to_physical().to_numpy().astype(dtype)
    stored = numbers.view(np.uint8).reshape(len(numbers), -1)
    return np.array([_native.xxhash64(each) for each in stored], np.uint64)
