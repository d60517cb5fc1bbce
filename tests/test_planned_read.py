"""Parts of a plan that native code cuts, against pyarrow and the plans of the parts."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from streams import oracle, parquet, table_of

import pqlab
from pqlab.assemble.arrow import to_frame
from pqlab.cpu import engine
from pqlab.cpu.engine import LocalBytes, Team
from pqlab.plan.build import part
from pqlab.plan.coalesce import coalesce
from pqlab.plan.policy import IOPolicy
from pqlab.reader import ParquetFile
from pqlab.trace import Events, ServedRanges

DATA = parquet(table_of(1_000), 90, data_page_size=400)
NUM_GROUPS = 12
POLICIES = (IOPolicy.local(), IOPolicy(gap_bytes=0, max_request_bytes=700, split_bytes=100))


@pytest.fixture
def file(tmp_path: Path) -> ParquetFile:
    path = tmp_path / "file.parquet"
    path.write_bytes(DATA)
    return pqlab.open(path)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("columns", [None, ["row", "text"]])
def test_parts_are_those_row_groups(
    file: ParquetFile, columns: list[str] | None, policy: IOPolicy
) -> None:
    random.seed(7)
    plan = file.select(columns).plan()
    recorded: list[tuple[Events, ServedRanges]] = []
    native = file.source.native_file()
    assert native is not None
    read = engine.planned(
        plan,
        file.metadata,
        LocalBytes(native, policy),
        Team.of(2),
        for_polars=True,
        recorder=lambda *both: recorded.append(both),
    )
    cuts = [(0, NUM_GROUPS), *(sorted(random.sample(range(NUM_GROUPS + 1), 2)) for _ in range(8))]
    for start, stop in cuts:
        frame = to_frame([read.begin(start, stop).result()])
        expected = oracle(DATA, list(range(start, stop)))
        assert_frame_equal(frame, expected if columns is None else expected.select(columns))
        events, served = recorded.pop()
        cut = part(plan, start, stop, policy)
        runs = cut.tables.runs
        wanted = list(zip(runs["start"].tolist(), runs["stop"].tolist(), strict=True))
        asked = events[events["request_id"] >= 0]
        made = sorted(
            (int(each["offset"]), int(each["offset"] + each["bytes_in"])) for each in asked
        )
        assert tuple(made) == coalesce(wanted, policy) == cut.requests
        assert set(served["row_group"].tolist()) == set(range(start, stop))
        assert set(served["request_id"].tolist()) == set(asked["request_id"].tolist())
        assert int((served["stop"] - served["start"]).sum()) == cut.wanted_bytes


def test_what_is_not_there_is_refused(file: ParquetFile) -> None:
    native = file.source.native_file()
    assert native is not None
    local = LocalBytes(native, IOPolicy.local())
    read = engine.planned(file.select().plan(), file.metadata, local, Team.of(1))
    for start, stop in ((0, NUM_GROUPS + 1), (5, 4), (NUM_GROUPS + 1, NUM_GROUPS + 1)):
        with pytest.raises(IndexError):
            read.begin(start, stop)


def test_no_rows_are_a_read_as_well(file: ParquetFile) -> None:
    assert_frame_equal(file.read(rows=(0, 0)), oracle(DATA).head(0))
    assert file.read(rows=(0, 0)).schema == oracle(DATA).schema
    assert np.array_equal(pl.concat(file.iter_row_groups(["row"]))["row"], oracle(DATA)["row"])
