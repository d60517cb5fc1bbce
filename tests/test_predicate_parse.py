"""Predicates from text and from polars expressions, compared with polars."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

import polars as pl
import pytest

from pqlab import SelectionError
from pqlab.predicate.parse import parse
from pqlab.predicate.predicate import Comparison, Membership, Predicate, Value
from pqlab.predicate.where import of

FRAME = pl.DataFrame(
    {
        "a": [1, 2, None, 50, 51],
        "b.c": [1.5, float("nan"), None, -0.0, 0.0],
        "s": ["x", "y", None, "z", "it's"],
        "flag": [True, False, None, True, False],
        "t": [{"u": 1}, {"u": None}, None, {"u": 4}, {"u": 5}],
        "^a$": [5, 4, 3, 2, 1],
    }
)
A = pl.col("a")

TEXTS = [
    ("a > 50", A > 50),
    ("50 < a", A > 50),
    ("1 <= a < 51", (A >= 1) & (A < 51)),
    ("a == 1 or a == 2 and not flag", (A == 1) | ((A == 2) & ~pl.col("flag"))),
    ("not (a in (1, 2) or flag)", ~(A.is_in([1, 2]) | pl.col("flag"))),
    ("a not in [1, 50]", ~A.is_in([1, 50])),
    ("a is None or s is not null", A.is_null() | pl.col("s").is_not_null()),
    ("col('b.c') >= 0", pl.col("b.c") >= 0),
    ('col("b.c") == float("nan")', pl.col("b.c").is_nan()),
    ("t.u == 4", pl.col("t").struct.field("u") == 4),
    ("""s == "it's" and (\n a > -1)""", (pl.col("s") == "it's") & (A > -1)),
    ("col('^a$') >= 4", pl.Series([True, True, False, False, False])),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_text_means_what_polars_means(text: str, expected: pl.Expr | pl.Series) -> None:
    predicate = parse(text)
    frame = FRAME.filter(expected)
    assert FRAME.filter(predicate.to_polars()).equals(frame)
    assert str(parse(str(predicate))) == str(predicate)
    if isinstance(expected, pl.Expr) and "nan" not in text:
        found = of(expected).predicate
        assert found is not None
        assert FRAME.filter(found.to_polars()).equals(frame)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('date("2024-01-31")', date(2024, 1, 31)),
        ('datetime("2024-01-31T12:00:00+00:00")', datetime(2024, 1, 31, 12, tzinfo=UTC)),
        ('time("12:30")', time(12, 30)),
        ('decimal("1.50")', Decimal("1.50")),
        ('b"\\x00"', b"\0"),
        ("-1.5", -1.5),
        ("True", True),
    ],
)
def test_values(text: str, value: Value) -> None:
    assert parse(f"c == {text}") == Comparison(("c",), "==", value)
    assert of(Comparison(("c",), "==", value).to_polars()).predicate == Comparison(
        ("c",), "==", value
    )
    assert parse(f"c in ({text},)") == Membership(("c",), (value,))


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a = 5", 3, "invalid syntax"),
        ("a == b", 6, "a value is wanted"),
        ("é == 'a' and 5", 14, "a condition is wanted"),
        ("a == date('q')", 11, "'q' is no date"),
        ("__import__('os')", 1, "a condition is wanted"),
        ("a == __import__('os')", 6, "a value is wanted"),
        ("a.b[0] == 1", 1, "a comparison is of a column"),
        ("a in 5", 6, "values in parentheses"),
        ("a == None", 6, "Write is None"),
        ("", 1, "invalid syntax"),
        ("(" * 300 + "a" + ")" * 300, 201, "nested"),
    ],
)
def test_errors_point_at_the_place(text: str, place: int, words: str) -> None:
    with pytest.raises(SelectionError, match="where, line 1") as raised:
        parse(text)
    assert f"character {place}:" in str(raised.value)
    assert words in str(raised.value)


@pytest.mark.parametrize("text", ["not " * 2_400 + "a", "a" * 200_000, "-" * 50_000 + "1 < a"])
def test_hostile_text_is_refused(text: str) -> None:
    with pytest.raises(SelectionError, match="where"):
        parse(text)


def test_wide_text_is_evaluated() -> None:
    predicate: Predicate = parse(" or ".join(f"a == {value}" for value in range(500)))
    assert FRAME.filter(predicate.to_polars()).equals(FRAME.filter(A.is_not_null()))


@pytest.mark.parametrize(
    "expression",
    [
        A.mean() < A,
        pl.col("b.c") < A,
        A.eq_missing(1),
        A.is_in([1, None]),
        A.is_in([1], nulls_equal=True),
        pl.lit(5, dtype=pl.Int8) + 1 > A,
        A.cast(pl.Float64) > 2.5,
        pl.col("s").str.contains("x"),
        pl.len() > 3,
    ],
)
def test_other_expressions_are_not_understood(expression: pl.Expr) -> None:
    where = of(expression)
    assert where.predicate is None
    assert where.columns == frozenset((name,) for name in expression.meta.root_names())


@pytest.mark.parametrize(
    "expression",
    [
        pl.lit(5, dtype=pl.Int8) > A,
        pl.lit(0.1, dtype=pl.Float64) < pl.col("b.c"),
        pl.lit(0.1, dtype=pl.Float32) < pl.col("b.c"),
        A.is_between(2, 50),
        A.is_between(2, 50, closed="left"),
        A.is_between(pl.lit(2, dtype=pl.UInt8), 50, closed="none"),
        pl.col("b.c").is_nan(),
        ~pl.col("b.c").is_nan(),
        pl.col("b.c").is_not_nan() & (A > 1),
    ],
)
def test_what_has_no_text_of_its_own(expression: pl.Expr) -> None:
    where = of(expression)
    assert where.predicate is not None
    assert FRAME.filter(where.predicate.to_polars()).equals(FRAME.filter(expression))
    text = where.text
    assert text is None or FRAME.filter(of(text).expression).equals(FRAME.filter(expression))


def test_literals_that_python_cannot_hold() -> None:
    value = pl.lit(pl.Series([1_500]).cast(pl.Datetime("ns")).item())  # 1 us
    assert of(pl.col("t") == value).predicate is not None
    in_ns = pl.lit(1_500, dtype=pl.Int64).cast(pl.Datetime("ns"))
    folded = pl.DataFrame({"x": [1]}).lazy().select(in_ns).collect().to_series()
    assert of(pl.col("t") == pl.lit(folded).first()).predicate is None


def test_neither_text_nor_expression() -> None:
    with pytest.raises(TypeError, match="where is text or a polars expression"):
        of(5)  # type: ignore[arg-type]
    with pytest.raises(SelectionError, match="several outputs"):
        of(pl.col("a", "s") == 1)
