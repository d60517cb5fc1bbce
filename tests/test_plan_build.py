from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from paged_files import NUM_ROW_GROUPS, NUM_ROWS, ROW_GROUP_ROWS, VARIANTS, Page, paged_file

import pqlab
from pqlab.errors import SelectionError
from pqlab.plan.policy import IOPolicy

INDEXED = [number for number, options in enumerate(VARIANTS) if options["write_page_index"]]
UNINDEXED = [number for number in range(len(VARIANTS)) if number not in INDEXED]


def open_variant(variant: int, **options: Any) -> pqlab.ParquetFile:
    file: pqlab.ParquetFile = pqlab.open(paged_file(variant).data, **options)
    return file


def covering(pages: list[Page], rows: list[tuple[int, int]]) -> list[Page]:
    return [
        page
        for page in pages
        if any(page.first_row < stop and start < page.last_row for start, stop in rows)
    ]


ranges = st.lists(
    st.tuples(st.integers(0, NUM_ROWS), st.integers(1, 400)).map(
        lambda pair: (pair[0], min(pair[0] + pair[1], NUM_ROWS))
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.sampled_from(INDEXED), ranges)
def test_exactly_the_covering_pages_are_planned(variant: int, rows: list[tuple[int, int]]) -> None:
    file = paged_file(variant)
    with open_variant(variant) as opened:
        plan = opened.select(rows=rows).plan()
    assert plan.unresolved_chunks == 0
    for chunk in plan.chunks:
        column = plan.columns[chunk.leaf]
        pages = file.pages[chunk.row_group, column]
        wanted = covering(pages, rows)
        start = chunk.row_group * ROW_GROUP_ROWS
        if len(wanted) == len(pages) and not chunk.resolved:
            continue  # all rows: the chunk is read as a whole
        assert chunk.num_pages == len(wanted)
        in_runs = [run for run in chunk.runs if run.first_page >= 0]
        planned = {byte for run in in_runs for byte in range(run.start, run.stop)}
        assert planned == {byte for page in wanted for byte in range(page.start, page.stop)}
        for run in in_runs:
            assert pages[run.first_page].start == run.start
            assert pages[run.first_page].first_row - start == run.first_row
            assert pages[run.first_page + run.num_pages - 1].stop == run.stop
        dictionaries = [run for run in chunk.runs if run.first_page < 0]
        assert len(dictionaries) == (column in ("word", "small"))
        assert all(run.stop == pages[0].start for run in dictionaries)


@pytest.mark.parametrize("variant", [INDEXED[0], UNINDEXED[0]])
def test_pages_of_one_column_fix_the_rows_of_all(variant: int) -> None:
    pages = paged_file(variant).pages[1, "text"]
    with open_variant(variant) as opened:
        plan = opened.select(pages={(1, "text"): [1, 3]}).plan()
    (row_group,) = plan.row_groups
    assert row_group.row_group == 1
    assert row_group.rows == tuple(
        (pages[n].first_row - ROW_GROUP_ROWS, pages[n].last_row - ROW_GROUP_ROWS) for n in (1, 3)
    )
    assert plan.num_rows == sum(pages[n].last_row - pages[n].first_row for n in (1, 3))
    assert plan.num_chunks == 6


def test_pages_of_two_columns_intersect() -> None:
    file = paged_file(INDEXED[0])
    one, other = file.pages[0, "text"][2], file.pages[0, "id"][1]
    with open_variant(INDEXED[0]) as opened:
        plan = opened.select(pages={(0, "text"): 2, (0, "id"): 1}).plan()
    common = max(one.first_row, other.first_row), min(one.last_row, other.last_row)
    assert plan.num_rows == max(0, common[1] - common[0])


def test_pages_that_do_not_exist() -> None:
    count = len(paged_file(INDEXED[0]).pages[2, "text"])
    with open_variant(INDEXED[0]) as opened:
        with pytest.raises(
            SelectionError, match=f"no data page {count}: they are 0 to {count - 1}"
        ) as caught:
            opened.select(pages={(2, "text"): count}).plan()
        assert caught.value.place == {"file": "<bytes>", "row_group": 2, "column": "text"}
        # The last row group is shorter: a page that only the others have selects nothing in it.
        last = len(paged_file(INDEXED[0]).pages[0, "text"]) - 1
        plan = opened.select(pages={"text": last}).plan()
        assert [group.row_group for group in plan.row_groups] == [0, 1, 2]
        with pytest.raises(
            SelectionError,
            match=f"has any of the picked pages.*None has more than {count} data pages",
        ):
            opened.select(pages={"text": 1000}).plan()
        assert opened.select(pages={"text": slice(1000, None)}).plan().num_rows == 0


def test_without_an_index_the_plan_says_what_is_unknown() -> None:
    with open_variant(UNINDEXED[0]) as opened:
        plan = opened.select(rows=(10, 20)).plan()
        assert plan.unresolved_chunks == 6
        assert 0 < plan.unresolved_bytes <= plan.wanted_bytes
        assert "unknown" in str(plan)
        assert [chunk.resolved for chunk in plan.chunks] == [False] * 6
        known = opened.pages(0)
        plan = opened.select(rows=(10, 20)).plan()
        assert plan.unresolved_chunks == 0
        assert plan.wanted_bytes < known["total_bytes"].sum()
        assert opened.select(row_groups=0).plan().unresolved_chunks == 0


@pytest.mark.parametrize("variant", UNINDEXED)
def test_a_walk_that_was_stopped_early_gives_the_same_pages(variant: int) -> None:
    file = paged_file(variant)
    policy = IOPolicy(gap_bytes=0)
    with open_variant(variant, io=policy) as opened:
        for row in (0, 150, 700, ROW_GROUP_ROWS - 1):
            plan = opened.select(["text", "small"], rows=(row, row + 1)).plan(walk=True)
            for chunk, column in zip(plan.chunks, plan.columns, strict=True):
                (wanted,) = covering(file.pages[0, column], [(row, row + 1)])
                if chunk.resolved:
                    run = chunk.runs[-1]
                    assert run.first_row == wanted.first_row
                    assert run.first_page == file.pages[0, column].index(wanted)
                    assert run.num_pages == 1


def test_an_empty_selection_reads_nothing() -> None:
    with open_variant(INDEXED[0]) as opened:
        empty: list[dict[str, Any]] = [
            {"rows": []},
            {"row_groups": []},
            {"columns": []},
            {"rows": (7, 7)},
        ]
        for picked in empty:
            plan = opened.select(**picked).plan()
            assert plan.requests == ()
            assert plan.wanted_bytes == 0
            assert plan.memory_high_bytes == 0
            assert str(plan)
        assert opened.select([]).plan().num_rows == NUM_ROWS


def test_requests_cover_the_runs_and_no_more_than_gaps() -> None:
    with open_variant(INDEXED[0], io=IOPolicy(gap_bytes=100)) as opened:
        plan = opened.select(["id", "text"], rows=[(0, 10), (4000, 4010)]).plan()
    runs = sorted((run.start, run.stop) for chunk in plan.chunks for run in chunk.runs)
    assert plan.wanted_bytes == sum(stop - start for start, stop in runs)
    assert plan.requested_bytes - plan.wanted_bytes <= 100 * len(runs)
    for start, stop in runs:
        assert any(first <= start and stop <= last for first, last in plan.requests)


def test_the_memory_estimate_holds() -> None:
    with open_variant(INDEXED[0]) as opened:
        everything = opened.select().plan()
        taken = opened.select().to_arrow().get_total_buffer_size()
        assert everything.memory_low_bytes <= taken * 1.1
        assert everything.memory_high_bytes >= taken * 0.9
        some = opened.select(rows=(0, 130)).plan()
        assert some.memory_low_bytes < everything.memory_low_bytes / 20
        assert some.memory_high_bytes < everything.memory_high_bytes / 8


def test_a_small_file_that_unfolds_is_refused_before_it_is_read() -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"x": pa.array(np.zeros(4_000_000, np.int64))}), sink)
    data = sink.getvalue()
    limits = pqlab.Limits(read_bytes=1_000_000)
    with pqlab.open(data, limits=limits) as opened:
        plan = opened.select().plan()
        assert plan.memory_low_bytes >= 100 * len(data)
        assert "read_bytes = 1,000,000" in plan.warnings[0]
        assert "refused" in str(plan)
        message = r"above the limit read_bytes = 1,000,000.*limits=pqlab.Limits\(read_bytes=\d+\)"
        with pytest.raises(pqlab.LimitError, match=message):
            opened.read()
        assert opened.read(rows=(0, 1000)).height == 1000
    assert pqlab.read(data).height == 4_000_000


