"""Every logical type on every carrier, in each encoding its carrier has: what the bytes mean."""

from __future__ import annotations

import io
from itertools import cycle
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from decoding import read_frame, read_table
from encoders import CODECS, DEFINED, SNAPPY
from handmade import Column, Page, file_of, prefixed, repeated
from logical_types import LOGICAL
from nested_values import combined, difference
from page_matrix import ROW_GROUPS, columns_of, matrix_file, written

import pqlab
from pqlab.footer import raw

SHAPES = ("required", "optional", "list", "list of structs", "map")
CELLS = [
    (shape, layout, codec)
    for (shape, layout), codec in zip(
        [(shape, layout) for shape in SHAPES for layout in ("v1", "v2")],
        cycle(CODECS),
        strict=False,
    )
]
COLUMNS = columns_of("logical")
# What pyarrow refuses (decimals in more bytes than their digits take) or gives another type
# (INTERVAL, decimals of more than 38 digits).
NOT_PYARROWS = (
    *("interval", "decimal_binary_38", "decimal_fixed_38_12_20"),
    *("decimal_fixed_39", "decimal_binary_50"),
)


def leaf_of(column: pl.Series, name: str) -> pl.Series:
    """The values below lists and structs, in order, without nulls; `name`: the leaf's."""
    while True:
        match column.dtype:
            case pl.List():
                column = column.drop_nulls().explode(empty_as_null=False)
            case pl.Struct() as struct if name in {field.name for field in struct.fields}:
                column = column.drop_nulls().struct.field(name)
            case _:
                return column.drop_nulls()


def values_of(column: pl.Series) -> list[Any]:
    """Python's values; of days and times their numbers."""
    return (column.to_physical() if column.dtype.is_temporal() else column).to_list()


@pytest.mark.parametrize(("shape", "layout", "codec"), CELLS)
def test_bytes_mean_what_the_specification_says(shape: str, layout: str, codec: int) -> None:
    frame = read_frame(matrix_file(shape, layout, codec, types="logical"), workers=2)
    for (name, encoding), column in zip(COLUMNS, written(shape, layout, "logical"), strict=True):
        of = LOGICAL[name]
        leaves = column.root.leaves()
        at = next(at for at, leaf in enumerate(leaves) if leaf.name not in ("key", "sibling"))
        expected = [
            of.meaning(value)
            for group in range(ROW_GROUPS)
            for _, d, value in column.entries[group][at]
            if d == leaves[at].max_definition
        ]
        assert expected
        values = leaf_of(frame[f"{name}-{encoding}"], leaves[at].name)
        assert values.dtype == of.dtype, (name, encoding)
        assert values_of(values) == expected, (name, encoding)


@pytest.mark.parametrize("shape", SHAPES)
def test_pyarrow_agrees(shape: str) -> None:
    data = matrix_file(shape, "v2", SNAPPY, types="logical")
    names = [
        f"{name}-{encoding}" for name, encoding in COLUMNS if not name.startswith(NOT_PYARROWS)
    ]
    theirs = pq.ParquetFile(io.BytesIO(data), arrow_extensions_enabled=False).read(names)
    ours = read_table(data)
    for name in names:
        assert difference(combined(ours[name]), combined(theirs[name])) is None, name


@pytest.mark.parametrize("physical", DEFINED)
def test_unknown_is_null_on_every_carrier(physical: str) -> None:
    """LogicalTypes.md: "always null"; so are values that stand there all the same."""
    levels = prefixed(repeated(0, 3, 1))
    element = {"type_length": 4, "logicalType": raw.idl().LogicalType(UNKNOWN=raw.idl().NullType())}
    data = file_of(Column(physical, [Page(levels, 3)], optional=True, element=element))
    frame = pqlab.read(data)
    assert frame.schema == {"c": pl.Null}
    assert frame["c"].to_list() == [None] * 3
    assert pq.read_table(io.BytesIO(data))["c"].to_pylist() == [None] * 3
