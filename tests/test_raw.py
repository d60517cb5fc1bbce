"""Raw views against pyarrow, duckdb and thriftpy2's own reader, and against hostile bytes."""

from __future__ import annotations

import io
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from thriftpy2.protocol.compact import TCompactProtocol
from thriftpy2.transport.memory import TMemoryBuffer

from pqlab.errors import CorruptError
from pqlab.footer import raw


def footer_of(data: bytes) -> bytes:
    length = int.from_bytes(data[-8:-4], "little")
    return data[-8 - length : -8]


def thrift_bytes(struct: Any) -> bytes:
    transport = TMemoryBuffer()
    TCompactProtocol(transport).write_struct(struct)
    return bytes(transport.getvalue())


def by_thriftpy2(name: str, data: bytes) -> Any:
    struct = getattr(raw.idl(), name)()
    TCompactProtocol(TMemoryBuffer(data)).read_struct(struct)
    return struct


@pytest.fixture(scope="module")
def written() -> bytes:
    table = pa.table(
        {
            "id": pa.array(range(1000), pa.int64()),
            "name": pa.array([None if i % 7 == 0 else f"name {i % 50}" for i in range(1000)]),
            "price": pa.array([Decimal(i) / 4 for i in range(1000)], pa.decimal128(9, 2)),
            "at": pa.array(range(1000), pa.timestamp("us", tz="UTC")),
            "tags": pa.array([[i, i + 1] for i in range(1000)], pa.list_(pa.int32())),
        }
    )
    sink = io.BytesIO()
    pq.write_table(
        table,
        sink,
        row_group_size=400,
        data_page_size=512,
        write_batch_size=64,
        write_page_index=True,
        write_page_checksum=True,
        compression="zstd",
        sorting_columns=[pq.SortingColumn(0)],
    )
    return sink.getvalue()


def test_file_metadata_says_what_pyarrow_says(written: bytes) -> None:
    plain = raw.to_plain(raw.file_metadata(footer_of(written)))
    expected = pq.read_metadata(io.BytesIO(written))
    assert plain["num_rows"] == expected.num_rows
    assert plain["created_by"] == expected.created_by
    assert len(plain["row_groups"]) == expected.num_row_groups == 3
    for group, row_group in enumerate(plain["row_groups"]):
        assert row_group["num_rows"] == expected.row_group(group).num_rows
        assert row_group["total_byte_size"] == expected.row_group(group).total_byte_size
        assert row_group["sorting_columns"] == [
            {"column_idx": 0, "descending": False, "nulls_first": False}
        ]
        for leaf, chunk in enumerate(row_group["columns"]):
            column, meta = expected.row_group(group).column(leaf), chunk["meta_data"]
            assert ".".join(meta["path_in_schema"]) == column.path_in_schema
            assert meta["type"] == column.physical_type
            assert meta["codec"] == column.compression == "ZSTD"
            assert sorted(set(meta["encodings"])) == sorted(set(column.encodings))
            assert meta["num_values"] == column.num_values
            assert meta["data_page_offset"] == column.data_page_offset
            assert meta["dictionary_page_offset"] == column.dictionary_page_offset
            assert meta["total_compressed_size"] == column.total_compressed_size
            assert meta["statistics"]["null_count"] == column.statistics.null_count


def test_logical_types_are_unions_of_one_entry(written: bytes) -> None:
    elements = raw.to_plain(raw.file_metadata(footer_of(written)))["schema"]
    logical = {e["name"]: e.get("logicalType") for e in elements}
    assert logical["name"] == {"STRING": {}}
    assert logical["price"] == {"DECIMAL": {"scale": 2, "precision": 9}}
    assert logical["at"] == {"TIMESTAMP": {"isAdjustedToUTC": True, "unit": {"MICROS": {}}}}
    assert logical["id"] is None


def test_page_index_says_what_duckdb_says(written: bytes, tmp_path: Path) -> None:
    path = tmp_path / "written.parquet"
    path.write_bytes(written)
    rows = duckdb.execute(
        f"SELECT row_group_id, column_id, page_offset, compressed_page_size, first_row_index, "
        f"null_count, boundary_order FROM parquet_page_index('{path}') "
        f"ORDER BY row_group_id, column_id, page_id"
    ).fetchall()
    ours = []
    for group, row_group in enumerate(raw.file_metadata(footer_of(written)).row_groups):
        for leaf, chunk in enumerate(row_group.columns):
            index = raw.offset_index(written[chunk.offset_index_offset :])
            bounds = raw.to_plain(raw.column_index(written[chunk.column_index_offset :]))
            ours += [
                (
                    group, leaf, location.offset, location.compressed_page_size,
                    location.first_row_index, nulls, bounds["boundary_order"].lower(),
                )
                for location, nulls in zip(
                    index.page_locations, bounds["null_counts"], strict=True
                )
            ]  # fmt: skip
    assert [(*row[:-1], row[-1].lower()) for row in rows] == ours
    assert len(ours) > 30


