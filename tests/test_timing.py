"""The timing panel without a browser: its values against plain sums over the trace's rows."""

from __future__ import annotations

import itertools
import json
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pqlab
from pqlab import sample
from pqlab.errors import SelectionError
from pqlab.inspector.panel import PanelSession
from pqlab.inspector.timing import Timing, charts
from pqlab.inspector.timing.marks import busy_ns
from pqlab.inspector.timing.stages import DRAWN, ORDINAL
from pqlab.trace import Stage, WindowReason, blank_events
from pqlab.widgets import TimingPanel

SEED = 20261201
STRANGE = "<img src=x onerror=alert(1)>"
OF_PAGES = ("decompress", "levels", "decode", "levels+decode")
Row = dict[str, Any]


@pytest.fixture(scope="module")
def taxi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("timing") / "taxi.parquet"
    sample.write(path, rows=200_000)
    return path


@pytest.fixture(scope="module")
def whole(taxi: Path) -> pqlab.Trace:
    """Of one read."""
    trace = pqlab.Trace()
    pqlab.open(taxi).read(trace=trace)
    return trace


@pytest.fixture(scope="module")
def iterated(taxi: Path) -> pqlab.Trace:
    """Of an iteration."""
    trace = pqlab.Trace()
    columns = ["pickup_at", "fare_amount", "payment_type"]
    for _ in pqlab.open(taxi).select(columns).iter_row_groups(trace=trace):
        pass
    return trace


@pytest.fixture(params=["whole", "iterated"])
def trace(request: pytest.FixtureRequest) -> pqlab.Trace:
    found: pqlab.Trace = request.getfixturevalue(request.param)
    return found


class Screen:
    """A panel and all that it said."""

    def __init__(self, trace: pqlab.Trace) -> None:
        self.said: list[Row] = []
        self.namespace: Row = {}
        self.timing = Timing(trace)
        self.session = PanelSession(self.timing, self._hear, namespace=self.namespace)
        self.say(open=True)

    def _hear(self, message: Row) -> None:
        assert len(json.dumps(message)) < 1_000_000
        self.said.append(json.loads(json.dumps(message)))

    def say(self, **message: Any) -> None:
        self.session.handle(message)

    def last(self, kind: str) -> Any:
        return [message for message in self.said if message["kind"] == kind][-1]

    @property
    def body(self) -> Any:
        return self.last("view")["body"]

    def marks(self) -> Any:
        self.say(timing="marks")
        return self.last("marks")


def drawn(row: Row) -> int:
    """As the legend has it, written anew."""
    names: dict[str, str] = {
        "levels+decode": "decode",
        "compile": "device",
        "h2d": "device",
        "kernel": "device",
    }
    stage: str = row["stage"]
    return ORDINAL[names.get(stage, stage)]


def inside(row: Row, span: tuple[int, int] | None, origin: int) -> int:
    start: int = row["start_ns"] - origin
    stop: int = start + row["duration_ns"]
    return stop - start if span is None else max(0, min(stop, span[1]) - max(start, span[0]))


def sums_by_hand(trace: pqlab.Trace, span: tuple[int, int] | None) -> dict[Any, float]:
    """(column, stage) -> ns, event by event."""
    rows = trace.to_frame().to_dicts()
    origin = min(*(row["start_ns"] for row in rows), *trace.reads()["start_ns"].to_list())
    missed = {(m["read"], m["start_ns"]): m["column"] for m in trace.prefetch_misses().to_dicts()}
    firsts: dict[Any, Row] = {}  # the first stage of each page
    for row in rows:
        if row["page"] is not None and row["stage"] in OF_PAGES:
            firsts.setdefault((row["read"], row["row_group"], row["leaf"], row["page"]), row)
    bytes_of: dict[int, Counter[str]] = defaultdict(Counter)
    for row in firsts.values():
        for request in row["request_ids"] or ():
            bytes_of[request][row["column"]] += row["bytes_in"] / len(row["request_ids"])
    found: dict[Any, float] = defaultdict(float)
    for row in rows:
        ns = inside(row, span, origin)
        if row["stage"] == "fetch" and row["request_ids"] and bytes_of[row["request_ids"][0]]:
            parts = bytes_of[row["request_ids"][0]]
            for column, size in parts.items():
                found[column, drawn(row)] += ns * size / parts.total()
        elif row["stage"] == "fetch":
            found[None, drawn(row)] += ns
        else:
            owner: str | None = row["column"]
            if row["stage"] == "wait" and row["prefetch"] is not None:
                owner = owner or missed.get((row["read"], row["start_ns"]))
            found[owner, drawn(row)] += ns
    return {key: ns for key, ns in found.items() if ns > 0}


