"""A trace's frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from pqlab.footer.names import CODECS, ENCODINGS, name
from pqlab.trace.events import ABSENT, MISSES, Prefetch, Reason, Stage, WindowReason
from pqlab.trace.joins import (
    Requested,
    prefetch_of_pages,
    requests_of_pages,
    with_last_pages,
)
from pqlab.trace.recorder import Read, Recorded

# What `summary` adds up: column -> the stages in it.
_SUMMED = {
    "fetch": (Stage.FETCH,),
    "wait": (Stage.WAIT,),
    "decompress": (Stage.DECOMPRESS,),
    "decode": (Stage.LEVELS, Stage.DECODE, Stage.LEVELS_DECODE),
    "assemble": (Stage.ASSEMBLE,),
}
_STAGES = {stage.value: stage.text for stage in Stage}
_PREFETCH = {state.value: state.text if state else None for state in Prefetch}
_REASONS = {reason.value: reason.text if reason else None for reason in Reason}


def events_frame(recorded: Recorded) -> pl.DataFrame:
    """As `Trace.to_frame`."""
    events, read = recorded.events, recorded.read
    requested = requests_of_pages(recorded)
    encoding = {code: name(code, ENCODINGS) for code in np.unique(events["encoding"]).tolist()}
    codec = {code: name(code, CODECS) for code in np.unique(events["codec"]).tolist()}
    number = _numbers(recorded)
    return pl.DataFrame(
        [
            pl.Series("read", read),
            *_files(recorded.reads, read),
            number("row_group"),
            number("leaf"),
            _column_names(recorded.reads, read, events["leaf"]),
            number("page"),
            _named("stage", events["stage"], _STAGES),
            number("start_ns"),
            number("duration_ns"),
            number("queued_ns"),
            number("offset"),
            number("bytes_in"),
            number("bytes_out"),
            number("values"),
            _named("encoding", events["encoding"], {**encoding, -1: None}),
            _named("codec", events["codec"], {**codec, -1: None}),
            _named("prefetch", prefetch_of_pages(recorded, requested), _PREFETCH),
            _named("reason", events["reason"], _REASONS),
            _request_ids(recorded, requested),
            number("page_faults"),
            number("worker"),
        ]
    )


def reads_frame(recorded: Recorded) -> pl.DataFrame:
    """As `Trace.reads`."""
    faults = np.maximum(recorded.events["page_faults"], 0)
    counted = recorded.events["page_faults"] >= 0
    reads, count = recorded.reads, len(recorded.reads)
    sums = np.bincount(recorded.read, weights=faults, minlength=count).astype(np.int64)
    known = np.bincount(recorded.read, weights=counted, minlength=count) > 0
    misses = np.isin(recorded.events["prefetch"], MISSES) & _is_wait(recorded)
    stalls = np.where(misses, recorded.events["duration_ns"], 0)
    numbers = np.arange(count, dtype=np.uint32)
    return pl.DataFrame(
        [
            pl.Series("read", numbers),
            *_files(reads, numbers),
            pl.Series("kind", ["outside" if r.outside else "read" for r in reads], pl.String),
            pl.Series("is_first", [read.is_first for read in reads], pl.Boolean),
            pl.Series("start_ns", [read.start_ns for read in reads], pl.Int64),
            pl.Series(
                "duration_ns",
                [None if r.stop_ns is None else r.stop_ns - r.start_ns for r in reads],
                pl.Int64,
            ),
            pl.Series("page_faults", sums).set(pl.Series(~known), None),
            pl.Series("misses", np.bincount(recorded.read[misses], minlength=count)),
            pl.Series(
                "stall_ns",
                np.bincount(recorded.read, weights=stalls, minlength=count).astype(np.int64),
            ),
            pl.Series("failure", [read.failure for read in reads], pl.String),
        ]
    )


def summary_frame(recorded: Recorded) -> pl.DataFrame:
    """As `Trace.summary`."""

    def spent(stages: tuple[Stage, ...]) -> pl.Expr:
        inside = pl.col("stage").is_in([stage.text for stage in stages])
        return pl.col("duration_ns").filter(inside).sum()

    decoding = pl.col("stage").is_in([stage.text for stage in _SUMMED["decode"]])
    of_values = pl.col("stage").is_in([Stage.DECODE.text, Stage.LEVELS_DECODE.text])
    missed = (pl.col("stage") == Stage.WAIT.text) & pl.col("prefetch").is_in(
        [kind.text for kind in MISSES]
    )
    total = pl.col("total_ns")
    rows = (
        events_frame(recorded)
        .group_by("file", "column", maintain_order=True)
        .agg(
            pl.struct("read", "row_group", "page")
            .filter(pl.col("page").is_not_null())
            .n_unique()
            .alias("pages"),
            pl.col("values").filter(of_values).sum(),
            pl.col("bytes_in")
            .filter(pl.col("stage") == Stage.FETCH.text)
            .sum()
            .alias("fetched_bytes"),
            pl.col("bytes_out").filter(decoding).sum().alias("decoded_bytes"),
            missed.sum().alias("misses"),
            pl.col("duration_ns").filter(missed).sum().alias("stall_ns"),
            pl.col("duration_ns").sum().alias("total_ns"),
            *(spent(stages).alias(f"{label}_ns") for label, stages in _SUMMED.items()),
        )
    )
    shares = [
        pl.when(total > 0).then(pl.col(f"{label}_ns") / total).alias(f"{label}_share")
        for label in _SUMMED
    ]
    speed = pl.when(total > 0).then(pl.col("decoded_bytes") * 1000 / total).alias("mb_per_s")
    return rows.with_columns(*shares, speed).sort("total_ns", descending=True)


def misses_frame(recorded: Recorded) -> pl.DataFrame:
    """As `Trace.prefetch_misses`."""
    missed = _is_wait(recorded) & np.isin(recorded.events["prefetch"], MISSES)
    part = recorded._replace(events=recorded.events[missed], read=recorded.read[missed])
    lanes, read = part.events, part.read
    events = with_last_pages(recorded, np.flatnonzero(missed))
    number = _numbers(part._replace(events=events))
    stops_ns = events["start_ns"] + events["duration_ns"]
    before, after = [], []
    for lane, start_ns, stop_ns in zip(
        zip(read.tolist(), lanes["leaf"].tolist(), strict=True),
        events["start_ns"].tolist(),
        stops_ns.tolist(),
        strict=True,
    ):
        before.append(_window_at(recorded, lane, start_ns))
        after.append(_window_at(recorded, lane, stop_ns))
    return pl.DataFrame(
        [
            pl.Series("read", read),
            *_files(recorded.reads, read),
            number("start_ns"),
            _named("prefetch", events["prefetch"], _PREFETCH).alias("kind"),
            _column_names(recorded.reads, read, events["leaf"]),
            number("row_group"),
            number("page"),
            number("duration_ns").alias("stall_ns"),
            pl.Series("window_before", before, pl.Int64),
            pl.Series("window_after", after, pl.Int64),
        ]
    )


def windows_frame(recorded: Recorded) -> pl.DataFrame:
    """As `Trace.windows`."""
    read = np.array([read for read, _ in recorded.windows], np.uint32)
    changes = [change for _, change in recorded.windows]
    leaf = np.array([change.leaf for change in changes], np.int64)
    return pl.DataFrame(
        [
            pl.Series("read", read),
            *_files(recorded.reads, read),
            _column_names(recorded.reads, read, leaf),
            pl.Series("time_ns", [change.time_ns for change in changes], pl.Int64),
            pl.Series("window_pages", [change.window_pages for change in changes], pl.Int64),
            pl.Series("why", [WindowReason(change.why).text for change in changes], pl.String),
        ]
    )


def requests_frame(recorded: Recorded) -> pl.DataFrame:
    """As `Trace.requests`."""
    fetched = recorded.events["stage"] == Stage.FETCH
    part = recorded._replace(events=recorded.events[fetched], read=recorded.read[fetched])
    events, read = part.events, part.read
    number = _numbers(part)
    ids = events["request_id"].tolist()
    ranges = _ranges(recorded, ids)
    tries: dict[int, list[int]] = {}
    for place, attempt in enumerate(recorded.attempts):
        tries.setdefault(attempt.request_id, []).append(place)
    last = [recorded.attempts[tries[one][-1]] if one in tries else None for one in ids]
    first_byte = [
        None if one is None or one.first_byte_ns is None else one.first_byte_ns - one.start_ns
        for one in last
    ]
    transfer = [
        None if one is None or one.first_byte_ns is None else one.stop_ns - one.first_byte_ns
        for one in last
    ]
    errors = [
        [e for at in tries.get(one, ()) if (e := recorded.attempts[at].error) is not None]
        for one in ids
    ]
    kept = [[recorded.attempts[at].cached_bytes for at in tries.get(one, ())] for one in ids]
    cached = [sum(sizes) for sizes in kept]
    attempts = [sizes.count(0) if sizes else None for sizes in kept]
    return pl.DataFrame(
        [
            number("request_id"),
            pl.Series("read", read),
            *_files(recorded.reads, read),
            _named("reason", events["reason"], _REASONS),
            number("offset").alias("start"),
            ranges.list.eval(pl.element().struct["stop"]).list.max().alias("stop"),
            ranges,
            number("bytes_out").alias("wanted_bytes"),
            pl.Series("wasted_bytes", events["bytes_in"] - events["bytes_out"]),
            number("start_ns"),
            number("duration_ns"),
            pl.Series("first_byte_ns", first_byte, pl.Int64),
            pl.Series("transfer_ns", transfer, pl.Int64),
            pl.Series("cached_bytes", cached, pl.Int64),
            pl.Series("attempts", attempts, pl.Int64),
            pl.Series("errors", errors, pl.List(pl.String)),
            pl.Series(
                "copy_bytes", [0 if one is None else one.copy_bytes for one in last], pl.Int64
            ),
            number("worker"),
        ]
    )


def _ranges(recorded: Recorded, ids: list[int]) -> pl.Series:
    """Of each request the list of what it served."""
    served = recorded.served
    read_of = dict(zip(recorded.events["request_id"].tolist(), recorded.read.tolist(), strict=True))
    reads = np.array([read_of.get(one, 0) for one in served["request_id"].tolist()], np.uint32)
    parts = pl.DataFrame(
        [
            pl.Series("request_id", np.ascontiguousarray(served["request_id"])),
            _absent(pl.Series("row_group", np.ascontiguousarray(served["row_group"]))),
            _column_names(recorded.reads, reads, served["leaf"]),
            pl.Series("start", np.ascontiguousarray(served["start"])),
            pl.Series("stop", np.ascontiguousarray(served["stop"])),
        ]
    )
    lists = parts.group_by("request_id", maintain_order=True).agg(
        pl.struct("row_group", "column", "start", "stop").alias("ranges")
    )
    wanted = pl.DataFrame({"request_id": pl.Series(ids, dtype=pl.Int32)})
    return wanted.join(lists, on="request_id", how="left", maintain_order="left")["ranges"]


def _request_ids(recorded: Recorded, requested: Requested) -> pl.Series:
    """Of a request its own id, of a page those of its requests."""
    events = recorded.events
    own = np.flatnonzero(events["request_id"] >= 0)
    fetch = np.concatenate([own, requested.fetch])
    pairs = pl.DataFrame(
        {
            "event": np.concatenate([own, requested.page]),
            "request_ids": events["request_id"][fetch],
        }
    )
    lists = pairs.group_by("event", maintain_order=True).agg("request_ids")
    every = pl.DataFrame({"event": pl.Series(range(len(events)), dtype=pl.Int64)})
    return every.join(lists, on="event", how="left", maintain_order="left")["request_ids"]


def _window_at(recorded: Recorded, lane: tuple[int, int], time_ns: int) -> int | None:
    """The window of the column at that time; without one of its own, that of all columns."""
    read, leaf = lane
    known = {
        change.leaf: change.window_pages
        for of, change in recorded.windows
        if of == read and change.leaf in (leaf, -1) and change.time_ns <= time_ns
    }
    return known.get(leaf, known.get(-1))


def _absent(series: pl.Series, code: int = -1) -> pl.Series:
    return series.set(series == code, None)


def _is_wait(recorded: Recorded) -> npt.NDArray[np.bool_]:
    waits: npt.NDArray[np.bool_] = recorded.events["stage"] == Stage.WAIT
    return waits


def _numbers(recorded: Recorded) -> Callable[[str], pl.Series]:
    def number(cell: str) -> pl.Series:
        series = pl.Series(cell, np.ascontiguousarray(recorded.events[cell]))
        return _absent(series, ABSENT[cell]) if cell in ABSENT else series

    return number


def _named(cell: str, codes: npt.NDArray[np.integer], names: Mapping[int, str | None]) -> pl.Series:
    distinct, places = np.unique(codes, return_inverse=True)
    texts = pl.Series(cell, [names[code] for code in distinct.tolist()], pl.String)
    return texts.gather(places.reshape(-1).astype(np.uint32))


def _files(reads: Sequence[Read], read: npt.NDArray[np.uint32]) -> list[pl.Series]:
    files = pl.Series("file", [entry.file for entry in reads], pl.String).gather(read)
    if all(entry.name is None for entry in reads):
        return [files]
    return [pl.Series("trace", [entry.name for entry in reads], pl.String).gather(read), files]


def _column_names(
    reads: Sequence[Read], read: npt.NDArray[np.uint32], leaf: npt.NDArray[np.integer]
) -> pl.Series:
    # One list of names for all reads; the name of (read, leaf) stands at starts[read] + leaf.
    texts = [text for entry in reads for text in entry.columns]
    starts = np.cumsum([0, *(len(entry.columns) for entry in reads)])[:-1]
    places = np.where(leaf >= 0, starts[read] + leaf, len(texts)).astype(np.uint32)
    return pl.Series("column", [*texts, None], pl.String).gather(places)
