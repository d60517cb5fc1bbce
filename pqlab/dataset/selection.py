"""`DatasetSelection`: a part of each file, read into one frame."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np

from pqlab import text
from pqlab.dataset.parallel import each
from pqlab.errors import LimitError, SelectionError, UnsupportedError
from pqlab.file_selection import FileSelection, file_opener
from pqlab.plan.plan import Plan
from pqlab.plan.ranges import Ranges
from pqlab.reader import ParquetFile
from pqlab.stream.options import (
    TYPING,
    DecodeOptions,
    Engine,
    IterateOptions,
    ReadOptions,
    To,
    check_choice,
    parted,
    refuse_enum,
)

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from pqlab.dataset.dataset import Dataset
    from pqlab.native._native import Decoded
    from pqlab.stream.iterator import Frames
    from pqlab.stream.job import Job
    from pqlab.stream.parts import Part
    from pqlab.stream.units import FileParts

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
        from pqlab.assemble.arrow import joined

        empty = self.empty(options)
        add = self.bounded(options.get("memory_limit"))
        bar = progress_bar(len(self.parts), shown=options.pop("progress", False))

        def read_part(part: tuple[int, FileSelection]) -> pl.DataFrame:
            frame = add(self._read_part(part, empty, options))
            bar.update()
            return frame

        with bar:
            return joined([empty, *each(self.dataset.io.concurrency, read_part, self.parts)])

    def bounded(self, limit: int | None) -> Callable[[pl.DataFrame], pl.DataFrame]:
        """What gives frames back until those that it was given are too large together."""
        total_bytes = 0
        lock = threading.Lock()

        def add(frame: pl.DataFrame) -> pl.DataFrame:
            nonlocal total_bytes
            with lock:
                total_bytes += int(frame.estimated_size())
                self.dataset.limits.check("read_bytes", total_bytes, "what was read so far")
                if limit is not None and total_bytes > limit:
                    raise LimitError(
                        f"{total_bytes:,} bytes so far are above memory_limit = {limit:,}",
                        hint="Read it in parts, by iter_row_groups() or iter_batches()",
                    )
            return frame

        return add

    def submit(self, **options: Unpack[DecodeOptions]) -> Job[pl.DataFrame]:
        """Begin to read into a polars frame, and go on: `.result()`, `.progress`, `.cancel()`.

        Several files at once. Arguments and errors as of `read`; raises at once what planning finds
        wrong.
        """
        from pqlab.assemble.arrow import joined
        from pqlab.dataset.submit import FileRead, FileReads
        from pqlab.stream.job import Job

        plans, empty = self.plan(engine=options.get("engine", "auto")), self.empty(options)
        add = self.bounded(None)

        def reading(part: tuple[int, FileSelection], plan: Plan) -> FileRead:
            def begin() -> Job[pl.DataFrame] | None:
                return part[1].submit(**options) if part[1].narrowed.leaves else None

            def finish(frame: pl.DataFrame | None) -> pl.DataFrame:
                return add(self._of_file(part, frame, plan, empty))

            return FileRead(executor, begin, finish)

        concurrency = self.dataset.io.concurrency
        executor = ThreadPoolExecutor(concurrency, thread_name_prefix="pqlab-submit")
        reads = [reading(*each) for each in zip(self.parts, plans, strict=True)]
        executor.shutdown(wait=False)  # its threads end once all is read
        num_bytes = sum(plan.wanted_bytes for plan in plans)
        return Job(FileReads(), reads, lambda frames: joined([empty, *frames]), num_bytes, executor)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of Arrow batches (the Arrow PyCapsule interface), file after file.

        A file is read when its batch is asked for. `requested_schema`: a capsule; what can be cast
        is.
        """
        import pyarrow as pa

        empty = self.empty({})
        batches = (
            batch
            for part in self.parts
            for batch in pa.RecordBatchReader.from_stream(self._read_part(part, empty, {}))
        )
        reader = pa.RecordBatchReader.from_batches(_arrow_schema(empty), batches)
        return reader.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema of the stream, from the footers alone."""
        return _arrow_schema(self.empty({})).__arrow_c_schema__()

    @overload
    def iter_row_groups(
        self, *, to: Literal["polars"] = "polars", **options: Unpack[IterateOptions]
    ) -> Frames[pl.DataFrame]: ...
    @overload
    def iter_row_groups(
        self, *, to: Literal["arrow"], **options: Unpack[IterateOptions]
    ) -> Frames[pa.Table]: ...
    def iter_row_groups(
        self, *, to: To = "polars", **options: Unpack[IterateOptions]
    ) -> Frames[Any]:
        """A frame per row group, file after file, as of `FileSelection.iter_row_groups`.

        The next file's first pages are on their way before the last frames of the one before are
        handed out. `shard` and `shuffle` are of the row groups of all files together.
        """
        return self._iterate(None, to, **options)

    @overload
    def iter_batches(
        self, rows: int, *, to: Literal["polars"] = "polars", **options: Unpack[IterateOptions]
    ) -> Frames[pl.DataFrame]: ...
    @overload
    def iter_batches(
        self, rows: int, *, to: Literal["arrow"], **options: Unpack[IterateOptions]
    ) -> Frames[pa.Table]: ...
    def iter_batches(
        self, rows: int, *, to: To = "polars", **options: Unpack[IterateOptions]
    ) -> Frames[Any]:
        """Frames of so many rows, across files; as of `FileSelection.iter_batches`."""
        return self._iterate(rows, to, **options)

    def _iterate(self, rows: int | None, to: To, **options: Unpack[IterateOptions]) -> Frames[Any]:
        from pqlab.stream.forms import form
        from pqlab.stream.stream import Picked, stream

        check_choice("to", to, To)  # files are put into one schema in host memory
        decode, ahead = parted(options)
        refuse_enum(decode.strings)
        begin = file_opener(decode)
        base, empty = form(to), self.empty(options)

        def assemble(part: Part, file: FileParts, decoded: list[Decoded]) -> Any:
            number, selection = self.parts[part.file]
            frame = form("polars").assemble(part, file, decoded)
            conformed = self.conform(
                number,
                selection.file,
                frame,
                height=part.num_rows,
                index=self._index(selection.file, part.rows),
                empty=empty,
            )
            return conformed if to == "polars" else conformed.to_arrow()

        return stream(
            [
                Picked(selection.file, selection.rows(), self._lanes(selection))
                for _, selection in self.parts
            ],
            lambda file, lanes, team: begin(self.parts[file][1].file, lanes, team),
            base._replace(assemble=assemble),
            rows=rows,
            workers=decode.workers,
            policy=self.dataset.io,
            **ahead,
        )

    def _lanes(self, selection: FileSelection) -> list[tuple[int, ...]]:
        """The leaves of the result's root columns in a file; none where it lacks one."""
        leaves = selection.file.metadata.leaves
        found = {leaves[root[0]].path[0]: root for root in selection.roots()}
        return [found.get(name, ()) for name in self._roots]

    def _read_part(
        self, part: tuple[int, FileSelection], empty: pl.DataFrame, options: ReadOptions
    ) -> pl.DataFrame:
        """The columns of `empty` for the rows of one file."""
        selection = part[1]
        frame = selection.read(**options) if selection.narrowed.leaves else None
        is_whole = frame is not None and not frame.is_empty() and "row_index" not in self.extras
        return self._of_file(part, frame, None if is_whole else selection.plan(), empty)

    def _of_file(
        self,
        part: tuple[int, FileSelection],
        frame: pl.DataFrame | None,
        plan: Plan | None,
        empty: pl.DataFrame,
    ) -> pl.DataFrame:
        """The columns of `empty` for the rows of one file; without its plan: of the frame's."""
        import polars as pl

        number, selection = part
        given = pl.DataFrame() if frame is None else frame
        height = given.height if plan is None else plan.num_rows
        index = None if plan is None else self._index(selection.file, dict(plan.row_groups))
        return self.conform(number, selection.file, given, height=height, index=index, empty=empty)

    def _index(self, file: ParquetFile, rows: Mapping[int, Ranges]) -> np.ndarray | None:
        """The positions in the file of rows that are read, where they are wanted."""
        return _row_index(file, rows) if "row_index" in self.extras else None

    def conform(
        self,
        number: int,
        file: ParquetFile,
        frame: pl.DataFrame,
        *,
        height: int,
        index: np.ndarray | None,
        empty: pl.DataFrame,
    ) -> pl.DataFrame:
        """The columns of `empty` for rows of one file, of which the frame has the file's own.

        `index`: which rows of the file these are; needed for `row_index` alone.
        """
        import polars as pl

        given = {column.name: column for column in frame}
        for key in self.keys:
            given[key] = self.dataset.partitions[key].new_from_index(number, height)
        if "file" in self.extras:
            given["file"] = pl.Series("file", [file.name]).new_from_index(0, height)
        if "row_index" in self.extras:
            given["row_index"] = pl.Series("row_index", index, pl.Int64)
        columns = []
        for wanted in empty:
            column = given.get(wanted.name)
            if column is None or column.dtype == pl.Null:
                column = wanted.clear(height)
            both_enums = isinstance(column.dtype, pl.Enum) and isinstance(wanted.dtype, pl.Enum)
            if column.dtype != wanted.dtype and not both_enums:
                raise _other_fields(column.name, file.name)
            columns.append(column)
        return pl.DataFrame(columns)

    def empty(self, options: ReadOptions | DecodeOptions | IterateOptions) -> pl.DataFrame:
        """The result without rows: each column typed by the first file that has it."""
        import polars as pl

        typing: Any = {name: value for name, value in options.items() if name in TYPING}
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


class _NoBar(nullcontext[None]):
    def update(self) -> None:
        """Nothing is shown."""


def progress_bar(num_files: int, *, shown: bool) -> Any:
    """What counts files that are read: shown, or a stand-in."""
    if not shown:
        return _NoBar()
    from tqdm.auto import tqdm

    return tqdm(total=num_files, unit=" files", desc="read")


def _row_index(file: ParquetFile, rows: Mapping[int, Ranges]) -> np.ndarray:
    """The positions in the file of rows that are read."""
    first_rows = file.metadata.row_groups.first_row
    parts = [
        np.arange(start, stop, dtype=np.int64) + int(first_rows[row_group])
        for row_group, ranges in rows.items()
        for start, stop in ranges
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
