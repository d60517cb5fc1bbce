"""How much memory a read takes, estimated from its plan and the footer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pqlab.footer.metadata import FileMetaData
from pqlab.footer.schema import SchemaNode
from pqlab.plan.tables import PlanTables

# Decoded bytes of one value; strings and bytes are views of 16 bytes, beside the bytes themselves.
_WIDTH = {
    "BOOLEAN": 1 / 8,
    "INT32": 4,
    "INT64": 8,
    "INT96": 8,
    "FLOAT": 4,
    "DOUBLE": 8,
    "BYTE_ARRAY": 16,
    "FIXED_LEN_BYTE_ARRAY": 16,
}
_DECIMAL_BYTES = 16
_INLINE_BYTES = 12  # a view holds values up to this length in itself
_OFFSET_BYTES = 8
DELTA_BYTE_ARRAY = 1 << 7  # in ChunkTable.encodings


class Estimate(NamedTuple):
    """Decoded bytes, at least and at most, and what the estimate stands on."""

    low_bytes: int
    high_bytes: int
    source: str


class _Widths(NamedTuple):
    """Of each leaf that is read: bytes of a value, bytes of lists above it, whether it has views.

    `has_views` is None where none has.
    """

    values: npt.NDArray[np.float64]
    lists: npt.NDArray[np.float64]
    has_views: npt.NDArray[np.bool_] | None


def _widths(metadata: FileMetaData, leaves: Sequence[int]) -> _Widths:
    nodes = [metadata.leaves[leaf] for leaf in leaves]
    has_views = np.array([node.physical_type == "BYTE_ARRAY" for node in nodes])
    return _Widths(
        np.array([_value_bytes(node) for node in nodes]),
        np.array([_list_bytes(node) for node in nodes]),
        has_views if has_views.any() else None,
    )


def estimate(
    metadata: FileMetaData,
    leaves: tuple[int, ...],
    tables: PlanTables,
    wanted_rows: npt.NDArray[np.int64],
) -> Estimate:
    """Decoded size of what is planned of the row groups; `wanted_rows`: of each.

    A part of a row group is taken to hold its share of the values. Lists take offsets: for as many
    as there are values at most. The views of strings and bytes
    point into decompressed pages: their bytes are at most what the pages are uncompressed, whatever
    a dictionary multiplies; only DELTA_BYTE_ARRAY unfolds, to what SizeStatistics say.
    """
    if not len(tables.chunks):
        return Estimate(0, 0, "no values")
    widths = metadata.kept(("widths", leaves), lambda: _widths(metadata, leaves))
    shape = len(tables.row_groups), len(leaves)
    share = wanted_rows / np.maximum(tables.row_groups["num_rows"], 1)
    values = np.maximum(tables.chunks["num_values"], 0).reshape(shape) * share[:, None]
    per_leaf = values.sum(0)
    low = float(per_leaf @ widths.values)
    lists = float(per_leaf @ widths.lists)
    if widths.has_views is None:
        return Estimate(int(low), int(low + lists), "widths of values")
    chunks = tables.chunks.reshape(shape)[:, widths.has_views]
    rows = chunks["row_group"].astype(np.int64) * metadata.num_leaves + chunks["leaf"]
    sizes, source = _bytes_behind_views(metadata, rows)
    partial = np.flatnonzero(share < 1)
    if len(partial):
        whole = metadata.chunks.total_compressed_size[rows[partial]].astype(np.int64)
        read = tables.chunk_bytes().reshape(shape)[partial][:, widths.has_views]
        sizes[partial] *= np.minimum(read / np.maximum(whole, 1), 1)
    return Estimate(int(low), int(low + lists + sizes.sum()), f"widths of values, {source}")


def decoded_bytes(
    metadata: FileMetaData, leaves: tuple[int, ...], row_groups: Sequence[int]
) -> npt.NDArray[np.float64]:
    """Decoded size of whole chunks, at most: a row per row group, a column per leaf."""
    widths = metadata.kept(("widths", leaves), lambda: _widths(metadata, leaves))
    first = np.array(row_groups, np.int64)[:, None] * metadata.num_leaves
    rows = first + np.array(leaves, np.int64)
    sizes: npt.NDArray[np.float64] = np.maximum(metadata.chunks.num_values[rows], 0) * (
        widths.values + widths.lists
    )
    if widths.has_views is not None and len(row_groups):
        behind = rows[:, widths.has_views]
        sizes[:, widths.has_views] += _bytes_behind_views(metadata, behind)[0]
    return sizes


def _bytes_behind_views(
    metadata: FileMetaData, rows: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], str]:
    chunks = metadata.chunks
    sizes = np.maximum(chunks.total_uncompressed_size[rows].astype(np.float64), 0)
    unfolds = (chunks.encodings[rows].astype(np.int64) & DELTA_BYTE_ARRAY) != 0
    if not unfolds.any():
        return sizes, "uncompressed sizes"
    stated = metadata.size_statistics(rows[unfolds]).unencoded_byte_array_data_bytes
    sizes[unfolds] = np.maximum(sizes[unfolds], stated)
    more = "SizeStatistics" if (stated >= 0).all() else "what DELTA_BYTE_ARRAY makes of them"
    return sizes, f"uncompressed sizes and {more}"


def _value_bytes(leaf: SchemaNode) -> float:
    annotation = leaf.annotation
    width: float = _WIDTH.get(leaf.physical_type or "", 0)
    if annotation is not None and annotation.kind == "DECIMAL":
        width = _DECIMAL_BYTES
    elif leaf.physical_type == "FIXED_LEN_BYTE_ARRAY":
        size = leaf.type_length or 0
        width += size if size > _INLINE_BYTES else 0
    return width + (1 / 8 if leaf.max_definition_level else 0)


def _list_bytes(leaf: SchemaNode) -> float:
    """Of lists and groups above a value, at most: a list has one entry at least, or is empty."""
    depth = leaf.max_repetition_level
    return depth * _OFFSET_BYTES + (leaf.max_definition_level - depth) / 8
