"""What is read of one column chunk when the user asks for it: pages, a page, the dictionary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from pqlab import text
from pqlab.errors import PqlabError, SelectionError
from pqlab.footer.bloom_filter import BloomFilter
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.inspector import bloom
from pqlab.inspector.costs import Costs
from pqlab.inspector.grid import spans
from pqlab.inspector.screens import chunk_facts, clipped, pages_table
from pqlab.inspector.state import State
from pqlab.inspector.tables import Table, TableColumn, of_count
from pqlab.plan.picks import ordinals
from pqlab.plan.selection import narrow
from pqlab.reader import ParquetFile
from pqlab.tables import cell

_HEX_BYTES, _VALUES = 512, 50
ASKS_ABOVE_BYTES = 16 << 20
_HEX_LINE = 16
_FIELD_BYTES, _FIELD_CHARACTERS = 32, 200
_DICTIONARY = (of_count("index", "index"), TableColumn("value", "value"))


@dataclass(slots=True)
class Chunk:
    """A chunk and what is known of it by now; None: not read."""

    row_group: int
    leaf: int
    pages: pl.DataFrame | None = None
    has_headers: bool = False
    dictionary: pl.DataFrame | None = None
    bloom_filter: BloomFilter | None = None
    page: dict[str, Any] | None = None
    is_sure: bool = False  # that a large dictionary is wanted
    _words: pl.Series | None = None  # of the dictionary, as they are searched

    def load(self, file: ParquetFile, what: str, state: State) -> None:
        """Read what the user asks for. Raises what reading raises."""
        if what in ("pages", "headers"):
            self.has_headers = self.has_headers or what == "headers"
            self.pages = file.pages(self.row_group, self.leaf, headers=self.has_headers)
        elif what == "dictionary" and self._asks(file.metadata) and not self.is_sure:
            self.is_sure = True  # when it is asked for again
        elif what == "dictionary":
            entries = file.dictionary(self.row_group, self.leaf)
            self.dictionary = pl.DataFrame(
                {"index": pl.int_range(len(entries), eager=True), "value": entries}
            )
        elif what == "bloom filter":
            self.bloom_filter = file.bloom_filter(self.row_group, self.leaf)
        elif what == "page" and state.page is not None:
            self.page = self._load_page(file, state.page)
        else:
            raise SelectionError(f"there is no {what!r} to read")

    def _load_page(self, file: ParquetFile, page: int) -> dict[str, Any]:
        key = self.row_group, self.leaf
        header = list(struct_lines(file.page_header(*key, page)))
        frame = file.pages(*key)
        found = frame.filter(pl.col("page") == page)
        offset, total = found.row(0, named=True)["offset"], found["total_bytes"][0]
        (data,) = file.source.read([(offset, offset + min(total, _HEX_BYTES))])
        values: list[str] = []
        if page >= 0:
            read = file.read(self.leaf, pages={key: page})
            values = [cell(value) for value in read.to_series()[:_VALUES].to_list()]
        elif self.dictionary is not None:
            values = [cell(value) for value in self.dictionary["value"][:_VALUES].to_list()]
        return {
            "page": page,
            "header": header,
            "values": values,
            "hex": hex_lines(bytes(data[: min(total, _HEX_BYTES)]), offset),
            "hex_left_out": text.size(max(total - _HEX_BYTES, 0)) if total > _HEX_BYTES else "",
        }

    def body(self, file: ParquetFile, state: State, costs: Costs) -> dict[str, Any]:
        """What the chunk's screen shows but the rows of its tables."""
        metadata = file.metadata
        row = metadata.chunk_row(self.row_group, self.leaf)
        present = int(metadata.chunks.present[row])
        has_index = bool(present & Present.OFFSET_INDEX)
        index_bytes = int(metadata.chunks.offset_index_length[row]) + int(
            metadata.chunks.column_index_length[row]
        )
        return {
            "row_group": self.row_group,
            "leaf": self.leaf,
            "column": clipped(metadata.leaves[self.leaf].column),
            "tab": state.tab,
            "page": state.page,
            "sections": chunk_facts(metadata, self.row_group, self.leaf),
            "pages": self._head(file, state, "pages", costs),
            "picked_pages": self._picked(file, state),
            "to_read": "the page index, " + text.size(index_bytes)
            if has_index
            else "the page headers, one after the other",
            "has_headers": self._has_headers(file),
            "dictionary": self._head(file, state, "dictionary", costs),
            "dictionary_to_read": self._dictionary_to_read(file.metadata),
            "is_dictionary_large": self.is_sure and self.dictionary is None,
            "bloom": bloom.body(
                metadata, self.row_group, self.leaf, self.bloom_filter, state.probe
            ),
            "search": state.search,
            "page_content": self.page if self.page and self.page["page"] == state.page else None,
        }

    def _has_headers(self, file: ParquetFile) -> bool:
        """Whether the page headers are read, too: without an index there is no other way."""
        row = file.metadata.chunk_row(self.row_group, self.leaf)
        return self.has_headers or not int(file.metadata.chunks.present[row]) & Present.OFFSET_INDEX

    def _head(self, file: ParquetFile, state: State, name: str, costs: Costs) -> Any:
        table = self.table(file, state, name, costs)
        return None if table is None else table.head(state.order(name))

    def _picked(self, file: ParquetFile, state: State) -> list[tuple[int, int]]:
        """The picked pages of this chunk, as half-open spans."""
        if self.pages is None or state.selection.pages is None:
            return []
        try:
            picked = narrow(state.selection, file.metadata, file.name).pages
        except PqlabError:
            return []
        count = int((self.pages["page"] >= 0).sum())
        mine = picked.get((self.row_group, self.leaf), ())
        return spans(ordinals(mine, count, "page", strict=False))

    def _dictionary_bytes(self, metadata: FileMetaData) -> int:
        """The size of its dictionary page, as the footer has it; 0: there is none."""
        row = metadata.chunk_row(self.row_group, self.leaf)
        offset = int(metadata.chunks.dictionary_page_offset[row])
        return max(int(metadata.chunks.data_page_offset[row]) - offset, 0) if offset > 0 else 0

    def _asks(self, metadata: FileMetaData) -> bool:
        return self._dictionary_bytes(metadata) > ASKS_ABOVE_BYTES

    def _dictionary_to_read(self, metadata: FileMetaData) -> str:
        size_bytes = self._dictionary_bytes(metadata)
        return f"the dictionary page, {text.size(size_bytes)}" if size_bytes else ""

    def table(self, file: ParquetFile, state: State, name: str, costs: Costs) -> Table | None:
        """The table of this name, sorted as the user wants it; None: not read."""
        if name == "pages" and self.pages is not None:
            table = pages_table(costs.joined(self.pages), has_headers=self._has_headers(file))
            return table.sorted(state.order("pages"))
        if name == "dictionary" and self.dictionary is not None:
            frame = self.dictionary
            if state.search:
                if self._words is None:
                    self._words = pl.Series(map(cell, frame["value"]), dtype=pl.String)
                frame = frame.filter(self._words.str.contains(state.search, literal=True))
            return Table(frame, _DICTIONARY, "index").sorted(state.order("dictionary"))
        return None


