"""Trace: what each page and each request cost, as data."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from pqlab import text
from pqlab.footer.names import CODECS, ENCODINGS, name

if TYPE_CHECKING:
    import polars as pl


class Stage(IntEnum):
    """The stages of a read; numbers as in pqlab/native/event.cuh."""

    FETCH = 0
    WAIT = 1
    DECOMPRESS = 2
    LEVELS = 3
    DECODE = 4
    LEVELS_DECODE = 5
    ASSEMBLE = 6
    COMPILE = 7
    H2D = 8
    KERNEL = 9
    D2H = 10

    @property
    def text(self) -> str:
        """The stage as frames show it: `levels+decode` where the two are fused."""
        return self.name.lower().replace("_", "+")


# The layout of `struct Event` in pqlab/native/event.cuh; cells that do not apply are -1, `page` -2.
EVENT = np.dtype(
    [
        ("start_ns", "<i8"),
        ("duration_ns", "<i8"),
        ("bytes_in", "<i8"),
        ("bytes_out", "<i8"),
        ("values", "<i8"),
        ("row_group", "<i4"),
        ("leaf", "<i4"),
        ("page", "<i4"),
        ("request_id", "<i4"),
        ("worker", "<i4"),
        ("stage", "u1"),
        ("encoding", "i1"),
        ("codec", "i1"),
        ("reserved", "u1"),
    ]
)
assert EVENT.itemsize == 64

Events = npt.NDArray[np.void]  # of dtype EVENT

_NO_PAGE = -2

# What `summary` adds up: column -> the stages in it.
_SUMMED = {
    "fetch": (Stage.FETCH,),
    "wait": (Stage.WAIT,),
    "decompress": (Stage.DECOMPRESS,),
    "decode": (Stage.LEVELS, Stage.DECODE, Stage.LEVELS_DECODE),
    "assemble": (Stage.ASSEMBLE,),
}


def assembled(start_ns: int) -> Events:
    """The event of columns assembled from `start_ns`, of `time.perf_counter_ns`, until now."""
    event = blank_events(1)
    event["stage"], event["start_ns"] = Stage.ASSEMBLE, start_ns
    event["duration_ns"] = time.perf_counter_ns() - start_ns
    return event


def blank_events(count: int) -> Events:
    """Events in which nothing applies and all times and bytes are 0."""
    events = np.zeros(count, EVENT)
    for cell in ("values", "row_group", "leaf", "request_id", "worker", "encoding", "codec"):
        events[cell] = -1
    events["page"] = _NO_PAGE
    return events


class _Read(NamedTuple):
    file: str
    columns: Sequence[str]  # by leaf


class Trace:
    """Records the events of reads; several reads, and threads, may share one.

    `trace = pqlab.Trace(); selection.read(trace=trace); trace.summary()`
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reads: list[_Read] = []
        self._events: list[tuple[int, Events]] = []
        self._requests = 0

    def begin(self, file: str, columns: Sequence[str]) -> int:
        """Announce a read of a file with these columns, in the order of leaves; its ordinal."""
        with self._lock:
            self._reads.append(_Read(file, columns))
            return len(self._reads) - 1

    def request_ids(self, count: int) -> range:
        """So many request ids that no other event of this trace has."""
        with self._lock:
            self._requests += count
            return range(self._requests - count, self._requests)

    def add(self, read: int, events: Events) -> None:
        """Add events (dtype `EVENT`) of the read; the array is kept and must not change."""
        if len(events):
            with self._lock:
                self._events.append((read, events))

    def __len__(self) -> int:
        with self._lock:
            return sum(len(events) for _, events in self._events)

    def to_frame(self) -> pl.DataFrame:
        """A row per event, by start.

        `read` counts the reads that share the trace. `start_ns` is on the clock of
        `time.perf_counter_ns`. What does not apply is null; the dictionary page is -1. A `fetch`
        is a request: `bytes_in` were fetched, `bytes_out` of them were wanted, and `row_group` and
        `column` are null where it serves several.
        """
        import polars as pl

        with self._lock:
            reads, parts = list(self._reads), list(self._events)
        events = np.concatenate([np.empty(0, EVENT), *(part for _, part in parts)])
        read = np.repeat([number for number, _ in parts], [len(part) for _, part in parts])
        order = np.argsort(events["start_ns"], kind="stable")
        events, read = events[order], read.astype(np.uint32)[order]

        def number(cell: str, absent: int = -1) -> pl.Series:
            series = pl.Series(cell, np.ascontiguousarray(events[cell]))
            return series.set(series == absent, None)

        def named(cell: str, names: Mapping[int, str]) -> pl.Series:
            codes, places = np.unique(events[cell], return_inverse=True)
            texts = [None if code == -1 else name(code, names) for code in codes.tolist()]
            return pl.Series(cell, texts, pl.String).gather(places.astype(np.uint32))

        return pl.DataFrame(
            [
                pl.Series("read", read),
                pl.Series("file", [entry.file for entry in reads], pl.String).gather(read),
                number("row_group"),
                number("leaf"),
                _column_names(reads, read, events["leaf"].astype(np.int64)),
                number("page", _NO_PAGE),
                named("stage", {stage: stage.text for stage in Stage}),
                number("start_ns"),
                number("duration_ns"),
                number("bytes_in"),
                number("bytes_out"),
                number("values"),
                named("encoding", ENCODINGS),
                named("codec", CODECS),
                number("request_id"),
                number("worker"),
            ]
        )

    def summary(self) -> pl.DataFrame:
        """A row per file and column, the dearest first.

        A null column is of what columns share: requests, waiting for them, assembling. `pages` and
        `values` count dictionary pages, too. `*_ns` add up all workers' time in the stage
        (`decode_ns` with levels), `*_share` is its share of the row's time. `mb_per_s`: decoded
        megabytes a second of the row's time.
        """
        import polars as pl

        def spent(stages: tuple[Stage, ...]) -> pl.Expr:
            inside = pl.col("stage").is_in([stage.text for stage in stages])
            return pl.col("duration_ns").filter(inside).sum()

        decoding = pl.col("stage").is_in([stage.text for stage in _SUMMED["decode"]])
        of_values = pl.col("stage").is_in([Stage.DECODE.text, Stage.LEVELS_DECODE.text])
        total = pl.col("total_ns")
        rows = (
            self.to_frame()
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

    def __repr__(self) -> str:
        with self._lock:
            reads, parts = len(self._reads), [events for _, events in self._events]
        spent_ns = sum(int(events["duration_ns"].sum()) for events in parts)
        count = sum(map(len, parts))
        shape = f"{text.plural(reads, 'read')}: {text.plural(count, 'event')}"
        return f"<pqlab.Trace of {shape}, {text.duration(spent_ns)} in all>"


def _column_names(
    reads: list[_Read], read: npt.NDArray[np.uint32], leaf: npt.NDArray[np.int64]
) -> pl.Series:
    import polars as pl

    # One list of names for all reads; the name of (read, leaf) stands at starts[read] + leaf.
    texts = [text for entry in reads for text in entry.columns]
    starts = np.cumsum([0, *(len(entry.columns) for entry in reads)])[:-1]
    places = pl.Series(np.where(leaf >= 0, starts[read] + leaf, len(texts)), dtype=pl.UInt32)
    return pl.Series("column", [*texts, None], pl.String).gather(places)
