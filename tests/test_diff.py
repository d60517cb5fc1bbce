"""What two files, datasets and traces have differently, against what pyarrow says of both."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import runner

import pqlab

ROWS = 500


def table(**changed: Any) -> pa.Table:
    columns = {
        "id": pa.array(range(ROWS), pa.int64()),
        "price": pa.array([n / 7 if n % 5 else None for n in range(ROWS)]),
        "name": pa.array([f"name {n % 9}" for n in range(ROWS)]),
        "tags": pa.array([[n % 3] * (n % 4) for n in range(ROWS)], pa.list_(pa.int32())),
    }
    return pa.table({**columns, **changed})


def written(data: pa.Table, **settings: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(data, sink, **settings)
    return sink.getvalue()


def diff(left: bytes, right: bytes, **options: Any) -> pl.DataFrame:
    return pqlab.open(left).diff(pqlab.open(right), **options)


def rows(frame: pl.DataFrame, part: str, *cells: str) -> list[tuple[Any, ...]]:
    return frame.filter(pl.col("part") == part).select(cells).rows()


def test_a_file_does_not_differ_from_a_copy_of_it() -> None:
    data = written(table(), row_group_size=100)
    assert diff(data, bytes(data), values=True).is_empty()


def test_sizes_codecs_and_encodings_are_those_that_pyarrow_reads() -> None:
    data = [written(table()), written(table(), compression="zstd", use_dictionary=["name"])]
    metadata = [pq.read_metadata(io.BytesIO(one)) for one in data]
    found = diff(*data)
    chunk = [one.row_group(0).column(0) for one in metadata]
    [size] = found.filter(
        part="sizes", row_group=0, column="id", property="total_compressed_size"
    ).iter_rows(named=True)
    sizes = [one.total_compressed_size for one in chunk]
    assert [size["left"], size["right"]] == [str(one) for one in sizes]
    assert size["change"] == sizes[1] - sizes[0]
    assert size["ratio"] == pytest.approx(sizes[1] / sizes[0])
    codecs = found.filter(part="encodings", property="codec")
    assert set(codecs.select("left", "right").rows()) == {("SNAPPY", "ZSTD")}
    encodings = found.filter(part="encodings", property="encodings")
    assert "id" in encodings["column"].to_list()
    assert "name" not in encodings["column"].to_list()
    footers = found.filter(part="metadata", property="footer_bytes")
    assert footers.is_empty() or footers["left"][0] == str(metadata[0].serialized_size)


def test_columns_and_row_groups_of_one_side_are_said_once() -> None:
    left = written(table().drop_columns(["price"]), row_group_size=200)
    right = written(table().drop_columns(["name"]))
    found = diff(left, right)
    assert set(rows(found, "columns", "column", "left", "right")) == {
        ("name", "BYTE_ARRAY", None),
        ("price", None, "DOUBLE"),
    }
    assert set(rows(found, "row groups", "row_group", "left", "right")) == {
        (0, "200", "500"),
        (1, "200", None),
        (2, "100", None),
    }
    others = found.filter(~pl.col("part").is_in(["columns", "row groups"]))
    assert not others["column"].is_in(["name", "price"]).any()
    assert others["row_group"].drop_nulls().unique().to_list() == [0]


def test_types_keys_and_bounds() -> None:
    left = table().replace_schema_metadata({"owner": "a", "same": "x"})
    right = table(id=pa.array(range(1, ROWS + 1), pa.int32()))
    right = right.replace_schema_metadata({"owner": "b", "same": "x"})
    found = diff(written(left), written(right))
    assert ("key owner", "a", "b") in rows(found, "metadata", "property", "left", "right")
    assert rows(found, "columns", "column", "left", "right") == [("id", "INT64", "INT32")]
    bounds = found.filter(part="statistics", column="id", row_group=0)
    assert bounds.select("property", "left", "right").rows() == [
        ("min", "0", "1"),
        ("max", "499", "500"),
    ]


def test_long_bounds_that_read_alike_are_told_apart() -> None:
    names = [["x" * 100 + end] * ROWS for end in "ab"]
    data = [written(table(name=pa.array(one))) for one in names]
    found = diff(*data).filter(part="statistics", column="name")
    assert found["property"].to_list() == ["min", "max"]


def test_values_show_the_first_rows_that_differ_and_count_the_rest() -> None:
    ids = list(range(ROWS))
    for row in range(100, 130):
        ids[row] = -row
    tags = table()["tags"].to_pylist()
    tags[7] = None
    changed = table(id=pa.array(ids), tags=pa.array(tags, pa.list_(pa.int32())))
    found = diff(written(table()), written(changed, row_group_size=64), values=True, max_rows=3)
    assert rows(found, "values", "column", "property", "row", "left", "right", "change") == [
        ("id", "value", 100, "100", "-100", None),
        ("id", "value", 101, "101", "-101", None),
        ("id", "value", 102, "102", "-102", None),
        ("id", "differing rows", None, None, None, 30.0),
        ("tags", "value", 7, "[1, 1, 1]", None, None),
        ("tags", "differing rows", None, None, None, 1.0),
    ]


def test_nulls_and_nans_are_equal_and_other_types_are_said() -> None:
    price = pa.array([None, float("nan"), 1.0] * 100)
    data = written(table().slice(0, 300).set_column(1, "price", price))
    again = written(table().slice(0, 300).set_column(1, "price", price), compression="none")
    assert diff(data, again, values=True).filter(part="values").is_empty()
    texts = table().set_column(0, "id", pa.array([str(n) for n in range(ROWS)]))
    found = diff(written(table()), written(texts), values=True)
    assert rows(found, "values", "column", "property", "left", "right") == [
        ("id", "type", "Int64", "String")
    ]


def test_a_column_that_does_not_decode_is_a_row_and_the_others_go_on() -> None:
    data = bytearray(written(table(), compression="none", use_dictionary=False))
    chunk = pq.read_metadata(io.BytesIO(data)).row_group(0).column(0)
    data[chunk.data_page_offset] = 0xFF
    found = diff(written(table()), bytes(data), values=True)
    assert [row[:2] for row in rows(found, "values", "column", "property")] == [("id", "unread")]


def test_datasets_match_files_by_their_path_below_the_folder(tmp_path: Path) -> None:
    for side in ("left", "right"):
        for day in (1, 2):
            folder = tmp_path / side / f"day={day}"
            folder.mkdir(parents=True)
            changed = side == "right" and day == 2
            pq.write_table(table().slice(0, 400 if changed else ROWS), folder / "a.parquet")
    pq.write_table(table(), tmp_path / "right" / "day=1" / "b.parquet")
    left, right = (pqlab.Dataset(tmp_path / side) for side in ("left", "right"))
    assert left.diff(left, values=True).is_empty()
    found = left.diff(right)
    assert rows(found, "files", "file", "left", "right") == [("day=1/b.parquet", None, "1")]
    counts = found.filter(part="metadata", property="num_rows").select("file", "left", "right")
    assert counts.rows() == [
        (None, "1000", "1400"),
        ("day=2/a.parquet", "500", "400"),
    ]
    only = left.diff(pqlab.Dataset(tmp_path / "left"), values=True)
    assert only.is_empty()


def test_traces_differ_by_what_was_read() -> None:
    data = written(table(), row_group_size=100)
    traces = []
    for row_groups in (None, [0, 1]):
        trace = pqlab.Trace()
        pqlab.open(data).read(["id", "name"], row_groups=row_groups, trace=trace)
        traces.append(trace)
    found = traces[0].diff(traces[1])
    work = {row[:2]: row[2:] for row in rows(found, "work", "column", "property", "left", "right")}
    assert work["id", "values"] == ("1000", "400")  # of dictionary and data pages
    assert work["name", "pages"] == ("10", "4")
    times = found.filter(part="time", property="total_ns", column="id")
    assert times["change"].item() == pytest.approx(
        float(times["right"].item()) - float(times["left"].item())
    )


def test_the_shell_ends_with_1_where_files_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runner(capsys)
    paths = [tmp_path / f"{name}.parquet" for name in "abc"]
    for path, data in zip(paths, (table(), table(), table().slice(0, 9)), strict=True):
        pq.write_table(data, path)
    assert run("diff", *paths[:2], "--values").code == 0
    result = run("diff", paths[0], paths[2], "--json")
    assert result.code == 1
    assert {"metadata", "row groups"} <= {row["part"] for row in result.rows()}
    assert run("diff", paths[0]).code == 2