def middle(timing: Timing, first: float = 0.3, last: float = 0.6) -> tuple[int, int]:
    stop = timing.frames.stop_ns
    return int(stop * first), int(stop * last)


# ------------------------------------------------------------------------------- the values


@pytest.mark.parametrize("is_brushed", [False, True])
def test_bars_are_the_sums_of_the_events(trace: pqlab.Trace, is_brushed: bool) -> None:
    timing = Timing(trace)
    span = middle(timing) if is_brushed else None
    timing.do("brush", span=span)
    sums = charts.stage_sums(timing.frames, timing.state)
    shown = {(c, d): ns for c, d, ns in sums.iter_rows() if ns > 0}
    expected = sums_by_hand(trace, span)
    assert shown.keys() == expected.keys()
    for key, ns in expected.items():
        assert shown[key] == pytest.approx(ns, rel=1e-9), key
    bars = timing.body()["bars"]["rows"]
    assert sum(bar["ns"] for bar in bars) == pytest.approx(sum(expected.values()), abs=len(bars))
    assert [bar["ns"] for bar in bars] == sorted((bar["ns"] for bar in bars), reverse=True)
    for bar in bars:
        assert sum(part[1] for part in bar["parts"]) == pytest.approx(bar["ns"], abs=8)


def test_pages_are_those_of_the_trace_with_what_each_cost(trace: pqlab.Trace) -> None:
    expected: dict[Any, Counter[str]] = defaultdict(Counter)
    values: dict[Any, int | None] = {}
    for row in trace.to_frame().to_dicts():
        if row["page"] is not None and row["stage"] in OF_PAGES:
            place = row["row_group"], row["leaf"], row["page"]
            expected[place][row["stage"].removeprefix("levels+")] += row["duration_ns"]
            values[place] = row["values"] if "decode" in row["stage"] else values.get(place)
    pages = Timing(trace).pages
    assert pages.height == len(expected) > 50
    for row in pages.iter_rows(named=True):
        place = row["row_group"], row["leaf"], row["page"]
        assert row["decode_ns"] == expected[place]["decode"]
        assert row["levels_ns"] == expected[place]["levels"]
        assert row["total_ns"] == expected[place].total()
        assert row["values"] == values[place]
    fetched = trace.requests().filter(pl.col("reason") == "pages")["duration_ns"].sum()
    assert pages["fetch_ns"].sum() == pytest.approx(fetched, abs=pages.height)


def test_brush_and_columns_filter_the_page_table(whole: pqlab.Trace) -> None:
    screen = Screen(whole)
    timing = screen.timing
    span = middle(timing)
    origin = timing.frames.origin_ns
    begun: dict[Any, int] = {}
    ended: dict[Any, int] = {}
    for row in whole.to_frame().to_dicts():
        if row["page"] is not None and row["stage"] in OF_PAGES:
            place, start = (row["column"], row["row_group"], row["page"]), row["start_ns"] - origin
            begun[place] = min(begun.get(place, start), start)
            ended[place] = max(ended.get(place, 0), start + row["duration_ns"])
    screen.say(timing="brush", span=span)
    shown = timing.pages.select("column", "row_group", "page").rows()
    assert set(shown) == {
        place for place in begun if begun[place] < span[1] and ended[place] > span[0]
    }
    assert screen.body["table"]["num_rows"] == len(shown) > 10
    name = shown[0][0]
    screen.say(timing="pick_column", column=timing.frames.columns.index(name))
    assert set(timing.pages["column"]) == {name}
    assert screen.body["chosen_columns"] == [name]
    assert "1 column" in screen.body["filter"]
    screen.say(timing="clear")
    assert timing.pages.height == timing.frames.pages.height
    assert screen.body["filter"] == ""


def test_the_table_is_sorted_by_any_of_its_columns(whole: pqlab.Trace) -> None:
    screen = Screen(whole)

    def shown(column: str) -> list[str]:
        names = [each["name"] for each in screen.body["table"]["columns"]]
        screen.say(ask="timing", start=0, stop=100)
        return [row[names.index(column)] for row in screen.last("rows")["rows"]]

    dearest = screen.timing.frames.pages.sort("total_ns", descending=True)
    assert shown("column")[:5] == dearest["column"][:5].to_list()
    screen.say(timing="sort", column="values")
    counts = [int(text.replace(",", "")) for text in shown("values")]
    assert counts == sorted(counts, reverse=True)
    screen.say(timing="sort", column="values")
    counts = [int(text.replace(",", "")) for text in shown("values")]
    assert counts == sorted(counts)
    screen.say(timing="sort", column="values")
    assert screen.body["table"]["order"] is None


