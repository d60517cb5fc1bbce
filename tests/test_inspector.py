"""The inspector without a browser: messages in, messages out."""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inspector_screen import Screen, of_table

import pqlab
from pqlab import sample
from pqlab.errors import SelectionError

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import footer_files


@pytest.fixture(scope="module")
def taxi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("inspector") / "taxi.parquet"
    sample.write(path, rows=200_000)
    return path


@pytest.fixture
def screen(taxi: Path) -> Screen:
    return Screen(pqlab.open(taxi))


def test_overview_shows_what_pyarrow_knows(screen: Screen, taxi: Path) -> None:
    view, known = screen.last("view"), pq.ParquetFile(taxi)
    assert view["screen"] == "overview"
    assert [row["name"] for row in view["body"]["schema"]] == known.schema.names
    assert sum(part["bytes"] for part in view["body"]["parts"]) == taxi.stat().st_size
    assert ["200,000", "rows"] in view["identity"]["figures"]


@pytest.mark.parametrize("lens", ["size", "ratio", "encoding", "nulls", "pages", "time"])
def test_grid_through_every_lens(screen: Screen, taxi: Path, lens: str) -> None:
    screen.say(do="go", screen="grid")
    screen.say(do="look", lens=lens)
    rows, known = screen.rows("grid"), pq.ParquetFile(taxi).metadata
    assert [row["leaf"] for row in rows] == list(range(known.num_columns))
    assert {len(row["cells"]) for row in rows} == {known.num_row_groups}
    chunk = known.row_group(0).column(4)  # passenger_count, with nulls
    shade, _, full = rows[4]["cells"][0]
    expected = {
        "size": f"{chunk.total_compressed_size / 1024:.1f} KiB",
        "ratio": f"{chunk.total_uncompressed_size / chunk.total_compressed_size:.2f} ×",
        "encoding": "RLE_DICTIONARY",
        "nulls": f"{100 * chunk.statistics.null_count / chunk.num_values:.1f} % of the values",
        "time": "not read",
    }
    assert full == expected.get(lens, full)
    assert "page" in full or lens != "pages"
    assert shade == -1 if lens == "time" else 0 <= shade <= 8


def test_grid_is_sorted_and_filtered(screen: Screen, taxi: Path) -> None:
    known = pq.ParquetFile(taxi).metadata
    sizes = {
        known.schema.column(leaf).path: sum(
            known.row_group(group).column(leaf).total_compressed_size
            for group in range(known.num_row_groups)
        )
        for leaf in range(known.num_columns)
    }
    screen.say(do="go", screen="grid")
    screen.say(do="look", order="size", pattern="AMOUNT")
    wanted = sorted((name for name in sizes if "amount" in name), key=lambda n: -sizes[n])
    assert [row["name"] for row in screen.rows("grid")] == wanted


def test_nested_columns_fold_below_their_root() -> None:
    table = pa.table({"a": [1], "s": pa.array([{"x": 1, "y": 2}]), "z": ["t"]})
    screen = of_table(table)
    screen.say(do="go", screen="grid")
    rows = screen.rows("grid")
    assert [(row["name"], row["level"], row["folded"]) for row in rows] == [
        ("a", 1, None), ("s", 1, False), ("x", 2, None), ("y", 2, None), ("z", 1, None),
    ]  # fmt: skip
    screen.say(do="fold", root=1)
    assert [row["name"] for row in screen.rows("grid")] == ["a", "s", "z"]
    screen.say(do="pick_cells", rows=[1, 2], row_groups=None)
    assert screen.session.selection.narrowed.leaves == (1, 2)


