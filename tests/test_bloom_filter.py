"""Bloom filters that pyarrow, duckdb and others wrote: no value is missed, others mostly are."""

from __future__ import annotations

import datetime as dt
import io
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pqlab
from pqlab.footer.bloom_filter import Bitset, BloomFilter, has_bits, hashes_of, stored_values
from pqlab.io import bloom_filters
from pqlab.io.fetch import read_recorded
from pqlab.trace import Reason

UTC = dt.UTC


def naive(*parts: int) -> dt.datetime:
    return dt.datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


# Of each column: its type, values that are there, and values that are not.
COLUMNS: dict[str, tuple[pa.DataType, list[Any], list[Any]]] = {
    "i32": (pa.int32(), [-7, 0, 2**31 - 1], [5, 6, 8]),
    "i8": (pa.int8(), [-128, -1, 5], [3, 4, 100]),
    "u8": (pa.uint8(), [0, 255, 3], [128, 4, 9]),
    "u64": (pa.uint64(), [0, 2**64 - 1], [2**63, 12]),
    "i64": (pa.int64(), [-(2**63), 0, 17], [18, -17, 2**40]),
    "f32": (pa.float32(), [0.5, -0.0, math.inf], [0.25, 7.0, -math.inf]),
    "f64": (pa.float64(), [0.5, 0.0, 1e300], [0.25, 7.0, -1e300]),
    "s": (pa.string(), ["", "a", "é", "z" * 70], ["b", "aa", "e"]),
    "b": (pa.binary(), [b"", b"\0", b"x" * 40], [b"\1", b"xx", b"y"]),
    "d": (pa.date32(), [dt.date(1970, 1, 1), dt.date(1582, 1, 1)], [dt.date(2020, 1, 1)]),
    "t": (pa.time64("us"), [dt.time(0), dt.time(1, 2, 3, 4)], [dt.time(1, 2, 3, 5)]),
    "tms": (pa.time32("ms"), [dt.time(0), dt.time(1, 2, 3, 4000)], [dt.time(1, 2, 3, 5000)]),
    "ts": (pa.timestamp("us"), [naive(1900, 1, 1), naive(2020, 1, 1, 1)],
           [naive(2020, 1, 1)]),
    "tz": (pa.timestamp("ms", "UTC"), [dt.datetime(2020, 1, 1, tzinfo=UTC)],
           [dt.datetime(2020, 1, 2, tzinfo=UTC)]),
    "m9": (pa.decimal128(9, 2), [Decimal("-1.50"), Decimal(0)], [Decimal("1.50"), Decimal("0.01")]),
    "m30": (pa.decimal128(30, 3), [Decimal("-1.5"), Decimal("9" * 27 + ".123")],
            [Decimal("1.5"), Decimal("9" * 27 + ".12")]),
    "x": (pa.binary(4), [b"abcd", b"\0\0\0\0"], [b"abce"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def file() -> pqlab.ParquetFile:
    height = max(len(values) for _, values, _ in COLUMNS.values())
    arrays = {
        name: pa.array([*values, *[None] * (height - len(values))], kind)
        for name, (kind, values, _) in COLUMNS.items()
    }
    options = {name: {"ndv": 1000, "fpp": 0.01} for name in COLUMNS}
    sink = io.BytesIO()
    pq.write_table(
        pa.table(arrays), sink, bloom_filter_options=options, store_decimal_as_integer=False
    )
    return pqlab.open(sink.getvalue(), cache=None)


@pytest.mark.parametrize("column", COLUMNS)
def test_what_pyarrow_wrote(file: pqlab.ParquetFile, column: str) -> None:
    _, there, others = COLUMNS[column]
    found = file.bloom_filter(0, column)
    assert all(found.might_contain(value) for value in there)
    assert not any(found.might_contain(value) for value in others)


def test_zeros_nan_and_what_is_not_certain(file: pqlab.ParquetFile) -> None:
    for column in ("f32", "f64"):
        found = file.bloom_filter(0, column)
        for value in (0.0, -0.0, 0, math.nan, 0.1 + 1e-12 if column == "f32" else "x", True):
            assert found.might_contain(value), value
    assert file.bloom_filter(0, "i32").might_contain(5.0)
    assert file.bloom_filter(0, "i8").might_contain(300)
    assert file.bloom_filter(0, "tz").might_contain(naive(2020, 1, 2))
    later = dt.datetime(2020, 1, 2, 0, 0, 0, 1, tzinfo=UTC)
    assert file.bloom_filter(0, "tz").might_contain(later)
    assert not file.bloom_filter(0, "f64").might_contain(7)
    for text in ("1e999999", "1e-999999", "1e27", "0.0001", "NaN", "-Infinity"):
        assert file.bloom_filter(0, "m30").might_contain(Decimal(text)), text


def test_one_more_decimal_form() -> None:
    sink = io.BytesIO()
    table = pa.table({"m": pa.array([Decimal("-1.50")], pa.decimal128(9, 2))})
    pq.write_table(table, sink, store_decimal_as_integer=True, bloom_filter_options={"m": True})
    found = pqlab.open(sink.getvalue()).bloom_filter(0, "m")
    assert found.key[0] == "INT32"
    assert found.might_contain(Decimal("-1.5"))
    assert not found.might_contain(Decimal("1.5"))
    assert found.might_contain(Decimal("1.505"))  # no value of the column: not probed


def test_share_of_false_positives() -> None:
    values = np.arange(20_000, dtype=np.int64) * 3
    sink = io.BytesIO()
    options = {"a": {"ndv": 20_000, "fpp": 0.05}}
    pq.write_table(pa.table({"a": values}), sink, bloom_filter_options=options)
    found = pqlab.open(sink.getvalue()).bloom_filter(0, "a")
    assert all(found.might_contain(int(value)) for value in values[::100])
    seem = sum(found.might_contain(3 * value + 1) for value in range(4000)) / 4000
    assert seem == pytest.approx(found.false_positive_share, abs=0.02)
    assert 0.001 < found.false_positive_share < 0.07
    assert f"{found.num_blocks:,} blocks" in repr(found)


def test_what_duckdb_wrote(tmp_path: Path) -> None:
    path = tmp_path / "duck.parquet"
    duckdb.sql(
        f"""copy (select i % 700 as a, 'word ' || (i % 900) as s, i * 0.5 as f
        from range(20000) t(i)) to '{path}' (format parquet, row_group_size 10000)"""
    )
    file = pqlab.open(path)
    chunks = file.column_chunks.filter(pl.col("bloom_filter_offset").is_not_null())
    assert set(chunks["column"]) >= {"a", "s"}
    for group, column in chunks.select("row_group", "column").rows():
        found = file.bloom_filter(group, column)
        values = file.read(column, row_groups=group)[column].unique().to_list()
        assert all(found.might_contain(value) for value in values[:200])
    assert not file.bloom_filter(0, "s").might_contain("word 900")


REFUSED = {
    "fruits-bloomfilter.parquet",  # whose headers name neither algorithm nor hash
    "bloom_filter_bad_length_range.parquet",  # whose offsets are wrong on purpose
}


def test_corpus(corpus: Path, manifest: list[dict[str, str]]) -> None:
    """Each value of a chunk is in its filter, whoever wrote it."""
    checked, refused = 0, set()
    for row in manifest:
        if row["bloom_filter"] != "true" or "malicious" in row["file"]:
            continue
        file = pqlab.open(corpus / row["file"], cache=None)
        chunks = file.column_chunks.filter(pl.col("bloom_filter_offset").is_not_null())
        for group, leaf in chunks.select("row_group", "leaf").rows():
            try:
                found = file.bloom_filter(group, leaf)
            except (pqlab.CorruptError, pqlab.UnsupportedError):
                refused.add(Path(row["file"]).name)
                continue
            if len(file.metadata.leaves[leaf].path) > 1:
                continue
            series = file.read(leaf, row_groups=group).to_series().drop_nulls().unique()
            for value in series.to_list()[:50]:
                assert found.might_contain(value), (row["file"], leaf, value)
                checked += 1
    assert checked > 100
    assert refused == REFUSED


def test_no_filter(file: pqlab.ParquetFile) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), sink)
    with pytest.raises(pqlab.SelectionError, match="has no bloom filter"):
        pqlab.open(sink.getvalue()).bloom_filter(0, "a")
    with pytest.raises(pqlab.SelectionError, match="no column"):
        file.bloom_filter(0, "nope")


def whole(file: pqlab.ParquetFile) -> npt.NDArray[np.uint8]:
    [data] = read_recorded(file.source, [(0, file.source.size)], Reason.NONE)
    return np.array(data)


def place(file: pqlab.ParquetFile, column: str) -> tuple[int, int]:
    row = file.column_chunks.row(by_predicate=pl.col("column") == column, named=True)
    return int(row["bloom_filter_offset"]), int(row["bloom_filter_length"])


def test_damaged_filters(file: pqlab.ParquetFile) -> None:
    """Whatever stands in a header: an answer or an error of pqlab's, and a warning in a probe."""
    data, (start, length) = whole(file), place(file, "s")
    refused = 0
    for at in range(start, start + 18):
        for value in (0, 1, 0x7F, 0x80, 0xFF):
            changed = data.copy()
            changed[at] = value
            damaged = pqlab.open(changed.tobytes(), cache=None)
            probed = bloom_filters.probe(
                damaged.source,
                damaged.metadata,
                {(0, list(COLUMNS).index("s")): hashes_of([b"a"])},
                damaged.limits,
            )
            try:
                damaged.bloom_filter(0, "s").might_contain("a")
            except (pqlab.CorruptError, pqlab.UnsupportedError) as error:
                refused += 1
                assert error.column == "s"  # noqa: PT017  # most raise nothing
                assert not probed.might_contain
                assert "the bloom filter is not used" in probed.warnings[0]
            else:
                assert not probed.warnings
    assert refused > 40
    assert length > 18


@pytest.mark.parametrize("gap_bytes", [0, 1 << 20])
def test_probing_blocks_and_whole_filters(gap_bytes: int) -> None:
    """Small filters are fetched whole, of large ones the blocks alone: with the same answers."""
    values = list(range(0, 6000, 3))
    sink = io.BytesIO()
    options = {"a": {"ndv": 1000, "fpp": 0.05}}
    pq.write_table(pa.table({"a": values}), sink, row_group_size=500, bloom_filter_options=options)
    policy = pqlab.IOPolicy(gap_bytes=gap_bytes)
    file = pqlab.open(sink.getvalue(), io=policy, cache=None)
    asked = [0, 1, 1500, 1501, 5997]
    hashes = hashes_of([value.to_bytes(8, "little") for value in asked])
    keys = {(group, 0): hashes for group in range(file.metadata.num_row_groups)}
    with pqlab.Trace() as trace:
        probed = bloom_filters.probe(file.source, file.metadata, keys, file.limits)
    for group in range(file.metadata.num_row_groups):
        found = file.bloom_filter(group, "a")
        assert probed.might_contain[group, 0].tolist() == [
            found.might_contain(value) for value in asked
        ]
    assert not probed.warnings
    assert trace is not None


def test_the_blocks_of_the_specification() -> None:
    """One value, inserted by the pseudo code of the specification, word by word."""
    salt = [
        0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947,
        0x5C6BFB31,
    ]  # fmt: skip
    [hashed] = hashes_of([b"parquet"]).tolist()
    blocks = [[0] * 8 for _ in range(5)]
    block = ((hashed >> 32) * 5) >> 32
    for word in range(8):
        blocks[block][word] |= 1 << (((hashed & 0xFFFFFFFF) * salt[word] & 0xFFFFFFFF) >> 27)
    bitset = np.array(blocks, "<u4").reshape(-1).view(np.uint8)
    key = ("BYTE_ARRAY", None, None)
    assert BloomFilter(bitset, key).might_contain(b"parquet")
    assert not BloomFilter(bitset, key).might_contain(b"Parquet")
    assert Bitset(100, 5).block_ranges(hashes_of([b"parquet"])) == [
        (100 + 32 * block, 132 + 32 * block)
    ]
    assert has_bits(bitset[32 * block : 32 * block + 32], hashes_of([b"parquet"])).tolist() == [
        True
    ]
    assert stored_values("x", key) is None
