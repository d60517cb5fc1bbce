"""The Compare screen of an inspector: its last two reads, or what it is held against."""

from __future__ import annotations

from typing import Any

from pqlab.comparison import Comparison
from pqlab.inspector.compare.difference import compared, of_traces
from pqlab.inspector.compare.panel import Compare
from pqlab.reader import ParquetFile
from pqlab.trace import Trace

_NAMES = ("the read before", "the last read")
_HINT = (
    "Nothing to compare yet. Read twice, and what both cost is compared here; or set "
    "inspector.against to another file, to a trace, or to a pqlab.compare result."
)
NOT_COMPARABLE = "what is compared is an open file, a pqlab.Trace, a pqlab.compare result, or None"


def is_comparable(other: Any) -> bool:
    """Whether an inspector can be held against it."""
    return other is None or isinstance(other, ParquetFile | Trace | Comparison)


class LinkedCompare:
    """What an inspector compares. `against` is held against its file, or its last read."""

    def __init__(self, file: ParquetFile) -> None:
        self.file = file
        self._against: Any = None
        self._reads: tuple[Trace | None, Trace | None] = None, None
        self._content: Compare | None = Compare(None, _HINT)

    @property
    def against(self) -> Any:
        """A file, a trace, a `pqlab.compare` result, or None: reads are compared."""
        return self._against

    @against.setter
    def against(self, other: Any) -> None:
        if not is_comparable(other):
            raise TypeError(NOT_COMPARABLE)
        self._against, self._content = other, None

    def show(self, before: Trace | None, last: Trace) -> None:
        """The inspector has read again."""
        self._reads, self._content = (before, last), None

    @property
    def content(self) -> Compare:
        """What the screen shows; worked out when it is shown."""
        if self._content is None:
            self._content = self._made()
        return self._content

    def _made(self) -> Compare:
        other, (before, last) = self._against, self._reads
        if isinstance(other, Comparison):
            return Compare(compared(other))
        if isinstance(other, ParquetFile):
            return Compare(compared(self.file, other))
        if isinstance(other, Trace):
            if last is None:
                return Compare(None, "Read, and what it cost is compared with the given trace.")
            return Compare(of_traces(other, last, ("the given trace", _NAMES[1])))
        if before is None or last is None:
            return Compare(None, _HINT)
        return Compare(of_traces(before, last, _NAMES))
