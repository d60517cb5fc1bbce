"""The magics of `%load_ext pqlab`: `%pqread` reads a slice, `%pqinspect` shows a file's layout."""

from __future__ import annotations

import importlib.util
import keyword
import shlex
import time
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments

import pqlab
from pqlab import arguments, text
from pqlab.errors import PqlabError
from pqlab.inspector import Unopened

_ABOUT_SOURCE = "a file, folder, glob or URL; quote it if it has spaces"


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics; IPython calls it for `%load_ext pqlab`."""
    shell.register_magics(PqlabMagics)


@magics_class
class PqlabMagics(Magics):
    """`%pqread` and `%pqinspect`. Names in braces expand: `%pqread {path}`."""

    @magic_arguments()
    @argument(
        "source", metavar="PATH", help="a file, folder, glob or URL; quote it if it has spaces"
    )
    @argument(
        "-c",
        "--columns",
        action="append",
        metavar="COLS",
        help='columns with commas between them; "#3" by ordinal, "^tip.*$" by pattern',
    )
    @argument(
        "-g", "--row-groups", action="append", metavar="ROW_GROUPS", help="for instance 0,2,5:8"
    )
    @argument(
        "-p",
        "--pages",
        action="append",
        metavar="[ROW_GROUP/]COLUMN:PAGES",
        help="pages of one column, for instance fare_amount:0,3 or 2/fare_amount:4:8",
    )
    @argument("-r", "--rows", action="append", metavar="START:STOP", help="rows of the whole file")
    @argument("-e", "--engine", default="auto", help="auto, cpu, gpu or emulated")
    @argument("--int96-unit", choices=("ns", "us"), default="ns", help="of INT96 timestamps")
    @argument("--invalid-utf8", choices=("error", "binary"), default="error", help="text as bytes")
    @argument("-o", "--output", metavar="NAME", help="assign the frame to NAME, and show nothing")
    @argument("--trace", metavar="NAME", help="record what each page cost, and assign it to NAME")
    @argument("--plan", action="store_true", help="show what would be read, and read nothing")
    @argument("-q", "--quiet", action="store_true", help="leave out the line about the read")
    @line_magic
    def pqread(self, line: str) -> Any:
        """Read a slice of a Parquet file into a polars frame.

        Ranges are half open. What is given intersects. Without -o the frame is the cell's result.
        """
        options = _parse(self.pqread, line)
        return _without_traceback(lambda: self._read(options))

    @magic_arguments()
    @argument(
        "source", metavar="PATH", help="a file, folder, glob or URL; quote it if it has spaces"
    )
    @argument("-o", "--output", metavar="NAME", help="assign the opened file to NAME as well")
    @line_magic
    def pqinspect(self, line: str) -> Any:
        """Look into a Parquet file: its inspector, where widgets are shown, else its overview.

        Its footer is read, its data is not before you ask for it. Datasets have the overview.
        """
        options = _parse(self.pqinspect, line)
        try:
            file = pqlab.open(options.source)
        except PqlabError as error:
            return Unopened(error)
        if options.output:
            self._assign(options.output, file)
        is_notebook = getattr(self.shell, "kernel", None) is not None
        has_widgets = importlib.util.find_spec("anywidget") is not None
        if is_notebook and has_widgets and isinstance(file, pqlab.ParquetFile):
            return file.inspect()
        return file

    def _read(self, options: Namespace) -> Any:
        picked = arguments.selection(
            options.columns, options.row_groups, options.pages, options.rows
        )
        selection = pqlab.open(options.source).select(**picked)
        if options.plan:
            return self._result(options, selection.plan())
        trace = pqlab.Trace() if options.trace else None
        if trace is not None:
            self._assign(options.trace, trace)  # before the read: it is kept if that is stopped
        start_ns = time.perf_counter_ns()
        frame = selection.read(
            engine=options.engine,
            int96_unit=options.int96_unit,
            invalid_utf8=options.invalid_utf8,
            trace=trace,
        )
        taken_ns = time.perf_counter_ns() - start_ns
        if not options.quiet:
            rows, columns = text.plural(frame.height, "row"), text.plural(frame.width, "column")
            print(f"{rows} × {columns} in {text.duration(taken_ns)}")
        return self._result(options, frame)

    def _result(self, options: Namespace, value: Any) -> Any:
        if not options.output:
            return value
        self._assign(options.output, value)
        return None

    def _assign(self, name: str, value: Any) -> None:
        assert self.shell is not None
        self.shell.push({name: value})


def _parse(magic: Any, line: str) -> Namespace:
    """The magic's arguments, split as a shell splits them."""
    try:
        options = magic.parser.parse_args(shlex.split(line))
    except ValueError as error:  # a quote that is not closed
        raise UsageError(f"{error}: {line}") from None
    for name in (options.output, getattr(options, "trace", None)):
        if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
            raise UsageError(f"{name!r} is not the name of a variable")
    return options  # type: ignore[no-any-return]  # IPython is untyped


def _without_traceback(work: Callable[[], Any]) -> Any:
    """Do the work; an error of pqlab's ends the cell with its message alone."""
    try:
        return work()
    except PqlabError as error:
        raise UsageError(text.visible(str(error))) from None
