"""Public files that pyarrow does not read: another reader's values, or what the file contradicts.

Every file that is neither encrypted nor damaged on purpose is read as a whole, or stands below:
refused by name, or excused by a sentence of the specification, which the bytes stored in it are
shown to contradict.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from edited_footers import rewritten
from handmade import thrift
from nested_values import combined, difference

import pqlab
from pqlab.footer.schema import SchemaNode

# "Reading is an UnsupportedError with the reason" (FORMAT_COVERAGE.md): a codec without a library,
# and a number that no encoding has.
REFUSED = {
    "apache__drill/exec/java-exec/src/test/resources/supplier_lzo.parquet": "LZO pages",
    "rapidsai__cudf/python/cudf/cudf/tests/data/parquet/delta_encoding.parquet": "encoding 15",
}

DIGITS = "the precision stores the maximum number of digits supported in the unscaled value"
MIDNIGHT = "stores the number of milliseconds after midnight"
NANOSECONDS = "INT96 (only used for legacy timestamps)"
LARGER = (
    "If a stored value is larger than the maximum allowed by the annotation, the behavior is not "
    "defined and can be determined by the implementation."
)
FOUR_BYTES = "INT32: 4 bytes little endian"

_DRILL = "apache__drill/exec/java-exec/src/test/resources/"
_SIMPLE = {
    "_DECIMAL_fixed_n": DIGITS,
    "_DECIMAL_unlimited": DIGITS,
    "_TIME_MILLIS_int32": MIDNIGHT,
    "_INT96_RAW": NANOSECONDS,
}
_COMPLEX = {
    "NumericTypes.FixedLen._DECIMAL_fixed_n": DIGITS,
    "NumericTypes.Binary._DECIMAL_unlimited": DIGITS,
    "NumericTypes.DateTimeTypes._TIME_MILLIS_int32": MIDNIGHT,
    "NumericTypes.Int96._INT96_RAW": NANOSECONDS,
}
# file -> the columns that are not read -> the sentence that their values contradict.
EXCUSED: dict[str, dict[str, str]] = {
    f"{_DRILL}parquet/parquet_logical_types_simple_nodict.parquet": _SIMPLE,
    f"{_DRILL}parquet/parquet_logical_types_simple_nullable.parquet": _SIMPLE,
    f"{_DRILL}parquet/parquet_test_file_simple.parquet": _SIMPLE,
    f"{_DRILL}parquet/parquet_v2_logical_types_simple.parquet": _SIMPLE,
    f"{_DRILL}parquet/parquet_v2_logical_types_simple_nodict.parquet": _SIMPLE,
    f"{_DRILL}parquet/parquet_v2_logical_types_simple_nullable_nodict.parquet": _SIMPLE,
    f"{_DRILL}store/parquet/complex/parquet_logical_types_complex.parquet": _COMPLEX,
    f"{_DRILL}store/parquet/complex/parquet_logical_types_complex_nodict.parquet": _COMPLEX,
    f"{_DRILL}store/parquet/complex/repeated_types.parquet": {
        "int8_list": LARGER,
        "int16_list": LARGER,
        "uint8_list": LARGER,
        "uint16_list": LARGER,
        "time_list": MIDNIGHT,
    },
    "aloneguid__parquet-dotnet/src/Parquet.Test/data/special/all_nulls_no_booleans.parquet": {
        "Asset704cMethodId": FOUR_BYTES,
    },
}


def num_rows(path: Path) -> int:
    """Of the whole file, read; INT96 that nanoseconds do not reach in microseconds."""
    with pqlab.open(path, cache=None) as file:
        try:
            return len(file.select().to_arrow())
        except pqlab.CorruptError as error:
            if "int96_unit" not in str(error):
                raise
            return len(file.select().to_arrow(int96_unit="us"))
        except pqlab.UnsupportedError as error:
            if "pyarrow does not take" not in str(error):  # deeper than Arrow's interface goes
                raise
            return file.read().height


SHARDS = 3


@pytest.mark.parametrize("shard", range(SHARDS))
def test_whatever_is_valid_is_read(
    corpus: Path, manifest: list[dict[str, str]], shard: int
) -> None:
    valid = [row for row in manifest if not row["corrupt_by_design"] and not row["encryption"]]
    valid = valid[shard::SHARDS]
    assert len(valid) > 400
    failed = {}
    for row in valid:
        try:
            found = num_rows(corpus / row["file"])
        except pqlab.PqlabError as error:
            failed[row["file"]] = error
            continue
        for reader in ("pyarrow", "duckdb"):
            if row[f"{reader}_status"] == "ok" and row["columns"] != "0":
                assert found == int(row[f"{reader}_rows"]), (row["file"], reader)
    names = {row["file"] for row in valid}
    assert failed.keys() == (EXCUSED.keys() | REFUSED.keys()) & names
    for name, refusal in failed.items():
        kind = pqlab.UnsupportedError if name in REFUSED else pqlab.CorruptError
        assert isinstance(refusal, kind), name
        assert {"file", "row_group", "column"} <= refusal.place.keys(), name
        assert REFUSED.get(name, "") in str(refusal), name


def test_at_most_ten_files_are_excused() -> None:
    assert len(EXCUSED) <= 10
    assert all(len(sentence) > 20 for columns in EXCUSED.values() for sentence in columns.values())


# ------------------------------------------------------------------------ those that are excused


def for_pyarrow(data: bytes) -> bytes:
    """With a length for the FIXED_LEN_BYTE_ARRAY that has none: pyarrow opens no file without."""

    def change(footer: Any) -> None:
        for element in footer.schema:
            if element.type == 7 and not element.type_length:
                element.type_length = 8

    return rewritten(data, change)


def as_stored(data: bytes) -> bytes:
    """Without annotations; INT96 as the 12 bytes that it is."""

    def change(footer: Any) -> None:
        for element in footer.schema:
            element.converted_type = element.logicalType = None
            if element.type == 3:
                element.type, element.type_length = 7, 12
        for row_group in footer.row_groups:
            for chunk in row_group.columns:
                if chunk.meta_data.type == 3:
                    chunk.meta_data.type = 7

    return rewritten(for_pyarrow(data), change)


def leaf_values(array: pa.Array) -> list[Any]:
    while pa.types.is_nested(array.type):
        array = array.flatten()
        array = array[0] if isinstance(array, list) else array
    return [value for value in array.to_pylist() if value is not None]


def beyond_digits(value: bytes, leaf: SchemaNode) -> bool:
    precision = leaf.annotation.precision if leaf.annotation else None
    assert precision is not None
    most: int = 10**precision
    return abs(int.from_bytes(value, "big", signed=True)) >= most


def beyond_int64(value: bytes, _: object) -> bool:
    return not -(2**63) <= microseconds(value) < 2**63


def beyond_width(value: int, leaf: SchemaNode) -> bool:
    annotation = leaf.annotation
    assert annotation is not None
    assert annotation.bit_width is not None
    bits = annotation.bit_width
    low, high = (-(1 << bits - 1), 1 << bits - 1) if annotation.is_signed else (0, 1 << bits)
    return not low <= value < high


CONTRADICTS: dict[str, Callable[[Any, Any], bool]] = {
    DIGITS: beyond_digits,
    MIDNIGHT: lambda value, _: not 0 <= value < 86_400_000,
    NANOSECONDS: beyond_int64,
    LARGER: beyond_width,
}


@pytest.mark.parametrize("name", EXCUSED, ids=lambda name: name.rpartition("/")[2])
def test_excused_columns_contradict_and_the_others_are_pyarrows(corpus: Path, name: str) -> None:
    data = (corpus / name).read_bytes()
    theirs = pq.ParquetFile(io.BytesIO(for_pyarrow(data)))
    stored = pq.ParquetFile(io.BytesIO(as_stored(data)))
    equal = 0
    with pqlab.open(data) as file:
        for ordinal, leaf in enumerate(file.metadata.leaves):
            sentence = EXCUSED[name].get(leaf.column)
            if sentence is None:
                if leaf.column == "int96_raw_list":  # which pyarrow wraps
                    assert_microseconds(file, ordinal, stored)
                    continue
                ours = combined(file.select(ordinal).to_arrow().column(0))
                expected = combined(theirs.read([leaf.column]).column(0))
                if leaf.converted_type == "INTERVAL":  # three numbers, 12 bytes in pyarrow
                    whole = combined(stored.read([leaf.column]).column(0))
                    assert interval_bytes(ours) == leaf_values(whole), leaf.column
                else:
                    assert difference(ours, expected) is None, leaf.column
                equal += 1
                continue
            with pytest.raises(pqlab.CorruptError) as caught:
                file.select(ordinal).to_arrow()
            assert {"row_group", "column", "page", "offset"} <= caught.value.place.keys()
            if sentence == FOUR_BYTES:
                with pytest.raises(OSError, match="Unexpected end"):
                    stored.read([leaf.column])
                continue
            values = leaf_values(combined(stored.read([leaf.column]).column(0)))
            assert any(CONTRADICTS[sentence](value, leaf) for value in values), leaf.column
    assert equal >= 10


def microseconds(value: bytes) -> int:
    days = int.from_bytes(value[8:], "little", signed=True) - 2_440_588
    return days * 86_400_000_000 + int.from_bytes(value[:8], "little", signed=True) // 1000


def assert_microseconds(file: pqlab.ParquetFile, leaf: int, stored: pq.ParquetFile) -> None:
    """INT96 that nanoseconds do not reach: an error that says so, then the days and the time."""
    with pytest.raises(pqlab.CorruptError, match='int96_unit="us"'):
        file.select(leaf).to_arrow()
    ours = combined(file.select(leaf).to_arrow(int96_unit="us").column(0))
    while pa.types.is_nested(ours.type):
        ours = ours.flatten()
    column = file.metadata.leaves[leaf].column
    values = leaf_values(combined(stored.read([column]).column(0)))
    assert ours.drop_null().cast(pa.int64()).to_pylist() == [microseconds(each) for each in values]


def interval_bytes(array: pa.Array) -> list[bytes]:
    """The 12 bytes that months, days and milliseconds were; of lists, of all their values."""
    while not pa.types.is_struct(array.type) or array.type[0].name != "months":
        array = array.flatten()
        array = array[0] if isinstance(array, list) else array
    return [
        b"".join(number.to_bytes(4, "little") for number in interval.values())
        for interval in array.to_pylist()
        if interval is not None
    ]


# ------------------------------------------------------------------- those that pyarrow refuses


class Oracle(NamedTuple):
    """Whose values are right, and why pyarrow's refusal is not: the specification's sentence."""

    values: Callable[[Path], pa.Table | pl.DataFrame]
    why: str


def in_duckdb(query: str) -> duckdb.DuckDBPyRelation:
    found = duckdb.sql(query)
    assert found is not None
    return found


def of_duckdb(path: Path) -> pa.Table:
    return in_duckdb(f"FROM read_parquet('{path}')").to_arrow_table()


def of_polars(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path)


def of_pyarrow(path: Path, change: Callable[[Any], None]) -> pa.Table:
    """The values of pyarrow after a change of the footer that no stored value depends on."""
    return pq.read_table(io.BytesIO(rewritten(path.read_bytes(), change)))


def without_annotations(footer: Any) -> None:
    for element in footer.schema:
        element.converted_type = element.logicalType = None


def of_an_lz4_frame(path: Path) -> pa.Table:
    """The one page of the file decompressed by pyarrow's codec, then read by pyarrow."""
    data = path.read_bytes()
    with pqlab.open(data) as file:
        header, row = file.page_header(0, 0, 0), file.pages(headers=True).row(0, named=True)
    body = data[row["offset"] + row["header_bytes"] : row["offset"] + row["total_bytes"]]
    assert body.startswith(b"\x04\x22\x4d\x18")  # the frame format's magic number
    body = pa.Codec("lz4").decompress(body, header.uncompressed_page_size, asbytes=True)
    header.compressed_page_size = len(body)
    page = thrift(header) + body

    def change(footer: Any) -> None:
        footer.row_groups = footer.row_groups[:1]
        (chunk,) = footer.row_groups[0].columns
        chunk.offset_index_offset = chunk.column_index_offset = None
        chunk.meta_data.codec = 0
        chunk.meta_data.data_page_offset = 4
        chunk.meta_data.total_compressed_size = len(page)

    changed = rewritten(data, change)
    return pq.read_table(io.BytesIO(b"PAR1" + page + changed[4 + len(page) :]))


