"""The timing screen of an inspector: brushing picks, and what is picked is marked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pqlab
from pqlab import sample
from pqlab.inspector import Session


class Screen:
    """An inspector on its timing screen after a read; nothing runs in another thread."""

    def __init__(self, file: pqlab.ParquetFile, columns: list[str]) -> None:
        self.said: list[dict[str, Any]] = []
        self.namespace: dict[str, Any] = {}
        self.session = Session(
            file, self._hear, namespace=self.namespace, defer=lambda work: work()
        )
        self.say(open=True)
        self.session.selection = file.select(columns)
        self.say(do="go", screen="timing")

    def _hear(self, message: dict[str, Any]) -> None:
        self.said.append(json.loads(json.dumps(message)))

    def say(self, **message: Any) -> None:
        self.session.handle(message)

    def last(self, kind: str) -> Any:
        return [message for message in self.said if message["kind"] == kind][-1]

    @property
    def body(self) -> Any:
        return self.last("view")["body"]

    @property
    def pages(self) -> pl.DataFrame:
        return self.session._timing.timing.frames.pages


@pytest.fixture(scope="module")
def taxi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("timing") / "taxi.parquet"
    sample.write(path, rows=200_000)
    return path


def after_a_read(taxi: Path, columns: list[str]) -> Screen:
    screen = Screen(pqlab.open(taxi), columns)
    assert screen.body["is_empty"]
    screen.say(run="read")
    assert screen.last("run")["state"] == "done"
    assert not screen.body["is_empty"]
    return screen


def test_the_screen_has_the_trace_of_the_last_read(taxi: Path) -> None:
    screen = after_a_read(taxi, ["fare_amount"])
    assert screen.session.trace is not None
    (bar,) = [bar for bar in screen.body["bars"]["rows"] if bar["column"] is not None]
    assert bar["name"] == "fare_amount"
    assert screen.pages.height == screen.session.trace.summary()["pages"].sum()
    screen.say(timing="marks")
    assert len(screen.last("marks")["pages"]["key"]) == screen.pages.height
    assert screen.body["picked"] is None  # all of them: nothing to mark


def test_a_brush_over_one_column_picks_its_pages_until_it_is_cleared(taxi: Path) -> None:
    screen = after_a_read(taxi, ["fare_amount"])
    before = screen.session.selection.selection
    part = screen.pages.filter(pl.col("page") >= 0).sort("start_ns")[3:5]
    screen.say(timing="brush", span=[part["start_ns"][0] + 1, part["stop_ns"][1] - 1])
    brushed = screen.session._timing.timing.pages.filter(pl.col("page") >= 0)
    assert set(part["key"]) <= set(brushed["key"])
    picked = screen.session.selection.read()
    assert picked.columns == ["fare_amount"]
    assert picked.height == brushed["values"].sum()
    marked = {key for start, stop in screen.body["picked"] for key in range(start, stop)}
    assert marked >= set(brushed["key"])
    assert not marked & set(screen.pages.filter(pl.col("page") >= 0)["key"]) - set(brushed["key"])
    again = eval(screen.session.selection.code)
    assert again.read().equals(picked)
    screen.say(timing="clear")
    assert screen.session.selection.selection == before
    assert screen.body["brush"] is None


def test_a_brush_over_several_columns_picks_the_rows_of_all_its_pages(taxi: Path) -> None:
    screen = after_a_read(taxi, ["fare_amount", "pickup_at"])
    stop = screen.session._timing.timing.frames.stop_ns
    screen.say(timing="brush", span=[0, stop])
    assert screen.session.selection.read().height == 200_000
    of_one_group = screen.pages.filter((pl.col("row_group") == 1) & (pl.col("page") >= 0))
    span = [int(of_one_group["start_ns"].min()), int(of_one_group["stop_ns"].max())]  # type: ignore[arg-type]
    screen.say(timing="brush", span=span)
    brushed = screen.session._timing.timing.pages.filter(pl.col("page") >= 0)
    assert brushed["leaf"].n_unique() == 2
    file, rows = screen.session.file, set[int]()
    firsts = file.row_groups["num_rows"].cum_sum().shift(1, fill_value=0).to_list()
    known = file.pages().select("row_group", "leaf", "page", "first_row", "num_rows")
    for row in brushed.join(known, on=["row_group", "leaf", "page"]).iter_rows(named=True):
        first = firsts[row["row_group"]] + row["first_row"]
        rows |= set(range(first, first + row["num_rows"]))
    picked = screen.session.selection
    assert picked.selection.rows is not None
    found: list[Any] = list(picked.selection.rows)
    assert {row for first, last in found for row in range(first, last)} == rows


def test_brushing_does_not_pick_where_it_was_told_not_to(taxi: Path) -> None:
    screen = after_a_read(taxi, ["fare_amount"])
    before = screen.session.selection.selection
    screen.say(timing="picks", on=False)
    screen.say(timing="brush", span=[0, screen.session._timing.timing.frames.stop_ns])
    assert screen.session.selection.selection == before
    screen.say(timing="picks", on=True)
    assert screen.session.selection.selection != before
    screen.say(timing="picks", on=False)
    assert screen.session.selection.selection == before


def test_what_is_picked_elsewhere_is_marked(taxi: Path) -> None:
    screen = after_a_read(taxi, ["fare_amount", "pickup_at"])
    screen.session.selection = screen.session.file.select(["fare_amount"], row_groups=[1])
    marked = {key for start, stop in screen.body["picked"] for key in range(start, stop)}
    expected = screen.pages.filter((pl.col("column") == "fare_amount") & (pl.col("row_group") == 1))
    assert marked == set(expected["key"])
    screen.say(do="go", screen="chunk", row_group=1, leaf=12)
    screen.say(do="pick_pages", pages=[0, 2])
    screen.say(do="go", screen="timing")
    marked = {key for start, stop in screen.body["picked"] for key in range(start, stop)}
    assert marked == set(expected.filter(pl.col("page") < 2)["key"])


def test_a_mark_leads_to_its_page(taxi: Path) -> None:
    screen = after_a_read(taxi, ["fare_amount"])
    page = screen.pages.filter(pl.col("page") == 2).row(0, named=True)
    screen.say(timing="open", key=page["key"])
    view = screen.last("view")
    assert view["screen"] == "chunk"
    assert view["body"]["column"] == "fare_amount"
    assert view["body"]["page"] == 2
    assert view["body"]["page_content"]["page"] == 2
    screen.say(timing="open", key=10**9)
    assert screen.last("error")["error"]["kind"] == "SelectionError"
