from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pqlab.errors import SourceChangedError, SourceError
from pqlab.io.fetch import fetch
from pqlab.io.source import Source, Transfer, open_source
from pqlab.plan.coalesce import coalesce
from pqlab.plan.policy import IOPolicy
from pqlab.plan.tables import CHUNK, ROW_GROUP, ROW_RANGE, RUN, PlanTables
from pqlab.trace import Stage, Trace, blank_events

CONTENT = np.random.default_rng(1).bytes(20_000)


def events(*rows: dict[str, int]) -> np.ndarray:
    made = blank_events(len(rows))
    for event, row in zip(made, rows, strict=True):
        for cell, value in row.items():
            event[cell] = value
    return made


def test_an_empty_trace_is_a_frame_with_all_columns() -> None:
    trace = Trace()
    frame = trace.to_frame()
    assert frame.height == 0
    assert frame.schema["column"] == pl.String
    assert frame.schema["start_ns"] == pl.Int64
    assert trace.summary().height == 0
    assert len(trace) == 0
    assert "0 reads" in repr(trace)


def test_cells_that_do_not_apply_are_null_and_codes_have_names() -> None:
    trace = Trace()
    first = trace.begin("a.parquet", ["x", "y"])
    second = trace.begin("b.parquet", ["z"])
    second.add(
        events(
            {
                "start_ns": 5,
                "leaf": 0,
                "row_group": 2,
                "page": -1,
                "stage": 4,
                "encoding": 0,
                "codec": 6,
                "values": 10,
                "worker": 1,
            }
        ),
    )
    first.add(
        events(
            {
                "start_ns": 9,
                "leaf": 1,
                "page": 0,
                "row_group": 0,
                "stage": 5,
                "encoding": 8,
                "codec": 0,
            },
            {"start_ns": 1, "stage": 0, "request_id": 3, "encoding": -1},
        ),
    )
    frame = trace.to_frame()
    assert frame.select(
        "read",
        "file",
        "row_group",
        "leaf",
        "column",
        "page",
        "stage",
        "start_ns",
        "encoding",
        "codec",
        "values",
        "request_ids",
        "worker",
    ).rows() == [
        (0, "a.parquet", None, None, None, None, "fetch", 1, None, None, None, [3], None),
        (1, "b.parquet", 2, 0, "z", -1, "decode", 5, "PLAIN", "ZSTD", 10, None, 1),
        (
            0,
            "a.parquet",
            0,
            1,
            "y",
            0,
            "levels+decode",
            9,
            "RLE_DICTIONARY",
            "UNCOMPRESSED",
            None,
            None,
            None,
        ),
    ]
    assert len(trace) == 3


def test_the_summary_adds_up_stages_per_column() -> None:
    trace = Trace()
    read = trace.begin("f", ["a", "b"])
    read.add(
        events(
            {
                "leaf": 0,
                "row_group": 0,
                "page": 0,
                "stage": Stage.DECOMPRESS,
                "duration_ns": 30,
                "bytes_out": 99,
            },
            {
                "leaf": 0,
                "row_group": 0,
                "page": 0,
                "stage": Stage.LEVELS,
                "duration_ns": 10,
                "values": 5,
            },
            {
                "leaf": 0,
                "row_group": 0,
                "page": 0,
                "stage": Stage.DECODE,
                "duration_ns": 40,
                "values": 5,
                "bytes_out": 400,
            },
            {
                "leaf": 0,
                "row_group": 0,
                "stage": Stage.FETCH,
                "duration_ns": 20,
                "bytes_in": 77,
                "bytes_out": 70,
            },
            {
                "leaf": 1,
                "row_group": 0,
                "page": 0,
                "stage": Stage.LEVELS_DECODE,
                "duration_ns": 4,
                "bytes_out": 8,
                "values": 5,
            },
            {"stage": Stage.FETCH, "duration_ns": 1, "bytes_in": 7},
        ),
    )
    rows = {row["column"]: row for row in trace.summary().to_dicts()}
    assert list(rows) == ["a", "b", None]
    a = rows["a"]
    assert a["values"] == rows["b"]["values"] == 5  # once, however many stages they go through
    assert (a["pages"], a["total_ns"], a["fetched_bytes"], a["decoded_bytes"]) == (1, 100, 77, 400)
    assert (a["fetch_share"], a["decompress_share"], a["decode_share"], a["wait_share"]) == (
        0.2,
        0.3,
        0.5,
        0,
    )
    assert a["mb_per_s"] == pytest.approx(4000)
    assert rows["b"]["decode_share"] == 1
    assert rows[None]["fetched_bytes"] == 7


