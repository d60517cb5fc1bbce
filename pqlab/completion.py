"""What may follow in a line of `%pqread`: options, columns, row groups. Reads no file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from pqlab.footer.metadata import FileMetaData

Find = Callable[[str], FileMetaData | None]  # the footer of a source, if it is known already

MAX_COMPLETIONS = 500
_WORD = re.compile(r"""'[^']*'?|"[^"]*"?|\S+""")
_OF_COLUMNS = ("-c", "--columns")
_OF_ROW_GROUPS = ("-g", "--row-groups")
_OF_PAGES = ("-p", "--pages")
_OF_WHERE = ("-w", "--where")
_WITH_ANYTHING = ("-o", "--output", "--trace", "-r", "--rows")
_CHOICES = {
    "-e": ("auto", "cpu", "gpu", "emulated"),
    "--engine": ("auto", "cpu", "gpu", "emulated"),
    "--int96-unit": ("ns", "us"),
    "--invalid-utf8": ("error", "binary"),
}
_TAKE_A_VALUE = (
    *(*_OF_COLUMNS, *_OF_ROW_GROUPS, *_OF_PAGES, *_OF_WHERE, *_WITH_ANYTHING),
    *_CHOICES,
)


def completions(line: str, symbol: str, find: Find, options: tuple[str, ...]) -> list[str]:
    """What may stand for `symbol`, the last word of `line`, which is cut at the cursor.

    `line` begins with the magic's name. An empty list: nothing is known, and paths may follow.
    """
    words = _WORD.findall(line)[1:]
    if words and not line[-1:].isspace():
        words.pop()  # it is being written
    if symbol.startswith("-"):
        return [option for option in options if option.startswith(symbol)]
    before = words[-1] if words else ""
    if before in _CHOICES:
        return [choice for choice in _CHOICES[before] if choice.startswith(symbol)]
    source = _source(words)
    metadata = None if source is None else find(source)
    if metadata is None:
        return []
    return list(islice(_of_file(metadata, before, symbol), MAX_COMPLETIONS))


def _of_file(metadata: FileMetaData, before: str, symbol: str) -> Iterator[str]:
    if before in _OF_ROW_GROUPS:
        yield from _starting(map(str, range(metadata.num_row_groups)), symbol)
    elif before in _OF_PAGES:
        place, slash, start = symbol.rpartition("/")
        yield from (f"{place}{slash}{name}" for name in _columns(metadata, start))
    elif before in (*_OF_COLUMNS, *_OF_WHERE):
        yield from _columns(metadata, symbol)


def _columns(metadata: FileMetaData, start: str) -> Iterator[str]:
    """Leaves, and roots that are groups: a magic's columns may be either."""
    roots = (root.name for root in metadata.schema.children if root.leaf is None)
    yield from _starting(roots, start)
    yield from _starting((leaf.column for leaf in metadata.leaves), start)


def _starting(names: Iterator[str], start: str) -> Iterator[str]:
    """Those that begin so, whatever their case, and that a line can hold."""
    folded = start.casefold()
    return (name for name in names if name.casefold().startswith(folded) and name.isprintable())


def _source(words: list[str]) -> str | None:
    """The word that no option takes: the path."""
    is_value = False
    for word in words:
        if is_value or word.startswith("-"):
            is_value = not is_value and word in _TAKE_A_VALUE
        else:
            return word.strip("'\"")
    return None
