"""The magics of `%load_ext pqlab`: `%pqread` reads a slice, `%pqinspect` shows a file's layout."""

from __future__ import annotations

import ast
import importlib.util
import keyword
import shlex
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Any

import traitlets
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments

import pqlab
from pqlab import arguments, text
from pqlab.completion import completions
from pqlab.errors import PqlabError
from pqlab.inspector import Unopened
from pqlab.io.footer import known_metadata

_ENGINES = ("auto", "cpu", "gpu", "emulated")
_PATH = "a file, folder, glob or URL; quote it if it has spaces"


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics; IPython calls it for `%load_ext pqlab`."""
    magics = PqlabMagics(shell)
    shell.register_magics(magics)
    others: list[Any] = [
        known for known in shell.configurables if not isinstance(known, PqlabMagics)
    ]
    shell.configurables[:] = [*others, magics]  # type: ignore[list-item]  # for %config
    for name in ("%pqread", "%%pqread", "%pqinspect"):
        shell.set_hook("complete_command", magics.complete, str_key=name)


@magics_class
class PqlabMagics(Magics):
    """`%pqread`, `%%pqread` and `%pqinspect`. Names in braces expand: `%pqread {path}`."""

    engine = traitlets.Enum(
        _ENGINES, "auto", help="What decodes, where -e does not say: auto, cpu, gpu or emulated."
    ).tag(config=True)
    quiet = traitlets.Bool(default_value=False, help="Never show the line about the read.").tag(
        config=True
    )
    cache = traitlets.Unicode(
        "memory",
        help="Where parsed footers are kept: memory, disk (for other processes, too), or a folder.",
    ).tag(config=True)
    verify_checksums = traitlets.Bool(
        default_value=False, help="Compare the CRC of every page that has one."
    ).tag(config=True)

    @magic_arguments()
    @argument("source", metavar="PATH", help=_PATH)
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
    @argument(
        "-w", "--where", help='what rows must be like, in quotes: "tip > 5 and vendor_id in (1, 2)"'
    )
    @argument("-e", "--engine", help="auto, cpu, gpu or emulated; %%config PqlabMagics has another")
    @argument("--int96-unit", choices=("ns", "us"), default="ns", help="of INT96 timestamps")
    @argument("--invalid-utf8", choices=("error", "binary"), default="error", help="text as bytes")
    @argument("-o", "--output", metavar="NAME", help="assign the frame to NAME, and show nothing")
    @argument("--trace", metavar="NAME", help="record what each page cost, and assign it to NAME")
    @argument("--plan", action="store_true", help="show what would be read, and read nothing")
    @argument(
        "--bg",
        action="store_true",
        help="read while you go on: the result is a job with .result(), .progress and .cancel()",
    )
    @argument("-q", "--quiet", action="store_true", help="leave out the line about the read")
    @line_cell_magic
    def pqread(self, line: str, cell: str | None = None) -> Any:
        """Read a slice of a Parquet file into a polars frame.

        Ranges are half open. What is given intersects. Without -o the frame is the cell's result.

        %%pqread, above a cell, runs the cell once per row group that has such rows: `df` (or the
        name that -o gives) is its frame, `rg` its number; the next ones are read meanwhile. `rg`
        counts within the file; of several files, over all that are read.
        """
        options = _parse(self.pqread, line)
        if cell is not None:
            return self._each(options, cell)
        return _without_traceback(lambda: self._read(options))

    @magic_arguments()
    @argument("source", metavar="PATH", help=_PATH)
    @argument("-o", "--output", metavar="NAME", help="assign the opened file to NAME as well")
    @line_magic
    def pqinspect(self, line: str) -> Any:
        """Look into a Parquet file: its inspector, where widgets are shown, else its overview.

        Its footer is read, its data is not before you ask for it. Datasets have the overview.
        """
        options = _parse(self.pqinspect, line)
        try:
            file = self._open(options.source)
        except PqlabError as error:
            return Unopened(error)
        if options.output:
            self._assign(options.output, file)
        is_notebook = getattr(self.shell, "kernel", None) is not None
        has_widgets = importlib.util.find_spec("anywidget") is not None
        if is_notebook and has_widgets and isinstance(file, pqlab.ParquetFile):
            return file.inspect()
        return file

    def complete(self, _: Any, event: Any) -> list[str]:
        """What may follow in a line of a magic; IPython asks. No file is read for it."""
        name = event.command.lstrip("%")
        magic = getattr(self, name, None)
        if magic is None:
            return []
        options = tuple(magic.parser._option_string_actions)  # noqa: SLF001  # nothing public

        def find(source: str) -> Any:
            assert self.shell is not None
            return known_metadata(self.shell.var_expand(source))

        return completions(event.text_until_cursor, event.symbol, find, options)

    def _open(self, source: str) -> Any:
        return pqlab.open(source, cache=self.cache, verify_checksums=self.verify_checksums)

    def _select(self, options: Namespace) -> Any:
        picked = arguments.selection(
            options.columns, options.row_groups, options.pages, options.rows
        )
        file = self._open(options.source)
        if options.where is not None:
            picked["where"] = options.where
        return file.select(**picked)

    def _read_options(self, options: Namespace) -> dict[str, Any]:
        trace = pqlab.Trace() if options.trace else None
        if trace is not None:
            self._assign(options.trace, trace)  # before the read: it is kept if that is stopped
        return {
            "engine": options.engine or self.engine,
            "int96_unit": options.int96_unit,
            "invalid_utf8": options.invalid_utf8,
            "trace": trace,
        }

    def _read(self, options: Namespace) -> Any:
        selection = self._select(options)
        if options.plan:
            return self._result(options, selection.plan(engine=options.engine or self.engine))
        if options.bg:
            return self._result(options, selection.submit(**self._read_options(options)))
        start_ns = time.perf_counter_ns()
        frame = selection.read(**self._read_options(options))
        taken_ns = time.perf_counter_ns() - start_ns
        if not (options.quiet or self.quiet):
            rows, columns = text.plural(frame.height, "row"), text.plural(frame.width, "column")
            print(f"{rows} × {columns} in {text.duration(taken_ns)}")
        return self._result(options, frame)

    def _each(self, options: Namespace, cell: str) -> None:
        """Run the cell for each row group; its errors are the user's, with their traceback."""
        if options.plan or options.bg:
            raise UsageError("--plan and --bg are for %pqread on a line of its own")
        body, start_ns = self._compiled(cell), time.perf_counter_ns()
        num_rows = num_row_groups = 0
        assert self.shell is not None
        for row_group, frame in self._row_groups(options):
            self.shell.push({options.output or "df": frame, "rg": row_group})
            exec(body, self.shell.user_ns)  # noqa: S102  # it is what the user's cell says
            num_rows, num_row_groups = num_rows + frame.height, num_row_groups + 1
        if not (options.quiet or self.quiet):
            taken = text.duration(time.perf_counter_ns() - start_ns)
            groups, rows = text.plural(num_row_groups, "row group"), text.plural(num_rows, "row")
            print(f"{groups}, {rows} in {taken}")

    def _row_groups(self, options: Namespace) -> Iterator[tuple[int, Any]]:
        """Numbers and frames; errors of pqlab's, and of these alone, are without traceback."""
        selection = _without_traceback(lambda: self._select(options))
        rows = getattr(selection, "scanned", selection)  # with where: what is read for it
        numbers = iter(list(rows.rows()) if isinstance(rows, pqlab.FileSelection) else [])
        frames = _without_traceback(
            lambda: selection.iter_row_groups(**self._read_options(options))
        )
        with frames:
            for count in range(1 << 62):
                frame = _without_traceback(lambda: next(frames, None))
                if frame is None:
                    return
                yield next(numbers, count), frame

    def _compiled(self, cell: str) -> Any:
        assert self.shell is not None
        transformed = self.shell.transform_cell(cell)
        name = self.shell.compile.cache(transformed, raw_code=cell)
        try:
            tree = self.shell.transform_ast(ast.parse(transformed, name))
            return self.shell.compile(tree, name, "exec")
        except SyntaxError as error:
            raise UsageError(f"the cell: {error}") from None

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
