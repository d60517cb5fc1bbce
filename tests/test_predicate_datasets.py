"""`where=` on datasets: equal to polars' filter of the full read, whatever files lack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import pqlab


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three years of two files each: one file lacks a column, columns stand in another order."""
    for year in (2021, 2022, 2023):
        for part in range(2):
            start = (year - 2021) * 200 + part * 100
            frame = pl.DataFrame(
                {
                    "a": range(start, start + 100),
                    "s": [f"w{i % 7}" for i in range(100)],
                    "n": [{"p": i, "q": i % 3} for i in range(100)],
                    "x": [None if i % 11 == 0 else i / 4 for i in range(100)],
                }
            )
            if (year, part) == (2022, 1):
                frame = frame.drop("x").select("s", "n", "a")
            path = tmp_path / f"year={year}" / f"part-{part}.parquet"
            path.parent.mkdir(exist_ok=True)
            frame.write_parquet(path, row_group_size=25)
    return tmp_path


WHERES: list[tuple[Any, bool]] = [  # (where, whether files are skipped)
    ("a >= 575", True),
    ("year == 2022 and a > 350", True),
    ("year in (2021, 2023) and s == 'w3'", True),
    ("x > 20.5", True),
    ("x is None and year == 2022", True),
    ("n.q == 1 and a < 30", True),
    ("not (year == 2021 or x < 24)", True),
    ("year == 1999", True),
    ("s != 'w0'", False),
    (pl.col("a") > 100, True),
    (pl.col("s").str.ends_with("3") & (pl.col("year") > 2021), False),
    (pl.col("a") > pl.col("a").mean(), False),
]


@pytest.mark.parametrize(("where", "skips"), WHERES)
def test_equals_polars(folder: Path, where: Any, skips: bool) -> None:
    dataset = pqlab.Dataset(folder)
    everything = dataset.read(include_file=True, include_row_index=True)
    selection = dataset.select(where=where)
    expected = everything.filter(selection.where.expression)
    columns: Any = {"include_file": True, "include_row_index": True}
    assert_frame_equal(dataset.read(where=where, **columns), expected)
    assert_frame_equal(dataset.read(where=where, prune=False, **columns), expected)
    for names in (["s"], ["n.p", "a"], ["year"]):
        picked = dataset.read(names).columns
        found = dataset.read(names, where=where, include_row_index=True)
        wanted = expected.select(*picked, "row_index")
        if names[0] == "n.p":
            wanted = wanted.with_columns(pl.struct(pl.col("n").struct.field("p")).alias("n"))
        assert_frame_equal(found, wanted)
    assert_frame_equal(dataset.select(["s"], where=where).submit().result(), expected.select("s"))
    assert pa.table(dataset.select(["a"], where=where))["a"].to_pylist() == expected["a"].to_list()
    assert any(part.rows != part.asked_rows for _, part in selection.parts) == skips
    if selection.where.predicate is None:
        with pytest.raises(pqlab.SelectionError, match="may look at all rows"):
            selection.iter_row_groups()
        return
    for frames in (
        dataset.iter_row_groups(where=where, **columns),
        dataset.select(where=where, **columns).iter_batches(70),
    ):
        assert_frame_equal(pl.concat([expected.clear(), *frames]), expected)


def test_files_are_skipped_for_reasons(folder: Path) -> None:
    dataset = pqlab.Dataset(folder)
    explained = dataset.select(where="year == 2022 and x < 1").explain()
    steps = [set(each.frame["step"].drop_nulls()) for each in explained]
    assert steps[0] == steps[1] == steps[4] == steps[5] == {"constant"}
    assert steps[2] == {"statistics"}
    assert steps[3] == {"constant"}
    assert explained[0].frame["bound"][0] == "year: 2021 in the whole file"
    assert explained[3].frame["bound"][0] == "x: None in the whole file"
    plans = dataset.select("a", where="year == 2022 and a > 350").plan()
    assert [plan.num_rows for plan in plans] == [0, 0, 0, 50, 0, 0]


def test_rows_files_and_code(folder: Path) -> None:
    dataset = pqlab.Dataset(folder)
    selection = dataset.select("a", files=[1, 2], rows=(150, 250), where="s == 'w3'")
    everything = dataset.read(["a", "s"], files=[1, 2], rows=(150, 250))
    assert_frame_equal(selection.read(), everything.filter(pl.col("s") == "w3").select("a"))
    again = eval(selection.code, {"pqlab": pqlab})  # our own text
    assert_frame_equal(again.read(), selection.read())
    assert "of 2 files" in repr(selection)
    assert dataset.select(where="a > 1").code.endswith("select(where='a > 1')")


@pytest.mark.parametrize(
    ("where", "words"),
    [("aa == 1", "there is no column"), ("year == 'x'", "polars cannot"), ("a ==", "line 1")],
)
def test_errors(folder: Path, where: str, words: str) -> None:
    with pytest.raises(pqlab.SelectionError, match=words):
        pqlab.open(folder).select(where=where)