def test_a_picked_rectangle_is_the_same_selection_as_code(screen: Screen, taxi: Path) -> None:
    screen.say(do="go", screen="grid")
    screen.say(do="look", order="name")
    names = sorted(pq.ParquetFile(taxi).schema_arrow.names)
    screen.say(do="pick_cells", rows=[2, 5], row_groups=[1, 2])
    selection = screen.session.selection
    assert sorted(selection.read().columns) == sorted(names[2:5])
    again = eval(selection.code)
    assert again.selection == selection.selection
    assert again.read().equals(pl.from_arrow(pq.ParquetFile(taxi).read_row_group(1)).select(  # type: ignore[union-attr]
        selection.read().columns
    ))  # fmt: skip
    slice_ = screen.last("slice")
    plan = selection.plan()
    assert f"reads {plan.requested_bytes / 1024:.0f} KiB" in slice_["text"].replace(".0 ", " ")
    assert "1 row group × 3 columns" in slice_["text"]
    assert f"{plan.num_rows:,} rows" in slice_["text"]
    screen.say(do="pick_cells", rows=[0, 1], row_groups=[0, 1], mode="add")
    assert len(screen.session.selection.narrowed.leaves) == 4
    screen.say(do="clear")
    assert screen.last("slice")["is_everything"]


def test_pages_are_read_when_asked_for_and_picked(screen: Screen, taxi: Path) -> None:
    screen.say(do="go", screen="chunk", row_group=0, leaf=2)
    assert screen.last("view")["body"]["pages"] is None
    screen.say(load="pages")
    known = screen.session.file.pages(0, 2)
    head = [column["name"] for column in screen.last("view")["body"]["pages"]["columns"]]
    rows = screen.rows("pages")
    assert [row[head.index("page")] for row in rows] == [str(n) for n in known["page"].to_list()]
    assert rows[0][head.index("encoding")] == "not read"
    screen.say(load="headers")
    assert screen.rows("pages")[0][head.index("encoding")] == "PLAIN"
    screen.say(do="pick_pages", pages=[1, 3])
    first, rows_of = known["first_row"].to_list(), known["num_rows"].to_list()
    slice_ = screen.last("slice")
    assert f"({first[1]:,}:{first[2] + rows_of[2]:,} of row group 0)" in slice_["text"]
    assert screen.last("view")["body"]["picked_pages"] == [[1, 3]]
    screen.say(copy="magic")
    assert screen.last("copy")["text"] == f"%pqread {taxi} -p 0/pickup_at:1:3 -o df"
    screen.say(do="sort", table="pages", column="page")
    screen.say(do="sort", table="pages", column="page")
    assert screen.rows("pages")[0][head.index("page")] == str(max(known["page"].to_list()))


def test_a_page_shows_header_values_and_bytes(screen: Screen, taxi: Path) -> None:
    screen.say(do="go", screen="chunk", row_group=0, leaf=0)
    screen.say(do="go", screen="chunk", page=1)
    page = screen.last("view")["body"]["page_content"]
    known = screen.session.file.pages(0, 0).filter(pl.col("page") == 1).row(0, named=True)
    values = pq.read_table(taxi, columns=["trip_id"])["trip_id"].to_pylist()
    assert page["values"][:3] == [str(value) for value in values[known["first_row"] :][:3]]
    assert taxi.read_bytes()[known["offset"] :][:4].hex(" ") in page["hex"][0]
    assert any("num_values" in line for line in page["header"])


def test_dictionary_is_searched(screen: Screen, taxi: Path) -> None:
    screen.say(do="go", screen="chunk", row_group=0, leaf=10, tab="dictionary")
    screen.say(load="dictionary")
    kinds = set(
        pq.ParquetFile(taxi).read_row_group(0, ["payment_type"])["payment_type"].to_pylist()
    )
    shown = {row[1] for row in screen.rows("dictionary")}
    assert shown == kinds
    word = min(kinds)
    screen.say(do="look", search=word)
    assert {row[1] for row in screen.rows("dictionary")} == {k for k in kinds if word in k}


def test_reading_assigns_and_asks_before_it_overwrites(screen: Screen, taxi: Path) -> None:
    screen.namespace["df"] = "mine"
    screen.say(do="pick_cells", rows=[0, 2], row_groups=[0, 1])
    screen.say(run="read")
    assert screen.last("slice")["confirm"]
    assert screen.namespace["df"] == "mine"
    screen.say(run="read", overwrite=True)
    assert screen.last("run")["state"] == "done"
    known = pl.from_arrow(pq.ParquetFile(taxi).read_row_group(0, ["trip_id", "vendor_id"]))
    assert screen.namespace["df"].equals(known)
    screen.say(run="read")  # its own frame may be read anew
    assert not screen.last("slice")["confirm"]
    screen.say(do="go", screen="grid")
    screen.say(do="look", lens="time")
    cells = [row["cells"][0] for row in screen.rows("grid")]
    assert [cell[0] >= 0 for cell in cells[:3]] == [True, True, False]


