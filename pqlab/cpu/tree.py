"""Leaves to the Arrow columns above them: the rules of LogicalTypes.md for lists and maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from pqlab.footer.schema import SchemaNode

Path: TypeAlias = tuple[SchemaNode, ...]  # from the root column down to the leaf

_ENTRY = ("key", "value")  # by position: other names are not enforced as errors


class NodeKind(IntEnum):
    """What an Arrow array is made of; numbers as of `enum class NodeKind` in cpu/columns.hpp."""

    VALUES = 0
    INTERVAL = 1
    PART = 2
    STRUCT = 3
    LIST = 4


class Node(NamedTuple):
    """`struct ColumnNode` of native/cpu/columns.hpp, without what the Arrow schema says."""

    kind: NodeKind
    column: int
    depth: int
    group: int


class Tree(NamedTuple):
    """An Arrow type, and what its arrays are made of: a node each, parents before children."""

    type: pa.DataType
    nodes: list[Node]


class Root(NamedTuple):
    """A column of a frame."""

    field: pa.Field
    nodes: list[Node]


@dataclass(frozen=True, slots=True)
class _Part:
    """A node of the schema with those of its children that are read.

    `kind`: LIST or MAP where the group is one, else None. `column`, `path`: of the first leaf at or
    under it.
    """

    node: SchemaNode
    parent: _Part | None
    kind: str | None
    children: list[_Part]
    column: int
    path: Path


def optional_groups(path: Sequence[SchemaNode]) -> list[SchemaNode]:
    """The groups of a path that may be null."""
    return [node for node in path[:-1] if node.repetition_type == "OPTIONAL"]


def roots(paths: Sequence[Path], types: Sequence[pa.DataType]) -> list[Root]:
    """The root columns above the leaves, which are given by their paths and types, in order.

    A repeated field is a list: of LIST and MAP groups the one that they annotate, else a list of
    its own. A group is a struct.
    """
    cuts = [at for at in range(1, len(paths)) if paths[at][0] is not paths[at - 1][0]]
    bounds = pairwise([0, *cuts, len(paths)]) if paths else ()
    return [_root(range(*bound), paths, types) for bound in bounds]


def _root(columns: range, paths: Sequence[Path], types: Sequence[pa.DataType]) -> Root:
    contents = {
        paths[column][-1].element: Tree(types[column], leaf_nodes(column, types[column]))
        for column in columns
    }
    parts = _parts(columns, paths)
    # Parts stand behind their parents: from the end, what they are made of is ready.
    for part in reversed(parts):
        if part.node.leaf is None:
            contents[part.node.element] = _group(part, contents)
    return _column(parts[0], contents, parts[0].node.name)


def leaf_nodes(column: int, data_type: pa.DataType) -> list[Node]:
    """What a leaf's values are made of: INTERVAL is a struct of its parts."""
    if not pa.types.is_struct(data_type):
        return [Node(NodeKind.VALUES, column, 0, -1)]
    parts = [Node(NodeKind.PART, column, at, -1) for at in range(data_type.num_fields)]
    return [Node(NodeKind.INTERVAL, column, 0, -1), *parts]


def _parts(columns: range, paths: Sequence[Path]) -> list[_Part]:
    """The nodes above and at the leaves, each once, before those under it."""
    parts: dict[int, _Part] = {}
    for column in columns:
        parent: _Part | None = None
        for node in paths[column]:
            part = parts.get(node.element)
            if part is None:
                part = _Part(node, parent, _kind(node, parent), [], column, paths[column])
                parts[node.element] = part
                if parent is not None:
                    parent.children.append(part)
            parent = part
    return list(parts.values())


def _group(part: _Part, contents: dict[int, Tree]) -> Tree:
    """A group at its own depth: a struct, or the list that its annotation makes of it."""
    if part.kind is not None:
        element = _element(part)
        depth = part.children[0].node.max_repetition_level
        return _list(element, contents[element.node.element], depth, part)
    children = [_column(child, contents, name) for child, name in _named(part)]
    depth = part.node.max_repetition_level
    return Tree(
        pa.struct([child.field for child in children]),
        [
            Node(NodeKind.STRUCT, part.column, depth, _group_ordinal(part)),
            *(node for child in children for node in child.nodes),
        ],
    )


def _column(part: _Part, contents: dict[int, Tree], name: str) -> Root:
    """A root column or a struct's field: repeated ones are lists without an annotation."""
    tree = contents[part.node.element]
    if part.node.repetition_type == "REPEATED":
        tree = _list(part, tree, part.node.max_repetition_level, None)
    nullable = part.node.repetition_type == "OPTIONAL"
    return Root(pa.field(name, tree.type, nullable), tree.nodes)


def _kind(node: SchemaNode, parent: _Part | None) -> str | None:
    """LIST or MAP, if a group is annotated so and made so."""
    kind = node.annotation.kind if node.annotation is not None else None
    if kind not in ("LIST", "MAP"):
        return None
    if len(node.children) != 1 or node.children[0].repetition_type != "REPEATED":
        return None
    if node.repetition_type == "REPEATED" and parent is not None and parent.kind == "MAP":
        return None  # a map's entries, which MAP_KEY_VALUE may stand on: no map of their own
    return kind


def _element(part: _Part) -> _Part:
    """What the list's elements are: the repeated field, or the one field in it (rules 1 to 5)."""
    repeated = part.children[0]
    fields = repeated.node.children
    is_wrapper = (
        part.kind == "LIST"
        and len(fields) == 1
        and fields[0].repetition_type != "REPEATED"
        and repeated.node.name not in ("array", f"{part.node.name}_tuple")
    )
    return repeated.children[0] if is_wrapper else repeated


def _named(part: _Part) -> Iterator[tuple[_Part, str]]:
    """A struct's fields; those of a map's entries are `key` and `value`, whatever the file says."""
    fields = part.node.children
    in_map = part.parent is not None and part.parent.kind == "MAP"
    is_entry = in_map and len(fields) <= len(_ENTRY)
    names = _ENTRY if is_entry else [field.name for field in fields]
    ordinal = {field.element: at for at, field in enumerate(fields)}
    for child in part.children:
        yield child, names[ordinal[child.node.element]]


def _list(element: _Part, tree: Tree, depth: int, group: _Part | None) -> Tree:
    """The lists whose elements are the slots at `depth`; `group` is their own, if they have one."""
    ordinal = -1 if group is None else _group_ordinal(group)
    field = pa.field("element", tree.type, element.node.repetition_type == "OPTIONAL")
    node = Node(NodeKind.LIST, element.column, depth, ordinal)
    return Tree(pa.large_list(field), [node, *tree.nodes])


def _group_ordinal(part: _Part) -> int:
    """Which of the optional groups above its first leaf the group is; -1: it is not optional."""
    if part.node.repetition_type != "OPTIONAL":
        return -1
    return next(at for at, node in enumerate(optional_groups(part.path)) if node is part.node)
