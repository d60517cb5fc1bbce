"""Files on which readers and viewers have failed, case by case, in Python and in the shell.

A case stands here where nothing else holds it in both; the number is its place in the list below.

12 names that repeat - 13 bounds empty, absent, counted only, deprecated - 14 encodings unknown, and
page by page - 15 numbers that cannot be - 16 a footer without rows - 17 a chunk in another file -
18 encrypted, or no Parquet - 19 large page headers - 20 unknown encodings and codecs - 21 stray
files and other types - 22 to 34 in test_cases_decoding and
test_cases_values - 35 names that act
"""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Run, Save, columns, refused
from edited_footers import rewritten, with_footer, written
from footers import (
    BINARY,
    I32,
    ListOf,
    Raw,
    column_chunk,
    column_meta_data,
    file_meta_data,
    row_group,
)
from handmade import Column, Page, file_of, prefixed, varint

import pqlab
from pqlab.footer import raw

# ------------------------------------------------------------------------ footer and metadata


def test_case_12_names_that_repeat(run: Run, save: Save) -> None:
    address = pa.array([{"name": "Main St"}])
    arrays = [pa.array([1]), address, pa.array(["Ada"]), pa.array([2])]
    path = save(written(pa.table(arrays, names=["n", "address", "name", "n"])))
    assert [row["column"] for row in columns(run, path)] == ["n", "address.name", "name", "n"]
    assert run("read", path, "-c", "name").out == "name\nAda\n"
    assert run("read", path, "-c", "#3").out == "n\n2\n"
    for words in (["-c", "n"], ["-c", "#0,#3"]):
        said = refused(run, path, "read", *words)
        assert "0" in said and "3" in said  # noqa: PT018 - the ordinals
    with pqlab.open(path) as file, pytest.raises(pqlab.SelectionError, match=r"0 .*3 "):
        file.read("n")


def test_case_13_four_displays_of_bounds(run: Run, save: Save) -> None:
    p = raw.idl()
    kinds = {
        "empty": p.Statistics(min_value=b"", max_value=b"z", null_count=0),
        "absent": None,
        "counted": p.Statistics(null_count=0),
        "old": p.Statistics(min=struct.pack("<i", 1), max=struct.pack("<i", 1), null_count=0),
    }
    table = pa.table({name: [""] for name in kinds} | {"old": pa.array([1], pa.int32())})

    def change(footer: Any) -> None:
        for chunk, statistics in zip(footer.row_groups[0].columns, kinds.values(), strict=True):
            chunk.meta_data.statistics = statistics

    path = save(rewritten(written(table), change))
    shown = ("bounds_state", "min_text", "null_count")
    rows = {row["column"]: tuple(row[name] for name in shown) for row in columns(run, path)}
    assert rows == {
        "empty": ("present", "", 0),
        "absent": ("absent", None, None),
        "counted": ("absent", None, 0),
        "old": ("deprecated", "1", 0),
    }
    lines = run("columns", path, "--wide").out.splitlines()
    assert len({line.split("SNAPPY")[1] for line in lines[1:]}) == 4


def test_case_14_encodings_are_never_guessed(run: Run, save: Save) -> None:
    def forget(footer: Any) -> None:
        footer.row_groups[0].columns[0].meta_data.encoding_stats = None

    numbers = pa.table({"x": [number * 1_000_003 for number in range(4000)]})
    small = {"dictionary_pagesize_limit": 4000, "data_page_size": 1000, "write_batch_size": 100}
    data = written(numbers, write_page_index=False, **small)
    path = save(rewritten(data, forget))
    (row,) = columns(run, path)
    assert (row["data_page_encodings"], row["num_data_pages"]) == (None, None)
    pages = run("pages", path, "--json").rows()
    mix = [row["encoding"] for row in pages if row["page"] >= 0]
    assert set(mix) == {"RLE_DICTIONARY", "PLAIN"}
    assert mix == sorted(mix, reverse=True)
    with pqlab.open(path) as file:
        assert file.pages()["encoding"].to_list() == [row["encoding"] for row in pages]


def _chunk(**fields: Any) -> bytes:
    return file_meta_data(row_group(column_chunk(column_meta_data(**fields))))


