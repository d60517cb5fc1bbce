"""Files on a web server: how they are opened, named, and read."""

from __future__ import annotations

import io
import re
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


def footer_bytes(server: RangeServer) -> int:
    """The length of the footer and what is behind it: a guess that leaves the page index out."""
    return int.from_bytes(server.files["a.parquet"][-8:-4], "little") + 8


# What goes out side by side must have begun within one latency: long enough for a busy machine.
TRIP_S = 0.5


def round_trips(server: RangeServer) -> list[int]:
    """How many requests each round trip had: those that began before the one before was done."""
    trips: list[int] = []
    end_s = 0.0
    for request in sorted(server.gets(), key=lambda request: request.start_s):
        if request.start_s >= end_s:
            trips.append(0)
            end_s = request.start_s + request.latency_s
        trips[-1] += 1
    return trips


def test_pages_take_two_round_trips_and_one_when_the_index_is_known(server: RangeServer) -> None:
    server.files["a.parquet"] = parquet(0, columns=20, rows=100_000, row_group_rows=20_000)
    policy = pqlab.IOPolicy.measured(0.05, 1e6)
    small = pqlab.IOPolicy(
        **{
            name: getattr(policy, name)
            for name in ("gap_bytes", "overread_share", "concurrency", "bytes_per_thread")
        },
        footer_guess_bytes=footer_bytes(server),
    )
    rows = [(25_000, 25_100), (70_000, 70_100)]
    trace = pqlab.Trace()
    with pqlab.open(server.url("a.parquet"), io=small, cache=None) as file:
        server.network = Network(latency_s=TRIP_S)
        server.log.clear()
        selection = file.select(["c3", "c11"], rows=rows)
        expected = pl.read_parquet(io.BytesIO(server.files["a.parquet"]), columns=["c3", "c11"])
        expected = pl.concat([expected[start:stop] for start, stop in rows])
        assert_frame_equal(selection.read(trace=trace), expected)
        assert len(round_trips(server)) == 2
        assert trace.requests()["reason"].unique().sort().to_list() == ["page_index", "pages"]
        server.log.clear()
        assert_frame_equal(selection.read(), expected)
        assert len(round_trips(server)) == 1
        wanted = selection.plan().wanted_bytes
        assert sum(request.sent_bytes for request in server.gets()) < 1.05 * wanted


def test_pages_picked_by_one_column_take_two_round_trips(server: RangeServer) -> None:
    server.files["a.parquet"] = parquet(0, columns=20, rows=100_000, row_group_rows=20_000)
    policy = pqlab.IOPolicy(
        footer_guess_bytes=footer_bytes(server), concurrency=32, bytes_per_thread=1, gap_bytes=100
    )
    with pqlab.open(server.url("a.parquet"), io=policy, cache=None) as file:
        server.network = Network(latency_s=TRIP_S)
        server.log.clear()
        frame = file.read(["c3", "c11"], pages={(1, "c3"): [1, 2], (4, "c3"): 0})
        assert frame.columns == ["c3", "c11"]
        assert len(round_trips(server)) == 2


def test_header_walks_go_side_by_side(server: RangeServer) -> None:
    rng = np.random.default_rng(1)
    table = pa.table({f"c{i}": rng.integers(0, 1 << 40, 60_000) for i in range(6)})
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=20_000, data_page_size=1 << 14)
    server.files["a.parquet"] = sink.getvalue()
    with pqlab.open(server.url("a.parquet"), io=pqlab.IOPolicy.remote(), cache=None) as file:
        server.network = Network(latency_s=TRIP_S)
        server.log.clear()
        pages = file.pages()
        assert pages.height > 50
        assert len(round_trips(server)) <= 2


def test_the_policy_follows_from_the_first_requests(server: RangeServer) -> None:
    server.files["long.parquet"] = parquet(0, rows=300_000)
    server.network = Network(latency_s=0.04, bytes_per_s=20e6)
    with pqlab.open(server.url("long.parquet"), cache=None) as file:
        found = re.match(r"measured: ([0-9.]+) ms, ([0-9.]+) MB/s", file.io.basis)
        assert found, file.io.basis
        latency_ms, megabytes_per_s = map(float, found.groups())
        # A busy machine adds to the source's 40 ms and takes from its 20 MB/s, never the reverse.
        assert 39 < latency_ms < 400
        assert 0 < megabytes_per_s < 40
        product = min(latency_ms * megabytes_per_s * 1_000, 4 << 20)
        assert file.io.gap_bytes == pytest.approx(product, rel=0.15)
        assert "measured" in str(file.select("c0").plan())
    with pqlab.open(server.url("long.parquet"), io=pqlab.IOPolicy.remote(), cache=None) as file:
        assert file.io == pqlab.IOPolicy.remote()


def test_measured_policies() -> None:
    near, far = pqlab.IOPolicy.measured(0.001, 50e6), pqlab.IOPolicy.measured(0.1, 100e6)
    assert near.gap_bytes == 50_000
    assert far.gap_bytes == 4 << 20
    assert near.overread_share == far.overread_share == 0.05
    assert "1.0 ms, 50 MB/s" in near.basis
