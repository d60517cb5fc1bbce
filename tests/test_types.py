"""The table of types, row by row, against DESIGN's promise and pyarrow's own reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from edited_footers import rewritten, written

import pqlab
from pqlab.footer.schema import LogicalType, SchemaNode
from pqlab.footer.types import arrow_type, polars_type


def leaf(
    physical_type: str,
    logical_type: LogicalType | None = None,
    *,
    converted_type: str | None = None,
    type_length: int | None = None,
    precision: int | None = None,
    scale: int | None = None,
) -> SchemaNode:
    return SchemaNode(
        name="x",
        path=("x",),
        element=1,
        repetition_type="OPTIONAL",
        physical_type=physical_type,
        type_length=type_length,
        logical_type=logical_type,
        converted_type=converted_type,
        precision=precision,
        scale=scale,
        field_id=None,
        max_definition_level=1,
        max_repetition_level=0,
        leaf=0,
    )


L = LogicalType
TYPES = [
    (leaf("BOOLEAN"), pl.Boolean),
    (leaf("INT32"), pl.Int32),
    (leaf("INT64"), pl.Int64),
    (leaf("FLOAT"), pl.Float32),
    (leaf("DOUBLE"), pl.Float64),
    (leaf("BYTE_ARRAY"), pl.Binary),
    (leaf("FIXED_LEN_BYTE_ARRAY", type_length=5), pl.Binary),
    (leaf("INT96"), pl.Datetime("ns")),
    (leaf("INT32", L("INTEGER", bit_width=8, is_signed=True)), pl.Int8),
    (leaf("INT32", L("INTEGER", bit_width=16, is_signed=False)), pl.UInt16),
    (leaf("INT64", L("INTEGER", bit_width=64, is_signed=False)), pl.UInt64),
    (leaf("INT64", L("INTEGER", bit_width=8, is_signed=True)), pl.Int64),  # not allowed there
    (leaf("INT32", converted_type="UINT_32"), pl.UInt32),
    (leaf("INT32", converted_type="INT_64"), pl.Int32),  # annotates INT64 alone: as any other
    (leaf("INT32", converted_type="TIMESTAMP_MILLIS"), pl.Int32),
    (leaf("INT64", converted_type="DATE"), pl.Int64),
    (leaf("INT64", converted_type="TIME_MILLIS"), pl.Int64),
    (leaf("FIXED_LEN_BYTE_ARRAY", L("FLOAT16"), type_length=2), pl.Float16),
    (leaf("FIXED_LEN_BYTE_ARRAY", L("FLOAT16"), type_length=4), pl.Binary),
    (leaf("INT32", L("DECIMAL", precision=9, scale=2)), pl.Decimal(9, 2)),
    (leaf("INT64", converted_type="DECIMAL", precision=18, scale=4), pl.Decimal(18, 4)),
    (leaf("BYTE_ARRAY", L("DECIMAL", precision=38, scale=0)), pl.Decimal(38, 0)),
    (leaf("BYTE_ARRAY", L("DECIMAL", precision=39, scale=0)), pl.Binary),
    (leaf("INT32", L("DECIMAL", precision=0, scale=0)), pl.Int32),
    (leaf("INT32", converted_type="DECIMAL"), pl.Int32),
    (leaf("BYTE_ARRAY", L("STRING")), pl.String),
    (leaf("BYTE_ARRAY", L("ENUM")), pl.String),
    (leaf("BYTE_ARRAY", converted_type="JSON"), pl.String),
    (leaf("FIXED_LEN_BYTE_ARRAY", L("STRING"), type_length=3), pl.Binary),
    (leaf("BYTE_ARRAY", L("BSON")), pl.Binary),
    (leaf("BYTE_ARRAY", L("GEOMETRY", crs="EPSG:4326")), pl.Binary),
    (leaf("BYTE_ARRAY", L("GEOGRAPHY", algorithm="KARNEY")), pl.Binary),
    (leaf("FIXED_LEN_BYTE_ARRAY", L("UUID"), type_length=16), pl.Binary),
    (leaf("INT32", L("DATE")), pl.Date),
    (leaf("INT32", L("TIME", unit="MILLIS", is_adjusted_to_utc=True)), pl.Time),
    (leaf("INT64", L("TIME", unit="NANOS", is_adjusted_to_utc=False)), pl.Time),
    (leaf("INT64", L("TIME", unit="MILLIS")), pl.Int64),  # milliseconds stand on INT32 only
    (
        leaf("INT64", L("TIMESTAMP", unit="MILLIS", is_adjusted_to_utc=True)),
        pl.Datetime("ms", "UTC"),
    ),
    (leaf("INT64", L("TIMESTAMP", unit="NANOS", is_adjusted_to_utc=False)), pl.Datetime("ns")),
    (leaf("INT64", converted_type="TIMESTAMP_MICROS"), pl.Datetime("us", "UTC")),
    (leaf("INT64", L("TIMESTAMP")), pl.Int64),  # a unit that the format added later
    (
        leaf("FIXED_LEN_BYTE_ARRAY", converted_type="INTERVAL", type_length=12),
        pl.Struct({"months": pl.UInt32, "days": pl.UInt32, "milliseconds": pl.UInt32}),
    ),
    (leaf("INT32", L("UNKNOWN")), pl.Null),
    (leaf("INT32", L("FIELD_99")), pl.Int32),
]


@pytest.mark.parametrize(("node", "expected"), TYPES)
def test_polars_type_is_the_tables(node: SchemaNode, expected: pl.DataType) -> None:
    assert polars_type(node) == expected


@pytest.mark.parametrize("node", [node for node, _ in TYPES])
def test_arrow_and_polars_types_agree(node: SchemaNode) -> None:
    assert pl.Series(pl.from_arrow(pa.nulls(3, arrow_type(node)))).dtype == polars_type(node)


def test_int96_unit_is_the_callers() -> None:
    assert polars_type(leaf("INT96"), int96_unit="us") == pl.Datetime("us")
    assert arrow_type(leaf("INT96"), int96_unit="us") == pa.timestamp("us")


def test_annotations_that_do_not_count_are_said(corpus: Path) -> None:
    allowed = pqlab.open(corpus / "apache__parquet-testing/data/alltypes_plain.parquet")
    assert not [warning for warning in allowed.info.warnings if "may not stand" in warning]
    wide = pqlab.open(corpus / "duckdb__duckdb/data/parquet-testing/bigdecimal.parquet")
    assert any("more digits than decimals of 128 bits" in warning for warning in wide.info.warnings)


def test_annotations_on_the_wrong_physical_type_are_said() -> None:
    data = written(pa.table({"day": pa.array([1, 2], pa.int64()), "n": [3, 4]}))

    def annotate(footer: Any) -> None:
        footer.schema[1].converted_type = 6  # DATE

    info = pqlab.open(rewritten(data, annotate)).info
    assert info.warnings == ("'day': DATE may not stand on INT64: read as the physical type",)
