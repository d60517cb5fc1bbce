"""The rows of `benchmarks.decode`: which file, which of its columns, and what must be reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.decode_files import lineitem_name

Regime = Literal["recycled", "fresh", "first"]
REGIMES: dict[Regime, str] = {
    "recycled": "recycled memory",
    "fresh": "fresh memory",
    "first": "first call in a new process",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A piece of work. `bars`: how many times as long the fastest peer must take, by regime.

    `columns`: None for all. `sums`: read in parts of bounded memory, adding up the columns.
    """

    name: str
    about: str
    file: str
    bars: dict[Regime, float]
    columns: tuple[str, ...] | None = None
    sums: bool = False
    is_rare: bool = False  # measured after the others


def _bars(recycled: float, fresh: float, first: float) -> dict[Regime, float]:
    return {"recycled": recycled, "fresh": fresh, "first": first}


_TAXI_3 = ("pickup_at", "trip_distance", "fare_amount")


def _lineitem(codec: str, *, deltas: bool) -> Row:
    name = lineitem_name(codec, deltas=deltas)
    encodings = "DELTA" if deltas else "default"
    about = f"lineitem, {encodings} encodings, {codec.lower()}"
    is_rare = codec not in ("SNAPPY", "ZSTD")
    return Row(name, about, name, _bars(2, 1.0, 1.1), is_rare=is_rare)


# One of each kind of work first: time may not do for all.
ROWS = (
    Row("flights-3m", "flights-3m, all columns, zstd", "flights-3m", _bars(2, 1.1, 1.2)),
    Row("taxi-3", "taxi, 3 of 20 columns, snappy", "taxi-snappy", _bars(4, 1.2, 1.5), _TAXI_3),
    Row("taxi-snappy", "taxi, all columns, snappy", "taxi-snappy", _bars(2, 1.0, 1.2)),
    Row("taxi-zstd", "taxi, all columns, zstd", "taxi-zstd", _bars(2, 1.0, 1.2)),
    _lineitem("SNAPPY", deltas=False),
    Row("places", "nested, points of interest, zstd", "places", _bars(2, 1.1, 1.1)),
    Row("floats", "float64, uncompressed", "floats-uncompressed", _bars(1.5, 1.0, 1.0)),
    Row("floats-zstd", "float64, zstd", "floats-zstd", _bars(1.5, 1.0, 1.0)),
    Row("strings", "long strings, snappy", "strings", _bars(1.5, 1.0, 1.0)),
    Row(
        "sums",
        "taxi, sums of 3 columns, streaming",
        "taxi-many-groups",
        {"recycled": 2.5},
        ("trip_distance", "fare_amount", "tip_amount"),
        sums=True,
    ),
    _lineitem("SNAPPY", deltas=True),
    *(
        _lineitem(codec, deltas=deltas)
        for codec in ("ZSTD", "UNCOMPRESSED", "LZ4_RAW", "GZIP", "BROTLI")
        for deltas in (False, True)
    ),
)
