"""What a server can do wrong: nothing is lost, nothing is doubled, and nothing waits for ever."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal
from range_server import FAULTS, Network, RangeServer

import pqlab
from pqlab.errors import SourceChangedError, SourceError
from pqlab.io import failures
from pqlab.io.failures import pause_s
from pqlab.io.source import Source, open_source

SIZE = 300_000
CONTENT = np.random.default_rng(7).integers(0, 256, SIZE, np.uint8).tobytes()
POLICY = pqlab.IOPolicy(
    footer_guess_bytes=1_000,
    copy_buffer_bytes=3_000,
    concurrency=8,
    bytes_per_thread=1,
    backoff_s=0.001,
    stall_timeout_s=2.0,
)
PASSING = sorted(FAULTS)


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with RangeServer({"bytes.parquet": CONTENT}, slow_s=0.05) as running:
        yield running


def opened(server: RangeServer, policy: pqlab.IOPolicy = POLICY) -> Source:
    return open_source(server.url("bytes.parquet"), policy=policy)


@pytest.mark.parametrize("etags", [True, False])
@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_passes(server: RangeServer, fault: str, etags: bool) -> None:
    server.etags = etags
    source = opened(server)
    for times in (1, 2):
        server.log.clear()
        server.faults.extend([fault] * times)
        if fault == "whole":  # a server that ignores ranges is not asked again
            with pytest.raises(SourceError, match="serves no ranges"):
                source.read([(10_000, 90_000)])
            server.faults.clear()
            continue
        [buffer] = source.read([(10_000, 90_000)])
        assert buffer.tobytes() == CONTENT[10_000:90_000]
        assert len(server.log) == 1 + (0 if fault == "slow" else times)


@pytest.mark.parametrize("fault", ["cut", "reset", "short"])
def test_what_came_is_not_asked_again(server: RangeServer, fault: str) -> None:
    source = opened(server)
    server.log.clear()
    server.faults.append(fault)
    source.read([(0, 200_000)])
    first, second = server.log
    assert first.range == "bytes=0-199999"
    assert second.range is not None
    again = int(second.range.removeprefix("bytes=").split("-")[0])
    assert 0 < again <= 100_000
    assert second.range.endswith("-199999")
    server.etags = False
    unsure = opened(server)  # nothing says that it is still the same file: all is asked again
    server.log.clear()
    server.faults.append(fault)
    unsure.read([(0, 200_000)])
    assert [request.range for request in server.log] == ["bytes=0-199999"] * 2


@pytest.mark.parametrize("seed", range(4))
def test_many_faults_at_once(server: RangeServer, seed: int) -> None:
    rng = random.Random(seed)
    source = opened(server)
    passing = [fault for fault in PASSING if fault != "whole"]
    server.faults.extend(rng.choice([None, None, *passing]) for _ in range(120))
    starts = sorted(rng.sample(range(SIZE - 20_000), 40))
    ranges = [(start, start + rng.randrange(1, 20_000)) for start in starts]
    policy = pqlab.IOPolicy(
        footer_guess_bytes=1_000, attempts=60, backoff_s=0.0, concurrency=8, bytes_per_thread=1
    )
    source = opened(server, policy)
    for (start, stop), buffer in zip(ranges, source.read(ranges), strict=True):
        assert buffer.tobytes() == CONTENT[start:stop]


@pytest.mark.parametrize("fault", [fault for fault in PASSING if fault not in ("slow", "whole")])
def test_opening_gets_over_it(server: RangeServer, fault: str) -> None:
    server.faults.append(fault)
    assert opened(server).size == SIZE


def test_it_gives_up(server: RangeServer) -> None:
    source = opened(server)
    server.log.clear()
    server.faults.extend(["503"] * 20)
    with pytest.raises(SourceError, match=r"503 .*SlowDown.*5 attempts") as caught:
        source.read([(0, 10)])
    assert len(server.log) == 5
    assert caught.value.offset == 0


def test_it_stops_at_the_deadline(server: RangeServer) -> None:
    policy = pqlab.IOPolicy(
        attempts=1_000, backoff_s=0.05, deadline_s=0.5, footer_guess_bytes=1_000
    )
    source = opened(server, policy)
    server.log.clear()
    server.faults.extend(["500"] * 1_000)
    with pytest.raises(SourceError, match="500 Internal Server Error"):
        source.read([(0, 10)])
    assert 2 < len(server.log) < 100


def test_a_server_that_goes_silent(server: RangeServer) -> None:
    server.slow_s = 5.0
    policy = pqlab.IOPolicy(
        attempts=2, backoff_s=0.0, stall_timeout_s=0.2, footer_guess_bytes=1_000
    )
    source = opened(server, policy)
    server.faults.extend(["slow", "slow"])
    with pytest.raises(SourceError, match=r"no bytes came in time|connection failed"):
        source.read([(0, 10)])


INTERRUPTED = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have set to ignore
sys.path.insert(0, {tests!r})
import polars  # handles signals, too: before that was set, its handler would be lost
import pqlab
from range_server import Network, RangeServer
from streams import parquet, table_of
few = pqlab.IOPolicy(footer_guess_bytes=1_000)
with RangeServer({{"a.parquet": parquet(table_of(2_000), 100)}}) as server:
    url = server.url("a.parquet")
    file, files = pqlab.open(url, io=few), pqlab.open([url, url], io=few)
    files.info
    begin = {begin}
    server.network = Network(latency_s=60)
    def interrupt():
        time.sleep(0.3)
        global sent
        sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt).start()
    try:
        begin()
    except KeyboardInterrupt:
        print(time.perf_counter() - sent)
        sys.stdout.flush()
        os._exit(0)
    os._exit(1)
"""


