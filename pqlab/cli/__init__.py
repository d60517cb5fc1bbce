"""The command line, `pqlab COMMAND SOURCE ...`: the inspector's frames and reads, in a shell.

Exit codes: 0 done; 1 an error of pqlab's or of the system, told on standard error, a fault that
`check` has found, or a difference that `diff` has; 2 the command line is wrong; 130 interrupted. A
closed pipe ends the output quietly.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Sequence

from pqlab import text
from pqlab.cli import commands
from pqlab.cli.parser import make_parser
from pqlab.errors import PqlabError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Wrong usage leaves by `SystemExit(2)`."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names need not fit the terminal's code
    parser = make_parser()
    options = parser.parse_args(argv)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            options.selection = commands.selection(options)
            code: int | None = options.run(options)
            sys.stdout.flush()
        except commands.UsageError as error:
            parser.error(str(error))
        except BrokenPipeError:
            # Whoever read our output has gone; at exit there must be nothing left to flush.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            return 130
        except (PqlabError, OSError) as error:
            _tell(str(error))
            return 1
        else:
            return code or 0
    return 0


def _tell(message: str) -> None:
    print(f"pqlab: {text.visible(message)}", file=sys.stderr)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    _tell(f"warning: {message}")
