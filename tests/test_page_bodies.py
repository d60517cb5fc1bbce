"""What only the bodies of pages tell: checksums that hold or not, rows that stand in levels."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Run
from dremel import LIST, Node, nested_file, page_of, shred
from handmade import Column, Page, file_of

import pqlab
from pqlab.errors import CorruptError, LimitError


def file_with_checksums() -> bytes:
    """Column `a` has a CRC on the first and the third of three pages, where the first is wrong."""
    pages = [Page(bytes([at, 0, 0, 0]), 1) for at in range(3)]
    pages[0].crc, pages[1].has_crc = 12, False
    return file_of(Column("INT32", pages, name="a"))


def test_checksums_are_right_wrong_or_absent(run: Run, tmp_path: Path) -> None:
    data = file_with_checksums()
    with pqlab.open(data) as file:
        assert file.pages()["crc_state"].to_list() == [None, "absent", None]
        states = ["wrong", "absent", "ok"]
        assert file.pages(verify_checksums=True)["crc_state"].to_list() == states
        assert file.pages()["crc_state"].to_list() == states  # what was learned stays
        assert file.read()["a"].to_list() == [0, 1, 2]
    with pqlab.open(data, verify_checksums=True) as file:
        assert file.read(rows=(1, 3))["a"].to_list() == [1, 2]
        with pytest.raises(CorruptError, match="CRC-32"):
            file.read()
    path = tmp_path / "checksums.parquet"
    path.write_bytes(data)
    out = json.loads(run("pages", path, "--verify-checksums", "--json").out)
    assert [row["crc_state"] for row in out["rows"]] == states


def test_checksums_of_whole_files(corpus: Path) -> None:
    """parquet-testing's files: as their README says."""
    expected = {
        "datapage_v1-uncompressed-checksum": {"ok"},
        "datapage_v1-snappy-compressed-checksum": {"ok"},
        "datapage_v1-corrupt-checksum": {"ok", "wrong"},
        "rle-dict-snappy-checksum": {"ok"},
        "rle-dict-uncompressed-corrupt-checksum": {"wrong"},
    }
    for name, states in expected.items():
        path = corpus / "apache__parquet-testing" / "data" / f"{name}.parquet"
        pages = pqlab.open(path).pages(verify_checksums=True)
        assert set(pages["crc_state"].unique()) - {"absent"} == states, name


def table_of_lists() -> pa.Table:
    return pa.table({"n": range(300), "list": [[at] * (at % 4) for at in range(300)]})


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("index", [False, True])
def test_pages_of_lists_are_picked_with_and_without_an_index(index: bool, version: str) -> None:
    sink = io.BytesIO()
    table = table_of_lists()
    options: dict[str, Any] = {"data_page_version": version, "write_page_index": index}
    pq.write_table(
        table, sink, data_page_size=300, write_batch_size=30, use_dictionary=False, **options
    )
    with pqlab.open(sink.getvalue()) as file:
        rows = [
            file.read(pages={"list.list.element": page})["n"].to_list()
            for page in range(len(file.pages(0, 1)))
        ]
        pages = file.pages(0, 1)
    assert len(rows) > 3
    assert [n for page in rows for n in page] == list(range(300))  # each row in one page
    assert pages["first_row"].to_list() == [page[0] for page in rows]
    by_levels = version == "1.0" and not index
    assert pages["known_from"].str.contains("levels").all() == by_levels


ROOT = Node("optional group x", [Node("repeated group list", [Node("required int32 e")])], LIST)


def pages_of_one_long_row() -> list[Page]:
    """Row 0 in page 0; row 1 begins there, too, fills page 1, and ends in page 2, before row 2."""
    (entries,) = shred(ROOT, [{"list": [{"e": 1}]}, {"list": [{"e": e} for e in range(9)]}, None])
    cuts = [(0, 3), (3, 7), (7, 11)]
    return [page_of(ROOT.leaves()[0], entries[a:b]) for a, b in cuts]


def test_a_row_that_spans_pages_is_in_the_one_where_it_begins() -> None:
    with pqlab.open(nested_file(ROOT, [pages_of_one_long_row()], 3)) as file:
        picked = [file.read(pages={"x.list.e": page})["x"].to_list() for page in range(3)]
        assert picked == [[[1], list(range(9))], [], [None]]
        assert file.pages()["num_rows"].to_list() == [2, 0, 1]


def test_levels_that_contradict_the_row_group() -> None:
    data = nested_file(ROOT, [pages_of_one_long_row()], 4)
    with (
        pqlab.open(data) as file,
        pytest.raises(CorruptError, match="hold 3 rows, the row group has 4") as caught,
    ):
        file.read(pages={0: 0})
    assert (caught.value.row_group, caught.value.column) == (0, "x.list.e")


def test_levels_that_are_wrong_have_their_place() -> None:
    pages = pages_of_one_long_row()
    pages[1] = replace(pages[1], body=pages[1].body[:4])
    with (
        pqlab.open(nested_file(ROOT, [pages], 3)) as file,
        pytest.raises(CorruptError, match="repetition level") as caught,
    ):
        file.read(pages={0: 0})
    assert (caught.value.page, caught.value.column) == (1, "x.list.e")


def test_pages_above_the_limit_are_not_looked_into() -> None:
    sink = io.BytesIO()
    pq.write_table(table_of_lists(), sink, use_dictionary=False)
    limits = pqlab.Limits(page_bytes=100)
    with pqlab.open(sink.getvalue(), limits=limits) as file, pytest.raises(LimitError) as caught:
        file.read(pages={1: 0})
    assert caught.value.hint is not None


def test_v2_headers_that_claim_too_many_rows_are_decided_by_levels() -> None:
    pages = pages_of_one_long_row()
    (entries,) = shred(ROOT, [{"list": [{"e": 1}]}, {"list": [{"e": e} for e in range(9)]}, None])
    parts = [entries[:1], entries[1:10], entries[10:]]
    pages = [page_of(ROOT.leaves()[0], part, v2=True) for part in parts]
    assert pages[1].v2 is not None
    pages[1] = replace(pages[1], v2={**pages[1].v2, "num_rows": 9})
    with pqlab.open(nested_file(ROOT, [pages], 3)) as file:
        assert file.read(pages={0: 1})["x"].to_list() == [list(range(9))]
        assert file.read(pages={0: [0, 2]})["x"].to_list() == [[1], None]
