"""Datasets on a local cluster of several processes, against the same read here."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster
from polars.testing import assert_frame_equal

import pqlab
from pqlab.errors import SelectionError, UnsupportedError

ROWS = 200


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> pqlab.Dataset:
    folder = tmp_path_factory.mktemp("lake")
    rng = np.random.default_rng(5)
    for number in range(24):
        day = folder / f"day={number % 3 + 1}"
        day.mkdir(exist_ok=True)
        columns: dict[str, Any] = {
            "id": np.arange(ROWS) + number * ROWS,
            "value": rng.random(ROWS),
            "name": [f"name {n % 7}" for n in range(ROWS)],
        }
        if number % 2:
            del columns["value"]
        pq.write_table(pa.table(columns), day / f"{number:02}.parquet", row_group_size=50)
    return pqlab.Dataset(folder)


def computed(bag: Any) -> pl.DataFrame:
    tables = bag.compute()
    return pl.from_arrow(pa.concat_tables(tables))  # type: ignore[return-value]


def test_a_bag_has_a_table_per_file_of_one_schema(client: Client, dataset: pqlab.Dataset) -> None:
    bag = dataset.to_dask()
    assert bag.npartitions == len(dataset) == 24
    tables = bag.compute()
    assert all(isinstance(table, pa.Table) for table in tables)
    assert len({table.schema for table in tables}) == 1
    assert_frame_equal(computed(bag), dataset.read())
    assert client.nthreads()


def test_columns_files_and_predicates_are_pushed_in(client: Client, dataset: pqlab.Dataset) -> None:
    where = "id >= 1000 and day != 2"
    frame = computed(dataset.to_dask(["id", "day"], where=where, trace=True))
    assert_frame_equal(frame, dataset.read(["id", "day"], where=where))
    trace = pqlab.dask_trace(client)
    assert set(trace.summary()["column"].drop_nulls()) == {"id"}
    some = computed(dataset.to_dask(["name"], files=[3, 5]))
    assert_frame_equal(some, dataset.read(["name"], files=[3, 5]))
    as_expression = dataset.to_dask("id", where=pl.col("value") > 0.5)
    assert_frame_equal(computed(as_expression), dataset.read("id", where=pl.col("value") > 0.5))


def test_traces_have_the_names_of_their_workers(client: Client, dataset: pqlab.Dataset) -> None:
    pqlab.dask_trace(client)
    dataset.to_dask(["id"], trace=True).compute()
    reads = pqlab.dask_trace(client).reads().filter(kind="read")
    read_rows = reads.filter(pl.col("file").is_in(list(dataset.files)))
    assert set(read_rows["file"]) == set(dataset.files)
    names = {str(info["name"]) for info in client.scheduler_info(n_workers=-1)["workers"].values()}
    assert set(reads["trace"]) <= names
    assert len(set(reads["trace"])) > 1
    assert pqlab.dask_trace(client).reads().is_empty()


def test_a_dataframe(client: Client, dataset: pqlab.Dataset) -> None:
    frame = dataset.to_dask(["id", "value"], to="dataframe")
    assert frame.npartitions == 24
    assert frame["id"].sum().compute() == dataset.read("id")["id"].sum()
    assert client.nthreads()


def test_catalogue_findings_and_check_are_as_here(
    client: Client, dataset: pqlab.Dataset, tmp_path: Path
) -> None:
    files = [*dataset.files, str(tmp_path / "gone.parquet"), str(tmp_path / "bad.parquet")]
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 but not more PAR1")
    here, there = pqlab.Dataset(files), pqlab.Dataset(files)
    assert_frame_equal(there.catalogue(client=client), here.catalogue())
    assert there.catalogue()["error"].drop_nulls().len() == 2
    assert_frame_equal(there.schemas(), here.schemas())
    assert_frame_equal(there.findings(client=client), here.findings())
    assert_frame_equal(there.check(client=client), here.check())
    assert there.check(client=client, quick=True).height == 2


def test_a_worker_that_dies_loses_nothing_and_doubles_nothing(
    client: Client, dataset: pqlab.Dataset
) -> None:
    def slowly(table: pa.Table) -> pa.Table:
        time.sleep(0.15)
        return table

    bag = dataset.to_dask(["id", "name"]).map(slowly)
    future = client.compute(bag)
    time.sleep(0.5)
    victim = next(iter(client.run(os.getpid).values()))
    os.kill(victim, signal.SIGKILL)
    tables = future.result(timeout=60)
    frame = pl.from_arrow(pa.concat_tables(tables))
    assert isinstance(frame, pl.DataFrame)
    assert_frame_equal(frame, dataset.read(["id", "name"]))
    assert frame["id"].is_unique().all()
    client.wait_for_workers(3, timeout=60)
    assert victim not in client.run(os.getpid).values()

    killed = threading.Timer(0.02, _kill_one, [client])
    killed.start()
    found = pqlab.Dataset(dataset.files).catalogue(client=client)
    killed.join()
    assert_frame_equal(found, pqlab.Dataset(dataset.files).catalogue())
    client.wait_for_workers(3, timeout=60)


def _kill_one(client: Client) -> None:
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def test_what_cannot_be_is_refused_here(dataset: pqlab.Dataset) -> None:
    data = Path(dataset.files[0]).read_bytes()
    with pytest.raises(UnsupportedError, match="memory"):
        pqlab.Dataset([data]).to_dask()
    with pytest.raises(SelectionError):
        dataset.to_dask("no such column")
    with pytest.raises(ValueError, match="bag"):
        dataset.to_dask(to="table")  # type: ignore[arg-type]


def test_a_part_of_a_dataset_stands_alone(dataset: pqlab.Dataset) -> None:
    part = dataset.part([4, 2])
    assert part.files == (dataset.files[4], dataset.files[2])
    whole = dataset.catalogue()
    expected = pl.concat([whole.filter(file=name) for name in part.files])
    assert_frame_equal(part.catalogue(), expected)
