"""What a trace says in a few numbers and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from pqlab import text
from pqlab.inspector.timing import charts
from pqlab.inspector.timing.frames import TimingFrames
from pqlab.inspector.timing.marks import whole
from pqlab.inspector.timing.stages import DRAWN, ORDINAL
from pqlab.inspector.timing.state import TimingState

_MANY = 200  # reads that a panel lists
_SMALL_VALUES, _MANY_PAGES = 2_000, 100


def figures(frames: TimingFrames, state: TimingState) -> list[tuple[str, str]]:
    """The numbers that matter most, with what they count."""
    pages, requests = charts.of_read(frames.pages, state), charts.of_read(frames.requests, state)
    first, last = whole(frames, state)
    workers = [
        lane
        for lane in charts.of_read(frames.events, state)["lane"].unique().to_list()
        if frames.lanes[lane].startswith("worker")
    ]
    fetched = (requests["stop"] - requests["start"]).sum()
    counted = [
        (text.duration(last - first), "from start to end"),
        _counted(pages["column"].n_unique(), "column"),
        _counted(pages.height, "page"),
        _counted(requests.height, "request"),
        (text.size(int(fetched)), "fetched"),
        (text.size(int(pages["decoded_bytes"].sum() or 0)), "decoded"),
        _counted(len(workers), "worker"),
    ]
    return [figure for figure in counted if not figure[0].startswith("0 ") and figure[0] != "0"]


def _counted(count: int, noun: str) -> tuple[str, str]:
    return f"{count:,}", noun if count == 1 else f"{noun}s"


def reads(frames: TimingFrames) -> list[tuple[int, str]]:
    """The reads that there are to look at."""
    return [
        (row["read"], read_label(row)) for row in frames.reads.head(_MANY).iter_rows(named=True)
    ]


def read_label(row: dict[str, Any]) -> str:
    """A read in a line: which, of what, how long, whether it was the first one."""
    name = text.clip(text.visible(str(row["file"]).rsplit("/", 1)[-1]), 60)
    kind = "outside of reads" if row["kind"] == "outside" else "read"
    words = [f"{row['read']}: {kind} of {name}"]
    if row["duration_ns"] is not None:
        words.append(text.duration(row["duration_ns"]))
    if row["is_first"]:
        words.append("cold")
    if row["failure"] is not None:
        words.append("failed")
    return " · ".join(words)


def notes(frames: TimingFrames, state: TimingState) -> list[dict[str, Any]]:
    """Sentences of what stands out; `is_warning` where it deserves attention."""
    found = [(words, True) for words in _warnings(frames, state)]
    found += [(words, False) for words in _where(frames, state)]
    return [{"text": words, "is_warning": warning} for words, warning in found]


def _warnings(frames: TimingFrames, state: TimingState) -> Iterator[str]:
    looked_at = charts.of_read(frames.reads, state)
    cold = looked_at.filter(pl.col("is_first") & (pl.col("kind") == "read"))
    if cold.height:
        which = "cold" if looked_at.height == 1 else _listed("cold: read", cold["read"].to_list())
        yield (
            f"{which}: the first read of this file in this process, which pays for loading code, "
            "for fresh memory, and maybe for a cold disk cache. Read again to see what stays"
        )
    for failure in looked_at["failure"].drop_nulls().head(3).to_list():
        yield f"failed: {text.clip(text.visible(failure), 300)}"
    if stalls := charts.misses(frames, TimingState(read=state.read))["text"]:
        yield stalls


def _listed(what: str, numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return f"{what}{'s' if len(numbers) > 1 else ''} {shown}{'…' if len(numbers) > 8 else ''}"


def _where(frames: TimingFrames, state: TimingState) -> Iterator[str]:
    """Where the time went: the dearest stage and the dearest column of it."""
    sums = charts.stage_sums(frames, state).filter(pl.col("drawn") != ORDINAL["wait"])
    whole_ns = float(sums["spent_ns"].sum())
    if whole_ns <= 0:
        return
    stages = sums.group_by("drawn").agg(pl.col("spent_ns").sum()).sort("spent_ns", descending=True)
    drawn, spent_ns = stages.row(0)
    part = sums.filter((pl.col("drawn") == drawn) & pl.col("column").is_not_null())
    where = "in the brushed time, " if state.brush is not None else ""
    words = f"{where}{DRAWN[drawn].name} takes {text.share(spent_ns, whole_ns)} of the work"
    if part.height > 1:
        column, most = part.sort("spent_ns", descending=True).select("column", "spent_ns").row(0)
        name = text.clip(text.visible(column), 60)
        words += f", {text.share(most, spent_ns)} of that for {name}"
    yield words
    pages = charts.chosen_pages(frames, state).filter(pl.col("page") >= 0)
    values = pages["values"].median()
    if pages.height >= _MANY_PAGES and values is not None and float(values) < _SMALL_VALUES:  # type: ignore[arg-type]
        yield (
            f"small pages: half of the {pages.height:,} hold {float(values):,.0f} values or fewer, "  # type: ignore[arg-type]
            "and each has its own header, decompression and set-up"
        )
