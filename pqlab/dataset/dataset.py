"""`Dataset`: several files read as one, and looked into by reading."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from pqlab.dataset.described import DescribedDataset
from pqlab.dataset.selection import DatasetSelection, leaves_of
from pqlab.io import urls
from pqlab.plan.picks import row_range, to_ordinals
from pqlab.plan.ranges import Ranges, intersect, union
from pqlab.plan.selection import Selection
from pqlab.stream.options import DecodeOptions, ReadOptions

if TYPE_CHECKING:
    import polars as pl

    from pqlab.dataset.filtered import FilteredDatasetSelection
    from pqlab.filtered.frames import FilteredFrames
    from pqlab.stream.iterator import Frames
    from pqlab.stream.job import Job


class Dataset(DescribedDataset):
    """Several Parquet files with the surface of one; made by `pqlab.open`.

    What it is made of is in `DescribedDataset`.
    """

    def catalogue(self, *, client: Any = None) -> pl.DataFrame:
        """A row per file, row group and leaf, of the footers alone; a bad file is a row: `error`.

        Footers are read many at once. Asked again, only files are read that are no longer what they
        were: by size, times and inode, or by their etag. With `cache="disk"`, or a folder, that
        holds for later processes, too. `client`: of dask.distributed, whose workers read. Raises
        nothing for a file that is bad, gone, or changing.
        """
        from pqlab.dataset.kept_catalogue import catalogue

        return catalogue(self, client).frame

    def schemas(self) -> pl.DataFrame:
        """Which leaves the files have: a row per path and way to have it, drift first."""
        from pqlab.dataset.drift import schemas_frame
        from pqlab.dataset.kept_catalogue import catalogue

        now = catalogue(self)
        return schemas_frame(now.states, now.leaves)

    def layouts(self) -> pl.DataFrame:
        """How the files' chunks are stored: a row per column, property and value, drift first."""
        from pqlab.dataset.drift import layouts_frame

        return layouts_frame(self.catalogue())

    def check(self, *, quick: bool = False, client: Any = None) -> pl.DataFrame:
        """What is wrong in each file, as of `ParquetFile.check`; one that cannot be read is a row.

        `client`: of dask.distributed, whose workers do it. Raises nothing for a bad file, or for
        one that is gone: the others are checked all the same.
        """
        if client is not None:
            from pqlab.dataset.distributed import check_on

            return check_on(client, self, quick=quick)
        from pqlab.dataset.soundness import check_files

        return check_files(self, quick=quick)

    def findings(self, *, filters: Iterable[str] | None = None, client: Any = None) -> pl.DataFrame:
        """What the files cost beyond need, by their catalogue; as of `ParquetFile.findings`.

        Bounds are held against each other over all files. Nothing but footers is read: what codecs
        take, and text that is dates, is found file by file.
        """
        from pqlab.dataset.kept_catalogue import catalogue
        from pqlab.findings import Facts, findings

        now = catalogue(self, client)
        return findings(Facts.of_many(now.frame, now.states, now.leaves, filters))

    def diff(self, other: Dataset, *, values: bool = False, max_rows: int = 10) -> pl.DataFrame:
        """What another dataset has differently, as `ParquetFile.diff`.

        Files are matched by their paths below the folder that all files of a dataset lie in.
        """
        from pqlab.dataset.difference import diff_datasets

        return diff_datasets(self, other, values=values, max_rows=max_rows)

    def to_dask(
        self,
        columns: Any = None,
        *,
        files: Any = None,
        where: str | pl.Expr | None = None,
        to: Literal["bag", "dataframe"] = "bag",
        trace: bool = False,
        **options: Any,
    ) -> Any:
        """The rows for what outgrows one machine: a partition per file, read where dask puts it.

        `to="bag"`: a `dask.bag` of `pyarrow.Table`, one per partition, all of the same schema;
        `to="dataframe"`: a `dask.dataframe`. Columns and `where` are pushed into the reading; other
        `options` as of `read`. The workers must reach the files by the same names. `trace`: what
        reading costs is recorded there, for `pqlab.dask_trace`. Raises as `select`. Needs
        `pqlab[dask]`.
        """
        from pqlab.dataset.distributed import Reading, to_dask

        how = Reading(columns, where, options, traced=trace)
        return to_dask(self, self._numbers(files), how, to)

    @overload
    def select(
        self,
        columns: Any = None,
        *,
        files: Any = None,
        row_groups: Any = None,
        pages: Any = None,
        rows: Any = None,
        include_file: bool = False,
        include_row_index: bool = False,
        where: None = None,
        prune: bool = True,
    ) -> DatasetSelection: ...

    @overload
    def select(
        self,
        columns: Any = None,
        *,
        files: Any = None,
        row_groups: Any = None,
        pages: Any = None,
        rows: Any = None,
        include_file: bool = False,
        include_row_index: bool = False,
        where: str | pl.Expr,
        prune: bool = True,
    ) -> FilteredDatasetSelection: ...

    def select(
        self,
        columns: Any = None,
        *,
        files: Any = None,
        row_groups: Any = None,
        pages: Any = None,
        rows: Any = None,
        include_file: bool = False,
        include_row_index: bool = False,
        where: str | pl.Expr | None = None,
        prune: bool = True,
    ) -> DatasetSelection | FilteredDatasetSelection:
        """A part of the dataset; what is given intersects, and results come in the files' order.

        `columns`: as of `ParquetFile.select`, of the merged schema and of the hive folders' keys.
        `files`: positions in `files`, or slices. `row_groups` and `pages` count within each file.
        `rows`: half-open, counted over the whole dataset. `include_file` and `include_row_index`
        add columns: `file`, its name, and `row_index`, the row's position in its file. `where` and
        `prune` as of `ParquetFile.select`; keys of hive folders, and columns that a file lacks,
        rule out whole files.

        Raises `SelectionError`, and `UnsupportedError` if files disagree about a picked column.
        """
        selection = Selection.of(columns, row_groups=row_groups, pages=pages, rows=rows)
        paths, keys = self.pick(selection.columns)
        ranges = None if selection.rows is None else self._ranges(selection)
        parts = []
        for number in self._numbers(files):
            local = None if ranges is None else ranges[number]
            if local is None or local:
                file = self.file(number)
                columns = leaves_of(file, paths)
                parts.append(
                    (number, file.select(columns, row_groups=row_groups, pages=pages, rows=local))
                )
        extras = (*("file",) * include_file, *("row_index",) * include_row_index)
        arguments = [selection.arguments()]
        arguments += [f"files={to_ordinals(files, 'files')!r}"] if files is not None else []
        arguments += [f"include_{name}=True" for name in extras]
        code = f"{self._code}.select({', '.join(filter(None, arguments))})"
        asked = DatasetSelection(self, tuple(parts), tuple(paths), tuple(keys), extras, code)
        if where is None:
            return asked
        from pqlab.dataset.filtered import FilteredDatasetSelection
        from pqlab.predicate.where import of

        return FilteredDatasetSelection.of(asked, of(where), prune=bool(prune))

    def read(
        self,
        columns: Any = None,
        *,
        files: Any = None,
        row_groups: Any = None,
        pages: Any = None,
        rows: Any = None,
        include_file: bool = False,
        include_row_index: bool = False,
        where: str | pl.Expr | None = None,
        prune: bool = True,
        **options: Unpack[ReadOptions],
    ) -> pl.DataFrame:
        """`select(...).read(...)` in one call."""
        selection = self.select(
            columns,
            files=files,
            row_groups=row_groups,
            pages=pages,
            rows=rows,
            include_file=include_file,
            include_row_index=include_row_index,
            where=where,
            prune=prune,
        )
        return selection.read(**options)

    def submit(
        self, columns: Any = None, *, files: Any = None, **options: Unpack[DecodeOptions]
    ) -> Job[pl.DataFrame]:
        """`select(columns, files=...).submit(...)` in one call."""
        return self.select(columns, files=files).submit(**options)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All rows as a stream of Arrow batches, as of `DatasetSelection`."""
        return self.select().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema of all columns, as of `DatasetSelection`."""
        return self.select().__arrow_c_schema__()

    def iter_row_groups(
        self,
        columns: Any = None,
        *,
        files: Any = None,
        row_groups: Any = None,
        pages: Any = None,
        rows: Any = None,
        include_file: bool = False,
        include_row_index: bool = False,
        where: str | pl.Expr | None = None,
        prune: bool = True,
        **options: Any,
    ) -> Frames[Any] | FilteredFrames[Any]:
        """`select(...).iter_row_groups(...)` in one call: it takes the arguments of both."""
        selection = self.select(
            columns,
            files=files,
            row_groups=row_groups,
            pages=pages,
            rows=rows,
            include_file=include_file,
            include_row_index=include_row_index,
            where=where,
            prune=prune,
        )
        return selection.iter_row_groups(**options)

    def iter_batches(
        self, rows: int, columns: Any = None, *, files: Any = None, **options: Any
    ) -> Frames[Any]:
        """`select(columns, files=...).iter_batches(rows, ...)` in one call."""
        return self.select(columns, files=files).iter_batches(rows, **options)

    def head(self, n: int = 10, **options: Unpack[ReadOptions]) -> pl.DataFrame:
        """The first `n` rows; only the pages that cover them are read."""
        return self.select(rows=slice(0, n)).read(**options)

    @property
    def _code(self) -> str:
        opens = self._has_text and not any(self._where.values())
        opens = opens and urls.shown(os.fsdecode(self._source)) == os.fsdecode(self._source)
        source = repr(os.fspath(self._source)) if opens else "<source>"
        return f"pqlab.open({source})"

    def _ranges(self, selection: Selection) -> list[Ranges]:
        """The picked rows within each file."""
        counts = [file.metadata.num_rows for file in self._all]
        picked = union(row_range(rows, sum(counts)) for rows in selection.rows or ())
        ranges, first = [], 0
        for count in counts:
            inside = intersect(picked, ((first, first + count),))
            ranges.append(tuple((start - first, stop - first) for start, stop in inside))
            first += count
        return ranges
