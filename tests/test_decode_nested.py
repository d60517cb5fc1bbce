"""Nested columns: a generated matrix of types, pages and selections equals pyarrow."""

from __future__ import annotations

import io
import itertools
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from decoding import chunk_range, metadata_of, read_frame, read_table
from dremel import (
    LIST,
    Node,
    records_file,
)
from edited_footers import written
from nested_values import combined, difference
from random_tables import nested_table

import pqlab

SEED = 20_240_604
ROWS = 400


def assert_same(got: pa.Table, expected: pa.Table) -> None:
    got.validate(full=True)
    assert got.column_names == expected.column_names
    assert got.num_rows == expected.num_rows
    for name in expected.column_names:
        assert difference(combined(got[name]), combined(expected[name])) is None, name


OPTIONS = list(
    itertools.product(("1.0", "2.0"), (30, 1_000, 1 << 20), (False, True), (False, True))
)


@pytest.mark.parametrize("seed", range(SEED, SEED + 12))
def test_random_schemas(seed: int) -> None:
    table = nested_table(seed, 6, ROWS)
    picked = 0
    codecs = itertools.cycle(("none", "snappy", "zstd", "gzip", "lz4", "brotli"))
    for number, (version, page_size, dictionary, index) in enumerate(OPTIONS):
        if (number + seed) % 3:
            continue
        data = written(
            table,
            data_page_version=version,
            data_page_size=page_size,
            use_dictionary=dictionary,
            write_page_index=index,
            compression=next(codecs),
            write_batch_size=7 if page_size == 30 else 64,
            row_group_size=170,
            store_schema=False,
        )
        expected = pq.read_table(io.BytesIO(data))
        assert_same(read_table(data, workers=1 + number % 2), expected)
        with pqlab.open(data) as file:
            whole = file.read()
            assert file.select().to_arrow().num_rows == ROWS
            rng = np.random.default_rng(seed)
            for _ in range(4):
                start, stop = sorted(rng.integers(0, ROWS + 1, 2).tolist())
                ranges = [(start, stop), (min(stop + 5, ROWS), min(stop + 6, ROWS))]
                parts = pl.concat([whole[a:b] for a, b in ranges])
                assert file.read(rows=ranges).equals(parts), (seed, ranges)
            assert file.read(row_groups=[0, 2]).equals(pl.concat([whole[:170], whole[340:]]))
            for leaf in range(file.metadata.num_leaves):
                file.read([leaf], pages={(0, leaf): 0})  # learns where the pages' rows are
                pages = file.pages(row_groups=0, columns=leaf)
                middle = pages.drop_nulls(["first_row", "num_rows"])
                if middle.is_empty():
                    assert pages["page"].max() == 0  # all rows are in it
                    continue
                page = middle.row(middle.height // 2, named=True)
                stop = page["first_row"] + page["num_rows"]
                got = file.read([leaf], pages={(0, leaf): page["page"]})
                assert got.equals(file.read([leaf])[page["first_row"] : stop])
                picked += 1
    assert picked > 10


def test_rows_span_v1_pages() -> None:
    rows = [[list(range(at, at + 50)), None, []] for at in range(40)]
    table = pa.table({"x": pa.array(rows, pa.list_(pa.list_(pa.int64())))})
    data = records_file(
        Node("optional group x", [
            Node("repeated group list", [
                Node("optional group element", [Node("repeated int32 array")], LIST),
            ]),
        ], LIST),
        [
            {"list": [
                {"element": None if part is None else {"array": part}} for part in row
            ]} for row in rows
        ],
        page_entries=7,
    )  # fmt: skip
    assert read_table(data).to_pydict() == table.to_pydict()
    with pqlab.open(data) as file:
        assert file.select(rows=(3, 9)).plan().unresolved_chunks == 1
        for start, stop in [(0, 1), (3, 9), (39, 40), (10, 10)]:
            assert file.read(rows=(start, stop))["x"].to_list() == rows[start:stop]


def test_frames_equal_those_of_polars() -> None:
    table = nested_table(SEED + 50, 6, ROWS)
    maps = [f.name for f in table.schema if "map" in str(f.type)]
    table = table.drop_columns(maps)
    data = written(table, data_page_size=500, store_schema=False)
    ours, theirs = read_frame(data), pl.read_parquet(io.BytesIO(data), use_pyarrow=True)
    assert ours.columns == theirs.columns
    for name in ours.columns:
        assert ours[name].to_list() == theirs[name].to_list(), name


def test_null_and_empty_are_told_apart() -> None:
    rows: list[Any] = [None, [], [None], [[]], [[None]], [[1], None, []], None]
    table = pa.table({"x": pa.array(rows, pa.list_(pa.list_(pa.int32())))})
    for version in ("1.0", "2.0"):
        data = written(table, data_page_version=version, data_page_size=1, write_batch_size=1)
        assert read_table(data)["x"].to_pylist() == rows
        assert read_frame(data)["x"].to_list() == rows
    structs = [None, {"a": None}, {"a": {"b": None}}, {"a": {"b": 1}}]
    kind = pa.struct([("a", pa.struct([("b", pa.int8())]))])
    data = written(pa.table({"x": pa.array(structs, kind)}))
    assert read_table(data)["x"].to_pylist() == structs


def test_no_rows_and_no_values() -> None:
    kind = pa.list_(pa.struct([("a", pa.string()), ("b", pa.list_(pa.bool_()))]))
    cases: list[list[Any]] = [[], [None], [[]] * 3]
    for rows in cases:
        data = written(pa.table({"x": pa.array(rows, kind)}))
        assert read_table(data).to_pydict() == {"x": rows}
        assert read_frame(data)["x"].to_list() == rows


def test_a_hundred_lists_deep() -> None:
    value: Any = [1, None]
    kind: pa.DataType = pa.list_(pa.int64())
    for _ in range(99):
        value, kind = [value, []], pa.list_(kind)
    table = pa.table({"x": pa.array([value, None, []], kind)})
    data = written(table)
    assert read_frame(data)["x"].to_list() == table["x"].to_pylist()
    with pytest.raises(pqlab.UnsupportedError, match="pyarrow does not take"):
        read_table(data)


def test_a_part_of_a_column() -> None:
    entry = {"a": {"b": 1, "c": [{"d": "x", "e": None}, {"d": None, "e": 2.5}]}, "f": None}
    table = pa.table({"n": [[entry, None], [], None], "flat": [1, 2, 3]})
    data = written(table)
    with pqlab.open(data) as file:
        for columns in (
            ["n.list.element.a.b"],
            ["n.list.element.a.c"],
            ["n.list.element.a.c.list.element.e", "flat"],
            ["n.list.element.f", "n.list.element.a.c.list.element.d"],
        ):
            expected = pq.ParquetFile(io.BytesIO(data)).read(columns=columns)
            got = file.select(columns).to_arrow().select(expected.column_names)
            assert_same(got, expected)
            assert file.read(columns)["n"].to_list() == expected["n"].to_pylist()
    maps = pa.table({"m": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64()))})
    with pqlab.open(written(maps)) as file:
        value = file.read(["m.key_value.value"])["m"]
        assert value.to_list() == [[{"value": 1}], None, []]
        assert file.read()["m"].dtype == pl.List(pl.Struct({"key": pl.String, "value": pl.Int64}))


