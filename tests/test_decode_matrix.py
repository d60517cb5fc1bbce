"""A generated matrix of flat columns equals pyarrow: types, nulls, encodings, pages, codecs."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from decoding import Ranges, read_columns, read_frame, read_table, to_series

SEED = 20_240_602
ROWS = 3_001
EPOCH = dt.datetime(2001, 1, 1, tzinfo=dt.UTC).replace(tzinfo=None)


def values_of(rng: np.random.Generator, rows: int) -> dict[str, tuple[pa.DataType, list[Any]]]:
    """Values of every flat type, few enough distinct ones that dictionaries are used."""
    pick = rng.integers(0, 200, rows)
    wide = rng.integers(-(2**63), 2**63, 200, np.int64)
    words = ["", "a", "twelve bytes", "thirteen byte", "ünïcödé €uro 𝄞", "x" * 300]
    names = [f"{words[i % len(words)]}{i}" if i % 7 else words[i % len(words)] for i in range(200)]
    blobs = [rng.bytes(int(size)) for size in rng.integers(0, 40, 200)]
    times = [int(value) for value in rng.integers(0, 86_400_000, 200)]

    def each(make: Any) -> list[Any]:
        distinct = [make(i) for i in range(200)]
        return [distinct[i] for i in pick]

    return {
        "bool": (pa.bool_(), each(lambda i: i % 3 == 0)),
        "int8": (pa.int8(), each(lambda i: i - 100)),
        "uint8": (pa.uint8(), each(lambda i: i + 56)),
        "int16": (pa.int16(), each(lambda i: i * 300 - 30_000)),
        "uint16": (pa.uint16(), each(lambda i: i * 329)),
        "int32": (pa.int32(), each(lambda i: i * 21_000_000 - 2_100_000_000)),
        "uint32": (pa.uint32(), each(lambda i: i * 21_000_000)),
        "int64": (pa.int64(), each(lambda i: int(wide[i]))),
        "uint64": (pa.uint64(), each(lambda i: int(wide[i]) & (2**64 - 1))),
        "float16": (pa.float16(), each(lambda i: float(np.float16(i / 7)))),
        "float32": (pa.float32(), each(lambda i: float(np.float32(i / 7)))),
        "float64": (pa.float64(), each(lambda i: i / 7)),
        "date": (pa.date32(), each(lambda i: dt.date(1900, 1, 1) + dt.timedelta(days=i * 300))),
        "time_ms": (pa.time32("ms"), each(lambda i: times[i])),
        "time_us": (pa.time64("us"), each(lambda i: times[i] * 1_000 + 1)),
        "time_ns": (pa.time64("ns"), each(lambda i: times[i] * 1_000_000 + 1)),
        "timestamp_ms": (pa.timestamp("ms"), each(lambda i: EPOCH + dt.timedelta(hours=i))),
        "timestamp_us": (pa.timestamp("us", "UTC"), each(lambda i: EPOCH + dt.timedelta(i))),
        "timestamp_ns": (pa.timestamp("ns"), each(lambda i: int(wide[i]))),
        "decimal_small": (
            pa.decimal128(7, 2),
            each(lambda i: Decimal(i * 40_000 - 4_000_000) / 100),
        ),
        "decimal_mid": (pa.decimal128(17, 3), each(lambda i: Decimal(int(wide[i]) // 100) / 1000)),
        "decimal_big": (pa.decimal128(38, 5), each(lambda i: Decimal(int(wide[i])) * 10**13)),
        "string": (pa.string(), each(lambda i: names[i])),
        "binary": (pa.binary(), each(lambda i: blobs[i])),
        "fixed": (pa.binary(5), each(lambda i: i.to_bytes(5, "little"))),
        "uuid_like": (pa.binary(16), each(lambda i: i.to_bytes(16, "big"))),
        "nothing": (pa.null(), [None] * rows),
    }


def with_nulls(rng: np.random.Generator, values: list[Any], share: float) -> list[Any]:
    """Nulls in runs and singly, so that levels have runs of both kinds."""
    null = rng.random(len(values)) < share
    null[len(values) // 3 : len(values) // 2] = share > 0
    return [None if missing else value for value, missing in zip(values, null, strict=True)]


def make_table(rows: int = ROWS, seed: int = SEED) -> pa.Table:
    rng = np.random.default_rng(seed)
    fields, arrays = [], []
    for name, (data_type, values) in values_of(rng, rows).items():
        for share in (None, 0.0, 0.3, 1.0):
            if data_type == pa.null() and share is None:
                continue
            given = values if share is None else with_nulls(rng, values, share)
            fields.append(pa.field(f"{name}_{share}", data_type, nullable=share is not None))
            arrays.append(pa.array(given, data_type))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def write(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, store_schema=False, **options)
    return sink.getvalue()


def comparable(array: pa.ChunkedArray, to: pa.DataType) -> pa.ChunkedArray:
    if array.type in (pa.string_view(), pa.binary_view()):
        array = array.cast(pa.binary() if array.type == pa.binary_view() else pa.string())
    return array.cast(to)


def assert_equal(got: pa.Table, expected: pa.Table) -> None:
    assert got.column_names == expected.column_names
    got.validate(full=True)
    for name in expected.column_names:
        theirs = expected[name]
        ours = comparable(got[name], theirs.type)
        assert ours.null_count == theirs.null_count, name
        assert ours.combine_chunks().equals(theirs.combine_chunks()), name


TABLE = make_table()


@pytest.mark.parametrize("page_size", [300, 5_000, 1 << 20])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_every_type(dictionary: bool, version: str, page_size: int) -> None:
    data = write(
        TABLE,
        use_dictionary=dictionary,
        data_page_version=version,
        data_page_size=page_size,
        compression="zstd" if page_size > 300 else "none",
        write_batch_size=97,
        row_group_size=1_300,
    )
    expected = pq.read_table(io.BytesIO(data))
    for workers in (1, 3):
        assert_equal(read_table(data, workers=workers), expected)


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_every_codec(dictionary: bool, version: str, codec: str) -> None:
    names = [name for name in TABLE.column_names if name.endswith(("None", "0.3"))]
    data = write(
        TABLE.select(names),
        use_dictionary=dictionary,
        data_page_version=version,
        data_page_size=4_000,
        compression=codec,
        write_page_checksum=True,
    )
    expected = pq.read_table(io.BytesIO(data))
    assert_equal(read_table(data, verify_checksums=True), expected)


@pytest.mark.parametrize("page_size", [300, 1 << 20])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy"])
def test_byte_streams(codec: str, version: str, page_size: int) -> None:
    variable = ("bool", "string", "binary", "nothing", "decimal_big")
    names = [name for name in TABLE.column_names if not name.startswith(variable)]
    data = write(
        TABLE.select(names),
        use_dictionary=False,
        use_byte_stream_split=names,
        store_decimal_as_integer=True,
        data_page_version=version,
        data_page_size=page_size,
        write_batch_size=97,
        compression=codec,
    )
    metadata = pq.read_metadata(io.BytesIO(data))
    encodings = [metadata.row_group(0).column(at).encodings for at in range(len(names))]
    assert all("BYTE_STREAM_SPLIT" in found for found in encodings)
    assert_equal(read_table(data, workers=2), pq.read_table(io.BytesIO(data)))


DELTAS = {
    "DELTA_BINARY_PACKED": ("int", "uint", "date", "time", "decimal_small", "decimal_mid"),
    "DELTA_LENGTH_BYTE_ARRAY": ("string", "binary"),
    "DELTA_BYTE_ARRAY": ("string", "binary", "fixed", "uuid_like", "float16", "decimal_big"),
}


@pytest.mark.parametrize("page_size", [300, 1 << 20])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
@pytest.mark.parametrize("encoding", DELTAS)
def test_deltas(encoding: str, codec: str, version: str, page_size: int) -> None:
    names = [name for name in TABLE.column_names if name.startswith(DELTAS[encoding])]
    data = write(
        TABLE.select(names),
        use_dictionary=False,
        column_encoding=dict.fromkeys(names, encoding),
        store_decimal_as_integer=True,
        data_page_version=version,
        data_page_size=page_size,
        write_batch_size=97,
        row_group_size=1_300,
        compression=codec,
    )
    metadata = pq.read_metadata(io.BytesIO(data))
    encodings = [metadata.row_group(0).column(at).encodings for at in range(len(names))]
    assert all(encoding in found for found in encodings)
    expected = pq.read_table(io.BytesIO(data))
    for workers in (1, 3):
        assert_equal(read_table(data, workers=workers), expected)


def test_any_rows_of_deltas() -> None:
    names = [name for name in TABLE.column_names if name.endswith(("None", "0.3"))]
    names = [name for name in names if name.startswith(("int64", "string", "uuid_like"))]
    encodings = {
        name: "DELTA_BINARY_PACKED" if name.startswith("int") else "DELTA_BYTE_ARRAY"
        for name in names
    }
    data = write(
        TABLE.select(names),
        use_dictionary=False,
        column_encoding=encodings,
        data_page_size=900,
        write_batch_size=70,
        row_group_size=1_300,
    )
    rng = np.random.default_rng(SEED)
    for _ in range(10):
        rows: dict[int, Ranges] = {}
        taken: list[int] = []
        for group, count in enumerate([1_300, 1_300, 401]):
            borders = sorted(rng.choice(count + 1, 4, replace=False).tolist())
            rows[group] = [(borders[0], borders[1]), (borders[2], borders[3])]
            taken += [1_300 * group + row for a, b in rows[group] for row in range(a, b)]
        for column in read_columns(data, rows=rows, workers=2):
            expected = TABLE[column.leaf.name].take(taken)
            assert to_series(column).to_list() == expected.to_pylist()


def test_frames_hold_the_same_values() -> None:
    data = write(TABLE, data_page_size=2_000)
    frame = read_frame(data)
    assert frame.shape == (ROWS, TABLE.num_columns)
    for name in TABLE.column_names:
        if name.startswith(("timestamp", "time_", "nothing")):
            ours = frame[name].to_arrow()
            assert ours.cast(TABLE[name].type).to_pylist() == TABLE[name].to_pylist()
        else:
            assert frame[name].to_list() == TABLE[name].to_pylist(), name
