"""Public files: read in full as pyarrow reads them, in part as they are read in full."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nested_values import combined, difference
from polars.testing import assert_frame_equal

import pqlab

Result = TypeVar("Result")

SHARDS = 6
SEED = 20260726

# What is not one type in pyarrow and in pqlab's table of types, though the values are the same.
AS_STORED = (pl.Categorical, pl.Null, pl.Extension)


def rows_of_shard(manifest: list[dict[str, str]], shard: int) -> list[dict[str, str]]:
    return [row for row in manifest if row["kind"] == "head"][shard::SHARDS]


def attempt(action: Callable[[], Result]) -> tuple[Result | None, pqlab.PqlabError | None]:
    """What the action gives, or the error that it ends in."""
    try:
        return action(), None
    except pqlab.PqlabError as error:
        return None, error


def assert_same_values(mine: pl.DataFrame, table: pa.Table) -> None:
    assert mine.columns == table.column_names
    for name in mine.columns:
        if mine[name].dtype.is_nested():
            nested = mine.select(name).to_arrow(compat_level=pl.CompatLevel.newest())[name]
            assert difference(combined(nested), combined(table[name])) is None
            continue
        left, right = mine[name], pl.Series(name, pl.from_arrow(table[name]))
        if isinstance(right.dtype, AS_STORED):
            assert left.null_count() == right.null_count()
            continue
        if isinstance(left.dtype, pl.Datetime | pl.String):
            right = right.cast(left.dtype)  # "Etc/UTC" is UTC; ENUM is text
        assert_frame_equal(left.to_frame(), right.to_frame())


@pytest.mark.parametrize("shard", range(SHARDS))
def test_files_that_all_readers_agree_on(
    corpus: Path, manifest: list[dict[str, str]], shard: int
) -> None:
    compared = 0
    for row in rows_of_shard(manifest, shard):
        agreed = row["readers_ok"] == "3" and not row["value_disagreement"]
        if not agreed or row["corrupt_by_design"]:
            continue
        path = corpus / row["file"]
        mine, error = attempt(partial(pqlab.read, path, cache=None))
        if mine is None:
            assert isinstance(error, pqlab.UnsupportedError), row["file"]
            assert error.place.keys() >= {"file", "column"}, row["file"]
            continue
        assert_same_values(mine, pq.ParquetFile(path).read())
        compared += 1
    assert compared > 50


# "first_row_index: Index within the RowGroup of the first row of the page": LegacyRepeated's levels
# begin its last page at row 2, its offset index says 3.
WRONG_INDEX = "hangxie__parquet-tools/testdata/retype.parquet"


def test_an_index_that_the_levels_contradict_is_an_error(corpus: Path) -> None:
    with pqlab.open(corpus / WRONG_INDEX) as file:
        with pytest.raises(pqlab.CorruptError, match=r"hold 1 rows.*say 2.*LegacyRepeated"):
            file.read("LegacyRepeated", rows=(1, 2))
        whole = file.read("LegacyRepeated").to_series().to_list()
    assert whole == [[0], [1, 11], [2, 12, 22]]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_part_is_the_whole_sliced(
    corpus: Path, manifest: list[dict[str, str]], shard: int
) -> None:
    random = np.random.default_rng([SEED, shard])
    compared = 0
    for row in rows_of_shard(manifest, shard):
        if row["file"] == WRONG_INDEX:
            continue
        path = corpus / row["file"]
        whole, _ = attempt(partial(pqlab.read, path, cache=None))
        if whole is None or not whole.width:
            continue
        # Half of the files are walked for their pages at any price.
        policy = pqlab.IOPolicy(gap_bytes=int(random.choice([0, 16384])))
        with pqlab.open(path, io=policy, cache=None) as file:
            start = int(random.integers(0, whole.height + 1))
            stop = min(whole.height, start + int(random.choice([1, 10, 100])))
            assert_frame_equal(file.read(rows=(start, stop)), whole[start:stop])
            leaf = int(random.integers(0, file.metadata.num_leaves))
            pages = file.pages(columns=leaf).filter(pl.col("page") >= 0)
            if pages.height:
                page = pages.row(int(random.integers(0, pages.height)), named=True)
                pick = {(page["row_group"], leaf): page["page"]}
                picked = file.read(pages=pick)
                # Of lists without an index the levels, read meanwhile, tell which rows it holds.
                table = file.pages(row_groups=page["row_group"], columns=leaf)
                page = table.row(by_predicate=pl.col("page") == page["page"], named=True)
                row_groups = file.metadata.row_groups
                first_row = int(row_groups.first_row[page["row_group"]])
                num_rows = page["num_rows"]
                if num_rows is None:  # of a last page, up to the row group's end
                    num_rows = int(row_groups.num_rows[page["row_group"]]) - page["first_row"]
                start = first_row + page["first_row"]
                assert_frame_equal(picked, whole[start : start + num_rows])
        compared += 1
    assert compared > 50


@pytest.mark.parametrize("shard", range(SHARDS))
def test_everything_shows_or_says_why_not(
    corpus: Path, manifest: list[dict[str, str]], shard: int
) -> None:
    for row in rows_of_shard(manifest, shard):
        path = corpus / row["file"]
        file, error = attempt(partial(pqlab.open, path, cache=None))
        if file is None:
            assert row["readers_ok"] != "3", row["file"]
            assert error is not None
            assert error.file == str(path)
            continue
        with file:
            shape = (file.metadata.num_row_groups, file.metadata.num_leaves)
            assert file.row_groups.height == shape[0]
            assert file.leaves.height == shape[1]
            assert file.column_chunks.height == shape[0] * shape[1]
            assert repr(file.info)
            plan, plan_error = attempt(partial(file.select(rows=slice(0, 10)).plan, walk=True))
            layout, layout_error = attempt(partial(file.layout, pages=True))
        for error in (plan_error, layout_error):
            if error is not None:
                assert row["corrupt_by_design"] or row["encryption"], row["file"]
                assert error.file == str(path)
        if plan is not None:
            assert plan.num_rows == min(10, file.metadata.num_rows)
        if layout is not None:
            sums = [sum(layout[name]) for name in ("size_bytes", "overlap_bytes", "outside_bytes")]
            assert sums[0] - sums[1] - sums[2] == int(row["size"]), row["file"]