def test_duplicate_keys_of_a_map_stay() -> None:
    pairs = [("a", 1), ("a", 2), ("b", None)]
    data = written(pa.table({"m": pa.array([pairs], pa.map_(pa.string(), pa.int32()))}))
    assert read_table(data)["m"].to_pylist() == [[{"key": k, "value": v} for k, v in pairs]]


def test_the_estimate_holds_for_lists() -> None:
    table = nested_table(SEED + 99, 6, 3_000)
    with pqlab.open(written(table, data_page_size=10_000)) as file:
        plan = file.select().plan()
        taken = file.select().to_arrow().nbytes
    assert plan.memory_low_bytes <= taken * 1.1
    assert plan.memory_high_bytes >= taken * 0.9


def test_columns_of_one_name_are_told_apart() -> None:
    column = pa.array([{"a": 1}])
    data = written(pa.Table.from_arrays([column, column], names=["x", "x"]))
    assert metadata_of(data).num_leaves == 2
    assert chunk_range(metadata_of(data), 0, 1)[0] > 4
    table = read_table(data)
    assert table.column_names == ["x", "x"]
    with pqlab.open(data) as file, pytest.raises(pqlab.SelectionError, match="two columns 'x'"):
        file.read()


@pytest.mark.parametrize("dictionary", [False, True])
def test_a_page_that_fails_is_the_one_that_is_named(*, dictionary: bool) -> None:
    """Whichever it is, the pages behind it wait for it, and end."""
    rows = 2_000
    table = pa.table({"l": pa.array([[f"word {at % 50}", None] for at in range(rows)])})
    sink = io.BytesIO()
    pq.write_table(
        table, sink, use_dictionary=dictionary, data_page_size=100, write_batch_size=40,
        row_group_size=rows // 2, write_page_checksum=True,
    )  # fmt: skip
    data = sink.getvalue()
    pages = pqlab.open(data).pages().filter(pl.col("total_bytes") > 0)
    assert len(pages) >= 20
    columns = ("row_group", "page", "offset", "total_bytes")
    for row_group, page, offset, total_bytes in pages.select(columns).sample(12, seed=SEED).rows():
        wrong = bytearray(data)
        wrong[offset + total_bytes - 1] ^= 0xFF
        with pytest.raises(pqlab.CorruptError, match="CRC-32 is 0x") as caught:
            pqlab.open(bytes(wrong), verify_checksums=True).read(workers=2)
        assert (caught.value.row_group, caught.value.page) == (row_group, page)
