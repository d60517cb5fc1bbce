"""`ComparePanel`: what two files, traces or pieces of work have differently, in a notebook."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import traitlets

from pqlab.dataset import open as open_source
from pqlab.inspector.compare import Compare, compared, static
from pqlab.inspector.panel import PanelSession
from pqlab.widgets.shown import Shown, user_namespace

if TYPE_CHECKING:
    import polars as pl


class ComparePanel(Shown):
    """What `b` has differently from `a`: two files, two traces, or one `pqlab.compare` result.

    Files are given open, or as paths; of them footers alone are compared. `names` of the two are
    their paths' ends, "before" and "after" of traces. Raises TypeError for what cannot be compared,
    and what opening files raises.
    """

    hint = "In a notebook with a kernel, run the cell again to sort and to filter."
    part = traitlets.Unicode("compare").tag(sync=True)

    def __init__(self, a: Any, b: Any = None, *, names: tuple[str, str] | None = None) -> None:
        left, right = (open_file(side) for side in (a, b))
        self.difference = compared(left, right, names=names)
        super().__init__()
        self._session = PanelSession(
            Compare(self.difference), self.send, namespace=user_namespace()
        )
        self._handle = self._session.handle

    def to_frame(self) -> pl.DataFrame:
        """A row per difference; `change` is b's minus a's, `share` its part of all changes."""
        return self.difference.frame.drop("key")

    def static(self) -> str:
        """The first differences as HTML without scripts."""
        return static.html(self.difference)

    def __repr__(self) -> str:
        return "\n".join(static.lines(self.difference))


def open_file(source: Any) -> Any:
    """A path or URL as the file or dataset that it is; all else as it is."""
    return open_source(source) if isinstance(source, str | os.PathLike) else source
