"""What each screen shows but its tables' rows: small values, ready for JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl

from pqlab import text
from pqlab.footer.chunk_frames import column_chunks_frame
from pqlab.footer.key_values import decoded
from pqlab.footer.metadata import FileMetaData
from pqlab.inspector.state import State
from pqlab.inspector.tables import (
    NOT_READ,
    Table,
    TableColumn,
    duration,
    listed,
    of_count,
    of_size,
    ratio,
    size,
)
from pqlab.overview.view import Part, View
from pqlab.tables import cell

_NAME_CHARACTERS, _VALUE_CHARACTERS, _VALUE_LINES = 200, 500, 60
_OF_HEADERS = ("type", "encoding", "uncompressed_page_size", "compression_ratio")
_DICTIONARY = ("PLAIN_DICTIONARY", "RLE_DICTIONARY")

_BOUNDS = (
    TableColumn("min_text", "min"),
    TableColumn("max_text", "max"),
    TableColumn("bounds_state", "bounds"),
)
_COLUMN = (
    TableColumn("row_group", "row group", is_number=True),
    of_count("num_values", "values"),
    of_count("null_count", "nulls"),
    of_size("total_compressed_size", "compressed"),
    of_size("total_uncompressed_size", "uncompressed"),
    TableColumn("compression_ratio", "ratio", ratio, is_number=True),
    TableColumn("codec", "codec"),
    TableColumn("data_page_encodings", "encodings of data pages", listed),
    TableColumn("fell_back", "dictionary"),
    of_size("dictionary_bytes", "its size"),
    *_BOUNDS,
)
_PAGES = (
    TableColumn("page", "page", is_number=True),
    TableColumn("type", "type"),
    TableColumn("encoding", "encoding"),
    of_count("num_values", "values"),
    of_count("num_rows", "rows"),
    of_count("first_row", "first row"),
    of_count("num_nulls", "nulls"),
    of_count("offset", "offset"),
    of_size("total_bytes", "stored"),
    of_size("uncompressed_page_size", "uncompressed"),
    TableColumn("compression_ratio", "ratio", ratio, is_number=True),
    *_BOUNDS,
    TableColumn("read_ns", "last read", duration, is_number=True),
    TableColumn("prefetch", "prefetch"),
)


def clipped(value: str, length: int = _NAME_CHARACTERS) -> str:
    """Text of a file, on one line and not longer than this."""
    return text.clip(text.visible(value), length)


def identity(view: View) -> dict[str, Any]:
    """What stands above every screen."""
    return {
        "title": clipped(view.title),
        "subtitle": clipped(view.subtitle),
        "figures": view.figures,
    }


def overview(view: View) -> dict[str, Any]:
    """The file at a glance."""
    return {
        "kinds": _parts(view.kinds),
        "parts": _parts(view.parts),
        "facts": [
            {"name": fact.name, "value": clipped(fact.value), "is_warning": fact.is_warning}
            for fact in view.facts
        ],
        "schema": [
            {
                "name": clipped(row.name),
                "leaf": row.leaf,
                "level": row.depth + 1,
                "type": clipped(row.type, 60),
                "repetition": row.repetition,
                "storage": row.storage,
                "nulls": row.nulls,
                "size": text.size(row.compressed_bytes),
                "ratio": row.ratio,
            }
            for row in view.schema_rows()
        ],
        "num_left_out": view.num_schema_rows_left_out,
        "keys": [
            (clipped(key), *_value_lines(key, value)) for key, value in view.key_value_metadata
        ],
        "num_keys": view.num_keys,
    }


def _parts(parts: Sequence[Part]) -> list[dict[str, Any]]:
    whole_bytes = sum(max(part.size_bytes, 0) for part in parts)
    return [
        {
            "name": clipped(part.name),
            "size": text.size(part.size_bytes),
            "share": text.share(part.size_bytes, whole_bytes),
            "bytes": part.size_bytes,
            "kind": part.kind,
            "ordinal": part.ordinal,
        }
        for part in parts
        if part.size_bytes > 0
    ]


def _value_lines(key: str, value: str | None) -> tuple[str, list[str]]:
    """A value of the key-value metadata on one line, and decoded, if it is known how."""
    if value is None:
        return text.ABSENT, []
    lines = decoded(key, value)
    return clipped(value, _VALUE_CHARACTERS), [clipped(line) for line in lines[:_VALUE_LINES]]


def column_table(metadata: FileMetaData, leaf: int) -> Table:
    """A column across the row groups."""
    frame = column_chunks_frame(metadata, leaves=[leaf])
    dictionary_bytes = pl.col("data_page_offset") - pl.col("dictionary_page_offset")
    encodings = pl.col("data_page_encodings")
    has = encodings.list.set_intersection(list(_DICTIONARY)).list.len() > 0
    others = encodings.list.set_difference(list(_DICTIONARY)).list.len() > 0
    frame = frame.with_columns(
        pl.when(dictionary_bytes > 0).then(dictionary_bytes).alias("dictionary_bytes"),
        pl.when(has & others)
        .then(pl.lit("⚠ fell back"))
        .when(has)
        .then(pl.lit("all pages"))
        .when(~has)
        .then(pl.lit("not used"))
        .otherwise(pl.lit("unknown"))
        .alias("fell_back"),
    )
    return Table(frame, _COLUMN, "row_group")


def pages_table(frame: pl.DataFrame, *, has_headers: bool) -> Table:
    """The pages of a chunk; `frame` has read_ns and prefetch, too.

    Without page headers, what only they say is not absent, but not read.
    """
    if has_headers:
        return Table(frame, _PAGES, "page")
    columns = [
        column._replace(show=_or_not_read(column.show)) if column.name in _OF_HEADERS else column
        for column in _PAGES
    ]
    return Table(frame, columns, "page")


def _or_not_read(show: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: NOT_READ if value is None else show(value)


def chunk_facts(metadata: FileMetaData, row_group: int, leaf: int) -> list[Any]:
    """A chunk in sections: [title, [[name, value], ...]]."""
    row = column_chunks_frame(metadata, [row_group], [leaf]).row(0, named=True)
    node = metadata.leaves[leaf]
    return [
        [
            "Identity",
            [
                ["column", clipped(node.column)],
                ["leaf", str(leaf)],
                ["row group", str(row_group)],
                ["physical type", cell(node.physical_type)],
                ["logical type", cell(node.logical_type and str(node.logical_type))],
                [
                    "levels",
                    (
                        f"{node.max_definition_level} definition, "
                        f"{node.max_repetition_level} repetition"
                    ),
                ],
            ],
        ],
        [
            "Storage",
            [
                ["codec", row["codec"]],
                ["compressed", size(row["total_compressed_size"])],
                ["uncompressed", size(row["total_uncompressed_size"])],
                ["ratio", ratio(row["compression_ratio"])],
                ["encodings of data pages", listed(row["data_page_encodings"])],
                ["encodings listed", listed(row["encodings"])],
                ["data pages", _known(row["num_data_pages"])],
            ],
        ],
        [
            "Content",
            [
                ["values", _known(row["num_values"])],
                ["nulls", _known(row["null_count"])],
                ["distinct values", _known(row["distinct_count"])],
                ["NaNs", _known(row["nan_count"])],
                ["minimum", cell(row["min_text"])],
                ["maximum", cell(row["max_text"])],
                ["bounds", row["bounds_state"]],
            ],
        ],
        [
            "Layout",
            [
                ["dictionary page", _at(row["dictionary_page_offset"], None)],
                ["first data page", _at(row["data_page_offset"], None)],
                ["offset index", _at(row["offset_index_offset"], row["offset_index_length"])],
                ["column index", _at(row["column_index_offset"], row["column_index_length"])],
                ["bloom filter", _at(row["bloom_filter_offset"], row["bloom_filter_length"])],
                ["encrypted", cell(row["is_encrypted"])],
            ],
        ],
    ]


def _known(value: int | None) -> str:
    return text.ABSENT if value is None else f"{value:,}"


def _at(offset: int | None, length: int | None) -> str:
    if offset is None:
        return "none"
    return f"at {offset:,}" + ("" if length is None else f", {text.size(length)}")


def crumbs(metadata: FileMetaData, state: State, title: str) -> Iterator[dict[str, Any]]:
    """The way to where the user is: labels, and the action that leads there."""
    yield {"label": clipped(title, 60), "go": {"screen": "overview"}}
    if state.screen in ("column", "chunk") and state.leaf is not None:
        leaf = state.leaf
        name = clipped(metadata.leaves[leaf].column, 60)
        if state.screen == "chunk":
            yield {"label": f"row group {state.row_group}", "go": {"screen": "grid"}}
        yield {"label": name, "go": {"screen": "column", "leaf": leaf}}
        if state.screen == "chunk" and state.tab == "page" and state.page is not None:
            yield {"label": f"page {state.page}", "go": {"screen": "chunk", "tab": "page"}}


_TOP = {"screen": "overview"}


def up(state: State) -> dict[str, Any] | None:
    """The action that leads one step back towards the file; None: there is none."""
    if state.screen == "chunk" and state.tab == "page":
        return {"screen": "chunk", "tab": "pages"}
    if state.screen == "chunk":
        return {"screen": "column"}
    return {"column": {"screen": "grid"}, "grid": _TOP, "timing": _TOP, "compare": _TOP}.get(
        state.screen
    )
