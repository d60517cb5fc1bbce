"""`Difference`: two of a kind side by side, and only what they have differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import polars as pl

from pqlab import text
from pqlab.comparison import Comparison
from pqlab.inspector.timing.charts import bars_frame
from pqlab.inspector.timing.frames import TimingFrames
from pqlab.inspector.timing.state import TimingState
from pqlab.reader import ParquetFile
from pqlab.trace import Trace

Kind: TypeAlias = Literal["files", "traces", "runs"]

_NAME_CHARACTERS = 80
_MAX_BARS, _MAX_PAIRS = 60, 400
_SMALL = 0.005  # of the larger side's time: what is less is noise, not a difference
_SHARED = "shared by columns"


@dataclass(frozen=True, slots=True)
class Side:
    """One side's bar: how much, and of which stages, as (ordinal in `DRAWN`, amount)."""

    amount: float
    parts: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Bars:
    """What both sides have of one column."""

    name: str
    left: Side
    right: Side

    @property
    def change(self) -> float:
        """Right minus left."""
        return self.right.amount - self.left.amount


@dataclass(frozen=True, slots=True)
class Difference:
    """What two sides have differently.

    `frame` has a row per difference: part, row_group, column, property, left, right (as text),
    change, ratio, `unit` (ns or bytes, null: neither), and `share`: of times, what its change is
    of all changes. `bars` are of the
    columns, the largest change first, in `unit`. `left_out`: smaller differences, not in `frame`.
    """

    kind: Kind
    names: tuple[str, str]
    headline: str
    frame: pl.DataFrame
    bars: tuple[Bars, ...] = ()
    unit: Literal["bytes", "ns"] = "bytes"
    left_out: int = 0
    notes: tuple[str, ...] = ()
    runs: Comparison | None = field(default=None, compare=False)

    @property
    def parts(self) -> list[tuple[str, int]]:
        """The parts that differ, with the number of their differences."""
        counted = self.frame.group_by("part", maintain_order=True).len()
        return [(part, count) for part, count in counted.iter_rows()]

    def amount(self, value: float) -> str:
        """An amount of `bars` as text."""
        return text.size(value) if self.unit == "bytes" else text.duration(value)


def compared(left: Any, right: Any = None, *, names: tuple[str, str] | None = None) -> Difference:
    """What two files or two traces have differently; of a `pqlab.compare` result what it says.

    Raises TypeError for what cannot be compared, and what reading footers raises.
    """
    if isinstance(left, Comparison) and right is None:
        return of_runs(left)
    if isinstance(left, ParquetFile) and isinstance(right, ParquetFile):
        return of_files(left, right, names or _file_names(left, right))
    if isinstance(left, Trace) and isinstance(right, Trace):
        return of_traces(left, right, names or ("before", "after"))
    raise TypeError(
        "two files, two traces, or one pqlab.compare result can be compared, "
        f"not {_kind(left)} and {_kind(right)}"
    )


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__


# -------------------------------------------------------------------------------------- files


def of_files(left: ParquetFile, right: ParquetFile, names: tuple[str, str]) -> Difference:
    """Schema, layout, encodings and sizes, by the footers alone."""
    found = left.diff(right).select(
        *("part", "row_group", "column", "property", "left", "right", "change", "ratio")
    )
    sizes = found.filter(
        (pl.col("property") == "total_compressed_size")
        & pl.col("row_group").is_null()
        & pl.col("column").is_not_null()
    )
    bars = [
        Bars(_name(column), Side(float(one or 0)), Side(float(other or 0)))
        for column, one, other in sizes.select("column", "left", "right").iter_rows()
    ]
    one, other = (file.info.file_size_bytes for file in (left, right))
    return Difference(
        "files",
        _shown_names(names),
        _files_headline(names, one, other, found.height),
        _with_shares(found),
        _largest(bars),
    )


def _files_headline(names: tuple[str, str], left: int, right: int, count: int) -> str:
    a, b = _shown_names(names)
    if not count:
        return f"{b} has nothing that {a} has differently, as far as footers tell"
    if left == right:
        return f"{b} is as large as {a}, {text.size(left)}"
    size = "smaller" if right < left else "larger"
    part = text.share(abs(right - left), left)
    return f"{b} is {part} {size} than {a}: {text.size(right)}, not {text.size(left)}"


def _file_names(left: ParquetFile, right: ParquetFile) -> tuple[str, str]:
    """The files' names, as far from their ends as tells them apart."""
    one, other = (file.name.replace("\\", "/").split("/") for file in (left, right))
    for count in range(1, 4):
        if one[-count:] != other[-count:]:
            return "/".join(one[-count:]), "/".join(other[-count:])
    return f"{left.name} (left)", f"{right.name} (right)"


# ------------------------------------------------------------------------------------- traces


def of_traces(left: Trace, right: Trace, names: tuple[str, str]) -> Difference:
    """Time by column and stage, and how much work it was."""
    sides = [bars_frame(TimingFrames.of(trace), TimingState()) for trace in (left, right)]
    times = _times(*sides)
    whole = max(float(side["ms"].sum()) for side in sides) * 1e6
    kept = times.filter(pl.col("change").abs() >= _SMALL * whole)
    work = left.diff(right).filter(pl.col("part") == "work")
    frame = _with_shares(
        pl.concat(
            [
                kept.with_columns(pl.col("left", "right").round().cast(pl.Int64).cast(pl.String)),
                work.select(kept.columns),
            ]
        )
    )
    bars = _trace_bars(*sides)
    durations = [_duration(trace) for trace in (left, right)]
    return Difference(
        "traces",
        _shown_names(names),
        _traces_headline(names, *durations),
        frame,
        _largest([bar for bar in bars if abs(bar.change) >= _SMALL * whole]),
        unit="ns",
        left_out=times.height - kept.height,
        notes=tuple(_cold(names, left, right)),
    )


