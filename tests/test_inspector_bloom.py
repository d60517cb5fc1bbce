"""The tab of bloom filters: absent, maybe, no filter; values as people write them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from inspector_screen import Screen, of_table

COLUMNS: dict[str, pa.Array] = {
    "number": pa.array([1, 1000], pa.int64()),
    "small": pa.array([1, -5], pa.int8()),
    "real": pa.array([0.5, 2.0]),
    "text": pa.array(["a b", "<b>"]),
    "raw": pa.array([b"ab", b"\x00\xff"]),
    "day": pa.array([dt.date(2024, 1, 31), dt.date(1970, 1, 1)]),
    "at": pa.array([dt.datetime(2024, 1, 31, 12, tzinfo=dt.UTC)] * 2, pa.timestamp("us", "UTC")),
    "price": pa.array([Decimal("1.50"), Decimal("2.00")], pa.decimal128(9, 2)),
    "none": pa.array([True, False]),
}
NAMES = list(COLUMNS)


@pytest.fixture(scope="module")
def screen() -> Screen:
    options = {name: {"ndv": 100, "fpp": 0.001} for name in NAMES if name != "none"}
    return of_table(pa.table(COLUMNS), bloom_filter_options=options, store_decimal_as_integer=True)


def tab(screen: Screen, column: str) -> dict[str, Any]:
    leaf = NAMES.index(column)
    screen.say(do="go", screen="chunk", row_group=0, leaf=leaf, tab="bloom")
    shown: dict[str, Any] = screen.last("view")["body"]["bloom"]
    return shown


@pytest.mark.parametrize(
    ("column", "there", "absent", "wrong"),
    [
        ("number", "1,1000", "2,-1000", "1.5,x"),
        ("small", "-5", "7", "--5"),
        ("real", "0.5,2", "0.25,3e8", "one"),
        ("text", "a b,<b>", "b,<b", ""),
        ("raw", "ab,0x00ff", "ac,0x00fe", "0xzz"),
        ("day", "2024-01-31", "2024-02-01", "2024-02-31"),
        ("at", "2024-01-31T12:00,2024-01-31T13:00+01:00", "2024-01-31T13:00", "noon"),
        ("price", "1.5,1.50", "1.51", "a lot"),
    ],
)
def test_values_are_absent_or_maybe_there(
    screen: Screen, column: str, there: str, absent: str, wrong: str
) -> None:
    assert "bloom filter, " in tab(screen, column)["to_read"]
    screen.say(load="bloom filter")
    for answer, values in (("maybe", there), ("absent", absent), ("wrong", wrong)):
        for value in filter(None, values.split(",")):
            screen.say(do="look", probe=value)
            shown = screen.last("view")["body"]["bloom"]
            assert (value, shown["answer"]) == (value, answer)
            assert shown["words"]
    assert shown["facts"][0][0] == "blocks"


def test_what_cannot_be_told_is_said_so(screen: Screen) -> None:
    assert "no bloom filter" in tab(screen, "none")["none"]
    screen.say(load="bloom filter")
    assert "no bloom filter" in screen.last("error")["error"]["message"]
    tab(screen, "small")
    screen.say(load="bloom filter")
    screen.say(do="look", probe="300")
    assert screen.last("view")["body"]["bloom"]["answer"] == "unknown"
    assert tab(screen, "number")["value"] == ""  # what was asked of another chunk is forgotten
