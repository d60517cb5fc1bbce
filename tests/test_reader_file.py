"""`pqlab.open`, what an open file shows, and what it refuses."""

from __future__ import annotations

import datetime as dt
import gc
import io
import os
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from paged_files import ROW_GROUP_ROWS, VARIANTS, paged_file
from polars.testing import assert_frame_equal, assert_series_equal

import pqlab
from pqlab.footer.metadata import FileMetaData, Present, parse_file_metadata
from pqlab.io.source import open_source


def written(table: pa.Table | dict[str, Any], **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), sink, **options)
    return sink.getvalue()


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "some.parquet"
    file.write_bytes(paged_file(0).data)
    return file


def test_a_real_file_reads_as_pyarrow_reads_it(data: Path) -> None:
    path = data / "flights-3m.parquet"
    expected = pl.DataFrame(pl.from_arrow(pq.read_table(path)))
    assert_frame_equal(pqlab.read(path), expected)
    with pqlab.open(path) as file:
        frame = file.read(rows=(2_727_260, 2_727_280))
        assert_frame_equal(frame, expected[2_727_260:2_727_280])


def test_info_and_repr(path: Path) -> None:
    with pqlab.open(path) as file:
        info = file.info
        metadata = pq.read_metadata(path)
        assert (info.num_rows, info.num_row_groups, info.num_columns) == (
            metadata.num_rows,
            metadata.num_row_groups,
            metadata.num_columns,
        )
        assert info.created_by == metadata.created_by
        assert info.file_size_bytes == path.stat().st_size
        assert info.footer_bytes == metadata.serialized_size
        assert not info.encrypted
        assert info.warnings == ()
        assert "num_rows         5,000" in repr(info)
        assert repr(file).startswith(
            f"<pqlab.ParquetFile {path}: 5,000 rows, 4 row groups, 6 columns"
        )
        selection = file.select("id", rows=(0, 3))
        assert repr(selection) == (
            f"<pqlab.open({str(path)!r}).select(columns=['id'], rows=(0, 3)): 1 column, 3 rows>"
        )
        assert_frame_equal(eval(selection.code).read(), file.read("id", rows=(0, 3)))


def test_what_has_no_text_shows_as_source() -> None:
    with pqlab.open(paged_file(0).data) as file:
        assert file.select().code == "pqlab.open(<source>).select()"
        assert repr(file).startswith("<pqlab.ParquetFile <bytes>: ")


def test_frames(path: Path) -> None:
    metadata = pq.read_metadata(path)
    with pqlab.open(path) as file:
        assert file.leaves["column"].to_list() == list(metadata.schema.names)
        assert file.row_groups["num_rows"].to_list() == [
            metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)
        ]
        chunks = file.column_chunks
        assert chunks["total_compressed_size"].to_list() == [
            metadata.row_group(n).column(leaf).total_compressed_size
            for n in range(metadata.num_row_groups)
            for leaf in range(metadata.num_columns)
        ]
        chunks[0, "codec"] = "changed"
        assert file.column_chunks["codec"][0] == "SNAPPY"
        assert file.schema.children[0].name == "id"
        statistics = file.statistics("id")
        assert statistics["min"].to_list() == [0, 1300, 2600, 3900]
        assert_frame_equal(
            file.key_value_metadata.select("key"), pl.DataFrame({"key": ["ARROW:schema"]})
        )
        assert file.arrow_schema() == pq.read_schema(path)
        assert file.pandas_metadata() is None


@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_pages(variant: int) -> None:
    file = paged_file(variant)
    with pqlab.open(file.data) as opened:
        frame = opened.pages(row_groups=[1, 3], columns=["text", "word"])
        with_headers = opened.pages([1, 3], ["text", "word"], headers=True)
    assert frame["row_group"].unique().sort().to_list() == [1, 3]
    for (row_group, column), pages in file.pages.items():
        if row_group not in (1, 3) or column not in ("text", "word"):
            continue
        start = row_group * ROW_GROUP_ROWS
        for shown in (frame, with_headers):
            mine = shown.filter((pl.col("row_group") == row_group) & (pl.col("column") == column))
            assert mine["page"].to_list() == [
                *([-1] if column == "word" else []),
                *range(len(pages)),
            ]
            mine = mine.filter(pl.col("page") >= 0)
            assert mine["first_row"].to_list() == [page.first_row - start for page in pages]
            assert mine["num_rows"].to_list() == [page.last_row - page.first_row for page in pages]
            if file.has_index:
                assert mine["offset"].to_list() == [page.start for page in pages]
                assert mine["total_bytes"].to_list() == [page.stop - page.start for page in pages]
    assert with_headers["encoding"].null_count() == 0
    assert set(with_headers.filter(column="word")["encoding"]) == {"PLAIN", "RLE_DICTIONARY"}


