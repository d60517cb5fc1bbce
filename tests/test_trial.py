"""A slice under other writer settings, against what pyarrow says of the file that it wrote."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pqlab

ROWS = 3_000
RANDOM = np.random.default_rng(3)
TABLE = pa.table(
    {
        "sorted": np.arange(ROWS) * 1000,
        "random": RANDOM.integers(0, 1 << 60, ROWS),
        "few": [f"city {n % 5}" for n in range(ROWS)],
        "list": pa.array([[n, n + 1] for n in range(ROWS)], pa.list_(pa.int64())),
    }
)


@pytest.fixture(scope="module")
def file() -> pqlab.ParquetFile:
    sink = io.BytesIO()
    pq.write_table(TABLE, sink, row_group_size=1000, compression="gzip")
    return pqlab.open(sink.getvalue())


def test_a_trial_has_sizes_times_and_code(file: pqlab.ParquetFile) -> None:
    selection = file.select(["random", "few"], row_groups=[0, 1])
    trial = file.rewrite_trial(
        selection, seconds=0.02, compression={"random": "NONE", "few": "ZSTD"}, row_group_size=500
    )
    written = pq.read_metadata(io.BytesIO(trial.data))
    assert written.num_row_groups == 4
    chunks = [written.row_group(g).column(c) for g in range(4) for c in range(2)]
    assert trial.size_bytes[1] == sum(chunk.total_compressed_size for chunk in chunks)
    assert {chunk.compression for chunk in chunks} == {"UNCOMPRESSED", "ZSTD"}
    before = file.column_chunks.filter(
        pl.col("row_group") < 2, pl.col("column").is_in(["random", "few"])
    )
    assert trial.size_bytes[0] == before["total_compressed_size"].sum()
    assert (
        trial.comparison.ratio.low <= trial.comparison.ratio.median <= trial.comparison.ratio.high
    )
    assert trial.write_ns > 0
    expected = TABLE.select(["random", "few"]).slice(0, 2000)
    assert pq.read_table(io.BytesIO(trial.data)).to_pydict() == expected.to_pydict()
    sink = io.BytesIO()
    exec(trial.code, {"pyarrow": pa, "table": expected, "path": sink})
    assert pq.read_metadata(sink).num_row_groups == 4


def test_columns_stand_for_a_selection(file: pqlab.ParquetFile) -> None:
    trial = file.rewrite_trial("few", seconds=0.02, use_dictionary=False)
    assert pq.read_schema(io.BytesIO(trial.data)).names == ["few"]
    assert trial.size_ratio == trial.size_bytes[1] / trial.size_bytes[0]


def test_settings_that_pyarrow_does_not_take_are_its_error(file: pqlab.ParquetFile) -> None:
    with pytest.raises(pa.ArrowException):
        file.rewrite_trial("few", seconds=0.02, compression="no such codec")


def test_the_best_settings_are_those_of_least_cost(file: pqlab.ParquetFile) -> None:
    best = file.best_settings(codecs=["NONE", "ZSTD"], page_bytes=[1 << 14, 1 << 20])
    frame = best.frame
    assert frame.group_by("leaf").len()["len"].to_list() == [16] * 4
    chosen = frame.filter("is_best")
    assert chosen["leaf"].to_list() == [0, 1, 2, 3]
    assert chosen["page_bytes"].n_unique() == 1
    same_pages = frame.filter(page_bytes=chosen["page_bytes"][0])
    least = same_pages.group_by("leaf", maintain_order=True).agg(pl.col("cost_ns").min())
    assert chosen["cost_ns"].to_list() == least["cost_ns"].to_list()
    sink = io.BytesIO()
    exec(best.code, {"pyarrow": pa, "table": TABLE, "path": sink})
    written = pq.read_metadata(sink)
    for leaf, row in enumerate(chosen.iter_rows(named=True)):
        chunk = written.row_group(0).column(leaf)
        codec: dict[str, Any] = {"NONE": "UNCOMPRESSED"}
        assert chunk.compression == codec.get(row["codec"], row["codec"])
        encoding = "RLE_DICTIONARY" if row["encoding"] == "DICTIONARY" else row["encoding"]
        assert encoding in chunk.encodings
    assert pq.read_table(sink).equals(TABLE)


def test_what_a_bandwidth_is_worth(file: pqlab.ParquetFile) -> None:
    """Where fetching is all that counts, the smallest is the best."""
    frame = file.best_settings("sorted", page_bytes=[1 << 20], bandwidth_mb_per_s=1e-3).frame
    assert frame.filter("is_best")["size_bytes"].item() == frame["size_bytes"].min()
    assert frame["encoding"].unique().sort().to_list() == [
        "BYTE_STREAM_SPLIT", "DELTA_BINARY_PACKED", "DICTIONARY", "PLAIN",
    ]  # fmt: skip