def without_orders(footer: Any) -> None:
    footer.column_orders = None


UNKNOWN = "The `UNKNOWN` type can be used to annotate a column that is always null"  # not a group
KEY = "The `key` field encodes the map's key type."  # optional here, and never null
EMPTY = "The minimum number of bytes to store the unscaled value should be used."  # of 0: none
PRECISION = "`byte_array`: `precision` is not limited, but is required"
PADDED = "the unscaled number must be encoded as two's complement"  # of any width
FRAMINGS = "A **deprecated** codec loosely based on the LZ4 compression algorithm"
ORDERS = "7: optional list<ColumnOrder> column_orders"  # a wrong one counts as absent
NESTING = "computed from the schema (i.e. how much nesting there is)"  # pyarrow stops at 100

_IMPALA = "apache__impala/testdata/"
ORACLES: dict[str, Oracle] = {
    f"{_IMPALA}data/create_table_like_parquet_test.parquet": Oracle(of_duckdb, UNKNOWN),
    f"{_IMPALA}data/iceberg_test/iceberg_migrated_complex_test/000000_0": Oracle(
        of_duckdb, UNKNOWN
    ),
    f"{_IMPALA}data/decimal_padded_fixed_len_byte_array.parquet": Oracle(of_duckdb, PADDED),
    f"{_IMPALA}max_nesting_depth/parquet/int_array/file.parq": Oracle(of_polars, NESTING),
    f"{_IMPALA}max_nesting_depth/parquet/int_map/file.parq": Oracle(of_polars, NESTING),
    f"{_IMPALA}max_nesting_depth/parquet/struct/file.parq": Oracle(of_polars, NESTING),
    f"{_IMPALA}max_nesting_depth/parquet/struct_array/file.parq": Oracle(of_polars, NESTING),
    "apache__parquet-testing/data/incorrect_map_schema.parquet": Oracle(of_duckdb, KEY),
    "facebookincubator__velox/velox/dwio/parquet/tests/examples/row_map_array.parquet": Oracle(
        of_duckdb, KEY
    ),
    "duckdb__duckdb/data/parquet-testing/bigdecimal.parquet": Oracle(
        partial(of_pyarrow, change=without_annotations), PRECISION
    ),
    "duckdb__duckdb/data/parquet-testing/decimal/byte_array_decimal_empty_value.parquet": Oracle(
        of_duckdb, EMPTY
    ),
    "hangxie__parquet-tools/testdata/list-of-list.parquet": Oracle(of_an_lz4_frame, FRAMINGS),
    "hardwood-hq__hardwood/core/src/test/resources/map_key_only_test.parquet": Oracle(
        partial(of_pyarrow, change=without_orders), ORDERS
    ),
}
LARGE = "apache__parquet-testing/data/large_string_map.brotli.parquet"


