"""What each command does with its options: open, look or read, and write."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

import pqlab
from pqlab import arguments, export, tables, text
from pqlab.dataset import Dataset
from pqlab.errors import SelectionError
from pqlab.file_selection import FileSelection
from pqlab.io import cache as disk_cache, urls
from pqlab.overview.view import schema_frame
from pqlab.reader import ParquetFile
from pqlab.versions import show_versions, versions as find_versions

if TYPE_CHECKING:
    from rich.console import Console

Source: TypeAlias = ParquetFile | Dataset

TERMINAL_ROWS = 100
_PIPE_COLUMNS = 120

# What people are shown of a frame, in this order; --wide and --json give everything.
_SHOWN = {
    "schema": (
        *("name", "repetition_type", "physical_type", "logical_type", "max_definition_level"),
        *("max_repetition_level", "leaf"),
    ),
    "row-groups": (
        *("file", "row_group", "num_rows", "first_row", "chunks_compressed_size"),
        *("chunks_uncompressed_size", "compression_ratio", "num_sorting_columns"),
    ),
    "columns": (
        *("file", "row_group", "column", "codec", "data_page_encodings", "num_values"),
        *("null_count", "total_compressed_size", "compression_ratio", "min_text", "max_text"),
    ),
    "pages": (
        *("file", "row_group", "column", "page", "encoding", "num_values", "num_nulls"),
        *("num_rows", "first_row", "offset", "total_bytes", "compression_ratio"),
        *("min_text", "max_text"),
    ),
    "check": (
        *("file", "rule", "row_group", "column", "page", "offset", "message", "stated", "found"),
        "section",
    ),
    "findings": (
        *("file", "finding", "column", "num_chunks", "evidence", "limit", "unit", "cost_bytes"),
        *("cost_ns", "setting"),
    ),
    "diff": (
        *("part", "file", "row_group", "column", "row", "property", "left", "right", "change"),
        "ratio",
    ),
    "layout": ("offset", "size_bytes", "kind", "row_group", "column", "page", "note"),
}
_TRACE = (
    *("column", "pages", "values", "fetched_bytes", "decoded_bytes", "total_ns", "fetch_ns"),
    *("wait_ns", "decompress_ns", "decode_ns", "assemble_ns", "mb_per_s"),
)


class UsageError(Exception):
    """The command line asks for what does not go together."""


def info(options: argparse.Namespace) -> None:
    """A file at a glance: where its bytes are, its schema, its metadata."""
    source = _open(options)
    if options.json:
        values: dict[str, Any] = {"info": dataclasses.asdict(source.info)}
        if isinstance(source, Dataset):
            values["skipped"] = [{"file": file, "reason": why} for file, why in source.skipped]
        _write_document(options, values)
    else:
        _console().print(source)


def schema(options: argparse.Namespace) -> None:
    """The schema tree with types and levels."""
    frame = schema_frame(_open(options).schema)
    if not options.json:
        indents = pl.lit("  ").repeat_by("depth").list.join("")
        frame = frame.with_columns((indents + pl.col("name")).alias("name"))
    _show(options, frame)


def row_groups(options: argparse.Namespace) -> None:
    """A row per row group."""
    source = _open(options)
    _show(options, _chosen(options, source, source.row_groups))


def columns(options: argparse.Namespace) -> None:
    """A row per column chunk."""
    source = _open(options)
    _show(options, _chosen(options, source, source.column_chunks))


def pages(options: argparse.Namespace) -> None:
    """A row per page."""
    looks = {"headers": options.headers, "verify_checksums": options.verify_checksums}
    _show(options, _open(options).pages(**options.selection, **looks))


def dictionary(options: argparse.Namespace) -> None:
    """The dictionary of a column chunk."""
    picked = options.selection
    columns, row_groups = picked.get("columns", []), picked.get("row_groups", [0])
    if len(columns) != 1 or len(row_groups) != 1 or not isinstance(row_groups[0], int):
        raise UsageError("dictionary takes one column and one row group: -c NAME [-g ROW_GROUP]")
    values = _open_file(options).dictionary(row_groups[0], columns[0])
    _show(options, values.to_frame("value").with_row_index("index"))


def layout(options: argparse.Namespace) -> None:
    """What every byte of the file is."""
    _show(options, _open_file(options).layout(pages=options.with_pages))


def check(options: argparse.Namespace) -> int:
    """What contradicts itself or the specification; ends with 1 where something does."""
    if options.source == ["-"]:
        found = _open(options).check(quick=options.quick)
    else:
        found = Dataset(options.source).check(quick=options.quick)
    _show(options, found)
    return int(not found["is_note"].all())


def findings(options: argparse.Namespace) -> None:
    """What files cost beyond need, each with its number and what would change it."""
    _show(options, _open(options).findings(filters=options.filter))


def diff(options: argparse.Namespace) -> int:
    """What two files or datasets have differently; ends with 1 where there is a difference."""
    options.source = [options.left, options.right]
    left, right = (pqlab.open(source) for source in options.source)
    if isinstance(left, ParquetFile) and isinstance(right, ParquetFile):
        found = left.diff(right, values=options.values)
    else:
        one, other = (Dataset(source) for source in options.source)  # one may be a single file
        found = one.diff(other, values=options.values)
    _show(options, found)
    return int(not found.is_empty())


def read(options: argparse.Namespace) -> None:
    """Read a slice."""
    form = _form(options)
    source = _open(options)
    if options.explain and options.where is None:
        raise UsageError("--explain says what -w leaves: give -w")
    limit, num_rows = _limit(options, form), None
    if options.where is not None:
        selection: Any = source.select(**options.selection, where=options.where)
    else:
        selection = source.select(**options.selection)
        if limit is not None:
            parts = list(_parts(source, selection))
            num_rows = sum(part.plan(walk=True).num_rows for _, part in parts)
            rows = _first_rows(parts, limit)
            selection = source.select(options.selection.get("columns"), rows=rows)
    if options.explain:
        explained = selection.explain()
        print(*(explained if isinstance(explained, list) else [explained]), sep="\n\n")
        return
    if options.plan:
        for _, part in _parts(source, selection):
            print(part.plan(engine=options.engine))
        return
    trace = pqlab.Trace() if options.trace else None
    given = {name: getattr(options, name) for name in ("workers", "int96_unit", "invalid_utf8")}
    frame = selection.read(engine=options.engine, trace=trace, **given)
    if options.where is not None and limit is not None:
        num_rows, frame = len(frame), frame.head(limit)
    if options.json:
        _write_document(options, {}, frame)
    elif form == "table":
        _print_table(frame, len(frame) if num_rows is None else num_rows)
    elif options.output:
        export.write_path(frame, form, Path(options.output))
    else:
        export.write(frame, form, sys.stdout.buffer)
    if trace is not None:
        summary = _rounded(trace.summary().select(_TRACE))
        sys.stderr.writelines(f"{line}\n" for line in tables.plain_lines(summary))


def _parts(source: Source, selection: Any) -> Iterator[tuple[int, FileSelection]]:
    """What is selected of each file, with the number of rows in the files before it."""
    if isinstance(source, ParquetFile):
        yield 0, selection
        return
    counts = [source.file(number).metadata.num_rows for number in range(len(source))]
    for number, part in selection.parts:
        yield sum(counts[:number]), part


def _first_rows(parts: list[tuple[int, FileSelection]], count: int) -> list[tuple[int, int]]:
    """The first rows of what is selected, as ranges over the whole source."""
    ranges = []
    for before, part in parts:
        for group in part.plan(walk=True).row_groups if count else ():
            first = before + int(part.file.metadata.row_groups.first_row[group.row_group])
            for start, stop in group.rows:
                taken = min(count, stop - start)
                ranges.append((first + start, first + start + taken))
                count -= taken
    return ranges


def _form(options: argparse.Namespace) -> str:
    """What `read` writes: as asked, else by the suffix of the output, else by who reads it."""
    form = options.format
    if options.output:
        form = form or export.form_of(Path(options.output))
        if form is None:
            raise UsageError(f"no format known by the name {options.output}: give --format")
        return form
    form = form or ("table" if sys.stdout.isatty() else "csv")
    if form in export.BINARY_FORMS and sys.stdout.isatty():
        raise UsageError(f"{form} is binary: give -o FILE, or pipe it to another program")
    return form


def cache(options: argparse.Namespace) -> None:
    """The footers that are kept on disk."""
    if options.action == "clear":
        values: dict[str, Any] = {"freed_bytes": disk_cache.clear(options.folder)}
    else:
        values = disk_cache.info(options.folder)
    if options.json:
        _write_document(options, values)
    else:
        for name, value in values.items():
            print(f"{name:<12} {tables.cell(value)}")


def versions(options: argparse.Namespace) -> None:
    """What runs here."""
    if options.json:
        _write_document(options, find_versions())
    else:
        show_versions()


# ------------------------------------------------------------------------------ input and output


def _open(options: argparse.Namespace) -> Source:
    names: list[str] = options.source
    if "-" not in names:
        return pqlab.open(names[0]) if len(names) == 1 else pqlab.open(names)
    if len(names) > 1:
        raise UsageError("- is standard input, and goes with no other source")
    if sys.stdin.isatty():
        raise UsageError("- is standard input, and that is a terminal: pipe a file to it")
    return pqlab.open(sys.stdin.buffer.read())


def _open_file(options: argparse.Namespace) -> ParquetFile:
    source = _open(options)
    if not isinstance(source, ParquetFile):
        raise UsageError(f"{options.command} takes one file, and this is a dataset")
    return source


def selection(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `select` that the options spell out."""
    texts = {
        name: getattr(options, name, None) for name in ("columns", "row_groups", "pages", "rows")
    }
    try:
        return arguments.selection(**texts)
    except SelectionError as error:
        raise UsageError(str(error)) from None


