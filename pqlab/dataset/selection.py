"""`DatasetSelection`: a part of each file, read into one frame."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from pqlab import text
from pqlab.dataset.parallel import each
from pqlab.errors import SelectionError, UnsupportedError
from pqlab.file_selection import Engine, FileSelection, ReadOptions
from pqlab.plan.plan import Plan
from pqlab.reader import ParquetFile

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from pqlab.dataset.dataset import Dataset

Path = tuple[str, ...]  # of a leaf


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DatasetSelection:
    """A selection of a dataset; made by `Dataset.select`.

    `parts`: (position of the file, its selection). `paths`: of the picked leaves, in the order of
    the merged schema; `keys`: of hive folders; `extras`: `file` and `row_index`, where asked for.
    """

    dataset: Dataset
    parts: tuple[tuple[int, FileSelection], ...]
    paths: tuple[Path, ...]
    keys: tuple[str, ...]
    extras: tuple[str, ...]
    code: str  # Python text that builds the selection again

    def __post_init__(self) -> None:
        names = [*self._roots, *self.keys, *self.extras]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise SelectionError(
                f"two columns of the result would be called {twice!r}",
                hint="Select columns without it, or leave the include_ argument out",
            )

    @property
    def _roots(self) -> list[str]:
        return list(dict.fromkeys(path[0] for path in self.paths))

    def plan(self, *, engine: Engine = "auto", walk: bool = False) -> list[Plan]:
        """What `read` would do: a plan per file, as of `FileSelection.plan`."""
        concurrency = self.dataset.io.concurrency
        return each(concurrency, lambda part: part[1].plan(engine=engine, walk=walk), self.parts)

    def read(self, **options: Unpack[ReadOptions]) -> pl.DataFrame:
        """Read into one polars frame, several files at once.

        Arguments and errors as of `FileSelection.read`; `LimitError` when the files' frames
        together pass `read_bytes`.
        """
        import polars as pl

        empty = self._empty(options)
        total_bytes = 0
        lock = threading.Lock()

        def read_part(part: tuple[int, FileSelection]) -> pl.DataFrame:
            nonlocal total_bytes
            frame = self._read_part(part, empty, options)
            with lock:
                total_bytes += int(frame.estimated_size())
                self.dataset.limits.check("read_bytes", total_bytes, "what was read so far")
            return frame

        return pl.concat([empty, *each(self.dataset.io.concurrency, read_part, self.parts)])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of Arrow batches (the Arrow PyCapsule interface), file after file.

        A file is read when its batch is asked for. `requested_schema`: a capsule; what can be cast
        is.
        """
        import pyarrow as pa

        empty = self._empty({})
        batches = (
            batch
            for part in self.parts
            for batch in pa.RecordBatchReader.from_stream(self._read_part(part, empty, {}))
        )
        reader = pa.RecordBatchReader.from_batches(_arrow_schema(empty), batches)
        return reader.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema of the stream, from the footers alone."""
        return _arrow_schema(self._empty({})).__arrow_c_schema__()

    def _read_part(
        self, part: tuple[int, FileSelection], empty: pl.DataFrame, options: ReadOptions
    ) -> pl.DataFrame:
        """The columns of `empty` for the rows of one file."""
        import polars as pl

        number, selection = part
        frame, plan = pl.DataFrame(), None
        if selection.narrowed.leaves:
            frame = selection.read(**options)
        if frame.is_empty() or "row_index" in self.extras:
            plan = selection.plan()
        height = plan.num_rows if plan else frame.height
        given = {column.name: column for column in frame}
        for key in self.keys:
            given[key] = self.dataset.partitions[key].new_from_index(number, height)
        if "file" in self.extras:
            given["file"] = pl.Series("file", [selection.file.name]).new_from_index(0, height)
        if plan and "row_index" in self.extras:
            given["row_index"] = pl.Series("row_index", _row_index(selection.file, plan))
        columns = []
        for wanted in empty:
            column = given.get(wanted.name)
            if column is None or column.dtype == pl.Null:
                column = wanted.clear(height)
            if column.dtype != wanted.dtype:
                raise _other_fields(column.name, selection.file.name)
            columns.append(column)
        return pl.DataFrame(columns)

    def _empty(self, options: ReadOptions) -> pl.DataFrame:
        """The result without rows: each column typed by the first file that has it."""
        import polars as pl

        typing: ReadOptions = {**options, "trace": None}
        typed_by = self.dataset.merged.typed_by
        by_file: dict[int, list[Path]] = {}
        for path in self.paths:
            by_file.setdefault(typed_by[path], []).append(path)
        found: dict[str, pl.Series] = {}
        for number, paths in by_file.items():
            file = self.dataset.file(number)
            for column in file.read(leaves_of(file, paths), rows=(0, 0), **typing):
                if found.setdefault(column.name, column).dtype != column.dtype:
                    raise _other_fields(column.name, file.name)
        columns = [found[name] for name in self._roots]
        columns += [self.dataset.partitions[key].clear() for key in self.keys]
        dtypes = {"file": pl.String(), "row_index": pl.Int64()}
        columns += [pl.Series(name, [], dtypes[name]) for name in self.extras]
        return pl.DataFrame(columns)

    def __repr__(self) -> str:
        files = text.plural(len(self.parts), "file")
        columns = text.plural(len(self._roots) + len(self.keys) + len(self.extras), "column")
        return f"<{self.code}: {columns} of {files}>"


def _row_index(file: ParquetFile, plan: Plan) -> np.ndarray:
    """The positions in the file of the rows that are read."""
    row_groups, ranges = plan.tables.row_groups, plan.tables.ranges
    first_rows = file.metadata.row_groups.first_row[row_groups["row_group"]].astype(np.int64)
    first_rows = first_rows.repeat(row_groups["num_ranges"])
    parts = [
        np.arange(start, stop, dtype=np.int64) + first_row
        for (start, stop), first_row in zip(ranges.tolist(), first_rows.tolist(), strict=True)
    ]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _arrow_schema(frame: pl.DataFrame) -> pa.Schema:
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(frame).schema


def leaf_ordinals(file: ParquetFile) -> dict[Path, int]:
    """The file's leaves by path."""
    return {leaf.path: number for number, leaf in enumerate(file.metadata.leaves)}


def leaves_of(file: ParquetFile, paths: Iterable[Path]) -> list[int]:
    """The ordinals in the file of those of the paths that it has."""
    ordinal = leaf_ordinals(file)
    return [ordinal[path] for path in paths if path in ordinal]


def is_picked(key: str, pick: Any) -> bool:
    """Whether a pick of columns means this key of the hive folders."""
    if isinstance(pick, str) and pick.startswith("^") and pick.endswith("$"):
        return re.search(pick, key) is not None
    return pick in (key, (key,))


def _other_fields(column: str, file: str) -> UnsupportedError:
    return UnsupportedError(
        "the column has other fields than in the files before",
        hint="Select fields that all files have",
        file=file,
        column=column,
    )