def as_dicts(value: Any) -> Any:
    """Maps as polars shows them, whose keys differ."""
    if isinstance(value, tuple):
        return tuple(map(as_dicts, value))
    if isinstance(value, list):
        if value and isinstance(value[0], dict) and value[0].keys() == {"key", "value"}:
            return {entry["key"]: as_dicts(entry["value"]) for entry in value}
        return [as_dicts(item) for item in value]
    if isinstance(value, dict):
        return {name: as_dicts(item) for name, item in value.items()}
    return value


@pytest.mark.parametrize("name", ORACLES, ids=lambda name: "/".join(name.split("/")[-3:]))
def test_another_reader_has_the_same_values(corpus: Path, name: str) -> None:
    theirs = ORACLES[name].values(corpus / name)
    with pqlab.open(corpus / name) as file:
        if isinstance(theirs, pl.DataFrame):  # deeper than Arrow's interface lets through
            equal = as_dicts(file.read().rows()) == theirs.rows()
            assert equal
            return
        table = file.select().to_arrow()
    assert table.column_names == theirs.column_names
    for column in table.column_names:
        ours = combined(table[column])
        if name.endswith("map_key_only_test.parquet") and column == "tags":
            # "A map with keys only" is a list of them in pyarrow; here its entries stay structs.
            assert [[entry["key"] for entry in row] for row in ours.to_pylist()] == [
                list(row) for row in theirs[column].to_pylist()
            ]
            continue
        assert difference(ours, combined(theirs[column])) is None, column


