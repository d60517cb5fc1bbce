from __future__ import annotations

import io
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pqlab.errors import SelectionError
from pqlab.footer.metadata import FileMetaData
from pqlab.io.footer import load_metadata
from pqlab.io.source import open_source
from pqlab.plan.columns import find_leaf
from pqlab.plan.picks import Slice
from pqlab.plan.selection import Selection, find_row_group, narrow

# leaf: 0 name, 1 address.name, 2 address.geo.lat, 3 address.geo.lon, 4 tags, 5 a.b, 6 a > b,
# 7 twice, 8 twice
SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        (
            "address",
            pa.struct(
                [
                    ("name", pa.string()),
                    ("geo", pa.struct([("lat", pa.float64()), ("lon", pa.float64())])),
                ]
            ),
        ),
        ("tags", pa.list_(pa.int32())),
        ("a.b", pa.int32()),
        ("a", pa.struct([("b", pa.int32())])),
        ("twice", pa.int32()),
        ("twice", pa.int64()),
    ]
)


@cache
def metadata(num_rows: int = 10, row_group_size: int = 4) -> FileMetaData:
    sink = io.BytesIO()
    columns = [pa.nulls(num_rows, field.type) for field in SCHEMA]
    with pq.ParquetWriter(sink, SCHEMA) as writer:
        writer.write_table(pa.Table.from_arrays(columns, schema=SCHEMA), row_group_size)
    return load_metadata(open_source(sink.getvalue()))


def leaves(columns: Any) -> list[int]:
    return list(narrow(Selection.of(columns), metadata(), "f").leaves)


def rows(**picked: Any) -> dict[int, Any]:
    return narrow(Selection.of(**picked), metadata(), "f").rows


def test_nothing_given_is_everything() -> None:
    found = narrow(Selection.of(), metadata(), "f")
    assert found.leaves == tuple(range(9))
    assert found.rows == {0: ((0, 4),), 1: ((0, 4),), 2: ((0, 2),)}
    assert Selection.of().arguments() == ""


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("name", [0]),
        ("address.name", [1]),
        (("address", "name"), [1]),
        ("address", [1, 2, 3]),
        ("address.geo", [2, 3]),
        ([("address", "geo"), "name"], [0, 2, 3]),
        ("tags", [4]),
        (("a.b",), [5]),
        (("a", "b"), [6]),
        (8, [8]),
        (-1, [8]),
        ([3, 0, 0, "name"], [0, 3]),
        (np.int64(2), [2]),
        (range(2), [0, 1]),
        (np.array([1, 4]), [1, 4]),
        ("^a", None),
        ("^na.*$", [0]),
        ("^.*name$", [0, 1]),
        ("^address$", [1, 2, 3]),
        ("^.*l(at|on)$", [2, 3]),
        ("^tw.ce$", [7, 8]),
        ([], []),
    ],
)
def test_columns(columns: Any, expected: list[int] | None) -> None:
    if expected is None:
        with pytest.raises(SelectionError, match=r"there is no column '\^a'"):
            leaves(columns)
    else:
        assert leaves(columns) == expected


def test_a_name_that_is_not_unique_lists_the_ordinals() -> None:
    with pytest.raises(
        SelectionError, match=r"'twice' is not unique.*7 \('twice'\), 8 \('twice'\)"
    ) as caught:
        leaves("twice")
    assert caught.value.file == "f"
    assert "tuple" not in str(caught.value)
    with pytest.raises(
        SelectionError, match=r"'a.b' is not unique.*5 \('a.b'\), 6 \('a.b'\).*tuple"
    ):
        leaves("a.b")


def test_an_unknown_name_gives_near_matches() -> None:
    with pytest.raises(
        SelectionError, match=r"no column 'adress.name'.*Near matches: 'address.name'"
    ):
        leaves("adress.name")
    with pytest.raises(
        SelectionError, match=r"no column 'zzz'.*There are 'name', 'address.name', "
    ):
        leaves("zzz")
    with pytest.raises(SelectionError, match=r"no column \('a', 'c'\)"):
        leaves(("a", "c"))
    with pytest.raises(SelectionError, match="no column matches"):
        leaves("^zzz$")
    with pytest.raises(SelectionError, match="not a regular expression"):
        leaves("^(a$")
    with pytest.raises(SelectionError, match="there is no leaf column 9: they are 0 to 8"):
        leaves(9)


@pytest.mark.parametrize(
    "columns", [1.5, True, b"name", {"name": 1}, [None], [()], [("a", 1)], object()]
)
def test_what_is_no_column(columns: Any) -> None:
    with pytest.raises(SelectionError, match="column"):
        Selection.of(columns)


@pytest.mark.parametrize(
    ("row_groups", "expected"),
    [
        (1, [1]),
        (-1, [2]),
        ([2, 0, 0], [0, 2]),
        (slice(1, None), [1, 2]),
        (slice(None, 99), [0, 1, 2]),
        (slice(0, 3, 2), [0, 2]),
        (range(2), [0, 1]),
        ([slice(0, 1), -1], [0, 2]),
        ([], []),
    ],
)
def test_row_groups(row_groups: Any, expected: list[int]) -> None:
    assert list(rows(row_groups=row_groups)) == expected


