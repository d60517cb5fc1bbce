"""The schema tree: nodes, levels and annotations, built lazily from the native schema arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["MILLIS", "MICROS", "NANOS"]
Repetition = Literal["REQUIRED", "OPTIONAL", "REPEATED"]


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

    @property
    def annotation(self) -> LogicalType | None:
        """The logical type, else the one that the converted type stands for."""
        if self.logical_type is not None:
            return self.logical_type
        if self.converted_type == "DECIMAL":
            return LogicalType("DECIMAL", precision=self.precision, scale=self.scale or 0)
        return _CONVERTED.get(self.converted_type) if self.converted_type else None
