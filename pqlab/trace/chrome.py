"""The trace-event format, for Perfetto and chrome://tracing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from pqlab.trace.events import Prefetch, Stage
from pqlab.trace.frames import events_frame
from pqlab.trace.joins import requests_of_pages
from pqlab.trace.recorder import Recorded

_Row: TypeAlias = dict[str, Any]

# Lanes of a read, as thread ids: its calls and its consumer, then requests, then workers.
_CALLS, _CONSUMER, _REQUESTS, _WORKERS = 0, 1, 100, 10_000
_LANE_NAMES = {_CALLS: "calls", _CONSUMER: "consumer"}
_SHOWN = (
    *("row_group", "column", "page", "bytes_in", "bytes_out", "values", "encoding", "codec"),
    *("prefetch", "reason", "request_ids", "queued_ns", "page_faults", "offset"),
)


def write(recorded: Recorded, path: str | os.PathLike[str]) -> None:
    """As `Trace.to_chrome_trace`. Times are microseconds on the trace's clock."""
    events = sorted(_events(recorded), key=lambda event: (event["ph"] != "M", event["ts"]))
    document = {"displayTimeUnit": "ns", "traceEvents": events}
    Path(path).write_text(json.dumps(document), encoding="utf-8")


def _events(recorded: Recorded) -> Iterator[_Row]:
    rows = events_frame(recorded).to_dicts()
    lanes = [_lane(row) for row in rows]
    for number, read in enumerate(recorded.reads):
        name = read.file if read.name is None else f"{read.name}: {read.file}"
        yield _meta("process_name", number, 0, name=f"read {number} of {name}")
        yield _meta("process_sort_index", number, 0, sort_index=number)
    for number, lane in sorted(
        {(row["read"], lane) for row, lane in zip(rows, lanes, strict=True)}
    ):
        yield _meta("thread_name", number, lane, name=_lane_name(lane))
        yield _meta("thread_sort_index", number, lane, sort_index=lane)
    for row, lane in zip(rows, lanes, strict=True):
        args = {name: row[name] for name in _SHOWN if row[name] is not None}
        event = {"name": _title(row), "cat": row["stage"], "ts": row["start_ns"] / 1000,
                 "pid": row["read"], "tid": lane, "args": args}  # fmt: skip
        if row["stage"] == Stage.FAILURE.text:
            args["failure"] = recorded.reads[row["read"]].failure
            yield {**event, "ph": "i", "s": "p"}
        else:
            yield {**event, "ph": "X", "dur": row["duration_ns"] / 1000}
    yield from _flows(recorded, lanes)
    yield from _counters(recorded)


def _flows(recorded: Recorded, lanes: list[int]) -> Iterator[_Row]:
    """An arrow from each request to the first stage of each page that it served."""
    events, read = recorded.events, recorded.read.tolist()
    requested = requests_of_pages(recorded)
    seen: set[tuple[int, ...]] = set()
    for page, fetch in zip(requested.page.tolist(), requested.fetch.tolist(), strict=True):
        place = tuple(int(events[cell][page]) for cell in _NUMBERED)
        key = (read[page], fetch, *place)
        if key in seen:
            continue
        seen.add(key)
        flow = {"name": "bytes", "cat": "fetch", "id": len(seen)}
        # Within the slices that it joins: a flow binds to what encloses its time.
        sent = int(events["start_ns"][fetch])
        used = int(events["start_ns"][page])
        yield {**flow, "ph": "s", "ts": sent / 1000, "pid": read[fetch], "tid": lanes[fetch]}
        yield {**flow, "ph": "f", "bp": "e", "ts": used / 1000, "pid": read[page],
               "tid": lanes[page]}  # fmt: skip


_NUMBERED = ("row_group", "leaf", "page")


def _counters(recorded: Recorded) -> Iterator[_Row]:
    for read, change in recorded.windows:
        columns = recorded.reads[read].columns
        column = columns[change.leaf] if change.leaf >= 0 else "all columns"
        yield {"name": f"window of {column}", "ph": "C", "ts": change.time_ns / 1000, "pid": read,
               "tid": 0, "args": {"pages": change.window_pages}}  # fmt: skip


def _lane(row: _Row) -> int:
    worker = row["worker"]
    if row["stage"] == Stage.WAIT.text and row["prefetch"] is not None:
        return _CONSUMER
    if row["stage"] == Stage.FETCH.text and worker is not None:
        return _REQUESTS + int(worker)
    return _CALLS if worker is None else _WORKERS + int(worker)


def _lane_name(lane: int) -> str:
    if lane >= _WORKERS:
        return f"worker {lane - _WORKERS}"
    return f"requests {lane - _REQUESTS}" if lane >= _REQUESTS else _LANE_NAMES[lane]


def _title(row: _Row) -> str:
    missed = row["prefetch"] not in (None, Prefetch.READY.text)
    of = [row["column"] or row["reason"] or ""]
    if row["row_group"] is not None:
        of.append(f"row group {row['row_group']}")
    if row["page"] is not None:
        of.append("dictionary" if row["page"] == -1 else f"page {row['page']}")
    stage = (
        f"miss: {row['prefetch']}" if missed and row["stage"] == Stage.WAIT.text else row["stage"]
    )
    return " ".join(filter(None, [stage, *of]))


def _meta(what: str, pid: int, tid: int, **args: object) -> _Row:
    return {"name": what, "ph": "M", "ts": 0, "pid": pid, "tid": tid, "args": args}
