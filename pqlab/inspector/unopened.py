"""What the inspector is of a source that cannot be opened: its error as text, with what to do."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from pqlab.errors import PqlabError, SourceError
from pqlab.inspector.slice_text import explained

_STYLE = (
    "border:1px solid rgba(128,128,128,.28);border-left:4px solid #d32f2f;border-radius:6px;"
    "padding:8px 14px;font-size:13px;overflow-wrap:anywhere"
)
_AGAIN = "When that is mended, run this again."


class Unopened:
    """Stands for an inspector where a file could not be opened, and shows why.

    `error` is what `pqlab.open` raises for it; whatever else is asked of it raises that.
    """

    def __init__(self, error: PqlabError) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what notebooks and copies look for
            raise AttributeError(name)
        raise self.error

    def _lines(self) -> list[str]:
        shown = explained(self.error)
        first = f"{shown['kind']}: {shown['message']}"
        hint = shown["hint"]
        if not hint and isinstance(self.error, SourceError):
            hint = f"Is the name right, and may it be read? Relative paths start at {Path.cwd()}."
        return [line for line in (first, shown["place"], hint, _AGAIN) if line]

    def __repr__(self) -> str:
        return "This source cannot be opened.\n" + "\n".join(f"  {line}" for line in self._lines())

    def _repr_html_(self) -> str:
        lines = "".join(f"<div>{escape(line)}</div>" for line in self._lines())
        return f'<div role="alert" style="{_STYLE}"><b>This cannot be opened.</b>{lines}</div>'