@pytest.mark.parametrize("measure", ["page", "value"])
def test_distributions_count_every_page_once(whole: pqlab.Trace, measure: str) -> None:
    timing = Timing(whole)
    timing.do("measure", of=measure)
    found = timing.body()["distribution"]
    column = {"page": "total_ns", "value": "ns_per_value"}[measure]
    pages = timing.pages.filter(pl.col(column) > 0)
    measured = pages[column].to_numpy()
    low = 10.0 ** np.floor(np.log10(measured.min()))
    high = 10.0 ** np.ceil(np.log10(measured.max()))
    assert sum(sum(row["bins"]) for row in found["rows"]) == pages.height
    for row in found["rows"]:
        is_dictionary = row["name"].endswith(" dictionary")
        part = pages.filter(
            (pl.col("encoding") == row["name"].removesuffix(" dictionary"))
            & ((pl.col("page") == -1) == is_dictionary)
        )[column].to_numpy()
        edges = np.geomspace(low, high, len(row["bins"]) + 1)
        expected = np.histogram(part, edges)[0]
        assert np.abs(expected - row["bins"]).sum() <= 2  # values upon an edge
        assert 10 ** (np.log10(low) + row["median_at"] * np.log10(high / low)) == pytest.approx(
            np.median(part), rel=0.01
        )


def test_windows_and_misses_are_those_of_the_trace(iterated: pqlab.Trace) -> None:
    timing = Timing(iterated)
    body, origin = timing.body(), timing.frames.origin_ns
    misses = iterated.prefetch_misses()
    assert [(row[0] + origin, row[1]) for row in body["misses"]["rows"]] == misses.select(
        "start_ns", "stall_ns"
    ).rows()
    assert misses.height
    assert f"{misses.height}" in body["misses"]["text"]
    windows = iterated.windows()
    shown = {
        (series["name"], step[0] + origin, step[1])
        for series in body["windows"]["series"]
        for step in series["steps"]
    }
    assert shown == set(windows.select("column", "time_ns", "window_pages").rows())
    assert body["windows"]["most"] == windows["window_pages"].max()


# -------------------------------------------------------------------------------- the marks


def test_marks_are_the_events_by_lane(trace: pqlab.Trace) -> None:
    screen = Screen(trace)
    marks, frames = screen.marks(), screen.timing.frames
    assert not marks["is_binned"]
    shown = Counter(zip(marks["start"], marks["duration"], marks["drawn"], strict=True))
    origin = frames.origin_ns
    assert shown == Counter(
        (row["start_ns"] - origin, row["duration_ns"], drawn(row))
        for row in trace.to_frame().to_dicts()
    )
    lanes = [marks["lanes"][lane] for lane in marks["lane"]]
    workers = {
        f"worker {n}" for n in trace.to_frame().filter(pl.col("page").is_not_null())["worker"]
    }
    assert workers <= set(lanes)
    assert "calls" in lanes
    pages = marks["pages"]
    place = marks["place"][lanes.index("worker 0")]
    page = frames.pages.row(pages["key"][place], named=True)
    assert marks["columns"][pages["column"][place]] == page["column"]
    assert pages["row_group"][place] == page["row_group"]


def test_busy_time_is_what_adding_up_overlaps_gives() -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(20):
        starts = rng.integers(0, 10_000, 60)
        stops = starts + rng.integers(0, 3_000, 60)
        edges = np.linspace(rng.integers(0, 3_000), rng.integers(6_000, 14_000), 33)
        expected = [
            sum(max(0.0, min(b, right) - max(a, left)) for a, b in zip(starts, stops, strict=True))
            for left, right in itertools.pairwise(edges)
        ]
        assert busy_ns(starts, stops, edges) == pytest.approx(expected)


def many_pages(count: int, name: str = "a", workers: int = 2) -> pqlab.Trace:
    """A trace of so many pages, three stages each."""
    trace = pqlab.Trace()
    recording = trace.begin("many.parquet", [name, f"{name}2"])
    stages = (Stage.DECOMPRESS, Stage.LEVELS, Stage.DECODE)
    events = blank_events(count * len(stages))
    order = np.arange(len(events))
    page = order // len(stages)
    events["stage"] = np.array(stages)[order % len(stages)]
    events["page"], events["leaf"] = page // 2, page % 2
    events["row_group"], events["worker"] = 0, page % workers
    events["start_ns"] = order * 1_000 + recording.trace.reads()["start_ns"][0]
    events["duration_ns"] = 900
    events["values"], events["bytes_in"], events["bytes_out"] = 100, 400, 400
    recording.add(events)
    recording.ended()
    return trace


