"""The other ways in: `find`, `scan`, Arrow, iterations, jobs, the command line."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Run
from polars.testing import assert_frame_equal

import pqlab

NUM_ROWS = 4_000
TABLE = pa.table(
    {
        "k": list(range(NUM_ROWS)),
        "r": [(i * 7919) % 10_007 for i in range(NUM_ROWS)],
        "s": [f"w{i % 50}" for i in range(NUM_ROWS)],
        "n": [{"p": i, "q": i % 3} if i % 5 else None for i in range(NUM_ROWS)],
        "a.b": [i / 7 for i in range(NUM_ROWS)],
    }
)


@pytest.fixture(scope="module")
def data() -> bytes:
    sink = io.BytesIO()
    pq.write_table(
        TABLE,
        sink,
        row_group_size=1_000,
        write_page_index=True,
        max_rows_per_page=100,
        bloom_filter_options={"r": {"ndv": 1_000, "fpp": 0.001}},
    )
    return sink.getvalue()


@pytest.fixture
def file(data: bytes) -> pqlab.ParquetFile:
    return pqlab.open(data, cache=None)


def test_find(file: pqlab.ParquetFile) -> None:
    found = file.find("k", 2_345)
    assert found.select("row_group", "page", "first_row").rows() == [
        (2, None, 2_000),
        (2, 3, 2_300),
    ]
    value = TABLE["r"][1_234].as_py()
    groups = file.find("r", value).filter(pl.col("page").is_null())
    assert groups.select("row_group", "bloom_filter").rows() == [(1, "maybe")]
    assert file.find("r", 10_006 * 2).is_empty()
    assert set(file.find("s", "w49")["row_group"]) == {0, 1, 2, 3}
    assert file.find("s", "w5x").is_empty()  # in no dictionary
    assert set(file.find("n.p", None)["row_group"]) == {0, 1, 2, 3}
    assert file.find("k", None).is_empty()
    with pytest.raises(pqlab.SelectionError, match="no column"):
        file.find("nope", 1)


QUERIES: list[Any] = [
    lambda lazy: lazy.filter(pl.col("k") > 3_900).select("s"),
    lambda lazy: lazy.filter((pl.col("r") < 50) & pl.col("s").str.ends_with("7")),
    lambda lazy: lazy.filter(pl.col("k") > pl.col("k").mean()).select("a.b", "k"),
    lambda lazy: lazy.filter(pl.col("n").struct.field("q") == 1).head(3),
    lambda lazy: lazy.head(1_500).filter(pl.col("k") > 1_490),
    lambda lazy: lazy.slice(1_700, 5),
    lambda lazy: lazy.tail(2).select("n"),
    lambda lazy: lazy.filter(pl.col("k") % 2 == 0).group_by("s").agg(pl.len()).sort("s"),
    lambda lazy: lazy.select(pl.len()),
    lambda lazy: lazy.filter(pl.col("k") < 0),
    lambda lazy: lazy.select(pl.col("a.b").sum(), pl.col("k").cum_sum().last()),
]


@pytest.mark.parametrize("query", QUERIES)
def test_scan(file: pqlab.ParquetFile, query: Any) -> None:
    expected = query(file.read().lazy()).collect()
    assert_frame_equal(query(pqlab.scan(file)).collect(), expected)
    assert_frame_equal(query(pqlab.scan(file, prune=False)).collect(engine="streaming"), expected)


def test_scan_pushes_down(data: bytes) -> None:
    trace = pqlab.Trace()
    lazy = pqlab.scan(data, trace=trace, cache=None)
    found = lazy.filter(pl.col("k") == 2_345).select("k", "r").collect()
    assert found.rows() == [(2_345, TABLE["r"][2_345].as_py())]
    events = trace.to_frame().filter(pl.col("page") >= 0)
    assert set(events["column"].drop_nulls()) <= {"k", "r"}
    assert events["page"].n_unique() == 1
    with pytest.raises(TypeError, match="open already"):
        pqlab.scan(pqlab.open(data), cache=None)
    with pytest.raises(pqlab.SelectionError, match="polars cannot filter"):
        lazy.filter(pl.col("s") > 5).collect()


def test_scan_of_a_dataset(tmp_path: Path, data: bytes) -> None:
    for year in (2021, 2022):
        folder = tmp_path / f"year={year}"
        folder.mkdir()
        (folder / "a.parquet").write_bytes(data)
    everything = pqlab.read(tmp_path)
    lazy = pqlab.scan(tmp_path)
    for where in (pl.col("year") == 2022, pl.col("k").is_between(990, 1_010)):
        assert_frame_equal(lazy.filter(where).collect(), everything.filter(where))
    assert lazy.filter(pl.col("year") == 2022).select("k").head(2).collect().height == 2


WHERE = "k >= 1490 and k < 1510 or r == 17"


def test_arrow_jobs_and_iterations(file: pqlab.ParquetFile) -> None:
    expected = file.read().filter(file.select(where=WHERE).where.expression)
    assert 20 <= expected.height < 30
    selection = file.select(["s", "n.p"], where=WHERE)
    wanted = file.read(["s", "n.p"], where=WHERE, prune=False)
    assert_frame_equal(wanted.select("s"), expected.select("s"))
    assert selection.to_arrow().schema == pa.schema(file.select(["s", "n.p"]))
    assert_frame_equal(pl.DataFrame(selection.to_arrow()), wanted)
    assert_frame_equal(pl.DataFrame(pa.table(selection)), wanted)
    assert_frame_equal(selection.submit().result(), wanted)
    assert_frame_equal(pl.concat(list(selection.iter_batches(300))), wanted)
    tables = list(selection.iter_row_groups(to="arrow"))
    assert all(isinstance(table, pa.Table) for table in tables)
    assert_frame_equal(pl.DataFrame(pa.concat_tables(tables)), wanted)
    with selection.iter_row_groups() as frames:
        first = next(frames)
        state = frames.state
    rest = list(selection.iter_row_groups(state=state))
    assert_frame_equal(pl.concat([first, *rest]), wanted)


def test_emulated_kernels_read_the_same_rows(file: pqlab.ParquetFile) -> None:
    for where in (WHERE, "k == 7", "s == 'w5x'"):
        assert_frame_equal(file.read(where=where, engine="emulated"), file.read(where=where))
    assert file.select(where=WHERE).plan(engine="emulated").engine == "emulated"


def test_picked_rows_pages_and_row_groups(file: pqlab.ParquetFile) -> None:
    everything = file.read()
    picks: list[dict[str, Any]] = [
        {"rows": (1_480, 1_495)},
        {"row_groups": [1, 3]},
        {"pages": {(1, "k"): [4, 5]}},
        {"rows": [(0, 10), (1_505, 1_600)], "row_groups": slice(0, 2)},
    ]
    for pick in picks:
        expression = file.select(where=WHERE).where.expression
        assert_frame_equal(file.read(where=WHERE, **pick), file.read(**pick).filter(expression))
    assert_frame_equal(file.read(where="k >= 0"), everything)


def test_command_line(run: Run, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(data)
    done = run("read", str(path), "-c", "k", "-w", "k in (5, 3999)")
    assert done.out.split() == ["k", "5", "3999"]
    done = run("read", str(path), "-w", "k == 5", "--explain")
    assert "+ row group 0: 100 of 1,000 rows" in done.out
    assert "no row has k == 5, by statistics (k: min 1000" in done.out
    done = run("read", str(path), "-w", "k == 5", "--plan")
    assert "3 of 4 row groups and 3,900 of 4,000 rows skipped" in done.out
    assert "give -w" in run("read", str(path), "--explain").err
    assert "where, line 1" in run("read", str(path), "-w", "k ==").err