def test_page_headers() -> None:
    with pqlab.open(paged_file(4).data) as file:
        header = file.page_header(0, "word", -1)
        assert header.dictionary_page_header.num_values == 5
        header = file.page_header(-1, "text", 1)
        pages = paged_file(4).pages[3, "text"]
        assert header.data_page_header_v2.num_rows == pages[1].last_row - pages[1].first_row
        with pytest.raises(
            pqlab.SelectionError, match="there is no page 99: the chunk has"
        ) as caught:
            file.page_header(0, "text", 99)
        assert caught.value.place == {
            "file": "<bytes>",
            "row_group": 0,
            "column": "text",
            "page": 99,
        }
        with pytest.raises(pqlab.SelectionError, match="no row group 4"):
            file.page_header(4, "text", 0)


def test_a_page_header_of_several_megabytes() -> None:
    value = "x" * 3_000_000
    data = written(
        {"s": [value, "y"]}, write_page_index=False, use_dictionary=False, write_statistics=True
    )
    with pqlab.open(data) as file:
        header = file.page_header(0, "s", 0)
        assert header.data_page_header.num_values == 2
        assert file.read()["s"].to_list() == [value, "y"]
        assert file.pages()["num_values"].to_list() == [2]


@pytest.mark.parametrize("variant", [0, 6])
def test_a_dictionary(variant: int) -> None:
    with pqlab.open(paged_file(variant).data) as file:
        words = file.dictionary(2, "word")
        expected = file.read("word", row_groups=2)["word"].drop_nulls().unique(maintain_order=True)
        assert_series_equal(words, expected)
        with pytest.raises(pqlab.SelectionError, match="no dictionary page") as caught:
            file.dictionary(0, "id")
        assert caught.value.column == "id"


def test_the_layout_accounts_for_every_byte(path: Path) -> None:
    with pqlab.open(path) as file:
        before = file.layout()
        after = file.layout(pages=True)
    for layout in (before, after):
        sums = [sum(layout[name]) for name in ("size_bytes", "overlap_bytes", "outside_bytes")]
        assert sums[0] - sums[1] - sums[2] == path.stat().st_size
    assert "data page" not in before["kind"].to_list()
    assert after.filter(kind="data page").height == sum(map(len, paged_file(0).pages.values()))


def test_metadata_is_parsed_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.utime(path, ns=(1, 1))
    while open_source(path).identity is None:
        time.sleep(0.01)
    parses = count()

    def parse(*args: Any, **options: Any) -> FileMetaData:
        next(parses)
        return parse_file_metadata(*args, **options)

    monkeypatch.setattr("pqlab.io.footer.parse_file_metadata", parse)
    with pqlab.open(path) as file:
        frames = [file.read(row_groups=number) for number in range(4)]
        assert sum(frame.height for frame in frames) == 5000
        assert file.pages().height > 0
        with pqlab.open(path) as again:
            assert again.metadata is file.metadata
    assert next(parses) == 1


def test_page_indexes_are_read_once() -> None:
    class Counting(io.BytesIO):
        reads = 0

        def read(self, size: int | None = -1) -> bytes:
            Counting.reads += 1
            return super().read(size)

    with pqlab.open(Counting(paged_file(0).data)) as file:
        file.pages()
        before = Counting.reads
        file.pages()
        file.select(rows=(3, 4)).plan()
        file.statistics("id", pages=True)
        assert Counting.reads == before


