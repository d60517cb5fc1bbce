"""The leaf columns of a file as the grid shows them: sorted, filtered, below their roots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pqlab.footer.metadata import FileMetaData
from pqlab.footer.schema import SchemaNode
from pqlab.inspector.state import GridOrder
from pqlab.plan.picks import ColumnPick

_NAMED = 64  # columns that a selection lists by name; more are ordinals, which are found at once


class Root(NamedTuple):
    """A root column: its node, and the half-open range of its leaves."""

    node: SchemaNode
    start: int
    stop: int

    @property
    def is_group(self) -> bool:
        """Whether it stands for leaves that may be hidden."""
        return self.node.leaf is None


class GridRow(NamedTuple):
    """A row of the grid: a leaf, or (`leaf` None) the root of several."""

    root: int
    leaf: int | None


def roots(metadata: FileMetaData) -> Sequence[Root]:
    """The root columns, in the order of the file."""

    def make() -> list[Root]:
        found, start = [], 0
        elements = np.array([node.element for node in metadata.leaves])
        for child, following in zip(
            metadata.schema.children, [*metadata.schema.children[1:], None], strict=True
        ):
            stop = (
                len(elements)
                if following is None
                else int(np.searchsorted(elements, following.element))
            )
            found.append(Root(child, start, stop))
            start = stop
        return found

    return metadata.kept("inspector roots", make)


def sums(metadata: FileMetaData, name: str) -> npt.NDArray[np.int64]:
    """A number of the chunks, summed for each leaf over the row groups."""

    def make() -> npt.NDArray[np.int64]:
        values: npt.NDArray[np.int64] = matrix(metadata, name).sum(axis=0, dtype=np.int64)
        return values

    return metadata.kept(("inspector sums", name), make)


def matrix(metadata: FileMetaData, name: str) -> npt.NDArray[np.integer]:
    """A column of the chunk table, by row group and leaf."""
    column: npt.NDArray[np.integer] = getattr(metadata.chunks, name)
    return column.reshape(metadata.num_row_groups, metadata.num_leaves)


def grid_rows(
    metadata: FileMetaData, order: GridOrder, pattern: str, folded: frozenset[int]
) -> Sequence[GridRow]:
    """The rows of the grid. `pattern`: text that a leaf's path has in it, whatever its case."""

    def make() -> list[GridRow]:
        everything = roots(metadata)
        rows = []
        for root in _ordered(metadata, order):
            node, start, stop = everything[root]
            leaves = [
                leaf
                for leaf in range(start, stop)
                if pattern.casefold() in metadata.leaves[leaf].column.casefold()
            ]
            if node.leaf is None and leaves:
                rows.append(GridRow(root, None))
            if root not in folded:
                rows += [GridRow(root, leaf) for leaf in leaves]
        return rows

    return metadata.kept(("inspector rows", order, pattern, folded), make)


def _ordered(metadata: FileMetaData, order: GridOrder) -> list[int]:
    everything = roots(metadata)
    if order == "name":
        return sorted(range(len(everything)), key=lambda root: everything[root].node.name)
    if order == "size":
        sizes = np.concatenate([[0], np.cumsum(sums(metadata, "total_compressed_size"))])
        ends = np.array([(root.start, root.stop) for root in everything]).reshape(-1, 2)
        taken = sizes[ends[:, 1]] - sizes[ends[:, 0]]
        ordered: list[int] = np.argsort(-taken, kind="stable").tolist()
        return ordered
    return list(range(len(everything)))


def leaves_of(metadata: FileMetaData, row: GridRow) -> range:
    """The leaves that a row stands for."""
    if row.leaf is not None:
        return range(row.leaf, row.leaf + 1)
    root = roots(metadata)[row.root]
    return range(root.start, root.stop)


def column_picks(metadata: FileMetaData, leaves: Sequence[int]) -> tuple[ColumnPick, ...]:
    """Leaves as a selection names them: by path where that is one leaf's own."""
    if len(leaves) > _NAMED:
        return tuple(leaves)
    names = metadata.kept("inspector names", lambda: _names(metadata))
    paths = [(metadata.leaves[leaf].column, leaf) for leaf in leaves]
    return tuple(
        path if names[path] == 1 and not path.startswith("^") else leaf for path, leaf in paths
    )


def _names(metadata: FileMetaData) -> Counter[str]:
    waiting, found = list(metadata.schema.children), Counter[str]()
    while waiting:
        node = waiting.pop()
        found[node.column] += 1
        waiting.extend(node.children)
    return found
