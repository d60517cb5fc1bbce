"""A page taken apart, against the bytes that made it, the specification's examples, and pyarrow."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dremel import Node, records_file, shred
from handmade import RLE_DICTIONARY, Column, Page, file_of, packed, prefixed, repeated

import pqlab
from pqlab.errors import CorruptError, LimitError, SelectionError
from pqlab.page import hybrid
from pqlab.page.deltas import deltas

ROOT = Node(
    "optional group x",
    [
        Node("required int64 id"),
        Node("repeated group tag", [Node("optional binary name"), Node("repeated int32 n")]),
    ],
)
RECORDS = [
    {
        "id": n,
        "tag": [{"name": None if m % 3 else f"t{m}", "n": list(range(m))} for m in range(n % 5)],
    }
    for n in range(200)
]


def written(columns: dict[str, Any], **settings: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, **settings)
    return sink.getvalue()


# -------------------------------------------------------------- the specification's own examples


def test_the_bit_packed_example_of_the_specification() -> None:
    # Encodings.md: the numbers 0 to 7 in 3 bits each, from the low bit of each byte on.
    stored = bytes([0b10001000, 0b11000110, 0b11111010])
    assert hybrid.unpacked(stored, 3, 8).tolist() == list(range(8))
    # The deprecated BIT_PACKED: the same numbers from the high bit on.
    deprecated = bytes([0b00000101, 0b00111001, 0b01110111])
    assert hybrid.unpacked(deprecated, 3, 8, high_first=True).tolist() == list(range(8))


@pytest.mark.parametrize(
    ("values", "block"),
    [([1, 2, 3, 4, 5], (1, [0])), ([7, 5, 3, 1, 2, 3, 4, 5], (-2, [2]))],
)
def test_the_delta_examples_of_the_specification(
    values: list[int], block: tuple[int, list[int]]
) -> None:
    # Encodings.md, DELTA_BINARY_PACKED: min delta and the bits of the relative deltas.
    data = written({"x": pa.array(values, pa.int32())}, use_dictionary=False, compression="none",
                   column_encoding={"x": "DELTA_BINARY_PACKED"})  # fmt: skip
    page = pqlab.open(data).page(0, "x", 0)
    found = page.deltas["values"]
    assert (found.total_count, found.first_value) == (len(values), values[0])
    min_delta, widths = block
    assert page.miniblocks["min_delta"].unique().to_list() == [min_delta]
    assert page.miniblocks["bit_width"].to_list() == widths
    assert page.miniblocks["num_values"].sum() == len(values) - 1


# ------------------------------------------------------------------------------------- levels


@pytest.mark.parametrize("form", ["v1", "v2", "bit_packed"])
def test_levels_are_those_that_the_records_were_shredded_to(form: str) -> None:
    options: dict[str, Any] = {} if form == "v1" else {form: True}
    data = records_file(ROOT, RECORDS, page_entries=100, **options)
    with pqlab.open(data) as file:
        for leaf, entries in enumerate(shred(ROOT, RECORDS)):
            count = file.pages(0, leaf, headers=True).height
            pages = [file.page(0, leaf, number) for number in range(count)]
            levels = pl.concat([page.levels for page in pages])
            assert levels.rows() == [entry[:2] for entry in entries]
            assert count > 1
            if form == "bit_packed":
                assert all(page.runs.is_empty() for page in pages)
            else:
                tally = pl.concat([page.runs for page in pages])["num_values"].sum()
                kinds = {levels for levels in ("repetition_level", "definition_level")
                         if pages[0].levels[levels].max()}  # fmt: skip
                assert tally >= len(kinds) * len(entries)  # bit-packed runs are padded


def test_runs_are_those_that_were_written() -> None:
    levels = repeated(1, 20, 1) + packed([1, 0, 1, 1, 0, 1, 1, 1], 1)
    indices = bytes([2]) + repeated(3, 9, 2) + packed([0, 1, 2, 3] * 2, 2) + repeated(1, 9, 2)
    body = prefixed(levels) + indices
    dictionary = Page(b"".join(n.to_bytes(4, "little") for n in range(4)), 4, dictionary=True)
    data = file_of(
        Column("INT32", [dictionary, Page(body, 28, RLE_DICTIONARY)], optional=True, num_values=28)
    )
    page = pqlab.open(data).page(0, "c", 0)
    assert page.bytes == body
    assert page.runs.drop("run").rows() == [
        ("definition_level", "rle", 4, 2, 1, 20, 1),
        ("definition_level", "bit-packed", 6, 2, 1, 8, None),
        ("values", "rle", 9, 2, 2, 9, 3),
        ("values", "bit-packed", 11, 3, 2, 8, None),
        ("values", "rle", 14, 2, 2, 9, 1),
    ]
    assert page.encoding == "RLE_DICTIONARY"
    assert page.values.to_list()[:9] == [3] * 9
    assert page.values.to_list() == pq.read_table(io.BytesIO(data))["c"].to_pylist()


def test_booleans_in_runs() -> None:
    data = written({"x": [True] * 40 + [False] * 40}, use_dictionary=False,
                   column_encoding={"x": "RLE"}, data_page_version="2.0")  # fmt: skip
    runs = pqlab.open(data).page(0, "x", 0).runs.filter(stream="values")
    held = [value for run in runs.rows() for value in [run[-1]] * run[-2] if run[-1] is not None]
    assert held[:32] == [1] * 32
    assert set(runs["bit_width"]) == {1}


# -------------------------------------------------------------------------- miniblocks, values


@pytest.mark.parametrize("encoding", ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
def test_streams_of_texts(encoding: str) -> None:
    values = [f"prefix {n // 7:03} {n}" for n in range(500)]
    data = written({"x": values}, use_dictionary=False, column_encoding={"x": encoding},
                   compression="zstd")  # fmt: skip
    page = pqlab.open(data).page(0, "x", 0)
    sizes = {name: _decoded(page.bytes, found) for name, found in page.deltas.items()}
    if encoding == "DELTA_LENGTH_BYTE_ARRAY":
        assert sizes == {"lengths": [len(value) for value in values]}
        assert page.bytes.endswith("".join(values).encode())
    else:
        assert list(sizes) == ["prefix lengths", "suffix lengths"]
        lengths = np.add(sizes["prefix lengths"], sizes["suffix lengths"])
        assert lengths.tolist() == [len(value) for value in values]
    assert page.values.to_list() == values


def _decoded(data: bytes, found: Any) -> list[int]:
    """The numbers of a delta stream, by its miniblocks."""
    numbers = [found.first_value]
    for block in found.miniblocks:
        packed_bytes = data[block.offset : block.offset + block.size_bytes]
        for delta in hybrid.unpacked(packed_bytes, block.bit_width, block.num_values).tolist():
            numbers.append(numbers[-1] + block.min_delta + delta)
    return numbers


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_values_and_bytes_of_every_page(codec: str, version: str) -> None:
    values = [None if n % 11 == 0 else n * n for n in range(3_000)]
    data = written({"x": values}, compression=codec, data_page_version=version,
                   use_dictionary=False, data_page_size=1_000, write_batch_size=100)  # fmt: skip
    file = pqlab.open(data)
    count = file.pages(headers=True).height
    pages = [file.page(0, "x", number) for number in range(count)]
    assert count > 5
    found = [value for page in pages for value in page.values.to_list()]
    assert found == values
    for page in pages:
        assert len(page.bytes) == page.header.uncompressed_page_size
        assert len(page.stored) == page.header.compressed_page_size
        held = np.frombuffer(page.bytes[-8 * page.values.drop_nulls().len() :], "<i8")
        assert held.tolist() == page.values.drop_nulls().to_list()


def test_the_dictionary_page() -> None:
    data = written({"x": ["a", "bb", "a", "ccc"]})
    page = pqlab.open(data).page(0, "x", -1)
    assert page.values.to_list() == ["a", "bb", "ccc"]
    assert page.bytes == b"".join(prefixed(text) for text in (b"a", b"bb", b"ccc"))
    assert page.levels.height == 3
    assert page.runs.is_empty()
    assert page.miniblocks.is_empty()
    assert repr(page) == "<pqlab.Page row group 0, x, page -1: PLAIN, 3 values>"


def test_every_page_of_public_files_is_taken_apart(corpus: Path) -> None:
    """Their levels say as many rows and nulls as their values have."""
    looked = 0
    names = sorted((corpus / "apache__parquet-testing/data").glob("*.parquet"))
    assert names
    for path in names:
        try:
            file = pqlab.open(path)
            table = file.pages(headers=True)
        except pqlab.PqlabError:
            continue
        small = table.filter(pl.col("uncompressed_page_size") < 1 << 20)
        for row_group, leaf, page in small.select("row_group", "leaf", "page").head(6).rows():
            seen = file.page(row_group, leaf, page)
            node = file.metadata.leaves[leaf]
            try:
                values = seen.values
            except pqlab.PqlabError:
                continue
            if page >= 0 and node.max_repetition_level:
                assert int((seen.levels["repetition_level"] == 0).sum()) == len(values)
            elif page >= 0:
                assert seen.levels.height == len(values)
            assert seen.runs["num_values"].min() != 0
            assert seen.miniblocks.height >= 0
            looked += 1
    assert looked > 100


# --------------------------------------------------------------------------------- what is wrong


def test_what_is_not_there_and_what_lies() -> None:
    data = written({"x": list(range(10))}, use_dictionary=False, compression="none")
    with pqlab.open(data) as file, pytest.raises(SelectionError, match="no page 1"):
        file.page(0, "x", 1)
    with pytest.raises(CorruptError, match="does not end"):
        hybrid.runs(b"\xff" * 20, 0, 20, 3, 8)
    with pytest.raises(CorruptError, match="longer than the page"):
        hybrid.runs(packed([1] * 8, 3)[:2], 0, 2, 3, 8)
    with pytest.raises(CorruptError, match="miniblocks"):
        deltas(b"\x80\x01\x00\x05\x00", 0, 5)
    body = prefixed(repeated(1, 1 << 30, 1))
    huge = file_of(Column("INT32", [Page(body, 1 << 30)], optional=True), num_rows=1 << 30)
    limits = pqlab.Limits(read_bytes=1 << 30)
    with pytest.raises(LimitError):
        _ = pqlab.open(huge, limits=limits).page(0, "c", 0).levels
    lying = file_of(Column("INT32", [Page((1 << 20).to_bytes(4, "little"), 5)], optional=True))
    with pytest.raises(CorruptError, match="longer than the page") as raised:
        _ = pqlab.open(lying).page(0, "c", 0).levels
    assert (raised.value.column, raised.value.page) == ("c", 0)
