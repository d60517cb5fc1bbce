"""The shell that joins the parts, for one file: `open`, `ParquetFile`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

from pqlab import text
from pqlab.errors import placed
from pqlab.file_selection import FileSelection
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.schema import SchemaNode
from pqlab.io.cache import Cache
from pqlab.io.footer import load_metadata
from pqlab.io.pages import ChunkKey, PageStore
from pqlab.io.source import Source, open_source
from pqlab.limits import DEFAULT_LIMITS, Limits
from pqlab.plan.columns import find_leaf
from pqlab.plan.picks import ordinals, to_ordinal
from pqlab.plan.policy import IOPolicy
from pqlab.plan.selection import Narrowed, Selection, find_row_group, narrow
from pqlab.stream.options import DecodeOptions, ReadOptions

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    from rich.console import RenderableType

    from pqlab.filtered.frames import FilteredFrames
    from pqlab.filtered.selection import FilteredSelection
    from pqlab.footer.bloom_filter import BloomFilter
    from pqlab.overview.view import View
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


@dataclass(frozen=True, slots=True, repr=False)
class FileInfo:
    """A file in a few lines. Sizes in bytes; `num_columns` counts leaf columns.

    `num_rows` sums the row groups. `warnings`: what in the footer is wrong and was passed over.
    """

    file: str
    num_rows: int
    num_row_groups: int
    num_columns: int
    created_by: str | None
    format_version: int
    file_size_bytes: int
    footer_bytes: int
    encrypted: bool
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        lines = [type(self).__name__]
        for field in fields(self):
            value = getattr(self, field.name)
            values = value if isinstance(value, tuple) else [value]
            lines += [f"  {field.name:<16} {_shown(shown)}" for shown in values]
        return "\n".join(lines)


def _row_count_warning(metadata: FileMetaData) -> Iterator[str]:
    if metadata.stated_num_rows != metadata.num_rows:
        stated = f"{metadata.stated_num_rows:,}, but the row groups have {metadata.num_rows:,}"
        yield f"FileMetaData.num_rows is {stated}"


def _shown(value: Any) -> str:
    if value is None:
        return text.ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else text.visible(value)


class ParquetFile:
    """An open Parquet file; made by `pqlab.open`. Safe to use from several threads at once.

    Its metadata is parsed once and never changes. Frames are polars; their columns are documented
    in `pqlab.footer.frame_columns`. Closes itself when it is no longer used, or by `close`, or as a
    context manager.
    """

    def __init__(
        self,
        source: Source,
        metadata: FileMetaData,
        *,
        limits: Limits,
        verify_checksums: bool,
    ) -> None:
        self.source, self.metadata = source, metadata
        self.limits, self.verify_checksums = limits, bool(verify_checksums)
        self.page_store = PageStore(source, metadata, limits)

    @property
    def io(self) -> IOPolicy:
        """How the source is asked for bytes."""
        return self.source.policy

    @property
    def name(self) -> str:
        """The path, or what stands for it, as `<bytes>`."""
        return self.source.name

    @property
    def info(self) -> FileInfo:
        """The file in a few lines."""
        from pqlab.footer.types import type_warnings

        metadata = self.metadata
        return FileInfo(
            file=self.name,
            num_rows=metadata.num_rows,
            num_row_groups=metadata.num_row_groups,
            num_columns=metadata.num_leaves,
            created_by=metadata.created_by,
            format_version=metadata.format_version,
            file_size_bytes=self.source.size,
            footer_bytes=len(metadata.footer),
            encrypted=metadata.encryption_algorithm is not None
            or bool((metadata.chunks.present & Present.CRYPTO_METADATA).any()),
            warnings=(
                *_row_count_warning(metadata),
                *metadata.warnings,
                *type_warnings(metadata),
                *self.page_store.warnings,
            ),
        )

    @property
    def schema(self) -> SchemaNode:
        """The root of the schema tree."""
        return self.metadata.schema

    @property
    def leaves(self) -> pl.DataFrame:
        """A row per leaf column: its types, levels, and sums over the row groups."""
        from pqlab.footer.frames import leaves_frame

        return leaves_frame(self.metadata)

    @property
    def row_groups(self) -> pl.DataFrame:
        """A row per row group."""
        from pqlab.footer.frames import row_groups_frame

        return row_groups_frame(self.metadata)

    @property
    def column_chunks(self) -> pl.DataFrame:
        """A row per column chunk, in order (row group, leaf)."""
        return self._column_chunks.clone()

    @cached_property
    def _column_chunks(self) -> pl.DataFrame:
        from pqlab.footer.chunk_frames import column_chunks_frame

        return column_chunks_frame(self.metadata)

    def pages(
        self,
        row_groups: Any = None,
        columns: Any = None,
        *,
        headers: bool = False,
        verify_checksums: bool = False,
    ) -> pl.DataFrame:
        """A row per page of the selected chunks, in order (row group, leaf, page).

        The dictionary page is -1. Pages come from the page index where a chunk has one, else from a
        walk over its page headers; what the index does not say is null, unless `headers` has the
        page headers read, too. `verify_checksums`: the pages themselves are read, and `crc_state`
        says of each whether its CRC is right. Arguments as of `select`.
        """
        from pqlab.footer.frames import pages_frame

        keys = self._chunks(row_groups, columns)
        if verify_checksums:
            self.page_store.verify_checksums(keys)
        return pages_frame(self.metadata, self.page_store.table(keys, headers=headers))

    def statistics(self, column: Any, *, pages: bool = False) -> pl.DataFrame:
        """One leaf column's bounds, typed as its values: a row per row group.

        `pages`: with a row per page, too. Raises `SelectionError` for what is not one leaf.
        """
        from pqlab.footer.frames import statistics_frame

        leaf = self._leaf(column)
        table = self.page_store.table(self._chunks(None, leaf)) if pages else None
        return statistics_frame(self.metadata, leaf, table)

    @property
    def key_value_metadata(self) -> pl.DataFrame:
        """A row per key and value, in file order; a key may be there twice."""
        from pqlab.footer.key_values import key_values

        return key_values(self.metadata)

    def pandas_metadata(self) -> dict[str, Any] | None:
        """What pandas has noted of index and columns, or None. Raises `CorruptError`."""
        from pqlab.footer.key_values import pandas_metadata

        with placed(file=self.name):
            return pandas_metadata(self.metadata)

    def arrow_schema(self) -> pa.Schema | None:
        """The Arrow schema that the writer has kept, or None. Raises `CorruptError`."""
        from pqlab.footer.key_values import arrow_schema

        with placed(file=self.name):
            return arrow_schema(self.metadata)

    def layout(self, *, pages: bool = False) -> pl.DataFrame:
        """Every byte of the file by offset: a row per span, gaps and overlaps included.

        Chunks whose pages are known by now are shown page by page; `pages`: all of them.
        """
        from pqlab.footer.layout import layout_frame

        if pages:
            self.page_store.table(self._chunks(None, None), bounds=False)
        return layout_frame(self.metadata, self.source.size, self.page_store.whole_tables())

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

    def dictionary(self, row_group: int, column: Any) -> pl.Series:
        """The entries of a chunk's dictionary page, typed as the column's values.

        Raises `SelectionError` for a chunk without one, and what `FileSelection.read` raises.
        """
        from pqlab.assemble.arrow import to_frame
        from pqlab.cpu.engine import read_dictionary

        key = self._row_group(row_group), self._leaf(column)
        data, offset = self.page_store.dictionary(key)
        with placed(file=self.name, row_group=key[0], page=-1):
            decoded = read_dictionary(self.metadata, *key, data, offset, limits=self.limits)
            return to_frame([decoded]).to_series()

    def find(self, column: Any, value: Any) -> pl.DataFrame:
        """The row groups and pages that can hold a value of a leaf column, as `explain` has them.

        By statistics, page indexes, bloom filters and dictionaries; no page is read. `value`: None
        looks for nulls. Raises `SelectionError` for what is not one leaf.
        """
        from pqlab.filtered.find import find

        return find(self, self._leaf(column), value)

    def bloom_filter(self, row_group: int, column: Any) -> BloomFilter:
        """The bloom filter of a chunk: `.might_contain(value)`.

        Raises `SelectionError` for a chunk without one, `CorruptError` for one that is none, and
        `UnsupportedError` for one of an unknown kind.
        """
        from pqlab.io.bloom_filters import read_filter

        key = self._row_group(row_group), self._leaf(column)
        return read_filter(self.source, self.metadata, key, self.limits)

    def page(self, row_group: int, column: Any, page: int) -> Page:
        """A data page, or the dictionary page (-1), to be taken apart.

        `.header`, `.bytes`, `.levels`, `.runs`, `.miniblocks`, `.values`: what a writer's author
        needs to see. Raises `SelectionError` for a page that the chunk does not have.
        """
        from pqlab.page import Page

        key = self._row_group(row_group), self._leaf(column)
        with placed(file=self.name):
            return Page(self, *key, to_ordinal(page, "a page"))

    def page_header(self, row_group: int, column: Any, page: int) -> Any:
        """The raw thrift struct `PageHeader` of a data page, or of the dictionary page (-1).

        Raises `SelectionError` for a page that the chunk does not have.
        """
        key = self._row_group(row_group), self._leaf(column)
        with placed(file=self.name):
            return self.page_store.header(key, to_ordinal(page, "a page"))

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

    def overview(self) -> View:
        """The file at a glance, as plain values: where its bytes are, its schema, what is odd.

        Made of the footer alone, and bounded whatever the number of columns. It is what a notebook
        shows for the file, and rich's `print`.
        """
        from pqlab.overview.view import file_view

        return file_view(self.metadata, self.name, self.source.size)

    def inspect(self) -> Inspector:
        """The file's inspector in a notebook. Needs `pqlab[lab]`."""
        import pqlab

        return pqlab.inspect(self)

    def close(self) -> None:
        """Close the file; what was read of it stays usable."""
        self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        metadata = self.metadata
        shape = ", ".join(
            (
                text.plural(metadata.num_rows, "row"),
                text.plural(metadata.num_row_groups, "row group"),
                text.plural(metadata.num_leaves, "column"),
                text.size(self.source.size),
            )
        )
        return f"<pqlab.ParquetFile {text.visible(self.name)}: {shape}>"

    def _repr_html_(self) -> str:
        from pqlab.overview import html

        return html.render(self.overview())

    def __rich__(self) -> RenderableType:
        from pqlab.overview import terminal

        return terminal.render(self.overview())

    def _chunks(self, row_groups: Any, columns: Any) -> list[ChunkKey]:
        """The (row group, leaf) of all selected chunks, empty row groups included."""
        selection = Selection.of(columns, row_groups=row_groups)
        leaves = self._narrow(selection).leaves
        picked = selection.row_groups
        count = self.metadata.num_row_groups
        groups = range(count) if picked is None else ordinals(picked, count, "row group")
        return [(row_group, leaf) for row_group in groups for leaf in leaves]

    def _narrow(self, selection: Selection) -> Narrowed:
        return narrow(selection, self.metadata, self.name)

    def _leaf(self, column: Any) -> int:
        with placed(file=self.name):
            return find_leaf(column, self.metadata)

    def _row_group(self, row_group: Any) -> int:
        with placed(file=self.name):
            return find_row_group(row_group, self.metadata)
