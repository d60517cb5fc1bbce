"""What writers are known to do wrong, in nested columns, too: read as the field reads it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_pages import delta_byte_array
from dremel import LIST, UTF8, Node, columns_file, cut_to_pages, nested_file, page_of, shred
from edited_footers import rewritten
from encoders import dictionary_of, plain
from handmade import Column, Page, file_of, packed

import pqlab
from pqlab.errors import CorruptError

OLD_WRITER = "parquet-mr version 1.6.0"
DELTA_BYTE_ARRAY, RLE_DICTIONARY = 7, 8

TEXTS = Node(
    "optional group x",
    [Node("repeated group list", [Node("required binary e", annotation=UTF8)])],
    LIST,
).levelled()
RECORDS = [
    None if row % 5 == 4 else {"list": [{"e": f"a front in common {row}.{e}"} for e in range(3)]}
    for row in range(12)
]
EXPECTED = [None if r is None else [item["e"] for item in r["list"]] for r in RECORDS]


def reaching_back() -> Iterator[Page]:
    """Pages of lists whose first prefix is of the last value of the page before."""
    (leaf,) = TEXTS.leaves()
    (entries,) = shred(TEXTS, RECORDS)
    before = b""
    for part in cut_to_pages(entries, 4, at_rows=False):
        values = [value.encode() for _, d, value in part if d == leaf.max_definition]
        page = page_of(leaf, part)
        levels = page.body[: len(page.body) - len(plain(leaf.physical, values))]
        yield replace(
            page, body=levels + delta_byte_array(values, before), encoding=DELTA_BYTE_ARRAY
        )
        before = values[-1] if values else before


def by(created_by: str, data: bytes) -> bytes:
    def change(footer: Any) -> None:
        footer.created_by = created_by

    return rewritten(data, change)


@pytest.mark.parametrize("workers", [1, 2])
def test_parquet_246_in_nested_pages(workers: int) -> None:
    """A prefix reaches into the page before, whichever worker decodes that, and when."""
    data = nested_file(TEXTS, [list(reaching_back())], len(RECORDS))
    with pqlab.open(by(OLD_WRITER, data)) as file:
        assert len(file.pages()) > 6
        assert file.read(workers=workers)["x"].to_list() == EXPECTED
        for start in range(len(RECORDS)):
            rows = file.read(rows=(start, start + 1), workers=workers)["x"].to_list()
            assert rows == EXPECTED[start : start + 1]
        picked = [file.read(pages={0: page})["x"].to_list() for page in range(len(file.pages()))]
        assert [row for page in picked for row in page] == EXPECTED
    with pqlab.open(by("parquet-mr version 1.8.0", data)) as file:
        with pytest.raises(CorruptError, match="prefix is longer") as caught:
            file.read()
        assert (caught.value.page, caught.value.column) == (1, "x.list.e")


def with_dictionary() -> bytes:
    """Lists of text in a dictionary and a page of indices."""
    (leaf,) = TEXTS.leaves()
    (entries,) = shred(TEXTS, RECORDS)
    there = [value.encode() for _, d, value in entries if d == leaf.max_definition]
    values = dictionary_of(there)
    pages = [
        Page(plain(leaf.physical, values), len(values), dictionary=True),
        page_of(leaf, entries, encoding="RLE_DICTIONARY", dictionary=values),
    ]
    return columns_file([TEXTS], [[pages]], [len(RECORDS)])


@pytest.mark.parametrize("offset", [0, None])
def test_a_dictionary_whose_offset_is_not_stated(offset: int | None) -> None:
    def change(footer: Any) -> None:
        meta_data = footer.row_groups[0].columns[0].meta_data
        meta_data.data_page_offset = meta_data.dictionary_page_offset
        meta_data.dictionary_page_offset = offset

    with pqlab.open(rewritten(with_dictionary(), change)) as file:
        assert file.read()["x"].to_list() == EXPECTED
        assert file.read(rows=(5, 7))["x"].to_list() == EXPECTED[5:7]


def short_by_a_dictionary_header(created_by: str) -> bytes:
    """PARQUET-816: the chunk's size lacks the bytes of its dictionary page's header."""
    entries = struct.pack("<3i", 7, 8, 9)
    dictionary = Page(entries, 3, dictionary=True)
    pages = [dictionary, Page(b"\2" + packed([0, 1, 2, 1], 2), 4, RLE_DICTIONARY)]
    header_bytes = len(dictionary.written()) - len(entries)

    def change(footer: Any) -> None:
        footer.created_by = created_by
        footer.row_groups[0].columns[0].meta_data.total_compressed_size -= header_bytes

    return rewritten(file_of(Column("INT32", pages)), change)


def test_parquet_816() -> None:
    with pqlab.open(short_by_a_dictionary_header("parquet-mr version 1.2.8")) as file:
        assert file.read()["c"].to_list() == [7, 8, 9, 8]
        assert file.pages()["page"].to_list() == [-1, 0]
    with (
        pqlab.open(short_by_a_dictionary_header("parquet-mr version 1.10.0")) as file,
        pytest.raises(CorruptError),
    ):
        file.read()


class IndexPage(Page):
    """A page of type INDEX_PAGE, which the format names and leaves undefined."""

    def written(self) -> bytes:
        header = bytes([0x15, 1 << 1, 0x15, 8, 0x15, 8, 0x4C, 0, 0])  # type, sizes of 4, field 6
        return header + b"skip"


def test_index_pages_are_passed_over() -> None:
    one, two = Page(struct.pack("<2i", 1, 2), 2), Page(struct.pack("<i", 3), 1)
    data = file_of(Column("INT32", [one, IndexPage(b"", 0), two]))
    with pqlab.open(data) as file:
        assert file.read()["c"].to_list() == [1, 2, 3]
        assert file.read(rows=(2, 3))["c"].to_list() == [3]
        assert file.read(pages={0: 1})["c"].to_list() == [3]


@pytest.mark.parametrize("wrong", [0, 7])
def test_levels_decide_whatever_num_nulls_says_of_lists(wrong: int) -> None:
    (leaf,) = TEXTS.leaves()
    (entries,) = shred(TEXTS, RECORDS)
    page = page_of(leaf, entries, v2=True)
    assert page.v2 is not None
    page.v2["num_nulls"] = wrong
    with pqlab.open(nested_file(TEXTS, [[page]], len(RECORDS))) as file:
        assert file.read()["x"].to_list() == EXPECTED


def test_deltas_of_unsigned_integers_that_duckdb_packs_too_wide(tmp_path: Path) -> None:
    """Encodings.md: "INT32 data must not use more than 32 bits"; duckdb uses up to 34."""
    path = tmp_path / "u32.parquet"
    numbers = np.random.default_rng(3).integers(0, 1 << 32, 5_000, np.uint32)
    table = pa.table({"u": pa.array(numbers, mask=numbers % 7 == 0)})
    connection = duckdb.connect()
    connection.register("given", table)
    connection.sql(f"COPY given TO '{path}' (FORMAT parquet, PARQUET_VERSION V2)")
    assert pqlab.open(path).pages(headers=True)["encoding"].to_list() == ["DELTA_BINARY_PACKED"]
    with pytest.raises(OSError, match="Unexpected end of stream"):  # pyarrow
        pq.read_table(path)
    for engine in ("cpu", "emulated"):
        read = pqlab.open(path).select().to_arrow(engine=engine)
        assert read["u"].to_pylist() == table["u"].to_pylist()