def test_names_that_are_not_unique() -> None:
    table = pa.Table.from_arrays(
        [pa.array([1, 2]), pa.array(["a", "b"]), pa.array([{"name": "x"}, {"name": "y"}])],
        names=["twice", "name", "address"],
    ).append_column("twice", pa.array([3, 4]))
    with pqlab.open(written(table)) as file:
        assert file.leaves["column"].to_list() == ["twice", "name", "address.name", "twice"]
        assert file.read("name")["name"].to_list() == ["a", "b"]
        with pytest.raises(pqlab.SelectionError, match=r"0 \('twice'\), 3 \('twice'\)"):
            file.read("twice")
        assert file.read(3)["twice"].to_list() == [3, 4]
        with pytest.raises(pqlab.SelectionError, match=r"leaf columns 0 and 3.*by its ordinal"):
            file.read([0, 3])
        assert file.select([0, 3]).to_arrow().columns[1].to_pylist() == [3, 4]


def test_empty_results_keep_their_types() -> None:
    expected = paged_file(0).expected
    with pqlab.open(paged_file(0).data) as file:
        empty: list[dict[str, Any]] = [{"rows": []}, {"row_groups": []}, {"rows": (9, 9)}]
        for picked in empty:
            assert_frame_equal(file.read(**picked), expected.clear())
        assert file.read([]).width == 0
        assert file.select([]).to_arrow().num_rows == 5000
    with pqlab.open(written(pa.table({"a": pa.array([], pa.int32())}))) as file:
        assert_frame_equal(file.read(), pl.DataFrame({"a": []}, schema={"a": pl.Int32}))
        assert file.head().height == 0


def test_an_index_on_some_columns_only(monkeypatch: pytest.MonkeyPatch) -> None:
    # The footer says of "text" and "id" that they have no index.
    from pqlab.io import pages

    file = paged_file(0)
    lacks = pages.PageStore._lacks_index
    monkeypatch.setattr(
        pages.PageStore,
        "_lacks_index",
        lambda self, key, *, bounds: key[1] not in (0, 5) and lacks(self, key, bounds=bounds),
    )
    with pqlab.open(file.data) as opened:
        for picked in (
            {"rows": (100, 110)},
            {"pages": {(1, "real"): 2}},
            {"pages": {(1, "text"): 2}},
        ):
            selection = opened.select(**picked)
            plan = selection.plan()
            rows = [
                row_group.row_group * ROW_GROUP_ROWS + row
                for row_group in plan.row_groups
                for start, stop in row_group.rows
                for row in range(start, stop)
            ]
            assert_frame_equal(selection.read(), file.expected[rows])


def test_one_page_beside_many() -> None:
    rows = 20_000
    table = pa.table({"one": np.zeros(rows, np.int8), "many": np.arange(rows)})
    data = written(table, use_dictionary=["one"], data_page_size=20_000, write_page_index=True)
    with pqlab.open(data) as file:
        pages = file.pages(columns="many").filter(pl.col("page") >= 0)
        assert pages.height > 6
        assert file.pages(columns="one").filter(pl.col("page") >= 0).height == 1
        frame = file.read(pages={(0, "many"): 3})
        start, count = pages["first_row"][3], pages["num_rows"][3]
        assert frame["many"].to_list() == list(range(start, start + count))
        assert frame["one"].to_list() == [0] * count


def test_a_footer_that_says_no_rows() -> None:
    data = bytearray(written({"x": list(range(100))}))
    with pqlab.open(bytes(data)) as file:
        footer_start = file.metadata.footer_offset
    # FileMetaData.num_rows, a zigzag varint of two bytes, is made 0 without changing its length.
    at = data.index(b"\x16\xc8\x01", footer_start)
    data[at + 1 : at + 3] = b"\x80\x00"
    with pqlab.open(bytes(data)) as file:
        assert file.metadata.stated_num_rows == 0
        assert file.info.num_rows == 100
        assert file.read()["x"].to_list() == list(range(100))


def test_columns_in_another_file(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2, 3]})
    metadata: list[Any] = []
    pq.write_to_dataset(table, tmp_path, metadata_collector=metadata)
    metadata[0].set_file_path("part/0.parquet")
    pq.write_metadata(table.schema, tmp_path / "_metadata", metadata)
    with pqlab.open(tmp_path / "_metadata") as file:
        assert file.column_chunks["is_external"].to_list() == [True]
        assert file.info.num_rows == 3
        assert file.pages().height == 0
        with pytest.raises(
            pqlab.UnsupportedError, match=r"another file, 'part/0\.parquet'"
        ) as caught:
            file.read()
        assert caught.value.place == {
            "file": str(tmp_path / "_metadata"),
            "row_group": 0,
            "column": "x",
            "field": "ColumnChunk.file_path",
        }


