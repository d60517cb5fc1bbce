"""What the footer's tables leave in place: statistics and their kin, read natively on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from pqlab.native import _native


@dataclass(frozen=True, slots=True, eq=False)
class StatisticsTable:
    """Statistics of chunks, a row for each chunk that was asked for.

    A bound's bytes are `footer[start : start + length]`; `min` and `max` are the deprecated fields.
    Absent starts, lengths and counts are 0: ask `present` (bits of `metadata.Present`; 0: the chunk
    has no statistics). Arrays are as narrow as those of `metadata.ChunkTable`.
    """

    present: np.ndarray
    min_start: np.ndarray
    min_length: np.ndarray
    max_start: np.ndarray
    max_length: np.ndarray
    min_value_start: np.ndarray
    min_value_length: np.ndarray
    max_value_start: np.ndarray
    max_value_length: np.ndarray
    is_min_value_exact: np.ndarray  # 1, 0, or -1: absent
    is_max_value_exact: np.ndarray
    null_count: np.ndarray
    distinct_count: np.ndarray
    nan_count: np.ndarray

    @classmethod
    def read(cls, footer: np.ndarray, positions: np.ndarray) -> Self:
        """Read the Statistics structs at these positions of the footer (uint64; 0: none)."""
        arrays = _native.parse_statistics(footer, positions)
        rows = (len(positions),)
        return cls(**{name: np.broadcast_to(array, rows) for name, array in arrays.items()})


@dataclass(frozen=True, slots=True, eq=False)
class EncodingStatsTable:
    """PageEncodingStats of chunks: those of row i are [offsets[i], offsets[i + 1])."""

    offsets: np.ndarray
    page_type: np.ndarray
    encoding: np.ndarray
    count: np.ndarray

    @classmethod
    def read(cls, footer: np.ndarray, positions: np.ndarray) -> Self:
        """Read those of the ColumnChunk structs at these positions (uint64; 0: none)."""
        return cls(**_native.parse_encoding_stats(footer, positions))


@dataclass(frozen=True, slots=True, eq=False)
class SizeStatisticsTable:
    """SizeStatistics of chunks: the histograms of row i are [offsets[i], offsets[i + 1]).

    An absent histogram is empty.
    """

    unencoded_byte_array_data_bytes: np.ndarray  # -1: absent
    repetition_offsets: np.ndarray
    repetition_level_histogram: np.ndarray
    definition_offsets: np.ndarray
    definition_level_histogram: np.ndarray

    @classmethod
    def read(cls, footer: np.ndarray, positions: np.ndarray) -> Self:
        """Read those of the ColumnChunk structs at these positions (uint64; 0: none)."""
        return cls(**_native.parse_size_statistics(footer, positions))


@dataclass(frozen=True, slots=True)
class SortingColumn:
    """A column that the rows of a row group are sorted by. `column_idx`: a leaf's ordinal."""

    column_idx: int
    descending: bool
    nulls_first: bool


def read_sorting_columns(footer: np.ndarray, position: int) -> tuple[SortingColumn, ...]:
    """The sorting columns of the RowGroup struct at this position of the footer."""
    return tuple(SortingColumn(*c) for c in _native.parse_sorting_columns(footer, position))
