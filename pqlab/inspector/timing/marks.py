"""The timeline's marks: every span of time, or, where there are too many, sums over bins.

Marks are columns of small integers, since they are the largest message of a panel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pqlab import text
from pqlab.inspector.timing.charts import of_read
from pqlab.inspector.timing.frames import TimingFrames, largest
from pqlab.inspector.timing.state import Span, TimingState

MAX_PAGES, MAX_EVENTS, MAX_LANES = 5_000, 16_000, 48
_CELLS, _BINS = 12_000, 400
_NAME_CHARACTERS = 40

Times = npt.NDArray[np.int64]


def marks(frames: TimingFrames, state: TimingState) -> dict[str, Any]:
    """What the timeline draws of the time that it shows; `is_binned` where those are sums.

    Times are ns from the start of what is shown. Of marks: lane, drawn, start, duration, place
    (in `pages`, -1: none). Of bins: lane, drawn, bin, ns.
    """
    span = shown(frames, state)
    events = of_read(frames.events, state).filter(
        (pl.col("stop_ns") >= span[0]) & (pl.col("start_ns") < span[1])
    )
    lanes = events["lane"].unique().sort()[:MAX_LANES]
    left_out = events["lane"].n_unique() - len(lanes)
    events = events.filter(pl.col("lane").is_in(lanes.implode()))
    of_lane = {lane: place for place, lane in enumerate(lanes.to_list())}
    pages_shown = events["key"].n_unique() - int(events["key"].has_nulls())
    answer: dict[str, Any] = {
        "span": list(span),
        "lanes": [frames.lanes[lane] for lane in of_lane],
        "lanes_left_out": left_out,
        "pages_shown": pages_shown,
    }
    places = events["lane"].replace_strict(of_lane, return_dtype=pl.Int64)
    events = events.with_columns(places.alias("lane"))
    if pages_shown > MAX_PAGES or events.height > MAX_EVENTS:
        return {**answer, "is_binned": True, **_binned(events, span, len(of_lane))}
    return {**answer, "is_binned": False, **_exact(frames, events, span)}


def shown(frames: TimingFrames, state: TimingState) -> Span:
    """The part of the time that the timeline shows."""
    if state.shown is not None:
        return state.shown
    return whole(frames, state)


def whole(frames: TimingFrames, state: TimingState) -> Span:
    """From the first to the last moment of the read that is looked at."""
    if state.read is None:
        return 0, max(frames.stop_ns, 1)
    read = frames.reads.row(state.read, named=True)
    start = int(read["start_ns"])
    stop = max(
        start + int(read["duration_ns"] or 0), largest(of_read(frames.events, state)["stop_ns"])
    )
    return start, max(stop, start + 1)


def _exact(frames: TimingFrames, events: pl.DataFrame, span: Span) -> dict[str, Any]:
    keys = events["key"].drop_nulls().unique().sort()
    pages = frames.pages[keys.cast(pl.UInt32)] if len(keys) else frames.pages.head(0)
    names = pages["column"].unique(maintain_order=True).to_list()
    column = {name: place for place, name in enumerate(names)}
    place = pl.Series(np.searchsorted(keys.to_numpy(), events["key"].fill_null(0).to_numpy()))
    return {
        "lane": events["lane"].to_list(),
        "drawn": events["drawn"].to_list(),
        "start": (events["start_ns"] - span[0]).to_list(),
        "duration": (events["stop_ns"] - events["start_ns"]).to_list(),
        "place": place.zip_with(events["key"].is_not_null(), pl.Series([-1])).to_list()
        if len(keys)
        else [-1] * events.height,
        "bytes": events["bytes_in"].fill_null(0).to_list(),
        "pages": {
            "key": keys.to_list(),
            "column": [column[name] for name in pages["column"].to_list()],
            "row_group": pages["row_group"].to_list(),
            "page": pages["page"].to_list(),
        },
        "columns": [text.clip(text.visible(name), _NAME_CHARACTERS) for name in names],
    }


def _binned(events: pl.DataFrame, span: Span, num_lanes: int) -> dict[str, Any]:
    count = max(min(_BINS, _CELLS // max(num_lanes, 1)), 1)
    edges = np.linspace(span[0], span[1], count + 1)
    found: dict[str, list[int]] = {"lane": [], "drawn": [], "bin": [], "ns": []}
    for lane, drawn in events.select("lane", "drawn").unique().sort("lane", "drawn").iter_rows():
        part = events.filter((pl.col("lane") == lane) & (pl.col("drawn") == drawn))
        busy = busy_ns(part["start_ns"].to_numpy(), part["stop_ns"].to_numpy(), edges)
        rounded = np.rint(busy).astype(np.int64)
        filled = np.flatnonzero(rounded)
        found["lane"] += [lane] * len(filled)
        found["drawn"] += [drawn] * len(filled)
        found["bin"] += filled.tolist()
        found["ns"] += rounded[filled].tolist()
    return {**found, "num_bins": count}


def busy_ns(starts: Times, stops: Times, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How much of the spans [start, stop) lies between each edge and the next."""

    def since(times: Times) -> npt.NDArray[np.float64]:
        """For each edge the sum of how long ago those times were that lie before it."""
        times = np.sort(times)
        before = np.searchsorted(times, edges, "left")
        sums = np.concatenate([[0], np.cumsum(times, dtype=np.float64)])
        past: npt.NDArray[np.float64] = before * edges - sums[before]
        return past

    difference: npt.NDArray[np.float64] = np.diff(since(starts) - since(stops))
    return np.maximum(difference, 0)
