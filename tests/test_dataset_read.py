"""Datasets against polars, pyarrow and duckdb: the same folders, the same rows."""

from __future__ import annotations

import datetime as dt
import gc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import pqlab
from pqlab.errors import (
    CorruptError,
    LimitError,
    SelectionError,
    SourceChangedError,
    SourceError,
    UnsupportedError,
)


def open_dataset(source: Any, **options: Any) -> pqlab.Dataset:
    opened = pqlab.open(source, **options)
    assert isinstance(opened, pqlab.Dataset)
    return opened


def frame(seed: int, rows: int = 100) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "number": random.integers(-100, 100, rows),
            "text": pl.Series(
                [None if n % 7 == 0 else f"text {n}" for n in range(rows)], dtype=pl.String
            ),
            "ratio": random.random(rows),
            "day": pl.Series(
                [dt.date(2024, 1, 1) + dt.timedelta(days=n) for n in range(rows)], dtype=pl.Date
            ),
        }
    )


def write(path: Path, data: pl.DataFrame, row_group_size: int = 40) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data.to_arrow(), path, row_group_size=row_group_size, data_page_size=256)
    return path


def num_descriptors() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files of 100, 0 and 70 rows; the last has its columns in another order."""
    write(tmp_path / "a.parquet", frame(1))
    write(tmp_path / "b.parquet", frame(2, rows=0))
    write(tmp_path / "c" / "d.parquet", frame(3, rows=70).select("ratio", "day", "number", "text"))
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.txt").write_text("stray")
    return tmp_path


@pytest.fixture
def hive(tmp_path: Path) -> Path:
    for year in (2023, 2024):
        for month in ("01", "__HIVE_DEFAULT_PARTITION__"):
            for place in ("north", "a%20b"):
                path = tmp_path / f"year={year}" / f"month={month}" / f"place={place}" / "x.parquet"
                write(path, frame(year + len(month) + len(place), rows=30))
    return tmp_path


def test_a_folder_with_stray_files(folder: Path) -> None:
    dataset = open_dataset(folder)
    assert {Path(path).name for path, _ in dataset.skipped} == {"_SUCCESS", "notes.txt"}
    expected = pl.scan_parquet([str(path) for path in sorted(folder.rglob("*.parquet"))])
    assert_frame_equal(dataset.read(), expected.collect())
    other = ds.dataset([str(path) for path in sorted(folder.rglob("*.parquet"))]).to_table()
    assert dataset.read().rows() == pl.DataFrame(other).rows()
    assert_frame_equal(pqlab.read(str(folder / "**" / "*.parquet")), dataset.read())


@pytest.mark.parametrize(
    ("arguments", "expression"),
    [
        ({"columns": ["ratio", "number"]}, lambda lazy: lazy.select("number", "ratio")),
        ({"rows": (90, 120)}, lambda lazy: lazy.slice(90, 30)),
        ({"rows": slice(-80, -60)}, lambda lazy: lazy.slice(90, 20)),
        ({"rows": [(0, 5), (100, 103), (169, 170)]}, None),
        ({"rows": (100, 100)}, lambda lazy: lazy.slice(0, 0)),
        ({"columns": "^(text|day)$", "rows": slice(99, 101)}, None),
    ],
)
def test_selections(
    folder: Path,
    arguments: dict[str, Any],
    expression: Callable[[pl.LazyFrame], pl.LazyFrame] | None,
) -> None:
    dataset = open_dataset(folder)
    lazy = pl.scan_parquet([str(path) for path in sorted(folder.rglob("*.parquet"))])
    if expression is not None:
        assert_frame_equal(dataset.read(**arguments), expression(lazy).collect())
        return
    whole = lazy.collect()
    rows = arguments["rows"]
    picked = [rows] if isinstance(rows, slice) else [slice(*pair) for pair in rows]
    columns = ["text", "day"] if "columns" in arguments else whole.columns
    expected = pl.concat([whole[part] for part in picked]).select(columns)
    assert_frame_equal(dataset.read(**arguments), expected)


def test_files_row_groups_and_pages_count_within_their_file(folder: Path) -> None:
    dataset = open_dataset(folder)
    whole = [pl.read_parquet(file) for file in dataset.files]
    columns = ["number", "text", "ratio", "day"]
    assert_frame_equal(dataset.read(files=-1), whole[2].select(columns))
    assert_frame_equal(dataset.read(files=slice(0, 2)), whole[0])
    expected = pl.concat([whole[0][40:80], whole[2].select(columns)[40:70]])
    assert_frame_equal(dataset.read(files=[0, 2], row_groups=1), expected)
    pages = dataset.pages(columns="ratio", files=0)
    assert set(pages["file"]) == {dataset.files[0]}
    first = pages.filter(page=0, row_group=0)["num_rows"][0]
    assert 0 < first <= 40
    assert dataset.read("ratio", files=0, pages={(0, "ratio"): 0}).height == first
    with pytest.raises(SelectionError, match=r"no row group 1.*b\.parquet"):
        dataset.read(row_groups=1)


def test_head_and_its_row_index_and_file(folder: Path) -> None:
    dataset = open_dataset(folder)
    assert_frame_equal(dataset.head(3), frame(1).head(3))
    scanned = pl.scan_parquet(
        [str(path) for path in sorted(folder.rglob("*.parquet"))], include_file_paths="file"
    )
    expected = scanned.select("number", "file").collect()
    found = dataset.read("number", include_file=True, include_row_index=True)
    assert found.columns == ["number", "file", "row_index"]
    assert_frame_equal(found.select("number", "file"), expected)
    assert found["row_index"].to_list() == [*range(100), *range(70)]
    part = dataset.read("number", rows=(95, 103), include_row_index=True)
    assert part["row_index"].to_list() == [95, 96, 97, 98, 99, 0, 1, 2]
    names = duckdb.execute(
        f"select filename, file_row_number from read_parquet('{folder}/**/*.parquet', "
        "filename = true, file_row_number = true) order by all"
    ).fetchall()
    assert sorted(found.select("file", "row_index").rows()) == names


def test_an_included_name_that_is_taken(folder: Path) -> None:
    write(folder / "z.parquet", pl.DataFrame({"file": [1]}))
    with pytest.raises(SelectionError, match="would be called 'file'"):
        open_dataset(folder).select(include_file=True)
    assert open_dataset(folder).read("number", include_file=True).height == 171


def test_frames_have_a_column_file(folder: Path) -> None:
    dataset = open_dataset(folder)
    for number, name in enumerate(dataset.files):
        file = pqlab.open(name)
        for attribute in ("leaves", "row_groups", "column_chunks"):
            whole = getattr(dataset, attribute)
            assert whole.columns[0] == "file"
            part = whole.filter(pl.col("file") == name).drop("file")
            assert_frame_equal(part, getattr(file, attribute))
        assert_frame_equal(dataset.pages(files=number).drop("file"), file.pages())
    info = dataset.info
    assert (info.num_files, info.num_skipped, info.num_rows) == (3, 2, 170)
    assert info.num_row_groups == sum(pq.read_metadata(f).num_row_groups for f in dataset.files)
    assert info.num_columns == 4
    assert info.file_size_bytes == sum(Path(name).stat().st_size for name in dataset.files)
    assert "num_files" in repr(info)
    assert repr(dataset) == "<pqlab.Dataset: 3 files, 2 skipped>"


def test_a_column_that_some_files_lack_is_null_there(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}))
    write(tmp_path / "2.parquet", pl.DataFrame({"c": [0.5], "a": [3]}))
    dataset = open_dataset(tmp_path)
    parts = [pl.read_parquet(file) for file in dataset.files]
    assert_frame_equal(dataset.read(), pl.concat(parts, how="diagonal"))
    assert dataset.read(["b", "c"]).rows() == [("x", None), ("y", None), (None, 0.5)]
    assert dataset.read("b", files=1).rows() == [(None,)]
    assert dataset.read("b", files=1, include_row_index=True).rows() == [(None, 0)]
    assert dataset.read("c", rows=(1, 3)).rows() == [(None,), (0.5,)]
    assert dataset.read([]).shape == (0, 0)
    with pytest.raises(SelectionError, match="no column 'd'"):
        dataset.select("d")


def test_a_column_of_nulls_only_has_the_type_of_the_others(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", pl.DataFrame({"a": [None, None], "b": [None, None]}))
    write(tmp_path / "2.parquet", pl.DataFrame({"a": ["x"], "b": [None]}))
    write(tmp_path / "3.parquet", pl.DataFrame({"a": [None], "b": [None]}))
    dataset = open_dataset(tmp_path)
    parts = [pl.read_parquet(file) for file in dataset.files]
    assert_frame_equal(dataset.read(), pl.concat(parts, how="vertical_relaxed"))


def test_another_type_names_both_files_and_only_where_it_is_read(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", pl.DataFrame({"a": [1], "b": [1]}))
    write(tmp_path / "2.parquet", pl.DataFrame({"b": ["x"], "a": [2]}))
    dataset = open_dataset(tmp_path)
    assert dataset.read("a")["a"].to_list() == [1, 2]
    assert dataset.leaves.height == 4
    for act in (lambda: dataset.schema, dataset.read, lambda: dataset.select("b")):
        with pytest.raises(UnsupportedError) as caught:
            act()
        for name in dataset.files:
            assert name in str(caught.value)


def test_nested_columns_have_the_same_fields_in_all_files(tmp_path: Path) -> None:
    rows: list[Any] = [[{"a": 1}], None, []]
    pq.write_table(pa.table({"x": rows, "n": [1, 2, 3]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": rows[:1], "n": [4]}), tmp_path / "2.parquet")
    pq.write_table(pa.table({"n": [5]}), tmp_path / "3.parquet")
    with pqlab.open(tmp_path) as dataset:
        assert dataset.read()["x"].to_list() == [*rows, *rows[:1], None]
    pq.write_table(pa.table({"x": [[{"a": 1, "b": 2}]], "n": [6]}), tmp_path / "4.parquet")
    with pqlab.open(tmp_path) as dataset:
        with pytest.raises(pqlab.UnsupportedError, match=r"other fields.*column 'x'"):
            dataset.read()
        assert dataset.read(["x.list.element.a"])["x"].to_list() == [
            *rows,
            *rows[:1],
            None,
            [{"a": 1}],
        ]


def test_hive_folders_are_typed_columns(hive: Path) -> None:
    dataset = open_dataset(hive)
    assert dataset.partitions.schema == {
        "file": pl.String, "year": pl.Int64, "month": pl.Int64, "place": pl.String,
    }  # fmt: skip
    expected = pl.scan_parquet(hive, hive_partitioning=True).collect()
    assert_frame_equal(dataset.read(), expected)
    assert dataset.read()["month"].null_count() == 120
    query = (
        f"select year, month::bigint, place, number from read_parquet('{hive}/**/*.parquet', "
        "hive_partitioning = true, hive_types_autocast = true)"
    )
    ours = dataset.read(["year", "place", "month", "number"])
    assert ours.columns == ["number", "year", "month", "place"]
    theirs = duckdb.execute(query).fetchall()
    key = repr
    assert sorted(ours.select("year", "month", "place", "number").rows(), key=key) == sorted(
        theirs, key=key
    )
    assert dataset.read("year").height == 240
    assert dataset.read("^(year|number)$").columns == ["number", "year"]
    assert dataset.read("^y.*$").columns == ["year"]
    assert dataset.read("year", rows=(119, 121))["year"].to_list() == [2023, 2024]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (["1", "02", "-3"], pl.Int64),
        (["2024-01-01", "2023-12-31"], pl.Date),
        (["2024-01-01", "2024-13-01"], pl.String),
        (["1", "2024-01-01"], pl.String),
        (["1", "x"], pl.String),
        (["9223372036854775807"], pl.Int64),
        (["9223372036854775808"], pl.String),
        (["1.5"], pl.String),
        (["true"], pl.String),
    ],
)
def test_keys_have_one_type_over_all_files(
    tmp_path: Path, values: list[str], dtype: type[pl.DataType]
) -> None:
    for value in [*values, "__HIVE_DEFAULT_PARTITION__"]:
        write(tmp_path / f"k={value}" / "x.parquet", pl.DataFrame({"a": [1]}))
    column = open_dataset(tmp_path).read("k")["k"]
    assert column.dtype == dtype
    assert column.null_count() == 1
    assert sorted(column.drop_nulls().cast(pl.String).to_list()) == sorted(
        str(int(value)) if dtype == pl.Int64 else value for value in values
    )


def test_a_key_hides_the_column_of_its_name(tmp_path: Path) -> None:
    data = pl.DataFrame({"k": ["inside"], "a": [1]})
    write(tmp_path / "k=7" / "x.parquet", data)
    dataset = open_dataset(tmp_path)
    assert dataset.read().to_dict(as_series=False) == {"a": [1], "k": [7]}
    # polars takes the folder's value as well, in the type of the file's column.
    assert pl.scan_parquet(tmp_path, hive_partitioning=True).collect()["k"].to_list() == ["7"]


def test_files_without_a_key_are_null_in_it(tmp_path: Path) -> None:
    write(tmp_path / "k=1" / "x.parquet", pl.DataFrame({"a": [1]}))
    write(tmp_path / "y.parquet", pl.DataFrame({"a": [2]}))
    assert open_dataset(tmp_path).read().rows() == [(1, 1), (2, None)]


def test_lists_as_deltalake_and_pyiceberg_hand_them_out(hive: Path) -> None:
    paths = sorted(hive.rglob("*.parquet"))
    expected = pl.scan_parquet(hive, hive_partitioning=True).collect()
    uris = [path.as_uri() for path in paths]
    tasks = [SimpleNamespace(file=SimpleNamespace(file_path=uri), delete_files=[]) for uri in uris]
    for source in (paths, uris, tasks, iter(uris)):
        with open_dataset(source) as dataset:
            columns = ["number", "text", "ratio", "day", "year", "month", "place"]
            assert_frame_equal(dataset.read(columns), expected)


def test_lists_of_what_is_in_memory(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", frame(1))
    with path.open("rb") as file:
        dataset = open_dataset([path.read_bytes(), file, path])
        assert_frame_equal(dataset.read(), pl.concat([frame(1)] * 3))
        assert dataset.files == ("<bytes>", str(path), str(path))


def test_a_file_that_goes_is_named(folder: Path) -> None:
    listed = open_dataset(folder)
    opened = open_dataset(folder)
    assert opened.info.num_rows == 170
    gone = Path(listed.files[2])
    gone.unlink()
    for act in (lambda: listed.info, listed.read, opened.read):
        with pytest.raises(SourceError, match="No such file") as caught:
            act()
        assert caught.value.file == str(gone)
    write(gone, frame(5, rows=70))
    with pytest.raises(SourceChangedError) as changed:
        opened.read()
    assert changed.value.file == str(gone)


def test_a_file_that_is_not_parquet_is_named(folder: Path) -> None:
    (folder / "bad.parquet").write_bytes(b"PAR1 not yet")
    dataset = open_dataset(folder)
    with pytest.raises(CorruptError, match="still being written") as caught:
        dataset.read()
    assert caught.value.file == str(folder / "bad.parquet")


def test_more_files_than_descriptors(tmp_path: Path) -> None:
    data = write(tmp_path / "0.parquet", pl.DataFrame({"a": [1, 2]})).read_bytes()
    for number in range(1, 300):
        (tmp_path / f"{number}.parquet").write_bytes(data)
    before = num_descriptors()
    dataset = open_dataset(tmp_path)
    assert dataset.info.num_rows == 600
    assert dataset.read().height == 600
    assert num_descriptors() <= before


def test_the_limit_holds_for_the_files_together(folder: Path) -> None:
    size = int(pl.read_parquet(folder / "a.parquet").estimated_size())
    limits = pqlab.Limits(read_bytes=2 * size)
    dataset = open_dataset([folder / "a.parquet"] * 10, limits=limits)
    with pytest.raises(LimitError, match="read_bytes"):
        dataset.read()


def test_plans_and_code(folder: Path) -> None:
    dataset = open_dataset(folder)
    selection = dataset.select("number", rows=(90, 120), include_file=True)
    assert [plan.num_rows for plan in selection.plan()] == [10, 20]
    code = selection.code
    assert code == (
        f"pqlab.open({str(folder)!r}).select(columns=['number'], rows=(90, 120), include_file=True)"
    )
    again = eval(code, {"pqlab": pqlab})
    assert_frame_equal(again.read(), selection.read())
    assert "2 columns of 2 files" in repr(selection)
    assert open_dataset([folder]).select().code == "pqlab.open(<source>).select()"


def test_a_trace_names_the_files(folder: Path) -> None:
    trace = pqlab.Trace()
    dataset = open_dataset(folder)
    dataset.read(trace=trace)
    assert set(trace.to_frame()["file"]) >= {dataset.files[0], dataset.files[2]}
