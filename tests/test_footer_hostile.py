"""Footers written wrong on purpose: an error or a warning that names the field and its place."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from footers import (
    BINARY,
    BOOL_TRUE,
    I8,
    I32,
    I64,
    STRUCT,
    ListOf,
    Raw,
    Struct,
    Typed,
    column_chunk,
    column_meta_data,
    file_meta_data,
    group,
    i8,
    i16,
    i32,
    root,
    row_group,
    schema_element,
)  # fmt: skip

from pqlab.errors import CorruptError, LimitError
from pqlab.footer.metadata import Extension, FileMetaData, Present, parse_file_metadata
from pqlab.limits import Limits

OFFSET = 1000  # of the footer within its file


def parse(footer: bytes, **options: Any) -> FileMetaData:
    return parse_file_metadata(footer, OFFSET, file="x.parquet", **options)


def parse_chunk(meta_data: Struct | None = None, **chunk: Any) -> FileMetaData:
    return parse(file_meta_data(row_group(column_chunk(meta_data, **chunk))))


def refuse(footer: bytes) -> CorruptError:
    with pytest.raises(CorruptError) as caught:
        parse(footer)
    error = caught.value
    assert error.file == "x.parquet"
    assert error.offset is not None
    assert OFFSET <= error.offset <= OFFSET + len(footer)
    return error


def test_a_footer_written_by_the_helpers_is_right(tmp_path: Path) -> None:
    footer = file_meta_data()
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    assert pq.read_metadata(path).row_group(0).column(0).total_compressed_size == 500
    metadata = parse(footer)
    assert metadata.warnings == ()
    assert int(metadata.chunks.total_compressed_size[0]) == 500


REQUIRED_SIZES = (
    "num_values", "total_uncompressed_size", "total_compressed_size", "data_page_offset",
)  # fmt: skip


@pytest.mark.parametrize("field", REQUIRED_SIZES)
def test_negative_sizes_and_offsets_of_chunks(field: str) -> None:
    good, bad = column_chunk(), column_chunk(column_meta_data(**{field: -5}))
    footer = file_meta_data(row_group(good), row_group(bad))
    error = refuse(footer)
    assert error.field == f"ColumnMetaData.{field}"
    assert (error.row_group, error.column) == (1, "a")
    assert "negative: -5" in error.message
    assert footer[(error.offset or 0) - OFFSET] == 9  # the zigzag of -5


@pytest.mark.parametrize("field", ["num_rows", "total_byte_size"])
def test_negative_sizes_of_row_groups(field: str) -> None:
    error = refuse(file_meta_data(row_group(), row_group(**{field: -1})))
    assert (error.field, error.row_group) == (f"RowGroup.{field}", 1)


@pytest.mark.parametrize("bytes_long", [11, 20])
def test_varints_of_more_than_ten_bytes(bytes_long: int) -> None:
    varint = Raw(b"\x80" * (bytes_long - 1) + b"\x01")
    error = refuse(file_meta_data(row_group(column_chunk(column_meta_data(num_values=varint)))))
    assert error.field == "ColumnMetaData.num_values"
    assert "10 bytes" in error.message


def test_varints_of_ten_bytes_hold_64_bits() -> None:
    most = Raw(b"\xfe" + b"\xff" * 8 + b"\x01")  # 2**63 - 1
    assert int(parse_chunk(column_meta_data(num_values=most)).chunks.num_values[0]) == 2**63 - 1
    beyond = Raw(b"\xfe" + b"\xff" * 8 + b"\x03")
    refuse(file_meta_data(row_group(column_chunk(column_meta_data(num_values=beyond)))))


def test_a_field_id_beyond_16_bits() -> None:
    chunk = Struct({**column_chunk(), 65537: 1})
    error = refuse(file_meta_data(row_group(chunk)))
    assert error.field == "ColumnChunk"
    assert "16 bits" in error.message


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"row_groups": ListOf(STRUCT, [row_group()], size=1000)}, "FileMetaData.row_groups"),
        ({"row_groups": ListOf(STRUCT, [], size=2**40)}, "FileMetaData.row_groups"),
        ({"schema": ListOf(STRUCT, [root(1)], size=2**31)}, "FileMetaData.schema"),
    ],
)
def test_lists_longer_than_the_bytes_left(fields: dict[str, Any], field: str) -> None:
    assert refuse(file_meta_data(**fields)).field == field


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"encodings": ListOf(I64, [0, 3])}, "ColumnMetaData.encodings"),
        ({"path_in_schema": ListOf(I32, [i32(1)])}, "ColumnMetaData.path_in_schema"),
        ({"num_values": i32(100)}, "ColumnMetaData.num_values"),
        ({"codec": b"snappy"}, "ColumnMetaData.codec"),
        ({"encodings": 7}, "ColumnMetaData.encodings"),
    ],
)
def test_wrong_types_of_required_fields(fields: dict[str, Any], field: str) -> None:
    error = refuse(file_meta_data(row_group(column_chunk(column_meta_data(**fields)))))
    assert (error.field, error.row_group, error.column) == (field, 0, "a")
    assert "belongs" in error.message


BAD_OPTIONALS: list[tuple[dict[str, Any], str, Present]] = [
    ({"dictionary_page_offset": -1}, "ColumnMetaData.dictionary_page_offset is negative",
     Present.DICTIONARY_PAGE_OFFSET),
    ({"dictionary_page_offset": b"4"}, "ColumnMetaData.dictionary_page_offset is binary",
     Present.DICTIONARY_PAGE_OFFSET),
    ({"bloom_filter_length": i32(-3)}, "ColumnMetaData.bloom_filter_length is negative",
     Present.BLOOM_FILTER_LENGTH),
    ({"bloom_filter_length": i32(2**40)}, "ColumnMetaData.bloom_filter_length does not fit",
     Present.BLOOM_FILTER_LENGTH),
    ({"statistics": 5}, "ColumnMetaData.statistics is i64", Present.STATISTICS),
    ({"statistics": Struct({3: -1})}, "Statistics.null_count is negative", Present.NULL_COUNT),
    ({"statistics": Struct({3: b"0"})}, "Statistics.null_count is binary", Present.NULL_COUNT),
    ({"encoding_stats": ListOf(I32, [i32(1)])}, "ColumnMetaData.encoding_stats is a list of i32",
     Present.ENCODING_STATS),
    ({"encoding_stats": ListOf(STRUCT, [Struct({1: i32(0)})])},
     "PageEncodingStats.encoding the required field is missing", Present.ENCODING_STATS),
    ({"size_statistics": Struct({2: ListOf(I32, [i32(1)])})},
     "SizeStatistics.repetition_level_histogram is a list of i32", Present(0)),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "warning", "absent"), BAD_OPTIONALS)
def test_what_is_wrong_in_optional_fields_counts_as_absent(
    fields: dict[str, Any], warning: str, absent: Present
) -> None:
    metadata = parse_chunk(column_meta_data(**fields))
    assert len(metadata.warnings) == 1, metadata.warnings
    assert metadata.warnings[0].startswith(warning), metadata.warnings
    assert "row group 0, column 'a', offset 1" in metadata.warnings[0]
    assert not Present(int(metadata.chunks.present[0])) & absent
    # What stands behind the field is read as if nothing had happened.
    assert int(metadata.chunks.data_page_offset[0]) == 4
    assert metadata.num_rows == 100


def test_a_warning_that_comes_often_is_counted() -> None:
    chunk = column_chunk(column_meta_data(dictionary_page_offset=-1))
    metadata = parse(file_meta_data(*[row_group(chunk)] * 50))
    assert len(metadata.warnings) == 1
    assert "50 times, first at [row group 0" in metadata.warnings[0]


def test_distinct_warnings_are_bounded() -> None:
    chunks = [
        column_chunk(column_meta_data(statistics=Struct({**{i: i for i in range(1, 9)}, 3: -i})))
        for i in range(1, 2000)
    ]
    metadata = parse(file_meta_data(*map(row_group, chunks)))
    assert len(metadata.warnings) <= 100


@pytest.mark.parametrize("field", ["type", "encodings", "path_in_schema", "codec", *REQUIRED_SIZES])
def test_a_required_field_is_missing(field: str) -> None:
    chunk = column_chunk(column_meta_data(**{field: None}))
    error = refuse(file_meta_data(row_group(chunk)))
    assert error.field == f"ColumnMetaData.{field}"
    assert "missing" in error.message


@pytest.mark.parametrize("field", ["version", "schema", "num_rows", "row_groups"])
def test_a_required_field_of_the_file_is_missing(field: str) -> None:
    assert refuse(file_meta_data(**{field: None})).field == f"FileMetaData.{field}"


def test_unknown_fields_are_skipped() -> None:
    later = Struct({1: ListOf(STRUCT, [Struct({5: b"x", 6: True})] * 3), 2: Struct({}), 3: False})
    chunk = Struct({**column_chunk(), 99: later})
    metadata = parse(file_meta_data(row_group(chunk), unknown=later))
    assert metadata.warnings == ()
    assert int(metadata.chunks.num_values[0]) == 100


def test_extension_fields_are_skipped_and_listed() -> None:
    chunk = column_chunk(column_meta_data(extension=b"inner"), extension=b"chunk's")
    footer = file_meta_data(row_group(chunk), row_group(chunk), extension=b"file's")
    metadata = parse(footer)
    assert metadata.warnings == ()
    found = [(e.owner, footer[e.start : e.stop], e.row_group, e.leaf) for e in metadata.extensions]
    assert found == [
        ("ColumnMetaData", b"inner", 0, 0), ("ColumnChunk", b"chunk's", 0, 0),
        ("ColumnMetaData", b"inner", 1, 0), ("ColumnChunk", b"chunk's", 1, 0),
        ("FileMetaData", b"file's", None, None),
    ]  # fmt: skip
    assert isinstance(metadata.extensions[0], Extension)


@pytest.mark.parametrize("field_id", [32767, -16384])
def test_extensions_of_chunks_in_both_spellings(field_id: int) -> None:
    """08 FE FF 03 as thrift writes the id, 08 FF FF 01 as the specification spells it out."""
    meta_data = Struct({**column_meta_data(), field_id: b"more"})
    footer = file_meta_data(*[row_group(column_chunk(meta_data))] * 3)
    assert footer.count(b"\x08\xfe\xff\x03" if field_id > 0 else b"\x08\xff\xff\x01") == 3
    metadata = parse(footer)
    assert [(e.row_group, footer[e.start : e.stop]) for e in metadata.extensions] == [
        (number, b"more") for number in range(3)
    ]
    assert metadata.warnings == ()
    assert metadata.chunks.num_values.tolist() == [100] * 3


def test_num_rows_is_summed_whatever_the_footer_states() -> None:
    metadata = parse(file_meta_data(row_group(), row_group(num_rows=23), num_rows=0))
    assert (metadata.num_rows, metadata.stated_num_rows) == (123, 0)
    assert metadata.row_groups.first_row.tolist() == [0, 100]


def test_rows_that_overflow() -> None:
    most = row_group(num_rows=2**63 - 1)
    assert refuse(file_meta_data(most, most)).field == "RowGroup.num_rows"


def test_a_chunk_in_another_file_is_shown() -> None:
    metadata = parse_chunk(file_path=b"other.parquet")
    assert int(metadata.chunks.present[0]) & Present.FILE_PATH
    assert metadata.raw_chunk(0, 0).file_path == "other.parquet"


def test_unknown_codecs_and_encodings_are_kept() -> None:
    fields = {"codec": i32(77), "encodings": ListOf(I32, [i32(200), i32(0), i32(-4)])}
    metadata = parse_chunk(column_meta_data(**fields))
    assert int(metadata.chunks.codec[0]) == 77
    assert int(metadata.chunks.encodings[0]) == 1 << 31 | 1
    assert metadata.warnings == ()


def test_a_plaintext_footer_with_encrypted_columns() -> None:
    chunk = column_chunk(crypto_metadata=Struct({2: Struct({1: ListOf(BINARY, [b"a"])})}))
    sealed = Struct(
        {k: v for k, v in column_chunk(encrypted_column_metadata=b"zz").items() if k != 3}
    )
    algorithm = Struct({1: Struct({2: b"unique"})})
    footer = file_meta_data(row_group(chunk), row_group(sealed), encryption_algorithm=algorithm)
    metadata = parse(footer)
    assert metadata.encryption_algorithm == "AES_GCM_V1"
    first, second = (Present(int(bits)) for bits in metadata.chunks.present)
    assert Present.CRYPTO_METADATA | Present.META_DATA in first
    assert Present.META_DATA not in second
    assert Present.ENCRYPTED_COLUMN_METADATA in second


def test_a_chunk_of_another_type_than_the_schemas() -> None:
    error = refuse(file_meta_data(row_group(column_chunk(column_meta_data(type=i32(1))))))
    assert error.field == "ColumnMetaData.type"


def test_a_path_of_another_column_is_a_warning() -> None:
    metadata = parse_chunk(column_meta_data(path_in_schema=ListOf(BINARY, [b"b"])))
    assert "path_in_schema names another column" in metadata.warnings[0]


def test_a_row_group_with_too_few_chunks() -> None:
    schema = [root(2), schema_element(b"a"), schema_element(b"b")]
    error = refuse(file_meta_data(row_group(column_chunk()), schema=schema))
    assert error.field == "RowGroup.columns"


def test_fields_in_any_order() -> None:
    right = parse(file_meta_data())
    fields = {1: i32(2), 2: ListOf(STRUCT, [root(1), schema_element(b"a")]), 3: 100,
              4: ListOf(STRUCT, [row_group()])}  # fmt: skip
    backwards = parse(Struct(dict(reversed(fields.items()))).encode())
    assert backwards.num_rows == right.num_rows
    assert [leaf.column for leaf in backwards.leaves] == ["a"]
    assert int(backwards.chunks.num_values[0]) == 100


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ([], "FileMetaData.schema"),
        ([root(2), schema_element(b"a")], "SchemaElement.num_children"),
        ([root(1), schema_element(b"a"), schema_element(b"b")], "FileMetaData.schema"),
        ([root(-1)], "SchemaElement.num_children"),
        ([root(1), schema_element(b"a", type=None)], "SchemaElement.type"),
        ([root(1), schema_element(b"a", type=i32(8))], "SchemaElement.type"),
        ([root(1), schema_element(b"a", repetition_type=None)], "SchemaElement.repetition_type"),
        ([root(1), schema_element(b"a", repetition_type=i32(3))], "SchemaElement.repetition_type"),
        ([root(1), Struct({**schema_element(b"a"), 4: i32(7)})], "SchemaElement.name"),
        ([schema_element(b"schema")], "SchemaElement.num_children"),
    ],
)
def test_schemas_that_are_no_tree(schema: list[Struct], field: str) -> None:
    assert refuse(file_meta_data(schema=schema)).field == field


def test_a_bad_logical_type_is_a_warning() -> None:
    decimal = Struct({5: Struct({1: i32(2)})})  # no precision
    schema = [root(1), schema_element(b"a", logicalType=decimal, converted_type=i32(18))]
    metadata = parse(file_meta_data(schema=schema))
    assert metadata.leaves[0].logical_type is None
    assert metadata.leaves[0].converted_type == "INT_64"
    assert "DecimalType.precision" in metadata.warnings[0]


def test_fixed_bytes_without_a_length_are_a_warning() -> None:
    for fields in ({}, {"type_length": i32(0)}):
        schema = [root(1), schema_element(b"a", type=i32(7), **fields)]
        (warning,) = parse(file_meta_data(schema=schema, row_groups=ListOf(STRUCT, []))).warnings
        assert warning.startswith("SchemaElement.type_length is missing or 0")


def test_a_schema_500_levels_deep() -> None:
    depth = 500
    schema = [root(1), *(group(b"g%d" % i, 1, repetition_type=i32(2)) for i in range(1, depth)),
              schema_element(b"a", repetition_type=i32(1))]  # fmt: skip
    path = ListOf(BINARY, [*(b"g%d" % i for i in range(1, depth)), b"a"])
    chunk = column_chunk(column_meta_data(path_in_schema=path))
    metadata = parse(file_meta_data(row_group(chunk), schema=schema))
    leaf = metadata.leaves[0]
    assert metadata.warnings == ()
    assert len(leaf.path) == depth
    assert (leaf.max_definition_level, leaf.max_repetition_level) == (depth, depth - 1)
    assert "g1" in repr(metadata.schema.children[0])
    with pytest.raises(LimitError, match="schema_depth"):
        parse(file_meta_data(row_group(chunk), schema=schema), limits=Limits(schema_depth=499))


def test_unknown_values_nested_without_end() -> None:
    bomb = Typed(9, Raw(b"\x19" * 10_000))
    error = refuse(file_meta_data(unknown=bomb))
    assert "nested too deep" in error.message


@pytest.mark.parametrize(
    "limits",
    [{"footer_bytes": 50}, {"schema_elements": 1}, {"row_groups": 1}, {"column_chunks": 1}],
)
def test_limits_name_themselves_and_how_to_raise_them(limits: dict[str, int]) -> None:
    (name,) = limits
    with pytest.raises(LimitError, match=f"above the limit {name}") as caught:
        parse(file_meta_data(row_group(), row_group()), limits=Limits(**limits))
    assert f"limits=pqlab.Limits({name}=" in str(caught.value)


def test_many_deep_leaves_would_cost_more_than_their_footer() -> None:
    depth, leaves = 400, 50_000
    schema = [root(1), *(group(b"g", 1) for _ in range(depth - 1)), group(b"g", leaves),
              *([schema_element(b"a")] * leaves)]  # fmt: skip
    footer = file_meta_data(schema=schema, row_groups=ListOf(STRUCT, []))
    with pytest.raises(LimitError, match="paths of the leaves"):
        parse(footer)


def test_every_truncation_is_refused() -> None:
    footer = file_meta_data(
        row_group(column_chunk(column_meta_data(statistics=Struct({3: 5, 5: b"max", 6: b"min"})))),
        key_value_metadata=ListOf(STRUCT, [Struct({1: b"key", 2: b"value"})]),
        created_by=b"test",
    )
    for length in range(len(footer)):
        refuse(footer[:length])
    assert parse(footer).key_value_metadata == [("key", "value")]


def test_bytes_behind_the_footer_do_not_matter() -> None:
    assert parse(file_meta_data() + b"\xff" * 100).num_rows == 100


def test_empty_lists_may_name_any_element_type() -> None:
    fields = {"encodings": ListOf(0, []), "encoding_stats": ListOf(0, [])}
    assert parse_chunk(column_meta_data(**fields)).warnings == ()


def test_a_field_that_repeats() -> None:
    footer = file_meta_data()
    error = refuse(footer[:-1] + footer)
    assert (error.field, error.message) == ("FileMetaData.version", "is there twice")


def test_ten_million_tiny_elements_are_refused_at_once() -> None:
    started = time.monotonic()
    elements = ListOf(STRUCT, [Typed(STRUCT, Raw(b"\0" * 10_000_000))], size=10_000_000)
    with pytest.raises(LimitError, match="schema_elements"):
        parse(file_meta_data(schema=elements))
    assert time.monotonic() - started < 2


def test_numbers_of_every_width_are_kept() -> None:
    numbers = [0, 1, 127, 128, 255, 256, 65535, 65536, 2**31, 2**32 - 1, 2**32, 2**62]
    chunks = [column_chunk(column_meta_data(num_values=n)) for n in numbers]
    table = parse(file_meta_data(*map(row_group, chunks))).chunks
    assert table.num_values.tolist() == numbers
    ordinals = [row_group(ordinal=i16(n)) for n in range(300)]
    groups = parse(file_meta_data(*ordinals, row_group())).row_groups
    assert groups.ordinal.tolist() == [*range(300), -1]
    assert groups.file_offset.tolist() == [-1] * 301
    assert groups.file_offset.strides == (0,)


def test_integer_annotations() -> None:
    signed = Struct({10: Struct({1: i8(16), 2: True})})
    schema = [root(1), schema_element(b"a", logicalType=signed)]
    logical = parse(file_meta_data(schema=schema)).leaves[0].logical_type
    assert logical is not None
    assert (logical.kind, logical.bit_width, logical.is_signed) == ("INTEGER", 16, True)


def test_sorting_columns() -> None:
    column = Struct({1: i32(0), 2: True, 3: False})
    footer = file_meta_data(row_group(sorting_columns=ListOf(STRUCT, [column])), row_group())
    metadata = parse(footer)
    (sorting,) = metadata.sorting_columns(0)
    assert (sorting.column_idx, sorting.descending, sorting.nulls_first) == (0, True, False)
    assert metadata.sorting_columns(1) == ()
    bad = ListOf(BOOL_TRUE, [Typed(I8, Raw(b"\1"))])
    assert "sorting_columns" in parse(file_meta_data(row_group(sorting_columns=bad))).warnings[0]