_OTHER_ELEMENTS = ListOf(I32, [Raw(b"\2")])
_FIELD_65537 = file_meta_data()[:-1] + b"\x05" + varint(2 * 65537) + bytes(2)
WRONG_NUMBERS = {
    "negative size": (_chunk(total_compressed_size=-1), "ColumnMetaData.total_compressed_size"),
    "negative offset": (_chunk(data_page_offset=-1), "ColumnMetaData.data_page_offset"),
    "varint of 11 bytes": (_chunk(num_values=Raw(b"\xff" * 10 + b"\1")), "num_values"),
    "field id 65537": (_FIELD_65537, "FileMetaData"),
    "long list": (_chunk(encodings=ListOf(I32, [], 9_999_999)), "ColumnMetaData.encodings"),
    "other elements": (_chunk(path_in_schema=_OTHER_ELEMENTS), "ColumnMetaData.path_in_schema"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_NUMBERS)
def test_case_15_the_error_names_the_field(run: Run, save: Save, name: str) -> None:
    footer, field = WRONG_NUMBERS[name]
    path = save(with_footer(b"PAR1" + bytes(2000) + bytes(4) + b"PAR1", footer))
    assert field in refused(run, path, "info")
    with pytest.raises(pqlab.CorruptError) as caught:
        pqlab.open(path)
    assert (caught.value.field or "").endswith(field)
    assert caught.value.offset is not None


def test_case_15_an_optional_list_of_other_elements_is_a_warning(run: Run, save: Save) -> None:
    stats = ListOf(BINARY, [b"x"])
    chunk = column_chunk(column_meta_data(encoding_stats=stats))
    footer = file_meta_data(row_group(chunk))
    path = save(with_footer(b"PAR1" + bytes(2000) + bytes(4) + b"PAR1", footer))
    result = run("info", path, "--json")
    assert result.code == 0
    (warning,) = result.json()["info"]["warnings"]
    assert "ColumnMetaData.encoding_stats" in warning


def test_case_16_a_footer_that_says_no_rows(run: Run, save: Save) -> None:
    table = pa.table({"x": range(10)})
    data = written(table, row_group_size=4)
    path = save(rewritten(data, lambda footer: setattr(footer, "num_rows", 0)))
    info = run("info", path, "--json").json()["info"]
    assert info["num_rows"] == 10
    assert info["warnings"] == ["FileMetaData.num_rows is 0, but the row groups have 10"]
    assert "0, but the row groups have 10" in run("info", path).out
    with pqlab.open(path) as file:
        assert file.info.warnings == tuple(info["warnings"])
        assert file.read()["x"].to_list() == table["x"].to_pylist()


def test_case_17_a_chunk_in_another_file(run: Run, save: Save) -> None:
    def move(footer: Any) -> None:
        footer.row_groups[0].columns[1].file_path = "elsewhere/1.parquet"

    path = save(rewritten(written(pa.table({"here": [1], "there": [2]})), move))
    assert [row["is_external"] for row in columns(run, path)] == [False, True]
    assert run("read", path, "-c", "here").out == "here\n1\n"
    said = refused(run, path, "read")
    assert "elsewhere/1.parquet" in said
    assert "there" in said


def test_case_18_what_is_encrypted_says_so(run: Run, save: Save, corpus: Path) -> None:
    path = save(b"PARE" + bytes(100) + struct.pack("<I", 100) + b"PARE")
    assert "encrypted" in refused(run, path, "info")
    with pytest.raises(pqlab.EncryptedError):
        pqlab.open(path)
    folder = corpus / "apache__parquet-testing" / "data"
    path = folder / "encrypt_columns_plaintext_footer.parquet.encrypted"
    rows = columns(run, path)
    assert {row["is_encrypted"] for row in rows} == {True, False}
    assert run("read", path, "-c", "int32_field").code == 0
    assert "double_field" in refused(run, path, "read", "-c", "double_field")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ("empty", "0 bytes")),
        (b"PAR1" + bytes(range(1, 90)), ("still being written", "93 bytes")),
        (b"a,b\n1,2\n" * 9, ("CSV", "72 bytes", repr(b"a,b\n1,2\n"))),
    ],
)
def test_case_18_no_parquet(run: Run, save: Save, data: bytes, words: tuple[str, ...]) -> None:
    path = save(data)
    said = refused(run, path, "info")
    assert all(word in said for word in words)


def test_case_19_page_headers_of_megabytes(run: Run, save: Save) -> None:
    value = "x" * (8 << 20)
    statistics = raw.idl().Statistics(max_value=value.encode(), min_value=b"y")
    page = Page(prefixed(b"y"), 1, statistics=statistics)
    path = save(file_of(Column("BYTE_ARRAY", [page], element={"converted_type": 0})))
    (row,) = run("pages", path, "--json", "--headers").rows()
    assert row["header_bytes"] > len(value)
    assert row["max_text"].startswith("xxx")
    assert len(row["max_text"]) < 1000
    assert max(map(len, run("pages", path, "--headers").out.splitlines())) < 1000
    with pqlab.open(path) as file:
        assert file.read()["c"].to_list() == ["y"]


