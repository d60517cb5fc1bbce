"""Parts of a selection that are worth decoding while the bytes of others are on their way. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pqlab.footer.metadata import FileMetaData
from pqlab.plan.policy import IOPolicy
from pqlab.plan.ranges import length
from pqlab.plan.selection import Narrowed


def parts_of(
    metadata: FileMetaData,
    narrowed: Narrowed,
    roots: Sequence[tuple[int, ...]],
    policy: IOPolicy,
) -> list[list[Narrowed]]:
    """Lists of parts: those of a list have the same row groups, and together all columns, in order.

    `roots`: the selected leaves of each root column. A part has about `part_bytes` or more: row
    groups of less are taken together, one of more is cut between root columns.
    """
    leaves = np.array(narrowed.leaves, np.int64)
    sizes = []  # by row group, then by root column
    starts = np.cumsum([0, *map(len, roots)])[:-1]
    for row_group, rows in narrowed.rows.items():
        chunk_bytes = metadata.chunks.total_compressed_size[
            row_group * metadata.num_leaves + leaves
        ].astype(np.float64)
        share = length(rows) / max(int(metadata.row_groups.num_rows[row_group]), 1)
        sizes.append(np.add.reduceat(chunk_bytes * share, starts))
    found = []
    row_groups = list(narrowed.rows)
    least = min(policy.part_bytes, policy.window_bytes)
    for first, stop in _runs([float(of_roots.sum()) for of_roots in sizes], least):
        of_groups = {row_group: narrowed.rows[row_group] for row_group in row_groups[first:stop]}
        of_roots = np.sum(sizes[first:stop], axis=0).tolist()
        columns = [
            tuple(leaf for root in roots[begin:end] for leaf in root)
            for begin, end in _runs(of_roots, policy.part_bytes)
        ]
        found.append([replace(narrowed, leaves=some, rows=of_groups) for some in columns])
    return found


def _runs(sizes: Sequence[float], least: int) -> list[tuple[int, int]]:
    """Half-open runs of positions whose sizes add up to `least` or more; the last may have less."""
    runs, first, total = [], 0, 0.0
    for at, size in enumerate(sizes, 1):
        total += size
        if total >= least or at == len(sizes):
            runs.append((first, at))
            first, total = at, 0.0
    return runs
