"""Nested columns by the specification: legacy shapes, any levels, levels that are wrong."""

from __future__ import annotations

from typing import Any

import pytest
from decoding import read_columns, read_frame, read_table
from dremel import (
    LIST,
    MAP,
    MAP_KEY_VALUE,
    UTF8,
    Node,
    nested_file,
    page_of,
    records_file,
    shred,
)
from hypothesis import given, settings, strategies as st

import pqlab
from pqlab.errors import CorruptError, LimitError


def text(name: str, repetition: str = "required") -> Node:
    return Node(f"{repetition} binary {name}", annotation=UTF8)


def map_of(
    annotation: int, *fields: Node, inside: int | None = None, logical: bool = False
) -> Node:
    entries = Node("repeated group map", list(fields), inside)
    return Node("optional group m", [entries], annotation, logical)


WORDS = ("", "a", "longer than twelve bytes", "ünïcödé €uro 𝄞")

# The examples of LogicalTypes.md and their kin: schema, records, what they mean.
SHAPES: dict[str, tuple[Node, list[Any], list[Any]]] = {
    "a repeated value without annotation": (Node("repeated int32 x"), [[1, 2], []], [[1, 2], []]),
    "a repeated group without annotation": (
        Node("repeated group x", [Node("required int32 a"), text("b", "optional")]),
        [[{"a": 1, "b": None}, {"a": 2, "b": "z"}], []],
        [[{"a": 1, "b": None}, {"a": 2, "b": "z"}], []],
    ),
    "repeated fields in repeated groups": (
        Node("optional group x", [Node("repeated group y", [Node("repeated int32 z")])]),
        [{"y": [{"z": [1, 2]}, {"z": []}]}, None, {"y": []}],
        [{"y": [{"z": [1, 2]}, {"z": []}]}, None, {"y": []}],
    ),
    "three levels": (
        Node(
            "optional group x",
            [Node("repeated group list", [text("element", "optional")])],
            LIST,
        ),
        [{"list": [{"element": "a"}, {"element": None}]}, None, {"list": []}],
        [["a", None], None, []],
    ),
    "a logical type without a converted one": (
        Node("optional group x", [Node("repeated group list", [text("element")])], LIST, True),
        [{"list": [{"element": "a"}]}, None, {"list": []}],
        [["a"], None, []],
    ),
    "three levels of other names": (
        Node("required group x", [Node("repeated group element", [text("str")])], LIST),
        [{"element": [{"str": "a"}, {"str": "b"}]}, {"element": []}],
        [["a", "b"], []],
    ),
    "rule 1: a repeated value": (
        Node("optional group x", [Node("repeated int32 element")], LIST),
        [{"element": [1, 2]}, None, {"element": []}],
        [[1, 2], None, []],
    ),
    "rule 2: several fields": (
        Node(
            "optional group x",
            [Node("repeated group element", [text("str"), Node("required int32 num")])],
            LIST,
        ),
        [{"element": [{"str": "a", "num": 1}]}, None],
        [[{"str": "a", "num": 1}], None],
    ),
    "rule 3: a list of lists in two levels": (
        Node(
            "optional group x",
            [Node("repeated group array", [Node("repeated int32 array")], LIST)],
            LIST,
        ),
        [{"array": [{"array": [1, 2]}, {"array": []}]}, None],
        [[[1, 2], []], None],
    ),
    "rule 3: one field that repeats": (
        Node("optional group x", [Node("repeated group list", [Node("repeated int32 y")])], LIST),
        [{"list": [{"y": [1, 2]}, {"y": []}]}, None],
        [[{"y": [1, 2]}, {"y": []}], None],
    ),
    "rule 4: named array": (
        Node("optional group x", [Node("repeated group array", [text("str")])], LIST),
        [{"array": [{"str": "a"}]}, None],
        [[{"str": "a"}], None],
    ),
    "rule 4: named after the list": (
        Node("optional group x", [Node("repeated group x_tuple", [text("str", "optional")])], LIST),
        [{"x_tuple": [{"str": "a"}, {"str": None}]}, None],
        [[{"str": "a"}, {"str": None}], None],
    ),
    "rule 5: one optional field": (
        Node("optional group x", [Node("repeated group element", [text("str", "optional")])], LIST),
        [{"element": [{"str": "a"}, {"str": None}]}, None],
        [["a", None], None],
    ),
    "LIST over what does not repeat is a struct": (
        Node("optional group x", [Node("optional int32 y")], LIST),
        [{"y": 1}, {"y": None}, None],
        [{"y": 1}, {"y": None}, None],
    ),
    "a map": (
        map_of(MAP, text("str"), Node("optional int32 num"), inside=MAP_KEY_VALUE),
        [{"map": [{"str": "a", "num": 1}, {"str": "b", "num": None}]}, None, {"map": []}],
        [[{"key": "a", "value": 1}, {"key": "b", "value": None}], None, []],
    ),
    "a map by its logical type": (
        map_of(MAP, text("key"), Node("required int32 value"), logical=True),
        [{"map": [{"key": "a", "value": 1}]}, None],
        [[{"key": "a", "value": 1}], None],
    ),
    "MAP_KEY_VALUE in place of MAP": (
        map_of(MAP_KEY_VALUE, text("key"), Node("optional int32 value")),
        [{"map": [{"key": "a", "value": None}]}, None],
        [[{"key": "a", "value": None}], None],
    ),
    "a map of keys only": (
        map_of(MAP, text("k"), inside=MAP_KEY_VALUE),
        [{"map": [{"k": "a"}, {"k": "b"}]}, None],
        [[{"key": "a"}, {"key": "b"}], None],
    ),
    "a map of lists": (
        map_of(
            MAP,
            text("key"),
            Node("optional group value", [Node("repeated int32 array")], LIST),
        ),
        [{"map": [{"key": "a", "value": {"array": [1]}}, {"key": "b", "value": None}]}],
        [[{"key": "a", "value": [1]}, {"key": "b", "value": None}]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str) -> None:
    root, records, expected = SHAPES[name]
    layouts: list[dict[str, Any]] = [
        {},
        {"page_entries": 1},
        {"v2": True, "page_entries": 2},
        {"bit_packed": True},
    ]
    for layout in layouts:
        data = records_file(root, records, **layout)
        table = read_table(data)
        table.validate(full=True)
        assert table.column(0).to_pylist() == expected, layout
        assert read_frame(data).to_series(0).to_list() == expected, layout


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_any_records_in_any_pages(draw: st.DataObject) -> None:
    """Plain trees of groups and repeated fields, whose records are what they mean."""

    def tree(depth: int, name: str) -> Node:
        repetition = draw.draw(st.sampled_from(["required", "optional", "repeated"]))
        if depth == 0 or draw.draw(st.booleans()):
            kind = draw.draw(st.sampled_from(["int32", "binary", "boolean"]))
            return Node(
                f"{repetition} {kind} {name}", annotation=UTF8 if kind == "binary" else None
            )
        children = [tree(depth - 1, f"f{at}") for at in range(draw.draw(st.integers(1, 3)))]
        return Node(f"{repetition} group {name}", children)

    def content(node: Node) -> Any:
        if node.children:
            return {child.name: value(child) for child in node.children}
        kinds = {"INT32": st.integers(-9, 9), "BOOLEAN": st.booleans()}
        return draw.draw(kinds.get(node.physical, st.sampled_from(WORDS)))

    def value(node: Node) -> Any:
        if node.repetition == "repeated":
            return [content(node) for _ in range(draw.draw(st.integers(0, 3)))]
        return None if node.repetition == "optional" and draw.draw(st.booleans()) else content(node)

    root = tree(3, "x")
    records = [value(root) for _ in range(draw.draw(st.integers(1, 8)))]
    layout = draw.draw(st.sampled_from([{}, {"v2": True}, {"bit_packed": True}]))
    data = records_file(root, records, page_entries=draw.draw(st.integers(1, 9)), **layout)
    assert read_table(data).column(0).to_pylist() == records
    start = draw.draw(st.integers(0, len(records)))
    stop = draw.draw(st.integers(start, len(records)))
    with pqlab.open(data) as file:
        part = file.select(rows=(start, stop)).to_arrow()
        assert part.column(0).to_pylist() == records[start:stop]


# ----------------------------------------------------------------------------- what is wrong

PAIR = Node(
    "optional group x",
    [Node("repeated group list", [Node("required int32 a"), Node("optional int32 b")])],
    LIST,
).levelled()


Pages = list[list[tuple[int, int, Any]]]  # the entries of a leaf's pages


def pair_file(*leaves: Pages, rows: int, v2: bool = False) -> bytes:
    pages = [
        [page_of(leaf, entries, v2=v2) for entries in pages]
        for leaf, pages in zip(PAIR.leaves(), leaves, strict=True)
    ]
    return nested_file(PAIR, pages, rows)


GOOD_A = [(0, 2, 1), (1, 2, 2), (0, 0, None)]
GOOD_B = [(0, 3, 1), (1, 2, None), (0, 0, None)]


def test_the_pair_is_good() -> None:
    data = pair_file([GOOD_A], [GOOD_B], rows=2)
    assert read_table(data)["x"].to_pylist() == [[{"a": 1, "b": 1}, {"a": 2, "b": None}], None]


@pytest.mark.parametrize(
    ("leaves", "rows", "words"),
    [
        (([[(1, 2, 1)]], [GOOD_B]), 1, "row must begin where the page does"),
        (([[(0, 2, 1)], [(1, 2, 1)]], [[(0, 2, None)], [(1, 2, None)]]), 2, "the pages hold 1 row"),
        (([GOOD_A], [GOOD_B]), 1, "the pages hold 2 rows or more"),
        (([[(0, 0, None), (1, 2, 1)]], [GOOD_B]), 1, "no element"),
        (([[(0, 2, 1), (1, 1, None)]], [GOOD_B]), 1, "no element"),
        (([[(0, 0, None)], [(1, 2, 1)]], [GOOD_B]), 1, "no element"),
        (([GOOD_A], [[(0, 2, None), (0, 2, None)]]), 2, "differ on the lists"),
        (([GOOD_A], [[(0, 2, None), (1, 2, None), (0, 1, None)]]), 2, "differ on the lists"),
    ],
)
def test_levels_that_contradict(leaves: tuple[Any, Any], rows: int, words: str) -> None:
    with pytest.raises(CorruptError, match=words) as caught:
        read_table(pair_file(*leaves, rows=rows))
    assert {"file", "row_group", "column"} <= set(caught.value.place)


def test_a_v2_page_begins_with_a_row() -> None:
    a: Pages = [[(0, 2, 1)], [(1, 2, 2), (0, 0, None)]]
    b: Pages = [[(0, 2, None)], [(1, 2, None), (0, 0, None)]]
    assert len(read_table(pair_file(a, b, rows=2))) == 2
    with pytest.raises(CorruptError, match="row must begin where the page does") as caught:
        read_table(pair_file(a, b, rows=2, v2=True))
    assert caught.value.page == 1


def test_levels_above_the_maximum() -> None:
    pages = [[page_of(leaf, GOOD_A)] for leaf in PAIR.leaves()]
    pages[0] = [page_of(PAIR.leaves()[0], [(0, 2, 1), (0, 3, None)])]
    with pytest.raises(CorruptError, match=r"above the column's maximum, at definition level 1"):
        read_table(nested_file(PAIR, pages, 2))
    page = pages[1][0]
    page.body = page.body[:5]  # within the repetition levels
    with pytest.raises(CorruptError, match="repetition level 0") as caught:
        read_table(nested_file(PAIR, [[page_of(PAIR.leaves()[0], GOOD_A)], [page]], 2))
    assert caught.value.page == 0


def test_levels_of_more_values_than_memory() -> None:
    page = page_of(PAIR.leaves()[0], GOOD_A)
    page.num_values = 1 << 31 - 1
    data = nested_file(PAIR, [[page] * 40, [page] * 40], 2)
    with pytest.raises(LimitError, match="read_bytes"):
        read_columns(data, limits=pqlab.Limits(read_bytes=1 << 30))


def test_entries_and_records_of_the_shredder() -> None:
    """The hand-made levels are those of the Dremel paper, section 4."""
    name = Node("repeated group Name", [
        Node("repeated group Language", [text("Code"), text("Country", "optional")]),
        text("Url", "optional"),
    ])  # fmt: skip
    document = [
        {"Language": [{"Code": "en-us", "Country": "us"}, {"Code": "en", "Country": None}],
         "Url": "http://A"},
        {"Language": [], "Url": "http://B"},
        {"Language": [{"Code": "en-gb", "Country": "gb"}], "Url": None},
    ]  # fmt: skip
    code, country, url = shred(name, [document, [{"Language": [], "Url": "http://C"}]])
    assert code == [(0, 2, "en-us"), (2, 2, "en"), (1, 1, None), (1, 2, "en-gb"), (0, 1, None)]
    assert country == [(0, 3, "us"), (2, 2, None), (1, 1, None), (1, 3, "gb"), (0, 1, None)]
    assert url == [(0, 2, "http://A"), (1, 2, "http://B"), (1, 1, None), (0, 2, "http://C")]
