"""What is stated of the values of chunks and pages, as predicates are held against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from pqlab.footer.bounds import Bounds, LeafBounds
from pqlab.footer.chunk_frames import chunk_bounds, has
from pqlab.footer.frames import page_bounds
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.page_table import BoundsState, PageTable
from pqlab.footer.schema import SchemaNode
from pqlab.footer.types import type_key
from pqlab.footer.values import typed_values


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """What is stated of the values of one leaf's chunks, or pages: typed bounds, and counts.

    `min`, `max` are null where they are not there, not trusted, or no value of the type;
    `is_empty`: nulls only. Counts are -1 where they are not known.
    """

    min: pl.Series
    max: pl.Series
    is_empty: np.ndarray
    null_count: np.ndarray
    nan_count: np.ndarray
    num_values: np.ndarray


def stated_of_chunks(metadata: FileMetaData, leaf: int) -> Stated:
    """Of a leaf's chunks, a row per row group: what predicates are held against."""
    node, of_leaf = metadata.leaves[leaf], _bounds_of(metadata, leaf)
    rows = np.arange(metadata.num_row_groups, dtype=np.int64) * metadata.num_leaves + leaf
    chunks, statistics = metadata.chunks, metadata.statistics(rows)
    present = chunks.present[rows]
    nulls, nans = chunks.null_count[rows].astype(np.int64), statistics.nan_count.astype(np.int64)
    bounds = chunk_bounds(
        metadata.footer_of(rows), statistics, np.zeros(len(rows), np.int32), of_leaf
    )
    return _stated(
        node,
        bounds,
        of_leaf,
        (
            np.where(has(present, Present.NULL_COUNT), nulls, -1),
            np.where(has(present, Present.NAN_COUNT), nans, -1),
            chunks.num_values[rows].astype(np.int64),
        ),
    )


def stated_of_pages(metadata: FileMetaData, page_table: PageTable) -> Stated:
    """Of data pages, all of one leaf outside of lists: as many values as rows."""
    pages = page_table.pages.copy()
    leaf = int(pages["leaf"][0])
    pages["leaf"] = 0  # of one leaf
    bounds = page_bounds(PageTable(pages, page_table.statistics))
    return _stated(
        metadata.leaves[leaf],
        bounds,
        _bounds_of(metadata, leaf),
        (
            pages["num_nulls"].astype(np.int64),
            np.full(len(pages), -1, np.int64),
            pages["num_rows"].astype(np.int64),
        ),
    )


def _bounds_of(metadata: FileMetaData, leaf: int) -> LeafBounds:
    return metadata.kept(
        ("bounds of a leaf", leaf),
        lambda: LeafBounds.of(
            [metadata.leaves[leaf]], [metadata.column_orders[leaf]], metadata.created_by
        ),
    )


def _stated(
    node: SchemaNode, bounds: Bounds, of_leaf: LeafBounds, counts: tuple[np.ndarray, ...]
) -> Stated:
    key, state = type_key(node), bounds.state
    is_bound = (state == BoundsState.PRESENT) & of_leaf.value_trusted[0]
    is_bound |= (state == BoundsState.DEPRECATED) & of_leaf.legacy_trusted[0]
    low, high = typed_values(bounds.min, key), typed_values(bounds.max, key)
    for side, values in ((bounds.min, low), (bounds.max, high)):
        is_bound &= ~((side.start >= 0) & values.is_null().to_numpy())
    if not is_bound.all():
        shown, nothing = pl.Series(is_bound), low.clear(1)
        low, high = low.zip_with(shown, nothing), high.zip_with(shown, nothing)
    return Stated(low, high, state == BoundsState.EMPTY, *counts)
