"""The views that the timeline filters: bars by column, distributions, windows, the page table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from pqlab import text
from pqlab.inspector.tables import Table, TableColumn, of_count, of_size
from pqlab.inspector.timing.frames import TimingFrames, largest
from pqlab.inspector.timing.stages import DRAWN, ORDINAL
from pqlab.inspector.timing.state import Measure, Span, TimingState

MAX_BARS, MAX_ENCODINGS, MAX_SERIES, MAX_STEPS, MAX_MISSES = 100, 24, 8, 400, 500
_BINS = 32
NAME_CHARACTERS = 80


def duration(value: float | None) -> str:
    """A time, or a dash."""
    return text.ABSENT if value is None else text.duration(value)


def page_name(page: int) -> str:
    """The ordinal of a page; the dictionary page has none."""
    return "dictionary" if page == -1 else f"{page:,}"


def of_time(name: str, heading: str) -> TableColumn:
    """A column of times in ns."""
    return TableColumn(name, heading, duration, is_number=True)


_PAGES = (
    TableColumn("column", "column"),
    TableColumn("row_group", "row group", is_number=True),
    TableColumn("page", "page", page_name, is_number=True),
    of_time("total_ns", "total"),
    of_time("fetch_ns", "fetch"),
    of_time("queued_ns", "queued"),
    of_time("decompress_ns", "decompress"),
    of_time("levels_ns", "levels"),
    of_time("decode_ns", "decode"),
    of_time("ns_per_value", "a value"),
    of_count("values", "values"),
    of_size("stored_bytes", "stored"),
    of_size("decoded_bytes", "decoded"),
    TableColumn("encoding", "encoding"),
    TableColumn("codec", "codec"),
    TableColumn("prefetch", "prefetch"),
    TableColumn("worker", "worker", is_number=True),
    of_time("start_ns", "began"),
)


# ------------------------------------------------------------------------------------ filters


def spent(events: pl.DataFrame, state: TimingState) -> pl.DataFrame:
    """The events of the read that is looked at, with the ns of each that lie within the brush."""
    events = of_read(events, state)
    if state.brush is None:
        return events.with_columns((pl.col("stop_ns") - pl.col("start_ns")).alias("spent_ns"))
    first, last = state.brush
    inside = pl.min_horizontal("stop_ns", pl.lit(last)) - pl.max_horizontal(
        "start_ns", pl.lit(first)
    )
    return events.with_columns(inside.alias("spent_ns")).filter(pl.col("spent_ns") > 0)


def of_read(frame: pl.DataFrame, state: TimingState) -> pl.DataFrame:
    """The rows of the read that is looked at."""
    return frame if state.read is None else frame.filter(pl.col("read") == state.read)


def chosen_pages(frames: TimingFrames, state: TimingState) -> pl.DataFrame:
    """The pages of the chosen columns on which time was spent within the brush."""
    pages = of_read(frames.pages, state)
    if state.brush is not None:
        first, last = state.brush
        pages = pages.filter((pl.col("stop_ns") > first) & (pl.col("start_ns") < last))
    if state.columns:
        names = [frames.columns[column] for column in sorted(state.columns)]
        pages = pages.filter(pl.col("column").is_in(names))
    return pages


def is_filtered(state: TimingState) -> bool:
    """Whether the views show less than the read."""
    return state.brush is not None or bool(state.columns)


# --------------------------------------------------------------------------------------- bars


def stage_sums(frames: TimingFrames, state: TimingState) -> pl.DataFrame:
    """column, drawn, spent_ns: the time of each stage by column, null: what columns share.

    The time of a request is shared out by the bytes that each column's pages have of it.
    """
    events = spent(frames.events, state)
    is_fetch = pl.col("drawn") == ORDINAL["fetch"]
    shared = (
        events.filter(is_fetch)
        .drop("column")
        .join(frames.shares, on="request_id", how="left", maintain_order="left")
        .with_columns(pl.col("spent_ns") * pl.col("share").fill_null(1.0))
    )
    columns = ("column", "drawn", pl.col("spent_ns").cast(pl.Float64))
    return (
        pl.concat([events.filter(~is_fetch).select(columns), shared.select(columns)])
        .group_by("column", "drawn", maintain_order=True)
        .agg(pl.col("spent_ns").sum())
        .sort("drawn", maintain_order=True)
    )


def bars(frames: TimingFrames, state: TimingState) -> dict[str, Any]:
    """A bar for each column, the dearest first: its time by stage."""
    sums = stage_sums(frames, state)
    totals = sums.group_by("column", maintain_order=True).agg(pl.col("spent_ns").sum())
    totals = totals.sort("spent_ns", descending=True, maintain_order=True)
    by_column: dict[str | None, list[tuple[int, float]]] = {}
    for column, drawn, spent_ns in sums.select("column", "drawn", "spent_ns").iter_rows():
        by_column.setdefault(column, []).append((drawn, spent_ns))
    whole = float(totals["spent_ns"].sum())
    ordinals = {name: place for place, name in enumerate(frames.columns)}
    return {
        "rows": [
            {
                "column": ordinals.get(column) if column is not None else None,
                "name": _name(column) if column is not None else "shared by columns",
                "total": text.duration(total),
                "share": text.share(total, whole),
                "ns": round(total),
                "parts": [
                    [drawn, round(ns), text.duration(ns), text.share(ns, total)]
                    for drawn, ns in by_column[column]
                    if ns > 0
                ],
                "is_chosen": column is not None and ordinals.get(column) in state.columns,
            }
            for column, total in totals.head(MAX_BARS).iter_rows()
        ],
        "left_out": max(totals.height - MAX_BARS, 0),
        "most_ns": largest(totals["spent_ns"]),
    }


def bars_frame(frames: TimingFrames, state: TimingState) -> pl.DataFrame:
    """column, stage, ms, order (of the stage): what the bars are made of."""
    return stage_sums(frames, state).select(
        pl.col("column").fill_null("shared by columns"),
        pl.col("drawn")
        .replace_strict(dict(enumerate(drawn.name for drawn in DRAWN)))
        .alias("stage"),
        (pl.col("spent_ns") / 1e6).alias("ms"),
        pl.col("drawn").alias("order"),
    )


def legend(frames: TimingFrames, state: TimingState) -> list[dict[str, Any]]:
    """The stages that there are, with their time within the brush."""
    sums = spent(frames.events, state).group_by("drawn").agg(pl.col("spent_ns").sum()).sort("drawn")
    there = set(of_read(frames.events, state)["drawn"].to_list())
    found = dict(sums.iter_rows())
    whole = sum(found.values())
    return [
        {
            "drawn": drawn,
            "name": DRAWN[drawn].name,
            "letter": DRAWN[drawn].letter,
            "what": DRAWN[drawn].what,
            "total": text.duration(found.get(drawn, 0)),
            "share": text.share(found.get(drawn, 0), whole),
        }
        for drawn in sorted(there)
    ]


# ------------------------------------------------------------------------------ distributions


def distribution(frames: TimingFrames, state: TimingState) -> dict[str, Any]:
    """For each encoding, how many of the chosen pages took how long, in bins of equal ratio.

    `rows` have `bins`, whose ends `low` and `high` ns bound, and where in [0, 1] of them the
    median is.
    """
    column = _MEASURED[state.measure]
    pages = chosen_pages(frames, state).filter(pl.col(column) > 0)
    rows: list[dict[str, Any]] = []
    answer = {"measure": state.measure, "rows": rows, "ticks": [], "left_out": 0, "most": 0}
    if not pages.height:
        return answer
    low, high = _ends(of_read(frames.pages, state), column)
    kinds = pages.with_columns(
        pl.when(pl.col("page") == -1)
        .then(pl.concat_str(pl.col("encoding").fill_null("?"), pl.lit(" dictionary")))
        .otherwise(pl.col("encoding").fill_null("unknown"))
        .alias("kind")
    )
    groups = sorted(
        kinds.partition_by("kind", as_dict=True).items(),
        key=lambda group: -float(group[1]["total_ns"].sum()),
    )
    for (kind,), part in groups[:MAX_ENCODINGS]:
        values = part[column].to_numpy().astype(float)
        median, ninety = np.quantile(values, [0.5, 0.9])
        rows.append(
            {
                "name": _name(str(kind)),
                "pages": text.plural(part.height, "page"),
                "bins": bins(values, low, high).tolist(),
                "median_at": round(float(_position(median, low, high)), 4),
                "median": text.duration(median),
                "ninety": text.duration(ninety),
            }
        )
    ticks = [(float(_position(ns, low, high)), text.duration(ns)) for ns in _decades(low, high)]
    most = max(max(row["bins"]) for row in rows)
    return {**answer, "ticks": ticks, "left_out": max(len(groups) - MAX_ENCODINGS, 0), "most": most}


def bins(values: Any, low: float, high: float) -> Any:
    """How many of the values are in each of the bins of equal ratio between `low` and `high`."""
    places = np.floor(_position(np.asarray(values, float), low, high) * _BINS).astype(int)
    return np.bincount(np.clip(places, 0, _BINS - 1), minlength=_BINS)


def _position(value: Any, low: float, high: float) -> Any:
    return np.log(np.asarray(value) / low) / np.log(high / low)


def _ends(pages: pl.DataFrame, column: str) -> tuple[float, float]:
    """Powers of ten around all that is measured of the read."""
    known = pages.filter(pl.col(column) > 0)[column].to_numpy().astype(float)
    low, high = np.floor(np.log10(known.min())), np.ceil(np.log10(known.max()))
    return float(10.0**low), float(10.0 ** max(high, low + 1))


def _decades(low: float, high: float) -> Iterator[float]:
    for power in range(round(np.log10(low)), round(np.log10(high)) + 1):
        yield 10.0**power


_MEASURED: dict[Measure, str] = {"page": "total_ns", "value": "ns_per_value"}


# ------------------------------------------------------------------------- windows and misses


def windows(frames: TimingFrames, state: TimingState) -> dict[str, Any]:
    """How large the prefetch windows were: for each column its steps, [since ns, pages, why]."""
    changes = of_read(frames.windows, state)
    groups = sorted(
        changes.partition_by("read", "column", as_dict=True, maintain_order=True).items(),
        key=lambda group: -group[1].height,
    )
    several = changes["read"].n_unique() > 1
    return {
        "series": [
            {
                "name": (f"read {read}: " if several else "")
                + (_name(str(column)) if column is not None else "all columns"),
                "steps": [
                    [int(time_ns), int(pages), str(why).replace("_", " ")]
                    for time_ns, pages, why in part.select("time_ns", "window_pages", "why")
                    .head(MAX_STEPS)
                    .iter_rows()
                ],
            }
            for (read, column), part in groups[:MAX_SERIES]
        ],
        "most": largest(changes["window_pages"]),
        "left_out": max(len(groups) - MAX_SERIES, 0),
    }


def misses(frames: TimingFrames, state: TimingState) -> dict[str, Any]:
    """The prefetch misses, longest stalls first where there are too many: [start, stall, text]."""
    found = of_read(frames.misses, state)
    most = found.sort("stall_ns", descending=True).head(MAX_MISSES).sort("start_ns")
    stalled = spent_on(found, state.brush)
    return {
        "rows": [
            [row["start_ns"], row["stall_ns"], row["kind"], _miss(row)]
            for row in most.iter_rows(named=True)
        ],
        "left_out": found.height - most.height,
        "text": _stalls(stalled),
    }


def spent_on(found: pl.DataFrame, span: Span | None) -> pl.DataFrame:
    """The misses within the span, with the part of their stall that lies in it."""
    if span is None:
        return found
    first, last = span
    stop = pl.min_horizontal(pl.col("start_ns") + pl.col("stall_ns"), pl.lit(last))
    start = pl.max_horizontal("start_ns", pl.lit(first))
    return found.with_columns((stop - start).alias("stall_ns")).filter(pl.col("stall_ns") > 0)


def _stalls(found: pl.DataFrame) -> str:
    if not found.height:
        return ""
    misses = f"{found.height:,} prefetch {'miss' if found.height == 1 else 'misses'}"
    return f"{misses}, stalled for {text.duration(float(found['stall_ns'].sum()))}"


def _miss(row: dict[str, Any]) -> str:
    place = [] if row["column"] is None else [_name(row["column"])]
    if row["row_group"] is not None:
        place.append(f"row group {row['row_group']}")
    if row["page"] is not None:
        place.append("dictionary" if row["page"] == -1 else f"page {row['page']}")
    kind = {"queue_empty": "nobody had begun", "late": "in flight"}.get(row["kind"], row["kind"])
    window = ""
    if row["window_after"] is not None:
        before = text.ABSENT if row["window_before"] is None else str(row["window_before"])
        window = f"; window {before} → {row['window_after']} pages"
    stalled = text.duration(row["stall_ns"])
    return f"miss: stalled {stalled} for {', '.join(place) or 'rows'} ({kind}){window}"


# -------------------------------------------------------------------------------------- pages


def pages_table(frames: TimingFrames, state: TimingState) -> Table:
    """The chosen pages with what each cost, in the user's order."""
    pages = chosen_pages(frames, state)
    shown = [
        column for column in _PAGES if column.name not in _OPTIONAL or _has(pages, column.name)
    ]
    return Table(pages, shown, "key").sorted(state.order)


_OPTIONAL = ("queued_ns", "levels_ns", "prefetch", "worker")


def _has(pages: pl.DataFrame, name: str) -> bool:
    known = pages[name].drop_nulls()
    return bool(len(known)) and (not known.dtype.is_numeric() or bool((known != 0).any()))


def _name(name: str) -> str:
    return text.clip(text.visible(name), NAME_CHARACTERS)
