"""A dataset's catalogue: what all footers say of their chunks, read again only where files changed.

A file is the same while what the file system or the store says of it is: size, times and inode, or
the etag.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pqlab.dataset import drift
from pqlab.dataset.parallel import each
from pqlab.errors import PqlabError, SourceError, placed
from pqlab.footer import frame_columns
from pqlab.footer.bulk import Footers
from pqlab.footer.metadata import parse_file_metadata
from pqlab.footer.series import int64, nullable
from pqlab.io import urls
from pqlab.io.footer import read_footer
from pqlab.io.local import is_settled, local_path
from pqlab.io.source import Bytes, Identity
from pqlab.native import _native

if TYPE_CHECKING:
    from pqlab.dataset.dataset import Dataset
    from pqlab.io.listing import ListedFile

_STATE = ("size", "mtime_ns", "ctime_ns", "inode", "device")


@dataclass(frozen=True, slots=True, eq=False)
class Catalogue:
    """`states`: a row per file, its `file` name and what tells its state, null if nothing does.

    `chunks`: as `frame_columns.CATALOGUE`, behind `number`, the file's row of `states`. `leaves`:
    as of `drift.leaf_kinds`, of every `kind` of file that `states` knows; a bad file has none.
    """

    states: pl.DataFrame
    chunks: pl.DataFrame
    leaves: pl.DataFrame

    @property
    def frame(self) -> pl.DataFrame:
        """The catalogue for users."""
        return self.chunks.drop("number")


def read_files(dataset: Dataset, numbers: Sequence[int]) -> Catalogue:
    """The catalogue of these files, read now."""
    return _read(_Listed(dataset), numbers)


def refreshed(
    dataset: Dataset,
    before: Catalogue | None,
    read: Callable[[Dataset, Sequence[int]], Catalogue] = read_files,
) -> Catalogue:
    """The catalogue as of now; of what has not changed since `before`, nothing is read.

    `read` gives the catalogue of files by their numbers.
    """
    if before is None:
        return joined([read(dataset, range(len(dataset)))])
    listed = _Listed(dataset)
    states = listed.states()
    if states.equals(before.states.drop("kind")) and _is_told(states).all():
        return before
    place = _same(states, before.states)
    changed = np.flatnonzero(place < 0).tolist()
    return joined([_kept(before, states, place), read(dataset, changed)])


class _Listed:
    """A dataset's files; the local ones have a path."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        is_local = dataset.is_local
        self.paths = [_path(file) if is_local else None for file in dataset.listed]

    def parse(self, sources: Sequence[bytes | Bytes]) -> Footers:
        """The footers of local paths, or of bytes that are at hand."""
        return Footers.parse(
            sources,
            self.dataset.limits,
            guess_bytes=self.dataset.io.footer_guess_bytes,
            threads=self.dataset.io.concurrency,
        )

    def states(self) -> pl.DataFrame:
        """What is known of the files without opening them."""
        numbers = [number for number, path in enumerate(self.paths) if path is not None]
        paths = [path for path in self.paths if path is not None]
        frames = [_local_states(_native.stat_files(paths), numbers)]
        frames += [
            _state(number, _known_identity(self.dataset.listed[number]))
            for number, path in enumerate(self.paths)
            if path is None
        ]
        return self.named(pl.concat(frames).sort("number"))

    def named(self, states: pl.DataFrame) -> pl.DataFrame:
        """With the files' names."""
        names = pl.Series("file", self.dataset.files, pl.String)
        return states.select("number", names.gather(states["number"]), *_STATE, "version")


def _path(file: ListedFile) -> bytes | None:
    source = file.source
    if not isinstance(source, str | os.PathLike) or urls.is_remote(os.fsdecode(source)):
        return None
    return os.fsencode(local_path(os.fsdecode(source)))


def _known_identity(file: ListedFile) -> Identity | None:
    return None if file.known is None else file.known.identity(file.name, has_secrets=True)


