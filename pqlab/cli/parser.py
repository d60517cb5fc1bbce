"""The options of the command line."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from typing import Any, TypeAlias, get_args

import pqlab
from pqlab import export
from pqlab.cli import commands
from pqlab.stream.options import Engine

_Parser: TypeAlias = argparse.ArgumentParser
_Run: TypeAlias = Callable[[argparse.Namespace], int | None]

_EPILOG = """\
SOURCE is a file, a folder, a glob, a URL, several of these, or - for standard input.

selections:
  -c fare_amount,address.city   columns by path; "#3" by ordinal, "^tip.*$" by pattern
  -g 0,2,5:8                    row groups; ranges are half open, -1 is the last
  -p fare_amount:0,3            pages of a column; 2/fare_amount:4:8 in row group 2 only
  -r 1000:2000                  rows, counted over the whole source

exit codes: 0 done; 1 error, told on standard error, or what check or diff found; 2 wrong usage;
130 interrupted
"""


@functools.cache
def make_parser() -> _Parser:
    """The parser; what it parses has the command's function as `run`."""
    parser = argparse.ArgumentParser(
        prog="pqlab",
        description="Look into Parquet files, and read exactly the part that you look at.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pqlab {pqlab.__version__}")
    added = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    form, source, rows, chunks = _form_options(), _source(), _row_options(), _chunk_options()

    def add(name: str, run: _Run, *parents: _Parser) -> _Parser:
        about = run.__doc__ or ""
        brief = about[0].lower() + about[1:].rstrip(".")
        parents = (*parents, form)
        command = added.add_parser(
            name, help=brief, description=about, parents=parents, allow_abbrev=False
        )
        command.set_defaults(run=run)
        return command

    add("info", commands.info, source)
    add("schema", commands.schema, source, rows)
    add("row-groups", commands.row_groups, source, rows, chunks)
    add("columns", commands.columns, source, rows, chunks)
    pages = add("pages", commands.pages, source, rows, chunks)
    about_headers = "read the page headers, too, for what the page index does not say"
    pages.add_argument("--headers", action="store_true", help=about_headers)
    about_checksums = "read the pages, too, and say of each whether its CRC is right"
    pages.add_argument("--verify-checksums", action="store_true", help=about_checksums)
    add("dictionary", commands.dictionary, source, rows, chunks)
    layout = add("layout", commands.layout, source, rows)
    about_pages = "a row per page instead of one per chunk"
    layout.add_argument("--pages", dest="with_pages", action="store_true", help=about_pages)
    check = add("check", commands.check, source, rows)
    about_quick = "by the footer and the page index alone; no page is read"
    check.add_argument("--quick", action="store_true", help=about_quick)
    found = add("findings", commands.findings, source, rows)
    about_filter = "a column that rows are filtered by, or looked up; may be given several times"
    found.add_argument("--filter", action="append", metavar="COLUMN", help=about_filter)
    two = argparse.ArgumentParser(add_help=False)
    for side in ("left", "right"):
        two.add_argument(side, metavar=side.upper(), help="a file, a folder, a glob, or a URL")
    compared = add("diff", commands.diff, two, rows)
    about_values = "read both, too, and show the first rows that differ"
    compared.add_argument("--values", action="store_true", help=about_values)
    _add_read_options(add("read", commands.read, source, rows, chunks))
    kept = add("cache", commands.cache)
    kept.add_argument("action", choices=("info", "clear"))
    kept.add_argument("--folder", help="where they are kept, if not in the user's own folder")
    add("versions", commands.versions)
    return parser


def _source() -> _Parser:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("source", nargs="+", metavar="SOURCE", help="file, folder, glob, URL, or -")
    return parser


def _form_options() -> _Parser:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--json", action="store_true", help='write {"pqlab": 1, ...}')
    return parser


def _row_options() -> _Parser:
    parser = argparse.ArgumentParser(add_help=False)
    about_limit = f"at most so many rows (to a terminal {commands.TERMINAL_ROWS} unless given)"
    parser.add_argument("--limit", type=_natural, metavar="N", help=about_limit)
    parser.add_argument("--wide", action="store_true", help="every column of the table")
    return parser


def _chunk_options() -> _Parser:
    parser = argparse.ArgumentParser(add_help=False)
    for flag, name, metavar in (("-c", "columns", "COLUMNS"), ("-g", "row-groups", "ROW_GROUPS")):
        about = f"these {name.replace('-', ' ')} only"
        parser.add_argument(flag, f"--{name}", action="append", metavar=metavar, help=about)
    return parser


def _add_read_options(read: _Parser) -> None:
    def add(*flags: str, **options: Any) -> None:
        read.add_argument(*flags, **options)

    about_pages = "these pages of a column, and of the other columns the same rows"
    add("-p", "--pages", action="append", metavar="[ROW_GROUP/]COLUMN:PAGES", help=about_pages)
    about_rows = "these rows only, counted over the whole source; STOP is not included"
    add("-r", "--rows", action="append", metavar="START:STOP", help=about_rows)
    about_where = 'what rows must be like: "tip > 5 and vendor_id in (1, 2)"'
    add("-w", "--where", metavar="CONDITION", help=about_where)
    about_explain = "show which row groups and pages -w leaves, and why; read no page"
    add("--explain", action="store_true", help=about_explain)
    about_engine = "what decodes; emulated: the GPU's kernels on the CPU, slowly"
    add("-e", "--engine", choices=get_args(Engine), default="auto", help=about_engine)
    add("--workers", type=_positive, metavar="N", help="threads that decode")
    about_int96 = "unit of INT96 timestamps; us reaches the years that ns does not"
    add("--int96-unit", choices=("ns", "us"), default="ns", help=about_int96)
    about_utf8 = "text that is not UTF-8: an error, or text columns as unchecked bytes"
    add("--invalid-utf8", choices=("error", "binary"), default="error", help=about_utf8)
    add("-o", "--output", metavar="FILE", help="write to a file")
    add("--format", choices=tuple(export.FORMS), help="what to write; csv to a pipe")
    add("--plan", action="store_true", help="show what would be read; read nothing")
    add("--trace", action="store_true", help="tell what it cost, on standard error")


def _natural(words: str) -> int:
    count = int(words)
    if count < 0:
        raise ValueError
    return count


def _positive(words: str) -> int:
    count = int(words)
    if count < 1:
        raise ValueError
    return count