def test_every_file_that_pyarrow_refuses_has_an_oracle(manifest: list[dict[str, str]]) -> None:
    refused = {
        row["file"]
        for row in manifest
        if row["pyarrow_status"] != "ok" and not row["corrupt_by_design"] and not row["encryption"]
    }
    assert refused - EXCUSED.keys() - REFUSED.keys() == ORACLES.keys() | {LARGE}


def test_two_keys_of_a_gibibyte(corpus: Path) -> None:
    """More than 2 GiB in one chunk: its pages, decompressed piece by piece, are the values.

    The one of the dictionary and the last one are PLAIN: four bytes of length, then the text.
    """
    with pqlab.open(corpus / LARGE) as file:
        entries = combined(file.select().to_arrow().column(0)).flatten()
        pages = file.pages(0, 0, headers=True).filter(encoding="PLAIN")
    keys, values = entries.flatten()
    assert values.to_pylist() == [1, 1]
    views = np.frombuffer(keys.buffers()[1], np.int32).reshape(-1, 4)
    stored = (corpus / LARGE).read_bytes()
    piece = np.empty(1 << 20, np.uint8)
    spans = pages.select("page", "offset", "header_bytes", "total_bytes").rows()
    assert len(spans) == len(keys) == 2
    for (page, offset, header_bytes, total_bytes), view in zip(spans, views, strict=True):
        body = pa.BufferReader(stored[offset + header_bytes : offset + total_bytes])
        stream = pa.CompressedInputStream(body, "brotli")
        for _ in range(2 * (page >= 0)):  # repetition and definition levels
            stream.read(int.from_bytes(stream.read(4), "little"))
        assert stream.read(4) == (1 << 30).to_bytes(4, "little")
        size, _, buffer, at = view.tolist()
        assert size == 1 << 30
        key = np.frombuffer(keys.buffers()[2 + buffer], np.uint8)[at : at + size]
        while taken := stream.readinto(piece):
            assert np.array_equal(key[:taken], piece[:taken])
            key = key[taken:]
        assert not len(key)


