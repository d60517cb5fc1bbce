"""Files with a column for every type in every encoding, in any shape, page version and codec.

Written by hand, since no one writer can: deltas and byte streams below lists, legacy lists, levels
that are BIT_PACKED, rows that span pages, ALP.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, Literal, NamedTuple, TypedDict

from dremel import (
    LIST,
    MAP,
    UTF8,
    Entry,
    Node,
    columns_file,
    cut_to_pages,
    page_of,
    shred,
)
from encoders import DEFINED, FRAMINGS, UNCOMPRESSED, compress, dictionary_of, plain
from handmade import Page
from logical_types import LOGICAL, LogicalType

ROWS = 41  # of a row group
ROW_GROUPS = 2
PAGE_ENTRIES = 17
SEED = 20_240_611

DATE, TIME_MILLIS, TIME_MICROS, TIMESTAMP_MICROS, DECIMAL, INTERVAL = 6, 7, 8, 10, 5, 21
INT_8, UINT_16, UINT_32, UINT_64 = 15, 12, 13, 14


class Type(NamedTuple):
    """`word` as in a `Node`; `value`: the i-th of its values, some of them extreme."""

    word: str
    element: dict[str, Any]
    value: Callable[[int], Any]

    @property
    def physical(self) -> str:
        return Node(f"required {self.word} x").physical


def _decimal(precision: int, **more: int) -> dict[str, Any]:
    return {"converted_type": DECIMAL, "precision": precision, "scale": 2, **more}


def _int96(i: int) -> bytes:
    return struct.pack("<qi", i * 1_000_000_007, 2_440_588 + i * 97)


WORDS = ("", "a", "twelve bytes", "thirteen byte", "ünïcödé €uro 𝄞", "longer than a view holds ")

TYPES = {
    "boolean": Type("boolean", {}, lambda i: i % 3 == 0),
    "int32": Type("int32", {}, lambda i: (-1) ** i * (2**31 - 1) // (i + 1)),
    "int8": Type("int32", {"converted_type": INT_8}, lambda i: i * 7 - 128),
    "uint16": Type("int32", {"converted_type": UINT_16}, lambda i: 65_535 - i),
    "uint32": Type("int32", {"converted_type": UINT_32}, lambda i: -(i + 1)),
    "date": Type("int32", {"converted_type": DATE}, lambda i: i * 1_000 - 9_000),
    "time_ms": Type("int32", {"converted_type": TIME_MILLIS}, lambda i: 86_399_999 - i),
    "decimal32": Type("int32", _decimal(9), lambda i: 999_999_999 - i * 68_965_517),
    "int64": Type("int64", {}, lambda i: (-1) ** i * (2**63 - 1) // (i + 1)),
    "uint64": Type("int64", {"converted_type": UINT_64}, lambda i: -(i + 1)),
    "time_us": Type("int64", {"converted_type": TIME_MICROS}, lambda i: 86_399_999_999 - i),
    "timestamp_us": Type("int64", {"converted_type": TIMESTAMP_MICROS}, lambda i: i**9 - 10**15),
    "decimal64": Type("int64", _decimal(18), lambda i: 10**17 - i * 123_456_789_012_345),
    "int96": Type("int96", {}, _int96),
    "float": Type("float", {}, lambda i: [(i + 1) / 100, -0.0, float("inf"), 1e-40][i % 4]),
    "double": Type("double", {}, lambda i: [(i + 1) / 100, -0.0, float("-inf"), 5e-324][i % 4]),
    "binary": Type("binary", {}, lambda i: bytes(range(256))[i : i + i % 20]),
    "string": Type(
        "binary", {"converted_type": UTF8}, lambda i: (WORDS[i % 6] + "x" * (i // 6)).encode()
    ),
    "decimal_bytes": Type(
        "binary", _decimal(38), lambda i: (i - 9).to_bytes(1 + i % 16, "big", signed=True)
    ),
    "fixed": Type("fixed", {"type_length": 5}, lambda i: bytes([i, 0, 255, i, i * 2])),
    "uuid": Type("fixed", {"type_length": 16}, lambda i: bytes(range(i, i + 16))),
    "float16": Type("fixed", {"type_length": 2}, lambda i: bytes([i, 0x3C + i % 2 * 128])),
    "decimal_fixed": Type(
        "fixed",
        _decimal(20, type_length=9),
        lambda i: (i * 10**15 - 9).to_bytes(9, "big", signed=True),
    ),
}  # fmt: skip
DISTINCT = 30  # values of a type

# Of what a file has a column for each encoding: by default the physical types, of all sorts.
Types = Literal["stored", "logical"]
TABLES: dict[Types, Mapping[str, Type | LogicalType]] = {"stored": TYPES, "logical": LOGICAL}


def columns_of(types: Types = "stored") -> list[tuple[str, str]]:
    """The (type, encoding) of each column."""
    table = TABLES[types].items()
    return [(name, encoding) for name, type_ in table for encoding in DEFINED[type_.physical]]


COLUMNS = columns_of()

# Text of the nodes above a leaf `x`, from the root; {} is the leaf's repetition and type.
Shape = Callable[[str, dict[str, Any]], Node]


def _leaf(repetition: str, name: str) -> Shape:
    return lambda word, element: Node(f"{repetition} {word} {name}", element=element)


def _list(repetition: str, element: Shape, name: str = "element") -> Shape:
    return lambda word, more: Node(
        f"{repetition} group {name}", [Node("repeated group list", [element(word, more)])], LIST
    )


def _map(word: str, element: dict[str, Any]) -> Node:
    entries = [
        Node("required binary key", annotation=UTF8),
        Node(f"optional {word} value", element=element),
    ]
    return Node("optional group c", [Node("repeated group key_value", entries)], MAP)


SHAPES: dict[str, Shape] = {
    "required": _leaf("required", "c"),
    "optional": _leaf("optional", "c"),
    "optional in optional": lambda word, more: Node(
        "optional group c", [Node("optional group a", [_leaf("optional", "b")(word, more)])]
    ),
    "repeated": _leaf("repeated", "c"),
    "list": _list("optional", _leaf("optional", "element"), "c"),
    "required list of required": _list("required", _leaf("required", "element"), "c"),
    "list of lists": _list("optional", _list("optional", _leaf("optional", "element")), "c"),
    "list of two levels": lambda word, more: Node(
        "optional group c", [_leaf("repeated", "array")(word, more)], LIST
    ),
    "list of structs": lambda word, more: Node(
        "required group c",
        [
            Node(
                "repeated group list",
                [
                    Node(
                        "optional group element",
                        [_leaf("optional", "a")(word, more), Node("required int32 sibling")],
                    ),
                ],
            ),
        ],
        LIST,
    ),
    "map": _map,
}


class Layout(TypedDict, total=False):
    """As `page_of` takes it."""

    v2: bool
    bit_packed: bool


# BIT_PACKED levels were only ever in v1.
LAYOUTS: dict[str, Layout] = {"v1": {}, "v1, BIT_PACKED": {"bit_packed": True},
                                       "v2": {"v2": True}}  # fmt: skip


def _records(root: Node, type_: Type | LogicalType, rng: random.Random) -> list[Any]:
    def content(node: Node) -> Any:
        if node.children:
            return {child.name: value(child) for child in node.children}
        if node.name == "key":
            return rng.choice(WORDS)
        return rng.randrange(9) if node.name == "sibling" else type_.value(rng.randrange(DISTINCT))

    def value(node: Node) -> Any:
        if node.repetition == "repeated":
            size = rng.choice([0, 1, 1, 2, 3]) if rng.random() < 0.97 else 2 * PAGE_ENTRIES + 3
            return [content(node) for _ in range(size)]
        return None if node.repetition == "optional" and rng.random() < 0.2 else content(node)

    return [value(root) for _ in range(ROWS)]


class Written(NamedTuple):
    """A column of the file: `entries` and `pages` (not compressed) by row group, then by leaf."""

    root: Node
    entries: list[list[list[Entry]]]
    pages: list[list[list[Page]]]


def _pages(leaf: Node, entries: list[Entry], encoding: str, layout: Layout) -> list[Page]:
    if leaf.name in ("key", "sibling"):
        encoding = "PLAIN"
    parts = cut_to_pages(entries, PAGE_ENTRIES, at_rows=layout.get("v2", False))
    if encoding != "RLE_DICTIONARY":
        return [page_of(leaf, part, encoding=encoding, **layout) for part in parts]
    values = dictionary_of([value for _, d, value in entries if d == leaf.max_definition])
    return [
        Page(plain(leaf.physical, values), len(values), dictionary=True),
        *(
            page_of(leaf, part, encoding=encoding, dictionary=values, **layout)
            for part in parts[:-1]
        ),
        page_of(leaf, parts[-1], **layout),  # the writer fell back, as writers do
    ]


def _written(shape: str, layout: str, types: Types, name: str, encoding: str) -> Written:
    type_ = TABLES[types][name]
    root = SHAPES[shape](type_.word, type_.element)
    root.text = f"{root.repetition} {root.text.split()[1]} {name}-{encoding}"
    rng = random.Random(f"{SEED} {shape} {name}")  # the same values in every encoding
    entries = [shred(root, _records(root, type_, rng)) for _ in range(ROW_GROUPS)]
    pages = [
        [
            _pages(leaf, of_leaf, encoding, LAYOUTS[layout])
            for leaf, of_leaf in zip(root.leaves(), group, strict=True)
        ]
        for group in entries
    ]
    return Written(root, entries, pages)


@cache
def written(shape: str, layout: str, types: Types = "stored") -> list[Written]:
    """Of each of `columns_of(types)` what stands in the file."""
    return [_written(shape, layout, types, *column) for column in columns_of(types)]


def _compressed(page: Page, codec: int, compressor: Callable[[bytes], bytes]) -> Page:
    if codec == UNCOMPRESSED:
        return page
    levels = 0
    if page.v2 is not None:
        levels = page.v2["repetition_levels_byte_length"]
        levels += page.v2["definition_levels_byte_length"]
    values = page.body[levels:]
    body = page.body[:levels] + (compressor(values) if values else b"")
    return replace(page, body=body, uncompressed=len(page.body))


def matrix_file(
    shape: str, layout: str, codec: int, framing: str | None = None, types: Types = "stored"
) -> bytes:
    """A column `TYPE-ENCODING` for each of `columns_of(types)`, in `ROW_GROUPS` groups of `ROWS`.

    `framing`: of `FRAMINGS`, in the codec's place.
    """
    codec, compressor = FRAMINGS[framing] if framing else (codec, partial(compress, codec))
    columns = written(shape, layout, types)
    groups = [
        [
            [_compressed(page, codec, compressor) for page in pages]
            for column in columns
            for pages in column.pages[group]
        ]
        for group in range(ROW_GROUPS)
    ]
    return columns_file([column.root for column in columns], groups, [ROWS] * ROW_GROUPS, codec)
