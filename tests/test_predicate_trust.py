"""What bounds are trusted to rule out: the rules row by row; corrupt indexes and filters."""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from edited_footers import rewritten
from polars.testing import assert_frame_equal

import pqlab
from pqlab.footer import raw

Change = Callable[[Any], None]


def written(values: Any, kind: pa.DataType, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": pa.array(values, kind)}), sink, row_group_size=4, **options)
    return sink.getvalue()


def each(change: Change) -> Change:
    """The change of the statistics of every chunk."""

    def change_all(footer: Any) -> None:
        for group in footer.row_groups:
            change(group.columns[0].meta_data.statistics)

    return change_all


def both(*changes: Change) -> Change:
    def change_all(footer: Any) -> None:
        for change in changes:
            change(footer)

    return change_all


def set_to(**fields: Any) -> Change:
    def change(struct_: Any) -> None:
        for name, value in fields.items():
            setattr(struct_, name, value)

    return change


def legacy(statistics: Any) -> None:
    """The bounds in the deprecated fields alone."""
    statistics.min, statistics.max = statistics.min_value, statistics.max_value
    statistics.min_value = statistics.max_value = None


def created_by(words: str) -> Change:
    return set_to(created_by=words)


def annotated(**annotation: Any) -> Change:
    """Another logical type on the column."""

    def change(footer: Any) -> None:
        names = raw.idl()
        element = footer.schema[1]
        element.converted_type = None
        [(name, fields)] = annotation.items()
        element.logicalType = names.LogicalType(**{name: getattr(names, fields)()})

    return change


def order(name: str) -> Change:
    def change(footer: Any) -> None:
        names = raw.idl()
        kinds = {"IEEE_754_TOTAL_ORDER": "IEEE754TotalOrder", "TYPE_ORDER": "TypeDefinedOrder"}
        footer.column_orders = [names.ColumnOrder(**{name: getattr(names, kinds[name])()})]

    return change


def unknown_order(footer: Any) -> None:
    footer.column_orders = [raw.idl().ColumnOrder()]


# pyarrow writes the deprecated bounds of signed numbers, too.
NO_ORDER = both(set_to(column_orders=None), each(set_to(min=None, max=None)))


def packed(low: float, high: float) -> dict[str, bytes]:
    return {"min_value": struct.pack("<d", low), "max_value": struct.pack("<d", high)}


def NONE(_: Any) -> None:  # noqa: N802  # a row of the table
    """Nothing is changed."""


INTS, TEXTS = [1, 2, 3, None, 5, 6, 7, 8], ["a", "b", "c", None, "e", "f", "g", "h"]
FLOATS = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
INT, UINT, TEXT, FLOAT = pa.int64(), pa.uint32(), pa.string(), pa.float64()

# (the rule, values, type, what is changed of the footer, where, the row groups that are left)
TRUST: list[tuple[str, list[Any], pa.DataType, Change, str, list[int]]] = [
    ("bounds rule out", INTS, INT, NONE, "a == 6", [1]),
    ("no column orders: no bounds", INTS, INT, NO_ORDER, "a == 6", [0, 1]),
    ("an unknown order: no bounds", INTS, INT, both(NO_ORDER, unknown_order),
     "a == 6", [0, 1]),
    ("legacy bounds of signed numbers", INTS, INT,
     both(set_to(column_orders=None), each(legacy)), "a == 6", [1]),
    ("legacy bounds of unsigned numbers", [1, 2, 3, 4, 5, 6, 7, 8], UINT, each(legacy),
     "a == 6", [0, 1]),
    ("legacy bounds of text", TEXTS, TEXT, each(legacy), "a == 'f'", [0, 1]),
    ("PARQUET-251", TEXTS, TEXT, created_by("parquet-mr version 1.7.0"), "a == 'f'", [0, 1]),
    ("PARQUET-1025", TEXTS, TEXT, created_by("parquet-mr version 1.9.0"), "a == 'f'", [0, 1]),
    ("of a later version", TEXTS, TEXT, created_by("parquet-mr version 1.10.0"), "a == 'f'", [1]),
    ("of another type", INTS, INT, created_by("parquet-mr version 1.7.0"), "a == 6", [1]),
    ("a NaN is no bound", FLOATS, FLOAT, each(set_to(**packed(math.nan, math.nan))),
     "a < 0", [0, 1]),
    ("nor beside a number", FLOATS, FLOAT, each(set_to(**packed(1, math.nan))), "a < 0", [0, 1]),
    ("nor in IEEE's order", FLOATS, FLOAT,
     both(order("IEEE_754_TOTAL_ORDER"), each(set_to(**packed(math.nan, math.nan)))),
     "a < 0", [0, 1]),
    ("a minimum of +0 may stand for -0", FLOATS, FLOAT, each(set_to(**packed(0.0, 9))),
     "a <= -0.0", [0, 1]),
    ("a maximum of -0 for +0", FLOATS, FLOAT, each(set_to(**packed(-9, -0.0))), "a >= 0", [0, 1]),
    ("no nan_count: NaN is above all", FLOATS, FLOAT, NONE, "a > 4", [0, 1]),
    ("nan_count of 0", FLOATS, FLOAT, each(set_to(nan_count=0)), "a > 4", [1]),
    ("nan_count of 1", FLOATS, FLOAT, each(set_to(nan_count=1)), "a > 4", [0, 1]),
    ("NaN is not below", FLOATS, FLOAT, NONE, "a < 5", [0]),
    ("no null_count is not 0", INTS, INT, each(set_to(null_count=None)), "a is None", [0, 1]),
    ("null_count", INTS, INT, NONE, "a is None", [0]),
    ("all null", [None] * 4 + [1, 2, 3, 4], INT, NONE, "a is not None", [1]),
    ("is_*_exact is not asked", TEXTS, TEXT,
     each(set_to(is_min_value_exact=False, is_max_value_exact=None)), "a == 'f'", [1]),
    ("one bound is better than none", INTS, INT, each(set_to(max_value=None)), "a < 5", [0]),
    ("of the wrong length", INTS, INT, each(set_to(max_value=b"12")), "a == 6", [0, 1]),
    ("INT96 has no order of its own here", [1, 2, 3, 4, 5, 6, 7, 8], pa.timestamp("ns"),
     NONE, 'a == datetime("1970-01-01T00:00:00")', [0, 1]),
    ("INTERVAL has none", [b"\0" * 12] * 8, pa.binary(12), annotated(UUID="UUIDType"),
     "a == b''", [0, 1]),
    ("VARIANT has none", TEXTS, pa.binary(), annotated(VARIANT="VariantType"), "a == b'f'", [0, 1]),
    ("GEOMETRY has none", TEXTS, pa.binary(), annotated(GEOMETRY="GeometryType"),
     "a == b'f'", [0, 1]),
    ("GEOGRAPHY has none", TEXTS, pa.binary(), annotated(GEOGRAPHY="GeographyType"),
     "a == b'f'", [0, 1]),
    ("JSON has bytes' order", TEXTS, TEXT, annotated(JSON="JsonType"), "a == 'f'", [1]),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "values", "kind", "change", "where", "left"), TRUST)