# ------------------------------------------------------------------------ where readers disagree


def test_a_column_of_type_unknown_is_null_whatever_it_holds(corpus: Path) -> None:
    """As pyarrow and duckdb have it; polars (30 in row 2) is wrong: UNKNOWN is "always null"."""
    path = corpus / "hangxie__parquet-tools/testdata/unknown-type.parquet"
    frame = pqlab.read(path)
    assert frame.schema["unknown_col"] == pl.Null
    assert frame["unknown_col"].to_list() == pq.read_table(path)["unknown_col"].to_pylist()
    assert [row[1] for row in in_duckdb(f"FROM read_parquet('{path}')").fetchall()] == [None] * 3
    assert pl.read_parquet(path)["unknown_col"].to_list() == [None, None, 30]


def test_a_decimal_of_no_bytes_is_0(corpus: Path) -> None:
    """As duckdb and polars have it: the least number of bytes that 0 takes is none."""
    path = (
        corpus
        / "duckdb__duckdb/data/parquet-testing/decimal/byte_array_decimal_empty_value.parquet"
    )
    assert pqlab.read(path)["value"][-1] == Decimal("0.00")
    assert pl.read_parquet(path)["value"].equals(pqlab.read(path)["value"])


# What the manifest says of a file's readers -> whose values are right, and why. That pqlab has
# pyarrow's is tested of every column by test_decode_corpus.
DISAGREE: dict[str, tuple[str, str]] = {
    r"VARIANT presentation differs": ("pyarrow", "a `VARIANT` is the group that is stored"),
    r"representation only": ("pyarrow", "the bytes or the number, not their text"),
    r"\(ts_ns|TimestampTypeChecker": (
        "pyarrow",
        "num_nulls of the v2 header is wrong: the definition levels tell which values are null",
    ),
    r"\(b'nested!',\) vs b'nested!'|\(1234,\) vs 1234|\(9,\) vs 9": (
        "pyarrow",
        "a repeated group named `array` or `<name>_tuple`, or without annotation, is the element",
    ),
    r"MonthDayNano": ("pqlab", "INTERVAL: three unsigned integers of 4 bytes"),
    r"column \d+ name": ("pyarrow", "a name is what SchemaElement.name says, whatever its case"),
    r"'polars': 0": ("pyarrow", "the row group's num_rows, and its levels, have 6 rows"),
    r"\[b'hello', b'world'\]": ("pyarrow", "LogicalType LIST counts without a ConvertedType"),
    r"b'dup'": ("pyarrow", "duplicate keys: all entries are kept"),
    r"geometry: pyarrow vs duckdb": ("pyarrow", "GEOMETRY: WKB, in the byte order that is stored"),
    r"None vs 30": ("pyarrow", "UNKNOWN: a column that is always null"),
    r"BIG_DATE|dt3|_9|int96_field|i96": ("duckdb", "INT96: days and nanoseconds, never wrapped"),
}