def struct_lines(struct: Any, level: int = 0) -> Iterator[str]:
    """The fields of a raw struct that are there, a line each, those of a struct in it indented."""
    for name, value in vars(struct).items():
        indent = "  " * level
        if hasattr(value, "thrift_spec"):
            yield f"{indent}{name}"
            yield from struct_lines(value, level + 1)
        elif value is not None:
            names = getattr(struct, "thrift_spec", {}).values()
            enum = next((field[2] for field in names if field[1] == name and len(field) > 3), None)
            yield f"{indent}{name} = {_field(value, enum)}"


def _field(value: Any, enum: Any) -> str:
    if isinstance(value, bytes):
        return f"{text.from_bytes(value, _FIELD_BYTES)} ({text.plural(len(value), 'byte')})"
    named = getattr(enum, "_VALUES_TO_NAMES", {}).get(value)
    shown = text.clip(text.visible(str(value)), _FIELD_CHARACTERS)
    return shown if named is None else f"{named} ({shown})"


def hex_lines(data: bytes, offset: int) -> list[str]:
    """Bytes in hexadecimal, with their offset in the file and what of them is ASCII."""
    lines = []
    for start in range(0, len(data), _HEX_LINE):
        part = data[start : start + _HEX_LINE]
        ascii_text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{offset + start:>12,}  {part.hex(' '):<47}  {ascii_text}")
    return lines
