"""The command line, `pqlab COMMAND SOURCE ...`: the inspector's frames and reads, in a shell.

Exit codes: 0 done; 1 an error of pqlab's or of the system, told on standard error; 2 the command
line is wrong; 130 interrupted. A closed pipe ends the output quietly.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import pqlab
from pqlab import arguments, export, tables, text, versions
from pqlab.errors import PqlabError, SelectionError
from pqlab.io import cache
from pqlab.overview.view import schema_frame

if TYPE_CHECKING:
    from rich.console import Console

_TERMINAL_ROWS = 100
_PIPE_COLUMNS = 120

_EPILOG = """\
SOURCE is a file, a folder, a glob, several of these, or - for standard input.

selections:
  -c fare_amount,address.city   columns by path; "#3" by ordinal, "^tip.*$" by pattern
  -g 0,2,5:8                    row groups; ranges are half open, -1 is the last
  -p fare_amount:0,3            pages of a column; 2/fare_amount:4:8 in row group 2 only
  -r 1000:2000                  rows, counted over the whole file

exit codes: 0 done; 1 error, told on standard error; 2 wrong usage; 130 interrupted
"""

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
    "layout": ("offset", "size_bytes", "kind", "row_group", "column", "page", "note"),
}
_TRACE = (
    *("column", "pages", "values", "fetched_bytes", "decoded_bytes", "total_ns", "fetch_ns"),
    *("wait_ns", "decompress_ns", "decode_ns", "assemble_ns", "mb_per_s"),
)


class UsageError(Exception):
    """The command line asks for what does not go together."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Wrong usage leaves by `SystemExit(2)`."""
    parser = _parser()
    options = parser.parse_args(argv)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            options.selection = _selection(options)
            options.run(options)
            sys.stdout.flush()
        except UsageError as error:
            parser.error(str(error))
        except BrokenPipeError:
            # Whoever read our output has gone; at exit there must be nothing left to flush.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            return 130
        except (PqlabError, OSError) as error:
            _tell(str(error))
            return 1
    return 0


# ------------------------------------------------------------------------------------- commands


def _info(options: argparse.Namespace) -> None:
    file = _open(options)
    if options.json:
        _write_document(options, {"info": dataclasses.asdict(file.info)})
    else:
        _console().print(file)


def _schema(options: argparse.Namespace) -> None:
    frame = schema_frame(_open(options).schema)
    if not options.json:
        indents = pl.lit("  ").repeat_by("depth").list.join("")
        frame = frame.with_columns((indents + pl.col("name")).alias("name"))
    _show(options, frame)


def _row_groups(options: argparse.Namespace) -> None:
    file = _open(options)
    _show(options, _chosen(options, file, file.row_groups))


def _columns(options: argparse.Namespace) -> None:
    file = _open(options)
    _show(options, _chosen(options, file, file.column_chunks))


def _pages(options: argparse.Namespace) -> None:
    _show(options, _open(options).pages(**options.selection, headers=options.headers))


def _dictionary(options: argparse.Namespace) -> None:
    picked = options.selection
    columns, row_groups = picked.get("columns", []), picked.get("row_groups", [0])
    if len(columns) != 1 or len(row_groups) != 1 or not isinstance(row_groups[0], int):
        raise UsageError("dictionary takes one column and one row group: -c NAME [-g ROW_GROUP]")
    values = _open(options).dictionary(row_groups[0], columns[0])
    _show(options, values.to_frame("value").with_row_index("index"))


def _layout(options: argparse.Namespace) -> None:
    _show(options, _open(options).layout())


def _read(options: argparse.Namespace) -> None:
    form = _form(options)
    file = _open(options)
    selection = file.select(**options.selection)
    num_rows, limit = selection.plan().num_rows, _limit(options, form)
    if limit is not None and limit < num_rows:
        rows = _first_rows(file, selection, limit)
        selection = file.select(options.selection.get("columns"), rows=rows)
    if options.plan:
        print(selection.plan(engine=options.engine))
        return
    trace = pqlab.Trace() if options.trace else None
    frame = selection.read(engine=options.engine, trace=trace)
    if options.json:
        _write_document(options, {}, frame)
    elif form == "table":
        _print_table(frame, num_rows)
    elif options.output:
        export.write_path(frame, form, Path(options.output))
    else:
        export.write(frame, form, sys.stdout.buffer)
    if trace is not None:
        summary = _rounded(trace.summary().select(_TRACE))
        sys.stderr.writelines(f"{line}\n" for line in tables.plain_lines(summary))


def _first_rows(file: Any, selection: Any, count: int) -> list[tuple[int, int]]:
    """The first rows of a selection, as ranges over the whole file."""
    ranges = []
    for group in selection.plan().row_groups:
        first = int(file.metadata.row_groups.first_row[group.row_group])
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


def _cache(options: argparse.Namespace) -> None:
    if options.action == "clear":
        values: dict[str, Any] = {"freed_bytes": cache.clear(options.folder)}
    else:
        values = cache.info(options.folder)
    if options.json:
        _write_document(options, values)
    else:
        for name, value in values.items():
            print(f"{name:<12} {tables.cell(value)}")


def _versions(options: argparse.Namespace) -> None:
    if options.json:
        _write_document(options, versions.versions())
    else:
        versions.show_versions()


