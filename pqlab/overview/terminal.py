"""The overview of a file for terminals, made of rich renderables; legible without colour."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pqlab import text
from pqlab.overview.view import Part, SchemaRow, View

_BAR_CHARACTERS = 72
_MARKS = {"others": "·", "metadata": "▒"}
_COLOURS = ("blue", "yellow", "green", "red", "magenta", "cyan", "bright_yellow", "bright_magenta")
_VALUE_CHARACTERS = 100


def render(view: View) -> RenderableType:
    """The overview as one renderable."""
    return Group(*_blocks(view))


def schema_table(view: View) -> Table:
    """The schema with what each element takes, indented by depth."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("name", "type", "repetition", "codec and encodings"):
        table.add_column(name)
    for name in ("nulls", "compressed", "ratio"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in view.schema_rows():
        table.add_row(*_schema_cells(row))
    if view.num_schema_rows_left_out:
        more = text.plural(view.num_schema_rows_left_out, "more element")
        table.add_row(Text(f"… and {more}", style="dim"))
    return table


def _blocks(view: View) -> Iterator[RenderableType]:
    yield Text(text.visible(view.title), style="bold")
    yield Text(" · ".join(f"{figure} {noun}" for figure, noun in view.figures))
    yield Text(text.visible(view.subtitle), style="dim")
    yield Text()
    yield _bar(view)
    yield _legend(view)
    yield Text()
    yield _facts(view)
    if view.schema:
        yield Text()
        yield schema_table(view)
    if view.num_keys:
        yield Text()
        yield _key_value_metadata(view)


def _bar(view: View) -> Text:
    """The file's bytes from left to right, a column's share drawn with its number."""
    bar = Text(no_wrap=True)
    whole = view.parts_bytes
    position = before = 0
    for part in view.parts:
        before += max(0, part.size_bytes)
        end = round(_BAR_CHARACTERS * before / whole) if whole else 0
        bar.append(_mark(part) * (end - position), style=_style(part))
        position = end
    return bar


def _legend(view: View) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("left", "left", "right", "right"):
        table.add_column(justify=justify, no_wrap=justify == "right")
    for part in view.parts:
        if part.size_bytes > 0:
            table.add_row(
                Text(_mark(part), style=_style(part)),
                Text(text.visible(part.name)),
                Text(text.size(part.size_bytes)),
                Text(text.share(part.size_bytes, view.parts_bytes), style="dim"),
            )
    return table


def _mark(part: Part) -> str:
    return _MARKS[part.kind] if part.ordinal is None else str(part.ordinal)


def _style(part: Part) -> str:
    return "dim" if part.ordinal is None else _COLOURS[part.ordinal - 1]


def _facts(view: View) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for fact in view.facts:
        mark = "! " if fact.is_warning else "  "
        style = "yellow" if fact.is_warning else ""
        table.add_row(Text(mark + fact.name, "dim"), Text(text.visible(fact.value), style))
    return table


def _schema_cells(row: SchemaRow) -> tuple[Text, ...]:
    return (
        _cell("  " * row.depth + text.visible(row.name)),
        _cell(row.type),
        _cell(row.repetition, "dim"),
        _cell(row.storage, "dim"),
        _cell(row.nulls),
        _cell(text.size(row.compressed_bytes)),
        _cell(row.ratio, "dim"),
    )


def _cell(words: str, style: str = "") -> Text:
    return Text(words, style, no_wrap=True, overflow="ellipsis")


def _key_value_metadata(view: View) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for key, value in view.key_value_metadata:
        shown = text.ABSENT if value is None else text.visible(value)
        table.add_row(Text(text.visible(key), "dim"), Text(text.clip(shown, _VALUE_CHARACTERS)))
    if view.num_keys > len(view.key_value_metadata):
        more = view.num_keys - len(view.key_value_metadata)
        table.add_row(Text(f"… and {more:,} more", style="dim"))
    return table
