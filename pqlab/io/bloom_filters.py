"""Bloom filters of a file's chunks: whole ones, or the blocks that some values fall into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pqlab.errors import PqlabError, SelectionError, SourceError, placed
from pqlab.footer.bloom_filter import (
    BLOCK_BYTES,
    HEADER_BYTES,
    Bitset,
    BloomFilter,
    Hashes,
    block_of,
    filter_span,
    has_bits,
    parse_header,
)
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.types import type_key
from pqlab.io.fetch import read_recorded
from pqlab.io.source import Bytes, Source
from pqlab.limits import Limits
from pqlab.trace import Reason

ChunkKey: TypeAlias = tuple[int, int]  # (row group, leaf)


class Probed(NamedTuple):
    """`might_contain`: of each hash, by chunk; chunks without a filter that can be used have none.

    `warnings`: why filters were not used.
    """

    might_contain: dict[ChunkKey, npt.NDArray[np.bool_]]
    warnings: tuple[str, ...]


def read_filter(
    source: Source, metadata: FileMetaData, key: ChunkKey, limits: Limits
) -> BloomFilter:
    """The bloom filter of a chunk.

    Raises `SelectionError` for a chunk without one, `CorruptError` and `UnsupportedError`.
    """
    leaf = metadata.leaves[key[1]]
    with placed(file=source.name, row_group=key[0], column=leaf.column):
        span = filter_span(metadata, metadata.chunk_row(*key))
        if span is None:
            raise SelectionError("the chunk has no bloom filter")
        begun = _begin(source, metadata, {key: span}, limits)[key]
        if isinstance(begun, PqlabError):
            raise begun
        start, stop = _blocks(begun.bitset)
        whole = begun.inside(start, stop)
        if whole is None:
            [whole] = read_recorded(source, [(start, stop)], Reason.BLOOM_FILTER, [key])
        return BloomFilter(whole, type_key(leaf))


def probe(
    source: Source, metadata: FileMetaData, hashes: Mapping[ChunkKey, Hashes], limits: Limits
) -> Probed:
    """Whether chunks may hold values, by the hashes of these.

    Filters that a request more would not save are fetched whole, all at once; of others the headers
    come first, then the blocks that the hashes fall into. One that is corrupt or of an unknown kind
    is not used, and a warning says so. Raises `SourceError`.
    """
    warnings: list[str] = []
    spans, might_contain = {}, {}
    for key in hashes:
        try:
            span = filter_span(metadata, metadata.chunk_row(*key))
        except PqlabError as error:
            warnings.append(_warning(metadata, key, error))
            continue
        if span is not None:
            spans[key] = span
    begun = _begin(source, metadata, spans, limits)
    usable: dict[ChunkKey, _Begun] = {}
    for key, found in begun.items():
        if isinstance(found, PqlabError):
            warnings.append(_warning(metadata, key, found))
        else:
            usable[key] = found
    later = {
        key: found.bitset.block_ranges(hashes[key])
        for key, found in usable.items()
        if found.inside(*_blocks(found.bitset)) is None
    }
    fetched = _fetched(source, later)
    for key, found in usable.items():
        whole = found.inside(*_blocks(found.bitset))
        if whole is None:
            blocks = np.concatenate(fetched[key])
        else:
            picked = block_of(hashes[key], found.bitset.num_blocks)
            blocks = whole.reshape(-1, BLOCK_BYTES)[picked]
        might_contain[key] = has_bits(blocks, hashes[key])
    return Probed(might_contain, tuple(warnings))


class _Begun(NamedTuple):
    """A filter of which the first bytes, from `start` on, were read."""

    bitset: Bitset
    start: int
    data: Bytes

    def inside(self, start: int, stop: int) -> Bytes | None:
        """These bytes of the file, if they were read."""
        if self.start <= start and stop <= self.start + len(self.data):
            return self.data[start - self.start : stop - self.start]
        return None


def _begin(
    source: Source,
    metadata: FileMetaData,
    spans: Mapping[ChunkKey, tuple[int, int | None]],
    limits: Limits,
) -> dict[ChunkKey, _Begun | PqlabError]:
    """Read where the blocks of the filters are; of small filters all is read."""
    end = metadata.footer_offset
    found: dict[ChunkKey, _Begun | PqlabError] = {}
    ranges = []
    for start, length in spans.values():
        guess = source.policy.gap_bytes if length is None else length
        size = guess if guess <= source.policy.gap_bytes else HEADER_BYTES
        ranges.append((start, min(start + max(size, HEADER_BYTES), end)))
    if not ranges:
        return found
    data = read_recorded(source, ranges, Reason.BLOOM_FILTER, list(spans))
    for (key, (start, length)), bytes_read in zip(spans.items(), data, strict=True):
        stop = end if length is None else start + length
        try:
            bitset = parse_header(bytes_read.data, start, stop)
            size = bitset.num_blocks * BLOCK_BYTES
            limits.check("index_bytes", size, "the bloom filter", file=source.name)
        except PqlabError as error:
            if isinstance(error, SourceError):
                raise
            found[key] = error
            continue
        found[key] = _Begun(bitset, start, bytes_read)
    return found


def _fetched(
    source: Source, wanted: Mapping[ChunkKey, Sequence[tuple[int, int]]]
) -> dict[ChunkKey, list[Bytes]]:
    """The bytes of the ranges of each chunk."""
    if not wanted:
        return {}
    flat = [(ends, key) for key, ranges in wanted.items() for ends in ranges]
    data = read_recorded(
        source, [ends for ends, _ in flat], Reason.BLOOM_FILTER, [key for _, key in flat]
    )
    cuts = accumulate((len(ranges) for ranges in wanted.values()), initial=0)
    return {key: data[a:b] for key, (a, b) in zip(wanted, pairwise(cuts), strict=True)}


def _blocks(bitset: Bitset) -> tuple[int, int]:
    return bitset.start, bitset.start + bitset.num_blocks * BLOCK_BYTES


def _warning(metadata: FileMetaData, key: ChunkKey, error: PqlabError) -> str:
    column = metadata.leaves[key[1]].column
    return f"row group {key[0]}, column {column!r}: {error.message}; the bloom filter is not used"
