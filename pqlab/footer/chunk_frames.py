"""Column chunks as a frame: of one file's metadata, or of many files' at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from pqlab.footer import frame_columns, names
from pqlab.footer.bounds import Bounds, LeafBounds, bounds_columns
from pqlab.footer.details import StatisticsTable
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.page_table import BoundsState
from pqlab.footer.schema import SchemaNode
from pqlab.footer.series import int64, nullable, ratio, tristate
from pqlab.footer.values import Spans

Ordinals = Sequence[int] | np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class ChunkRows:
    """What the frame is made of, a row per chunk.

    `place`: the position in `nodes`, and in `of_leaf`, of the chunk's leaf; `cells`: a column of
    `metadata.ChunkTable` by its name; `statistics` are spans of `buffer`.
    """

    row_group: np.ndarray
    leaf: np.ndarray
    place: np.ndarray
    nodes: Sequence[SchemaNode]
    of_leaf: LeafBounds
    cells: Callable[[str], np.ndarray]
    statistics: StatisticsTable
    buffer: np.ndarray

    def series(self) -> dict[str, pl.Series]:
        """The columns of `frame_columns.COLUMN_CHUNKS`, by name."""
        of, place = self.cells, self.place
        present, encodings = of("present"), of("data_page_encodings")

        def where(name: str, bit: Present) -> pl.Series:
            return nullable(of(name), has(present, bit))

        physical_types = pl.Series([node.physical_type for node in self.nodes], dtype=pl.String)
        statistics = self.statistics
        bounds = chunk_bounds(self.buffer, statistics, place, self.of_leaf)
        return {
            "row_group": pl.Series(self.row_group),
            "column": column_names(self.nodes).gather(place),
            "leaf": pl.Series(self.leaf),
            "physical_type": physical_types.gather(place),
            "codec": names.names_of(of("codec"), names.CODECS),
            "encodings": encoding_lists(of("encodings")),
            "data_page_encodings": encoding_lists(encodings, unknown=0),
            "num_data_pages": where("num_data_pages", Present.ENCODING_STATS),
            "num_values": int64(of("num_values")),
            "null_count": where("null_count", Present.NULL_COUNT),
            "distinct_count": where("distinct_count", Present.DISTINCT_COUNT),
            "nan_count": nullable(statistics.nan_count, has(present, Present.NAN_COUNT)),
            "total_compressed_size": int64(of("total_compressed_size")),
            "total_uncompressed_size": int64(of("total_uncompressed_size")),
            "compression_ratio": ratio(of("total_uncompressed_size"), of("total_compressed_size")),
            **bounds_columns(bounds, self.of_leaf),
            "is_min_value_exact": tristate(statistics.is_min_value_exact),
            "is_max_value_exact": tristate(statistics.is_max_value_exact),
            "dictionary_page_offset": where(
                "dictionary_page_offset", Present.DICTIONARY_PAGE_OFFSET
            ),
            "data_page_offset": where("data_page_offset", Present.META_DATA),
            "offset_index_offset": where("offset_index_offset", Present.OFFSET_INDEX),
            "offset_index_length": where("offset_index_length", Present.OFFSET_INDEX),
            "column_index_offset": where("column_index_offset", Present.COLUMN_INDEX),
            "column_index_length": where("column_index_length", Present.COLUMN_INDEX),
            "bloom_filter_offset": where("bloom_filter_offset", Present.BLOOM_FILTER_OFFSET),
            "bloom_filter_length": where("bloom_filter_length", Present.BLOOM_FILTER_LENGTH),
            "is_encrypted": pl.Series(has(present, Present.CRYPTO_METADATA)),
            "is_external": pl.Series(has(present, Present.FILE_PATH)),
        }


def column_chunks_frame(
    metadata: FileMetaData,
    row_groups: Ordinals | None = None,
    leaves: Ordinals | None = None,
) -> pl.DataFrame:
    """One row per column chunk, in order (row group, leaf); of all, or of the ordinals given."""
    rows, row_group, leaf = _chunk_rows(metadata, row_groups, leaves)
    # Of few leaves, no more nodes than these are made: `place` is a leaf's among them.
    shown = range(metadata.num_leaves) if leaves is None else np.asarray(leaves, np.intp).tolist()
    nodes = metadata.leaf_nodes(shown)
    orders = [metadata.column_orders[number] for number in shown]
    chunks = ChunkRows(
        row_group,
        leaf,
        np.tile(np.arange(len(shown), dtype=np.int32), len(leaf) // max(1, len(shown))),
        nodes,
        LeafBounds.of(nodes, orders, metadata.created_by),
        lambda name: metadata.chunk_cells(name, rows),
        metadata.statistics(rows),
        metadata.footer_of(rows),
    )
    return frame_columns.build(frame_columns.COLUMN_CHUNKS, chunks.series())


def _chunk_rows(
    metadata: FileMetaData, row_groups: Ordinals | None, leaves: Ordinals | None
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
    """Rows of the chunk table (None: all), and the row group and the leaf of each."""
    num_leaves = metadata.num_leaves
    groups = np.arange(metadata.num_row_groups) if row_groups is None else row_groups
    columns = np.arange(num_leaves) if leaves is None else leaves
    group = np.repeat(np.asarray(groups, np.int32), len(columns))
    leaf = np.tile(np.asarray(columns, np.int32), len(groups))
    if row_groups is None and leaves is None:
        return None, group, leaf
    return group.astype(np.int64) * num_leaves + leaf, group, leaf


def column_names(leaves: Sequence[SchemaNode]) -> pl.Series:
    """The dotted paths of leaves."""
    return pl.Series([leaf.column for leaf in leaves], dtype=pl.String)


def has(present: np.ndarray, bit: Present) -> np.ndarray:
    """Which rows have that bit."""
    found: np.ndarray = (present & np.uint32(bit)) != 0
    return found


def encoding_lists(masks: np.ndarray, unknown: int | None = None) -> pl.Series:
    """Bit sets of encodings as lists of names; the set `unknown` becomes null."""
    found = np.unique(masks)
    lists = [None if mask == unknown else names.encodings_of(mask) for mask in found.tolist()]
    positions = np.searchsorted(found, masks).astype(np.uint32)
    return pl.Series(lists, dtype=pl.List(pl.String)).gather(positions)


def chunk_bounds(
    footer: np.ndarray,
    statistics: StatisticsTable,
    leaf: np.ndarray,
    of_leaf: LeafBounds,
) -> Bounds:
    """`min_value` and `max_value`, else the deprecated `min` and `max`.

    The deprecated ones come first where they have an order, and the others have none.
    """
    has_value = has(statistics.present, Present.MIN_VALUE | Present.MAX_VALUE)
    has_legacy = has(statistics.present, Present.MIN | Present.MAX)
    is_legacy_better = of_leaf.legacy_trusted & ~of_leaf.value_trusted
    if is_legacy_better.any():
        has_value &= ~(has_legacy & is_legacy_better[leaf])
    state = np.where(has_value, np.uint8(BoundsState.PRESENT), np.uint8(BoundsState.ABSENT))
    state[~has_value & has_legacy] = BoundsState.DEPRECATED
    sides = [
        (Present.MIN_VALUE, Present.MIN, "min_value", "min"),
        (Present.MAX_VALUE, Present.MAX, "max_value", "max"),
    ]
    spans = []
    for value_bit, legacy_bit, value, legacy in sides:
        is_legacy = ~has_value & has(statistics.present, legacy_bit)
        is_there = is_legacy | (has_value & has(statistics.present, value_bit))
        start = np.where(is_there, getattr(statistics, f"{value}_start").astype(np.int64), -1)
        length = getattr(statistics, f"{value}_length").astype(np.int64)
        if is_legacy.any():
            start = np.where(is_legacy, getattr(statistics, f"{legacy}_start"), start)
            length = np.where(is_legacy, getattr(statistics, f"{legacy}_length"), length)
        spans.append(Spans.of(footer, start, length))
    return Bounds(leaf, state, *spans)