def test_case_20_unknown_encodings_and_codecs(run: Run, save: Save) -> None:
    path = save(file_of(Column("INT32", [Page(bytes(8), 2), Page(bytes(8), 2, encoding=100)])))
    said = refused(run, path, "read")
    assert "100" in said
    assert "page 1" in said
    assert "column 'c'" in said
    pages = run("pages", path, "--json").rows()
    assert [row["encoding"] for row in pages] == ["PLAIN", "UNKNOWN(100)"]
    path = save(file_of(Column("INT32", [Page(bytes(8), 2)], codec=99)))
    assert columns(run, path)[0]["codec"] == "UNKNOWN(99)"
    assert "99" in refused(run, path, "read")


def test_case_20_an_encoding_of_200(run: Run, save: Save) -> None:
    path = save(file_of(Column("INT32", [Page(bytes(8), 2, encoding=200)])))
    assert "200" in refused(run, path, "read")


def test_case_21_stray_files_and_other_types(run: Run, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": ["y"], "a": [2]}), tmp_path / "2.parquet")
    (tmp_path / "notes.txt").write_text("stray")
    result = run("read", tmp_path)
    assert result.out == "a,b\n1,x\n2,y\n"
    assert "notes.txt" in run("info", tmp_path).out
    (skipped,) = run("info", tmp_path, "--json").json()["skipped"]
    assert skipped["file"] == str(tmp_path / "notes.txt")
    assert "text" in skipped["reason"]
    pq.write_table(pa.table({"a": ["3"]}), tmp_path / "3.parquet")
    result = run("read", tmp_path, "-c", "a")
    assert result.code == 1
    assert "3.parquet" in result.err
    assert "1.parquet" in result.err


# ----------------------------------------------------------------------------------- notebook

LONG = "n" * 1_000_000


def test_case_35_a_name_of_a_million_characters(run: Run, save: Save) -> None:
    path = save(written(pa.table({LONG: [1], "x": [2]})))
    with pqlab.open(path) as file:
        for shown in (
            repr(file),
            repr(file.schema),
            file._repr_html_(),
            str(file.select().plan()),
            file.select().plan()._repr_html_(),
        ):
            assert len(shown) < 50_000
        assert file.schema.children[0].name == LONG
        assert file.read()[LONG].to_list() == [1]
        with pytest.raises(pqlab.SelectionError) as caught:
            file.read([f"{LONG}!"])
        assert len(str(caught.value)) < 5000
    for command in ("info", "schema", "columns", "pages", "layout"):
        assert len(run(command, path).out) < 50_000
    assert len(run("read", path, "--plan").out) < 5000
    assert [row["column"] for row in columns(run, path)] == [LONG, "x"]


def test_a_path_that_is_too_long_is_an_error_of_the_source() -> None:
    for source in ("x" * 5000, "x" * 5000 + "*"):
        with pytest.raises(pqlab.SourceError):
            pqlab.open(source)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"workers": 0}, "workers"),
        ({"workers": -1}, "workers"),
        ({"int96_unit": "ms"}, "int96_unit is one of ns, us"),
        ({"invalid_utf8": "ignore"}, "invalid_utf8 is one of error, binary"),
    ],
)
def test_options_without_such_a_value(save: Save, options: dict[str, Any], words: str) -> None:
    path = save(written(pa.table({"x": [1]})))
    for source in (path, path.parent):
        with pytest.raises(ValueError, match=words):
            pqlab.read(source, **options)
        with pytest.raises(TypeError, match=r"pqlab\.Trace"):
            pqlab.read(source, trace=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("page", [[0, 1], (), "0", None, True, 1.0])
def test_one_page_is_one_ordinal(save: Save, page: Any) -> None:
    path = save(written(pa.table({"x": [1]})))
    with pqlab.open(path) as file:
        with pytest.raises(pqlab.SelectionError, match="a page cannot be"):
            file.page_header(0, "x", page)
        assert file.page_header(0, "x", -1).type == 2


# -------------------------------------------------------------------------------- all of them


def test_files_that_are_corrupt_by_design(corpus: Path, manifest: list[dict[str, str]]) -> None:
    files = [str(corpus / row["file"]) for row in manifest if row["corrupt_by_design"]]
    assert len(files) > 150
    program = Path(__file__).with_name("hostile_files.py")
    done = subprocess.run(
        [sys.executable, program, *files], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
