"""Each kind of finding: a file that has it, one that has not, and its number from elsewhere."""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import runner

import pqlab
from pqlab.findings import RULES

RANDOM = np.random.default_rng(7)
ROWS = 4_000
INTS = RANDOM.integers(-(1 << 60), 1 << 60, ROWS)
DAYS = [dt.date(2024, 1, 1) + dt.timedelta(days=n // 10) for n in range(ROWS)]
KEYS = [f"{value:016x}" for value in RANDOM.integers(0, 1 << 60, ROWS)]
PLAIN: dict[str, Any] = {"use_dictionary": False, "compression": "none"}


def written(columns: Mapping[str, Any], **settings: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), sink, **settings)
    return sink.getvalue()


class Case(NamedTuple):
    """`faulty` has the finding about `column`, `sound` has it about no column."""

    faulty: Callable[[], bytes]
    sound: Callable[[], bytes]
    column: str | None = "x"
    filters: list[str] | None = None
    limit: float | None = None  # another one, where a file that is beyond it would be too large
    evidence: Callable[[bytes], float] | None = None


def chunk(data: bytes, row_group: int = 0) -> Any:
    return pq.read_metadata(io.BytesIO(data)).row_group(row_group).column(0)


def ints(**settings: Any) -> Callable[[], bytes]:
    return lambda: written({"x": INTS}, **settings)


def texts(values: list[str], **settings: Any) -> Callable[[], bytes]:
    return lambda: written({"x": values}, **settings)


def shuffled(values: list[Any]) -> list[Any]:
    return [values[place] for place in np.random.default_rng(1).permutation(len(values))]


def days(values: list[dt.date]) -> Callable[[], bytes]:
    return lambda: written({"x": values}, row_group_size=500)


def with_key(size: int) -> Callable[[], bytes]:
    schema = pa.schema([("x", pa.int64())], metadata={"note": "n" * size})
    return lambda: written_table(pa.table({"x": INTS}, schema=schema))


def written_table(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def bloom(enabled: bool) -> Callable[[], bytes]:
    options = {"bloom_filter_options": {"x": {"ndv": ROWS, "fpp": 0.01}}} if enabled else {}
    return lambda: written({"x": KEYS}, row_group_size=500, **PLAIN, **options)


REPEATED = (INTS % 50).tolist()
MANY = RANDOM.integers(0, 1 << 60, 200_000)
SMALL = [7] * ROWS
TIMES = [dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=n) for n in range(ROWS)]

CASES = {
    "tiny file": Case(
        ints(), lambda: written({"x": MANY}, **PLAIN), None, evidence=len
    ),
    "tiny row groups": Case(
        ints(row_group_size=100), ints(), None,
        evidence=lambda data: float(np.median([
            chunk(data, group).total_compressed_size for group in range(40)
        ])),
    ),
    "large row groups": Case(
        lambda: written({"x": MANY}, **PLAIN), ints(**PLAIN), None, limit=1 << 20,
        evidence=lambda data: chunk(data).total_uncompressed_size,
    ),
    "small pages": Case(
        ints(data_page_size=512, write_batch_size=16, **PLAIN), ints(**PLAIN),
        evidence=lambda data: chunk(data).total_uncompressed_size / pages_of(data),
    ),
    "large pages": Case(
        lambda: written(
            {"x": np.tile(MANY, 6)},
            row_group_size=1 << 24,
            data_page_size=1 << 25,
            max_rows_per_page=1 << 24,
            **PLAIN,
        ),
        ints(**PLAIN),
    ),
    "dictionary fall-back": Case(
        ints(dictionary_pagesize_limit=2_000, compression="none"), lambda: written({"x": REPEATED}),
        evidence=lambda _: 1,
    ),
    "large dictionary": Case(
        lambda: written({"x": MANY}, dictionary_pagesize_limit=1 << 28, compression="none"),
        lambda: written({"x": REPEATED}),
        evidence=lambda data: chunk(data).data_page_offset - chunk(data).dictionary_page_offset,
    ),
    "dictionary does not pay": Case(
        ints(compression="none"), lambda: written({"x": REPEATED}, compression="none"),
        evidence=lambda data: chunk(data).total_uncompressed_size / (8 * ROWS),
    ),
    "codec does not pay": Case(
        lambda: written({"x": MANY}, use_dictionary=False, compression="zstd"),
        lambda: written({"x": SMALL}, use_dictionary=False, compression="zstd"),
        evidence=lambda data: chunk(data).total_compressed_size
        / chunk(data).total_uncompressed_size,
    ),
    "slow codec": Case(
        lambda: written({"x": np.sort(MANY)}, use_dictionary=False, compression="brotli"),
        lambda: written({"x": np.sort(MANY)}, **PLAIN),
        limit=1e6,  # beyond every codec
    ),
    "no page index": Case(
        ints(data_page_size=2_048, write_batch_size=64, **PLAIN),
        ints(data_page_size=2_048, write_batch_size=64, write_page_index=True, **PLAIN),
        evidence=lambda _: 1,
    ),
    "no statistics": Case(ints(write_statistics=False), ints(), evidence=lambda _: 1),
    "overlapping bounds": Case(days(shuffled(DAYS)), days(DAYS)),
    "no bloom filter": Case(bloom(enabled=False), bloom(enabled=True)),
    "int96": Case(
        lambda: written({"x": TIMES}, use_deprecated_int96_timestamps=True),
        lambda: written({"x": TIMES}),
        evidence=lambda _: ROWS,
    ),
    "text that is dates": Case(texts([str(day) for day in DAYS]), texts(KEYS)),
    "text that is numbers": Case(texts([str(value) for value in INTS]), texts(KEYS)),
    "wide integers": Case(
        lambda: written({"x": INTS % 1000}, use_dictionary=False), ints(),
        evidence=lambda _: 11,  # 999 takes 10, and one for the sign
    ),
    "footer bloat": Case(
        with_key(200_000), with_key(10), None,
        evidence=lambda data: pq.read_metadata(io.BytesIO(data)).serialized_size / len(data),
    ),
}  # fmt: skip


def pages_of(data: bytes) -> int:
    """The data pages that the thrift headers of the only chunk have."""
    with pqlab.open(data) as file:
        return sum(
            1
            for page in range(10_000)
            if page < len(file.pages(headers=True)) and file.page_header(0, 0, page)
        )


def found(data: bytes, case: Case) -> pl.DataFrame:
    return pqlab.open(data).findings(filters=case.filters)


@pytest.mark.parametrize("name", list(RULES))
def test_each_finding_is_made_where_it_is_and_nowhere_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    if case.limit is not None:
        monkeypatch.setitem(RULES, name, RULES[name]._replace(limit=case.limit))
    faulty = case.faulty()
    rows = found(faulty, case).filter(finding=name)
    assert rows["column"].to_list() == [case.column]
    assert rows["finding"].null_count() == rows["evidence"].null_count() == 0
    if case.evidence is not None:
        assert rows["evidence"].item() == pytest.approx(case.evidence(faulty))
    measured = rows["cost_bytes"].fill_null(0) + rows["cost_ns"].fill_null(0)
    assert (measured >= 0).all()
    assert rows["cost_bytes"].null_count() + rows["cost_ns"].null_count() < 2
    assert found(case.sound(), case).filter(finding=name).is_empty()


def test_no_finding_is_without_a_number(data: Path) -> None:
    with pqlab.open(data / "flights-3m.parquet") as file:
        rows = file.findings(filters=[leaf.column for leaf in file.metadata.leaves])
    assert rows.height > 0
    assert rows["evidence"].is_not_nan().all()
    assert rows["evidence"].null_count() == rows["limit"].null_count() == 0
    assert rows["says"].str.ends_with(".").all()


def test_what_takes_a_read_is_measured_by_one_and_left_out_without() -> None:
    data = CASES["codec does not pay"].faulty()
    rows = pqlab.open(data).findings().filter(finding="codec does not pay")
    assert rows["cost_ns"].item() > 0
    assert rows["row_group"].item() == 0
    kinds = pqlab.open(data).findings(read=False)["finding"].to_list()
    assert not any(RULES[kind].is_measured for kind in kinds)


def test_bounds_overlap_by_as_much_as_a_count_says() -> None:
    values = shuffled(DAYS)
    row = pqlab.open(days(values)()).findings().filter(finding="overlapping bounds")
    groups = [values[start : start + 500] for start in range(0, ROWS, 500)]
    held = [sum(min(other) <= min(group) <= max(other) for other in groups) for group in groups]
    assert row["evidence"].item() == pytest.approx(np.mean(held) / len(groups))


def test_filters_say_which_columns_count() -> None:
    data = written({"x": INTS, "y": KEYS}, row_group_size=500)
    kinds = ["overlapping bounds", "no bloom filter"]

    def of(filters: list[str] | None) -> list[tuple[str, str]]:
        rows = pqlab.open(data).findings(filters=filters, read=False)
        rows = rows.filter(pl.col("finding").is_in(kinds))
        return rows.select("finding", "column").rows()

    assert of([]) == []
    assert of(["x"]) == [("overlapping bounds", "x")]
    assert of(["y"]) == [("overlapping bounds", "y"), ("no bloom filter", "y")]


def test_a_dataset_has_the_findings_of_its_files(tmp_path: Path) -> None:
    for number in range(6):
        table = pa.table({"day": shuffled(DAYS), "x": INTS})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    dataset = pqlab.Dataset(tmp_path)
    rows = dataset.findings()
    assert rows.filter(finding="tiny file").height == 6
    across = rows.filter(finding="overlapping bounds")
    assert across.select("file", "column", "num_chunks").rows() == [(None, "day", 6)]
    one = pqlab.open(tmp_path / "0.parquet").findings(read=False)
    same = rows.filter(pl.col("file") == str(tmp_path / "0.parquet"))
    assert same.rows() == one.rows()


def test_public_files_have_findings_without_a_fault(corpus: Path) -> None:
    rows = pqlab.Dataset(corpus).findings(filters=["id", "int_col", "value", "a", "b"])
    assert rows.height > 1_000
    assert rows["evidence"].null_count() == 0
    assert rows["evidence"].is_finite().all()
    assert set(rows["finding"]) <= set(RULES)


def test_the_shell_lists_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(CASES["int96"].faulty())
    run = runner(capsys)
    result = run("findings", path, "--json")
    assert result.code == 0
    assert "int96" in {row["finding"] for row in json.loads(result.out)["rows"]}
    assert "int96" in run("findings", tmp_path, "--filter", "x").out