def test_the_plan_as_text_and_html() -> None:
    sink = io.BytesIO()
    name = "<img src=x onerror=alert(1)>\n\u202e"
    pq.write_table(pa.table({name: [1, 2, 3], "b": ["x", "y", None]}), sink)
    with pqlab.open(sink.getvalue()) as opened:
        plan = opened.select().plan()
    text = str(plan)
    assert repr(plan) == text
    assert "3 in 1 row group" in text
    assert "\u202e" not in text
    html = plan._repr_html_()
    assert "<img" not in html
    assert "&lt;img" in html
    assert "\u202e" not in html


def test_a_long_plan_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({f"c{number}": [number] for number in range(300)}), path)
    with pqlab.open(path) as opened:
        plan = opened.select().plan()
    assert "and 294 more" in str(plan)
    assert "and 280 chunks more" in str(plan)
    assert len(plan._repr_html_()) < 10_000


def test_a_plan_is_a_value() -> None:
    with open_variant(INDEXED[0]) as opened:
        plan = opened.select(rows=(0, 10)).plan()
        assert plan == opened.select(rows=(0, 10)).plan()
        assert hash(plan) == hash(opened.select(rows=(0, 10)).plan())
        assert plan != opened.select(rows=(0, 11)).plan()
        with pytest.raises(AttributeError):
            plan.num_rows = 3  # type: ignore[misc]
        with pytest.raises(pqlab.EngineError, match="no engine 'cuda'"):
            opened.select().plan(engine="cuda")  # type: ignore[arg-type]
    assert NUM_ROW_GROUPS == 4
