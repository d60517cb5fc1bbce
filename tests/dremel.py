"""Nested records to Parquet files, by hand: shredded to levels, cut into pages anywhere.

A record is what the schema says, field by field: a group is a dict, an optional field may be None,
a repeated field is a list. What the records mean, lists and maps and all, is another matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from handmade import BIT_PACKED, PHYSICAL, PLAIN, RLE, Page, packed, prefixed, thrift

from pqlab.footer import raw

REPETITIONS = ("required", "optional", "repeated")
LIST, MAP, MAP_KEY_VALUE, UTF8 = 3, 1, 2, 0  # ConvertedType
Entry = tuple[int, int, Any]  # repetition level, definition level, value


@dataclass
class Node:
    """A schema element: `required int32 a`, `optional group b LIST`."""

    text: str
    children: list[Node] = field(default_factory=list)
    annotation: int | None = None
    logical: bool = False  # the annotation as LogicalType, without the ConvertedType
    max_definition: int = 0
    max_repetition: int = 0

    @property
    def repetition(self) -> str:
        return self.text.split()[0]

    @property
    def name(self) -> str:
        return self.text.split()[2]

    @property
    def physical(self) -> str:
        return {"int32": "INT32", "binary": "BYTE_ARRAY", "boolean": "BOOLEAN"}[
            self.text.split()[1]
        ]

    def levelled(self, definition: int = 0, repetition: int = 0) -> Node:
        self.max_definition = definition + (self.repetition != "required")
        self.max_repetition = repetition + (self.repetition == "repeated")
        for child in self.children:
            child.levelled(self.max_definition, self.max_repetition)
        return self

    def leaves(self) -> list[Node]:
        return [leaf for child in self.children for leaf in child.leaves()] or [self]


def shred(root: Node, records: list[Any]) -> list[list[Entry]]:
    """The entries of each leaf."""
    root.levelled()
    out: dict[int, list[Entry]] = {id(leaf): [] for leaf in root.leaves()}

    def absent(node: Node, r: int, d: int) -> None:
        for leaf in node.leaves():
            out[id(leaf)].append((r, d, None))

    def content(node: Node, value: Any, r: int) -> None:
        if not node.children:
            out[id(node)].append((r, node.max_definition, value))
        for child in node.children:
            whole(child, value[child.name], r, node.max_definition)

    def whole(node: Node, value: Any, r: int, d: int) -> None:
        if node.repetition == "repeated":
            if not value:
                absent(node, r, d)
            for at, item in enumerate(value):
                content(node, item, node.max_repetition if at else r)
        elif value is None:
            absent(node, r, d)
        else:
            content(node, value, r)

    for record in records:
        whole(root, record, 0, 0)
    return [out[id(leaf)] for leaf in root.leaves()]


def plain(physical: str, values: list[Any]) -> bytes:
    if physical == "INT32":
        return b"".join(value.to_bytes(4, "little", signed=True) for value in values)
    if physical == "BYTE_ARRAY":
        return b"".join(prefixed(value.encode()) for value in values)
    return packed([int(value) for value in values], 1)[1:] if values else b""


def levels(values: list[int], most: int) -> bytes:
    return packed(values, most.bit_length()) if values else b""


def high_first(values: list[int], most: int) -> bytes:
    bits = "".join(f"{value:0{most.bit_length()}b}" for value in values)
    return bytes(int(bits[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(bits), 8))


def page_of(
    leaf: Node, entries: list[Entry], *, v2: bool = False, bit_packed: bool = False
) -> Page:
    values = plain(leaf.physical, [value for _, d, value in entries if d == leaf.max_definition])
    sides = [
        ([entry[side] for entry in entries], most)
        for side, most in ((0, leaf.max_repetition), (1, leaf.max_definition))
    ]
    if v2:
        r, d = (levels(*side) if side[1] else b"" for side in sides)
        rows = sum(entry[0] == 0 for entry in entries)
        return Page(
            r + d + values,
            len(entries),
            v2={
                "num_rows": rows,
                "repetition_levels_byte_length": len(r),
                "definition_levels_byte_length": len(d),
                "num_nulls": sum(entry[1] < leaf.max_definition for entry in entries),
            },
        )
    if bit_packed:
        body = b"".join(high_first(*side) for side in sides if side[1])
        return Page(
            body + values,
            len(entries),
            level_encoding=BIT_PACKED,
            repetition_encoding=BIT_PACKED,
        )
    body = b"".join(prefixed(levels(*side)) for side in sides if side[1])
    return Page(body + values, len(entries), PLAIN, level_encoding=RLE)


def nested_file(root: Node, pages: list[list[Page]], num_rows: int) -> bytes:
    """A file with one column whose leaves have these pages."""
    p = raw.idl()
    schema = [p.SchemaElement(name="schema", num_children=1)]
    paths: dict[int, list[str]] = {}

    def add(node: Node, above: list[str]) -> None:
        element = p.SchemaElement(
            name=node.name, repetition_type=REPETITIONS.index(node.repetition)
        )
        paths[id(node)] = [*above, node.name]
        if node.children:
            element.num_children = len(node.children)
        else:
            element.type = PHYSICAL.index(node.physical)
        if node.logical:
            kinds = {
                LIST: p.LogicalType(LIST=p.ListType()),
                MAP: p.LogicalType(MAP=p.MapType()),
                UTF8: p.LogicalType(STRING=p.StringType()),
            }
            element.logicalType = kinds[node.annotation or 0]
        else:
            element.converted_type = node.annotation
        schema.append(element)
        for child in node.children:
            add(child, paths[id(node)])

    add(root.levelled(), [])
    data, chunks = b"PAR1", []
    for leaf, its_pages in zip(root.leaves(), pages, strict=True):
        start = len(data)
        data += b"".join(page.written() for page in its_pages)
        chunks.append(
            p.ColumnChunk(
                file_offset=0,
                meta_data=p.ColumnMetaData(
                    type=PHYSICAL.index(leaf.physical),
                    encodings=[PLAIN],
                    path_in_schema=paths[id(leaf)],
                    codec=0,
                    num_values=sum(page.num_values for page in its_pages),
                    total_uncompressed_size=len(data) - start,
                    total_compressed_size=len(data) - start,
                    data_page_offset=start,
                ),
            )
        )
    group = p.RowGroup(columns=chunks, total_byte_size=len(data), num_rows=num_rows)
    footer = thrift(p.FileMetaData(version=1, schema=schema, num_rows=num_rows, row_groups=[group]))
    return data + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def records_file(
    root: Node,
    records: list[Any],
    *,
    page_entries: int = 1 << 20,
    v2: bool = False,
    bit_packed: bool = False,
) -> bytes:
    """The records in pages of about so many entries: v2 pages end with a row, v1 pages anywhere."""
    pages = []
    for leaf, entries in zip(root.leaves(), shred(root, records), strict=True):
        cuts = [0]
        for at in range(1, len(entries)):
            if at - cuts[-1] >= page_entries and (not v2 or entries[at][0] == 0):
                cuts.append(at)
        parts = [entries[a:b] for a, b in zip(cuts, [*cuts[1:], len(entries)], strict=True)]
        pages.append([page_of(leaf, part, v2=v2, bit_packed=bit_packed) for part in parts])
    return nested_file(root, pages, len(records))