def _local_states(files: dict[str, np.ndarray], numbers: Sequence[int]) -> pl.DataFrame:
    """The states of files that are there, and have not been written to just now."""
    columns = {name: np.broadcast_to(files[name], (len(numbers),)) for name in ("ok", *_STATE)}
    settled = is_settled(columns["mtime_ns"], columns["ctime_ns"]) & (columns["ok"] != 0)
    cells = {name: pl.Series(columns[name].astype(np.uint64).view(np.int64)) for name in _STATE}
    frame = pl.DataFrame({"number": pl.Series(numbers, dtype=pl.UInt32), **cells})
    told = pl.Series(settled)
    return frame.select(
        "number",
        *(pl.when(told).then(pl.col(name)).alias(name) for name in _STATE),
        pl.lit(None, pl.String).alias("version"),
    )


def _state(number: int, identity: Identity | None) -> pl.DataFrame:
    cells: dict[str, Any] = {
        name: [None if identity is None else getattr(identity, name)] for name in _STATE
    }
    return pl.DataFrame(
        {"number": [number], **cells, "version": [identity.version if identity else None]},
        schema={
            "number": pl.UInt32, **dict.fromkeys(_STATE, pl.Int64), "version": pl.String
        },
    )  # fmt: skip


def _is_told(states: pl.DataFrame) -> pl.Series:
    return states["size"].is_not_null()


def _same(now: pl.DataFrame, before: pl.DataFrame) -> np.ndarray:
    """For each file the row of `before` that has the same one in the same state; -1: none has."""
    key = ["file", *_STATE, "version"]
    known = before.filter(_is_told(before)).unique(key, keep="first")
    both = now.filter(_is_told(now)).join(known, on=key, nulls_equal=True, suffix="_before")
    place = np.full(len(now), -1, np.int64)
    place[both["number"].to_numpy()] = both["number_before"].to_numpy()
    return place


def _kept(before: Catalogue, states: pl.DataFrame, place: np.ndarray) -> Catalogue:
    """The part of `before` that holds still, by the files' numbers now."""
    same = np.flatnonzero(place >= 0)
    was = place[same]
    numbers = pl.DataFrame(
        {"number": pl.Series(was.astype(np.uint32)), "now": pl.Series(same.astype(np.uint32))}
    )
    chunks = numbers.join(before.chunks, on="number", maintain_order="left_right")
    chunks = chunks.with_columns(pl.col("now").alias("number")).drop("now")
    kinds = before.states["kind"].gather(was)
    return Catalogue(states[same.tolist()].with_columns(kinds), chunks, before.leaves)


def joined(parts: Sequence[Catalogue]) -> Catalogue:
    """Several parts of a dataset as one, in the order of the files."""
    states, leaves, first = [], [], 0
    for part in parts:
        states.append(part.states.with_columns((pl.col("kind") + first).cast(pl.UInt32)))
        leaves.append(part.leaves.with_columns((pl.col("kind") + first).cast(pl.UInt32)))
        kinds = pl.concat([part.states["kind"], part.leaves["kind"]]).drop_nulls()
        first += 1 + max(kinds.to_list(), default=-1)
    joined = pl.concat(states).sort("number")
    return Catalogue(
        joined,
        pl.concat([part.chunks for part in parts]).sort("number", maintain_order=True),
        pl.concat(leaves).join(joined, on="kind", how="semi", maintain_order="left"),
    )


def _read(listed: _Listed, numbers: Sequence[int]) -> Catalogue:
    """Read the footers of these files: local ones by native code, the others as sources."""
    paths = {number: path for number in numbers if (path := listed.paths[number]) is not None}
    local = list(paths)
    footers = listed.parse(list(paths.values()))
    states = _local_states(dict(footers.files), local)
    found = _part(listed, footers, local, states, footers.files["size"])
    is_read = pl.col("kind").is_not_null()
    done = replace(found, states=found.states.filter(is_read))
    rest = sorted({*numbers} - {*done.states["number"]})
    return joined([done, *(_read_sources(listed, rest) if rest else ())])