def test_threads_share_a_trace() -> None:
    trace = Trace()
    ids: list[int] = []

    def work() -> None:
        for _ in range(50):
            read = trace.begin("f", ["a"])
            mine = read.request_ids(3)
            ids.extend(mine)
            read.add(events(*({"request_id": number, "leaf": 0} for number in mine)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(trace) == 8 * 50 * 3
    assert len(set(ids)) == len(ids)
    assert trace.to_frame()["read"].n_unique() == 400


def tables_of(*runs: tuple[int, int]) -> PlanTables:
    """A leaf with one run each."""
    chunks = [(1, leaf, 1, 0, leaf, 0, 1, (0, 0, 0)) for leaf in range(len(runs))]
    return PlanTables(
        np.array([(1, 0, 0, 1, 0)], ROW_GROUP),
        np.array(chunks, CHUNK),
        np.array([(*run, 0, -1, 0, -1) for run in runs], RUN),
        np.array([(0, 1)], ROW_RANGE),
    )


RUNS = [(4, 100), (100, 5000), (5010, 5020), (9000, 9000 + 7001), (19_990, 20_000)]


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("max_request_bytes", [7, 64, 1000, 1 << 20])
@pytest.mark.parametrize("as_bytes", [True, False])
def test_fetched_views_are_the_bytes(
    concurrency: int, max_request_bytes: int, as_bytes: bool, tmp_path: Path
) -> None:
    (tmp_path / "f").write_bytes(CONTENT)
    source = open_source(CONTENT if as_bytes else tmp_path / "f")
    policy = IOPolicy(gap_bytes=16, max_request_bytes=max_request_bytes, concurrency=concurrency)
    requests = coalesce(RUNS, policy)
    trace = Trace()
    recording = trace.begin("f", [f"c{number}" for number in range(len(RUNS))])
    fetched = fetch(source, requests, tables_of(*RUNS), policy, recording)
    for start, stop in RUNS:
        view = fetched.view(start, stop)
        assert view.tobytes() == CONTENT[start:stop]
        assert (
            len(np.lib.stride_tricks.as_strided(view, (stop - start + 16,)).tobytes())
            == stop - start + 16
        )
    assert fetched.nbytes == sum(stop - start for start, stop in requests)
    frame = trace.to_frame()
    assert frame.height == len(requests)
    assert frame["request_ids"].explode().n_unique() == len(requests)
    assert frame["bytes_in"].sum() == fetched.nbytes
    assert frame["bytes_out"].sum() == sum(stop - start for start, stop in RUNS)
    assert max(frame["worker"].to_list()) < concurrency
    assert (frame["duration_ns"] > 0).all()
    with pytest.raises(SourceError, match="not fetched"):
        fetched.view(6000, 6001)
    source.close()


def test_a_request_of_several_chunks_has_no_column() -> None:
    policy = IOPolicy(gap_bytes=10, max_request_bytes=1000)
    runs = [(0, 10), (15, 20), (500, 510)]
    trace = Trace()
    fetch(
        open_source(CONTENT),
        coalesce(runs, policy),
        tables_of(*runs),
        policy,
        trace.begin("f", ["a", "b", "c"]),
    )
    assert trace.to_frame().sort("bytes_in").select(
        "column", "row_group", "bytes_in", "bytes_out"
    ).rows() == [
        ("c", 0, 10, 10),
        (None, 0, 20, 15),
    ]


class Failing(Source):
    name, size = "failing", 1000

    def __init__(self) -> None:
        self.reads = 0

    def _fill(self, start: int, buffer: np.ndarray) -> Transfer:
        del buffer
        self.reads += 1
        raise SourceError("no", offset=start)

    def check_unchanged(self) -> None:
        pass

    def close(self) -> None:
        pass


def test_the_first_error_ends_the_fetch() -> None:
    source = Failing()
    policy = IOPolicy(gap_bytes=0, max_request_bytes=1, concurrency=2)
    with pytest.raises(SourceError, match="no"):
        fetch(source, coalesce([(0, 500)], policy), tables_of((0, 500)), policy)
    assert source.reads < 500


def test_a_source_that_changed_is_seen_after_the_fetch(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(CONTENT)
    source = open_source(path)
    path.write_bytes(CONTENT[::-1] + b"x")
    with pytest.raises(SourceChangedError):
        fetch(source, ((0, 10),), tables_of((0, 10)), IOPolicy())
