"""Files on a web server: how they are opened, named, and read."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal
from range_server import Network, RangeServer

import pqlab
from pqlab.errors import SourceChangedError, SourceError


def parquet(
    seed: int, *, columns: int = 6, rows: int = 30_000, row_group_rows: int = 5_000
) -> bytes:
    rng = np.random.default_rng(seed)
    table = pa.table({f"c{i}": rng.integers(0, 1 << 40, rows) for i in range(columns)})
    sink = io.BytesIO()
    pq.write_table(
        table, sink, row_group_size=row_group_rows, write_page_index=True, data_page_size=1 << 13
    )
    return sink.getvalue()


DATA = parquet(0)
EXPECTED = pl.read_parquet(io.BytesIO(DATA))


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with RangeServer({"a.parquet": DATA, "b c.parquet": DATA, "empty.parquet": b""}) as running:
        yield running


def test_one_request_opens_and_shows(server: RangeServer) -> None:
    with pqlab.open(server.url("a.parquet")) as file:
        assert file.info.num_rows == 30_000
        file.overview()
        assert file.info.file_size_bytes == len(DATA)
        assert [request.range for request in server.log] == ["bytes=-262144"]
        assert_frame_equal(file.read(), EXPECTED)


def test_a_footer_longer_than_the_guess_takes_two(server: RangeServer) -> None:
    policy = pqlab.IOPolicy(footer_guess_bytes=100)
    with pqlab.open(server.url("a.parquet"), io=policy) as file:
        assert file.info.num_rows == 30_000
    assert len(server.log) == 2


def test_without_suffix_ranges(server: RangeServer) -> None:
    server.suffixes = False
    with pqlab.open(server.url("a.parquet")) as file:
        assert [request.range for request in server.log[1:]] == [
            "bytes=0-15",
            f"bytes={max(0, len(DATA) - 262144)}-{len(DATA) - 1}",
        ]
        assert_frame_equal(file.read(), EXPECTED)
    assert all(request.method == "GET" for request in server.log)


def test_a_short_file_without_any_ranges(server: RangeServer) -> None:
    server.ranges = False
    with pqlab.open(server.url("a.parquet")) as file:
        assert_frame_equal(file.read(), EXPECTED)
        assert len(server.log) == 3


def test_a_long_file_without_any_ranges_is_not_downloaded(server: RangeServer) -> None:
    server.ranges = False
    server.network = Network(bytes_per_s=20e6)
    server.files["long.parquet"] = bytes(64 << 20)
    with pytest.raises(SourceError, match=r"serves no ranges.*67,108,864.*Download the file"):
        pqlab.open(server.url("long.parquet"))
    assert sum(request.sent_bytes for request in server.log) < 24 << 20


def test_the_empty_file(server: RangeServer) -> None:
    with pytest.raises(pqlab.CorruptError, match="empty"):
        pqlab.open(server.url("empty.parquet"))


def test_no_such_file(server: RangeServer) -> None:
    with pytest.raises(SourceError, match="no such file") as caught:
        pqlab.open(server.url("none.parquet"))
    assert not isinstance(caught.value, SourceChangedError)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_a_name_with_a_space(server: RangeServer) -> None:
    server.files["b%20c.parquet"] = DATA
    assert_frame_equal(pqlab.read(server.url("b%20c.parquet"), "c1"), EXPECTED.select("c1"))


def test_code_opens_it_again(server: RangeServer) -> None:
    with pqlab.open(server.url("a.parquet")) as file:
        code = file.select("c1", row_groups=[1]).code
        assert_frame_equal(eval(code).read(), EXPECTED.select("c1")[5_000:10_000])


def test_a_change_between_requests(server: RangeServer) -> None:
    server.files["a.parquet"] = parquet(0, rows=60_000)
    with pqlab.open(server.url("a.parquet")) as file:
        server.change("a.parquet", parquet(1, rows=60_000))
        with pytest.raises(SourceChangedError, match="changed since it was opened"):
            file.read("c0")


@pytest.mark.parametrize("tells", ["size", "date"])
def test_a_change_without_an_etag(server: RangeServer, tells: str) -> None:
    server.etags, server.dates = False, tells == "date"
    server.files["a.parquet"] = data = parquet(0, rows=60_000)
    with pqlab.open(server.url("a.parquet")) as file:
        server.change("a.parquet", data + b"x" * (tells == "size"))
        with pytest.raises(
            SourceChangedError, match=f"its {'size' if tells == 'size' else 'time'}"
        ):
            file.read("c0")


def test_footers_are_shared_while_the_etag_stays(server: RangeServer) -> None:
    url = server.url("a.parquet")
    first = pqlab.open(url).metadata
    assert pqlab.open(url).metadata is first
    server.change("a.parquet", DATA)
    assert pqlab.open(url).metadata is not first
    server.etags = server.dates = False
    assert pqlab.open(url).metadata is not pqlab.open(url).metadata