def test_encrypted_columns_refuse_by_name_and_others_read(corpus: Path) -> None:
    folder = corpus / "apache__parquet-testing" / "data"
    with pqlab.open(folder / "encrypt_columns_plaintext_footer.parquet.encrypted") as file:
        assert file.info.encrypted
        encrypted = file.column_chunks.filter(pl.col("is_encrypted"))["column"].to_list()
        plain = file.column_chunks.filter(~pl.col("is_encrypted"))["column"].to_list()
        assert "double_field" in encrypted
        assert "int32_field" in plain
        with pytest.raises(pqlab.EncryptedError, match="encrypted") as caught:
            file.read("double_field")
        assert caught.value.column == "double_field"
        assert caught.value.row_group == 0
        assert file.read("int32_field").height == file.info.num_rows
        assert file.pages(columns="double_field").height == 0
        assert any("encrypted" in warning for warning in file.info.warnings)


def test_what_is_not_parquet_closes_its_source(tmp_path: Path) -> None:
    (tmp_path / "no").write_bytes(b"nothing of the kind, but long enough")
    before = open_descriptors()
    for _ in range(5):
        with pytest.raises(pqlab.CorruptError):
            pqlab.open(tmp_path / "no")
    assert open_descriptors() == before
    with pytest.raises(pqlab.EncryptedError):
        pqlab.open(b"PARE" + bytes(20) + b"PARE")


def test_files_close_themselves(path: Path) -> None:
    before = open_descriptors()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            frame = pqlab.open(path).head()
        gc.collect()
    assert open_descriptors() == before
    assert frame.height == 10


def test_a_closed_file_still_shows_and_does_not_read(path: Path) -> None:
    file = pqlab.open(path)
    frame = file.head()
    file.close()
    assert file.leaves.height == 6
    assert frame["id"].to_list() == list(range(10))
    with pytest.raises(pqlab.SourceError, match="closed"):
        file.read()


def test_a_file_that_changes_is_not_read_on(path: Path) -> None:
    with pqlab.open(path) as file:
        file.head()
        path.write_bytes(paged_file(1).data)
        for use in (file.read, file.pages):
            with pytest.raises(pqlab.SourceChangedError) as caught:
                use()
            assert caught.value.file == str(path)


def test_unknown_encodings_and_codecs_show_and_do_not_read() -> None:
    data = bytearray(written({"x": [1, 2, 3]}, use_dictionary=False, compression="snappy"))
    with pqlab.open(bytes(data)) as file:
        start = file.metadata.footer_offset
        chunk = file.metadata.raw_chunk(0, 0).meta_data
        assert chunk.codec == 1
    at = data.index(b"x", data.index(b"x", start) + 1)  # path_in_schema, then the codec
    assert data[at + 1 : at + 3] == b"\x15\x02"
    data[at + 2] = 2 * 50
    with pqlab.open(bytes(data)) as file:
        assert file.column_chunks["codec"].to_list() == ["UNKNOWN(50)"]
        with pytest.raises(pqlab.UnsupportedError, match="50") as caught:
            file.read()
        assert caught.value.column == "x"


def test_timestamps_that_nanoseconds_do_not_reach() -> None:
    far = dt.datetime(3000, 1, 1, tzinfo=dt.UTC).replace(tzinfo=None)
    table = pa.table({"t": pa.array([far, None], pa.timestamp("us"))})
    data = written(table, use_deprecated_int96_timestamps=True)
    with pqlab.open(data) as file:
        assert file.leaves["physical_type"].to_list() == ["INT96"]
        with pytest.raises(pqlab.CorruptError, match='int96_unit="us"') as caught:
            file.read()
        assert caught.value.column == "t"
        assert file.read(int96_unit="us")["t"].to_list() == [far, None]
        assert file.head(1, int96_unit="us")["t"].to_list() == [far]


