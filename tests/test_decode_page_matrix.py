"""Every type in every encoding, shape, page version and codec, as handmade pages: pyarrow's values.

What pyarrow does not read, ALP and BIT_PACKED levels (it takes their bits from the low end up, the
specification from the high end down), is held against its reading of the same records in PLAIN v1.
"""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from decoding import read_frame, read_table
from dremel import cut_to_pages
from encoders import CODECS, FRAMINGS, UNCOMPRESSED
from nested_values import combined, difference
from page_matrix import (
    COLUMNS,
    LAYOUTS,
    PAGE_ENTRIES,
    ROW_GROUPS,
    ROWS,
    SEED,
    SHAPES,
    matrix_file,
    written,
)

import pqlab

NAMES = [f"{name}-{encoding}" for name, encoding in COLUMNS]
CELLS = pytest.mark.parametrize(
    ("shape", "layout"), [(shape, layout) for shape in SHAPES for layout in LAYOUTS]
)


@cache
def expected(shape: str) -> dict[str, pa.Array]:
    """The values of each type, as pyarrow reads them."""
    plain = [name for name in NAMES if name.endswith("-PLAIN")]
    table = pq.ParquetFile(io.BytesIO(matrix_file(shape, "v1", UNCOMPRESSED))).read(plain)
    return {name.removesuffix("-PLAIN"): combined(table[name]) for name in plain}


def assert_expected(got: pa.Table, shape: str, rows: np.ndarray | None = None) -> None:
    assert got.column_names == NAMES
    for name, column in zip(NAMES, got.columns, strict=True):
        values = expected(shape)[name.split("-")[0]]
        if rows is not None:
            values = values.take(pa.array(rows))
        assert difference(combined(column), values) is None, name


@CELLS
def test_every_cell(shape: str, layout: str) -> None:
    for number, codec in enumerate(CODECS):
        table = read_table(matrix_file(shape, layout, codec), workers=1 + number % 2)
        table.validate(full=True)
        assert_expected(table, shape)


@pytest.mark.parametrize("framing", FRAMINGS)
def test_every_framing(framing: str) -> None:
    for shape, layout in (("optional", "v1"), ("list", "v2")):
        data = matrix_file(shape, layout, UNCOMPRESSED, framing)
        assert_expected(read_table(data, workers=2), shape)


@CELLS
def test_pyarrow_reads_the_same_files(shape: str, layout: str) -> None:
    if "BIT_PACKED" in layout:
        return
    known = [name for name in NAMES if not name.endswith("ALP")]
    for codec in CODECS:
        table = pq.ParquetFile(io.BytesIO(matrix_file(shape, layout, codec))).read(known)
        for name in known:
            values = expected(shape)[name.split("-")[0]]
            assert difference(combined(table[name]), values) is None, (codec, name)


@CELLS
def test_frames(shape: str, layout: str) -> None:
    data = matrix_file(shape, layout, UNCOMPRESSED)
    frame, table = read_frame(data), read_table(data)
    for name in NAMES:
        assert difference(frame[name].to_arrow(), combined(table[name])) is None, name


@CELLS
def test_selections(shape: str, layout: str) -> None:
    """A row group, ranges of rows, and pages of one column, whose rows are read of all others."""
    rng = np.random.default_rng(SEED)
    number = list(SHAPES).index(shape) * len(LAYOUTS) + list(LAYOUTS).index(layout)
    with pqlab.open(matrix_file(shape, layout, CODECS[number % len(CODECS)])) as file:
        assert_expected(file.select(row_groups=1).to_arrow(), shape, np.arange(ROWS, 2 * ROWS))
        start, stop, last = sorted(rng.choice(ROWS * ROW_GROUPS, 3, replace=False).tolist())
        table = file.select(rows=[(start, stop), (last, last + 1)]).to_arrow()
        assert_expected(table, shape, np.r_[start:stop, last])
        for _ in range(3):
            column, group = int(rng.integers(len(COLUMNS))), int(rng.integers(ROW_GROUPS))
            leaf, rows = rows_of_pages(shape, layout, column, group)
            page = int(rng.integers(len(rows)))
            picked = file.select(pages={(group, leaf): page})
            assert_expected(picked.to_arrow(), shape, group * ROWS + rows[page])
            pages = file.pages(group, leaf)
            assert pages.filter(page=page)["num_rows"].to_list() == [len(rows[page])]


def rows_of_pages(shape: str, layout: str, column: int, group: int) -> tuple[int, list[np.ndarray]]:
    """The last leaf of a column, and the rows of a row group that begin in each of its pages."""
    columns = written(shape, layout)
    leaf = sum(len(each.pages[group]) for each in columns[: column + 1]) - 1
    entries = columns[column].entries[group][-1]
    parts = cut_to_pages(entries, PAGE_ENTRIES, at_rows=LAYOUTS[layout].get("v2", False))
    counts = np.array([sum(entry[0] == 0 for entry in part) for part in parts])
    assert counts.sum() == ROWS
    stops = np.cumsum(counts)
    return leaf, [np.arange(a, b) for a, b in zip(stops - counts, stops, strict=True)]
