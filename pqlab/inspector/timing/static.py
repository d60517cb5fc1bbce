"""A trace where no scripts run: a table with bars as HTML, lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from pqlab import text
from pqlab.inspector.timing import charts, facts
from pqlab.inspector.timing.frames import TimingFrames
from pqlab.inspector.timing.stages import DRAWN
from pqlab.inspector.timing.state import TimingState

_MAX_ROWS = 30
_BAR_CHARACTERS = 24
_COLOURS = (
    *("#aab2bd", "#f08a86", "#79aef2", "#f6b26b"),
    *("#b9a3f2", "#7ccf9b", "#62cfcb", "#ecd05c"),
)
_STYLE = """
.pqlab-timing{max-width:66rem;font-size:13px;line-height:1.5;border:1px solid
rgba(128,128,128,.28);border-radius:10px;padding:14px 18px}
.pqlab-timing table{border-collapse:collapse;width:100%;font-size:12px}
.pqlab-timing td,.pqlab-timing th{padding:2px 8px;text-align:left;background:none}
.pqlab-timing .pq-number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.pqlab-timing .pq-bar{display:flex;height:16px;gap:1px;min-width:12rem}
.pqlab-timing .pq-bar span{flex-basis:0;min-width:1px;overflow:hidden;color:#14181f;
font:600 10px/16px sans-serif;text-align:center}
.pqlab-timing i{display:inline-block;width:16px;height:16px;border-radius:3px;color:#14181f;
font:600 10px/16px sans-serif;text-align:center}
.pqlab-timing .pq-legend{display:flex;flex-wrap:wrap;gap:2px 18px;margin:6px 0}
"""


def html(frames: TimingFrames) -> str:
    """The trace as static HTML: its numbers, and a bar of stages for each column."""
    state = TimingState()
    figures = " · ".join(
        f"<b>{escape(n)}</b> {escape(of)}" for n, of in facts.figures(frames, state)
    )
    notes = "".join(
        f"<div>{'⚠ ' if note['is_warning'] else ''}{escape(note['text'])}</div>"
        for note in facts.notes(frames, state)
    )
    legend = "".join(
        f'<span><i style="background:{_COLOURS[of["drawn"]]}">{of["letter"]}</i> '
        f"{escape(of['name'])} {escape(of['total'])}, {escape(of['share'])}</span>"
        for of in charts.legend(frames, state)
    )
    found = charts.bars(frames, state)
    rows = "".join(_row(row, found["most_ns"]) for row in found["rows"][:_MAX_ROWS])
    more = len(found["rows"]) - _MAX_ROWS + found["left_out"]
    left_out = f"<div>… and {text.plural(more, 'column')} more</div>" if more > 0 else ""
    heads = (
        "<tr><th>column</th><th>time by stage</th>"
        '<th class="pq-number">time</th><th class="pq-number">share</th></tr>'
    )
    return (
        f'<div class="pqlab-timing"><style>{_STYLE}</style><div>{figures}</div>{notes}'
        f'<div class="pq-legend">{legend}</div><table>{heads}{rows}</table>{left_out}</div>'
    )


def _row(row: dict[str, object], most_ns: int) -> str:
    parts: list[tuple[int, int, str, str]] = row["parts"]  # type: ignore[assignment]
    whole = max(int(str(row["ns"])), 1)
    segments = "".join(
        f'<span style="flex-grow:{ns};background:{_COLOURS[drawn]}" '
        f'title="{escape(DRAWN[drawn].name)}: {escape(took)}, {escape(share)}">'
        f"{DRAWN[drawn].letter if ns * 20 > most_ns else ''}</span>"
        for drawn, ns, took, share in parts
    )
    width = 100 * whole / max(most_ns, 1)
    return (
        f"<tr><td>{escape(str(row['name']))}</td>"
        f'<td style="width:50%"><div class="pq-bar" style="width:{width:.2f}%">'
        f"{segments}</div></td>"
        f'<td class="pq-number">{escape(str(row["total"]))}</td>'
        f'<td class="pq-number">{escape(str(row["share"]))}</td></tr>'
    )


def lines(frames: TimingFrames) -> Iterator[str]:
    """The trace for the terminal: the same, with letters as bars."""
    state = TimingState()
    yield "Timing: " + " · ".join(f"{n} {of}" for n, of in facts.figures(frames, state))
    for note in facts.notes(frames, state):
        yield f"  {'! ' if note['is_warning'] else ''}{note['text']}"
    yield "  " + ", ".join(
        f"{of['letter']} {of['name']} {of['total']}" for of in charts.legend(frames, state)
    )
    found = charts.bars(frames, state)
    shown = found["rows"][:_MAX_ROWS]
    width = max((len(text.clip(row["name"], 30)) for row in shown), default=0)
    for row in shown:
        letters = "".join(
            DRAWN[drawn].letter * round(_BAR_CHARACTERS * ns / max(found["most_ns"], 1))
            for drawn, ns, _, _ in row["parts"]
        )
        name = text.clip(row["name"], 30).ljust(width)
        yield f"  {name}  {row['total']:>8}  {row['share']:>7}  {letters}".rstrip()
    if (more := len(found["rows"]) - len(shown) + found["left_out"]) > 0:
        yield f"  … and {text.plural(more, 'column')} more"
