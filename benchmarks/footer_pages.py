"""The page index: the frame of all pages, from the path, against duckdb's `parquet_page_index`.

    python -m benchmarks.footer_pages

The file has the shape of TPC-H's lineitem in 61 row groups: 16 columns of 500 pages each. A page
holds one row, which an index cannot tell from 20,000 but by shorter numbers. No other library
offers the page index in Python.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import pqlab
from benchmarks.timing import interleave, table

ROW_GROUPS, PAGES = 61, 500

_MODES = ("AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB", "REG AIR")


def write_file(path: Path) -> None:
    """Write the file: a page per row, since pages are what is measured. About 35 MB, 4 s."""
    rng = random.Random(61)
    rows = range(ROW_GROUPS * PAGES)
    keys = ("orderkey", "partkey", "suppkey", "linenumber")
    amounts = ("quantity", "extendedprice", "discount", "tax")
    codes = ("returnflag", "linestatus", "shipinstruct", "shipmode")
    dates = ("shipdate", "commitdate", "receiptdate")
    columns: dict[str, pa.Array] = {
        **{name: pa.array([rng.getrandbits(27) for _ in rows]) for name in keys},
        **{name: pa.array([rng.random() for _ in rows]) for name in amounts},
        **{name: pa.array(rng.choices(_MODES, k=len(rows))) for name in codes},
        **{
            name: pa.array([rng.randrange(8000, 12000) for _ in rows], pa.int32()).cast(pa.date32())
            for name in dates
        },
        "comment": pa.array([f"a comment of {rng.getrandbits(40):x}" for _ in rows]),
    }
    pq.write_table(
        pa.table({f"l_{name}": values for name, values in columns.items()}),
        path,
        row_group_size=PAGES,
        data_page_size=1,
        write_batch_size=1,
        write_page_index=True,
        use_dictionary=False,
        compression="none",
    )


def by_pqlab(path: Path) -> pl.DataFrame:
    """Read the footer and the page index, and make the frame of all pages."""
    return pqlab.open(path, cache=None).pages()


def by_duckdb(path: Path) -> pa.Table:
    """All columns of `parquet_page_index`, as Arrow."""
    relation = duckdb.sql(f"SELECT * FROM parquet_page_index('{path}')")
    assert relation is not None
    return relation.to_arrow_table()


def check_equal(path: Path) -> None:
    """Fail unless both tell of the same pages: places, rows, nulls and bounds' presence."""
    ours = by_pqlab(path).filter(pl.col("page") >= 0).sort("row_group", "leaf", "page")
    theirs = pl.DataFrame(by_duckdb(path)).sort("row_group_id", "column_id", "page_id")
    for name, other in {
        "row_group": "row_group_id",
        "leaf": "column_id",
        "page": "page_id",
        "offset": "page_offset",
        "total_bytes": "compressed_page_size",
        "first_row": "first_row_index",
        "num_rows": "num_rows",
        "num_nulls": "null_count",
    }.items():
        if ours[name].cast(pl.Int64).to_list() != theirs[other].to_list():
            raise AssertionError(f"{name} differs from duckdb's {other}")
    texts = ours.filter(pl.col("column") == "l_comment")["min_text"]
    expected = theirs.filter(pl.col("column_id") == 15)["min_value"]
    if texts.to_list() != expected.to_list():
        raise AssertionError("min_text differs from duckdb's min_value")


def section() -> str:
    """Write the file, compare the results, then the times: the body of its section."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pages.parquet"
        write_file(path)
        check_equal(path)
        series = interleave({"pqlab": lambda: by_pqlab(path), "duckdb": lambda: by_duckdb(path)})
    pages = ROW_GROUPS * 16 * PAGES
    return (
        f"{pages:,} pages, from the path to the frame. The bar: duckdb takes 10 times as long.\n\n"
        f"{table(series, 'pqlab')}"
    )


if __name__ == "__main__":
    print(section())