def test_bloom_filter_header_says_what_duckdb_wrote(tmp_path: Path) -> None:
    path = tmp_path / "bloom.parquet"
    duckdb.sql(f"COPY (SELECT i % 100 AS i FROM range(10000) t(i)) TO '{path}' (FORMAT parquet)")
    query = f"SELECT bloom_filter_offset, bloom_filter_length FROM parquet_metadata('{path}')"
    found = duckdb.execute(query).fetchall()
    offset, length = found[0]
    header, used = raw.bloom_filter_header(path.read_bytes()[offset:])
    assert used + header.numBytes == length
    assert raw.to_plain(header) == {
        "numBytes": header.numBytes,
        "algorithm": {"BLOCK": {}},
        "hash": {"XXHASH": {}},
        "compression": {"UNCOMPRESSED": {}},
    }


def test_footers_of_the_corpus_read_as_thriftpy2_reads_them(
    corpus: Path, manifest: list[dict[str, str]]
) -> None:
    compared = 0
    for row in manifest[::4]:
        data = (corpus / row["file"]).read_bytes()
        if row["corrupt_by_design"] or data[-4:] != b"PAR1":
            continue
        footer = footer_of(data)
        assert raw.file_metadata(footer) == by_thriftpy2("FileMetaData", footer), row["file"]
        compared += 1
    assert compared > 250


def test_numbers_that_an_enum_lacks_stay_numbers() -> None:
    idl = raw.idl()
    header = idl.PageHeader(
        type=9,
        uncompressed_page_size=1,
        compressed_page_size=2,
        data_page_header=idl.DataPageHeader(
            num_values=3, encoding=200, definition_level_encoding=3, repetition_level_encoding=3
        ),
    )
    data = thrift_bytes(header)
    read, used = raw.page_header(data + b"body")
    assert (read, used) == (header, len(data))
    plain = raw.to_plain(read)
    assert plain["type"] == 9
    assert plain["data_page_header"]["encoding"] == 200
    assert plain["data_page_header"]["definition_level_encoding"] == "RLE"
    assert "crc" not in plain


def test_unknown_fields_and_extensions_are_passed_over() -> None:
    header = b"\x15\x00\x15\x02\x15\x04"  # type, uncompressed, compressed
    extension = b"\x08\xfe\xff\x03\x05hello"  # field 32767, a binary
    nested = b"\xfc\x19\x2c\x15\x02\x00\x15\x04\x00\x00"  # a struct with a list of structs
    read, used = raw.page_header(header + nested + extension + b"\x00")
    assert (read.type, read.uncompressed_page_size, read.compressed_page_size) == (0, 1, 2)
    assert used == len(header + nested + extension) + 1


@pytest.mark.parametrize(
    ("data", "field", "offset"),
    [
        (b"", "PageHeader", 0),
        (b"\x15", "PageHeader.type", 1),
        (b"\x15" + b"\xff" * 10 + b"\x01", "PageHeader.type", 11),
        (b"\x15\xfe\xff\xff\xff\xff\x01", "PageHeader.type", 7),
        (b"\x18\x00\x00", "PageHeader.type", 1),
        (b"\x1f\x00", "PageHeader.type", 1),
        (b"\x5c\x5c\x18\x7f", "Statistics.max", 4),
        (b"\x0c\x82\x02" + b"\x1c" * 100, "PageHeader.129", None),
        (b"\x09\x82\x02\xf5\xff\xff\xff\xff\x0f", "PageHeader.129", None),
    ],
)
def test_hostile_bytes_are_corrupt_with_their_place(
    data: bytes, field: str, offset: int | None
) -> None:
    with pytest.raises(CorruptError) as caught:
        raw.read_struct("PageHeader", data, offset=1000)
    assert caught.value.field is not None
    assert caught.value.field.startswith(field)
    assert caught.value.offset is not None
    assert caught.value.offset >= 1000
    if offset is not None:
        assert caught.value.offset == 1000 + offset


def test_a_list_of_another_type_is_corrupt() -> None:
    # OffsetIndex.page_locations as a list of i32.
    with pytest.raises(CorruptError, match="another type") as caught:
        raw.offset_index(b"\x19\x15\x02\x00")
    assert caught.value.field == "OffsetIndex.page_locations"


def test_no_mutation_ends_in_anything_but_a_corrupt_error(written: bytes) -> None:
    footer = footer_of(written)
    rng = random.Random(20)
    refused = 0
    for _ in range(1500):
        data = bytearray(footer[: rng.randrange(1, len(footer) + 1)])
        for _ in range(rng.randrange(4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            raw.to_plain(raw.file_metadata(data))
        except CorruptError:
            refused += 1
    assert refused > 1000
