"""Results for other libraries: the Arrow PyCapsule interface of selections, files and datasets."""

from __future__ import annotations

import gc
import io
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import pqlab

ROWS = 3_000
TABLE = pa.table(
    {
        "id": np.arange(ROWS),
        "text": [None if i % 7 == 0 else f"a text that is not short {i % 50}" for i in range(ROWS)],
        "list": [None if i % 5 == 0 else list(range(i % 4)) for i in range(ROWS)],
        "struct": [{"a": i, "b": None if i % 3 else str(i)} for i in range(ROWS)],
        "decimal": pa.array(list(range(ROWS)), pa.decimal128(20, 2)),
        "when": pa.array(np.arange(ROWS), pa.timestamp("us", "UTC")),
        "day": pa.array(np.arange(ROWS, dtype=np.int32), pa.date32()),
        "real": np.arange(ROWS) / 3,
        "yes": [None if i % 11 == 0 else i % 2 == 0 for i in range(ROWS)],
    }
)


def parquet(table: pa.Table = TABLE) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=1_000)
    return sink.getvalue()


@pytest.fixture(scope="module")
def file() -> pqlab.ParquetFile:
    return pqlab.open(parquet(), io=pqlab.IOPolicy(window_bytes=1))


def same(ours: pa.Table, expected: pa.Table) -> bool:
    """Equal but for views, and for the offsets of lists, which are of 64 bits."""
    return bool(ours.cast(expected.schema).equals(expected))


def rows_of(query: str, given: object) -> list[Any]:  # noqa: ARG001 - duckdb finds it by name
    relation = duckdb.sql(query)
    assert relation is not None
    return relation.fetchall()


def test_pyarrow_takes_a_selection_part_by_part(file: pqlab.ParquetFile) -> None:
    selection = file.select(["id", "text", "list"], rows=(500, 2_500))
    reader = pa.RecordBatchReader.from_stream(selection)
    assert reader.schema.equals(pa.schema(selection))
    batches = list(reader)
    assert [len(batch) for batch in batches] == [500, 1_000, 500]
    expected = TABLE.select(["id", "text", "list"])[500:2_500]
    assert same(pa.Table.from_batches(batches), expected)
    assert same(pa.table(selection), expected)
    assert same(pa.table(file), TABLE)


def test_a_requested_schema_is_cast_to(file: pqlab.ParquetFile) -> None:
    wanted = pa.schema({"id": pa.int32(), "text": pa.string()})
    table = pa.table(file.select(["id", "text"]), schema=wanted)
    assert table.schema.equals(wanted)
    assert table.equals(TABLE.select(["id", "text"]).cast(wanted))


def test_polars_takes_a_selection(file: pqlab.ParquetFile) -> None:
    assert_frame_equal(pl.DataFrame(file), file.read())
    assert_frame_equal(pl.DataFrame(file.select("text", row_groups=1)), file.read()[1000:2000, 1:2])


def test_duckdb_takes_a_selection(file: pqlab.ParquetFile) -> None:
    sums = rows_of("select sum(id), count(text) from given", file.select(["id", "text"]))
    assert sums == [(ROWS * (ROWS - 1) // 2, ROWS - TABLE["text"].null_count)]
    assert rows_of("select max(id) from given", file) == [(ROWS - 1,)]


def test_pandas_takes_a_selection(file: pqlab.ParquetFile) -> None:
    pd = pytest.importorskip("pandas", "3")
    frame = pd.DataFrame.from_arrow(file.select(["id", "real"]))
    assert frame.equals(TABLE.select(["id", "real"]).to_pandas())


def test_a_dataset_is_a_stream_of_its_files(tmp_path: Path) -> None:
    for number in range(3):
        part = TABLE.select(["id", "text"])[number * 1_000 : (number + 1) * 1_000]
        (tmp_path / f"n={number}").mkdir()
        (tmp_path / f"n={number}" / "a.parquet").write_bytes(parquet(part))
    dataset = pqlab.open([str(path) for path in sorted(tmp_path.rglob("*.parquet"))])
    table = pa.table(dataset)
    assert table.schema.equals(pa.schema(dataset))
    assert table["id"].to_pylist() == list(range(ROWS))
    assert table["n"].to_pylist() == [row // 1_000 for row in range(ROWS)]
    assert_frame_equal(pl.DataFrame(dataset), dataset.read())
    selection = dataset.select("id", files=[0, 2])
    assert rows_of("select count(*) from given", selection) == [(2_000,)]


def test_the_schema_takes_no_page() -> None:
    data = bytearray(parquet())
    data[4:1_000] = bytes(996)
    selection = pqlab.open(bytes(data)).select(["id"])
    assert pa.schema(selection).names == ["id"]
    with pytest.raises(Exception, match="row group 0"):
        pa.table(selection)


def test_a_selection_without_columns_or_rows(file: pqlab.ParquetFile) -> None:
    nothing = pa.table(file.select([]))
    assert nothing.num_columns == 0
    assert file.select([]).to_arrow().num_rows == ROWS
    empty = pa.table(file.select(rows=[]))
    assert (empty.num_rows, empty.column_names) == (0, TABLE.column_names)
    assert empty.schema.equals(pa.schema(file))


@pytest.mark.parametrize("rows", [3, 200_000])  # taken as a whole, and column by column
def test_columns_outlive_their_frame_and_file(rows: int) -> None:
    texts = [f"longer than twelve bytes {i}" for i in range(rows)]
    table = pa.table({"a": np.arange(rows), "b": texts})
    sink = io.BytesIO()
    pq.write_table(table, sink, use_dictionary=False, compression="none")
    frame = pqlab.read(sink.getvalue())
    kept = frame["b"]
    del frame, sink
    gc.collect()
    noise: list[Any] = [np.ones(rows, np.int64) for _ in range(4)]
    assert kept.to_list() == texts
    del noise


def test_batches_are_read_when_asked_for(file: pqlab.ParquetFile) -> None:
    trace = pqlab.Trace()
    reader = pa.RecordBatchReader.from_stream(file)
    with trace:
        first = reader.read_next_batch()
    assert len(first) == 1_000
    del reader
    fetched = trace.to_frame().filter(stage="fetch", reason="pages")["row_group"]
    assert 0 in fetched
    assert 2 not in fetched  # one part ahead
    assert same(pa.Table.from_batches([first]), TABLE[:1_000])