# ------------------------------------------------------------------------------ input and output


def _open(options: argparse.Namespace) -> Any:
    sources = options.source
    if "-" not in sources:
        return pqlab.open(sources[0] if len(sources) == 1 else sources)
    if len(sources) > 1:
        raise UsageError("- is standard input, and goes with no other source")
    if sys.stdin.isatty():
        raise UsageError("- is standard input, and that is a terminal: pipe a file to it")
    return pqlab.open(sys.stdin.buffer.read())


def _selection(options: argparse.Namespace) -> dict[str, Any]:
    texts = {
        name: getattr(options, name, None) for name in ("columns", "row_groups", "pages", "rows")
    }
    try:
        return arguments.selection(**texts)
    except SelectionError as error:
        raise UsageError(str(error)) from None


def _chosen(options: argparse.Namespace, file: Any, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame's rows of the chosen row groups and columns."""
    narrowed = file.select(**options.selection).narrowed
    keep = pl.col("row_group").is_in(list(narrowed.rows))
    if "leaf" in frame.columns:
        keep &= pl.col("leaf").is_in(narrowed.leaves)
    return frame.filter(keep)


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
    return _TERMINAL_ROWS if options.limit is None and shows_table else options.limit


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
        fields["source"] = options.source
    sys.stdout.writelines(tables.json_document(options.command, {**fields, **values}, rows))


def _console() -> Console:
    from rich.console import Console

    width = None if sys.stdout.isatty() else _PIPE_COLUMNS
    return Console(width=width, highlight=False, markup=False, emoji=False)


def _tell(message: str) -> None:
    print(f"pqlab: {text.visible(message)}", file=sys.stderr)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    _tell(f"warning: {message}")


# -------------------------------------------------------------------------------- the command line


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pqlab",
        description="Look into Parquet files, and read exactly the part that you look at.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pqlab {pqlab.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    form, source, rows, chunks = _form_options(), _source(), _row_options(), _chunk_options()

    def add(name: str, run: _Run, about: str, *parents: _Parser) -> _Parser:
        command = commands.add_parser(
            name,
            help=about,
            description=f"{about.capitalize()}.",
            parents=[*parents, form],
            allow_abbrev=False,
        )
        command.set_defaults(run=run)
        return command

    add("info", _info, "a file at a glance: where its bytes are, its schema", source)
    add("schema", _schema, "the schema tree with types and levels", source, rows)
    add("row-groups", _row_groups, "a row per row group", source, rows, chunks)
    add("columns", _columns, "a row per column chunk", source, rows, chunks)
    pages = add("pages", _pages, "a row per page", source, rows, chunks)
    about_headers = "read the page headers, too, for what the page index does not say"
    pages.add_argument("--headers", action="store_true", help=about_headers)
    add("dictionary", _dictionary, "the dictionary of a column chunk", source, rows, chunks)
    add("layout", _layout, "what every byte of the file is", source, rows)
    _add_read_options(add("read", _read, "read a slice", source, rows, chunks))
    kept = add("cache", _cache, "the footers that are kept on disk")
    kept.add_argument("action", choices=("info", "clear"))
    kept.add_argument("--folder", help="where they are kept, if not in the user's own folder")
    add("versions", _versions, "what runs here")
    return parser


def _source() -> _Parser:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("source", nargs="+", metavar="SOURCE", help="file, folder, glob, or -")
    return parser


def _form_options() -> _Parser:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--json", action="store_true", help='write {"pqlab": 1, ...}')
    return parser


def _row_options() -> _Parser:
    parser = argparse.ArgumentParser(add_help=False)
    about_limit = f"at most so many rows (to a terminal {_TERMINAL_ROWS} unless given)"
    parser.add_argument("--limit", type=_count, metavar="N", help=about_limit)
    parser.add_argument("--wide", action="store_true", help="every column of the table")
    return parser


def _chunk_options() -> _Parser:
    parser = argparse.ArgumentParser(add_help=False)
    for flag, name, metavar in (("-c", "columns", "COLUMNS"), ("-g", "row-groups", "ROW_GROUPS")):
        about = f"these {name.replace('-', ' ')} only"
        parser.add_argument(flag, f"--{name}", action="append", metavar=metavar, help=about)
    return parser


def _add_read_options(read: _Parser) -> None:
    read.add_argument("-p", "--pages", action="append", metavar="[ROW_GROUP/]COLUMN:PAGES")
    read.add_argument("-r", "--rows", action="append", metavar="START:STOP")
    read.add_argument("-e", "--engine", choices=("auto", "cpu"), default="auto")
    read.add_argument("-o", "--output", metavar="FILE", help="write to a file")
    read.add_argument("--format", choices=tuple(export.FORMS), help="what to write; csv to a pipe")
    read.add_argument("--plan", action="store_true", help="show what would be read; read nothing")
    read.add_argument("--trace", action="store_true", help="tell what it cost, on standard error")


def _count(words: str) -> int:
    count = int(words)
    if count < 0:
        raise argparse.ArgumentTypeError("a number of rows is not negative")
    return count


_Parser = argparse.ArgumentParser
_Run = Callable[[argparse.Namespace], None]
