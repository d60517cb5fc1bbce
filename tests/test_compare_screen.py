"""The Compare screen without a browser: two files, two traces, a `pqlab.compare` result."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import traitlets

import pqlab
from pqlab.comparison import Comparison
from pqlab.comparison.result import Pair
from pqlab.inspector import Session
from pqlab.inspector.compare import Compare, compared
from pqlab.inspector.panel import PanelSession
from pqlab.widgets import ComparePanel

STRANGE = "<img src=x onerror=alert(1)>"
TABLE = pa.table(
    {
        "same": pa.array(range(50_000), pa.int32()),
        "text": [f"value {n % 100}" for n in range(50_000)],
        STRANGE: [float(n) for n in range(50_000)],
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    options: dict[str, Any] = {"use_dictionary": ["text"], "row_group_size": 10_000}
    pq.write_table(TABLE, folder / "well.parquet", compression="zstd", **options)
    badly = {**options, "use_dictionary": False}
    compressions = {"same": "zstd", "text": "gzip", STRANGE: "none"}
    pq.write_table(TABLE, folder / "badly.parquet", compression=compressions, **badly)
    return folder


@pytest.fixture
def files(folder: Path) -> tuple[pqlab.ParquetFile, pqlab.ParquetFile]:
    one, other = (pqlab.open(folder / f"{name}.parquet") for name in ("badly", "well"))
    assert isinstance(one, pqlab.ParquetFile)
    assert isinstance(other, pqlab.ParquetFile)
    return one, other


class Screen:
    """A panel and all that it said."""

    def __init__(self, *sides: Any) -> None:
        self.said: list[dict[str, Any]] = []
        self.content = Compare(compared(*sides))
        self.session = PanelSession(self.content, self._hear)
        self.say(open=True)

    def _hear(self, message: dict[str, Any]) -> None:
        assert len(json.dumps(message)) < 1_000_000
        self.said.append(json.loads(json.dumps(message)))

    def say(self, **message: Any) -> None:
        self.session.handle(message)

    def last(self, kind: str) -> Any:
        return [message for message in self.said if message["kind"] == kind][-1]

    @property
    def body(self) -> Any:
        return self.last("view")["body"]

    def rows(self) -> list[dict[str, str]]:
        names = [column["name"] for column in self.body["table"]["columns"]]
        self.say(ask="compare", start=0, stop=200)
        return [dict(zip(names, row, strict=True)) for row in self.last("rows")["rows"]]


def sizes(path: Path) -> dict[str, int]:
    """By column, as pyarrow adds them up."""
    metadata, found = pq.ParquetFile(path).metadata, defaultdict[str, int](int)
    for group in range(metadata.num_row_groups):
        for leaf in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(leaf)
            found[chunk.path_in_schema] += chunk.total_compressed_size
    return dict(found)


# -------------------------------------------------------------------------------------- files


def test_files_show_what_differs_and_nothing_else(
    files: tuple[pqlab.ParquetFile, pqlab.ParquetFile], folder: Path
) -> None:
    screen = Screen(*files)
    rows = screen.rows()
    alike = [row["left"] for row in rows if row["left"] == row["right"]]
    assert [words for words in alike if not words.endswith(" values")] == []  # of row groups
    codecs = {
        row["column"]: (row["left"], row["right"]) for row in rows if row["property"] == "codec"
    }
    assert codecs == {"text": ("GZIP", "ZSTD"), STRANGE: ("UNCOMPRESSED", "ZSTD")}
    known = {name: sizes(folder / f"{name}.parquet") for name in ("badly", "well")}
    differing = {name for name, size in known["badly"].items() if size != known["well"][name]}
    assert {bar["name"] for bar in screen.body["bars"]} == differing
    for bar in screen.body["bars"]:
        assert bar["left"]["amount"] == known["badly"][bar["name"]]
        assert bar["right"]["amount"] == known["well"][bar["name"]]
        is_larger = known["well"][bar["name"]] > known["badly"][bar["name"]]
        assert bar["change"].startswith("▲" if is_larger else "▼")
    assert screen.body["names"] == ["badly.parquet", "well.parquet"]
    assert "well.parquet is" in screen.body["headline"]
    assert "smaller than badly.parquet" in screen.body["headline"]


def test_row_groups_are_one_row_until_asked_for(
    files: tuple[pqlab.ParquetFile, pqlab.ParquetFile],
) -> None:
    screen = Screen(*files)
    (row,) = [r for r in screen.rows() if r["property"] == "codec" and r["column"] == "text"]
    assert row["where"] == "0 to 4"
    screen.say(compare="row_groups", on=True)
    screen.say(compare="show", part="encodings")
    found = [r for r in screen.rows() if r["property"] == "codec" and r["column"] == "text"]
    assert [r["where"] for r in found] == ["0", "1", "2", "3", "4"]
    assert {r["part"] for r in screen.rows()} == {"encodings"}
    counts = dict(screen.body["parts"])
    assert counts["encodings"] == screen.body["table"]["num_rows"]
    screen.say(compare="show", part="nonsense")
    assert screen.last("error")["error"]["kind"] == "SelectionError"


def test_differences_are_sorted_as_numbers(
    files: tuple[pqlab.ParquetFile, pqlab.ParquetFile],
) -> None:
    screen = Screen(*files)
    screen.say(compare="show", part="sizes")
    known = screen.content.difference
    assert known is not None
    expected = known.frame.filter((pl.col("part") == "sizes") & pl.col("row_group").is_null())
    screen.say(compare="sort", column="change")
    shown = [(row["column"], row["property"]) for row in screen.rows()]
    falling = expected.sort("change", descending=True)
    assert shown == [
        (column, name.replace("_", " "))
        for column, name in falling.select("column", "property").iter_rows()
    ]


def test_equal_files_have_nothing_to_show(folder: Path) -> None:
    one, other = (pqlab.open(folder / "well.parquet") for _ in range(2))
    screen = Screen(one, other)
    assert screen.rows() == []
    assert screen.body["bars"] == []
    assert "has nothing that" in screen.body["headline"]


def test_texts_that_look_like_numbers_stay_as_they_are(tmp_path: Path) -> None:
    for name, value in (("a", "007"), ("b", "008")):
        pq.write_table(pa.table({"s": [value]}), tmp_path / f"{name}.parquet")
    screen = Screen(*(pqlab.open(tmp_path / f"{name}.parquet") for name in "ab"))
    (row,) = [row for row in screen.rows() if row["property"] == "min"]
    assert (row["left"], row["right"]) == ("007", "008")


# ------------------------------------------------------------------------------------- traces


def traced(file: pqlab.ParquetFile, *columns: str) -> pqlab.Trace:
    trace = pqlab.Trace()
    file.select(list(columns) or None).read(trace=trace)
    return trace


def test_traces_show_time_by_column_and_stage(
    files: tuple[pqlab.ParquetFile, pqlab.ParquetFile],
) -> None:
    before, after = (traced(file) for file in files)
    screen = Screen(before, after)

    def by_hand(trace: pqlab.Trace) -> dict[tuple[str, str], int]:
        found = defaultdict[tuple[str, str], int](int)
        for row in trace.to_frame().to_dicts():
            if row["column"] is not None and row["stage"] in ("decompress", "decode", "levels"):
                found[row["column"], row["stage"]] += row["duration_ns"]
        return found

    one, other = by_hand(before), by_hand(after)
    found = compared(before, after).frame.filter(pl.col("part") == "time")
    shown = found.filter(pl.col("property").is_in(["decompress", "decode", "levels"]))
    whole = max(sum(trace.to_frame()["duration_ns"].to_list()) for trace in (before, after))
    for row in shown.iter_rows(named=True):
        place = row["column"], row["property"]
        assert row["change"] == pytest.approx(other[place] - one[place], abs=2)
        assert abs(row["change"]) >= 0.004 * whole
    assert found["share"].sum() == pytest.approx(1)
    missing = [
        place
        for place in {*one, *other}
        if abs(other[place] - one[place]) > 0.006 * whole
        and place not in set(shown.select("column", "property").rows())
    ]
    assert not missing
    assert screen.body["left_out"] >= 0
    assert screen.body["bars"]
    for side in (bar[name] for bar in screen.body["bars"] for name in ("left", "right")):
        assert sum(part[1] for part in side["parts"]) == pytest.approx(side["amount"], abs=8)
    assert "times as long as before" in screen.body["headline"]


# --------------------------------------------------------------------------------------- runs


def test_a_comparison_shows_pairs_interval_and_verdict() -> None:
    pairs = [Pair("a" if n % 2 else "b", 10e6, 5e6 + n * 1e4) for n in range(20)]
    result = Comparison.of(("a", "b"), pairs)
    screen = Screen(result)
    shown = screen.body["pairs"]
    assert [ratio for ratio, _ in shown["ratios"]] == [round(p.b_ns / p.a_ns, 6) for p in pairs]
    assert [first for _, first in shown["ratios"]] == [int(pair.first == "b") for pair in pairs]
    assert shown["interval"] == [result.ratio.low, result.ratio.median, result.ratio.high]
    assert shown["verdict"] == "faster"
    assert screen.body["headline"] == result.headline
    assert len(screen.rows()) == 20


# ------------------------------------------------------------------------------ the inspector


class Inspector:
    """An inspector; nothing runs in another thread."""

    def __init__(self, file: pqlab.ParquetFile) -> None:
        self.said: list[dict[str, Any]] = []
        self.session = Session(file, self._hear, namespace={}, defer=lambda work: work())
        self.session.handle({"do": "go", "screen": "compare"})

    def _hear(self, message: dict[str, Any]) -> None:
        self.said.append(json.loads(json.dumps(message)))

    @property
    def body(self) -> Any:
        return [message for message in self.said if message["kind"] == "view"][-1]["body"]


def test_an_inspector_compares_its_last_two_reads(
    files: tuple[pqlab.ParquetFile, pqlab.ParquetFile],
) -> None:
    inspector = Inspector(files[0])
    assert inspector.body["kind"] == "nothing"
    inspector.session.handle({"run": "read"})
    assert inspector.body["kind"] == "nothing"
    inspector.session.selection = files[0].select(["same"])
    inspector.session.handle({"run": "read"})
    assert inspector.body["kind"] == "traces"
    assert inspector.body["names"] == ["the read before", "the last read"]
    inspector.session.hold_against(files[1])
    assert inspector.body["kind"] == "files"
    inspector.session.handle({"ask": "compare", "start": 0, "stop": 5})
    assert len(inspector.said[-1]["rows"]) == 5
    inspector.session.handle({"compare": "show", "part": "sizes"})
    assert inspector.body["part"] == "sizes"
    inspector.session.hold_against(traced(files[1]))
    assert inspector.body["names"][0] == "the given trace"


def test_what_an_inspector_is_held_against_is_a_trait(folder: Path) -> None:
    widget = pqlab.inspect(folder / "badly.parquet")
    widget.against = folder / "well.parquet"
    widget.view = {"screen": "compare"}
    assert widget._session.view()["body"]["kind"] == "files"
    assert isinstance(widget.against, pqlab.ParquetFile)
    widget.against = None
    assert widget._session.view()["body"]["kind"] == "nothing"
    with pytest.raises(traitlets.TraitError, match="what is compared"):
        widget.against = 17


# -------------------------------------------------------------------------------- the widget


def test_without_scripts_there_are_a_headline_and_a_table(folder: Path) -> None:
    panel = ComparePanel(folder / "badly.parquet", folder / "well.parquet")
    html = panel._repr_mimebundle_()[0]["text/html"]
    assert "smaller than" in html
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;img" in html
    assert "GZIP" in repr(panel)
    assert {"GZIP", "ZSTD"} <= set(panel.to_frame()["left"]) | set(panel.to_frame()["right"])


@pytest.mark.parametrize("sides", [(1, 2), (pqlab.Trace(), None), (pqlab.Trace(), "x.parquet")])
def test_what_cannot_be_compared_is_refused(sides: tuple[Any, Any], folder: Path) -> None:
    a, b = ((folder / "well.parquet") if side == "x.parquet" else side for side in sides)
    with pytest.raises(TypeError, match="can be compared"):
        ComparePanel(a, b)