@pytest.mark.parametrize(
    "begin",
    [
        "lambda: pqlab.open(url, cache=None)",
        "file.read",
        "lambda: file.head(3)",
        "lambda: list(file.iter_row_groups())",
        "lambda: file.pages(headers=True)",
        "files.read",
        "lambda: list(files.iter_row_groups())",
    ],
)
def test_an_interrupt_ends_the_wait_for_a_silent_server(begin: str) -> None:
    program = INTERRUPTED.format(tests=str(Path(__file__).parent), begin=begin)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1  # about 0.05 on a machine that has time


def test_nobody_listens() -> None:
    with RangeServer({}) as gone:
        url = gone.url("a.parquet")
    policy = pqlab.IOPolicy(attempts=2, backoff_s=0.0)
    with pytest.raises(SourceError, match="connection failed"):
        pqlab.open(url, io=policy)


def test_frames_come_whole_through_faults(server: RangeServer) -> None:
    rng = np.random.default_rng(3)
    table = pa.table({f"c{i}": rng.integers(0, 1 << 40, 60_000) for i in range(5)})
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=6_000, write_page_index=True)
    server.files["t.parquet"] = sink.getvalue()
    faults = ["503", "cut", None, "reset", "429", "short", "slow", "drop", None, "shifted"]
    server.faults.extend(faults * 2)
    trace = pqlab.Trace()
    policy = pqlab.IOPolicy(
        footer_guess_bytes=65536,
        max_request_bytes=100_000,
        concurrency=6,
        bytes_per_thread=1,
        part_bytes=50_000,
        backoff_s=0.001,
        attempts=9,
        overread_share=0.0,
    )
    with trace, pqlab.open(server.url("t.parquet"), io=policy) as file:
        frame = file.read()
    assert_frame_equal(frame, pl.DataFrame(pl.from_arrow(table)), check_dtypes=True)
    requests = trace.requests()
    assert requests["attempts"].sum() == len(server.gets())
    assert requests["attempts"].sum() > requests.height
    assert requests["errors"].list.len().sum() == requests["attempts"].sum() - requests.height
    assert requests["reason"].value_counts().sort("reason").rows()[0][0] == "footer"


