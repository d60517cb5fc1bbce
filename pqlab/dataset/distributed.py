"""Datasets on dask: partitions that are read on workers, footers and checks over a cluster.

A task is lost with its worker and done again by another one; its result is taken once, so nothing
is lost and nothing doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from pqlab.dataset.catalogue import Catalogue, joined, read_files
from pqlab.dataset.soundness import check_files
from pqlab.errors import UnsupportedError
from pqlab.trace import Trace

if TYPE_CHECKING:
    import pyarrow as pa

    from pqlab.dataset.dataset import Dataset

_PARTS_PER_THREAD = 4  # so that a slow worker does not keep the others waiting
_RETRIES = 3  # of a task whose code fails; a worker that dies is dask's business
_trace = Trace()  # of this process, a worker


@dataclass(frozen=True, slots=True)
class Reading:
    """How partitions are read: what `Dataset.select` takes, and options of `read`."""

    columns: Any
    where: Any
    options: Mapping[str, Any]
    traced: bool

    def frame(self, dataset: Dataset, number: int) -> pl.DataFrame:
        """The rows of one file, in the columns of the whole dataset."""
        trace = {"trace": _trace} if self.traced else {}
        return dataset.read(
            self.columns, files=number, where=self.where, **{**trace, **self.options}
        )

    def table(self, dataset: Dataset, number: int) -> pa.Table:
        """As `frame`, of Arrow."""
        return self.frame(dataset, number).to_arrow()


def to_dask(dataset: Dataset, numbers: Sequence[int], how: Reading, to: str) -> Any:
    """As `Dataset.to_dask`."""
    if to not in ("bag", "dataframe"):
        raise ValueError(f'to is "bag" or "dataframe", not {to!r}')
    _refuse_memory(dataset)
    empty = dataset.read(how.columns, files=[], where=how.where, **how.options)  # raises here
    import dask
    import dask.bag

    shared = dask.delayed(dataset, pure=False)  # goes to a worker once
    read = dask.delayed(how.table, pure=False)
    if to == "bag":
        tables = [dask.delayed(list)([read(shared, number)]) for number in numbers]
        return dask.bag.from_delayed(tables)
    import dask.dataframe as dd

    frames = [read(shared, number).to_pandas() for number in numbers]
    return dd.from_delayed(frames, meta=empty.to_arrow().to_pandas(), verify_meta=False)


def _refuse_memory(dataset: Dataset) -> None:
    for file in dataset.listed:
        if not isinstance(file.source, str):
            raise UnsupportedError(
                "workers cannot reach what lies in this process's memory",
                hint="Open files by their paths or URLs",
                file=file.name,
            )


def catalogue_reader(client: Any) -> Callable[[Dataset, Sequence[int]], Catalogue]:
    """What `catalogue.refreshed` takes as `read`: the footers are read by the client's workers."""

    def read(dataset: Dataset, numbers: Sequence[int]) -> Catalogue:
        pieces = _pieces(client, dataset, numbers)
        found = _mapped(client, _catalogue, [dataset.part(piece) for piece in pieces])
        renumbered = [_renumbered(part, piece) for part, piece in zip(found, pieces, strict=True)]
        return joined(renumbered) if renumbered else read_files(dataset, [])

    return read


def check_on(client: Any, dataset: Dataset, *, quick: bool) -> pl.DataFrame:
    """As `Dataset.check`, by the client's workers."""
    pieces = _pieces(client, dataset, range(len(dataset)))
    parts = [dataset.part(piece) for piece in pieces]
    found: list[pl.DataFrame] = _mapped(client, partial(check_files, quick=quick), parts)
    return pl.concat(found)


def dask_trace(client: Any) -> Trace:
    """What the workers have recorded of `to_dask(trace=True)` since the last time it was asked.

    One trace, whose reads have the worker's name as `trace`. What a worker that died had recorded
    died with it; what it had read was read again, and recorded, by another one.
    """
    found = client.run(_take_trace)
    names = client.scheduler_info(n_workers=-1)["workers"]
    return Trace.merge(
        {str(names.get(address, {}).get("name", address)): of for address, of in found.items()}
    )


def _take_trace() -> Trace:
    global _trace  # the next one begins
    taken, _trace = _trace, Trace()
    return taken


def _catalogue(part: Dataset) -> Catalogue:
    return read_files(part, range(len(part)))


def _renumbered(part: Catalogue, numbers: Sequence[int]) -> Catalogue:
    """With the numbers that the files of a part have in the whole dataset."""
    whole = pl.Series("number", numbers, pl.UInt32)
    states, chunks = (
        frame.with_columns(whole.gather(frame["number"]).alias("number"))
        for frame in (part.states, part.chunks)
    )
    return Catalogue(states, chunks, part.leaves)


def _pieces(client: Any, dataset: Dataset, numbers: Sequence[int]) -> list[Sequence[int]]:
    """The files in runs of about the same number, a few for each of the cluster's threads."""
    _refuse_memory(dataset)
    threads = sum(client.nthreads().values()) or 1
    size = max(1, -(-len(numbers) // (threads * _PARTS_PER_THREAD)))
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def _mapped(client: Any, function: Callable[[Dataset], Any], parts: Sequence[Dataset]) -> Any:
    futures = client.map(function, parts, pure=False, retries=_RETRIES)
    return client.gather(futures)
