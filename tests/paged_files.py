"""Files with many small pages, and where the pages begin, as the raw offset index tells."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pqlab.footer import raw

SEED = 20260726
NUM_ROWS = 5000
ROW_GROUP_ROWS = 1300
NUM_ROW_GROUPS = -(-NUM_ROWS // ROW_GROUP_ROWS)
VARIANTS: list[dict[str, Any]] = [
    {"data_page_version": version, "write_page_index": index, "compression": codec}
    for version in ("1.0", "2.0")
    for index in (True, False)
    for codec in ("snappy", "none")
]
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("small", pa.int32()),
        ("word", pa.string()),
        ("real", pa.float64()),
        ("flag", pa.bool_()),
        pa.field("text", pa.string(), nullable=False),
    ]
)


@dataclass(frozen=True)
class Page:
    """A data page: bytes [start, stop) of the file, rows [first_row, last_row) of the file."""

    start: int
    stop: int
    first_row: int
    last_row: int


@dataclass(frozen=True, eq=False)
class PagedFile:
    """`pages`: by row group and column. `expected`: pyarrow's full read."""

    data: bytes
    expected: pl.DataFrame
    pages: dict[tuple[int, str], list[Page]]
    has_index: bool


@cache
def table() -> pa.Table:
    random = np.random.default_rng(SEED)
    nulls = random.random(NUM_ROWS) < 0.2
    words = np.array(["", "a", "bb", "a longer piece of text than a view holds", "ü€"])
    columns = {
        "id": pa.array(np.arange(NUM_ROWS)),
        "small": pa.array(random.integers(-9, 9, NUM_ROWS), pa.int32(), mask=nulls),
        "word": pa.array(words[random.integers(0, 5, NUM_ROWS)], pa.string(), mask=~nulls),
        "real": pa.array(random.random(NUM_ROWS), mask=nulls),
        "flag": pa.array(random.random(NUM_ROWS) < 0.5, mask=nulls),
        "text": pa.array([f"row number {n * 7919 % NUM_ROWS}" for n in range(NUM_ROWS)]),
    }
    return pa.table(columns, schema=SCHEMA)


def write(**options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(
        table(),
        sink,
        row_group_size=ROW_GROUP_ROWS,
        data_page_size=2000,
        write_batch_size=100,
        use_dictionary=["word", "small"],
        **options,
    )
    return sink.getvalue()


@cache
def paged_file(variant: int) -> PagedFile:
    """One of `VARIANTS`."""
    options = VARIANTS[variant]
    data = write(**options)
    # Without an index the pages are the same: the twin that has one tells where they begin.
    twin = write(**{**options, "write_page_index": True})
    footer = raw.file_metadata(twin[-8 - int.from_bytes(twin[-8:-4], "little") : -8])
    pages = {}
    for number, row_group in enumerate(footer.row_groups):
        for column, chunk in zip(table().column_names, row_group.columns, strict=True):
            at = chunk.offset_index_offset
            index = raw.offset_index(twin[at : at + chunk.offset_index_length])
            pages[number, column] = located_pages(
                index.page_locations, number * ROW_GROUP_ROWS, row_group.num_rows
            )
    expected = pl.DataFrame(pl.from_arrow(pq.read_table(io.BytesIO(data))))
    return PagedFile(data, expected, pages, options["write_page_index"])


def located_pages(locations: list[Any], start: int, num_rows: int) -> list[Page]:
    """The pages of an offset index of a row group that starts at row `start`."""
    bounds = [*(start + location.first_row_index for location in locations), start + num_rows]
    return [
        Page(location.offset, location.offset + location.compressed_page_size, *rows)
        for location, *rows in zip(locations, bounds, bounds[1:], strict=False)
    ]