def test_statistics(  # noqa: PLR0917  # a row of the table
    rule: str, values: list[Any], kind: pa.DataType, change: Change, where: str, left: list[int]
) -> None:
    is_int96 = rule.startswith("INT96")
    data = written(values, kind, use_deprecated_int96_timestamps=is_int96, use_dictionary=False)
    file = pqlab.open(rewritten(data, change), cache=None)
    selection = file.select(where=where)
    assert list(selection.rows) == left, rule
    assert list(file.select(where=where, prune=False).rows) == [0, 1]
    if rule.startswith(("INTERVAL", "no", "of the wrong", "bounds", "legacy")):
        assert_frame_equal(selection.read(), file.read(where=where, prune=False))


def test_lists_and_maps_have_no_order() -> None:
    table = pa.table({"a": [[1], [2]], "k": [1, 2]})
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=1)
    file = pqlab.open(sink.getvalue())
    where = pl.col("a").list.len() > 5
    assert list(file.select(where=where).rows) == [0, 1]
    assert set(file.find("a.list.element", 2)["row_group"]) == {0, 1}


# ---- the page index

PAGES = {"max_rows_per_page": 2, "write_page_index": True, "use_dictionary": False}


def with_index(data: bytes, change: Change) -> bytes:
    """The file with a column index of each chunk that `change` has changed, behind its data."""
    from edited_footers import footer_bytes, with_footer
    from thriftpy2.protocol.compact import TCompactProtocol
    from thriftpy2.transport.memory import TMemoryBuffer

    footer_bytes_ = footer_bytes(data)
    assert footer_bytes_ is not None
    footer, body = raw.file_metadata(footer_bytes_), data[: -8 - len(footer_bytes_)]
    for group in footer.row_groups:
        chunk = group.columns[0]
        start, size = chunk.column_index_offset, chunk.column_index_length
        index = raw.column_index(data[start : start + size])
        change(index)
        buffer = TMemoryBuffer()
        TCompactProtocol(buffer).write_struct(index)
        chunk.column_index_offset, made = len(body), bytes(buffer.getvalue())
        chunk.column_index_length = len(made)
        body += made
    buffer = TMemoryBuffer()
    TCompactProtocol(buffer).write_struct(footer)
    return with_footer(body + data[-8 - len(footer_bytes_) :], bytes(buffer.getvalue()))


def pages_left(file: pqlab.ParquetFile, where: str) -> list[tuple[int, int]]:
    selection = file.select(where=where)
    return [(group, ends[0]) for group, ranges in selection.rows.items() for ends in ranges]