def test_text_that_is_not_utf8() -> None:
    table = pa.table({"s": pa.array([b"\xff", b"ok"]).view(pa.binary())})
    data = written(table.cast(pa.schema([("s", pa.string())]), safe=False))
    with pqlab.open(data) as file:
        with pytest.raises(pqlab.CorruptError, match='invalid_utf8="binary"'):
            file.read()
        assert file.read(invalid_utf8="binary")["s"].to_list() == [b"\xff", b"ok"]


@pytest.mark.parametrize("has_index", [True, False])
@pytest.mark.parametrize("said", ["nothing", "zero"])
def test_a_dictionary_that_the_footer_does_not_place(
    said: str, has_index: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As several writers do: data_page_offset is where the chunk, and so its dictionary, begins.
    words = [f"word {number % 7}" for number in range(1000)]
    data = written({"s": words}, write_page_index=has_index, data_page_size=500)
    raw_chunk = pq.read_metadata(io.BytesIO(data)).row_group(0).column(0)
    assert raw_chunk.has_dictionary_page

    def parse(*args: Any, **options: Any) -> FileMetaData:
        metadata = parse_file_metadata(*args, **options)
        arrays = metadata.arrays()
        arrays["chunks.data_page_offset"] = np.array([raw_chunk.dictionary_page_offset])
        arrays["chunks.dictionary_page_offset"] = np.array([0])
        if said == "nothing":
            present = arrays["chunks.present"]
            arrays["chunks.present"] = present & ~present.dtype.type(Present.DICTIONARY_PAGE_OFFSET)
        return FileMetaData.from_arrays(arrays)

    monkeypatch.setattr("pqlab.io.footer.parse_file_metadata", parse)
    with pqlab.open(data) as file:
        assert file.read()["s"].to_list() == words
        assert file.read(rows=(500, 510))["s"].to_list() == words[500:510]
        assert file.dictionary(0, "s").to_list() == words[:7]


@pytest.mark.parametrize("variant", [0, 2])
def test_eight_threads_share_a_file(variant: int, tmp_path: Path) -> None:
    file = paged_file(variant)
    path = tmp_path / "f.parquet"
    path.write_bytes(file.data)
    trace = pqlab.Trace()
    start = threading.Barrier(8)
    with pqlab.open(path) as opened:

        def work(seed: int) -> None:
            random = np.random.default_rng(seed)
            start.wait()
            for _ in range(10):
                first = int(random.integers(0, 4900))
                rows = (first, first + int(random.integers(1, 100)))
                frame = opened.read(rows=rows, trace=trace)
                assert_frame_equal(frame, file.expected[rows[0] : rows[1]])
                assert opened.pages(int(random.integers(0, 4))).height > 0

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
    assert trace.to_frame()["read"].n_unique() == 80


def test_windows_bound_what_is_fetched_at_once() -> None:
    trace = pqlab.Trace()
    with pqlab.open(paged_file(0).data, io=pqlab.IOPolicy(window_bytes=1)) as file:
        assert_frame_equal(file.read(trace=trace), paged_file(0).expected)
        assert (
            file.select()
            .to_arrow()
            .equals(
                pq.read_table(io.BytesIO(paged_file(0).data)).cast(file.select().to_arrow().schema)
            )
        )
    waits = trace.to_frame().filter(stage="wait")
    assert waits.height == 4
    assembled = trace.to_frame().filter(stage="assemble")
    assert assembled.height == waits.height
    assert assembled["duration_ns"].min() > 0  # type: ignore[operator]
    assert assembled["start_ns"][0] >= trace.to_frame().filter(stage="decode")["start_ns"][0]
    shared = trace.summary().filter(pl.col("column").is_null())
    assert shared["assemble_ns"].sum() == assembled["duration_ns"].sum()
    whole = sum(trace.to_frame().filter(stage="fetch")["bytes_in"])
    assert max(waits["bytes_in"].to_list()) < whole / 2


def test_unknown_keywords_and_engines(path: Path) -> None:
    with pqlab.open(path) as file:
        with pytest.raises(TypeError, match="colums"):
            file.read(colums=["id"])  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="wrokers"):
            pqlab.read(path, wrokers=3)  # type: ignore[call-arg]
        with pytest.raises(pqlab.EngineError, match="Take one of auto, cpu"):
            file.read(engine="cuda")  # type: ignore[arg-type]