def test_pauses_grow_and_end() -> None:
    policy = pqlab.IOPolicy(attempts=4, backoff_s=0.1, deadline_s=10)
    assert [pause_s(number, 0.0, 1.0, policy) for number in (1, 2, 3, 4)] == [0.1, 0.2, 0.4, None]
    assert pause_s(1, 0.0, 0.0, policy) == 0
    assert pause_s(1, 9.95, 1.0, policy) is None
    assert pause_s(1, 9.85, 1.0, policy) == 0.1


def test_words_of_foreign_errors_are_shown_only_where_they_hold_no_secret() -> None:
    assert failures.reason(OSError(5, "Input/output error")) == "OSError: Input/output error"
    assert failures.reason(ValueError("at https://host/a?sig=SECRET")) == "ValueError"
    assert failures.reason(ValueError("token=SECRET")) == "ValueError"
    assert failures.reason(KeyError("x" * 500)) == "KeyError"


def many_row_groups(seed: int = 3) -> tuple[pa.Table, bytes]:
    rng = np.random.default_rng(seed)
    table = pa.table({f"c{i}": rng.integers(0, 1 << 40, 30_000) for i in range(4)})
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=2_000, write_page_index=True)
    return table, sink.getvalue()


@pytest.mark.parametrize("prefetch", [0, 3, "adaptive"])
def test_iterations_come_whole_through_faults(server: RangeServer, prefetch: Any) -> None:
    table, server.files["t.parquet"] = many_row_groups()
    file = pqlab.open(server.url("t.parquet"), io=replace(POLICY, attempts=60, backoff_s=0.0))
    rng = random.Random(5)
    faults = ["503", "429", "cut", "reset", "short", "drop", "shifted", "mute", None, None]
    server.faults.extend(rng.choice(faults) for _ in range(60))
    trace = pqlab.Trace()
    frames = list(file.iter_row_groups(prefetch=prefetch, memory_limit=500_000, trace=trace))
    assert [frame.height for frame in frames] == [2_000] * 15
    assert_frame_equal(pl.concat(frames), pl.DataFrame(pl.from_arrow(table)))
    requests = trace.requests()
    assert requests["errors"].list.len().sum() == requests["attempts"].sum() - requests.height
    assert requests["attempts"].sum() > requests.height


@pytest.mark.parametrize("etags", [True, False])
@pytest.mark.parametrize("prefetch", [0, 2])
def test_an_iteration_ends_where_the_file_changes(
    server: RangeServer, etags: bool, prefetch: int
) -> None:
    server.etags = etags
    table, server.files["t.parquet"] = many_row_groups()
    file = pqlab.open(server.url("t.parquet"), io=POLICY)
    trace = pqlab.Trace()
    iteration = file.iter_row_groups(prefetch=prefetch, memory_limit=500_000, trace=trace)
    frames = [next(iteration) for _ in range(3)]
    server.change("t.parquet", many_row_groups(seed=4)[1])
    with pytest.raises(SourceChangedError, match="changed since it was opened"):
        frames.extend(iteration)  # what came before the error is kept
    assert 3 <= len(frames) < 15
    expected = pl.DataFrame(pl.from_arrow(table))[: 2_000 * len(frames)]
    assert_frame_equal(pl.concat(frames), expected)
    assert list(iteration) == []
    assert trace.reads()["failure"].str.contains("SourceChangedError").to_list() == [True]


def test_a_server_that_drips(server: RangeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("range_server.PIECE_BYTES", 50)
    policy = replace(POLICY, deadline_s=0.6, stall_timeout_s=0.5, attempts=3)
    source = opened(server, policy)
    server.network = Network(connection_bytes_per_s=1_000)  # a piece each 50 ms
    begun = time.monotonic()
    with pytest.raises(SourceError, match=r"no bytes came in time|broke off|connection failed"):
        source.read([(0, 100_000)])
    assert time.monotonic() - begun < 5
