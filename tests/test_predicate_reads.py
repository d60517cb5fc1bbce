"""`where=`: equal to polars' filter of the full read; what is skipped equals a brute force."""

from __future__ import annotations

import datetime as dt
import io
import math
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from polars.testing import assert_frame_equal
from predicate_oracle import COMPARED, Known, by_index, by_statistics, may_hold

import pqlab
from pqlab.predicate.predicate import (
    And,
    Comparison,
    IsNull,
    Membership,
    Not,
    Or,
    Predicate,
)
from pqlab.predicate.tree import Step

VALUES: dict[str, list[Any]] = {
    "i": [-3, -1, 0, 1, 2, 3, 7],
    "f": [-1.5, -0.0, 0.0, 0.5, 3.0, math.nan, math.inf],
    "s": ["", "a", "ab", "b", "é", "z" * 70],
    "d": [dt.date(2020, 1, day) for day in (1, 2, 15, 31)],
    "t": [dt.datetime(2020, 1, day, tzinfo=dt.UTC) for day in (1, 2, 15, 31)],
    "m": [Decimal("-1.50"), Decimal("0.00"), Decimal("2.25")],
    "b": [False, True],
    "u": [0, 5, 200],
}
TYPES: dict[str, pa.DataType] = {
    "i": pa.int64(),
    "f": pa.float64(),
    "s": pa.string(),
    "d": pa.date32(),
    "t": pa.timestamp("us", "UTC"),
    "m": pa.decimal128(9, 2),
    "b": pa.bool_(),
    "u": pa.uint8(),
}
COLUMNS = st.sampled_from(sorted(VALUES))


@st.composite
def conditions(draw: st.DrawFn) -> Predicate:
    column = draw(COLUMNS)
    path = ("g", "i") if column == "i" and draw(st.booleans()) else (column,)
    value = st.sampled_from(VALUES[column])
    kind = draw(st.sampled_from(["compare", "compare", "in", "null"]))
    if kind == "null":
        return IsNull(path)
    if kind == "in" and column != "m":  # polars has no `is_in` of decimals of another precision
        return Membership(path, tuple(draw(st.lists(value, min_size=1, max_size=3))))
    return Comparison(path, draw(st.sampled_from(sorted(COMPARED))), draw(value))


