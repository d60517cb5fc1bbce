"""The schema tree: nodes, levels and annotations, built lazily from the native schema arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from pqlab import text

Unit = Literal["MILLIS", "MICROS", "NANOS"]
Repetition = Literal["REQUIRED", "OPTIONAL", "REPEATED"]

MAX_REPR_LINES = 500
MAX_NAME_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class LogicalType:
    """A logical type and its parameters; parameters that do not apply are None.

    `kind` is the union's field name in parquet.thrift (`STRING`, `TIMESTAMP`, ...), or `FIELD_<id>`
    for one that the format added later.
    """

    kind: str
    unit: Unit | None = None
    is_adjusted_to_utc: bool | None = None
    bit_width: int | None = None
    is_signed: bool | None = None
    precision: int | None = None
    scale: int | None = None
    crs: str | None = None
    algorithm: str | None = None
    specification_version: int | None = None

    def __str__(self) -> str:
        """`TIMESTAMP(MICROS, UTC)`, `DECIMAL(9, 2)`, `INTEGER(8, unsigned)`, `GEOMETRY(OGC:84)`."""
        parameters = (
            self.unit,
            {True: "UTC", False: "local", None: None}[self.is_adjusted_to_utc],
            self.bit_width,
            {True: "signed", False: "unsigned", None: None}[self.is_signed],
            self.precision,
            self.scale,
            self.crs,
            self.algorithm,
            self.specification_version,
        )
        stated = ", ".join(str(parameter) for parameter in parameters if parameter is not None)
        return f"{self.kind}({stated})" if stated else self.kind


# ConvertedType -> the logical type that it stands for; DECIMAL's parameters are the element's.
_CONVERTED: dict[str, LogicalType] = {
    "UTF8": LogicalType("STRING"),
    "MAP": LogicalType("MAP"),
    "MAP_KEY_VALUE": LogicalType("MAP"),
    "LIST": LogicalType("LIST"),
    "ENUM": LogicalType("ENUM"),
    "DATE": LogicalType("DATE"),
    "TIME_MILLIS": LogicalType("TIME", unit="MILLIS", is_adjusted_to_utc=True),
    "TIME_MICROS": LogicalType("TIME", unit="MICROS", is_adjusted_to_utc=True),
    "TIMESTAMP_MILLIS": LogicalType("TIMESTAMP", unit="MILLIS", is_adjusted_to_utc=True),
    "TIMESTAMP_MICROS": LogicalType("TIMESTAMP", unit="MICROS", is_adjusted_to_utc=True),
    "UINT_8": LogicalType("INTEGER", bit_width=8, is_signed=False),
    "UINT_16": LogicalType("INTEGER", bit_width=16, is_signed=False),
    "UINT_32": LogicalType("INTEGER", bit_width=32, is_signed=False),
    "UINT_64": LogicalType("INTEGER", bit_width=64, is_signed=False),
    "INT_8": LogicalType("INTEGER", bit_width=8, is_signed=True),
    "INT_16": LogicalType("INTEGER", bit_width=16, is_signed=True),
    "INT_32": LogicalType("INTEGER", bit_width=32, is_signed=True),
    "INT_64": LogicalType("INTEGER", bit_width=64, is_signed=True),
    "JSON": LogicalType("JSON"),
    "BSON": LogicalType("BSON"),
    "INTERVAL": LogicalType("INTERVAL"),
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SchemaNode:
    """One schema element with its place in the tree and its levels; its repr is the tree below it.

    `physical_type` is None for groups; `leaf` is the leaf's ordinal, None for groups.
    `logical_type` and `converted_type` are what the file says; `annotation` is what they mean
    together: the logical type, else the one that the converted type stands for (LogicalTypes.md).
    """

    name: str
    path: tuple[str, ...]  # path_in_schema: without the root
    element: int  # ordinal in FileMetaData.schema; the root is 0
    repetition_type: Repetition | None  # None: the root
    physical_type: str | None
    type_length: int | None
    logical_type: LogicalType | None
    converted_type: str | None
    precision: int | None
    scale: int | None
    field_id: int | None
    max_definition_level: int
    max_repetition_level: int
    leaf: int | None
    children: tuple[SchemaNode, ...] = ()

    def __repr__(self) -> str:
        return "\n".join(tree_lines(self, MAX_REPR_LINES))

    @property
    def column(self) -> str:
        """The dotted path, as frames and errors show it."""
        return ".".join(self.path)

    @property
    def annotation(self) -> LogicalType | None:
        """The logical type, else the one that the converted type stands for."""
        if self.converted_type == "INTERVAL":
            return _CONVERTED["INTERVAL"]  # it has no logical type: some writers say UNKNOWN
        if self.logical_type is not None:
            return self.logical_type
        if self.converted_type == "DECIMAL":
            return LogicalType("DECIMAL", precision=self.precision, scale=self.scale or 0)
        return _CONVERTED.get(self.converted_type) if self.converted_type else None


def tree_lines(root: SchemaNode, max_lines: int) -> Iterator[str]:
    """The tree under `root`, a line per node: repetition, type, annotation, levels, leaf, field id.

    Levels are maximum definition level / maximum repetition level. Names that do not print are
    escaped, long ones clipped. Beyond `max_lines` a last line says how many nodes are left out.
    """
    waiting = [(root, "", "")]
    for _ in range(max_lines):
        if not waiting:
            return
        node, lead, indent = waiting.pop()
        yield lead + _node_line(node)
        for child in reversed(node.children):
            is_last = child is node.children[-1]
            branch, below = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            waiting.append((child, indent + branch, indent + below))
    left_out = 0
    while waiting:
        node, _, _ = waiting.pop()
        left_out += 1
        waiting.extend((child, "", "") for child in node.children)
    if left_out:
        yield f"… {left_out:,} more"


def _node_line(node: SchemaNode) -> str:
    name = text.clip(text.visible(node.name), MAX_NAME_CHARACTERS)
    if node.element == 0:
        return name
    kind = node.physical_type or "group"
    if node.physical_type == "FIXED_LEN_BYTE_ARRAY":
        kind += f"({node.type_length})"
    parts = [f"{name}: {node.repetition_type} {kind}"]
    if node.logical_type is not None:
        parts.append(str(node.logical_type))
    elif node.converted_type is not None:
        parts.append(f"{node.annotation} as {node.converted_type}")
    parts.append(f"levels {node.max_definition_level}/{node.max_repetition_level}")
    if node.leaf is not None:
        parts.append(f"leaf {node.leaf}")
    if node.field_id is not None:
        parts.append(f"field id {node.field_id}")
    return ", ".join(parts)


_PHYSICAL_TYPES = (
    "BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY",
)  # fmt: skip
_REPETITIONS: tuple[Repetition, ...] = ("REQUIRED", "OPTIONAL", "REPEATED")
_CONVERTED_TYPES = (
    "UTF8", "MAP", "MAP_KEY_VALUE", "LIST", "ENUM", "DECIMAL", "DATE", "TIME_MILLIS", "TIME_MICROS",
    "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS", "UINT_8", "UINT_16", "UINT_32", "UINT_64", "INT_8",
    "INT_16", "INT_32", "INT_64", "JSON", "BSON", "INTERVAL",
)  # fmt: skip
# Field ids of the LogicalType union.
_LOGICAL_TYPES = {
    1: "STRING", 2: "MAP", 3: "LIST", 4: "ENUM", 5: "DECIMAL", 6: "DATE", 7: "TIME",
    8: "TIMESTAMP", 10: "INTEGER", 11: "UNKNOWN", 12: "JSON", 13: "BSON", 14: "UUID",
    15: "FLOAT16", 16: "VARIANT", 17: "GEOMETRY", 18: "GEOGRAPHY", 19: "FILE",
}  # fmt: skip
_UNITS: dict[int, Unit] = {1: "MILLIS", 2: "MICROS", 3: "NANOS"}
_ALGORITHMS = ("SPHERICAL", "VINCENTY", "THOMAS", "ANDOYER", "KARNEY")

# Bits of the native column `present`.
_TYPE_LENGTH, _SCALE, _PRECISION, _FIELD_ID, _LOGICAL_A, _LOGICAL_B, _CRS = (
    1 << bit for bit in range(7)
)


def build_schema(
    table: Mapping[str, np.ndarray], num_elements: int, footer: np.ndarray
) -> list[SchemaNode]:
    """The nodes of all schema elements, by element; the first is the root.

    `table`: the native schema arrays (SchemaColumn in native/cpu/footer.hpp), whose tree has been
    checked there; one element stands for all. No recursion: schemas may be hundreds of levels deep.
    """
    columns = [
        column.tolist() * (1 if len(column) == num_elements else num_elements)
        for column in table.values()
    ]
    rows = [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]
    places = _places(rows, footer)
    children: list[list[SchemaNode]] = [[] for _ in rows]
    nodes: list[SchemaNode] = []
    # Children stand behind their parents: from the end, they are ready for them.
    for element in range(num_elements - 1, -1, -1):
        row = rows[element]
        node = SchemaNode(
            **places[element],
            **_annotations(row, footer),
            element=element,
            children=tuple(reversed(children[element])),
        )
        children[row["parent"]].append(node)
        children[element] = []
        nodes.append(node)
    nodes.reverse()
    return nodes


def build_leaves(
    table: Mapping[str, np.ndarray],
    elements: Sequence[int],
    footer_part: Callable[[int, int], np.ndarray],
) -> list[SchemaNode]:
    """The leaves that are these elements, without the rest of the tree; their `leaf` is 0.

    `footer_part(start, stop)` is the footer, of which only these bytes are read.
    """

    def cell(name: str, element: int) -> int:
        column = table[name]
        return int(column[element if len(column) > 1 else 0])

    chain = {0}
    for element in elements:
        while element not in chain:
            chain.add(element)
            element = cell("parent", element)  # noqa: PLW2901 - up to the root
    kept = sorted(chain)
    part = {name: np.array([cell(name, element) for element in kept]) for name in table}
    part["parent"] = np.searchsorted(kept, part["parent"])
    starts = np.concatenate([part["name_start"], part["logical_crs_start"]])
    sizes = np.concatenate([part["name_size"], part["logical_crs_size"]])
    used = sizes > 0
    stops = starts[used] + sizes[used]
    span = (int(starts[used].min()), int(stops.max())) if used.any() else (0, 0)
    nodes = build_schema(part, len(kept), footer_part(*span))
    return [replace(nodes[kept.index(element)], element=element, leaf=0) for element in elements]


def _places(rows: list[dict[str, int]], footer: np.ndarray) -> list[dict[str, Any]]:
    """Each element's names, repetition, levels and leaf ordinal."""
    places: list[dict[str, Any]] = []
    leaf = 0
    for element, row in enumerate(rows):
        name = _text(footer, row["name_start"], row["name_size"])
        is_root = element == 0
        repetition = None if is_root else _REPETITIONS[row["repetition_type"]]
        parent = places[row["parent"]] if not is_root else None
        is_leaf = row["num_children"] <= 0 and row["type"] >= 0
        places.append(
            {
                "name": name,
                "path": (*parent["path"], name) if parent else (),
                "repetition_type": repetition,
                "max_definition_level": (parent["max_definition_level"] if parent else 0)
                + (repetition in ("OPTIONAL", "REPEATED")),
                "max_repetition_level": (parent["max_repetition_level"] if parent else 0)
                + (repetition == "REPEATED"),
                "leaf": leaf if is_leaf else None,
                "physical_type": _PHYSICAL_TYPES[row["type"]] if is_leaf else None,
            }
        )
        leaf += is_leaf
    return places


