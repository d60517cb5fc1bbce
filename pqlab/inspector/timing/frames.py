"""What a trace holds, as the panel's views need it: times from its start, lanes, pages."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from pqlab.inspector.timing.stages import OF_PAGES, drawn_as
from pqlab.trace import Stage, Trace, frames

PAGE = ("read", "row_group", "leaf", "page")
_NAME_CHARACTERS = 100
_LANES = ("calls", "consumer", "requests", "worker")  # in the order in which they are shown
_STAGES = [stage.text for stage in OF_PAGES]


@dataclass(frozen=True, slots=True)
class TimingFrames:
    """A trace in frames. Times are ns from `origin_ns`, the trace's first moment.

    `events`: a row per span of time: read, lane, drawn (ordinal of its stage), start_ns, stop_ns,
    column, key (of its page, else null). `pages`: a row per page that was decoded, `key` its
    ordinal, with what it cost. `shares`: of each request the part that each column's bytes are.
    `misses`, `windows`, `reads`, `requests`: as the trace has them, from the origin.
    """

    origin_ns: int
    events: pl.DataFrame
    pages: pl.DataFrame
    shares: pl.DataFrame
    misses: pl.DataFrame
    windows: pl.DataFrame
    reads: pl.DataFrame
    requests: pl.DataFrame
    lanes: list[str]
    columns: list[str]

    @classmethod
    def of(cls, trace: Trace) -> TimingFrames:
        """The frames of what the trace holds now."""
        seen = trace.recorded()  # all frames of the same moment
        recorded, reads = _named(frames.events_frame(seen)), frames.reads_frame(seen)
        begun = pl.concat([recorded["start_ns"], reads["start_ns"]])
        origin_ns = -largest(-begun) if len(begun) else 0
        misses = _from(_named(frames.misses_frame(seen)), "start_ns", origin_ns)
        requests = _from(frames.requests_frame(seen), "start_ns", origin_ns)
        pages = _pages(_from(recorded, "start_ns", origin_ns), requests)
        events, lanes = _events(_from(recorded, "start_ns", origin_ns), misses, pages)
        dearest = pages.group_by("column", maintain_order=True).agg(pl.col("total_ns").sum())
        others = misses["column"].drop_nulls().unique(maintain_order=True).to_list()
        columns = dearest.sort("total_ns", descending=True, maintain_order=True)["column"].to_list()
        return cls(
            origin_ns,
            events,
            pages,
            _shares(pages, requests),
            misses,
            _from(_named(frames.windows_frame(seen)), "time_ns", origin_ns),
            _from(reads, "start_ns", origin_ns),
            requests,
            lanes,
            [*columns, *(name for name in others if name not in columns)],
        )

    @property
    def stop_ns(self) -> int:
        """When the last thing ended."""
        ends = self.reads["start_ns"] + self.reads["duration_ns"].fill_null(0)
        return max(largest(ends), largest(self.events["stop_ns"]), 0)


def largest(series: pl.Series) -> int:
    """The largest number of a series, rounded; 0 where there is none."""
    known = series.drop_nulls()
    return round(known.to_numpy().max()) if len(known) else 0


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the middle of very long names left out: a name may have megabytes."""
    name = pl.col("column")
    short = pl.concat_str(
        name.str.head(_NAME_CHARACTERS), pl.lit("…"), name.str.tail(_NAME_CHARACTERS)
    )
    return frame.with_columns(
        pl.when(name.str.len_bytes() > 8 * _NAME_CHARACTERS).then(short).otherwise(name)
    )


def _from(frame: pl.DataFrame, column: str, origin_ns: int) -> pl.DataFrame:
    return frame.with_columns(pl.col(column) - origin_ns)


def _pages(recorded: pl.DataFrame, requests: pl.DataFrame) -> pl.DataFrame:
    """A row per page, by its start: what it is, and its time by stage.

    `stored_bytes`: as its first stage took them. `fetch_ns`: of its requests' time the part that
    its bytes are of theirs.
    """

    def spent(*stages: Stage) -> pl.Expr:
        inside = pl.col("stage").is_in([stage.text for stage in stages])
        return pl.col("duration_ns").filter(inside).sum()

    is_last = pl.col("stage").is_in([stage.text for stage in (Stage.DECODE, Stage.LEVELS_DECODE)])
    pages = (
        recorded.filter(pl.col("stage").is_in(_STAGES) & pl.col("page").is_not_null())
        .group_by(PAGE, maintain_order=True)
        .agg(
            pl.col("file", "column", "encoding", "codec", "prefetch", "worker").first(),
            pl.col("request_ids").first(),
            pl.col("values").filter(is_last).last(),
            pl.col("bytes_in").first().alias("stored_bytes"),
            pl.col("bytes_out").filter(is_last).last().alias("decoded_bytes"),
            pl.col("start_ns").min(),
            (pl.col("start_ns") + pl.col("duration_ns")).max().alias("stop_ns"),
            pl.col("queued_ns").max(),
            spent(Stage.DECOMPRESS).alias("decompress_ns"),
            spent(Stage.LEVELS).alias("levels_ns"),
            spent(Stage.DECODE, Stage.LEVELS_DECODE, Stage.KERNEL).alias("decode_ns"),
        )
        .with_row_index("key")
    )
    total = pl.sum_horizontal("decompress_ns", "levels_ns", "decode_ns")
    return (
        pages.join(_fetch_ns(pages, requests), on="key", how="left", maintain_order="left")
        .with_columns(total.alias("total_ns"))
        .with_columns(
            pl.when(pl.col("values") > 0)
            .then(pl.col("total_ns") / pl.col("values"))
            .alias("ns_per_value")
        )
    )