def _chosen(options: argparse.Namespace, source: Source, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame's rows of the chosen row groups and columns."""
    if not options.selection:
        return frame
    frames = []
    for _, part in _parts(source, source.select(**options.selection)):
        keep = pl.col("row_group").is_in(list(part.narrowed.rows))
        if "leaf" in frame.columns:
            keep &= pl.col("leaf").is_in(part.narrowed.leaves)
        if "file" in frame.columns:
            keep &= pl.col("file") == part.file.name
        frames.append(frame.filter(keep))
    return pl.concat([frame.clear(), *frames])


def _show(options: argparse.Namespace, frame: pl.DataFrame) -> None:
    """An inspector's frame, for a program, a terminal or a pipe."""
    limit = _limit(options, "table")
    part = frame if limit is None else frame.head(limit)
    if options.json:
        _write_document(options, {}, part)
    else:
        _print_table(_for_people(options, part), len(frame))


def _limit(options: argparse.Namespace, form: str) -> int | None:
    """How many rows are wanted at most; None for all."""
    shows_table = form == "table" and sys.stdout.isatty() and not options.json
    return TERMINAL_ROWS if options.limit is None and shows_table else options.limit


def _print_table(frame: pl.DataFrame, num_rows: int) -> None:
    """The frame, the first of so many rows, to a terminal or a pipe."""
    if not sys.stdout.isatty():
        sys.stdout.writelines(f"{line}\n" for line in tables.plain_lines(frame))
        return
    console = _console()
    part = tables.fitting(frame, console.width)
    console.print(tables.rich_table(part))
    if len(part) < num_rows:
        print(f"{len(part):,} of {text.plural(num_rows, 'row')}; --limit shows more")
    if part.width < frame.width:
        print(f"{part.width:,} of {text.plural(frame.width, 'column')}; a pipe gets all")


def _for_people(options: argparse.Namespace, frame: pl.DataFrame) -> pl.DataFrame:
    """An inspector's frame with the columns that matter most, ratios rounded, lists as text."""
    shown = [name for name in _SHOWN.get(options.command, ()) if name in frame.columns]
    if shown and not options.wide:
        frame = frame.select(shown)
    return _rounded(frame).with_columns(pl.col(pl.List(pl.String)).list.join(", "))


def _rounded(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(pl.Float64).round(2))


def _write_document(
    options: argparse.Namespace, values: dict[str, Any], rows: pl.DataFrame | None = None
) -> None:
    fields: dict[str, Any] = {}
    if getattr(options, "source", None):
        fields["source"] = [urls.shown(source) for source in options.source]
    sys.stdout.writelines(tables.json_document(options.command, {**fields, **values}, rows))


def _console() -> Console:
    from rich.console import Console

    width = None if sys.stdout.isatty() else _PIPE_COLUMNS
    return Console(width=width, highlight=False, markup=False, emoji=False)
