"""The trace-event format, held against what its specification asks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from paged_files import paged_file

import pqlab
from pqlab.trace import Prefetch, Trace, WindowReason

# phase -> what it must have besides name, ph, ts, pid and tid
REQUIRED: dict[str, set[str]] = {
    "X": {"dur", "cat", "args"},
    "M": {"args"},
    "C": {"args"},
    "i": {"s"},
    "s": {"id", "cat"},
    "f": {"id", "cat", "bp"},
}


def exported(trace: Trace, path: Path) -> list[dict[str, Any]]:
    trace.to_chrome_trace(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["displayTimeUnit"] in ("ms", "ns")
    events: list[dict[str, Any]] = document["traceEvents"]
    for event in events:
        assert {"name", "ph", "ts", "pid", "tid"} <= set(event)
        assert REQUIRED[event["ph"]] <= set(event)
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
    return events


@pytest.fixture(scope="module")
def trace() -> Trace:
    trace = Trace()
    policy = pqlab.IOPolicy(gap_bytes=64, max_request_bytes=3000, concurrency=2)
    with pqlab.open(paged_file(0).data, io=policy) as file:
        for _ in range(2):
            file.read(["id", "word", "text"], trace=trace)
    return trace


@pytest.fixture(scope="module")
def events(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return exported(trace, tmp_path_factory.mktemp("chrome") / "trace.json")


def of(events: list[dict[str, Any]], phase: str) -> list[dict[str, Any]]:
    return [event for event in events if event["ph"] == phase]


def test_times_are_sorted_microseconds(trace: Trace, events: list[dict[str, Any]]) -> None:
    times = [event["ts"] for event in events if event["ph"] != "M"]
    assert times == sorted(times)
    frame = trace.to_frame()
    slices = of(events, "X")
    assert len(slices) == frame.height
    assert sum(event["dur"] for event in slices) == pytest.approx(frame["duration_ns"].sum() / 1000)
    first = frame["start_ns"][0]
    assert slices[0]["ts"] == pytest.approx(first / 1000)


def test_reads_are_processes_and_workers_lanes(trace: Trace, events: list[dict[str, Any]]) -> None:
    named = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in of(events, "M")
        if event["name"] == "thread_name"
    }
    slices = of(events, "X")
    assert {(event["pid"], event["tid"]) for event in slices} <= set(named)
    processes = [e for e in of(events, "M") if e["name"] == "process_name"]
    assert [event["pid"] for event in processes] == [0, 1]
    workers = {
        (row["read"], f"worker {row['worker']}")
        for row in trace.to_frame().to_dicts()
        if row["stage"] not in ("fetch", "wait") and row["worker"] is not None
    }
    assert {(pid, name) for (pid, _), name in named.items() if name.startswith("w")} == workers
    assert all(
        named[event["pid"], event["tid"]].startswith("requests") or "worker" not in event["args"]
        for event in slices
        if event["cat"] == "fetch"
    )


def test_slices_of_a_lane_nest(events: list[dict[str, Any]]) -> None:
    # What overlaps within a lane without being held by it is drawn wrong.
    lanes: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in of(events, "X"):
        lanes.setdefault((event["pid"], event["tid"]), []).append(event)
    for slices in lanes.values():
        open_until: list[float] = []
        for event in sorted(slices, key=lambda event: (event["ts"], -event["dur"])):
            stop = event["ts"] + event["dur"]
            while open_until and open_until[-1] <= event["ts"] + 1e-6:
                open_until.pop()
            assert not open_until or stop <= open_until[-1] + 1e-6
            open_until.append(stop)


def test_flows_lead_from_requests_to_pages(trace: Trace, events: list[dict[str, Any]]) -> None:
    sent = {event["id"]: event for event in of(events, "s")}
    used = {event["id"]: event for event in of(events, "f")}
    assert set(sent) == set(used)
    slices = of(events, "X")

    def around(flow: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            event
            for event in slices
            if (event["pid"], event["tid"]) == (flow["pid"], flow["tid"])
            and event["ts"] <= flow["ts"] <= event["ts"] + event["dur"]
        ]

    pairs = set()
    for number, flow in sent.items():
        ends = used[number]
        assert flow["ts"] <= ends["ts"]
        assert any(event["cat"] == "fetch" for event in around(flow))
        pages = [event for event in around(ends) if "page" in event["args"]]
        assert pages
        place = tuple(pages[0]["args"][cell] for cell in ("row_group", "column", "page"))
        pairs.add((flow["pid"], *place, flow["ts"]))
    frame = trace.to_frame().explode("request_ids")
    of_pages = frame.filter(frame["page"].is_not_null())
    keys = ("read", "row_group", "column", "page", "request_ids")
    assert len(pairs) == len(sent) == of_pages.select(keys).n_unique()


def test_counters_show_windows_and_instants_show_failures(tmp_path: Path) -> None:
    trace = Trace()
    recording = trace.begin("f", ["a", "b"])
    recording.window(-1, 2, WindowReason.START)
    recording.window(1, 4, WindowReason.LATE)
    recording.asked(0, Prefetch.LATE, row_groups=[0], leaf=1, page=3)
    recording.failed(pqlab.CorruptError("<broken>", row_group=0, column="b", page=3))
    events = exported(trace, tmp_path / "trace.json")
    assert [(event["name"], event["args"]) for event in of(events, "C")] == [
        ("window of all columns", {"pages": 2}),
        ("window of b", {"pages": 4}),
    ]
    [failure] = of(events, "i")
    assert "<broken>" in failure["args"]["failure"]
    [wait] = of(events, "X")
    assert wait["name"] == "miss: late b row group 0 page 3"
    assert events[-1] is failure


def test_an_empty_trace_is_a_file_too(tmp_path: Path) -> None:
    assert exported(Trace(), tmp_path / "trace.json") == []
