"""`where=`: equal to polars' filter of the full read; what is skipped equals a brute force."""

from __future__ import annotations

import datetime as dt
import io
import math
import operator
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from polars.testing import assert_frame_equal

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
COMPARED = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


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
    count = draw(st.integers(1, 12))
    arrays = {}
    for name, values in VALUES.items():
        cells = st.one_of(st.sampled_from(values), st.none())
        found = draw(st.lists(cells, min_size=count, max_size=count))
        if draw(st.booleans()):
            found = sorted(found, key=lambda cell: (cell is None, str(cell)))
        arrays[name] = pa.array(found, TYPES[name])
    arrays["g"] = pa.StructArray.from_arrays([arrays["i"]], ["i"])
    return pa.table(arrays)


def may_hold(predicate: Predicate, chunks: dict[str, Any], *, holds: bool = True) -> bool:
    """One row group, value by value, by pyarrow's reading of the statistics."""
    if isinstance(predicate, Not):
        return may_hold(predicate.part, chunks, holds=not holds)
    if isinstance(predicate, (And, Or)):
        found = [may_hold(part, chunks, holds=holds) for part in predicate.parts]
        return all(found) if isinstance(predicate, And) is holds else any(found)
    chunk = chunks[".".join(predicate.column)]
    found_statistics = chunk.statistics
    nulls = found_statistics.null_count if found_statistics is not None else None
    has_values = nulls is None or nulls < chunk.num_values
    if isinstance(predicate, IsNull):
        return (nulls is None or nulls > 0) if holds else has_values
    if not has_values or found_statistics is None or not found_statistics.has_min_max:
        return has_values
    low, high = found_statistics.min, found_statistics.max
    is_float = isinstance(low, float)
    if isinstance(predicate, Membership):
        inside = [v for v in predicate.values if low <= v <= high]
        nan = is_float and any(v != v for v in predicate.values)  # noqa: PLR0124  # only NaN
        return bool(inside) or nan if holds else is_float or low != high or not inside
    name, value = predicate.operator, predicate.value
    if not holds:
        name = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}[name]
    is_nan = isinstance(value, float) and math.isnan(value)
    if name == "==":
        return is_nan or low <= value <= high
    if name == "!=":
        return is_float or not low == high == value
    if name in ("<", "<="):
        return is_nan or bool(COMPARED[name](low, value))
    return is_float or bool(COMPARED[name](high, value))


FIRED = [0, 0]


@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(tables(), PREDICATES, st.integers(1, 5), st.sampled_from(["all", "none", "no nulls"]))
def test_equals_polars_and_a_brute_force(
    table: pa.Table, predicate: Predicate, rows: int, statistics: str
) -> None:
    sink = io.BytesIO()
    stated = {"all": True, "none": False, "no nulls": ["i", "s"]}[statistics]
    pq.write_table(table, sink, row_group_size=rows, write_statistics=stated)
    file = pqlab.open(sink.getvalue(), cache=None)
    expected = file.read().filter(predicate.to_polars())
    selection = file.select(where=predicate.to_polars())
    assert_frame_equal(selection.read(), expected)
    assert_frame_equal(file.read(["u", "g"], where=str(predicate)), expected.select("u", "g"))
    assert_frame_equal(file.read(where=str(predicate), prune=False), expected)
    frames = [frame for frame in file.iter_row_groups(where=str(predicate)) if len(frame)]
    assert_frame_equal(pl.concat([expected.clear(), *frames]), expected)

    oracle = pq.ParquetFile(sink).metadata
    if selection.where.predicate is None:  # a NaN, which polars does not write down
        selection = file.select(where=str(predicate))
    assert selection.pruned is not None
    judged = selection.pruned.judged
    by_statistics = judged.up_to(Step.STATISTICS).pieces
    kept = by_statistics.at(judged.row_bounds).tolist()
    assert set(selection.rows) <= {group for group, keep in enumerate(kept) if keep}
    chunks = [
        {
            chunk.path_in_schema: chunk
            for chunk in map(oracle.row_group(group).column, range(oracle.num_columns))
        }
        for group in range(oracle.num_row_groups)
    ]
    assert kept == [may_hold(predicate, each) for each in chunks]
    FIRED[0] += 1
    FIRED[1] += not all(kept)


def test_pruning_fired() -> None:
    """Behind the test above: a comparison of what never skips shows nothing."""
    cases, fired = FIRED
    if not cases:
        pytest.skip("runs behind the test above")
    assert fired >= 0.2 * cases, f"pruning fired in {fired} of {cases}"


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
