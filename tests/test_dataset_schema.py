"""Schemas merged by path, against what pyarrow unifies and against the rules."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pqlab.errors import UnsupportedError
from pqlab.footer.merge import MergedSchema, merge_schemas
from pqlab.footer.schema import SchemaNode
from pqlab.io.footer import load_metadata
from pqlab.io.memory import BytesSource


def root(schema: pa.Schema) -> SchemaNode:
    buffer = io.BytesIO()
    pq.write_table(schema.empty_table(), buffer)
    return load_metadata(BytesSource(buffer.getvalue())).schema


def merge(*schemas: list[Any]) -> MergedSchema:
    return merge_schemas(
        (f"file {number}", root(pa.schema(fields))) for number, fields in enumerate(schemas)
    )


def columns(merged: MergedSchema) -> list[str]:
    return [leaf.column for leaf in merged.leaves]


def test_one_schema_stays_as_it_is() -> None:
    fields = [
        pa.field("a", pa.int32(), nullable=False),
        pa.field("s", pa.struct([pa.field("b", pa.string()), pa.field("l", pa.list_(pa.int8()))])),
        pa.field("m", pa.map_(pa.string(), pa.int64())),
    ]
    merged = merge(fields)
    expected = root(pa.schema(fields))
    waiting = [(merged.schema, expected)]
    seen = 0
    while waiting:
        one, two = waiting.pop()
        for name in SchemaNode.__dataclass_fields__:
            if name != "children":
                assert getattr(one, name) == getattr(two, name)
        waiting += zip(one.children, two.children, strict=True)
        seen += 1
    assert seen == 11
    assert not merged.conflicts


def test_columns_match_by_path_whatever_their_order() -> None:
    a, b, c = (pa.field(name, pa.int64()) for name in "abc")
    merged = merge([a, b], [c, b, a], [b])
    assert columns(merged) == ["a", "b", "c"]
    assert not merged.conflicts
    schemas = [pa.schema(fields) for fields in ([a, b], [c, b, a], [b])]
    assert columns(merged) == pa.unify_schemas(schemas).names
    assert [leaf.leaf for leaf in merged.leaves] == [0, 1, 2]


def test_what_some_files_lack_is_optional() -> None:
    a, b = (pa.field(name, pa.int64(), nullable=False) for name in "ab")
    merged = merge([a, b], [a])
    assert [leaf.repetition_type for leaf in merged.leaves] == ["REQUIRED", "OPTIONAL"]
    assert [leaf.max_definition_level for leaf in merged.leaves] == [0, 1]
    merged = merge([a], [a.with_nullable(True)])
    assert merged.leaves[0].repetition_type == "OPTIONAL"


def test_structs_merge_by_field() -> None:
    x, y = pa.field("x", pa.int64(), nullable=False), pa.field("y", pa.string(), nullable=False)
    merged = merge([pa.field("s", pa.struct([x]))], [pa.field("s", pa.struct([y, x]))])
    assert columns(merged) == ["s.x", "s.y"]
    assert [leaf.repetition_type for leaf in merged.leaves] == ["REQUIRED", "OPTIONAL"]
    assert [leaf.max_definition_level for leaf in merged.leaves] == [1, 2]
    assert not merged.conflicts


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (pa.int64(), pa.string()),
        (pa.int32(), pa.int64()),  # no widening
        (pa.int64(), pa.float64()),
        (pa.timestamp("ms"), pa.timestamp("us")),
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.decimal128(9, 2), pa.decimal128(10, 2)),
        (pa.int64(), pa.list_(pa.int64())),
        (pa.struct([pa.field("x", pa.int64())]), pa.list_(pa.int64())),
        (pa.list_(pa.int64()), pa.map_(pa.string(), pa.int64())),
        (pa.binary(), pa.string()),
    ],
)
def test_another_type_is_an_error_that_names_both_files(one: pa.DataType, two: pa.DataType) -> None:
    with pytest.raises((pa.ArrowInvalid, pa.ArrowTypeError)):
        pa.unify_schemas([pa.schema([("a", one)]), pa.schema([("a", two)])])
    same = pa.field("same", pa.int64())
    merged = merge([same, pa.field("a", one)], [same], [pa.field("a", two), same])
    merged.check(leaf for leaf in merged.leaves if leaf.path == ("same",))
    with pytest.raises(UnsupportedError) as caught:
        merged.check(leaf for leaf in merged.leaves if leaf.path[0] == "a")
    for words in ("'a'", "'file 0'", "'file 2'"):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (pa.string(), pa.large_string()),
        (pa.dictionary(pa.int32(), pa.string()), pa.string()),
        (pa.list_(pa.int64()), pa.large_list(pa.int64())),
    ],
)
def test_what_parquet_stores_alike_is_one_type(one: pa.DataType, two: pa.DataType) -> None:
    assert not merge([pa.field("a", one)], [pa.field("a", two)]).conflicts


def test_a_column_that_a_file_has_twice() -> None:
    a, b = pa.field("a", pa.int64()), pa.field("b", pa.int64())
    merged = merge([a, b], [a, a, b])
    merged.check(leaf for leaf in merged.leaves if leaf.path == ("b",))
    with pytest.raises(UnsupportedError, match=r"twice.*file 1"):
        merged.check(merged.leaves)


def test_hundreds_of_levels() -> None:
    data_type: pa.DataType = pa.int64()
    for level in range(150):
        data_type = pa.struct([pa.field(f"level {level}", data_type)])
    merged = merge([pa.field("deep", data_type)], [pa.field("deep", data_type)])
    assert merged.num_leaves == 1
    assert len(merged.leaves[0].path) == 151
