"""What a trace tells of an iteration: how far pages were, what was missed, windows over time."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from pqlab.trace import SERVED, Prefetch, Stage, Trace, WindowReason, blank_events

COLUMNS = ["a", "b"]


def events(*rows: dict[str, Any]) -> np.ndarray:
    made = blank_events(len(rows))
    for event, row in zip(made, rows, strict=True):
        for cell, value in row.items():
            event[cell] = value
    return made


def page(leaf: int, number: int, start: int, stop: int, **cells: int) -> dict[str, int]:
    given = {"row_group": 0, "leaf": leaf, "page": number, "stage": Stage.DECODE}
    return {**given, "start_ns": start, "duration_ns": stop - start, "queued_ns": 0, **cells}


def ask(start: int, stop: int, found: Prefetch, **cells: int) -> dict[str, int]:
    given = {"stage": Stage.WAIT, "start_ns": start, "duration_ns": stop - start}
    return {**given, "row_group": 0, "prefetch": found, **cells}


def told(*rows: dict[str, Any]) -> list[str | None]:
    """The prefetch of the pages, in the order (column, page, stage)."""
    trace = Trace()
    trace.begin("f", COLUMNS).add(events(*rows))
    frame = trace.to_frame().filter(pl.col("page") >= 0, pl.col("stage") != "wait")
    return frame.sort("leaf", "page", "start_ns")["prefetch"].to_list()


def test_outside_of_iterations_nothing_is_told() -> None:
    assert told(page(0, 0, 10, 20), page(0, 1, 20, 30)) == [None, None]
    waits_for_bytes = {"stage": Stage.WAIT, "start_ns": 5, "duration_ns": 3}
    assert told(waits_for_bytes, page(0, 0, 10, 20)) == [None]


def test_pages_were_ready_late_or_not_begun() -> None:
    assert told(
        page(0, 0, 10, 20),  # over before the ask
        page(0, 1, 40, 60),  # running
        page(1, 0, 70, 80),  # not begun
        page(1, 1, 90, 99, queued_ns=45),  # in the queue
        ask(50, 100, Prefetch.LATE, leaf=1, page=1),
    ) == ["ready", "late", "queue_empty", "late"]


def test_a_page_is_ready_once_its_last_stage_is_over() -> None:
    decompressed = page(0, 0, 10, 20, stage=Stage.DECOMPRESS, queued_ns=-1)
    assert told(decompressed, page(0, 0, 45, 60), ask(50, 70, Prefetch.LATE)) == ["late", "late"]


def test_a_page_whose_request_is_under_way_is_late() -> None:
    request = {
        "stage": Stage.FETCH,
        "request_id": 0,
        "start_ns": 30,
        "duration_ns": 25,
        "offset": 1000,
        "bytes_in": 500,
    }
    here, there = {"offset": 1400, "length": 100}, {"offset": 1500, "length": 100}
    assert told(
        request, page(0, 0, 60, 70, **here), page(0, 1, 60, 70, **there),
        ask(50, 80, Prefetch.LATE),
    ) == ["late", "queue_empty"]  # fmt: skip


def test_the_first_ask_counts_and_other_row_groups_do_not() -> None:
    assert told(
        page(0, 0, 30, 40, queued_ns=15), ask(20, 45, Prefetch.LATE), ask(50, 50, Prefetch.READY)
    ) == ["late"]
    assert told(page(0, 0, 30, 40), ask(50, 50, Prefetch.READY, row_group=1)) == [None]


def test_what_is_stated_stands() -> None:
    stated = {"prefetch": Prefetch.QUEUE_EMPTY}
    assert told(page(0, 0, 10, 20, **stated), ask(50, 60, Prefetch.LATE)) == ["queue_empty"]


def test_misses_name_page_stall_and_windows() -> None:
    trace = Trace()
    recording = trace.begin("f", COLUMNS)
    recording.add(
        events(
            ask(100, 130, Prefetch.QUEUE_EMPTY, leaf=1, page=4),
            ask(200, 200, Prefetch.READY, row_group=1),
            ask(300, 350, Prefetch.LATE, row_group=2, leaf=0, page=0),
        )
    )
    for time_ns, leaf, pages, why in (
        (50, -1, 2, WindowReason.START),
        (120, 1, 4, WindowReason.QUEUE_EMPTY),
        (320, 0, 3, WindowReason.LATE),
        (400, 1, 2, WindowReason.IDLE),
    ):
        recording.window(leaf, pages, why)
        read, change = trace._windows.pop()
        trace._windows.append((read, change._replace(time_ns=time_ns)))
    misses = trace.prefetch_misses()
    assert misses.select(pl.exclude("file")).rows() == [
        (0, 100, "queue_empty", "b", 0, 4, 30, 2, 4),
        (0, 300, "late", "a", 2, 0, 50, 2, 3),
    ]
    assert trace.windows().select(pl.exclude("file", "read")).rows() == [
        (None, 50, 2, "start"),
        ("b", 120, 4, "queue_empty"),
        ("a", 320, 3, "late"),
        ("b", 400, 2, "idle"),
    ]
    summary = {row["column"]: row for row in trace.summary().to_dicts()}
    assert [(summary[c]["misses"], summary[c]["stall_ns"]) for c in ("a", "b", None)] == [
        (1, 50),
        (1, 30),
        (0, 0),
    ]
    assert trace.reads().select("misses", "stall_ns").row(0) == (2, 80)


def test_a_miss_without_a_page_names_the_one_that_came_last() -> None:
    trace = Trace()
    trace.begin("f", COLUMNS).add(
        events(
            page(0, 0, 10, 90),
            page(1, 0, 20, 60),
            page(1, 1, 60, 99),
            page(0, 1, 100, 130),  # of the part after
            page(0, 0, 20, 98, row_group=1),
            ask(50, 100, Prefetch.LATE),
            ask(200, 210, Prefetch.LATE, row_group=7),
        )
    )
    misses = trace.prefetch_misses().select("row_group", "column", "page")
    assert misses.rows() == [(0, "b", 1), (7, None, None)]


def test_one_ask_may_be_for_several_row_groups() -> None:
    trace = Trace()
    recording = trace.begin("f", COLUMNS)
    asked_ns = recording.trace.reads()["start_ns"][0]
    recording.add(
        events(
            page(0, 0, asked_ns - 9, asked_ns - 5, row_group=3),
            page(1, 0, asked_ns - 9, asked_ns + 5, row_group=4),
            page(1, 0, asked_ns - 9, asked_ns - 5, row_group=5),
        )
    )
    recording.asked(asked_ns, Prefetch.LATE, row_groups=[3, 4], leaf=0)
    pages = trace.to_frame().filter(pl.col("page") == 0).sort("row_group")
    assert pages["prefetch"].to_list() == ["ready", "late", None]
    misses = Trace.merge({"a": trace}).prefetch_misses()
    assert misses.select("row_group", "column", "page").rows() == [(4, "b", 0)]


def test_recording_an_ask_times_it() -> None:
    trace = Trace()
    recording = trace.begin("f", COLUMNS)
    recording.asked(recording.trace.reads()["start_ns"][0], Prefetch.READY, row_groups=[3])
    row = trace.to_frame().row(0, named=True)
    assert (row["stage"], row["prefetch"], row["row_group"]) == ("wait", "ready", 3)
    assert row["page"] is None
    assert row["duration_ns"] > 0
    assert trace.prefetch_misses().is_empty()


# ------------------------------------------------------------------- requests and their pages


@pytest.mark.parametrize("seed", range(5))
def test_pages_find_their_requests_as_a_search_through_all_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trace = Trace()
    expected: dict[tuple[int, int], list[int]] = {}
    for read in range(3):
        recording = trace.begin("f", COLUMNS)
        ids = recording.request_ids(20)
        starts = np.sort(rng.integers(0, 1000, 20))
        sizes = rng.integers(1, 120, 20)  # some overlap, some hold others
        times = rng.integers(0, 50, 20)
        requests = [
            {"stage": Stage.FETCH, "request_id": one, "offset": at, "bytes_in": size, "start_ns": t}
            for one, at, size, t in zip(ids, starts, sizes, times, strict=True)
        ]
        pages = []
        for number in range(40):
            begin, size, at_ns = (int(rng.integers(0, high)) for high in (1000, 150, 100))
            pages.append(page(0, number, at_ns, at_ns + 1, offset=begin, length=size))
            expected[read, number] = [
                int(one["request_id"])
                for one in requests
                if one["offset"] < begin + size
                and one["offset"] + one["bytes_in"] > begin
                and one["start_ns"] <= at_ns
            ]
        recording.add(events(*requests, *pages))
    frame = trace.to_frame().filter(pl.col("page").is_not_null())
    found = {(r["read"], r["page"]): sorted(r["request_ids"] or []) for r in frame.to_dicts()}
    assert found == {key: sorted(ids) for key, ids in expected.items()}


def test_a_request_lists_what_it_served() -> None:
    trace = Trace()
    recording = trace.begin("f", COLUMNS)
    [one, two] = recording.request_ids(2)
    recording.add(
        events(
            {"stage": Stage.FETCH, "request_id": one, "offset": 10, "bytes_in": 50,
             "bytes_out": 40, "reason": 4},
            {"stage": Stage.FETCH, "request_id": two, "offset": 90, "bytes_in": 5,
             "bytes_out": 5, "reason": 1},
        )
    )  # fmt: skip
    served = [(10, 30, one, 0, 0), (40, 60, one, 1, 1), (90, 95, two, -1, -1)]
    recording.serve(np.array(served, SERVED))
    rows = trace.requests().to_dicts()
    assert [row["ranges"] for row in rows] == [
        [
            {"row_group": 0, "column": "a", "start": 10, "stop": 30},
            {"row_group": 1, "column": "b", "start": 40, "stop": 60},
        ],
        [{"row_group": None, "column": None, "start": 90, "stop": 95}],
    ]
    assert [(row["start"], row["stop"], row["reason"]) for row in rows] == [
        (10, 60, "pages"),
        (90, 95, "footer"),
    ]
    assert [row["wasted_bytes"] for row in rows] == [10, 0]
    assert [row["attempts"] for row in rows] == [None, None]
