"""The files that `benchmarks.decode` reads: written once with fixed seeds, kept under build/."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pqlab import sample

CACHE = Path(__file__).parents[1] / "build" / "benchmarks"
SEED = 3

_TPCHGEN = "tpchgen-cli"  # of the extra `bench`

# As parquet-rs writes them where the default, a dictionary, is not wanted.
_DELTAS = {
    "DELTA_BINARY_PACKED": (
        *("orderkey", "partkey", "suppkey", "linenumber", "quantity", "extendedprice"),
        *("discount", "tax", "shipdate", "commitdate", "receiptdate"),
    ),
    "DELTA_BYTE_ARRAY": ("returnflag", "linestatus", "shipinstruct", "shipmode"),
    "DELTA_LENGTH_BYTE_ARRAY": ("comment",),
}


def path_of(name: str, *, quick: bool = False) -> Path:
    """The file of that name, which is written if it is not there; `quick`: a tenth of its rows.

    Raises `FileNotFoundError` for the one real file where `PQLAB_DATA` does not have it.
    """
    if name == "flights-3m":
        path = Path(os.environ.get("PQLAB_DATA", "data"), f"{name}.parquet")
        if not path.exists():
            raise FileNotFoundError(f"{path}: PQLAB_DATA must name the folder that has it")
        return path
    path = CACHE / ("quick" if quick else "full") / f"{name}.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        _WRITERS[name](unfinished, 0.1 if quick else 1.0)
        unfinished.rename(path)
    return path


def _taxi(path: Path, share: float, *, codec: str, row_group_rows: int = 1 << 20) -> None:
    with tempfile.TemporaryDirectory() as folder:
        written = sample.write(Path(folder) / "taxi", rows=int(3_000_000 * share), seed=SEED)
        table = pq.read_table(written)
    pq.write_table(table, path, compression=codec, row_group_size=row_group_rows)


def _lineitem(path: Path, share: float, *, codec: str, deltas: bool, scale: float) -> None:
    encodings = [
        f"l_{column}={encoding}" for encoding, columns in _DELTAS.items() for column in columns
    ]
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        command = [
            shutil.which(_TPCHGEN) or str(Path(sys.executable).with_name(_TPCHGEN)),
            *("parquet", "--quiet", "--tables=lineitem", f"--compression={codec}"),
            *(f"--scale-factor={scale * share}", f"--output-dir={folder}"),
            *([f"--column-encoding={','.join(encodings)}"] if deltas else []),
        ]
        subprocess.run(command, check=True)
        (Path(folder) / "lineitem.parquet").rename(path)


def _floats(path: Path, share: float, *, codec: str) -> None:
    random = np.random.default_rng(SEED)
    rows = int(4_000_000 * share)
    table = pa.table({f"x{number}": random.standard_normal(rows) for number in range(6)})
    pq.write_table(table, path, compression=codec, use_dictionary=False)


_SYLLABLES = ("ba", "cor", "den", "el", "fir", "gan", "hol", "im", "jur", "kel", "lan", "mor")


def _texts(random: np.random.Generator, count: int, words: tuple[int, int]) -> pa.Array:
    """Texts of so many words, from least to most; a few of them have an accent."""
    vocabulary = ["".join(random.choice(_SYLLABLES, random.integers(1, 5))) for _ in range(4000)]
    vocabulary[::50] = [word + "é" for word in vocabulary[::50]]
    lengths = random.integers(words[0], words[1] + 1, count)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    picked = pa.array(vocabulary).take(pa.array(random.integers(0, 4000, int(offsets[-1]))))
    separator = pa.scalar(" ")
    return pa.compute.binary_join(pa.ListArray.from_arrays(offsets, picked), separator)


def _strings(path: Path, share: float) -> None:
    random = np.random.default_rng(SEED)
    rows = int(500_000 * share)
    table = pa.table(
        {
            "title": _texts(random, rows, (4, 12)),
            "body": _texts(random, rows, (40, 100)),
            "note": pa.compute.if_else(
                pa.array(random.random(rows) < 0.7), _texts(random, rows, (10, 30)), None
            ),
        }
    )
    pq.write_table(table, path, compression="snappy", use_dictionary=False)


def _places(path: Path, share: float) -> None:
    """Points of interest: structs, lists of strings and of structs, maps, binary geometry."""
    random = np.random.default_rng(SEED)
    rows = int(400_000 * share)

    def lists(most: int, null: float, make: Callable[[int], pa.Array]) -> pa.ListArray:
        lengths = random.integers(0, most + 1, rows)
        missing = random.random(rows) < null
        offsets = np.concatenate(([0], np.cumsum(np.where(missing, 0, lengths)))).astype(np.int32)
        made = make(int(offsets[-1]))
        return pa.ListArray.from_arrays(pa.array(offsets), made, mask=pa.array(missing))

    def hexes(count: int) -> pa.Array:
        return pa.array([f"{number:016x}" for number in random.integers(0, 1 << 62, count)])

    def choice(values: list[str], count: int) -> pa.Array:
        return pa.array(values).take(pa.array(np.minimum(random.geometric(0.1, count), 20) - 1))

    kinds = [f"kind_{number}" for number in range(20)]
    languages = [f"l{number}" for number in range(20)]

    def names(count: int) -> pa.Array:
        return _texts(random, count, (1, 4))

    def maps(null: float) -> pa.MapArray:
        made = lists(2, null, pa.nulls)
        offsets = made.offsets.to_numpy()
        count = int(offsets[-1])
        # The second key differs from the first: no map has one twice, which readers treat unlike.
        second = np.arange(count) - np.repeat(offsets[:-1], np.diff(offsets))
        keys = pa.array(languages).take(pa.array(2 * random.integers(0, 10, count) + second))
        return pa.MapArray.from_arrays(made.offsets, keys, names(count), mask=made.is_null())

    def sources(count: int) -> pa.Array:
        columns = {
            "property": pa.array([""] * count),
            "dataset": choice(kinds, count),
            "record_id": hexes(count),
            "confidence": pa.array(random.random(count), mask=random.random(count) < 0.2),
        }
        return pa.StructArray.from_arrays(list(columns.values()), list(columns))

    def addresses(count: int) -> pa.Array:
        missing = random.random(count) < 0.15
        columns = {
            "freeform": names(count),
            "locality": choice(kinds, count),
            "postcode": pa.array(
                [f"{number:05d}" for number in random.integers(0, 90000, count)], mask=missing
            ),
            "country": choice(languages, count),
        }
        return pa.StructArray.from_arrays(list(columns.values()), list(columns))

    west, south = random.uniform(-180, 180, rows), random.uniform(-85, 85, rows)
    box = {"xmin": west, "xmax": west + 1e-5, "ymin": south, "ymax": south + 1e-5}
    point = np.zeros((rows, 21), np.uint8)
    point[:, :5] = np.frombuffer(b"\x01\x01\x00\x00\x00", np.uint8)
    point[:, 5:] = np.stack((west, south), axis=1).view(np.uint8)
    alternate = lists(3, 0.3, lambda count: choice(kinds, count))
    columns = {
        "id": hexes(rows),
        "geometry": pa.array([row.tobytes() for row in point], pa.binary()),
        "bbox": pa.StructArray.from_arrays(
            [pa.array(side.astype(np.float32)) for side in box.values()], list(box)
        ),
        "names": pa.StructArray.from_arrays([names(rows), maps(0.6)], ["primary", "common"]),
        "categories": pa.StructArray.from_arrays(
            [choice(kinds, rows), alternate],
            ["primary", "alternate"],
            mask=pa.array(random.random(rows) < 0.05),
        ),
        "confidence": pa.array(random.random(rows)),
        "websites": lists(1, 0.4, names),
        "socials": lists(1, 0.4, lambda count: choice(kinds, count)),
        "phones": lists(1, 0.2, hexes),
        "addresses": lists(2, 0.0, addresses),
        "sources": lists(2, 0.0, sources),
    }
    pq.write_table(pa.table(columns), path, compression="zstd", row_group_size=100_000)


_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP(6)", "BROTLI(1)", "LZ4_RAW", "ZSTD(1)")
# The two codecs that are common are measured on the whole table, the others on a fifth of it.
_SCALES = {"SNAPPY": 1.0, "ZSTD(1)": 1.0}


def lineitem_name(codec: str, *, deltas: bool) -> str:
    """The file of that codec: `lineitem-snappy`, `lineitem-delta-snappy`."""
    return f"lineitem-{'delta-' if deltas else ''}{codec.split('(', maxsplit=1)[0].lower()}"


_WRITERS: dict[str, Callable[[Path, float], None]] = {
    "taxi-snappy": partial(_taxi, codec="snappy"),
    "taxi-zstd": partial(_taxi, codec="zstd"),
    "taxi-many-groups": partial(_taxi, codec="snappy", row_group_rows=1 << 17),
    "floats-uncompressed": partial(_floats, codec="none"),
    "floats-zstd": partial(_floats, codec="zstd"),
    "strings": _strings,
    "places": _places,
    **{
        lineitem_name(codec, deltas=deltas): partial(
            _lineitem, codec=codec, deltas=deltas, scale=_SCALES.get(codec, 0.2)
        )
        for codec in _CODECS
        for deltas in (False, True)
    },
}