@pytest.mark.parametrize(
    "row_groups",
    [
        "0",
        1.0,
        True,
        None.__class__,
        slice("a", None),
        slice(None, None, 0),
        slice(3, 0, -1),
        {0: 1},
    ],
)
def test_what_is_no_row_group(row_groups: Any) -> None:
    with pytest.raises(SelectionError, match="row_groups"):
        Selection.of(row_groups=row_groups)


def test_a_row_group_out_of_range() -> None:
    with pytest.raises(SelectionError, match="there is no row group 3: they are 0 to 2"):
        rows(row_groups=[0, 3])
    with pytest.raises(SelectionError, match="there is no row group -4"):
        rows(row_groups=-4)


@pytest.mark.parametrize(
    ("picked", "expected"),
    [
        ((0, 10), {0: ((0, 4),), 1: ((0, 4),), 2: ((0, 2),)}),
        ((3, 5), {0: ((3, 4),), 1: ((0, 1),)}),
        ((5, 5), {}),
        ([(9, 10), (0, 1), (1, 3)], {0: ((0, 3),), 2: ((1, 2),)}),
        (slice(-3, None), {1: ((3, 4),), 2: ((0, 2),)}),
        (slice(8, 999), {2: ((0, 2),)}),
        (range(4, 6), {1: ((0, 2),)}),
        ([slice(0, 1), (4, 5)], {0: ((0, 1),), 1: ((0, 1),)}),
        ([], {}),
    ],
)
def test_rows(picked: Any, expected: dict[int, Any]) -> None:
    assert rows(rows=picked) == expected


@pytest.mark.parametrize(
    "picked",
    [5, (5, 4), (-1, 2), (1, 2, 3), "0:2", slice(0, 5, 2), [(0, 1), 3], (0.0, 1.0), {0: 1}],
)
def test_what_are_no_rows(picked: Any) -> None:
    with pytest.raises(SelectionError, match="rows cannot be"):
        Selection.of(rows=picked)


def test_rows_beyond_the_end() -> None:
    with pytest.raises(SelectionError, match="not all in the file, which has 10"):
        rows(rows=(5, 11))


def test_what_is_given_intersects() -> None:
    assert rows(rows=(3, 9), row_groups=[1, 2]) == {1: ((0, 4),), 2: ((0, 1),)}


def test_pages_by_row_group_and_column() -> None:
    found = narrow(Selection.of(pages={(1, "name"): 0, (2, -1): slice(0, 1)}), metadata(), "f")
    assert list(found.rows) == [1, 2]
    assert found.pages == {(1, 0): (0,), (2, 8): (Slice(0, 1, None),)}
    assert found.strict_pages == {(1, 0), (2, 8)}
    found = narrow(Selection.of(pages={"name": [0], (1, "tags"): 0}), metadata(), "f")
    assert list(found.rows) == [0, 1, 2]
    assert sorted(found.pages) == [(0, 0), (1, 0), (1, 4), (2, 0)]
    assert found.strict_pages == {(1, 4)}
    found = narrow(Selection.of(pages={("address", "name"): 0}, row_groups=2), metadata(), "f")
    assert found.pages == {(2, 1): (0,)}


def test_pages_that_cannot_be() -> None:
    for pages in ([0], {"name": "0"}, {1.5: 0}, {(0, 1, 2): 0}):
        with pytest.raises(SelectionError):
            Selection.of(pages=pages)
    with pytest.raises(
        SelectionError, match=r"one leaf column is wanted, and .address. has 3.*1 .*address.name"
    ):
        rows(pages={"address": 0})
    with pytest.raises(SelectionError, match="twice") as caught:
        rows(pages={"name": 0, (1, 0): 0})
    assert (caught.value.row_group, caught.value.column, caught.value.file) == (1, "name", "f")
    with pytest.raises(SelectionError, match="there is no row group 7"):
        rows(pages={(7, "name"): 0})


@pytest.mark.parametrize(
    "picked",
    [
        {"columns": ["name", ("a.b",), 3, "^x$"]},
        {"row_groups": [0, slice(1, None), slice(None, None, 2)]},
        {"row_groups": 2},
        {"pages": {"name": 0, (1, "tags"): [slice(0, 3), 7], (1, ("a", "b")): -1}},
        {"rows": (3, 9), "columns": "name"},
        {"rows": [(0, 1), slice(-3, None)]},
        {"columns": [], "row_groups": [], "rows": []},
    ],
)
def test_arguments_build_the_selection_again(picked: dict[str, Any]) -> None:
    selection = Selection.of(**picked)
    again = eval(f"Selection.of({selection.arguments()})")
    assert again == selection
    assert hash(again) == hash(selection)


def test_one_leaf_and_one_row_group() -> None:
    assert find_leaf("address.geo.lat", metadata()) == 2
    with pytest.raises(SelectionError, match="one leaf column is wanted"):
        find_leaf("address", metadata())
    assert find_row_group(-1, metadata()) == 2
    with pytest.raises(SelectionError, match="is not one row group"):
        find_row_group(slice(0, 2), metadata())
