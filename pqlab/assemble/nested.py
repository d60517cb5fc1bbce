"""Leaves of one root column to one Arrow array: the rules of LogicalTypes.md for lists and maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from pqlab.cpu.engine import DecodedColumn
from pqlab.cpu.nesting import Nesting
from pqlab.footer.schema import SchemaNode

_ENTRY = ("key", "value")  # by position: other names are not enforced as errors


class Assembled(NamedTuple):
    """A column with its field."""

    field: pa.Field
    array: pa.Array


@dataclass(frozen=True, slots=True)
class _Part:
    """A node of the tree with those of its children that are read.

    `kind`: LIST or MAP where the group is one, else None. `nesting`: of any leaf under it; None
    where that is flat.
    """

    node: SchemaNode
    parent: _Part | None
    kind: str | None
    children: list[_Part]
    nesting: Nesting | None
    num_rows: int


def assemble(columns: Sequence[DecodedColumn], leaves: Sequence[pa.Array]) -> Assembled:
    """The root column above some of its leaves, which are given with the arrays of their values.

    A repeated field is a list: of LIST and MAP groups the one that they annotate, else a list of
    its own. A group is a struct. No buffer is copied.
    """
    first = columns[0]
    if len(first.path) == 1 and first.nesting is None:
        nullable = first.leaf.repetition_type == "OPTIONAL"
        return Assembled(pa.field(first.leaf.name, leaves[0].type, nullable), leaves[0])
    contents = {column.leaf.element: array for column, array in zip(columns, leaves, strict=True)}
    parts = _parts(columns)
    # Parts stand behind their parents: from the end, what they are made of is ready.
    for part in reversed(parts):
        if part.node.leaf is None:
            contents[part.node.element] = _group(part, contents)
    root = parts[0]
    return _column(root, contents, root.node.name)


def _parts(columns: Sequence[DecodedColumn]) -> list[_Part]:
    """The nodes above and at the leaves, each once, before those under it."""
    parts: dict[int, _Part] = {}
    for column in columns:
        parent: _Part | None = None
        for node in column.path:
            part = parts.get(node.element)
            if part is None:
                kind = _kind(node, parent)
                part = _Part(node, parent, kind, [], column.nesting, column.num_rows)
                parts[node.element] = part
                if parent is not None:
                    parent.children.append(part)
            parent = part
    return list(parts.values())


def _group(part: _Part, contents: dict[int, pa.Array]) -> pa.Array:
    """A group at its own depth: a struct, or the list that its annotation makes of it."""
    if part.kind is not None:
        element = _element(part)
        depth = part.children[0].node.max_repetition_level
        return _list(element, contents[element.node.element], depth, *_validity(part))
    children = [_column(child, contents, name) for child, name in _named(part)]
    return pa.Array.from_buffers(
        pa.struct([child.field for child in children]),
        _num_slots(part, part.node.max_repetition_level),
        *_validity(part),
        children=[child.array for child in children],
    )


def _column(part: _Part, contents: dict[int, pa.Array], name: str) -> Assembled:
    """A root column or a struct's field: repeated ones are lists without an annotation."""
    array = contents[part.node.element]
    if part.node.repetition_type == "REPEATED":
        depth = part.node.max_repetition_level
        array = _list(part, array, depth, [None], 0)
    nullable = part.node.repetition_type == "OPTIONAL"
    return Assembled(pa.field(name, array.type, nullable), array)


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


def _list(
    element: _Part,
    array: pa.Array,
    depth: int,
    validity: list[pa.Buffer | None],
    null_count: int,
) -> pa.Array:
    """The lists whose elements are the slots at `depth`."""
    nesting = element.nesting
    assert nesting is not None  # what repeats is nested
    field = pa.field("element", array.type, element.node.repetition_type == "OPTIONAL")
    return pa.Array.from_buffers(
        pa.large_list(field),
        nesting.slots[depth - 1],
        [*validity, pa.py_buffer(nesting.offsets[depth - 1])],
        null_count,
        children=[array],
    )


def _validity(part: _Part) -> tuple[list[pa.Buffer | None], int]:
    """The validity of a group, and how many of it are null."""
    if part.nesting is None or part.node.repetition_type != "OPTIONAL":
        return [None], 0
    bitmap = part.nesting.groups[part.node.element]
    bits = None if bitmap.bits is None else pa.py_buffer(bitmap.bits)
    return [bits], bitmap.null_count


def _num_slots(part: _Part, depth: int) -> int:
    return part.num_rows if part.nesting is None else part.nesting.slots[depth]
