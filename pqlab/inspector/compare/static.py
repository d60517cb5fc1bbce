"""A difference where no scripts run: its headline and first rows, as HTML and as lines."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from pqlab import text
from pqlab.inspector.compare.difference import Difference
from pqlab.inspector.compare.panel import Compare

_MAX_ROWS, _WIDEST = 30, 28


def _cells(of: Difference) -> tuple[list[str], list[list[str]], int]:
    """Headings, rows, and how many rows more there are."""
    compare = Compare(of)
    table = compare.body()["table"]
    shown = compare.rows(0, _MAX_ROWS)["rows"]
    return [column["heading"] for column in table["columns"]], shown, table["num_rows"] - len(shown)


def html(of: Difference) -> str:
    """The difference as static HTML."""
    heads, rows, more = _cells(of)
    head = "".join(f"<th>{escape(heading)}</th>" for heading in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    notes = "".join(f"<p>Note: {escape(note)}</p>" for note in of.notes)
    left_out = f"<p>… and {text.plural(more, 'difference')} more</p>" if more > 0 else ""
    table = f"<table><tr>{head}</tr>{body}</table>" if rows else ""
    return f"<div><p><b>{escape(of.headline)}</b></p>{notes}{table}{left_out}</div>"


def lines(of: Difference) -> Iterator[str]:
    """The difference for the terminal."""
    heads, rows, more = _cells(of)
    yield of.headline
    cells = [[text.clip(cell, _WIDEST) for cell in row] for row in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells if rows else []:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"  {line}".rstrip()
    if more > 0:
        yield f"  … and {text.plural(more, 'difference')} more"
    yield from (f"  note: {note}" for note in of.notes)
