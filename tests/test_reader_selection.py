"""Any selection equals pyarrow's full read, sliced, with a page index and without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from paged_files import NUM_ROW_GROUPS, NUM_ROWS, ROW_GROUP_ROWS, SCHEMA, VARIANTS, paged_file
from polars.testing import assert_frame_equal

import pqlab

VARIANT = st.integers(0, len(VARIANTS) - 1)


@st.composite
def selections(draw: st.DrawFn) -> tuple[int, dict[str, Any]]:
    variant = draw(VARIANT)
    picked: dict[str, Any] = {}
    if draw(st.booleans()):
        picked["columns"] = draw(st.lists(st.sampled_from(SCHEMA.names), min_size=1, unique=True))
    if draw(st.booleans()):
        picked["row_groups"] = draw(st.lists(st.integers(0, NUM_ROW_GROUPS - 1), max_size=3))
    if draw(st.booleans()):
        cuts = st.integers(0, NUM_ROWS)
        ranges = st.tuples(cuts, cuts).map(lambda pair: (min(pair), max(pair)))
        picked["rows"] = draw(st.lists(ranges, min_size=1, max_size=3))
    if draw(st.booleans()):
        pages = paged_file(variant).pages
        keys = draw(st.lists(st.sampled_from(sorted(pages)), min_size=1, max_size=2, unique=True))
        picked["pages"] = {
            key: draw(st.lists(st.integers(0, len(pages[key]) - 1), min_size=1, max_size=3))
            for key in keys
        }
    return variant, picked


def rows_of(variant: int, picked: dict[str, Any]) -> np.ndarray:
    """Which rows of the file are selected."""
    row = np.arange(NUM_ROWS)
    keep = np.ones(NUM_ROWS, bool)
    if "row_groups" in picked:
        keep &= np.isin(row // ROW_GROUP_ROWS, picked["row_groups"])
    if "rows" in picked:
        keep &= np.any([(row >= start) & (row < stop) for start, stop in picked["rows"]], axis=0)
    if "pages" in picked:
        keep &= np.isin(row // ROW_GROUP_ROWS, [row_group for row_group, _ in picked["pages"]])
    for (row_group, column), ordinals in picked.get("pages", {}).items():
        pages = [paged_file(variant).pages[row_group, column][page] for page in ordinals]
        inside = [(row >= page.first_row) & (row < page.last_row) for page in pages]
        keep &= np.any(inside, axis=0) | (row // ROW_GROUP_ROWS != row_group)
    return keep


@settings(max_examples=300, derandomize=True, deadline=None)
@given(selections())
def test_any_selection_is_the_full_read_sliced(drawn: tuple[int, dict[str, Any]]) -> None:
    variant, picked = drawn
    file = paged_file(variant)
    wanted = picked.get("columns", SCHEMA.names)
    columns = [name for name in SCHEMA.names if name in wanted]
    expected = file.expected.select(columns).filter(rows_of(variant, picked))
    with pqlab.open(file.data) as opened:
        selection = opened.select(**picked)
        assert_frame_equal(selection.read(), expected)
        assert selection.plan().num_rows == expected.height
        built_again = eval(
            selection.code.replace("pqlab.open(<source>)", "opened"), {"opened": opened}
        )
        assert built_again.selection == selection.selection


@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_the_whole_file(variant: int) -> None:
    file = paged_file(variant)
    assert_frame_equal(pqlab.read(file.data), file.expected)
    assert_frame_equal(pqlab.read(file.data, workers=1), file.expected)
    assert_frame_equal(pqlab.read(file.data, verify_checksums=True), file.expected)


READS: dict[str, tuple[Callable[[pqlab.ParquetFile], Any], slice]] = {
    "head": (lambda file: file.head(7), slice(0, 7)),
    "head of default": (lambda file: file.head(), slice(0, 10)),
    "head of none": (lambda file: file.head(0), slice(0, 0)),
    "head of more than all": (lambda file: file.head(10**9), slice(0, None)),
    "head but the last": (lambda file: file.head(-4990), slice(0, 10)),
    "rows": (lambda file: file.read(rows=(1290, 1310)), slice(1290, 1310)),
    "the last rows": (lambda file: file.read(rows=slice(-3, None)), slice(-3, None)),
    "a row group": (lambda file: file.read(row_groups=-1), slice(3 * ROW_GROUP_ROWS, None)),
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("variant", [0, 2])
def test_short_ways(variant: int, name: str) -> None:
    read, where = READS[name]
    with pqlab.open(paged_file(variant).data) as opened:
        assert_frame_equal(read(opened), paged_file(variant).expected[where])


def test_columns_come_in_file_order() -> None:
    with pqlab.open(paged_file(0).data) as opened:
        assert opened.read(["text", "id"], rows=(0, 1)).columns == ["id", "text"]


@pytest.mark.parametrize("variant", [0, 2])
def test_ten_rows_fetch_the_covering_pages_and_the_trace_shows_the_bytes(variant: int) -> None:
    data, trace = paged_file(variant).data, pqlab.Trace()
    with pqlab.open(data, io=pqlab.IOPolicy(gap_bytes=0)) as opened:
        frame = opened.read(["id", "text"], rows=(0, 10), trace=trace)
        assert frame.height == 10
        plan = opened.select(["id", "text"], rows=(0, 10)).plan(walk=True)
        whole = opened.select(["id", "text"]).plan()
    events = trace.to_frame()
    fetched = events.filter(stage="fetch", reason="pages")
    assert fetched["bytes_in"].sum() == plan.requested_bytes
    assert fetched["bytes_out"].sum() == plan.wanted_bytes
    assert plan.wanted_bytes < whole.wanted_bytes / 8
    decoded = events.filter(events["page"] >= 0)
    assert decoded.select("column", "page").unique().sort("column").rows() == [
        ("id", 0),
        ("text", 0),
    ]


@pytest.mark.parametrize("page_bytes", [1_000, 40_000, 10_000_000])
def test_first_rows_of_nested_pages_whose_headers_count_no_rows(
    tmp_path: Path, page_bytes: int
) -> None:
    """A walk over headers stops after a page: where that one's last row is, none of them says."""
    lists = [[{"text": f"number {row} {at}"} for at in range(row % 5)] for row in range(30_000)]
    path = tmp_path / "nested.parquet"
    table = pa.table({"list": lists})
    pq.write_table(table, path, data_page_size=page_bytes, use_dictionary=False)
    file = pqlab.open(path)
    for rows in ((0, 1), (5, 70), (29_000, 30_000), (0, 30_000)):
        expected = pl.DataFrame(table.slice(rows[0], rows[1] - rows[0]))
        assert_frame_equal(file.read(rows=rows), expected)