def test_a_read_that_fails_names_its_place() -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": list(range(5000))}), sink, use_dictionary=False)
    damaged = bytearray(sink.getvalue())
    damaged[4:40] = bytes(36)
    screen = Screen(pqlab.open(bytes(damaged)))
    screen.say(run="read")
    run = screen.last("run")
    assert run["state"] == "failed"
    assert run["error"]["kind"] == "CorruptError"
    assert "column a" in run["error"]["place"]
    assert "df" not in screen.namespace


def test_a_replaced_file_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": list(range(1000))}), path)
    screen = Screen(pqlab.open(path))
    pq.write_table(pa.table({"a": list(range(2000))}), path)
    screen.say(run="read")
    assert screen.last("run")["error"]["kind"] == "SourceChangedError"


def test_names_that_are_not_unique_are_picked_by_ordinal() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["same", "same"])
    screen = of_table(table)
    screen.say(do="pick_cells", rows=[1, 2], row_groups=None)
    assert screen.session.selection.narrowed.leaves == (1,)
    assert "columns=[1]" in screen.session.selection.code


@pytest.mark.parametrize(
    "message",
    [
        {"do": "go", "screen": "nowhere"},
        {"do": "go", "screen": "chunk", "leaf": 10**9, "row_group": 0},
        {"do": "go", "screen": "chunk", "leaf": -1, "row_group": 0},
        {"do": "no such action"},
        {"do": "go"},
        {"do": "name", "variable": "import"},
        {"do": "pick_cells", "rows": [5, 5], "row_groups": None},
        {"load": "pages"},
        {"load": "passwords"},
        {"ask": "pages", "start": 0, "stop": 10},
        {},
    ],
)
def test_a_wrong_message_is_an_error_as_text(screen: Screen, message: dict[str, Any]) -> None:
    before = screen.session.state
    screen.session.handle(message)
    assert screen.last("error")["error"]["kind"] == "SelectionError"
    assert screen.session.state == before


def test_actions_raise_where_nobody_listens(screen: Screen) -> None:
    with pytest.raises(SelectionError, match="no action"):
        screen.session.do("nothing")


def test_strange_names_stay_text() -> None:
    name = "<img src=x onerror=alert(1)>\n\u202e"
    screen = of_table(pa.table({name: [1]}, metadata={"k": "<script>" + "x" * 1_000_000}))
    assert len(json.dumps(screen.last("view"))) < 20_000
    screen.say(do="go", screen="grid")
    assert screen.rows("grid")[0]["name"] == "<img src=x onerror=alert(1)>\\n\\u202e"


def test_ten_thousand_columns_and_sixty_one_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "wide.parquet"
    footer_files.write(path, 10_000, 61)
    screen = Screen(pqlab.open(path))
    steps: list[dict[str, Any]] = [
        {"do": "go", "screen": "grid"},
        *({"do": "look", "lens": lens} for lens in ("encoding", "nulls", "pages", "ratio")),
        {"do": "look", "order": "size"},
        {"ask": "grid", "start": 0, "stop": 100},
        {"ask": "grid", "start": 9_950, "stop": 10_000},
        {"ask": "grid", "start": 0, "stop": 610_000},
        {"do": "look", "pattern": "column_99"},
        {"do": "pick_cells", "rows": [0, 50], "row_groups": [3, 9]},
        {"do": "go", "screen": "column", "leaf": 9_999},
        {"ask": "column", "start": 0, "stop": 100},
    ]
    slowest = 0.0
    for step in steps:
        screen.session.handle(step)  # fills what is kept
        begin = time.perf_counter()
        screen.session.handle(step)
        slowest = max(slowest, time.perf_counter() - begin)
    assert max(len(json.dumps(message)) for message in screen.said) < 1_000_000
    assert len(screen.last("rows")["rows"]) == 61
    assert slowest < 1  # far less on a machine of one's own: benchmarks/widgets.py measures it