def test_many_pages_are_binned_until_there_are_few() -> None:
    screen = Screen(many_pages(6_000))
    marks = screen.marks()
    assert marks["is_binned"]
    assert "6,000 pages: shown as sums over" in marks["told"]
    events = screen.timing.frames.events
    for lane, drawn_as in {
        (lane, d) for lane, d in zip(marks["lane"], marks["drawn"], strict=True)
    }:
        shown = sum(
            ns
            for at, ns in enumerate(marks["ns"])
            if (marks["lane"][at], marks["drawn"][at]) == (lane, drawn_as)
        )
        part = events.filter((pl.col("lane") == lane) & (pl.col("drawn") == drawn_as))
        spent = int((part["stop_ns"] - part["start_ns"]).sum())
        assert shown == pytest.approx(spent, abs=marks["num_bins"])
    screen.say(timing="zoom", span=[0, 1_000_000])
    assert not screen.marks()["is_binned"]
    assert screen.body["shown"] == [0, 1_000_000]
    screen.say(timing="zoom", span=None)
    assert screen.marks()["is_binned"]


def test_no_message_is_large_whatever_the_names_are() -> None:
    screen = Screen(many_pages(5_000, name=STRANGE + "x" * 1_000_000, workers=40))
    assert not screen.marks()["is_binned"]
    screen.say(ask="timing", start=0, stop=10_000)
    screen.say(timing="brush", span=[0, 5_000_000])
    assert screen.body["bars"]["rows"][0]["name"].startswith(STRANGE)
    wide = pqlab.Trace()
    recording = wide.begin("w", [f"{n}" + "y" * 2_000 for n in range(3_000)])
    events = blank_events(3_000)
    events["leaf"] = events["worker"] = np.arange(3_000)
    events["row_group"] = events["page"] = 0
    events["stage"], events["duration_ns"] = Stage.DECODE, 1
    recording.add(events)
    recording.window(0, 4, WindowReason.START)
    screen = Screen(wide)
    assert screen.marks()["lanes_left_out"] > 2_900
    assert screen.body["bars"]["left_out"] == 2_900


# ------------------------------------------------------------------------------ what it says


def test_a_first_read_is_cold_and_a_second_is_not(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    sample.write(path, rows=1_000)
    trace = pqlab.Trace()
    f = pqlab.open(path)
    f.read(trace=trace)
    f.read(trace=trace)
    assert trace.reads()["is_first"].to_list() == [True, False]
    screen = Screen(trace)
    screen.say(timing="look_at", read=0)
    assert "cold: the first read" in screen.body["notes"][0]["text"]
    screen.say(timing="look_at", read=1)
    assert not any("cold" in note["text"] for note in screen.body["notes"])
    assert [label.endswith("cold") for _, label in screen.body["reads"]] == [True, False]
    untraced = tmp_path / "u.parquet"
    sample.write(untraced, rows=1_000)
    pqlab.read(untraced)
    later = pqlab.Trace()
    for _ in pqlab.open(untraced).iter_row_groups(trace=later):
        pass
    assert later.reads()["is_first"].to_list() == [False]


def test_a_read_that_failed_says_so(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({STRANGE: list(range(5_000))}), path, use_dictionary=False)
    damaged = bytearray(path.read_bytes())
    damaged[4:40] = bytes(36)
    trace = pqlab.Trace()
    with pytest.raises(pqlab.CorruptError):
        pqlab.open(bytes(damaged)).read(trace=trace)
    body = Screen(trace).body
    assert any(note["text"].startswith("failed: CorruptError") for note in body["notes"])


def test_small_pages_are_pointed_out(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"a": list(range(100_000))}), path, use_dictionary=False, data_page_size=1_000,
        write_batch_size=100,
    )  # fmt: skip
    trace = pqlab.Trace()
    pqlab.open(path).read(trace=trace)
    notes = [note["text"] for note in Screen(trace).body["notes"]]
    assert any(note.startswith("small pages: half of the") for note in notes)
    assert any(note.startswith(tuple(stage.name for stage in DRAWN)) for note in notes)


def test_a_trace_of_nothing() -> None:
    screen = Screen(pqlab.Trace())
    assert screen.body["is_empty"]
    assert screen.marks()["lane"] == []
    screen.say(ask="timing", start=0, stop=10)
    assert screen.last("rows")["rows"] == []
    assert "Timing" in repr(TimingPanel(pqlab.Trace()))