def _fetched(pages: pl.DataFrame) -> pl.DataFrame:
    """A row per page and request that brought it: how many of its bytes, as far as that is told."""
    return (
        pages.select("key", "column", "request_ids", "stored_bytes")
        .filter(pl.col("request_ids").list.len() > 0)
        .with_columns(
            (pl.col("stored_bytes") / pl.col("request_ids").list.len()).alias("part_bytes")
        )
        .explode("request_ids")
        .rename({"request_ids": "request_id"})
    )


def _fetch_ns(pages: pl.DataFrame, requests: pl.DataFrame) -> pl.DataFrame:
    fetched = _fetched(pages).join(
        requests.select("request_id", "duration_ns"), on="request_id", how="inner"
    )
    whole = pl.col("part_bytes").sum().over("request_id")
    part = pl.when(whole > 0).then(pl.col("part_bytes") / whole).otherwise(0)
    return (
        fetched.with_columns((part * pl.col("duration_ns")).alias("fetch_ns"))
        .group_by("key")
        .agg(pl.col("fetch_ns").sum().round(0).cast(pl.Int64))
    )


def _shares(pages: pl.DataFrame, requests: pl.DataFrame) -> pl.DataFrame:
    """request_id, column, share: the shares of a request add up to 1.

    One whose bytes no page came from, as of a footer, belongs to no column.
    """
    taken = (
        _fetched(pages)
        .group_by("request_id", "column", maintain_order=True)
        .agg(pl.col("part_bytes").sum())
        .with_columns(
            (pl.col("part_bytes") / pl.col("part_bytes").sum().over("request_id")).alias("share")
        )
        .filter(pl.col("share") > 0)
    )
    return (
        requests.select("request_id")
        .join(
            taken.select("request_id", "column", "share"),
            on="request_id",
            how="left",
            maintain_order="left",
        )
        .with_columns(pl.col("share").fill_null(1.0))
    )


def _events(
    recorded: pl.DataFrame, misses: pl.DataFrame, pages: pl.DataFrame
) -> tuple[pl.DataFrame, list[str]]:
    """The spans of time by lane and start, and the names of the lanes."""
    waits = misses.select("read", "start_ns", pl.col("column").alias("missed")).unique(
        ["read", "start_ns"]
    )
    worker = pl.col("worker").cast(pl.Int64).fill_null(-1)
    is_asked = (pl.col("stage") == Stage.WAIT.text) & pl.col("prefetch").is_not_null()
    is_request = (pl.col("stage") == Stage.FETCH.text) & (worker >= 0)
    kind = pl.when(is_asked).then(1).when(is_request).then(2).when(worker >= 0).then(3).otherwise(0)
    frame = (
        recorded.with_columns(drawn_as(pl.col("stage")).alias("drawn"))
        .filter(pl.col("drawn").is_not_null())
        .join(waits, on=["read", "start_ns"], how="left", maintain_order="left")
        .join(pages.select(*PAGE, "key"), on=list(PAGE), how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("column", pl.when(is_asked).then("missed")).alias("column"),
            pl.when(pl.col("stage").is_in(_STAGES)).then("key").alias("key"),
            kind.alias("kind"),
            pl.when(is_asked).then(-1).otherwise(worker).alias("slot"),
            (pl.col("start_ns") + pl.col("duration_ns")).alias("stop_ns"),
            pl.col("request_ids").list.first().alias("request_id"),
        )
    )
    lanes = frame.select("kind", "slot").unique().sort("kind", "slot").with_row_index("lane")
    joined = frame.join(lanes, on=["kind", "slot"], how="left", maintain_order="left")
    names = [
        _LANES[kind] if slot < 0 else f"{_LANES[kind]} {slot}"
        for _, kind, slot in lanes.iter_rows()
    ]
    return joined.select(
        *("read", "lane", "drawn", "start_ns", "stop_ns", "column", "key", "request_id"),
        *("row_group", "bytes_in", "bytes_out", "reason", "prefetch"),
    ).sort("lane", "start_ns", maintain_order=True), names
