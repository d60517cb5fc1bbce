"""What a read makes of leaves: found once for a file and those of its leaves that are read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pyarrow as pa

from pqlab.cpu.kinds import kind_of
from pqlab.cpu.tree import Node, NodeKind, Path, leaf_nodes, optional_groups, roots
from pqlab.errors import UnsupportedError
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.schema import SchemaNode
from pqlab.footer.types import Int96Unit, arrow_type
from pqlab.native import _native

InvalidUtf8 = Literal["error", "binary"]
Strings = Literal["string", "categorical", "enum"]

# The days since 1970 that polars has a calendar for, half open: printing others panics it.
_CALENDAR_DAYS = (-96_465_292, 95_026_237)
# (nanoseconds never leave it)
_UNITS_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}


class Nesting(NamedTuple):
    """`struct Nesting` of native/cpu/nested.hpp.

    `list_levels`: of the lists above a leaf, from the outermost; `groups`: (depth, level) of the
    groups that may be null.
    """

    is_nested: bool
    list_levels: tuple[int, ...]
    groups: tuple[tuple[int, int], ...]
    leaf_is_optional: bool


_FLAT = Nesting(is_nested=False, list_levels=(), groups=(), leaf_is_optional=False)


class LeafColumn(NamedTuple):
    """`struct ColumnSpec` of native/cpu/columns.hpp. `kind`, `width`: of pqlab/cpu/kinds.py."""

    leaf: int | None
    name: str
    kind: str
    width: int
    max_definition_level: int
    nesting: Nesting
    calendar: tuple[int, int, str]
    shared_lists: int
    shared_groups: int

    @property
    def is_nested(self) -> bool:
        """Whether there are lists, or groups that may be null, above the leaf."""
        return self.nesting.is_nested

    @property
    def max_repetition_level(self) -> int:
        """How many lists there are above the leaf."""
        return len(self.nesting.list_levels)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of a frame: their Arrow schema, and how the leaves are decoded.

    `nodes`: what the columns' arrays are made of, parents before children.
    """

    schema: pa.Schema
    leaves: tuple[LeafColumn, ...]
    nodes: tuple[Node, ...]
    native: _native.Columns


def columns_of(
    metadata: FileMetaData,
    leaves: tuple[int, ...],
    int96_unit: Int96Unit = "ns",
    invalid_utf8: InvalidUtf8 = "error",
    strings: Strings = "string",
) -> Columns:
    """The columns above these leaves, given in file order; kept with the metadata.

    Raises `CorruptError` and `UnsupportedError`, with the column.
    """

    def make() -> Columns:
        nodes = [metadata.leaves[leaf] for leaf in leaves]
        paths = [_path(node, metadata) for node in nodes]
        types = [_type(node, int96_unit, invalid_utf8) for node in nodes]
        if strings != "string":
            types = [_coded(*each, strings) for each in zip(paths, types, strict=True)]
        return _columns(paths, types)

    return metadata.kept(("columns", leaves, int96_unit, invalid_utf8, strings), make)


def values_of(
    leaf: SchemaNode, int96_unit: Int96Unit = "ns", invalid_utf8: InvalidUtf8 = "error"
) -> Columns:
    """One column of a leaf's values, without the lists and groups above them and without nulls."""
    data_type = _type(leaf, int96_unit, invalid_utf8)
    spec = _spec(leaf, data_type, _FLAT, 0, 0)
    return _made([spec], pa.schema([pa.field(leaf.name, data_type)]), leaf_nodes(0, data_type))


def _columns(paths: Sequence[Path], types: Sequence[pa.DataType]) -> Columns:
    specs = []
    for at, (path, data_type) in enumerate(zip(paths, types, strict=True)):
        shared = _shared(paths[at - 1], path) if at else ()
        lists = sum(node.repetition_type == "REPEATED" for node in shared)
        groups = sum(node.repetition_type == "OPTIONAL" for node in shared)
        specs.append(_spec(path[-1], data_type, _nesting(path), lists, groups))
    made = roots(paths, types)
    schema = pa.schema([root.field for root in made])
    return _made(specs, schema, [node for root in made for node in root.nodes])


def _made(leaves: list[LeafColumn], schema: pa.Schema, nodes: Sequence[Node]) -> Columns:
    root = Node(NodeKind.STRUCT, 0, 0, -1)
    native = _native.Columns(leaves, schema.__arrow_c_schema__(), [root, *nodes])
    return Columns(schema, tuple(leaves), tuple(nodes), native)


def _type(leaf: SchemaNode, int96_unit: Int96Unit, invalid_utf8: InvalidUtf8) -> pa.DataType:
    data_type = arrow_type(leaf, int96_unit)
    as_bytes = invalid_utf8 == "binary" and data_type == pa.string_view()
    return pa.binary_view() if as_bytes else data_type


def _coded(path: Path, data_type: pa.DataType, strings: Strings) -> pa.DataType:
    """Text as codes. An order says that its words become an Enum's categories."""
    if data_type != pa.string_view():
        return data_type
    is_enum = strings == "enum"
    if is_enum and (len(path) > 1 or path[0].repetition_type == "REPEATED"):
        raise UnsupportedError(
            "text within lists and groups is not read as an Enum",
            hint='Pass strings="categorical", or leave the column out',
            column=path[-1].column,
        )
    return pa.dictionary(pa.uint32(), pa.large_string(), ordered=is_enum)


def _spec(
    leaf: SchemaNode, data_type: pa.DataType, nesting: Nesting, lists: int, groups: int
) -> LeafColumn:
    kind = kind_of(leaf, data_type)
    return LeafColumn(
        leaf.leaf,
        leaf.column,
        kind.name,
        kind.width,
        leaf.max_definition_level,
        nesting,
        _calendar(data_type),
        lists,
        groups,
    )


def _nesting(path: Path) -> Nesting:
    groups = optional_groups(path)
    lists = [node for node in path if node.repetition_type == "REPEATED"]
    return Nesting(
        bool(groups or lists),
        tuple(node.max_definition_level for node in lists),
        tuple((node.max_repetition_level, node.max_definition_level) for node in groups),
        path[-1].repetition_type == "OPTIONAL",
    )


def _calendar(data_type: pa.DataType) -> tuple[int, int, str]:
    """`struct Calendar` of native/cpu/columns.hpp."""
    is_date = pa.types.is_date(data_type)
    if not is_date and not (pa.types.is_timestamp(data_type) and data_type.unit != "ns"):
        return 0, 0, ""
    units = 1 if is_date else _UNITS_PER_DAY[data_type.unit]
    first, stop = (day * units for day in _CALENDAR_DAYS)
    return first, stop, str(data_type)


def _path(leaf: SchemaNode, metadata: FileMetaData) -> Path:
    """The nodes from the root column down to the leaf."""
    path: list[SchemaNode] = []
    node = metadata.schema
    while node.element != leaf.element:
        # Children are in the order of their elements: the last that does not begin behind the leaf.
        at = bisect_right(node.children, leaf.element, key=lambda child: child.element)
        node = node.children[at - 1]
        path.append(node)
    return tuple(path)


def _shared(before: Path, path: Path) -> list[SchemaNode]:
    """The nodes above both leaves."""
    return [node for node, other in zip(path, before, strict=False) if node is other]
