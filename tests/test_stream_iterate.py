"""Iterations against pyarrow: order, shards, states, batches, files; and how they end."""

from __future__ import annotations

import gc
import io
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal
from streams import Slow, oracle, parquet, table_of

import pqlab
from pqlab.errors import (
    CorruptError,
    PqlabError,
    SelectionError,
    SourceChangedError,
    SourceError,
)
from pqlab.io.pages import learn_pages
from pqlab.native import _native
from pqlab.plan.selection import Narrowed

ROWS, GROUP = 2_000, 150
DATA = parquet(table_of(ROWS), GROUP, data_page_size=500)
NUM_GROUPS = -(-ROWS // GROUP)


@pytest.fixture(params=["bytes", "path", "object", "slow"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "bytes":
        return DATA
    if request.param == "object":
        return io.BytesIO(DATA)
    if request.param == "slow":
        return Slow(DATA, 0.001)
    path = tmp_path / "file.parquet"
    path.write_bytes(DATA)
    return path


@pytest.mark.parametrize("prefetch", ["adaptive", 0, 1, 5, 100])
def test_a_frame_per_row_group_in_order(source: Any, prefetch: Any) -> None:
    frames = list(pqlab.open(source).iter_row_groups(prefetch=prefetch))
    assert [frame.height for frame in frames] == [GROUP] * (NUM_GROUPS - 1) + [ROWS % GROUP]
    for number, frame in enumerate(frames):
        assert_frame_equal(frame, oracle(DATA, [number]))


@pytest.mark.parametrize("memory_limit", [3_000, 10_000, 300_000, None])
@pytest.mark.parametrize("rows", [1, 64, 150, 151, 1000, 10_000])
def test_batches_have_as_many_rows_as_asked_for(rows: int, memory_limit: int | None) -> None:
    batches = list(pqlab.open(DATA).iter_batches(rows, memory_limit=memory_limit))
    heights = [batch.height for batch in batches]
    assert set(heights[:-1]) <= {rows}
    assert 0 < heights[-1] <= rows
    assert_frame_equal(pl.concat(batches), oracle(DATA))


def test_row_groups_beyond_the_memory_limit_are_whole() -> None:
    frames = list(pqlab.open(DATA).iter_row_groups(memory_limit=5_000))
    assert len(frames) == NUM_GROUPS
    assert_frame_equal(pl.concat(frames), oracle(DATA))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("write_page_index", [False, True])
def test_batches_of_one_large_row_group(version: str, write_page_index: bool) -> None:
    options = {"data_page_version": version, "write_page_index": write_page_index}
    data = parquet(table_of(ROWS), ROWS, data_page_size=300, **options)
    batches = list(pqlab.open(data).iter_batches(301, memory_limit=40_000))
    assert [batch.height for batch in batches] == [301] * 6 + [ROWS - 6 * 301]
    assert_frame_equal(pl.concat(batches), oracle(data))


def test_arrow_tables_are_handed_out_on_request() -> None:
    tables = list(pqlab.open(DATA).iter_row_groups(["row", "text"], to="arrow"))
    expected = pq.read_table(io.BytesIO(DATA), columns=["row", "text"])
    assert [table.num_rows for table in tables][:2] == [GROUP, GROUP]
    joined = pa.concat_tables(tables)
    assert joined["row"].to_pylist() == expected["row"].to_pylist()
    assert joined["text"].to_pylist() == expected["text"].to_pylist()


def test_selections_hold_for_iterations() -> None:
    file = pqlab.open(DATA)
    frames = list(file.iter_row_groups(["number", "list"], row_groups=slice(1, 4)))
    assert_frame_equal(pl.concat(frames), oracle(DATA, [1, 2, 3]).select("number", "list"))
    frames = list(file.iter_row_groups(rows=[(10, 20), (140, 160), (1990, 2000)]))
    assert [frame.height for frame in frames] == [20, 10, 10]
    rows = [*range(10, 20), *range(140, 160), *range(1990, 2000)]
    assert_frame_equal(pl.concat(frames), oracle(DATA)[rows])
    picked = file.select(["row", "number"], pages={"row": [0, 2]})
    assert_frame_equal(pl.concat(list(picked.iter_row_groups())), picked.read())
    assert list(file.iter_row_groups(rows=(0, 0))) == []


@pytest.mark.parametrize("seed", [1, 2])
def test_a_shuffle_permutes_row_groups_and_shards_part_them(seed: int) -> None:
    file = pqlab.open(DATA)
    frames = list(file.iter_row_groups(shuffle=seed))
    order = [int(frame["row"][0]) // GROUP for frame in frames]
    assert sorted(order) == list(range(NUM_GROUPS))
    assert order != sorted(order)
    assert_frame_equal(pl.concat(frames), oracle(DATA, order))
    shards = [list(file.iter_row_groups(shuffle=seed, shard=(rank, 3))) for rank in range(3)]
    assert [int(f["row"][0]) // GROUP for f in shards[1]] == order[1::3]
    assert sum(map(len, shards)) == NUM_GROUPS


@pytest.mark.parametrize("after", [0, 1, 5, NUM_GROUPS - 1, NUM_GROUPS])
@pytest.mark.parametrize("options", [{}, {"shuffle": 9}, {"shuffle": 9, "shard": (1, 2)}])
def test_a_state_resumes_exactly(after: int, options: dict[str, Any]) -> None:
    file = pqlab.open(DATA)
    frames = list(file.iter_row_groups(**options))
    with file.iter_row_groups(**options) as begun:
        for _ in zip(range(min(after, len(frames))), begun, strict=False):
            pass
        state = json.loads(json.dumps(begun.state))
    rest = list(pqlab.open(DATA).iter_row_groups(state=state))
    assert len(rest) == len(frames) - min(after, len(frames))
    for left, right in zip(rest, frames[after:], strict=True):
        assert_frame_equal(left, right)


def test_a_state_of_batches_resumes_within_a_row_group() -> None:
    file = pqlab.open(DATA)
    batches = list(file.iter_batches(64, shuffle=4))
    for after in (1, 2, 3, 7, 20):
        begun = file.iter_batches(64, shuffle=4)
        for _ in range(after):
            next(begun)
        rest = list(file.iter_batches(64, state=begun.state))
        assert len(rest) == len(batches) - after
        for left, right in zip(rest, batches[after:], strict=True):
            assert_frame_equal(left, right)


def test_a_state_is_of_one_selection() -> None:
    file = pqlab.open(DATA)
    state = file.iter_row_groups(["row"]).state
    with pytest.raises(SelectionError, match="other row groups or columns"):
        file.iter_row_groups(["row", "text"], state=state)


@pytest.mark.parametrize(
    "change", [{"row_groups": NUM_GROUPS + 1}, {"rows": GROUP}, {"row_groups": 13, "rows": 50}]
)
def test_a_state_behind_the_end_is_refused(change: dict[str, int]) -> None:
    file = pqlab.open(DATA)
    state = file.iter_row_groups().state
    with pytest.raises(SelectionError, match="more row groups or rows"):
        file.iter_row_groups(state={**state, **change})


def test_frames_do_not_change_when_later_ones_come() -> None:
    iteration = pqlab.open(DATA).iter_batches(64, ["text", "list"])
    kept, copies = [], []
    for frame in iteration:
        kept.append(frame)
        copies.append(frame.to_dict(as_series=False))
    del iteration
    gc.collect()
    assert [frame.to_dict(as_series=False) for frame in kept] == copies
    assert_frame_equal(pl.concat(kept), oracle(DATA).select("text", "list"))


def test_metadata_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    parse = _native.parse_footer

    def counted(*arguments: Any, **options: Any) -> Any:
        parsed.append(1)
        return parse(*arguments, **options)

    monkeypatch.setattr(_native, "parse_footer", counted)
    file = pqlab.open(DATA, cache=None)
    for _ in range(3):
        assert len(list(file.iter_row_groups(["row"]))) == NUM_GROUPS
    assert len(parsed) == 1


def test_datasets_go_on_from_file_to_file(tmp_path: Path) -> None:
    parts = [table_of(500, 1), table_of(320, 2).select(["text", "row"]), table_of(10, 3)]
    for number, part in enumerate(parts):
        (tmp_path / f"year={2000 + number}").mkdir()
        path = tmp_path / f"year={2000 + number}" / "part.parquet"
        path.write_bytes(parquet(part, 100))
    dataset = pqlab.open(tmp_path)
    options: dict[str, Any] = {"include_file": True, "include_row_index": True}
    whole = dataset.read(**options)
    assert whole.height == 830
    assert whole["row"].to_list() == [row for part in parts for row in part["row"].to_pylist()]
    frames = list(dataset.iter_row_groups(**options))
    assert [frame.height for frame in frames] == [100] * 5 + [100, 100, 100, 20] + [10]
    assert_frame_equal(pl.concat(frames), whole)
    batches = list(dataset.iter_batches(77, ["row", "list", "year"]))
    assert [batch.height for batch in batches] == [77] * 10 + [60]
    assert_frame_equal(pl.concat(batches), whole.select("row", "list", "year"))
    shuffled = list(dataset.iter_row_groups(["row"], shuffle=5))
    assert sorted(pl.concat(shuffled)["row"].to_list()) == sorted(whole["row"].to_list())
    assert len(shuffled) == 10
    [table, *_] = dataset.select(["row", "year"]).iter_row_groups(to="arrow")
    assert table["year"].to_pylist() == [2000] * 100
    only_keys = list(dataset.iter_row_groups(["year"]))
    assert pl.concat(only_keys)["year"].to_list() == [2000] * 500 + [2001] * 320 + [2002] * 10


def test_the_next_files_pages_are_on_their_way_before_the_file_ends() -> None:
    slow = [Slow(parquet(table_of(300, seed), 100)) for seed in range(3)]
    iteration = pqlab.open(slow).iter_row_groups(["row"], prefetch=2)
    footers = len(slow[1].requests)
    next(iteration)
    next(iteration)
    deadline = time.monotonic() + 5
    while len(slow[1].requests) == footers and time.monotonic() < deadline:
        time.sleep(0.001)
    assert len(slow[1].requests) > footers
    assert sum(frame.height for frame in iteration) == 700


@pytest.mark.parametrize("prefetch", [0, 5, "adaptive"])
@pytest.mark.parametrize("what", ["gone", "cut", "replaced"])
def test_frames_before_a_bad_file_are_handed_out(tmp_path: Path, what: str, prefetch: Any) -> None:
    tables = [table_of(300, seed) for seed in range(3)]
    for number, table in enumerate(tables):
        (tmp_path / f"{number}.parquet").write_bytes(parquet(table, 100))
    trace = pqlab.Trace()
    iteration = pqlab.open(tmp_path).iter_row_groups(trace=trace, prefetch=prefetch)
    bad = tmp_path / "1.parquet"
    if what == "gone":
        bad.unlink()
    elif what == "cut":
        os.truncate(bad, 500)
    else:
        bad.write_bytes(parquet(tables[2], 100))
    good: list[pl.DataFrame] = []
    with pytest.raises(SourceError, match=r"1\.parquet"):
        good.extend(iteration)  # what came before the error is kept
    assert_frame_equal(pl.concat(good), pl.DataFrame(tables[0]))
    assert list(iteration) == []
    failures = [failure is not None for failure in trace.reads().filter(kind="read")["failure"]]
    assert failures == [False, True]


@pytest.mark.parametrize("prefetch", [0, 3, "adaptive"])
@pytest.mark.parametrize("kind", ["bytes", "path"])
@pytest.mark.parametrize("memory_limit", [None, 20_000])
def test_frames_before_what_cannot_be_planned_are_handed_out(
    kind: str,
    prefetch: Any,
    memory_limit: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def learn(store: Any, metadata: Any, narrowed: Narrowed, *rest: Any, **options: Any) -> Any:
        if 6 in narrowed.rows:
            raise CorruptError("the index is bad", row_group=6)
        return learn_pages(store, metadata, narrowed, *rest, **options)

    monkeypatch.setattr("pqlab.stream.units.learn_pages", learn)
    (tmp_path / "file.parquet").write_bytes(DATA)
    source: Any = DATA if kind == "bytes" else tmp_path / "file.parquet"
    rows = [(number * GROUP + 3, number * GROUP + 90) for number in range(NUM_GROUPS - 1)]
    trace = pqlab.Trace()
    iteration = pqlab.open(source).iter_row_groups(
        ["row"], rows=rows, prefetch=prefetch, memory_limit=memory_limit, trace=trace
    )
    good: list[pl.DataFrame] = []
    with pytest.raises(CorruptError, match="the index is bad"):
        good.extend(iteration)  # what came before the error is kept
    wanted = [row for start, stop in rows[:6] for row in range(start, stop)]
    assert pl.concat(good)["row"].to_list() == wanted
    assert list(iteration) == []
    assert trace.reads()["failure"].str.contains("the index is bad").to_list() == [True]


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("write_page_index", [False, True])
def test_a_small_limit_does_not_read_a_row_group_again_and_again(
    version: str, write_page_index: bool
) -> None:
    options: dict[str, Any] = {
        "data_page_version": version,
        "write_page_index": write_page_index,
        "use_dictionary": False,
    }
    data = parquet(table_of(20_000), 20_000, data_page_size=2_000, **options)
    trace = pqlab.Trace()
    batches = list(pqlab.open(data).iter_batches(1_000, memory_limit=400_000, trace=trace))
    assert_frame_equal(pl.concat(batches), oracle(data))
    pages = trace.to_frame().filter(stage="fetch", reason="pages")
    # A page that parts share is read for each; pages are walked once.
    assert pages["bytes_in"].sum() < 3 * len(data)
    walked = trace.to_frame().filter(stage="fetch", reason="page_headers")
    assert walked["bytes_in"].sum() < 1.5 * len(data)


def corrupted(row_group: int) -> bytes:
    """DATA with zeros where the values of a page of one row group were."""
    chunk = pq.ParquetFile(io.BytesIO(DATA)).metadata.row_group(row_group).column(2)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    stop = start + chunk.total_compressed_size
    return DATA[: stop - 40] + b"\xff" * 40 + DATA[stop:]


@pytest.mark.parametrize("memory_limit", [None, 20_000])
@pytest.mark.parametrize("kind", ["bytes", "path", "slow"])
def test_frames_before_a_bad_page_are_handed_out(
    kind: str, memory_limit: int | None, tmp_path: Path
) -> None:
    data = corrupted(6)
    (tmp_path / "bad.parquet").write_bytes(data)
    source: Any = {"bytes": data, "path": tmp_path / "bad.parquet", "slow": Slow(data)}[kind]
    trace = pqlab.Trace()
    iteration = pqlab.open(source).iter_row_groups(trace=trace, memory_limit=memory_limit)
    good: list[pl.DataFrame] = []
    with pytest.raises(CorruptError) as raised:
        good.extend(iteration)  # what came before the error is kept
    assert_frame_equal(pl.concat(good), oracle(DATA, list(range(6))))
    assert iteration.state["row_groups"] == 6
    with pytest.raises(StopIteration):
        next(iteration)
    assert (raised.value.row_group, raised.value.column) == (6, "text")
    failures = trace.to_frame().filter(pl.col("stage") == "failure")
    assert failures["row_group"].to_list() == [6]
    assert trace.reads()["failure"].str.contains("CorruptError").to_list() == [True]


def test_a_file_that_changes_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    path.write_bytes(DATA)
    file = pqlab.open(path)
    iteration = file.iter_row_groups(prefetch=0, memory_limit=20_000)
    assert_frame_equal(next(iteration), oracle(DATA, [0]))
    with path.open("r+b") as changed:
        changed.seek(1000)
        changed.write(b"!" * 5000)
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceChangedError):
        list(iteration)
    with pytest.raises(StopIteration):
        next(iteration)


@pytest.mark.parametrize("end", ["del", "close", "with", "error"])
def test_an_iteration_that_ends_early_stops_its_requests(end: str) -> None:
    slow: Any = Slow(DATA, 0.002)
    iteration = pqlab.open(slow).iter_row_groups(prefetch=50, memory_limit=10_000_000)
    next(iteration)
    if end == "close":
        iteration.close()
        assert list(iteration) == []
    elif end == "with":
        with iteration:
            pass
    elif end == "error":
        with pytest.raises(ZeroDivisionError), iteration:
            1 / 0  # noqa: B018
    del iteration
    time.sleep(0.1)
    made = len(slow.requests)
    time.sleep(0.1)
    assert len(slow.requests) == made


def handles_open() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_a_thousand_abandoned_iterations_leave_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    path.write_bytes(DATA)
    source: Any = Slow(DATA)
    file, slow = pqlab.open(path), pqlab.open(source)
    list(file.iter_row_groups())
    threads, handles = threading.active_count(), handles_open()
    for number in range(1000):
        iteration = (slow if number % 10 == 0 else file).iter_row_groups(prefetch=number % 4)
        if number % 3:
            next(iteration)
        del iteration
    gc.collect()
    deadline = time.monotonic() + 10
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= threads
    while handles_open() > handles and time.monotonic() < deadline:
        time.sleep(0.01)  # what was under way ends by itself
    assert handles_open() <= handles


def test_iterations_of_several_threads_share_the_pool() -> None:
    file = pqlab.open(DATA)
    expected = oracle(DATA)
    found: list[pl.DataFrame] = []

    def read() -> None:
        found.append(pl.concat(list(file.iter_row_groups(workers=2))))

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    for frame in found:
        assert_frame_equal(frame, expected)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"prefetch": -1}, ValueError),
        ({"prefetch": "some"}, ValueError),
        ({"prefetch": True}, ValueError),
        ({"memory_limit": 0}, ValueError),
        ({"workers": 0}, ValueError),
        ({"to": "pandas"}, ValueError),
        ({"trace": 1}, TypeError),
        ({"nonsense": 1}, TypeError),
        ({"engine": "gpu"}, PqlabError),
        ({"columns": ["nothing"]}, SelectionError),
    ],
)
def test_options_that_cannot_be_are_refused_at_once(
    options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        pqlab.open(DATA).iter_row_groups(**options)


def test_a_batch_has_rows() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        pqlab.open(DATA).iter_batches(0)