PREDICATES: st.SearchStrategy[Predicate] = st.recursive(
    conditions(),
    lambda part: st.one_of(
        part.map(Not),
        st.lists(part, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(part, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=5,
)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    count = draw(st.integers(1, 30))
    arrays = {}
    for name, values in VALUES.items():
        cells = st.one_of(st.sampled_from(values), st.none())
        found = draw(st.lists(cells, min_size=count, max_size=count))
        if draw(st.booleans()):
            found = sorted(found, key=lambda cell: (cell is None, str(cell)))
        arrays[name] = pa.array(found, TYPES[name])
    arrays["g"] = pa.StructArray.from_arrays([arrays["i"]], ["i"])
    return pa.table(arrays)


@dataclass(frozen=True)
class Written:
    """A table, and the file that it was written to, which pqlab has open."""

    data: bytes
    file: pqlab.ParquetFile
    frame: pl.DataFrame


@st.composite
def files(draw: st.DrawFn) -> Written:
    table = draw(tables())
    sink = io.BytesIO()
    stated: Any = {"all": True, "none": False, "no nulls": ["i", "s"]}
    blooms = {
        name: {"ndv": 20, "fpp": 0.01} for name in draw(st.sampled_from(["", "isd", "isfdt"]))
    }
    pq.write_table(
        table,
        sink,
        row_group_size=draw(st.integers(1, 20)),
        write_statistics=stated[draw(st.sampled_from(["all", "all", "none", "no nulls"]))],
        write_page_index=draw(st.sampled_from([True, True, False])),
        max_rows_per_page=draw(st.integers(1, 6)),
        use_dictionary=draw(st.booleans()),
        data_page_version=draw(st.sampled_from(["1.0", "2.0"])),
        bloom_filter_options=blooms or None,
        compression="none",
    )
    # Without gaps, columns are read late whatever their size.
    policy = pqlab.IOPolicy(gap_bytes=draw(st.sampled_from([0, 1 << 14])))
    file = pqlab.open(sink.getvalue(), cache=None, io=policy)
    return Written(sink.getvalue(), file, file.read())


CASES: Counter[str] = Counter()


@settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(files(), st.lists(PREDICATES, min_size=5, max_size=5))
def test_equals_polars_and_a_brute_force(written: Written, predicates: list[Predicate]) -> None:
    statistics, index = by_statistics(written.data), by_index(written.data)
    bounds = written.file.metadata.row_groups.first_row.astype(np.int64).tolist()
    for predicate in predicates:
        expression = predicate.to_polars()
        expected = written.frame.filter(expression)
        selection = written.file.select(where=str(predicate))
        assert_frame_equal(selection.read(), expected)
        CASES["late"] += bool(selection.late.others)
        CASES["certain"] += selection.late.is_certain

        assert selection.pruned is not None
        judged = selection.pruned.judged
        rows = np.arange(len(written.frame) + 1)
        kept = [judged.up_to(step).pieces.at(rows) for step in Step]
        in_order = [
            (group, row - first)
            for group, (first, after) in enumerate(pairwise([*bounds, len(written.frame)]))
            for row in range(first, after)
        ]
        for step, with_pages in ((Step.STATISTICS, False), (Step.COLUMN_INDEX, True)):
            oracle = []
            for group, row in in_order:

                def known(column: str, group: int = group, row: int = row) -> list[Known]:
                    pages = index[group].get(column, []) if with_pages else []  # noqa: B023
                    own = [page.known for page in pages if page.start <= row < page.stop]
                    return [statistics[group][column], *own]

                oracle.append(may_hold(predicate, known, holds=True))
            assert kept[list(Step).index(step)].tolist() == oracle, (step, str(predicate))
        CASES["all"] += 1
        CASES["fired"] += not kept[-1].all()
        for before, after, step in zip(kept, kept[1:], list(Step)[1:], strict=False):
            CASES[step.value] += bool((before & ~after).any())


def test_cases_and_how_often_pruning_fired() -> None:
    """Behind the test above: a comparison of what never skips shows nothing."""
    if not CASES:
        pytest.skip("runs behind the test above")
    assert CASES["all"] >= 2_000
    assert CASES["fired"] >= 0.3 * CASES["all"]
    for step in ("statistics", "column index", "bloom filter", "dictionary", "late", "certain"):
        assert CASES[step] >= 4, f"{step}: {dict(CASES)}"


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(files(), PREDICATES)
def test_other_ways_to_read(written: Written, predicate: Predicate) -> None:
    expected = written.frame.filter(predicate.to_polars())
    read, where = written.file.read, str(predicate)
    assert_frame_equal(written.file.select(where=predicate.to_polars()).read(), expected)
    assert_frame_equal(read(["u", "g"], where=where), expected.select("u", "g"))
    assert_frame_equal(read(where=where, prune=False), expected)
    frames = [frame for frame in written.file.iter_row_groups(where=where) if len(frame)]
    assert_frame_equal(pl.concat([expected.clear(), *frames]), expected)


@pytest.fixture
def file() -> pqlab.ParquetFile:
    sink = io.BytesIO()
    frame = pl.DataFrame({"a": range(100), "b": [None, "x"] * 50}).with_columns(
        n=pl.struct(p="a", q=pl.col("a") % 7)
    )
    frame.write_parquet(sink, row_group_size=10)
    return pqlab.open(sink.getvalue())


def test_only_what_is_kept_is_read(file: pqlab.ParquetFile) -> None:
    selection = file.select("b", where="a >= 95 and b == 'x'")
    plan = selection.plan()
    assert plan.num_rows == 10
    assert plan.columns == ("a", "b")
    assert "a >= 95 and b == 'x' (9 of 10 row groups and 90 of 100 rows skipped)" in str(plan)
    assert selection.read().to_dict(as_series=False) == {"b": ["x"] * 3}
    assert selection.code.endswith(""".select(columns=['b'], where="a >= 95 and b == 'x'")""")
    explained = selection.explain().frame.filter(pl.col("page").is_null())
    assert explained["kept"].to_list() == [False] * 9 + [True]
    assert explained["reason"][0] == "no row has a >= 95"
    assert explained["bound"][0] == "a: min 0, max 9, null_count 0, num_values 10"


def test_fields_that_only_the_predicate_needs_are_dropped(file: pqlab.ParquetFile) -> None:
    frame = file.read(["n.p"], where="n.q == 6 and n.p > 90")
    assert frame["n"].to_list() == [{"p": 97}]
    assert frame.schema == file.read(["n.p"]).schema


def test_fields_are_dropped_below_nulls_and_lists() -> None:
    points = [[{"x": 1, "y": {"z": 2, "w": 3}}, None, {"x": None, "y": None}], None, []]
    sink = io.BytesIO()
    pl.DataFrame({"l": points, "n": [None, {"l": [points[0]]}, {"l": None}]}).write_parquet(sink)
    file = pqlab.open(sink.getvalue())
    for columns in ("^l.*z$", "^l.*x$", "^n.*w$", "^.*x$"):
        for where in (
            pl.col("l").is_not_null() | pl.col("n").is_null(),
            pl.col("l").list.len() > 0,
        ):
            picked = file.select("^.*$", where=where, prune=False).where
            whole = file.read(columns)
            mask = file.read().select(picked.expression).to_series()
            assert_frame_equal(file.read(columns, where=where), whole.filter(mask))


def test_other_expressions_see_all_rows(file: pqlab.ParquetFile) -> None:
    where = pl.col("a") > pl.col("a").mean()
    selection = file.select("a", where=where)
    assert_frame_equal(selection.read(), file.read("a").filter(where))
    assert selection.explain().frame["kept"].all()
    with pytest.raises(pqlab.SelectionError, match="may look at all rows"):
        selection.iter_row_groups()


def test_nothing_is_left(file: pqlab.ParquetFile) -> None:
    assert_frame_equal(file.read(where="a > 1000"), file.read().clear())
    assert list(file.iter_row_groups(where="a > 1000")) == []


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("aa == 1", "there is no column"),
        ("n.r == 1", "Near matches: 'n.q'|Near matches: 'n.p'"),
        ("a == 'x'", "polars cannot filter by a == 'x'"),
    ],
)
def test_errors(file: pqlab.ParquetFile, where: str, words: str) -> None:
    with pytest.raises(pqlab.SelectionError, match=words):
        file.select(where=where)


def test_enum_is_refused(file: pqlab.ParquetFile) -> None:
    with pytest.raises(ValueError, match="does not go with where"):
        file.read(where="a > 1", strings="enum")
    frame = file.read(where="b >= 'x'", strings="categorical")
    assert_frame_equal(frame, file.read(strings="categorical").filter(pl.col("b") >= "x"))
