"""Sample files: deterministic, taxi-like and nested, with every encoding that pyarrow writes.

    python -m pqlab.sample FOLDER          # one file of each kind

The same arguments give the same bytes for the same versions of numpy and pyarrow.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUPS = 4


@dataclass(frozen=True, slots=True)
class _Content:
    """What to write: the table, and the options of `pyarrow.parquet.write_table` that shape it."""

    table: pa.Table
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of sample file: what it shows, its usual number of rows, and how it is made."""

    about: str
    rows: int
    make: Callable[[int, np.random.Generator], _Content]


def write(
    path: str | os.PathLike[str], *, kind: str = "taxi", rows: int | None = None, seed: int = 0
) -> Path:
    """Write a sample file and return its path.

    `kind` is one of `KINDS`; `rows` is the file's number of rows (None: the kind's usual number),
    spread over up to four row groups. Raises `ValueError` for another kind or negative rows.
    """
    if kind not in KINDS:
        raise ValueError(f"no sample of kind {kind!r}; there are {', '.join(KINDS)}")
    count = KINDS[kind].rows if rows is None else rows
    if count < 0:
        raise ValueError(f"rows must not be negative: {rows}")
    content = KINDS[kind].make(count, np.random.default_rng(seed))
    pq.write_table(
        content.table,
        path,
        row_group_size=max(1, -(-count // ROW_GROUPS)),
        write_batch_size=1000,  # pages end at a multiple of it
        write_page_index=True,
        write_page_checksum=True,
        **{"data_page_size": 64 << 10, **content.options},
    )
    return Path(path)


def write_all(folder: str | os.PathLike[str], *, seed: int = 0) -> list[Path]:
    """Write one file of each kind into `folder`, which is made if need be; returns their paths."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    return [write(target / f"{kind}.parquet", kind=kind, seed=seed) for kind in KINDS]


# ---------------------------------------------------------------------------------------- taxi

_BOROUGHS = ("Harbour", "Hill", "Island", "Market", "Mill", "Old Town", "Park", "River")
_QUARTERS = ("Bridge", "Cross", "East", "Gate", "Green", "North", "South", "Square", "West")
_ZONES = [f"{borough} {quarter}" for borough in _BOROUGHS for quarter in _QUARTERS]
_PAYMENTS = ("card", "cash", "no charge", "dispute")
_FIRST_PICKUP = 1_767_225_600_000_000  # 2026-01-01T00:00:00 in microseconds


def _taxi(rows: int, random: np.random.Generator) -> _Content:
    """Twenty columns as a city's taxi records have them, in order of pickup."""

    def choose(values: Sequence[Any], weights: Sequence[float]) -> np.ndarray:
        return np.asarray(values)[random.choice(len(values), rows, p=weights)]

    def missing(share: float) -> np.ndarray:
        return random.random(rows) < share

    def money(cents: np.ndarray, null: np.ndarray | None = None) -> pa.Array:
        return pa.array(cents / 100, pa.float64(), mask=null)

    pickup = _FIRST_PICKUP + np.cumsum(random.integers(0, 26, rows)) * 1_000_000
    seconds = random.gamma(3.0, 280.0, rows).astype(np.int64) + 60
    distance = np.round(seconds * random.uniform(0.002, 0.009, rows), 2)
    # Popularity of zones falls off with their number, so their dictionary indices repeat.
    zones = np.minimum(random.geometric(0.05, (2, rows)) - 1, len(_ZONES) - 1)
    payment = random.choice(4, rows, p=(0.72, 0.24, 0.03, 0.01))

    fare = 300 + 50 * np.round(distance * 3.5 + seconds / 90).astype(np.int64)
    extra = choose((0, 50, 100, 250), (0.45, 0.2, 0.15, 0.2))
    tip = np.where(payment == 0, fare * random.integers(0, 31, rows) // 100, 0)
    tolls = np.where(random.random(rows) < 0.06, 694, 0)
    surcharge = choose((0, 250), (0.3, 0.7))
    airport = np.where(random.random(rows) < 0.08, 175, 0)
    total = fare + extra + 50 + tip + tolls + 100 + surcharge + airport
    no_meter = missing(0.04)  # the fields that such a trip lacks, it lacks together

    columns = {
        "trip_id": pa.array(np.arange(rows) + 10_000_000, pa.int64()),
        "vendor_id": pa.array(choose((1, 2, 6), (0.25, 0.7, 0.05)), pa.int8()),
        "pickup_at": pa.array(pickup, pa.timestamp("us")),
        "dropoff_at": pa.array(pickup + seconds * 1_000_000, pa.timestamp("us")),
        "passenger_count": pa.array(
            choose((1, 2, 3, 4, 5, 6), (0.74, 0.14, 0.04, 0.02, 0.04, 0.02)),
            pa.int64(),
            mask=no_meter,
        ),
        "trip_distance": pa.array(distance, pa.float32()),
        "pickup_zone": pa.array(np.asarray(_ZONES)[zones[0]], pa.string()),
        "dropoff_zone": pa.array(np.asarray(_ZONES)[zones[1]], pa.string()),
        "dropoff_zone_id": pa.array(zones[1], pa.int16()),
        "medallion": pa.array(
            [f"{number:08x}" for number in random.integers(0, 1 << 32, rows)], pa.string()
        ),
        "payment_type": pa.array(np.asarray(_PAYMENTS)[payment], pa.string()),
        "store_and_forward": pa.array(missing(0.01), pa.bool_(), mask=no_meter),
        "fare_amount": money(fare),
        "extra": money(extra),
        "tip_amount": money(tip),
        "tolls_amount": money(tolls),
        "congestion_surcharge": money(surcharge, no_meter),
        "airport_fee": money(airport, no_meter),
        "total_amount": money(total).cast(pa.decimal128(9, 2)),
        "remark": pa.array(
            [f"remark {number}" for number in random.integers(0, 1 << 20, rows)],
            pa.string(),
            mask=~missing(0.02),
        ),
    }
    required = {"trip_id", "vendor_id", "pickup_at", "dropoff_at"}
    schema = pa.schema(
        [pa.field(name, array.type, name not in required) for name, array in columns.items()],
        metadata={"pqlab.sample": json.dumps({"kind": "taxi", "rows": rows})},
    )
    plain = {"trip_id", "pickup_at", "dropoff_at", "medallion", "trip_distance"}
    rle = {"store_and_forward"}
    return _Content(
        pa.table(list(columns.values()), schema),
        {
            "use_dictionary": [name for name in columns if name not in plain | rle],
            "dictionary_pagesize_limit": 8 << 10,  # total_amount outgrows it and falls back
            "column_encoding": dict.fromkeys(rle, "RLE"),
            "compression": {
                name: "ZSTD" if name in {"medallion", "remark"} else "SNAPPY" for name in columns
            },
            "sorting_columns": [pq.SortingColumn(2)],  # pickup_at
        },
    )


# -------------------------------------------------------------------------------------- nested


def _nested(rows: int, random: np.random.Generator) -> _Content:
    """Structs, lists, lists of lists, lists of structs and maps, with nulls at every level."""

    def mask(share: float, size: int) -> np.ndarray:
        return random.random(size) < share

    def ints(size: int) -> pa.Array:
        return pa.array(random.integers(0, 1000, size), pa.int32(), mask=mask(0.1, size))

    def words(size: int) -> pa.Array:
        return pa.array(np.asarray(_ZONES)[random.integers(0, len(_ZONES), size)], pa.string())

    def offsets(size: int, longest: int) -> pa.Array:
        """Offsets of `size` lists of 0 to `longest` items; a null offset begins a null list."""
        null = mask(0.1, size)
        lengths = np.where(null, 0, random.integers(0, longest + 1, size))
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return pa.array(ends, mask=np.append(null, False))

    def lists(values: Callable[[int], pa.Array], size: int, longest: int) -> pa.Array:
        ends = offsets(size, longest)
        return pa.ListArray.from_arrays(ends, values(ends[-1].as_py()))

    def point(size: int) -> pa.Array:
        fields = [ints(size), words(size)]
        return pa.StructArray.from_arrays(fields, ["x", "label"], mask=pa.array(mask(0.2, size)))

    map_ends = offsets(rows, 3)
    map_size = map_ends[-1].as_py()
    columns = {
        "id": pa.array(np.arange(rows), pa.int64()),
        "point": point(rows),
        "tags": lists(words, rows, 4),
        "matrix": lists(lambda size: lists(ints, size, 3), rows, 3),
        "points": lists(point, rows, 3),
        "attributes": pa.MapArray.from_arrays(map_ends, words(map_size), ints(map_size)),
        "deep": pa.StructArray.from_arrays(
            [lists(lambda size: lists(point, size, 2), rows, 2)],
            ["levels"],
            mask=pa.array(mask(0.1, rows)),
        ),
    }
    return _Content(pa.table(columns), {"data_page_version": "2.0", "data_page_size": 8 << 10})


# ------------------------------------------------------------------------- encodings and codecs

_ENCODINGS = {
    "boolean": ("PLAIN", "RLE"),
    "int32": ("PLAIN", "RLE_DICTIONARY", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"),
    "int64": ("PLAIN", "RLE_DICTIONARY", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"),
    "int96": ("PLAIN", "RLE_DICTIONARY"),
    "float": ("PLAIN", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"),
    "double": ("PLAIN", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"),
    "byte_array": ("PLAIN", "RLE_DICTIONARY", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"),
    "string": ("PLAIN", "RLE_DICTIONARY", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"),
    "fixed_len_byte_array": ("PLAIN", "RLE_DICTIONARY", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"),
}
_CODECS = ("NONE", "SNAPPY", "GZIP", "BROTLI", "LZ4", "ZSTD")


def _values(
    name: str, rows: int, random: np.random.Generator
) -> tuple[Sequence[Any] | np.ndarray, pa.DataType]:
    """Values that repeat (so that dictionaries pay), for a physical type or `string`."""
    few = random.integers(-50, 50, rows)
    values: dict[str, Callable[[], tuple[Sequence[Any] | np.ndarray, pa.DataType]]] = {
        "boolean": lambda: (few > 0, pa.bool_()),
        "int32": lambda: (few.astype(np.int32), pa.int32()),
        "int64": lambda: (few * (1 << 33) + np.arange(rows) // 8, pa.int64()),
        "int96": lambda: (few * 86_400_000_000_007, pa.timestamp("ns")),
        "float": lambda: (few.astype(np.float32) / 8, pa.float32()),
        "double": lambda: (few / 16, pa.float64()),
        "byte_array": lambda: ([b"key %d" % number for number in few], pa.binary()),
        "string": lambda: ([f"prefix é {number}" for number in few], pa.string()),
        "fixed_len_byte_array": lambda: ([b"%06d" % number for number in few], pa.binary(6)),
    }
    return values[name]()


def _flat_encodings(page_version: str) -> Callable[[int, np.random.Generator], _Content]:
    """A column for each physical type and encoding, required and (`_nulls`) optional."""

    def make(rows: int, random: np.random.Generator) -> _Content:
        fields, arrays, encodings = [], [], {}
        for name, choices in _ENCODINGS.items():
            for encoding in choices:
                for nullable in (False, True):
                    column = f"{name}_{encoding.lower()}{'_nulls' if nullable else ''}"
                    values, dtype = _values(name, rows, random)
                    null = random.random(rows) < 0.15 if nullable else None
                    fields.append(pa.field(column, dtype, nullable))
                    arrays.append(pa.array(values, dtype, mask=null))
                    encodings[column] = encoding
        dictionary = [column for column, name in encodings.items() if name == "RLE_DICTIONARY"]
        return _Content(
            pa.table(arrays, pa.schema(fields)),
            {
                "use_dictionary": dictionary,
                "column_encoding": {
                    column: name for column, name in encodings.items() if column not in dictionary
                },
                "compression": "SNAPPY",
                "data_page_version": page_version,
                "data_page_size": 2 << 10,
                "use_deprecated_int96_timestamps": True,
            },
        )

    return make


def _codecs(rows: int, random: np.random.Generator) -> _Content:
    """The same strings and numbers once with each codec (LZ4 is LZ4_RAW in the file)."""
    columns, codecs = {}, {}
    text = pa.array(np.asarray(_ZONES)[random.integers(0, len(_ZONES), rows)], pa.string())
    number = pa.array(np.cumsum(random.integers(0, 9, rows)), pa.int64())
    for codec in _CODECS:
        for name, array in (("text", text), ("number", number)):
            column = f"{name}_{codec.lower()}"
            columns[column], codecs[column] = array, codec
    return _Content(
        pa.table(columns), {"use_dictionary": False, "compression": codecs, "data_page_size": 8192}
    )


KINDS = {
    "taxi": Kind("twenty columns of taxi trips, in order of pickup", 200_000, _taxi),
    "nested": Kind("structs, lists and maps, with nulls at every level", 5_000, _nested),
    "flat_encodings": Kind(
        "a column per physical type and encoding, data pages v1", 4_000, _flat_encodings("1.0")
    ),
    "flat_encodings_v2": Kind(
        "a column per physical type and encoding, data pages v2", 4_000, _flat_encodings("2.0")
    ),
    "codecs": Kind("the same two columns with each codec", 20_000, _codecs),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m pqlab.sample FOLDER`: write the files and print a line for each."""
    parser = argparse.ArgumentParser(
        prog="python -m pqlab.sample", description="Write one sample file of each kind."
    )
    parser.add_argument("folder", metavar="FOLDER", help="where to write; made if need be")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other values")
    options = parser.parse_args(arguments)
    for path, kind in zip(
        write_all(options.folder, seed=options.seed), KINDS.values(), strict=True
    ):
        print(f"{path}  {path.stat().st_size:,} bytes  {kind.about}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
