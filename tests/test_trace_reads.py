"""What reads record: why bytes are fetched, which pages came with which request, how reads end."""

from __future__ import annotations

import pickle
import sys
import types
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from edited_footers import written
from paged_files import paged_file

import pqlab
from pqlab.trace import Recording
from pqlab.trace.nvtx import _package

INDEXED, WALKED = 0, 2  # of `paged_files.VARIANTS`


@pytest.fixture(params=[INDEXED, WALKED], ids=["indexed", "walked"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    file = tmp_path / "f.parquet"
    file.write_bytes(paged_file(request.param).data)
    return file


def test_each_request_has_its_reason(path: Path) -> None:
    with pqlab.Trace() as trace:
        file = pqlab.open(path, cache=None)
        file.pages()
        file.dictionary(0, "word")
        file.page_header(0, "id", 1)
        file.read("id", rows=(100, 200))
    reasons = trace.requests()["reason"].to_list()
    assert reasons[0] == "footer"
    found = set(reasons) - {"page_index"}
    assert found == {"footer", "page_headers", "dictionary", "pages"}
    assert ("page_index" in reasons) == (path.read_bytes() == paged_file(INDEXED).data)
    assert trace.to_frame().filter(stage="plan").height == 1
    # Two reads: what was read outside of reads, and the read.
    assert trace.reads()["kind"].to_list() == ["outside", "read"]
    outside = trace.requests().filter(read=0)["reason"].unique().to_list()
    assert "pages" not in outside
    assert set(trace.requests().filter(read=1)["reason"]) == {"pages"}


def test_requests_say_what_they_fetched(path: Path) -> None:
    with pqlab.Trace() as trace, pqlab.open(path, cache=None) as file:
        file.read(["id", "word"])
    requests = trace.requests()
    footer = requests.filter(reason="footer")
    assert footer["stop"].to_list() == [path.stat().st_size]
    pages = requests.filter(reason="pages")
    for row in pages.to_dicts():
        assert row["wanted_bytes"] + row["wasted_bytes"] == row["stop"] - row["start"]
        inside = [(one["start"], one["stop"]) for one in row["ranges"]]
        assert row["start"] == min(start for start, _ in inside)
        assert row["wanted_bytes"] == sum(stop - start for start, stop in inside)
    served = pages.explode("ranges").unnest("ranges", separator="_")
    wanted = {(group, column) for group in range(4) for column in ("id", "word")}
    assert set(served.select("ranges_row_group", "ranges_column").rows()) == wanted


@pytest.mark.parametrize("max_request_bytes", [700, 1 << 20])
def test_a_page_leads_to_its_requests(path: Path, max_request_bytes: int) -> None:
    trace = pqlab.Trace()
    policy = pqlab.IOPolicy(gap_bytes=64, max_request_bytes=max_request_bytes, concurrency=2)
    with pqlab.open(path, io=policy) as file:
        file.read(["id", "text"], trace=trace)
        pages = file.pages(columns=["id", "text"])
    frame = trace.to_frame()
    spans = {row["request_id"]: (row["start"], row["stop"]) for row in trace.requests().to_dicts()}
    located = {
        (row["row_group"], row["column"], row["page"]): (row["offset"], row["total_bytes"])
        for row in pages.filter(pl.col("page") >= 0).to_dicts()
    }
    found = frame.filter(pl.col("page") >= 0, pl.col("stage").str.contains("decode"))
    assert found.height == len(located)
    several = 0
    for row in found.to_dicts():
        begin, size = located[row["row_group"], row["column"], row["page"]]
        assert row["offset"] == begin
        overlapping = [
            number
            for number, (start, stop) in spans.items()
            if start < begin + size and stop > begin
        ]
        assert row["request_ids"] == overlapping
        several += len(overlapping) > 1
    assert (several > 0) == (max_request_bytes == 700)


def test_page_faults_and_the_queue_are_of_tasks(path: Path) -> None:
    trace = pqlab.Trace()
    with pqlab.open(path) as file:
        file.read(trace=trace)
    frame = trace.to_frame().filter(pl.col("page").is_not_null())
    last = frame.filter(pl.col("queued_ns").is_not_null())
    tasks = ("row_group", "leaf", "page")
    assert last.height == frame.select(tasks).n_unique()
    assert last["queued_ns"].min() >= 0  # type: ignore[operator]
    assert last.filter(pl.col("page_faults").is_null() | (pl.col("page_faults") < 0)).is_empty()
    assert trace.reads()["page_faults"].to_list() == [last["page_faults"].sum()]


def test_fresh_memory_shows_in_page_faults() -> None:
    # 16 MB of values, of which the pool keeps nothing of other reads.
    table = pa.table({"x": np.arange(2_000_000)})
    trace = pqlab.Trace()
    pqlab.memory(release=True)
    pqlab.read(written(table, use_dictionary=False), trace=trace, workers=1)
    assert trace.reads()["page_faults"][0] > 4


# ------------------------------------------------------------------------------ how reads end


def test_a_failure_ends_the_trace(path: Path) -> None:
    page = paged_file(INDEXED).pages[1, "text"][3]
    broken = bytearray(path.read_bytes())
    broken[page.start + 40 : page.stop] = bytes(page.stop - page.start - 40)
    trace = pqlab.Trace()
    with pytest.raises(pqlab.CorruptError) as raised:
        pqlab.read(bytes(broken), columns=["id", "text"], trace=trace)
    assert (raised.value.row_group, raised.value.column) == (1, "text")
    last = trace.to_frame().row(-1, named=True)
    assert last["stage"] == "failure"
    assert (last["row_group"], last["column"], last["page"]) == (1, "text", raised.value.page)
    [failure] = trace.reads()["failure"].drop_nulls()
    assert failure.startswith("CorruptError: ")
    assert trace.reads()["duration_ns"].null_count() == 0


def test_a_selection_that_fails_in_planning_ends_the_trace(path: Path) -> None:
    trace = pqlab.Trace()
    limits = pqlab.Limits(read_bytes=10)
    with pqlab.open(path, limits=limits) as file, pytest.raises(pqlab.LimitError):
        file.read(trace=trace)
    assert trace.to_frame()["stage"].to_list()[-1] == "failure"
    assert "read_bytes" in trace.reads()["failure"][0]


# ------------------------------------------------------------------------------ several traces


def test_reads_of_a_with_block_belong_to_the_inner_trace(path: Path) -> None:
    with pqlab.Trace() as outer, pqlab.open(path) as file:
        with pqlab.Trace() as inner:
            file.read("id")
        file.read("small", trace=inner)
        file.read("word")
    assert inner.reads().height == 2
    assert outer.reads().filter(kind="read").height == 1
    file.close()
    before = len(outer)
    pqlab.read(path, columns=["id"])
    assert len(outer) == before


def test_a_dataset_records_into_the_active_trace(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.parquet").write_bytes(paged_file(INDEXED).data)
    with pqlab.Trace() as trace:
        pqlab.read(tmp_path, columns=["id"])
    reads = trace.reads()
    assert reads["file"].n_unique() == 3
    assert reads.filter(kind="read")["file"].n_unique() == 3


def test_traces_of_processes_merge(path: Path) -> None:
    traces = {}
    for name, column in (("one", "id"), ("two", "text")):
        trace = pqlab.Trace()
        with pqlab.open(path) as file:
            file.read(column, trace=trace)
        traces[name] = pickle.loads(pickle.dumps(trace))
    merged = pqlab.Trace.merge(traces)
    assert len(merged) == sum(map(len, traces.values()))
    assert merged.reads()["trace"].to_list() == ["one", "two"]
    for name, column in (("one", "id"), ("two", "text")):
        alone, part = traces[name].to_frame(), merged.to_frame().filter(trace=name)
        kept = [c for c in alone.columns if c not in ("read", "request_ids")]
        assert part.select(kept).equals(alone.select(kept))
        ids = merged.requests().filter(trace=name)["request_id"].implode()
        of_pages = part.filter(column=column).explode("request_ids")["request_ids"]
        assert of_pages.is_in(ids[0]).all()
    assert merged.requests()["request_id"].n_unique() == merged.requests().height
    with pqlab.open(path) as file:  # it records on
        file.read("id", trace=merged)
    assert merged.requests()["request_id"].n_unique() == merged.requests().height


def test_threads_have_active_traces_of_their_own(path: Path) -> None:
    with pqlab.open(path) as file, pqlab.Trace() as trace:
        other = pqlab.Trace()
        reading: Recording = other.begin("other", [])
        with reading.active():
            file.pages(columns="id")
        file.pages(columns="text")
    assert len(other) > 0
    assert set(other.requests()["file"]) == {"other"}
    assert set(trace.requests()["file"]) == {str(path)}


# ------------------------------------------------------------------------------ NVTX


def test_nvtx_ranges_where_it_is_installed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranges = []

    @contextmanager
    def annotate(message: str, domain: str) -> Any:
        ranges.append((domain, message))
        yield

    module = types.ModuleType("nvtx")
    module.annotate = annotate  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nvtx", module)
    _package.cache_clear()
    try:
        pqlab.read(path, columns=["id"])
        assert ranges == []
        pqlab.read(path, columns=["id"], trace=pqlab.Trace())
    finally:
        _package.cache_clear()
    assert {domain for domain, _ in ranges} == {"pqlab"}
    assert {"plan", "assemble"} <= {message for _, message in ranges}


def test_without_nvtx_nothing_is_missed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nvtx", None)
    _package.cache_clear()
    try:
        trace = pqlab.Trace()
        pqlab.read(path, columns=["id"], trace=trace)
        assert len(trace) > 0
    finally:
        _package.cache_clear()