@pytest.mark.parametrize(
    "message",
    [
        {"timing": "no such action"},
        {"timing": "brush", "span": "ab"},
        {"timing": "brush", "span": [1, None]},
        {"timing": "brush", "span": [float("nan"), float("inf")]},
        {"timing": "zoom"},
        {"timing": "look_at", "read": 99},
        {"timing": "look_at", "read": "x"},
        {"timing": "pick_column", "column": -1},
        {"timing": "measure", "of": "moon"},
        {"timing": "export", "what": "everything"},
        {"ask": "pages", "start": 0, "stop": 1},
        {},
    ],
)
def test_a_wrong_message_is_an_error_as_text(whole: pqlab.Trace, message: Row) -> None:
    screen = Screen(whole)
    before = screen.timing.state
    screen.session.handle(message)
    assert screen.last("error")["error"]["kind"] == "SelectionError"
    assert screen.timing.state == before


def test_a_brush_outside_of_the_trace_is_cut_to_it(whole: pqlab.Trace) -> None:
    timing = Timing(whole)
    timing.do("brush", span=[-(10**18), 10**30])
    assert timing.state.brush == (0, timing.frames.stop_ns)
    timing.do("brush", span=[10**30, 10**30])
    assert timing.state.brush is not None
    assert timing.state.brush[1] == timing.frames.stop_ns > timing.state.brush[0]


# -------------------------------------------------------------------------------- the widget


def test_traits_go_both_ways(whole: pqlab.Trace) -> None:
    panel = TimingPanel(whole)
    seen: list[pl.DataFrame] = []
    panel.observe(lambda change: seen.append(change.new), "pages")
    span = middle(panel._timing)
    panel.brush = span
    assert panel._timing.state.brush == span
    assert seen[-1].height < whole.summary()["pages"].sum()
    panel._session.handle({"timing": "clear"})
    cleared: Any = panel.brush
    assert cleared is None
    assert panel.pages.height == whole.summary()["pages"].sum()
    nothing: Any = "trace"
    with pytest.raises(TypeError, match=r"pqlab\.Trace"):
        TimingPanel(nothing)
    with pytest.raises(SelectionError):
        panel.brush = "noon"


def test_frames_as_traits_say_nothing_to_the_user(taxi: Path, whole: pqlab.Trace) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        panel = TimingPanel(whole)
        panel.brush = (0, 10_000_000)
        widget = pqlab.inspect(taxi)
        widget.set_trait("frame", panel.pages)
        widget.set_trait("frame", panel.pages)
    assert [str(each.message) for each in told] == []


def test_exports_overwrite_nothing(
    whole: pqlab.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    screen = Screen(whole)
    screen.namespace["timing_pages"] = "mine"
    screen.say(timing="export", what="frame")
    assert screen.namespace["timing_pages"] == "mine"
    assert screen.namespace["timing_pages_2"].height == screen.timing.pages.height
    assert "timing_pages_2" in screen.body["saved"]
    for _ in range(2):
        screen.say(timing="export", what="chrome")
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["pqlab-trace.json", "pqlab-trace_2.json"]
    events = json.loads((tmp_path / written[0]).read_text())["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) == whole.to_frame().height


def words(frame: pl.DataFrame) -> Iterator[str]:
    yield from frame["column"].drop_nulls().unique().to_list()


def test_without_scripts_there_is_a_table(whole: pqlab.Trace) -> None:
    panel = TimingPanel(whole)
    data, _ = panel._repr_mimebundle_()
    html = data["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "<script" not in html
    assert "run the cell again" in html
    assert all(name in html for name in words(whole.to_frame()))
    assert len(html) < 100_000
    assert all(name[:30] in repr(panel) for name in words(whole.to_frame()))


def test_names_are_text_where_there_are_no_scripts() -> None:
    panel = TimingPanel(many_pages(3, name=f"{STRANGE}\n"))
    html = panel._repr_mimebundle_()[0]["text/html"]
    assert "<img" not in html
    assert "&lt;img src=x" in html
    assert f"{STRANGE[:20]}" in repr(panel)
    assert "\\n" in repr(panel)


def test_the_chart_to_take_along_has_the_bars_sums(whole: pqlab.Trace) -> None:
    chart = TimingPanel(whole).chart().to_dict()
    (rows,) = chart["datasets"].values()
    assert sum(row["ms"] for row in rows) * 1e6 == pytest.approx(
        sum(sums_by_hand(whole, None).values())
    )


def test_what_a_saved_notebook_keeps_of_a_panel_is_small() -> None:
    panel = TimingPanel(many_pages(5_000))
    data, _ = panel._repr_mimebundle_()
    assert len(json.dumps(panel.get_state(), default=str)) < 200_000  # its script, nearly all of it
    assert len(json.dumps(data)) < 50_000