def _annotations(row: Mapping[str, int], footer: np.ndarray) -> dict[str, Any]:
    present = row["present"]
    return {
        "type_length": row["type_length"] if present & _TYPE_LENGTH else None,
        "logical_type": _logical_type(row, footer),
        "converted_type": _name(_CONVERTED_TYPES, row["converted_type"], "CONVERTED_TYPE"),
        "precision": row["precision"] if present & _PRECISION else None,
        "scale": row["scale"] if present & _SCALE else None,
        "field_id": row["field_id"] if present & _FIELD_ID else None,
    }


def _logical_type(row: Mapping[str, int], footer: np.ndarray) -> LogicalType | None:
    number = row["logical_type"]
    if number == 0:
        return None
    kind = _LOGICAL_TYPES.get(number, f"FIELD_{number}")
    flag, b = bool(row["logical_flag"]), row["logical_b"]
    a = row["logical_a"] if row["present"] & _LOGICAL_A else None
    match kind:
        case "TIME" | "TIMESTAMP":
            unit = _UNITS.get(row["logical_unit"])
            return LogicalType(kind, unit=unit, is_adjusted_to_utc=flag)
        case "INTEGER":
            return LogicalType(kind, bit_width=a, is_signed=flag)
        case "DECIMAL":
            return LogicalType(kind, scale=a, precision=b)
        case "VARIANT":
            return LogicalType(kind, specification_version=a)
        case "GEOMETRY" | "GEOGRAPHY":
            has_crs = row["present"] & _CRS
            start, size = row["logical_crs_start"], row["logical_crs_size"]
            crs = _text(footer, start, size) if has_crs else None
            algorithm = None if a is None else _name(_ALGORITHMS, a, "ALGORITHM")
            return LogicalType(kind, crs=crs, algorithm=algorithm)
    return LogicalType(kind)


def _name(names: tuple[str, ...], number: int, unknown: str) -> str | None:
    """The enum's name for a number; -1 is absent, other unknown numbers keep theirs."""
    if 0 <= number < len(names):
        return names[number]
    return None if number == -1 else f"{unknown}_{number}"


def _text(footer: np.ndarray, start: int, size: int) -> str:
    return footer[start : start + size].tobytes().decode("utf-8", "replace")
