"""Nested records to Parquet files, by hand: shredded to levels, cut into pages anywhere.

A record is what the schema says, field by field: a group is a dict, an optional field may be None,
a repeated field is a list. What the records mean, lists and maps and all, is another matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from encoders import ENCODINGS, encode, hybrid, indices
from handmade import BIT_PACKED, PHYSICAL, RLE, Page, prefixed, thrift

from pqlab.footer import raw

REPETITIONS = ("required", "optional", "repeated")
LIST, MAP, MAP_KEY_VALUE, UTF8 = 3, 1, 2, 0  # ConvertedType
Entry = tuple[int, int, Any]  # repetition level, definition level, value


TYPES = {"binary": "BYTE_ARRAY", "fixed": "FIXED_LEN_BYTE_ARRAY"}  # others are in capitals


@dataclass
class Node:
    """A schema element: `required int32 a`, `optional group b` annotated LIST."""

    text: str
    children: list[Node] = field(default_factory=list)
    annotation: int | None = None
    logical: bool = False  # the annotation as LogicalType, without the ConvertedType
    element: dict[str, Any] = field(default_factory=dict)  # more fields of the SchemaElement
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
        kind = self.text.split()[1]
        return TYPES.get(kind, kind.upper())

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


def levels(values: list[int], most: int) -> bytes:
    return hybrid(values, most.bit_length())


def high_first(values: list[int], most: int) -> bytes:
    bits = "".join(f"{value:0{most.bit_length()}b}" for value in values)
    return bytes(int(bits[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(bits), 8))


def page_of(
    leaf: Node,
    entries: list[Entry],
    *,
    v2: bool = False,
    bit_packed: bool = False,
    encoding: str = "PLAIN",
    dictionary: list[Any] | None = None,
) -> Page:
    values = [value for _, d, value in entries if d == leaf.max_definition]
    values = [value.encode() if isinstance(value, str) else value for value in values]
    if dictionary is None:
        body = encode(encoding, leaf.physical, values)
    else:
        body = indices(values, dictionary)
    sides = [
        ([entry[side] for entry in entries], most)
        for side, most in ((0, leaf.max_repetition), (1, leaf.max_definition))
    ]
    number = ENCODINGS[encoding]
    if v2:
        r, d = (levels(*side) if side[1] else b"" for side in sides)
        rows = sum(entry[0] == 0 for entry in entries)
        return Page(
            r + d + body,
            len(entries),
            number,
            v2={
                "num_rows": rows,
                "repetition_levels_byte_length": len(r),
                "definition_levels_byte_length": len(d),
                "num_nulls": sum(entry[1] < leaf.max_definition for entry in entries),
            },
        )
    if bit_packed:
        body = b"".join(high_first(*side) for side in sides if side[1]) + body
    else:
        body = b"".join(prefixed(levels(*side)) for side in sides if side[1]) + body
    level_encoding = BIT_PACKED if bit_packed else RLE
    return Page(
        body,
        len(entries),
        number,
        level_encoding=level_encoding,
        repetition_encoding=level_encoding,
    )


def nested_file(root: Node, pages: list[list[Page]], num_rows: int) -> bytes:
    """A file with one column whose leaves have these pages."""
    return columns_file([root], [pages], [num_rows])


def columns_file(
    roots: list[Node], row_groups: list[list[list[Page]]], nums_rows: list[int], codec: int = 0
) -> bytes:
    """A file of row groups, each with the pages of every leaf of these root columns."""
    p = raw.idl()
    schema = [p.SchemaElement(name="schema", num_children=len(roots))]
    paths: list[list[str]] = []

    def add(node: Node, above: list[str]) -> None:
        element = p.SchemaElement(
            name=node.name, repetition_type=REPETITIONS.index(node.repetition), **node.element
        )
        path = [*above, node.name]
        if node.children:
            element.num_children = len(node.children)
        else:
            element.type = PHYSICAL.index(node.physical)
            paths.append(path)
        if node.logical:
            kinds = {
                LIST: p.LogicalType(LIST=p.ListType()),
                MAP: p.LogicalType(MAP=p.MapType()),
                UTF8: p.LogicalType(STRING=p.StringType()),
            }
            element.logicalType = kinds[node.annotation or 0]
        elif node.annotation is not None:
            element.converted_type = node.annotation
        schema.append(element)
        for child in node.children:
            add(child, path)

    for root in roots:
        add(root.levelled(), [])
    leaves = [leaf for root in roots for leaf in root.leaves()]
    parts, size, groups = [b"PAR1"], 4, []
    for pages_of_leaves, num_rows in zip(row_groups, nums_rows, strict=True):
        chunks = []
        for leaf, path, pages in zip(leaves, paths, pages_of_leaves, strict=True):
            written = [page.written() for page in pages]
            parts += written
            chunk_bytes = sum(map(len, written))
            dictionary_bytes = len(written[0]) if pages and pages[0].dictionary else 0
            chunks.append(
                p.ColumnChunk(
                    file_offset=0,
                    meta_data=p.ColumnMetaData(
                        type=PHYSICAL.index(leaf.physical),
                        encodings=sorted({page.encoding for page in pages}),
                        path_in_schema=path,
                        codec=codec,
                        num_values=sum(page.num_values for page in pages if not page.dictionary),
                        total_uncompressed_size=chunk_bytes,
                        total_compressed_size=chunk_bytes,
                        data_page_offset=size + dictionary_bytes,
                        dictionary_page_offset=size if dictionary_bytes else None,
                    ),
                )
            )
            size += chunk_bytes
        groups.append(p.RowGroup(columns=chunks, total_byte_size=size, num_rows=num_rows))
    total = sum(nums_rows)
    footer = thrift(p.FileMetaData(version=1, schema=schema, num_rows=total, row_groups=groups))
    return b"".join([*parts, footer, len(footer).to_bytes(4, "little"), b"PAR1"])


def cut_to_pages(entries: list[Entry], page_entries: int, *, at_rows: bool) -> list[list[Entry]]:
    """Entries in parts of about so many; `at_rows`: which end where rows do."""
    cuts = [0]
    for at in range(1, len(entries)):
        if at - cuts[-1] >= page_entries and (not at_rows or entries[at][0] == 0):
            cuts.append(at)
    return [entries[a:b] for a, b in zip(cuts, [*cuts[1:], len(entries)], strict=True)]


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
        parts = cut_to_pages(entries, page_entries, at_rows=v2)
        pages.append([page_of(leaf, part, v2=v2, bit_packed=bit_packed) for part in parts])
    return nested_file(root, pages, len(records))
