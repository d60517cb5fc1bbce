"""Selections as text."""

from __future__ import annotations

import pytest

import pqlab
from pqlab.arguments import selection


def test_nothing_given_selects_everything() -> None:
    assert selection() == {}
    assert selection(columns=[], row_groups=None) == {}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a", ["a"]),
        ("a,b.c", ["a", "b.c"]),
        ("a, b", ["a", "b"]),
        ("#3,#0", [3, 0]),
        ("^fare_.*$", ["^fare_.*$"]),
        ('"a,b",c', ["a,b", "c"]),
        ("#x", ["#x"]),
        ("naïve 列", ["naïve 列"]),
    ],
)
def test_columns(text: str, columns: list[str | int]) -> None:
    assert selection(columns=[text]) == {"columns": columns}
    assert selection(columns=[text, "z"]) == {"columns": [*columns, "z"]}


@pytest.mark.parametrize(
    ("text", "ordinals"),
    [
        ("0", [0]),
        ("0,2,5:8", [0, 2, slice(5, 8)]),
        ("-1", [-1]),
        (":3", [slice(None, 3)]),
        ("-2:", [slice(-2, None)]),
        (":", [slice(None, None)]),
    ],
)
def test_row_groups(text: str, ordinals: list[int | slice]) -> None:
    assert selection(row_groups=[text]) == {"row_groups": ordinals}


@pytest.mark.parametrize(
    ("text", "key", "ordinals"),
    [
        ("fare:0", "fare", [0]),
        ("fare:1:3", "fare", [slice(1, 3)]),
        ("fare:-1", "fare", [-1]),
        ("fare::2", "fare", [slice(None, 2)]),
        ("fare:0,4:6", "fare", [0, slice(4, 6)]),
        ("2/fare:0", (2, "fare"), [0]),
        ("2/#5:0", (2, 5), [0]),
        ("a:b:3", "a:b", [3]),
        ("a/b:3", "a/b", [3]),
        ("0/a/b:3", (0, "a/b"), [3]),
        ("address.city:7", "address.city", [7]),
    ],
)
def test_pages(text: str, key: object, ordinals: list[int | slice]) -> None:
    assert selection(pages=[text]) == {"pages": {key: ordinals}}


def test_pages_of_one_column_are_joined() -> None:
    assert selection(pages=["a:0", "b:1", "a:4:6"]) == {"pages": {"a": [0, slice(4, 6)], "b": [1]}}


def test_rows() -> None:
    picked = selection(rows=["10:20", ":5,100:"])
    assert picked == {"rows": [slice(10, 20), slice(None, 5), slice(100, None)]}


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("columns", ""),
        ("columns", "a,,b"),
        ("row_groups", "x"),
        ("row_groups", "1,"),
        ("row_groups", "1.5"),
        ("row_groups", "1:2:3"),
        ("row_groups", "1-3"),
        ("pages", "fare"),
        ("pages", ":3"),
        ("pages", "fare:x"),
        ("rows", "5"),
        ("rows", "-5:"),
        ("rows", "a:b"),
        ("rows", "20:10"),
    ],
)
def test_what_has_no_meaning_is_refused(option: str, text: str) -> None:
    with pytest.raises(pqlab.SelectionError):
        selection(**{option: [text]})
