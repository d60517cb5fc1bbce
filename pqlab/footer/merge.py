"""Schemas of several files as one, matched by path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from pqlab.errors import UnsupportedError
from pqlab.footer.schema import SchemaNode
from pqlab.footer.types import polars_type

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MergedSchema:
    """`schema`: the tree of every path that some file has, in the order in which they appear.

    Elements and leaves are numbered anew. What some files lack, or have as OPTIONAL, is OPTIONAL. A
    column that is always null (UNKNOWN) in some files has its type from the others.
    `typed_by`: which file, by its position, each path has its type from. `conflicts`: the paths
    that no one column can stand for; `check` raises for them.
    """

    schema: SchemaNode
    leaves: tuple[SchemaNode, ...]
    typed_by: dict[Path, int]
    conflicts: dict[Path, UnsupportedError]

    @property
    def num_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaves)

    def check(self, leaves: Iterable[SchemaNode]) -> None:
        """Raise `UnsupportedError`, naming both files, where files disagree about a leaf."""
        if self.conflicts:
            for leaf in leaves:
                for length in range(1, len(leaf.path) + 1):
                    if leaf.path[:length] in self.conflicts:
                        raise self.conflicts[leaf.path[:length]]


@dataclass(slots=True)
class _Element:
    node: SchemaNode  # as in the file that it has its type from
    file: str
    number: int  # of that file
    count: int = 1  # files that have it
    is_optional: bool = False
    children: list[Path] = field(default_factory=list)


def merge_schemas(schemas: Iterable[tuple[str, SchemaNode]]) -> MergedSchema:
    """Merge the trees of (file, root) pairs, of which there is at least one."""
    found: dict[Path, _Element] = {}
    conflicts: dict[Path, UnsupportedError] = {}
    for number, (file, root) in enumerate(schemas):
        here: set[Path] = set()
        for node in _preorder(root):
            path = node.path
            element = found.get(path)
            if path in here:
                conflicts.setdefault(path, _twice(node, file))
            elif element is None:
                found[path] = element = _Element(node, file, number)
                if path:
                    found[path[:-1]].children.append(path)
            else:
                element.count += 1
                if _kind(element.node) == _ALWAYS_NULL:
                    element.node, element.file, element.number = node, file, number
                elif _kind(node) not in (_kind(element.node), _ALWAYS_NULL):
                    conflicts.setdefault(path, _disagree(element, node, file))
            if node.repetition_type == "OPTIONAL" and element is not None:
                element.is_optional = True
            here.add(path)
    nodes = _build(found)
    leaves = tuple(node for node in nodes if node.leaf is not None)
    typed_by = {path: element.number for path, element in found.items()}
    return MergedSchema(nodes[0], leaves, typed_by, conflicts)


def _preorder(root: SchemaNode) -> Iterator[SchemaNode]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


_ALWAYS_NULL = "Null"


def _kind(node: SchemaNode) -> str:
    """What files must agree on: the type that the values have in a frame, and how they nest."""
    repeated = "repeated " if node.repetition_type == "REPEATED" else ""
    if node.physical_type is not None:
        return f"{repeated}{polars_type(node)}"
    annotation = node.annotation
    return f"{repeated}{annotation.kind if annotation else 'group'}"


def _twice(node: SchemaNode, file: str) -> UnsupportedError:
    return UnsupportedError(
        "the file has this column twice, and a dataset matches columns by path",
        hint="Open the file by itself, or select other columns",
        file=file,
        column=node.column,
    )


def _disagree(element: _Element, node: SchemaNode, file: str) -> UnsupportedError:
    return UnsupportedError(
        f"the column {node.column!r} is {_kind(element.node)} in {element.file!r} "
        f"and {_kind(node)} in {file!r}",
        hint="Select other columns, or open the files apart",
        file=file,
        column=node.column,
    )


def _build(found: dict[Path, _Element]) -> list[SchemaNode]:
    """The nodes of the merged tree in preorder."""
    order: list[Path] = []
    waiting: list[Path] = [()]
    while waiting:
        order.append(waiting.pop())
        waiting.extend(reversed(found[order[-1]].children))
    nodes: dict[Path, SchemaNode] = {}
    num_leaves = 0
    for number, path in enumerate(order):
        element = found[path]
        node = element.node
        is_leaf = node.leaf is not None and not element.children
        parent = nodes[path[:-1]] if path else None
        repetition = node.repetition_type
        if parent and repetition == "REQUIRED":
            everywhere = element.count == found[path[:-1]].count
            repetition = "REQUIRED" if everywhere and not element.is_optional else "OPTIONAL"
        nodes[path] = replace(
            node,
            element=number,
            leaf=num_leaves if is_leaf else None,
            repetition_type=repetition,
            max_definition_level=(parent.max_definition_level if parent else 0)
            + (repetition in ("OPTIONAL", "REPEATED")),
            max_repetition_level=(parent.max_repetition_level if parent else 0)
            + (repetition == "REPEATED"),
        )
        num_leaves += is_leaf
    for path in reversed(order):  # children stand behind their parents
        children = tuple(nodes[child] for child in found[path].children)
        nodes[path] = replace(nodes[path], children=children)
    return [nodes[path] for path in order]
