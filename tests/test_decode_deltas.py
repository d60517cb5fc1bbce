"""The DELTA encodings and ALP: primitives against slow oracles, and pages as the field has them."""

from __future__ import annotations

import csv
import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from decoding import read_columns, read_frame, read_table, to_series
from delta_pages import (
    AlpVector,
    DeltaLayout,
    alp,
    delta_byte_array,
    delta_lengths,
    deltas,
    wrapped,
    zigzag,
)
from forms import FORMS
from handmade import Column, Page, file_of, packed, prefixed, repeated, varint
from hypothesis import given, settings, strategies as st

import pqlab
from pqlab.errors import CorruptError, LimitError, UnsupportedError
from pqlab.limits import Limits
from pqlab.native._native import primitives

MANY = settings(max_examples=200, deadline=None, derandomize=True)
DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY, ALP = 5, 6, 7, 10
TEXT = {"converted_type": 0}
OLD_WRITER = "parquet-mr version 1.6.0rc3 (build abc)"


def array(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


def u32(*values: int) -> np.ndarray:
    return array(struct.pack(f"<{len(values)}I", *values))


def values_of(data: bytes, **options: Any) -> list[Any]:
    values: list[Any] = read_frame(data, **options)["c"].to_list()
    return values


@st.composite
def layouts(draw: st.DrawFn) -> DeltaLayout:
    mini_blocks = draw(st.sampled_from([1, 2, 4, 8]))
    return DeltaLayout(
        block_values=max(128, 32 * mini_blocks) * draw(st.integers(1, 3)),
        mini_blocks=mini_blocks,
        unused_width=draw(st.integers(0, 255)),
        extra_width=draw(st.sampled_from([0, 0, 1, 7])),
        padding_bit=draw(st.integers(0, 1)),
        padded=draw(st.booleans()),
    )


@st.composite
def integers(draw: st.DrawFn, bits: int) -> list[int]:
    """Any integers: near each other, far apart, at the ends of the type."""
    width = draw(st.integers(0, bits - 1))
    near = st.integers(-(1 << width), (1 << width) - 1)
    ends = st.sampled_from([-(1 << bits - 1), (1 << bits - 1) - 1, 0])
    values = draw(st.lists(st.one_of(near, near, near, ends), max_size=500))
    return [wrapped(value, bits) for value in values] * draw(st.integers(1, 2))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bits", [32, 64])
@given(data=st.data(), layout=layouts(), cut=st.integers(0, 40))
@MANY
def test_deltas(bits: int, form: str, data: st.DataObject, layout: DeltaLayout, cut: int) -> None:
    values = data.draw(integers(bits))
    after = data.draw(st.binary(max_size=9))
    written = deltas(values, bits, layout)
    wanted = values[: len(values) - cut] if cut < len(values) else values
    out, used = primitives.deltas(array(written + after), bits // 8, len(wanted), form)
    assert np.frombuffer(out, np.int32 if bits == 32 else np.int64).tolist() == wanted
    if layout.padded:
        assert used == (len(written) if wanted else 0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("width", range(65))
def test_deltas_of_every_width(width: int, bits: int, form: str) -> None:
    """Also of INT32 above 32 bits, which wrap around: duckdb writes them where it is unsigned."""
    rng = np.random.default_rng(width)
    differences = [int.from_bytes(rng.bytes(8), "little") & (1 << width) - 1 for _ in range(160)]
    values = np.cumsum(np.array([5, *differences], np.uint64)).tolist()
    whole = [wrapped(value, bits) for value in values]
    mini_blocks = [differences[at : at + 64] for at in range(0, 128, 64)]
    body = varint(256) + varint(4) + varint(129) + zigzag(5) + zigzag(0)
    body += bytes([width, width, 200, 255])
    body += b"".join(
        sum(value << at * width for at, value in enumerate(block)).to_bytes(8 * width, "little")
        for block in mini_blocks
    )
    out, used = primitives.deltas(array(body), bits // 8, 129, form)
    assert np.frombuffer(out, np.int32 if bits == 32 else np.int64).tolist() == whole[:129]
    assert used == len(body)


@pytest.mark.parametrize("form", FORMS)
@given(
    data=st.binary(max_size=60),
    head=st.sampled_from([b"", b"\x80\x01\x04", b"\x80\x01\x01\xff\x01"]),
    width=st.sampled_from([4, 8]),
    count=st.integers(0, 500),
)
@MANY
def test_deltas_of_any_bytes_are_values_or_an_error(
    form: str, data: bytes, head: bytes, width: int, count: int
) -> None:
    try:
        out, used = primitives.deltas(array(head + data), width, count, form)
    except CorruptError:
        return
    assert len(out) == count * width
    assert used <= len(head + data)


HEADER = varint(128) + varint(4)
WRONG_DELTAS = {
    "block of no values": ("delta header", varint(0) + varint(4) + varint(2) + zigzag(0)),
    "block of 120 values": ("delta header", varint(120) + varint(1) + varint(2) + zigzag(0)),
    "no mini-blocks": ("delta header", varint(128) + varint(0) + varint(2) + zigzag(0)),
    "mini-blocks of 16 values": ("delta header", varint(128) + varint(8) + varint(2) + zigzag(0)),
    "mini-blocks that do not divide": (
        "delta header",
        varint(128) + varint(3) + varint(2) + zigzag(0),
    ),
    "a number of more than 64 bits": ("delta header", b"\xff" * 9 + b"\x02"),
    "fewer values than wanted": ("ends before", HEADER + varint(1) + zigzag(0)),
    "no first value": ("ends before", HEADER + varint(2)),
    "no block": ("ends before", HEADER + varint(2) + zigzag(0)),
    "widths cut short": ("ends before", HEADER + varint(2) + zigzag(0) + zigzag(1) + bytes(3)),
    "values cut short": (
        "ends before",
        HEADER + varint(9) + zigzag(0) + zigzag(1) + bytes([9, 0, 0, 0]) + bytes(8),
    ),
    "a width above 64": (
        "wider than 64 bits",
        HEADER + varint(2) + zigzag(0) + zigzag(1) + bytes([65, 0, 0, 0]) + bytes(300),
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", WRONG_DELTAS)
def test_wrong_deltas(name: str, form: str) -> None:
    message, data = WRONG_DELTAS[name]
    with pytest.raises(CorruptError, match=message):
        primitives.deltas(array(data), 4, 9 if "cut short" in name else 2, form)


@pytest.mark.parametrize("form", FORMS)
@given(
    values=st.lists(st.text("ab", max_size=20).map(str.encode), max_size=60),
    before=st.text("ab", max_size=9).map(str.encode),
)
@MANY
def test_prefixes(form: str, values: list[bytes], before: bytes) -> None:
    prefixes, suffixes, last = [], [], before
    for value in values:
        same = 0
        while value[: same + 1] == last[: same + 1] and same < min(len(value), len(last)):
            same += 1
        prefixes.append(same)
        suffixes.append(value[same:])
        last = value
    lengths = u32(*map(len, suffixes))
    args = (lengths, array(b"".join(suffixes)), array(before), 0, form)
    assert primitives.prefixed(u32(*prefixes), *args) == b"".join(values)
    if values:
        beyond = u32(len(before) + 1, *prefixes[1:])
        with pytest.raises(CorruptError, match="longer than the value before it, at value 0"):
            primitives.prefixed(beyond, *args)
    widths = {len(value) for value in values}
    width = max(widths, default=0) or 1
    if widths <= {width}:
        assert primitives.prefixed(u32(*prefixes), *args[:3], width, form) == b"".join(values)
    else:
        with pytest.raises(CorruptError, match="the length that the schema says"):
            primitives.prefixed(u32(*prefixes), *args[:3], width, form)


def test_lengths_that_are_negative_or_too_long() -> None:
    for lengths in ([2**32 - 1], [3, 2**31], [4, 4]):
        with pytest.raises(CorruptError, match="longer than its page"):
            primitives.prefixed(
                u32(*[0] * len(lengths)), u32(*lengths), array(b"seven.."), array(b""), 0, "serial"
            )


def power(exponent: int, size: int) -> Any:
    """The literal's nearest value, as Python and numpy parse it."""
    return (np.float32 if size == 4 else np.float64)(f"1e{exponent}")


def alp_values(vectors: list[AlpVector], size: int) -> bytes:
    """The specification's decoding, one value at a time."""
    kind = np.float32 if size == 4 else np.float64
    out = b""
    for vector in vectors:
        up, down = power(vector.factor, size), power(-vector.exponent, size)
        for at, packed_value in enumerate(vector.packed):
            whole = wrapped(vector.frame_of_reference + packed_value, 8 * size)
            value = kind(kind(kind(whole) * up) * down).tobytes()
            bits = vector.exceptions.get(at)
            out += value if bits is None else bits.to_bytes(size, "little")
    return out


@st.composite
def alp_vectors(draw: st.DrawFn, size: int) -> tuple[list[AlpVector], int]:
    log_vector_size = draw(st.integers(3, 6))
    sizes = [1 << log_vector_size] * draw(st.integers(0, 3))
    sizes.append(draw(st.integers(1, 1 << log_vector_size)))
    vectors = []
    for count in sizes:
        exponent = draw(st.integers(0, 10 if size == 4 else 18))
        width = draw(st.integers(0, 8 * size))
        value = st.integers(0, (1 << width) - 1)
        exceptions = st.dictionaries(
            st.integers(0, count - 1), st.integers(0, (1 << 8 * size) - 1), max_size=5
        )
        vectors.append(
            AlpVector(
                exponent,
                draw(st.integers(0, exponent)),
                draw(st.integers(-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1)),
                width,
                draw(st.lists(value, min_size=count, max_size=count)),
                draw(exceptions),
            )
        )
    return vectors, log_vector_size


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [4, 8])
@given(data=st.data(), cut=st.integers(0, 20))
@MANY
def test_alp(size: int, form: str, data: st.DataObject, cut: int) -> None:
    vectors, log_vector_size = data.draw(alp_vectors(size))
    written = alp(vectors, log_vector_size, size)
    count = sum(len(vector.packed) for vector in vectors)
    wanted = max(count - cut, 0)
    expected = alp_values(vectors, size)[: wanted * size]
    assert primitives.alp(array(written), size, wanted, form) == expected
    with pytest.raises(CorruptError, match="ends before"):
        primitives.alp(array(written), size, count + 1, form)
    with pytest.raises(CorruptError, match="ends before"):
        primitives.alp(array(written[:-1]), size, count, form)


@pytest.mark.parametrize("form", FORMS)
@given(data=st.binary(max_size=90), size=st.sampled_from([4, 8]), count=st.integers(0, 40))
@MANY
def test_alp_of_any_bytes_is_values_or_an_error(
    form: str, data: bytes, size: int, count: int
) -> None:
    head = b"\0\0\3" + count.to_bytes(4, "little")
    try:
        out = primitives.alp(array(head + data), size, count, form)
    except CorruptError:
        return
    assert len(out) == count * size


ALP_PAGE = alp([AlpVector(4, 3, 3335, 15, [11665, 11665, 21665, 0], {1: 0x7FF8 << 48})], 3, 8)


def edited(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + bytes([value]) + data[at + 1 :]


def test_the_specifications_example_of_alp() -> None:
    assert len(ALP_PAGE) == 7 + 4 + 31
    got = np.frombuffer(primitives.alp(array(ALP_PAGE), 8, 4, "serial"))
    assert np.array_equal(got, [1500.0, np.nan, 2500.0, 333.5], equal_nan=True)
    for at, value, message in (
        (0, 1, "header"),  # compression_mode
        (1, 1, "header"),  # integer_encoding
        (2, 2, "header"),  # log_vector_size
        (2, 16, "header"),
        (6, 0x80, "header"),  # num_elements
        (7, 3, "header"),  # the first offset, into the offsets
        (10, 1, "header"),
        (11, 19, "vector"),  # exponent
        (12, 5, "vector"),  # factor
        (13, 2, "ends before"),  # num_exceptions
        (23, 65, "vector"),  # bit_width
        (32, 4, "vector"),  # the position of the exception
    ):
        with pytest.raises(CorruptError, match=message):
            primitives.alp(array(edited(ALP_PAGE, at, value)), 8, 4, "serial")


@pytest.mark.parametrize(
    ("file", "expected"),
    [("alp_arade", "alp_arade"), ("alp_java_float_arade", "alp_float_arade")],
)
def test_alp_files_hold_the_values_that_their_authors_published(
    corpus: Path, file: str, expected: str
) -> None:
    table = read_table((corpus / "alp" / f"{file}.parquet").read_bytes(), workers=2)
    with (corpus / "alp" / f"{expected}_expect.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == table.num_rows == 15_000
    for name in table.column_names:
        ours = table[name].to_numpy()
        theirs = np.array([float(row[name]) for row in rows]).astype(ours.dtype)
        assert ours.tobytes() == theirs.tobytes()


def test_rows_cut_out_of_alp(corpus: Path) -> None:
    data = (corpus / "alp" / "alp_arade.parquet").read_bytes()
    rows = [(3, 1_030), (7_000, 7_001), (14_990, 15_000)]
    whole = read_columns(data, [1])[0]
    (cut,) = read_columns(data, [1], rows={0: rows})
    expected = [value for start, stop in rows for value in to_series(whole)[start:stop].to_list()]
    assert to_series(cut).to_list() == expected


WRAPPING = [2**31 - 1, -(2**31), 2**31 - 1, 0, -1, 2**31 - 1]
LEVELS = prefixed(packed([1, 0, 1, 1, 0], 1))
VALID = {
    "wrap-around of INT32": (
        Column("INT32", [Page(deltas(WRAPPING), 6, DELTA_BINARY_PACKED)]),
        WRAPPING,
    ),
    "wrap-around of INT64": (
        Column("INT64", [Page(deltas([2**63 - 1, -(2**63), 1], 64), 3, DELTA_BINARY_PACKED)]),
        [2**63 - 1, -(2**63), 1],
    ),
    "one value, no block": (
        Column("INT32", [Page(HEADER + varint(1) + zigzag(-7), 1, 5)]),
        [-7],
    ),
    "all null, a header of no values": (
        Column(
            "INT32",
            [Page(prefixed(repeated(0, 3, 1)) + deltas([]), 3, 5)],
            optional=True,
        ),
        [None] * 3,
    ),
    "all null, no bytes": (
        Column("INT32", [Page(prefixed(repeated(0, 3, 1)), 3, 5)], optional=True),
        [None] * 3,
    ),
    "nulls between": (
        Column("INT32", [Page(LEVELS + deltas([4, -4, 9]), 5, 5)], optional=True),
        [4, None, -4, 9, None],
    ),
    "v2 with nulls": (
        Column(
            "INT64",
            [
                Page(
                    packed([1, 0, 1], 1) + deltas([1 << 40, -1], 64),
                    3,
                    5,
                    v2={"definition_levels_byte_length": 2, "num_nulls": 1},
                )
            ],
            optional=True,
        ),
        [1 << 40, None, -1],
    ),
    "a least difference of 33 bits, as some write INT32": (
        Column(
            "INT32",
            [Page(HEADER + varint(2) + zigzag(5) + zigzag(1 << 32) + bytes(4), 2, 5)],
        ),
        [5, 5],
    ),
    "lengths, with a last one of 0": (
        Column("BYTE_ARRAY", [Page(delta_lengths([b"a", b"", b"b" * 40, b""]), 4, 6)]),
        [b"a", b"", b"b" * 40, b""],
    ),
    "prefixes of every length": (
        Column(
            "BYTE_ARRAY",
            [Page(delta_byte_array([b"axis", b"axle", b"", b"baby" * 5, b"baby" * 4]), 5, 7)],
            element=TEXT,
        ),
        ["axis", "axle", "", "baby" * 5, "baby" * 4],
    ),
    "prefixes beside nulls": (
        Column("BYTE_ARRAY", [Page(LEVELS + delta_byte_array([b"a", b"ab", b"ab"]), 5, 7)],
               optional=True, element=TEXT),
        ["a", None, "ab", "ab", None],
    ),
    "prefixes of a fixed length": (
        Column(
            "FIXED_LEN_BYTE_ARRAY",
            [Page(delta_byte_array([b"abc", b"abd", b"xbd"]), 3, 7)],
            element={"type_length": 3},
        ),
        [b"abc", b"abd", b"xbd"],
    ),
    "decimals of any length": (
        Column(
            "BYTE_ARRAY",
            [Page(delta_lengths([b"\x01", b"\xff\xff", b"\x01\x00"]), 3, 6)],
            element={"converted_type": 5, "precision": 9, "scale": 0},
        ),
        [1, -1, 256],
    ),
    "decimals by their fronts": (
        Column(
            "FIXED_LEN_BYTE_ARRAY",
            [Page(delta_byte_array([b"\x00\x01", b"\x00\x02", b"\xff\xff"]), 3, 7)],
            element={"type_length": 2, "converted_type": 5, "precision": 4, "scale": 0},
        ),
        [1, 2, -1],
    ),
    "pages of several encodings": (
        Column(
            "INT32",
            [Page(struct.pack("<2i", 1, 2), 2), Page(deltas([3, 5]), 2, 5)],
        ),
        [1, 2, 3, 5],
    ),
    "ALP beside nulls": (
        Column("DOUBLE", [Page(LEVELS + alp([AlpVector(1, 0, 10, 4, [0, 10, 5])], 10, 8), 5, ALP)],
               optional=True),
        [1.0, None, 2.0, 1.5, None],
    ),
    "a column that is always null": (
        Column("BYTE_ARRAY", [Page(prefixed(repeated(0, 3, 1)), 3, 7)], optional=True),
        [None] * 3,
    ),
}  # fmt: skip


# What pyarrow does not take: it has no ALP, and wants a delta header before no values.
NOT_FOR_PYARROW = {
    "a least difference of 33 bits, as some write INT32",
    "ALP beside nulls",
    "all null, no bytes",
    "a column that is always null",
}


@pytest.mark.parametrize("name", VALID)
def test_odd_but_valid(name: str) -> None:
    column, expected = VALID[name]
    assert values_of(file_of(column)) == expected


@pytest.mark.parametrize("name", [name for name in VALID if name not in NOT_FOR_PYARROW])
def test_pyarrow_agrees_on_the_handmade_files(name: str) -> None:
    column, expected = VALID[name]
    assert pq.read_table(io.BytesIO(file_of(column)))["c"].to_pylist() == expected


def int32_deltas(*values: int) -> bytes:
    return deltas(list(values))


WRONG = {
    "an INT8 that is not one": (
        "does not fit the column's type, at value 1",
        Column("INT32", [Page(deltas([127, 128]), 2, 5)], element={"converted_type": 15}),
    ),
    "a length below 0": (
        "longer than its page, at value 1",
        Column("BYTE_ARRAY", [Page(int32_deltas(2, -1) + b"abc", 2, 6)]),
    ),
    "a length beyond the page": (
        "longer than its page, at value 1",
        Column("BYTE_ARRAY", [Page(int32_deltas(2, 2) + b"abc", 2, 6)]),
    ),
    "a prefix longer than the value before": (
        "prefix is longer than the value before it, at value 1",
        Column("BYTE_ARRAY", [Page(int32_deltas(0, 3) + delta_lengths([b"ab", b"c"]), 2, 7)]),
    ),
    "a prefix before there is a value": (
        "prefix is longer than the value before it, at value 0",
        Column("BYTE_ARRAY", [Page(int32_deltas(1) + delta_lengths([b"ab"]), 1, 7)]),
    ),
    "a prefix below 0": (
        "prefix is longer",
        Column("BYTE_ARRAY", [Page(int32_deltas(-1) + delta_lengths([b"ab"]), 1, 7)]),
    ),
    "fewer suffixes than prefixes": (
        "ends before",
        Column("BYTE_ARRAY", [Page(int32_deltas(0, 0) + delta_lengths([b"ab"]), 2, 7)]),
    ),
    "another length than the schema's": (
        "the length that the schema says, at value 1",
        Column(
            "FIXED_LEN_BYTE_ARRAY",
            [Page(delta_byte_array([b"abc", b"ab"]), 2, 7)],
            element={"type_length": 3},
        ),
    ),
    "text cut within a character": (
        "not valid UTF-8, at value 1",
        Column("BYTE_ARRAY", [Page(delta_byte_array([b"\xc3\xa9", b"\xc3"]), 2, 7)], element=TEXT),
    ),
    "text over two values": (
        "not valid UTF-8, at value 0",
        Column("BYTE_ARRAY", [Page(delta_lengths([b"\xc3", b"\xa9"]), 2, 6)], element=TEXT),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_pages_are_errors_with_their_place(name: str) -> None:
    message, column = WRONG[name]
    with pytest.raises(CorruptError, match=message) as caught:
        read_columns(file_of(column))
    place = caught.value.place
    assert (place["file"], place["row_group"], place["column"], place["page"]) == (
        *("memory", 0, "c", 0),
    )


@pytest.mark.parametrize(
    ("physical", "encoding"),
    [
        *(("FLOAT", encoding) for encoding in (5, 6, 7)),
        *(("INT32", encoding) for encoding in (6, 7, 10)),
        *(("BOOLEAN", encoding) for encoding in (5, 7, 10)),
        *(("INT96", encoding) for encoding in (5, 7, 10)),
        *(("BYTE_ARRAY", encoding) for encoding in (5, 10)),
    ],
)
def test_encodings_that_the_type_does_not_have_are_refused(physical: str, encoding: int) -> None:
    with pytest.raises(UnsupportedError, match="not read for this column"):
        read_columns(file_of(Column(physical, [Page(deltas([0]), 1, encoding)])))


def reaching_back(last_page_encoding: int = DELTA_BYTE_ARRAY) -> tuple[Column, list[bytes | None]]:
    """Pages whose first prefixes reach into the page before, one all null between them."""
    values = [b"a common front, %d" % (at // 3 * 7) for at in range(30)]
    pages, before = [], b""
    expected: list[bytes | None] = []
    for start in range(0, 30, 10):
        levels = prefixed(repeated(1, 10, 1))
        body = levels + delta_byte_array(values[start : start + 10], before)
        pages.append(Page(body, 10, DELTA_BYTE_ARRAY))
        pages.append(Page(prefixed(repeated(0, 2, 1)), 2, last_page_encoding))
        before = values[start + 9]
        expected += [*values[start : start + 10], None, None]
    return Column("BYTE_ARRAY", pages, optional=True), expected


@pytest.mark.parametrize("created_by", [OLD_WRITER, "parquet-mr", "parquet-mr version 1.7.0", ""])
def test_prefixes_of_old_writers_reach_into_the_page_before(created_by: str) -> None:
    column, expected = reaching_back()
    data = file_of(column, created_by=created_by)
    for workers in (1, 2):
        assert values_of(data, workers=workers) == expected
    rows = [(15, 19), (25, 27)]
    (cut,) = read_columns(data, rows={0: rows})
    assert to_series(cut).to_list() == [value for a, b in rows for value in expected[a:b]]


def test_pages_that_are_known_are_read_with_those_they_need() -> None:
    column, expected = reaching_back()
    file = pqlab.open(file_of(column, created_by=OLD_WRITER))
    for _ in range(2):
        assert file.select(rows=(26, 30)).read()["c"].to_list() == expected[26:30]
        assert file.pages().height == 6  # from here on the pages are known
    assert file.select(pages={"c": [2]}).read()["c"].to_list() == expected[12:22]


@pytest.mark.parametrize(
    "created_by",
    [
        *("parquet-mr version 1.8.0", "parquet-mr version 1.10.1 (build 1)"),
        *("parquet-mr version 1.18.0-SNAPSHOT", "parquet-cpp version 1.5.0", "handmade"),
    ],
)
def test_prefixes_of_other_writers_do_not(created_by: str) -> None:
    column, _ = reaching_back()
    with pytest.raises(CorruptError, match="prefix is longer") as caught:
        read_columns(file_of(column, created_by=created_by))
    assert caught.value.page == 2


def test_prefixes_that_reach_into_a_page_that_is_wrong() -> None:
    column, _ = reaching_back()
    column.pages[2].body = column.pages[2].body[:-1]
    for workers in (1, 2):
        with pytest.raises(CorruptError, match="longer than its page") as caught:
            read_columns(file_of(column, created_by=OLD_WRITER), workers=workers)
        assert caught.value.page == 2


def unfolding(count: int) -> bytes:
    """A file whose one page of 100 KB holds so many values of as much each."""
    size = 100_000
    suffixes = deltas([size] + [0] * (count - 1)) + b"x" * size
    body = deltas([0] + [size] * (count - 1)) + suffixes
    return file_of(Column("BYTE_ARRAY", [Page(body, count, DELTA_BYTE_ARRAY)]))


def test_what_prefixes_unfold_to_is_bounded_before_memory_is_taken() -> None:
    with pytest.raises(
        LimitError, match="10000000000 bytes is above the limit page_bytes"
    ) as caught:
        read_columns(unfolding(100_000))
    assert caught.value.page == 0
    with pytest.raises(LimitError, match="read_bytes"):
        read_columns(unfolding(15_000), limits=Limits(read_bytes=1 << 30))
    with pytest.raises(UnsupportedError, match="offsets of views"):
        read_columns(unfolding(100_000), limits=Limits(page_bytes=1 << 40))


def test_buffers_hold_the_values_and_only_where_views_need_them() -> None:
    long = [b"longer than twelve bytes %d" % at for at in range(9)]
    pages = [Page(delta_byte_array(long), 9, 7), Page(delta_byte_array([b"short"] * 3), 3, 7)]
    pages.append(Page(delta_lengths(long), 9, 6))
    column = read_columns(file_of(Column("BYTE_ARRAY", pages)))[0]
    size = len(b"".join(long))
    assert column.view_buffer_sizes == [size, 0, size]
