"""What bounds are worth: the rules of trust one by one, and the states that frames show."""

from __future__ import annotations

import math
import struct
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from edited_footers import changed, metadata_of, written

from pqlab.footer.bounds import RULES, Writer, bounds_trust, parse_created_by
from pqlab.footer.chunk_frames import column_chunks_frame
from pqlab.footer.frames import statistics_frame
from pqlab.footer.schema import LogicalType as L
from pqlab.footer.types import SortOrder, TypeKey

NOW = Writer("parquet-cpp-arrow", (25, 0, 0))
I32: TypeKey = ("INT32", None, None)
U32: TypeKey = ("INT32", L("INTEGER", bit_width=32, is_signed=False), None)
F64: TypeKey = ("DOUBLE", None, None)
I96: TypeKey = ("INT96", None, None)
TEXT: TypeKey = ("BYTE_ARRAY", L("STRING"), None)
DECIMAL: TypeKey = ("FIXED_LEN_BYTE_ARRAY", L("DECIMAL", precision=9, scale=2), 4)
INTERVAL: TypeKey = ("FIXED_LEN_BYTE_ARRAY", L("INTERVAL"), 12)
NEW: TypeKey = ("BYTE_ARRAY", L("FIELD_42"), None)

# type, column order, writer -> are min_value and max_value trusted, are min and max
TRUST: list[tuple[TypeKey, str | None, Writer, bool, bool]] = [
    (I32, "TYPE_ORDER", NOW, True, True),
    (I32, None, NOW, False, True),
    (I32, "IEEE_754_TOTAL_ORDER", NOW, False, True),
    (U32, "TYPE_ORDER", NOW, True, False),
    (TEXT, "TYPE_ORDER", NOW, True, False),
    (F64, "TYPE_ORDER", NOW, True, True),
    (F64, "IEEE_754_TOTAL_ORDER", NOW, True, True),
    (I96, "TYPE_ORDER", NOW, False, False),
    (I96, "INT96_TIMESTAMP_ORDER", NOW, True, False),
    (I32, "INT96_TIMESTAMP_ORDER", NOW, False, True),
    (DECIMAL, "TYPE_ORDER", NOW, True, False),
    (INTERVAL, "TYPE_ORDER", NOW, False, False),
    (("BYTE_ARRAY", L("GEOMETRY"), None), "TYPE_ORDER", NOW, False, False),
    (("BYTE_ARRAY", L("GEOGRAPHY"), None), "TYPE_ORDER", NOW, False, False),
    (NEW, "TYPE_ORDER", NOW, False, False),
    (("INT32", L("STRING"), None), "TYPE_ORDER", NOW, False, False),  # may not stand there
    (TEXT, "TYPE_ORDER", Writer("parquet-mr", (1, 7, 9)), False, False),  # PARQUET-251
    (DECIMAL, "TYPE_ORDER", Writer("parquet-mr", (1, 7, 9)), False, False),
    (I32, "TYPE_ORDER", Writer("parquet-mr", (1, 7, 9)), True, True),
    (TEXT, "TYPE_ORDER", Writer("parquet-mr", (1, 9, 0)), False, False),
    (TEXT, "TYPE_ORDER", Writer("parquet-mr", None), False, False),
    (TEXT, "TYPE_ORDER", Writer("parquet-mr", (1, 10, 0)), True, False),
    (U32, "TYPE_ORDER", Writer("parquet-cpp", (1, 2, 9)), False, False),
    (U32, "TYPE_ORDER", Writer("parquet-cpp", (1, 3, 0)), True, False),
    (DECIMAL, "TYPE_ORDER", Writer("parquet-cpp", (1, 5, 1)), False, False),
    (DECIMAL, "TYPE_ORDER", Writer("parquet-cpp", (1, 6, 0)), True, False),
]


@pytest.mark.parametrize(("key", "order", "writer", "value", "legacy"), TRUST)
def test_trust(key: TypeKey, order: str | None, writer: Writer, value: bool, legacy: bool) -> None:
    trust = bounds_trust(key, order, writer)
    assert (trust.value_reason is None, trust.legacy_reason is None) == (value, legacy)


def test_every_rule_is_the_reason_somewhere() -> None:
    given = [bounds_trust(*case[:3]) for case in TRUST]
    reasons = {trust.value_reason for trust in given} | {trust.legacy_reason for trust in given}
    assert reasons >= {rule.reason for rule in RULES}


def test_orders() -> None:
    keys = [I32, U32, F64, I96, TEXT, DECIMAL, INTERVAL]
    assert [bounds_trust(key, "TYPE_ORDER", NOW).order for key in keys] == [
        SortOrder.SIGNED,
        SortOrder.UNSIGNED,
        SortOrder.FLOAT,
        SortOrder.INT96,
        SortOrder.UNSIGNED,
        SortOrder.SIGNED,
        SortOrder.UNDEFINED,
    ]


@pytest.mark.parametrize(
    ("created_by", "writer"),
    [
        ("parquet-mr version 1.8.1 (build 4aba4dae7bb0d4edbcf7923ae1339f28fd3f7fcf)",
         Writer("parquet-mr", (1, 8, 1))),
        ("parquet-cpp version 1.5.1-SNAPSHOT", Writer("parquet-cpp", (1, 5, 1))),
        ("parquet-mr", Writer("parquet-mr", None)),
        ("impala version 2.0 x", Writer("impala", None)),
        ("Polars", Writer("Polars", None)),
        ("", Writer("", None)),
        (None, Writer("", None)),
        (" " * 100_000 + "x", Writer("", None)),
    ],
)  # fmt: skip
def test_created_by(created_by: str | None, writer: Writer) -> None:
    assert parse_created_by(created_by) == writer


