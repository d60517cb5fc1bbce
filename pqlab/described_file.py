"""An open file, and what it is made of: as values and as frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from pqlab import text
from pqlab.errors import placed
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.schema import SchemaNode
from pqlab.io.pages import ChunkKey, PageStore
from pqlab.io.source import Source
from pqlab.limits import Limits
from pqlab.plan.columns import find_leaf
from pqlab.plan.picks import ordinals, to_ordinal
from pqlab.plan.policy import IOPolicy
from pqlab.plan.selection import Narrowed, Selection, find_row_group, narrow

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    from rich.console import RenderableType

    from pqlab.footer.bloom_filter import BloomFilter
    from pqlab.overview.view import View


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


class DescribedFile:
    """What a `ParquetFile` shows of itself; its metadata is parsed once and never changes.

    Frames are polars; their columns are documented in `pqlab.footer.frame_columns`.
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

    def bloom_filter(self, row_group: int, column: Any) -> BloomFilter:
        """The bloom filter of a chunk: `.might_contain(value)`.

        Raises `SelectionError` for a chunk without one, `CorruptError` for one that is none, and
        `UnsupportedError` for one of an unknown kind.
        """
        from pqlab.io.bloom_filters import read_filter

        key = self._row_group(row_group), self._leaf(column)
        return read_filter(self.source, self.metadata, key, self.limits)

    def page_header(self, row_group: int, column: Any, page: int) -> Any:
        """The raw thrift struct `PageHeader` of a data page, or of the dictionary page (-1).

        Raises `SelectionError` for a page that the chunk does not have.
        """
        key = self._row_group(row_group), self._leaf(column)
        with placed(file=self.name):
            return self.page_store.header(key, to_ordinal(page, "a page"))

    def overview(self) -> View:
        """The file at a glance, as plain values: where its bytes are, its schema, what is odd.

        Made of the footer alone, and bounded whatever the number of columns. It is what a notebook
        shows for the file, and rich's `print`.
        """
        from pqlab.overview.view import file_view

        name, size_bytes = self.name, self.source.size
        return self.metadata.kept(
            ("overview", name, size_bytes), lambda: file_view(self.metadata, name, size_bytes)
        )

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
