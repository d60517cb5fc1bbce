"""`scan`: a file or a dataset as a polars LazyFrame that reads no more than its query needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pqlab.dataset import Dataset, open as open_source
from pqlab.predicate.predicate import column_expression
from pqlab.reader import ParquetFile
from pqlab.stream.options import DecodeOptions

if TYPE_CHECKING:
    import polars as pl


def scan(source: Any, *, prune: bool = True, **options: Any) -> pl.LazyFrame:
    """A polars LazyFrame of all rows of a source, which is read when the query is collected.

    `source`: as of `open`, or what it gives. Columns, predicates and row limits of the query are
    pushed into the read: as of `select(columns, rows=..., where=..., prune=...)`. `options`: of
    `FileSelection.read` those that say how to decode (`engine`, `workers`, `int96_unit`,
    `invalid_utf8`, `strings`, `trace`); the others are of `open`.

    Raises as `open`; collecting raises as `read`.
    """
    from polars.io.plugins import register_io_source

    decode: Any = {name: options.pop(name) for name in _DECODE if name in options}
    is_open = isinstance(source, (ParquetFile, Dataset))
    if is_open and options:
        raise TypeError(f"{', '.join(options)}: these are options of open, and it is open already")
    opened = source if is_open else open_source(source, **options)

    def frames(
        columns: list[str] | None, predicate: pl.Expr | None, num_rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        asked: dict[str, Any] = {
            "columns": None if columns is None else [(name,) for name in columns],
            "rows": None if num_rows is None else slice(0, num_rows),
        }
        if predicate is not None:
            asked |= {"where": predicate, "prune": prune}
        for part in _parts(opened):
            frame = opened.read(**asked, **part, **decode)
            yield (
                frame
                if columns is None
                else frame.select(column_expression((name,)) for name in columns)
            )

    schema = opened.read(rows=(0, 0), **decode).schema
    return register_io_source(frames, schema=schema, is_pure=True)


def _parts(opened: ParquetFile | Dataset) -> Iterator[dict[str, slice]]:
    """Row groups, or files, from a single one to ever more: a query may have enough early."""
    is_file = isinstance(opened, ParquetFile)
    count = opened.metadata.num_row_groups if isinstance(opened, ParquetFile) else len(opened)
    start, size = 0, 1
    while start < count or start == 0:
        yield {"row_groups" if is_file else "files": slice(start, start + size)}
        start, size = start + size, 2 * size


_DECODE = tuple(DecodeOptions.__annotations__)