def statistics(**fields: Any) -> Any:
    from pqlab.footer import raw

    return raw.idl().Statistics(**fields)


def with_statistics(column: pa.Array, struct_: Any, **also: Any) -> dict[str, Any]:
    """The chunk's row of the frame after its Statistics struct became this one."""

    def change(footer: Any) -> None:
        footer.row_groups[0].columns[0].meta_data.statistics = struct_
        for name, value in also.items():
            setattr(footer, name, value)

    frame = column_chunks_frame(changed(written(pa.table({"x": column})), change))
    return frame.row(0, named=True)


STRINGS = pa.array(["b", None])
SHOWN = ("bounds_state", "min_text", "max_text", "min_bytes", "null_count")


def test_empty_absent_count_only_and_deprecated_are_four_displays() -> None:
    cases = [
        (statistics(min_value=b"", max_value=b"b", null_count=1), ("present", "", "b", b"", 1)),
        (None, ("absent", None, None, None, None)),
        (statistics(null_count=1), ("absent", None, None, None, 1)),
    ]
    for struct_, shown in cases:
        row = with_statistics(STRINGS, struct_)
        assert tuple(row[name] for name in SHOWN) == shown
    old = statistics(min=struct.pack("<q", 1), max=struct.pack("<q", 7), null_count=0)
    row = with_statistics(pa.array([1, 7]), old)
    assert tuple(row[name] for name in SHOWN) == (
        "deprecated", "1", "7", struct.pack("<q", 1), 0,
    )  # fmt: skip


def test_deprecated_bounds_of_strings_have_no_order() -> None:
    row = with_statistics(STRINGS, statistics(min=b"a", max=b"b"))
    assert (row["bounds_state"], row["min_text"], row["null_count"]) == ("untrusted", "a", None)


def test_deprecated_bounds_stand_in_where_no_order_is_stated() -> None:
    seven, eight = struct.pack("<q", 7), struct.pack("<q", 8)
    both = statistics(min=seven, max=seven, min_value=eight, max_value=eight)
    row = with_statistics(pa.array([7]), both, column_orders=None)
    assert (row["bounds_state"], row["min_text"]) == ("deprecated", "7")
    row = with_statistics(pa.array([7]), both)
    assert (row["bounds_state"], row["min_text"]) == ("present", "8")
    row = with_statistics(STRINGS, statistics(min_value=b"a", max_value=b"b"), column_orders=None)
    assert (row["bounds_state"], row["max_text"]) == ("untrusted", "b")


def test_one_sided_bounds_are_present_on_that_side() -> None:
    row = with_statistics(STRINGS, statistics(min_value=b"a", is_min_value_exact=False))
    assert (row["bounds_state"], row["min_text"], row["max_text"]) == ("present", "a", None)
    assert (row["is_min_value_exact"], row["is_max_value_exact"]) == (False, None)


def test_a_nan_is_no_bound_but_under_total_order() -> None:
    nan, one = struct.pack("<d", math.nan), struct.pack("<d", 1.0)
    doubles = pa.array([1.0, math.nan])
    for low, high in ((nan, one), (one, nan)):
        row = with_statistics(doubles, statistics(min_value=low, max_value=high))
        assert row["bounds_state"] == "untrusted"

    def change(footer: Any) -> None:
        from pqlab.footer import raw

        idl = raw.idl()
        footer.row_groups[0].columns[0].meta_data.statistics = statistics(
            min_value=nan, max_value=nan, nan_count=2
        )
        total = idl.ColumnOrder(IEEE_754_TOTAL_ORDER=idl.IEEE754TotalOrder())
        footer.column_orders = [total]

    row = column_chunks_frame(changed(written(pa.table({"x": doubles})), change)).row(0, named=True)
    assert (row["bounds_state"], row["min_text"], row["nan_count"]) == ("present", "NaN", 2)


def test_a_bound_of_the_wrong_length_is_untrusted() -> None:
    row = with_statistics(pa.array([1, 2]), statistics(min_value=b"\x01", max_value=b"\x02" * 8))
    assert (row["bounds_state"], row["min_text"]) == ("untrusted", "0x01")


def test_statistics_are_typed_and_follow_the_pages() -> None:
    table = pa.table(
        {"t": pa.array([10, 20, 30, None], pa.timestamp("ms", "UTC")), "n": [1, 2, 3, 4]}
    )
    data = written(table, row_group_size=2, write_statistics=["t"])
    metadata = metadata_of(data)
    typed = statistics_frame(metadata, 0)
    assert typed.schema["min"] == pl.Datetime("ms", "UTC")
    assert typed["min"].dt.epoch("ms").to_list() == [10, 30]
    assert typed["max"].dt.epoch("ms").to_list() == [20, 30]
    assert typed["null_count"].to_list() == [0, 1]
    untold = statistics_frame(metadata, 1)
    assert untold["bounds_state"].to_list() == ["absent"] * 2
    assert untold["min"].null_count() == untold["null_count"].null_count() == 2