def _part(
    listed: _Listed,
    footers: Footers,
    numbers: Sequence[int],
    states: pl.DataFrame,
    sizes: np.ndarray,
) -> Catalogue:
    """What native code has parsed: the rows of files that are ok, and the states of all."""
    file, series = footers.chunks()
    of_file = {"file_size_bytes": sizes, "footer_bytes": footers.files["footer_bytes"]}
    of_part = np.asarray(numbers, np.uint32)
    is_ok = np.asarray(footers.files["ok"] != 0)
    kinds = nullable(footers.files["kind"].astype(np.uint32), is_ok).cast(pl.UInt32)
    is_bare = is_ok.copy()
    is_bare[file] = False
    frames = [
        _frame(listed, of_part[rows], {**cells, **{n: int64(c[rows]) for n, c in of_file.items()}})
        for rows, cells in ((file, series), (is_bare, _nothing(int(is_bare.sum()))))
    ]
    return Catalogue(
        listed.named(states).with_columns(kinds.alias("kind")),
        pl.concat(frames),
        drift.leaf_kinds(footers.kinds),
    )


def _read_sources(listed: _Listed, numbers: Sequence[int]) -> list[Catalogue]:
    """Files that are no local ones, or with which something is wrong."""
    dataset = listed.dataset

    def fetch(number: int) -> tuple[Identity | None, int, Bytes] | str:
        try:
            source = dataset.source(number)
            footer, _ = read_footer(source, dataset.limits)
        except PqlabError as error:
            return _text(error)
        return source.identity, source.size, footer

    found = each(dataset.io.concurrency, fetch, numbers)
    fetched = [(n, *of) for n, of in zip(numbers, found, strict=True) if not isinstance(of, str)]
    wrong = {n: of for n, of in zip(numbers, found, strict=True) if isinstance(of, str)}
    footers = listed.parse([footer for *_, footer in fetched])
    for ok, (number, *_, footer) in zip(footers.files["ok"].tolist(), fetched, strict=True):
        if not ok:
            wrong[number] = _why(dataset, number, footer)
    states = [_state(number, identity) for number, identity, *_ in fetched]
    sizes = np.array([size for *_, size, _ in fetched], np.int64)
    nothing = _state(0, None).clear()
    numbers_fetched = [number for number, *_ in fetched]
    parts = [_part(listed, footers, numbers_fetched, pl.concat([nothing, *states]), sizes)]
    unread = [_state(number, None) for number in numbers if number not in numbers_fetched]
    no_kind = pl.lit(None, pl.UInt32).alias("kind")
    bad = Catalogue(
        listed.named(pl.concat([nothing, *unread])).with_columns(no_kind),
        _bad(listed, list(wrong), list(wrong.values())),
        parts[0].leaves.clear(),
    )
    return [*parts, bad]


def _why(dataset: Dataset, number: int, footer: Bytes) -> str:
    try:
        with placed(file=dataset.files[number]):
            parse_file_metadata(footer, 0, dataset.limits)
    except PqlabError as error:
        return _text(error)
    return _text(SourceError("the file changed while it was read"))


def _text(error: PqlabError) -> str:
    return f"{type(error).__name__}: {error.message}"


def _nothing(count: int) -> dict[str, pl.Series]:
    """Rows of nulls."""
    return {
        column.name: pl.Series([None] * count, dtype=column.dtype)
        for column in frame_columns.CATALOGUE
    }


def _bad(listed: _Listed, numbers: Sequence[int], errors: Sequence[str]) -> pl.DataFrame:
    """A row for each of the files that could not be read."""
    series = {**_nothing(len(numbers)), "error": pl.Series(errors, dtype=pl.String)}
    return _frame(listed, np.asarray(numbers, np.uint32), series)


def _frame(listed: _Listed, number: np.ndarray, series: dict[str, pl.Series]) -> pl.DataFrame:
    names = pl.Series("file", listed.dataset.files, pl.String)
    numbers = pl.Series("number", number, pl.UInt32)
    no_error = pl.Series("error", [None], pl.String).new_from_index(0, len(number))
    cells = {"error": no_error, **series, "file": names.gather(numbers)}
    frame = frame_columns.build(frame_columns.CATALOGUE, cells)
    return frame.select(numbers, pl.all())
