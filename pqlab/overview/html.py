"""The overview of a file as static HTML: no scripts, no network, legible without style or colour.

Everything from the file passes through `_tag`, which escapes it. Greys are translucent and text
keeps the page's own colour, so that the overview fits light and dark pages alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from pqlab import text
from pqlab.overview.view import Part, RowGroupRow, SchemaRow, View

_OPEN_SCHEMA_ROWS = 30  # a longer schema starts folded
_NAME_CHARACTERS, _VALUE_CHARACTERS, _TITLE_CHARACTERS = 60, 160, 1000

_MEASURES = ("nulls", "compressed", "ratio")

_STYLE = """
.pqlab{--line:rgba(128,128,128,.28);--soft:rgba(128,128,128,.1);max-width:66rem;font-size:13px;
line-height:1.5;border:1px solid var(--line);border-radius:10px;padding:16px 20px 14px}
.pqlab *{box-sizing:border-box}
.pqlab code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
font-size:12px;background:none!important;color:inherit!important;padding:0!important}
.pqlab .pq-muted{opacity:.68}
.pqlab .pq-title code{font-size:16px;font-weight:600;overflow-wrap:anywhere}
.pqlab .pq-figures{display:flex;flex-wrap:wrap;gap:6px 32px;margin:10px 0 16px;padding:0}
.pqlab .pq-figures div{display:flex;flex-direction:column}
.pqlab .pq-figures b{font-size:20px;line-height:1.25;font-weight:600;
font-variant-numeric:tabular-nums}
.pqlab .pq-bar{display:flex;height:26px;gap:2px;border-radius:6px;overflow:hidden;
background:var(--soft)}
.pqlab .pq-bar span{min-width:3px;flex-basis:0;overflow:hidden;text-align:center;font-size:11px;
line-height:26px;font-weight:600;color:#14181f}
.pqlab .pq-bar span::after{content:attr(data-key)}
.pqlab .pq-legend{display:grid;grid-template-columns:repeat(auto-fill,minmax(15.5rem,1fr));
gap:1px 22px;margin:8px 0 14px}
.pqlab .pq-legend>div{display:flex;gap:7px;align-items:center}
.pqlab .pq-legend .pq-key{flex:none;width:17px;height:17px;border-radius:4px;font-size:10.5px;
font-weight:600;line-height:17px;text-align:center;color:#14181f}
.pqlab .pq-legend .pq-name{flex:1;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.pqlab .pq-number{font-variant-numeric:tabular-nums;white-space:nowrap;text-align:right}
.pqlab .pq-1{background:#79aef2}.pqlab .pq-2{background:#f6b26b}.pqlab .pq-3{background:#7ccf9b}
.pqlab .pq-4{background:#f08a86}.pqlab .pq-5{background:#b9a3f2}.pqlab .pq-6{background:#62cfcb}
.pqlab .pq-7{background:#ecd05c}.pqlab .pq-8{background:#dba4cf}
.pqlab .pq-others{background:#aab2bd}
.pqlab .pq-metadata{background:repeating-linear-gradient(45deg,#aab2bd 0 3px,#7b8490 3px 6px)}
.pqlab .pq-facts{display:flex;flex-wrap:wrap;gap:6px;margin:0 0 12px}
.pqlab .pq-facts>div{padding:1px 9px;border:1px solid var(--line);border-radius:99px;
background:var(--soft)}
.pqlab .pq-facts .pq-warning{border-color:#d9822b;border-width:2px}
.pqlab details{margin:0}
.pqlab>details{border-top:1px solid var(--line);padding:7px 0}
.pqlab>details>summary{font-weight:600}
.pqlab summary{cursor:pointer}
.pqlab .pq-rows{margin:6px 0 4px;overflow-x:auto}
.pqlab .pq-row{display:grid;grid-template-columns:minmax(8rem,1.8fr) minmax(9rem,2.3fr)
minmax(9rem,2.3fr) 5rem 5.4rem 3.6rem;gap:0 12px;padding:2px 4px;align-items:baseline;
border-radius:4px}
.pqlab .pq-row:hover{background:var(--soft)}
.pqlab .pq-row>*{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.pqlab .pq-row>.pq-wrap{white-space:normal}
.pqlab .pq-heading{font-size:11px;opacity:.68;border-bottom:1px solid var(--line);
border-radius:0}
.pqlab summary.pq-row{list-style:none}
.pqlab summary.pq-row::-webkit-details-marker{display:none}
.pqlab summary.pq-row>:first-child::before{content:"\\25b8\\00a0"}
.pqlab details[open]>summary.pq-row>:first-child::before{content:"\\25be\\00a0"}
.pqlab .pq-groups{grid-template-columns:6rem 8rem 6rem 1fr}
.pqlab .pq-meter{display:block;height:8px;border-radius:4px;background:#79aef2;min-width:2px;
align-self:center}
.pqlab .pq-keys{display:grid;grid-template-columns:minmax(8rem,auto) 1fr;gap:2px 18px;
margin:6px 0 4px}
.pqlab .pq-keys dt,.pqlab .pq-keys dd{margin:0;font-weight:400;overflow-wrap:anywhere}
"""


_OF_ALL_PAGES = "for values, levels and dictionaries alike: only page headers tell them apart"


class _Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def render(view: View) -> str:
    """The overview as one HTML element."""
    return _tag(
        "div",
        _tag("style", _Markup(_STYLE)),
        _head(view),
        _figures(view),
        *_bytes(view),
        _facts(view),
        *_sections(view),
        class_="pqlab",
    )


def _sections(view: View) -> Iterator[_Markup]:
    if view.schema:
        yield _schema(view)
    if view.row_groups:
        yield _row_groups(view)
    if view.num_keys:
        yield _key_value_metadata(view)


def _head(view: View) -> _Markup:
    title = _tag("div", _name(view.title, _TITLE_CHARACTERS), class_="pq-title")
    return _join(title, _tag("div", _text(view.subtitle, _VALUE_CHARACTERS), class_="pq-muted"))


def _figures(view: View) -> _Markup:
    figures = [
        _tag("div", _tag("b", figure), " ", _tag("span", noun, class_="pq-muted"))
        for figure, noun in view.figures
    ]
    return _tag("div", *figures, class_="pq-figures")


def _bytes(view: View) -> Iterator[_Markup]:
    shown = [part for part in view.parts if part.size_bytes > 0]
    if not shown:
        return
    segments = [
        _tag(
            "span",
            data_key=_key(part) if part.size_bytes * 25 > view.parts_bytes else None,
            class_=_colour(part),
            style=f"flex-grow:{part.size_bytes}",
            title=f"{_title(part.name)}: {text.size(part.size_bytes)}",
        )
        for part in shown
    ]
    label = "Bytes of the file by part; the list that follows has the figures"
    yield _tag("div", *segments, class_="pq-bar", role="img", aria_label=label)
    yield _list("pq-legend", (_legend(part, view.parts_bytes) for part in shown))


def _legend(part: Part, whole_bytes: int) -> _Markup:
    name = _name(part.name) if part.kind == "named" else part.name
    return _tag(
        "div",
        _tag("span", _key(part), class_=f"pq-key {_colour(part)}"),
        " ",
        _tag("span", name, class_="pq-name"),
        " ",
        _number(text.size(part.size_bytes)),
        " ",
        _number(text.share(part.size_bytes, whole_bytes), "pq-muted"),
        role="listitem",
    )


def _key(part: Part) -> str:
    return "" if part.ordinal is None else str(part.ordinal)


def _colour(part: Part) -> str:
    return f"pq-{part.ordinal}" if part.ordinal is not None else f"pq-{part.kind}"


def _facts(view: View) -> _Markup:
    items = [
        _tag(
            "div",
            _tag("span", fact.name, class_="pq-muted"),
            " ",
            _text(fact.value, _VALUE_CHARACTERS),
            role="listitem",
            class_="pq-warning" if fact.is_warning else None,
        )
        for fact in view.facts
    ]
    return _list("pq-facts", items)


def _schema(view: View) -> _Markup:
    heading = _tag(
        "div",
        *_spaced("name", "type", "codec and encodings", *map(_number, _MEASURES)),
        class_="pq-row pq-heading",
    )
    rows = [_schema_row(row) for row in view.schema]
    if view.num_schema_rows_left_out:
        more = text.plural(view.num_schema_rows_left_out, "more element")
        rows.append(_tag("div", f"… and {more}: see .schema and .leaves", class_="pq-muted"))
    few = view.num_schema_elements <= _OPEN_SCHEMA_ROWS
    return _section("Schema", text.plural(view.num_columns, "column"), heading, *rows, is_open=few)


def _schema_row(row: SchemaRow) -> _Markup:
    indent = f"padding-left:{min(row.depth, 24) * 16}px"
    cells = _spaced(
        _tag("span", _name(row.name), style=indent, title=_title(row.column)),
        _tag(
            "span",
            *(row.type, " ", _tag("span", row.repetition, class_="pq-muted")),
            class_="pq-wrap",
            title=row.type,
        ),
        _tag(
            "span",
            row.storage,
            class_="pq-wrap pq-muted",
            title=row.storage if row.are_of_data_pages else f"{row.storage} ({_OF_ALL_PAGES})",
        ),
        _number(row.nulls),
        _number(text.size(row.compressed_bytes)),
        _number(row.ratio, "pq-muted"),
    )
    if not row.children:
        return _tag("div", *cells, class_="pq-row")
    summary = _tag("summary", *cells, class_="pq-row")
    return _tag("details", summary, *map(_schema_row, row.children))


def _row_groups(view: View) -> _Markup:
    largest = max((group.compressed_bytes for group in view.row_groups), default=0)
    heading = _tag(
        "div",
        *_spaced("row group", _number("rows"), _number("compressed")),
        class_="pq-row pq-groups pq-heading",
    )
    rows = [_row_group(group, largest) for group in view.row_groups]
    if view.num_row_groups > len(rows):
        more = text.plural(view.num_row_groups - len(rows), "more row group")
        rows.append(_tag("div", f"… and {more}: see .row_groups", class_="pq-muted"))
    return _section("Row groups", f"{view.num_row_groups:,}", heading, *rows)


def _row_group(group: RowGroupRow, largest_bytes: int) -> _Markup:
    percent = 100 * group.compressed_bytes / largest_bytes if largest_bytes > 0 else 0
    return _tag(
        "div",
        *_spaced(
            _tag("span", f"{group.row_group:,}"),
            _number(f"{group.num_rows:,}"),
            _number(text.size(group.compressed_bytes)),
            _tag("span", class_="pq-meter", style=f"width:{max(0.0, percent):.1f}%"),
        ),
        class_="pq-row pq-groups",
    )


def _key_value_metadata(view: View) -> _Markup:
    entries = [
        item
        for key, value in view.key_value_metadata
        for item in (
            _tag("dt", _name(key)),
            _tag("dd", text.ABSENT if value is None else _name(value, _VALUE_CHARACTERS)),
        )
    ]
    if view.num_keys > len(view.key_value_metadata):
        more = view.num_keys - len(view.key_value_metadata)
        entries.append(_tag("dt", f"… and {more:,} more: see .key_value_metadata"))
    keys = text.plural(view.num_keys, "key")
    return _section("Key-value metadata", keys, _tag("dl", *entries, class_="pq-keys"))


def _section(title: str, count: str, *content: _Markup, is_open: bool = False) -> _Markup:
    summary = _tag("summary", title, " ", _tag("span", count, class_="pq-muted"))
    body = _tag("div", *content, class_="pq-rows")
    return _tag("details", summary, body, open="" if is_open else None)


# -------------------------------------------------------------------------------------- markup


def _tag(name: str, *children: str, **attributes: str | None) -> _Markup:
    """An element. Attributes, and children that are no markup, are escaped; None is left out."""
    inside = "".join(
        child if isinstance(child, _Markup) else escape(child, quote=False) for child in children
    )
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return _Markup(f"<{name}{words}>{inside}</{name}>")


def _list(class_: str, items: Iterable[_Markup]) -> _Markup:
    # Not ul and li: notebooks style those themselves.
    return _tag("div", *items, role="list", class_=class_)


def _join(*parts: _Markup) -> _Markup:
    return _Markup("".join(parts))


def _spaced(*cells: str) -> Iterator[str]:
    """The cells with spaces between them, so that they stand apart without the style as well."""
    for cell in cells:
        yield cell if isinstance(cell, _Markup) else _tag("span", cell)
        yield " "


def _name(name: str, length: int = _NAME_CHARACTERS) -> _Markup:
    """Text from the file: on one line, clipped, its writing direction kept to itself."""
    shown = text.visible(name)
    title = _title(name) if len(shown) > length else None
    return _tag("bdi", _tag("code", text.clip(shown, length)), title=title)


def _number(shown: str, class_: str = "") -> _Markup:
    return _tag("span", shown, class_=f"pq-number {class_}".rstrip())


def _text(words: str, length: int) -> str:
    return text.clip(text.visible(words), length)


def _title(words: str) -> str:
    return text.clip(text.visible(words), _TITLE_CHARACTERS)
