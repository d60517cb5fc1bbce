"""The schema tree: nodes, levels and annotations, built lazily from the native schema arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Repetition = Literal["REQUIRED", "OPTIONAL", "REPEATED"]


@dataclass(frozen=True, slots=True)
class LogicalType:
    """A logical type and its parameters; parameters that do not apply are None.

    `kind` is the union's field name in parquet.thrift (`STRING`, `TIMESTAMP`, ...), or `FIELD_<id>`
    for one that the format added later.
    """

    kind: str
    unit: Literal["MILLIS", "MICROS", "NANOS"] | None = None
    is_adjusted_to_utc: bool | None = None
    bit_width: int | None = None
    is_signed: bool | None = None
    precision: int | None = None
    scale: int | None = None
    crs: str | None = None
    algorithm: str | None = None
    specification_version: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SchemaNode:
    """One schema element with its place in the tree and its levels.

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

    @property
    def column(self) -> str:
        """The dotted path, as frames and errors show it."""
        return ".".join(self.path)
