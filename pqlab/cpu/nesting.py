"""Where a leaf stands in the schema tree, and what its levels say of the lists and groups above."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pqlab.footer.schema import SchemaNode


@dataclass(frozen=True, slots=True, eq=False)
class Bitmap:
    """Which slots are there: `bits` as Arrow's validity, uint8; None where none is null."""

    bits: np.ndarray | None
    null_count: int


@dataclass(frozen=True, slots=True, eq=False)
class Nesting:
    """The lists and groups above a leaf, by depth: how many repeated fields enclose a slot.

    `slots[k]`: how many there are at depth k; those at depth 0 are the rows, those at the last the
    leaf's values. `offsets[k - 1]`: of the lists whose elements are the slots at depth k, int64,
    `slots[k - 1] + 1` of them. `groups`: by their schema element, the optional groups.
    """

    slots: tuple[int, ...]
    offsets: tuple[np.ndarray, ...]
    groups: dict[int, Bitmap]


def path_to(root: SchemaNode, leaf: SchemaNode) -> tuple[SchemaNode, ...]:
    """The nodes from the root's child down to the leaf, which a leaf of the schema stands under."""
    path: list[SchemaNode] = []
    node = root
    while node.element != leaf.element:
        # Children are in the order of their elements: the last that does not begin behind the leaf.
        at = bisect_right(node.children, leaf.element, key=lambda child: child.element)
        node = node.children[at - 1]
        path.append(node)
    return tuple(path)


def optional_groups(path: Sequence[SchemaNode]) -> list[SchemaNode]:
    """The groups of a path that may be null."""
    return [node for node in path[:-1] if node.repetition_type == "OPTIONAL"]


def native_nesting(path: Sequence[SchemaNode]) -> tuple[Any, ...]:
    """`struct Nesting` of native/cpu/nested.hpp: nested, list levels, groups, leaf is optional."""
    groups = optional_groups(path)
    lists = [node for node in path if node.repetition_type == "REPEATED"]
    return (
        bool(groups or lists),
        tuple(node.max_definition_level for node in lists),
        tuple((node.max_repetition_level, node.max_definition_level) for node in groups),
        path[-1].repetition_type == "OPTIONAL",
    )


def nesting_of(path: Sequence[SchemaNode], output: Any) -> Nesting | None:
    """What native code gives of a leaf; None: it is flat."""
    if output is None:
        return None
    slots, offsets, groups = output
    elements = [node.element for node in optional_groups(path)]
    return Nesting(
        slots=tuple(slots),
        offsets=tuple(array.view(np.int64) for array in offsets),
        groups={
            element: Bitmap(bits if null_count else None, null_count)
            for element, (bits, null_count) in zip(elements, groups, strict=True)
        },
    )


def first_difference(
    path: Sequence[SchemaNode],
    nesting: Nesting,
    other_path: Sequence[SchemaNode],
    other: Nesting,
) -> int | None:
    """The first row in which two leaves differ on a list or group above both; None: they agree."""
    common, depths = _common(path, other_path)
    for depth in range(1, depths + 1):
        mine, theirs = nesting.offsets[depth - 1], other.offsets[depth - 1]
        if not np.array_equal(mine, theirs):
            return row_of(nesting, depth - 1, max(int(np.argmax(mine != theirs)) - 1, 0))
    for node in common:
        if node.repetition_type != "OPTIONAL":
            continue
        bits, their_bits = nesting.groups[node.element], other.groups[node.element]
        if not _same(bits, their_bits):
            depth = node.max_repetition_level
            return row_of(nesting, depth, _first_bit(bits, their_bits, nesting.slots[depth]))
    return None


def sharing(
    path: Sequence[SchemaNode],
    nesting: Nesting,
    other_path: Sequence[SchemaNode],
    other: Nesting,
) -> Nesting:
    """`other` with the arrays of `nesting` for what is above both, so that memory is kept once."""
    common, depths = _common(path, other_path)
    above = {node.element for node in common}
    groups = {
        element: nesting.groups[element] if element in above else bitmap
        for element, bitmap in other.groups.items()
    }
    return Nesting(other.slots, nesting.offsets[:depths] + other.offsets[depths:], groups)


def _common(
    path: Sequence[SchemaNode], other: Sequence[SchemaNode]
) -> tuple[Sequence[SchemaNode], int]:
    """The nodes that two paths share, and how many of them are repeated."""
    common = [a for a, b in zip(path, other, strict=False) if a is b]
    return common, common[-1].max_repetition_level if common else 0


def row_of(nesting: Nesting, depth: int, slot: int) -> int:
    """The row in which a slot lies."""
    for offsets in reversed(nesting.offsets[:depth]):
        slot = int(np.searchsorted(offsets, slot, "right")) - 1
    return slot


def roots(paths: Sequence[tuple[SchemaNode, ...]]) -> Iterator[tuple[int, int]]:
    """Half-open ranges of the paths that share their first node: the columns of a frame."""
    cuts = [at for at in range(1, len(paths)) if paths[at][0] is not paths[at - 1][0]]
    if paths:
        yield from pairwise([0, *cuts, len(paths)])


def _same(mine: Bitmap, theirs: Bitmap) -> bool:
    if mine.null_count != theirs.null_count:
        return False
    return mine.bits is None or theirs.bits is None or np.array_equal(mine.bits, theirs.bits)


def _first_bit(mine: Bitmap, theirs: Bitmap, slots: int) -> int:
    """The first slot that is there in one and not in the other."""
    there = [
        np.ones(slots, np.uint8)
        if bitmap.bits is None
        else np.unpackbits(bitmap.bits, count=slots, bitorder="little")
        for bitmap in (mine, theirs)
    ]
    return int(np.argmax(there[0] != there[1]))
