"""Footers for tests: cut out of files, and written field by field, right or wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

BOOL_TRUE, BOOL_FALSE, I8, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)


def footer_of(path: Path) -> tuple[bytes, int] | None:
    """The footer's thrift bytes and their offset; None if the file has no plaintext footer."""
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    if len(content) < 12 or content[-4:] != b"PAR1" or length + 8 > len(content):
        return None
    start = len(content) - 8 - length
    return content[start:-8], start


def same_arrays(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    """Whether two `FileMetaData.arrays()` are the same to the byte."""
    return one.keys() == other.keys() and all(
        array.dtype == other[name].dtype and np.array_equal(array, other[name])
        for name, array in one.items()
    )


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


def zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


class Raw(bytes):
    """Bytes that stand for themselves: a value that no encoder would write."""


class Typed:
    """A value with another thrift type than the one Python's type stands for."""

    def __init__(self, kind: int, value: Any) -> None:
        self.kind = kind
        self.value = value


class ListOf(list[Any]):
    """A list whose header names this element type; `size` overrides the length it states."""

    def __init__(self, element: int, values: Any, size: int | None = None) -> None:
        super().__init__(values)
        self.element = element
        self.size = len(self) if size is None else size


class Struct(dict[int, Any]):
    """Fields by id: int (i64), `i32(...)` and its kin, bytes, bool, ListOf, Struct."""

    def encode(self) -> bytes:
        parts = []
        for field_id, value in self.items():
            kind, encoded = _encode(value)
            # Always the long form: a delta of 0, then the id.
            parts.append(bytes([kind]) + zigzag(field_id) + encoded)
        return b"".join(parts) + b"\0"


def i8(value: int) -> Typed:
    return Typed(I8, Raw(bytes([value & 255])))


def i16(value: int) -> Typed:
    return Typed(I16, value)


def i32(value: int) -> Typed:
    return Typed(I32, value)


def _encode(value: Any) -> tuple[int, bytes]:
    if isinstance(value, Typed):
        return value.kind, _encode(value.value)[1]
    if isinstance(value, bool):
        return (BOOL_TRUE if value else BOOL_FALSE), b""
    if isinstance(value, int):
        return I64, zigzag(value)
    if isinstance(value, Raw):
        return I64, bytes(value)
    if isinstance(value, bytes):
        return BINARY, varint(len(value)) + value
    if isinstance(value, ListOf):
        header = bytes([0xF0 | value.element]) + varint(value.size)
        return LIST, header + b"".join(_encode(item)[1] for item in value)
    assert isinstance(value, Struct), value
    return STRUCT, value.encode()


def schema_element(name: bytes, **fields: Any) -> Struct:
    """A SchemaElement; by default a REQUIRED INT64 leaf. A field given as None is left out."""
    ids = {
        "type": 1, "type_length": 2, "repetition_type": 3, "name": 4, "num_children": 5,
        "converted_type": 6, "scale": 7, "precision": 8, "field_id": 9, "logicalType": 10,
    }  # fmt: skip
    values: dict[str, Any] = {"type": i32(2), "repetition_type": i32(0), "name": name, **fields}
    return Struct({ids[key]: value for key, value in values.items() if value is not None})


def group(name: bytes, num_children: int, **fields: Any) -> Struct:
    return schema_element(name, type=None, num_children=i32(num_children), **fields)


def root(num_children: int) -> Struct:
    return group(b"schema", num_children, repetition_type=None)


def column_meta_data(**fields: Any) -> Struct:
    """A ColumnMetaData of an INT64 column `a` of 100 values. A field given as None is left out."""
    ids = {
        "type": 1, "encodings": 2, "path_in_schema": 3, "codec": 4, "num_values": 5,
        "total_uncompressed_size": 6, "total_compressed_size": 7, "key_value_metadata": 8,
        "data_page_offset": 9, "index_page_offset": 10, "dictionary_page_offset": 11,
        "statistics": 12, "encoding_stats": 13, "bloom_filter_offset": 14,
        "bloom_filter_length": 15, "size_statistics": 16, "geospatial_statistics": 17,
        "extension": 32767,
    }  # fmt: skip
    values: dict[str, Any] = {
        "type": i32(2), "encodings": ListOf(I32, [i32(0), i32(3)]),
        "path_in_schema": ListOf(BINARY, [b"a"]), "codec": i32(1), "num_values": 100,
        "total_uncompressed_size": 900, "total_compressed_size": 500, "data_page_offset": 4,
        **fields,
    }  # fmt: skip
    return Struct({ids[key]: value for key, value in values.items() if value is not None})


def column_chunk(meta_data: Struct | None = None, **fields: Any) -> Struct:
    ids = {
        "file_path": 1, "file_offset": 2, "meta_data": 3, "offset_index_offset": 4,
        "offset_index_length": 5, "column_index_offset": 6, "column_index_length": 7,
        "crypto_metadata": 8, "encrypted_column_metadata": 9, "extension": 32767,
    }  # fmt: skip
    values = {"file_offset": 0, "meta_data": meta_data or column_meta_data(), **fields}
    return Struct({ids[key]: value for key, value in values.items() if value is not None})


def row_group(*chunks: Struct, **fields: Any) -> Struct:
    ids = {
        "columns": 1, "total_byte_size": 2, "num_rows": 3, "sorting_columns": 4, "file_offset": 5,
        "total_compressed_size": 6, "ordinal": 7,
    }  # fmt: skip
    columns = ListOf(STRUCT, chunks or [column_chunk()])
    values: dict[str, Any] = {
        "columns": columns, "total_byte_size": 900, "num_rows": 100, **fields,
    }  # fmt: skip
    return Struct({ids[key]: value for key, value in values.items() if value is not None})


def file_meta_data(*row_groups: Struct, **fields: Any) -> bytes:
    """The bytes of a FileMetaData; by default of one INT64 column `a` and one row group."""
    ids = {
        "version": 1, "schema": 2, "num_rows": 3, "row_groups": 4, "key_value_metadata": 5,
        "created_by": 6, "column_orders": 7, "encryption_algorithm": 8,
        "footer_signing_key_metadata": 9, "unknown": 100, "extension": 32767,
    }  # fmt: skip
    groups = list(row_groups) or [row_group()]
    values: dict[str, Any] = {
        "version": i32(2), "schema": [root(1), schema_element(b"a")],
        "num_rows": 100 * len(groups), "row_groups": ListOf(STRUCT, groups), **fields,
    }  # fmt: skip
    if type(values["schema"]) is list:
        values["schema"] = ListOf(STRUCT, values["schema"])
    return Struct({ids[key]: value for key, value in values.items() if value is not None}).encode()