def test_each_disagreement_is_decided(manifest: list[dict[str, str]]) -> None:
    used = set()
    for row in manifest:
        said = row["value_disagreement"]
        if not said or row["corrupt_by_design"]:
            continue
        rules = {pattern for pattern in DISAGREE if re.search(pattern, said)}
        assert rules, (row["file"], said)
        used |= rules
    assert used == DISAGREE.keys()


INT96 = {
    "i96": "r-lib__nanoparquet/tests/testthat/data/mixed-miss.parquet",
    "dt3": "duckdb__duckdb/data/parquet-testing/bug4903.parquet",
    "int96_field": "facebookincubator__velox/velox/dwio/parquet/tests/examples/"
    "varbinary_flba.parquet",
}


@pytest.mark.parametrize("column", INT96)
def test_int96_that_pyarrow_wraps_is_duckdbs(corpus: Path, column: str) -> None:
    path = corpus / INT96[column]
    ours = pqlab.open(path).select(column).to_arrow(int96_unit="us")[column]
    query = f"SELECT epoch_us({column}) FROM read_parquet('{path}')"
    theirs = [row[0] for row in in_duckdb(query).fetchall()]
    assert ours.cast(pa.int64()).to_pylist() == theirs
    wrapped = pq.read_table(path, columns=[column])[column].cast(pa.int64()).to_pylist()
    exact = [None if value is None else value * 1000 for value in theirs]
    assert any(
        a != b and abs(a - b) > 1000 for a, b in zip(wrapped, exact, strict=True) if a is not None
    )