def _times(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    """A row per column and stage: the ns of both, their difference and ratio."""
    both = left.join(
        right, on=["column", "stage", "order"], how="full", coalesce=True, suffix="_right",
        maintain_order="left_right",
    )  # fmt: skip
    one, other = (pl.col(name).fill_null(0) * 1e6 for name in ("ms", "ms_right"))
    return both.select(
        pl.lit("time").alias("part"),
        pl.lit(None, pl.Int32).alias("row_group"),
        pl.when(pl.col("column") != _SHARED).then("column").alias("column"),
        pl.col("stage").alias("property"),
        one.alias("left"),
        other.alias("right"),
        (other - one).alias("change"),
        pl.when(one > 0).then(other / one).alias("ratio"),
    ).sort(pl.col("change").abs(), descending=True, maintain_order=True)


def _trace_bars(left: pl.DataFrame, right: pl.DataFrame) -> list[Bars]:
    sides = [
        {
            column: Side(
                float(part["ms"].sum()) * 1e6,
                tuple((order, ms * 1e6) for order, ms in part.select("order", "ms").iter_rows()),
            )
            for (column,), part in frame.partition_by("column", as_dict=True).items()
        }
        for frame in (left, right)
    ]
    nothing = Side(0.0)
    return [
        Bars(_name(str(column)), *(side.get(column, nothing) for side in sides))
        for column in dict.fromkeys([*sides[0], *sides[1]])
    ]


def _duration(trace: Trace) -> float:
    return float(trace.reads()["duration_ns"].fill_null(0).sum())


def _traces_headline(names: tuple[str, str], left: float, right: float) -> str:
    a, b = _shown_names(names)
    if left <= 0:
        return f"{b}: {text.duration(right)}; {a}: {text.duration(left)}"
    times = f"{right / left:.2f} times as long"
    return f"{b} took {times} as {a}: {text.duration(right)}, not {text.duration(left)}"


def _cold(names: tuple[str, str], left: Trace, right: Trace) -> Iterator[str]:
    for name, trace in zip(_shown_names(names), (left, right), strict=True):
        if trace.reads()["is_first"].any():
            yield f"{name} has a first read, a cold one: compare later reads, or use pqlab.compare"


# ---------------------------------------------------------------------------------------- runs


def of_runs(comparison: Comparison) -> Difference:
    """A `pqlab.compare` result: its verdict, and each pair of runs."""
    measured = comparison.to_frame()
    frame = measured.select(
        pl.lit("runs").alias("part"),
        pl.lit(None, pl.Int32).alias("row_group"),
        pl.lit(None, pl.String).alias("column"),
        pl.concat_str(
            pl.lit("pair "), "pair", pl.lit(", "), pl.col("first").map_elements(
                lambda name: _name(str(name)), return_dtype=pl.String
            ), pl.lit(" first")
        ).alias("property"),
        pl.col("a_ns").round().cast(pl.Int64).cast(pl.String).alias("left"),
        pl.col("b_ns").round().cast(pl.Int64).cast(pl.String).alias("right"),
        pl.col("delta_ns").alias("change"),
        "ratio",
    )  # fmt: skip
    return Difference(
        "runs",
        _shown_names(comparison.names),
        comparison.headline,
        _with_shares(frame),
        unit="ns",
        notes=comparison.notes,
        runs=comparison,
    )


def pairs(comparison: Comparison) -> dict[str, Any]:
    """What is drawn of a comparison: the ratio of each pair, who ran first, and the interval."""
    a, _ = comparison.names
    return {
        "ratios": [
            [round(pair.b_ns / pair.a_ns, 6), int(pair.first != a)]
            for pair in comparison.pairs[:_MAX_PAIRS]
        ],
        "left_out": max(len(comparison.pairs) - _MAX_PAIRS, 0),
        "interval": [comparison.ratio.low, comparison.ratio.median, comparison.ratio.high],
        "text": comparison.ratio.text(3),
        "verdict": comparison.verdict,
        "matters": comparison.matters,
        "rows": [
            [
                name,
                *(
                    text.duration(found[place])
                    for found in (comparison.means, comparison.medians, comparison.least)
                ),
            ]
            for place, name in enumerate(_shown_names(comparison.names))
        ],
    }


# -------------------------------------------------------------------------------------- common


def _with_shares(frame: pl.DataFrame) -> pl.DataFrame:
    """With units, and the part that each change of time is of all of them."""
    change, name = pl.col("change").abs(), pl.col("property")
    is_time = pl.col("part").is_in(["time", "runs"])
    is_size = name.str.ends_with("_bytes") | name.str.contains(r"^total_.*size$")
    whole = change.sum().over("part")
    return frame.with_columns(
        pl.when(is_time).then(pl.lit("ns")).when(is_size).then(pl.lit("bytes")).alias("unit"),
        pl.when((whole > 0) & (pl.col("part") == "time")).then(change / whole).alias("share"),
    ).with_row_index("key")


def _largest(bars: Sequence[Bars]) -> tuple[Bars, ...]:
    return tuple(sorted(bars, key=lambda bar: -abs(bar.change))[:_MAX_BARS])


def _shown_names(names: tuple[str, str]) -> tuple[str, str]:
    a, b = (_name(name) for name in names)
    return a, b


def _name(name: str) -> str:
    return text.clip(text.visible(name), _NAME_CHARACTERS)
