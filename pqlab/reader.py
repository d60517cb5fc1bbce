"""The shell that joins the parts, for one file: `open`, `ParquetFile`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, overload

from pqlab.described_file import DescribedFile
from pqlab.errors import placed
from pqlab.file_selection import FileSelection
from pqlab.io.cache import Cache
from pqlab.io.footer import load_metadata
from pqlab.io.source import open_source
from pqlab.limits import DEFAULT_LIMITS, Limits
from pqlab.plan.picks import to_ordinal
from pqlab.plan.policy import IOPolicy
from pqlab.plan.selection import Selection
from pqlab.stream.options import DecodeOptions, ReadOptions

if TYPE_CHECKING:
    import polars as pl

    from pqlab.filtered.frames import FilteredFrames
    from pqlab.filtered.selection import FilteredSelection
    from pqlab.page import Page
    from pqlab.stream.iterator import Frames
    from pqlab.stream.job import Job
    from pqlab.trial import BestSettings, Trial
    from pqlab.widgets import Inspector

_TRIED_PAGES = (1 << 16, 1 << 20)  # bytes of a page, uncompressed


def open(  # noqa: A001  # as `pqlab.open`, which takes folders, too
    source: Any,
    *,
    storage_options: Mapping[str, Any] | None = None,
    filesystem: Any = None,
    io: IOPolicy | None = None,
    cache: Cache = "memory",
    limits: Limits | None = None,
    verify_checksums: bool = False,
) -> ParquetFile:
    """Open a Parquet file: only its footer is read.

    `source`: a path, a URL, `os.PathLike`, bytes, or a binary file object with read and seek.
    `storage_options` are for URLs; with a `filesystem` of fsspec, `source` is a path in it. `io`:
    how it is asked for bytes, if not as its kind and what is measured suggest. `cache`: "memory"
    shares parsed footers within the process; "disk", or a folder, keeps them for other processes,
    too, `DiskCache` also what is fetched of remote files; None does neither. `verify_checksums`:
    compare the CRC of every page that has one.

    Raises `CorruptError` for what is not Parquet, `EncryptedError`, `LimitError`, `SourceError`.
    """
    opened = open_source(
        source, storage_options=storage_options, filesystem=filesystem, policy=io, cache=cache
    )
    try:
        checked = limits or DEFAULT_LIMITS
        metadata = load_metadata(opened, cache=cache, limits=checked)
        return ParquetFile(opened, metadata, limits=checked, verify_checksums=verify_checksums)
    except BaseException:
        opened.close()
        raise


class ParquetFile(DescribedFile):
    """An open Parquet file; made by `pqlab.open`. Safe to use from several threads at once.

    What it is made of is in `DescribedFile`; here it is read, and looked into by reading. Closes
    itself when it is no longer used, or by `close`, or as a context manager.
    """

    def check(self, *, quick: bool = False) -> pl.DataFrame:
        """What in the file contradicts itself or the specification: a row per fault, none if sound.

        `quick`: the footer and the page index are held against each other; else every page is read
        and decoded, too, and checksums, counts, bounds and sort order are compared with values.
        """
        from pqlab.check import check

        return check(self, quick=quick)

    def findings(self, *, filters: Iterable[str] | None = None, read: bool = True) -> pl.DataFrame:
        """What the file costs beyond need: a row per finding, each with its number.

        Facts, not verdicts: `evidence` beyond `limit`, in `unit`, what it costs, and the writer's
        `setting` that would change it. `filters`: paths of the columns that rows are filtered by,
        or looked up; None: dates and times, and text that is not in dictionaries. `read`: one row
        group is read, too, for what codecs take here and for text that is dates or numbers.
        """
        from pqlab.findings import file_findings

        return file_findings(self, filters=filters, read=read)

    def rewrite_trial(
        self, selection: Any = None, *, seconds: float = 2, **writer_settings: Any
    ) -> Trial:
        """Write a slice under other settings of pyarrow's writer, into memory, and read both.

        `selection`: of this file, or columns as of `select`; None: all. The result has the sizes,
        how long reading takes (`pqlab.compare`, for so many `seconds`), and the settings as code.
        """
        from pqlab.trial import rewrite_trial

        return rewrite_trial(self._selected(selection), writer_settings, seconds=seconds)

    def best_settings(
        self,
        selection: Any = None,
        *,
        codecs: Sequence[str] = ("NONE", "SNAPPY", "ZSTD"),
        page_bytes: Sequence[int] = _TRIED_PAGES,
        bandwidth_mb_per_s: float = 500,
    ) -> BestSettings:
        """Try writer settings column by column, and say what each would gain.

        Dictionary, encodings, `codecs` and `page_bytes` are tried with each other; the cheapest is
        the one that takes least to fetch, at that bandwidth, and to read. `selection` as of
        `rewrite_trial`; it should be a few hundred thousand rows: each candidate is written once
        and read three times.
        """
        from pqlab.trial import best_settings

        return best_settings(
            self._selected(selection),
            codecs=codecs,
            page_bytes=page_bytes,
            bandwidth_mb_per_s=bandwidth_mb_per_s,
        )

    def _selected(self, selection: Any) -> FileSelection:
        return selection if isinstance(selection, FileSelection) else self.select(selection)

    def diff(self, other: ParquetFile, *, values: bool = False, max_rows: int = 10) -> pl.DataFrame:
        """What another file has differently: a row per difference, none if there is none.

        Schema, metadata, layout, encodings, sizes and statistics, by the footers alone. `values`:
        both are read, too, and each column's first `max_rows` differing rows are shown, with how
        many there are. Rows are compared by position.
        """
        from pqlab.diff import diff_files

        return diff_files(self, other, values=values, max_rows=max_rows)

    def page(self, row_group: int, column: Any, page: int) -> Page:
        """A data page, or the dictionary page (-1), to be taken apart.

        `.header`, `.bytes`, `.levels`, `.runs`, `.miniblocks`, `.values`: what a writer's author
        needs to see. Raises `SelectionError` for a page that the chunk does not have.
        """
        from pqlab.page import Page

        key = self._row_group(row_group), self._leaf(column)
        with placed(file=self.name):
            return Page(self, *key, to_ordinal(page, "a page"))

    def find(self, column: Any, value: Any) -> pl.DataFrame:
        """The row groups and pages that can hold a value of a leaf column, as `explain` has them.

        By statistics, page indexes, bloom filters and dictionaries; no page is read. `value`: None
        looks for nulls. Raises `SelectionError` for what is not one leaf.
        """
        from pqlab.filtered.find import find

        return find(self, self._leaf(column), value)

    @overload
    def select(
        self,
        columns: Any = None,
        *,
        row_groups: Any = None,
        pages: Any = None,
        rows: Any = None,
        where: None = None,
        prune: bool = True,
    ) -> FileSelection: ...

    @overload
    def select(
        self,
        columns: Any = None,
        *,
        row_groups: Any = None,
        pages: Any = None,
        rows: Any = None,
        where: str | pl.Expr,
        prune: bool = True,
    ) -> FilteredSelection: ...

    def select(
        self,
        columns: Any = None,
        *,
        row_groups: Any = None,
        pages: Any = None,
        rows: Any = None,
        where: str | pl.Expr | None = None,
        prune: bool = True,
    ) -> FileSelection | FilteredSelection:
        """A part of the file; what is given intersects, and results come in file order.

        `columns`: names or dotted paths of leaves or of groups, tuples of path parts (where a name
        has a dot), leaf ordinals, or regular expressions `"^...$"`. `row_groups`: ordinals or
        slices. `pages`: `{(row_group, column): ordinals}`, or `{column: ordinals}` for every
        selected row group; the rows of these pages are then read of all columns. `rows`: half-open
        `(start, stop)` counted over the whole file, a slice, or a list of these. `where`: what the
        rows must be like, as text (`"fare_amount > 50 and payment_type in (1, 2)"`, parsed as
        `pqlab.predicate.parse` says) or as a polars expression. Row groups that trusted statistics
        rule out are not read, unless `prune` is False; the others are filtered by polars.

        Raises `SelectionError` for what the file does not have or what is not unique, and at the
        place where `where` has no meaning.
        """
        selection = Selection.of(columns, row_groups=row_groups, pages=pages, rows=rows)
        asked = FileSelection(self, selection, self._narrow(selection))
        if where is None:
            return asked
        from pqlab.filtered.selection import FilteredSelection
        from pqlab.predicate.where import of

        return FilteredSelection.of(asked, of(where), prune=prune)

    def read(
        self,
        columns: Any = None,
        *,
        row_groups: Any = None,
        pages: Any = None,
        rows: Any = None,
        where: str | pl.Expr | None = None,
        prune: bool = True,
        **options: Unpack[ReadOptions],
    ) -> pl.DataFrame:
        """`select(...).read(...)` in one call: it takes the arguments of both."""
        selection = self.select(
            columns, row_groups=row_groups, pages=pages, rows=rows, where=where, prune=prune
        )
        return selection.read(**options)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All rows as a stream of Arrow batches, as of `FileSelection`."""
        return self.select().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema of all columns, as of `FileSelection`."""
        return self.select().__arrow_c_schema__()

    def submit(
        self,
        columns: Any = None,
        *,
        row_groups: Any = None,
        pages: Any = None,
        rows: Any = None,
        **options: Unpack[DecodeOptions],
    ) -> Job[pl.DataFrame]:
        """`select(...).submit(...)` in one call: it takes the arguments of both."""
        selection = self.select(columns, row_groups=row_groups, pages=pages, rows=rows)
        return selection.submit(**options)

    def iter_row_groups(
        self,
        columns: Any = None,
        *,
        row_groups: Any = None,
        pages: Any = None,
        rows: Any = None,
        where: str | pl.Expr | None = None,
        prune: bool = True,
        **options: Any,
    ) -> Frames[Any] | FilteredFrames[Any]:
        """`select(...).iter_row_groups(...)` in one call: it takes the arguments of both."""
        selection = self.select(
            columns, row_groups=row_groups, pages=pages, rows=rows, where=where, prune=prune
        )
        return selection.iter_row_groups(**options)

    def iter_batches(
        self, rows: int, columns: Any = None, *, row_groups: Any = None, **options: Any
    ) -> Frames[Any]:
        """`select(columns, row_groups=...).iter_batches(rows, ...)` in one call."""
        return self.select(columns, row_groups=row_groups).iter_batches(rows, **options)

    def head(self, n: int = 10, **options: Unpack[ReadOptions]) -> pl.DataFrame:
        """The first `n` rows; only the pages that cover them are read. `options` as of `read`."""
        return self.select(rows=slice(0, n)).read(**options)

    def inspect(self) -> Inspector:
        """The file's inspector in a notebook. Needs `pqlab[lab]`."""
        import pqlab

        return pqlab.inspect(self)
