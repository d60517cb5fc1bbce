"""Frames as text and as JSON."""

from __future__ import annotations

import base64
import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import polars as pl
import pytest
from rich.console import Console

from pqlab import tables

LARGE = 9_223_372_036_854_775_807
FRAME = pl.DataFrame(
    {
        "i": [LARGE, None, -1],
        "u": pl.Series([2**64 - 1, 0, None], dtype=pl.UInt64),
        "f": [0.1, float("nan"), float("-inf")],
        "s": ["", None, "a\nb"],
        "b": [b"\x00\xff", b"", None],
        "d": [Decimal("12.30"), None, Decimal("-0.05")],
        "t": pl.Series([1_700_000_000_000_000_001, None, 0]).cast(pl.Datetime("ns", "UTC")),
        "l": [[1.5, float("inf")], [], None],
        "st": [{"x": date(2026, 1, 2), "y": [time(1, 2, 3)]}, None, {"x": None, "y": None}],
        "ok": [True, None, False],
    }
)


def test_json_rows_are_exact() -> None:
    rows = [json.loads(line) for line in tables.json_rows(FRAME)]
    assert [row["i"] for row in rows] == [LARGE, None, -1]
    assert [row["u"] for row in rows] == [2**64 - 1, 0, None]
    assert [row["f"] for row in rows] == [0.1, {"float": "nan"}, {"float": "-inf"}]
    assert [row["s"] for row in rows] == ["", None, "a\nb"]
    assert base64.b64decode(rows[0]["b"]["base64"]) == b"\x00\xff"
    assert [row["b"] for row in rows[1:]] == [{"base64": ""}, None]
    assert [row["d"] for row in rows] == ["12.30", None, "-0.05"]
    assert rows[0]["t"].startswith("2023-11-14 22:13:20.000000001")
    assert [row["l"] for row in rows] == [[1.5, {"float": "inf"}], [], None]
    assert [row["st"] for row in rows] == [
        {"x": "2026-01-02", "y": ["01:02:03"]},
        None,
        {"x": None, "y": None},
    ]
    assert [row["ok"] for row in rows] == [True, None, False]


def test_json_has_no_tokens_that_json_lacks() -> None:
    for line in tables.json_rows(FRAME):
        json.loads(line, parse_constant=pytest.fail)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), "2026-01-02 03:04:05.000006"),
        (timedelta(days=1, seconds=3), "P1DT3S"),
        (time(1, 2, 3, 4), "01:02:03.000004"),
    ],
)
def test_times_are_iso_text(value: object, text: str) -> None:
    (row,) = tables.json_rows(pl.DataFrame({"x": [value]}))
    assert json.loads(row)["x"].startswith(text)
    (nested,) = tables.json_rows(pl.DataFrame({"x": [[{"y": value}]]}))
    assert json.loads(nested)["x"][0]["y"] == json.loads(row)["x"]


def test_small_floats_have_their_shortest_decimal() -> None:
    values = [6.53, 1e20, -0.1, None, float("inf")]
    frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float32)}).with_columns(
        nested=pl.struct(y=pl.concat_list("x"))
    )
    rows = [json.loads(line) for line in tables.json_rows(frame)]
    assert [row["x"] for row in rows] == [6.53, 1e20, -0.1, None, {"float": "inf"}]
    assert rows[0]["nested"] == {"y": [6.53]}


def test_fitting() -> None:
    frame = pl.DataFrame({f"column_{number}": ["x" * 40] * 3 for number in range(20)})
    assert tables.fitting(frame, 100).width == 5
    assert tables.fitting(frame, 10).width == 1
    assert tables.fitting(frame, 1000).width == 20


def test_document() -> None:
    document = json.loads("".join(tables.json_document("pages", {"file": "x\n"}, FRAME[["i"]])))
    assert document == {
        "pqlab": 1,
        "command": "pages",
        "file": "x\n",
        "rows": [{"i": LARGE}, {"i": None}, {"i": -1}],
    }
    assert json.loads("".join(tables.json_document("info", {"a": 1}, None))) == {
        "pqlab": 1,
        "command": "info",
        "a": 1,
    }
    assert json.loads("".join(tables.json_document("x", {}, FRAME[:0])))["rows"] == []


def test_plain_lines_are_aligned_and_one_per_row() -> None:
    lines = list(tables.plain_lines(FRAME[["s", "i"]]))
    assert lines == [
        "s" + "i".rjust(24),
        '""' + "9223372036854775807".rjust(23),
        "—" + "—".rjust(24),
        r"a\nb" + "-1".rjust(21),
    ]


def test_rich_markup_in_names_and_values_is_text() -> None:
    frame = pl.DataFrame(
        {"[bold]n[/bold]": ["[link=http://x]y[/link]", "\x1b[31m"], "n": [1000, 1]}
    )
    console = Console(force_terminal=True, width=100)
    with console.capture() as captured:
        console.print(tables.rich_table(frame, title="[red]t[/red]"))
    shown = captured.get()
    for text in ("[bold]n[/bold]", "[link=http://x]y[/link]", r"\x1b[31m", "[red]t[/red]", "1,000"):
        assert text in shown
    assert "\x1b]8" not in shown  # no hyperlink


def test_cells() -> None:
    assert tables.cell(None) == "—"
    assert tables.cell("") == '""'
    assert tables.cell(b"\x01") == "0x01"
    assert tables.cell(True) == "true"
    assert tables.cell("x" * 100).endswith("…")
    assert tables.cell({"a": [None, "b\n"]}) == r'{"a": [null, "b\n"]}'
