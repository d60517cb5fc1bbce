"""FileMetaData as columnar arrays: parsed once by native code, immutable, shared, never copied."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

import numpy as np

from pqlab.footer.schema import SchemaNode


class Present(IntFlag):
    """Which optional fields a column chunk has (`ChunkTable.present`)."""

    FILE_PATH = 1 << 0
    META_DATA = 1 << 1
    OFFSET_INDEX = 1 << 2
    COLUMN_INDEX = 1 << 3
    CRYPTO_METADATA = 1 << 4
    ENCRYPTED_COLUMN_METADATA = 1 << 5
    KEY_VALUE_METADATA = 1 << 6
    INDEX_PAGE_OFFSET = 1 << 7
    DICTIONARY_PAGE_OFFSET = 1 << 8
    STATISTICS = 1 << 9
    ENCODING_STATS = 1 << 10
    BLOOM_FILTER_OFFSET = 1 << 11
    BLOOM_FILTER_LENGTH = 1 << 12
    SIZE_STATISTICS = 1 << 13
    GEOSPATIAL_STATISTICS = 1 << 14
    NULL_COUNT = 1 << 15
    DISTINCT_COUNT = 1 << 16
    NAN_COUNT = 1 << 17
    MIN = 1 << 18  # the deprecated field
    MAX = 1 << 19
    MIN_VALUE = 1 << 20
    MAX_VALUE = 1 << 21


@dataclass(frozen=True, slots=True, eq=False)
class ChunkTable:
    """One row per column chunk, in order (row_group, leaf): row = row_group * num_leaves + leaf.

    Every array has that length and the narrowest dtype that holds its values; one whose values are
    all equal is stored once (stride 0). Absent numbers are 0: ask `present`.
    """

    position: np.ndarray  # of the ColumnChunk struct within the footer
    present: np.ndarray  # bits of `Present`
    codec: np.ndarray  # signed: codes that the format does not know are kept
    encodings: np.ndarray  # bit e: encoding e is listed; bit 31: one above 30, or negative
    data_page_encodings: np.ndarray  # same bits, from encoding_stats; 0: unknown
    num_data_pages: np.ndarray  # from encoding_stats; 0: unknown
    num_values: np.ndarray
    total_uncompressed_size: np.ndarray
    total_compressed_size: np.ndarray
    data_page_offset: np.ndarray
    dictionary_page_offset: np.ndarray
    null_count: np.ndarray
    distinct_count: np.ndarray
    statistics_position: np.ndarray  # of the Statistics struct, from the chunk's `position`; 0: none
    offset_index_offset: np.ndarray
    offset_index_length: np.ndarray
    column_index_offset: np.ndarray
    column_index_length: np.ndarray
    bloom_filter_offset: np.ndarray
    bloom_filter_length: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class RowGroupTable:
    """One row per row group. Absent numbers are -1."""

    position: np.ndarray  # of the RowGroup struct within the footer
    num_rows: np.ndarray
    first_row: np.ndarray  # file-global: the rows of the row groups before
    total_byte_size: np.ndarray
    total_compressed_size: np.ndarray
    file_offset: np.ndarray
    ordinal: np.ndarray
    num_sorting_columns: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class FileMetaData:
    """A parsed footer.

    `footer`: the thrift bytes of FileMetaData, retained for what is read on demand (uint8, read
    only); `footer_offset`: where they start in the file. `num_rows` sums the row groups, whatever
    `stated_num_rows` says. `warnings`: what was wrong in optional fields and was skipped.
    """

    footer: np.ndarray
    footer_offset: int
    format_version: int
    stated_num_rows: int
    num_rows: int
    created_by: str | None
    num_leaves: int
    row_groups: RowGroupTable
    chunks: ChunkTable
    column_orders: tuple[str | None, ...]  # per leaf: the union's field name; None: absent, unknown
    encryption_algorithm: str | None
    warnings: tuple[str, ...]

    # The loader in this module adds, as lazy properties or methods:
    #   schema -> SchemaNode (the root), leaves -> tuple[SchemaNode, ...]
    #   key_value_metadata -> list[tuple[str, str | None]]
    #   nbytes -> anonymous bytes of the arrays
    #   statistics(rows) -> columnar Statistics of chunk rows, parsed natively on demand
    #   raw_chunk(row_group, leaf), raw() -> thriftpy2 structs
    @property
    def schema(self) -> SchemaNode:
        raise NotImplementedError

    @property
    def leaves(self) -> tuple[SchemaNode, ...]:
        raise NotImplementedError