def nan_bounds(index: Any) -> None:
    index.min_values = [struct.pack("<d", math.nan)] * 2
    index.max_values = list(index.min_values)


def first_page_is_null(index: Any) -> None:
    """What bounds such a page has is not read."""
    index.null_pages = [True, False]
    index.min_values = [b"nonsense", index.min_values[1]]
    index.max_values = [b"nonsense", index.max_values[1]]


INDEX: list[tuple[str, list[Any], pa.DataType, Change, str, list[tuple[int, int]]]] = [
    ("bounds rule out", INTS, INT, NONE, "a == 6", [(1, 0)]),
    ("bounds of null pages are not read", INTS, INT, first_page_is_null, "a == 7", [(1, 2)]),
    ("a NaN is no bound", FLOATS, FLOAT, nan_bounds, "a < 2", [(0, 0)]),
    ("no nan_count: NaN is above all", FLOATS, FLOAT, NONE, "a > 4", [(0, 0), (1, 0)]),
    ("NaN is not below", FLOATS, FLOAT, NONE, "a < 3", [(0, 0)]),
    ("no null_counts: not 0", INTS, INT, set_to(null_counts=None), "a is None", [(0, 0)]),
    ("null_counts", INTS, INT, NONE, "a is None", [(0, 2)]),
]


@pytest.mark.parametrize(("rule", "values", "kind", "change", "where", "left"), INDEX)
def test_column_index(  # noqa: PLR0917  # a row of the table
    rule: str,
    values: list[Any],
    kind: pa.DataType,
    change: Change,
    where: str,
    left: list[tuple[int, int]],
) -> None:
    data = with_index(written(values, kind, **PAGES), change)
    assert pages_left(pqlab.open(data, cache=None), where) == left, rule
    untrusted = rewritten(data, NO_ORDER)
    if "None" not in where and "null" not in rule:
        assert pages_left(pqlab.open(untrusted, cache=None), where) == [(0, 0), (1, 0)]


@pytest.mark.parametrize(
    "change",
    [
        set_to(null_pages=[True]),
        set_to(min_values=[b""]),
        set_to(max_values=[]),
        set_to(null_counts=[1, 2, 3]),
    ],
)
def test_a_corrupt_column_index_is_passed_over(change: Change) -> None:
    data = with_index(written(INTS, INT, **PAGES), change)
    file = pqlab.open(data, cache=None)
    selection = file.select(where="a == 6")
    assert selection.read().to_dict(as_series=False) == {"a": [6]}
    assert selection.pruned is not None
    assert any("column index is not used" in warning for warning in selection.pruned.warnings)
    assert any("column index is not used" in warning for warning in selection.plan().warnings)
    assert any("column index is not used" in warning for warning in file.info.warnings)
    assert "warning: " in str(selection.explain())


def test_damaged_index_bytes() -> None:
    """Whatever stands in the indexes: results are right, or the read is refused by name."""
    data = written(INTS * 4, INT, **PAGES)
    expected = pqlab.read(data, where="a == 6 or a is None", cache=None)
    starts = pqlab.open(data, cache=None).metadata.chunks.column_index_offset.tolist()
    assert len(starts) == 8
    random = np.random.default_rng(7)
    for _ in range(100):
        changed = bytearray(data)
        chunk = int(random.integers(0, 8))
        # Not in the bounds themselves: a bound that lies is believed.
        at = int(random.integers(starts[chunk], starts[chunk] + 6))
        changed[at] ^= 1 << int(random.integers(0, 8))
        file = pqlab.open(bytes(changed), cache=None)
        selection = file.select(where="a == 6 or a is None")
        found = selection.read()
        assert selection.pruned is not None
        if not found.equals(expected):  # only a null page that lies may hide values
            assert at - starts[chunk] < 6
            assert found.height < expected.height


def test_a_corrupt_bloom_filter_is_passed_over() -> None:
    options = {"bloom_filter_options": {"a": {"ndv": 10, "fpp": 0.01}}, "use_dictionary": False}
    data = written([1, 3, 5, 9, 2, 4, 8, 9], INT, **options)
    assert list(pqlab.open(data, cache=None).select(where="a == 4").rows) == [1]
    start = int(pqlab.open(data, cache=None).metadata.chunks.bloom_filter_offset[0])
    damaged = pqlab.open(data[:start] + b"\xff" + data[start + 1 :], cache=None)
    selection = damaged.select(where="a == 4")
    assert list(selection.rows) == [0, 1]
    assert selection.read().height == 1
    assert selection.pruned is not None
    assert any("the bloom filter is not used" in each for each in selection.pruned.warnings)
    states = selection.explain().frame.filter(pl.col("page").is_null())["bloom_filter"]
    assert states.to_list() == ["no filter", "maybe"]
