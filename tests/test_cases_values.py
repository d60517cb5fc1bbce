"""Values on which readers have failed: out of reach, or not exact. See test_cases."""

from __future__ import annotations

import base64
import csv
import datetime as dt
import io
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Run, Save, columns, refused
from edited_footers import rewritten, written
from handmade import (
    RLE_DICTIONARY,
    Column,
    Page,
    file_of,
)

import pqlab
from pqlab.footer import raw

INT32_MAX, INT64_MAX = (1 << 31) - 1, (1 << 63) - 1


def test_case_27_timestamps_that_nanoseconds_do_not_reach(run: Run, save: Save) -> None:
    far = dt.datetime(2900, 2, 3, 4, 5, 6)  # noqa: DTZ001 - INT96 is naive
    table = pa.table({"t": pa.array([far], pa.timestamp("us"))})
    path = save(written(table, use_deprecated_int96_timestamps=True))
    assert 'int96_unit="us"' in refused(run, path, "read")
    assert pqlab.read(path, int96_unit="us")["t"].to_list() == [far]


@pytest.mark.parametrize(
    ("physical", "converted", "value"),
    [
        ("INT32", 6, INT32_MAX),
        ("INT32", 6, -INT32_MAX - 1),
        ("INT32", 6, 95_026_237),
        ("INT32", 6, -96_465_293),
        ("INT64", 9, INT64_MAX),
        ("INT64", 10, INT64_MAX),
        ("INT64", 10, -INT64_MAX - 1),
    ],
)
def test_case_27_times_beyond_the_calendar(
    run: Run, save: Save, physical: str, converted: int, value: int
) -> None:
    """Polars holds them and panics when it shows them: pyarrow keeps them."""
    body = struct.pack("<2i" if physical == "INT32" else "<2q", 0, value)
    element = {"converted_type": converted}
    path = save(file_of(Column(physical, [Page(body, 2)], element=element)))
    assert f"{value:,}" in refused(run, path, "read")
    with pqlab.open(path) as file:
        with pytest.raises(pqlab.UnsupportedError, match="to_arrow") as caught:
            file.read()
        place = {"file": str(path), "row_group": 0, "column": "c", "page": 0, "offset": 4}
        assert caught.value.place == place
        table = file.select().to_arrow()
        integers = table["c"].cast(pa.int32() if physical == "INT32" else pa.int64())
        assert integers.to_pylist() == [0, value]
        assert file.select().to_arrow().equals(pq.read_table(path).cast(table.schema))


def test_case_27_a_dictionary_beyond_the_calendar(save: Save) -> None:
    """Values count, not entries that none of them names."""
    entries = Page(struct.pack("<2i", 0, INT32_MAX), 2, dictionary=True)

    def path_of(bits: int) -> Path:
        page = Page(bytes([1, 3, bits]), 2, RLE_DICTIONARY)
        return save(file_of(Column("INT32", [entries, page], element={"converted_type": 6})))

    assert pqlab.read(path_of(0b00))["c"].to_physical().to_list() == [0, 0]
    with pytest.raises(pqlab.UnsupportedError, match=f"{INT32_MAX:,}") as caught:
        pqlab.read(path_of(0b10))
    assert {"row_group": 0, "column": "c", "page": 0}.items() <= caught.value.place.items()


def test_case_27_the_first_and_the_last_day_of_the_calendar(save: Save) -> None:
    days = (-96_465_292, 95_026_236)
    path = save(
        file_of(
            Column("INT32", [Page(struct.pack("<2i", *days), 2)], element={"converted_type": 6})
        )
    )
    frame = pqlab.read(path)
    assert frame["c"].to_physical().to_list() == list(days)
    assert "-262143-01-01" in str(frame)
    assert "+262142-12-31" in str(frame)


def test_case_28_exact_values(run: Run, save: Save) -> None:
    decimals = [Decimal("-9999999999999999999999999999.9999999999"), None, Decimal(0)]
    table = pa.table(
        {
            "int64": pa.array([INT64_MAX, None, -INT64_MAX - 1]),
            "decimal": pa.array(decimals, pa.decimal128(38, 10)),
            "float16": pa.array([0.5, None, -2.0], pa.float16()),
            "time": pa.array([dt.time(23, 59, 59, 999_999), None, dt.time(0)], pa.time64("us")),
            "uuid": pa.array([bytes(range(16)), None, bytes(16)], pa.binary(16)),
        }
    )
    path = save(written(table))
    rows = list(csv.DictReader(io.StringIO(run("read", path).out)))
    assert [row["int64"] for row in rows] == [str(INT64_MAX), "", str(-INT64_MAX - 1)]
    assert [row["decimal"] for row in rows] == [f"{decimals[0]:f}", "", "0.0000000000"]
    assert [row["float16"] for row in rows] == ["0.5", "", "-2.0"]
    assert rows[0]["time"] == "23:59:59.999999"
    assert base64.b64decode(rows[0]["uuid"]) == bytes(range(16))
    assert pqlab.read(path)["decimal"].to_list() == decimals


@pytest.mark.parametrize(
    ("physical", "precision", "value"),
    [("INT32", 5, 100_000), ("INT64", 5, -(10**17)), ("FIXED_LEN_BYTE_ARRAY", 38, -(10**38))],
)
def test_case_28_decimals_of_more_digits_than_they_say(
    run: Run, save: Save, physical: str, precision: int, value: int
) -> None:
    """As stored, as by pyarrow; their bounds are text alone, since polars cannot show them."""
    size, order = {"INT32": (4, "little"), "INT64": (8, "little")}.get(physical, (16, "big"))
    stored = [value.to_bytes(size, order, signed=True), bytes(size)]  # type: ignore[arg-type]
    element = {"converted_type": 5, "precision": precision, "scale": 2, "type_length": size}
    column = Column(physical, [Page(b"".join(stored), 2)], element=element)

    def change(footer: Any) -> None:
        footer.row_groups[0].columns[0].meta_data.statistics = raw.idl().Statistics(
            min_value=stored[value > 0], max_value=stored[value < 0]
        )

    path = save(rewritten(file_of(column), change))
    exact = f"{value // 100}.00"
    assert run("read", path).out == f"c\n{exact}\n0.00\n"
    (row,) = columns(run, path)
    assert exact in (row["min_text"], row["max_text"])
    with pqlab.open(path) as file:
        assert str(file.read().to_series().to_frame())
        statistics = file.statistics("c")
        assert "0.00" in str(statistics)
        assert {statistics["min"][0], statistics["max"][0]} == {None, Decimal("0.00")}
