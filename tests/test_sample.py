"""Sample files, judged by pyarrow and duckdb."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pqlab import sample

ROWS = 2_000


@pytest.mark.parametrize("kind", sample.KINDS)
def test_reads_in_full_elsewhere(kind: str, tmp_path: Path) -> None:
    path = sample.write(tmp_path / "x.parquet", kind=kind, rows=ROWS)
    table = pq.read_table(path)
    table.validate(full=True)
    metadata = pq.read_metadata(path)
    assert table.num_rows == metadata.num_rows == ROWS
    assert metadata.num_row_groups == 4
    assert duckdb.execute(f"select count(*) from '{path}'").fetchall() == [(ROWS,)]
    for leaf in range(metadata.num_columns):
        chunk = metadata.row_group(0).column(leaf)
        assert chunk.has_offset_index


@pytest.mark.parametrize("kind", sample.KINDS)
def test_same_arguments_same_bytes(kind: str, tmp_path: Path) -> None:
    first, again, other = (
        sample.write(tmp_path / f"{number}.parquet", kind=kind, rows=ROWS, seed=seed).read_bytes()
        for number, seed in enumerate((7, 7, 8))
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("rows", [0, 1, 3, 9])
@pytest.mark.parametrize("kind", sample.KINDS)
def test_few_rows(kind: str, rows: int, tmp_path: Path) -> None:
    path = sample.write(tmp_path / "x.parquet", kind=kind, rows=rows)
    assert pq.read_table(path).num_rows == rows


def test_taxi_is_as_described(tmp_path: Path) -> None:
    path = sample.write(tmp_path / "taxi.parquet")
    table = pq.read_table(path)
    metadata = pq.read_metadata(path)
    assert (table.num_rows, table.num_columns) == (200_000, 20)
    pickup = table["pickup_at"].combine_chunks()
    assert pc.all(pc.less_equal(pickup[:-1], pickup[1:])).as_py()
    assert metadata.row_group(0).sorting_columns == (pq.SortingColumn(2),)
    assert table["store_and_forward"].null_count == table["passenger_count"].null_count > 0
    assert table["pickup_at"].null_count == 0
    assert pc.count_distinct(table["payment_type"]).as_py() == 4
    assert pc.count_distinct(table["medallion"]).as_py() > 190_000
    cents = pc.multiply(table["total_amount"].cast(pa.float64()), 100)
    assert pc.min(cents).as_py() >= 300
    row_group = metadata.row_group(0)
    encodings = [row_group.column(leaf).encodings for leaf in range(20)]
    assert sum("RLE_DICTIONARY" in names for names in encodings) == 14
    assert encodings[11] == ("RLE",)


@pytest.mark.parametrize("kind", ["flat_encodings", "flat_encodings_v2"])
def test_columns_have_the_encoding_they_are_named_after(kind: str, tmp_path: Path) -> None:
    path = sample.write(tmp_path / "x.parquet", kind=kind, rows=ROWS)
    row_group, table = pq.read_metadata(path).row_group(0), pq.read_table(path)
    seen = set()
    for leaf in range(row_group.num_columns):
        chunk = row_group.column(leaf)
        name = chunk.path_in_schema.removesuffix("_nulls")
        physical_type = chunk.physical_type.lower()
        kind_of_value = "string" if name.startswith("string_") else physical_type
        assert name.startswith(f"{kind_of_value}_")
        encoding = name.removeprefix(f"{kind_of_value}_").upper()
        assert encoding in chunk.encodings
        nulls = table[chunk.path_in_schema].null_count
        assert (nulls > 0) == chunk.path_in_schema.endswith("_nulls")
        seen.add((kind_of_value, encoding))
    assert len(seen) == row_group.num_columns // 2 == 30


def test_page_versions_hold_the_same_values(tmp_path: Path) -> None:
    one, two = (
        pq.read_table(sample.write(tmp_path / f"{kind}.parquet", kind=kind, rows=ROWS))
        for kind in ("flat_encodings", "flat_encodings_v2")
    )
    assert one.equals(two)


def test_every_codec(tmp_path: Path) -> None:
    path = sample.write(tmp_path / "x.parquet", kind="codecs", rows=ROWS)
    row_group = pq.read_metadata(path).row_group(0)
    codecs = [row_group.column(leaf).compression for leaf in range(0, row_group.num_columns, 2)]
    assert codecs == ["UNCOMPRESSED", "SNAPPY", "GZIP", "BROTLI", "LZ4", "ZSTD"]


def test_nested_has_nulls_and_empty_lists(tmp_path: Path) -> None:
    table = pq.read_table(sample.write(tmp_path / "x.parquet", kind="nested", rows=ROWS))
    lengths = pc.list_value_length(table["tags"])
    assert lengths.null_count > 0
    assert pc.min(lengths).as_py() == 0
    assert pc.max(lengths).as_py() == 4
    assert table["matrix"].type == pa.list_(pa.list_(pa.int32()))


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no sample of kind 'bus'; there are taxi, nested"):
        sample.write(tmp_path / "x.parquet", kind="bus")
    with pytest.raises(ValueError, match="negative"):
        sample.write(tmp_path / "x.parquet", rows=-1)


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sample.main([str(tmp_path / "new" / "folder")]) == 0
    names = sorted(path.name for path in (tmp_path / "new" / "folder").iterdir())
    assert names == sorted(f"{kind}.parquet" for kind in sample.KINDS)
    assert len(capsys.readouterr().out.splitlines()) == len(sample.KINDS)
