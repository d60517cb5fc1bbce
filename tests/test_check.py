"""`check`: a sound file has no fault, and each rule is found where it is broken on purpose."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import runner
from edited_footers import footer_bytes, rewritten, with_footer, written
from handmade import (
    Column,
    Page,
    file_of,
    packed,
    repeated,
    thrift,
)

import pqlab
from pqlab.check import RULES
from pqlab.footer import raw

ROWS = 400
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int64()),
        "value": pa.array([None if n % 7 == 0 else n / 3 for n in range(ROWS)], pa.float64()),
        "name": pa.array([f"name {n % 11}" for n in range(ROWS)]),
        "list": pa.array([list(range(n % 4)) for n in range(ROWS)], pa.list_(pa.int32())),
    }
)
SOUND = written(
    TABLE,
    row_group_size=200,
    data_page_size=256,
    write_batch_size=16,
    write_page_index=True,
    write_page_checksum=True,
    sorting_columns=[pq.SortingColumn(0)],
)
Change = Callable[[], bytes]


def faults(data: bytes, *, quick: bool = False) -> pl.DataFrame:
    with pqlab.open(data) as file:
        return file.check(quick=quick).filter(~pl.col("is_note"))


# ---------------------------------------------------------------------------- faults on purpose


def footer(change: Callable[[Any], None]) -> Change:
    """The sound file with its raw FileMetaData changed."""
    return lambda: rewritten(SOUND, change)


def chunk(change: Callable[[Any], None], leaf: int = 0) -> Change:
    """The sound file with the ColumnMetaData of a chunk of row group 1 changed."""
    return footer(lambda metadata: change(metadata.row_groups[1].columns[leaf].meta_data))


def index(name: str, change: Callable[[Any], None], leaf: int = 0) -> Change:
    """The sound file with an index of a chunk of row group 1 changed, and put before the footer."""

    def changed() -> bytes:
        metadata = raw.file_metadata(footer_bytes(SOUND) or b"")
        column = metadata.row_groups[1].columns[leaf]
        offset = getattr(column, f"{name}_offset")
        end = offset + getattr(column, f"{name}_length")
        read = raw.offset_index if name == "offset_index" else raw.column_index
        parsed = read(SOUND[offset:end])
        change(parsed)
        moved = thrift(parsed)
        size = len(footer_bytes(SOUND) or b"") + 8
        setattr(column, f"{name}_offset", len(SOUND) - size)
        setattr(column, f"{name}_length", len(moved))
        return with_footer(SOUND[:-size] + moved + SOUND[-size:], thrift(metadata))

    return changed


def assign(**fields: Any) -> Callable[[Any], None]:
    def change(target: Any) -> None:
        for path, value in fields.items():
            *parents, name = path.split("__")
            for parent in parents:
                target = getattr(target, parent)
            setattr(target, name, value(getattr(target, name)) if callable(value) else value)

    return change


def int64(value: int) -> bytes:
    return struct.pack("<q", value)


def without_bloom_bits() -> bytes:
    """A file with bloom filters, of which one has lost all its bits."""
    data = bytearray(written(TABLE, bloom_filter_options={"name": {"ndv": 100, "fpp": 0.01}}))
    column = raw.file_metadata(footer_bytes(bytes(data)) or b"").row_groups[0].columns[2].meta_data
    end = column.bloom_filter_offset + column.bloom_filter_length
    bitset_bytes = column.bloom_filter_length // 32 * 32  # the header is shorter than a block
    data[end - bitset_bytes : end] = bytes(bitset_bytes)
    return bytes(data)


def group(**fields: Any) -> Change:
    return footer(lambda metadata: assign(**fields)(metadata.row_groups[1]))


def no_dictionary_listed(metadata: Any) -> None:
    metadata.encodings = [0, 3]


def shifted(position: int, change: Callable[[Any], None]) -> Callable[[Any], None]:
    """Change one page location of an offset index."""
    return lambda offset_index: change(offset_index.page_locations[position])


def swapped(column_index: Any) -> None:
    column_index.min_values[:2] = column_index.min_values[1::-1]
    column_index.max_values[:2] = column_index.max_values[1::-1]


def flat(values: list[int], *, stats: Any = None, crc: int | None = None, **more: Any) -> bytes:
    """One required INT64 column of one page, with these statistics in the footer."""
    body = b"".join(map(int64, values))
    data = file_of(Column("INT64", [Page(body, len(values), crc=crc)], **more))

    def change(metadata: Any) -> None:
        group = metadata.row_groups[0]
        group.total_byte_size = group.columns[0].meta_data.total_uncompressed_size
        metadata.column_orders = [raw.idl().ColumnOrder(TYPE_ORDER=raw.idl().TypeDefinedOrder())]
        if stats is not None:
            group.columns[0].meta_data.statistics = raw.idl().Statistics(**stats)

    return rewritten(data, change)


def doubles(nan_count: int) -> bytes:
    body = struct.pack("<3d", 1.0, float("nan"), 2.0)
    data = file_of(Column("DOUBLE", [Page(body, 3)]))
    return rewritten(
        data,
        lambda metadata: assign(statistics=raw.idl().Statistics(nan_count=nan_count))(
            metadata.row_groups[0].columns[0].meta_data
        ),
    )


def decimals(precision: int) -> bytes:
    element = {"converted_type": 5, "precision": precision, "scale": 0}
    return file_of(Column("INT64", [Page(int64(1) + int64(123), 2)], element=element))


def nulls_of_v2() -> bytes:
    levels = repeated(1, 2, 1) + repeated(0, 1, 1)
    v2 = {"num_nulls": 2, "num_rows": 3, "definition_levels_byte_length": len(levels)}
    page = Page(levels + int64(1) + int64(2), 3, v2=v2)
    return file_of(Column("INT64", [page], optional=True))


def rows_of_v2() -> bytes:
    """A v2 page of a list, whose header says that all values begin rows; two of three do."""
    repetition, definition = packed([0, 1, 0], 1), repeated(1, 3, 1)
    v2 = {
        "num_rows": 3,
        "repetition_levels_byte_length": len(repetition),
        "definition_levels_byte_length": len(definition),
    }
    page = Page(repetition + definition + b"".join(map(int64, [1, 2, 3])), 3, v2=v2)
    data = file_of(Column("INT64", [page]))

    def repeat(metadata: Any) -> None:
        metadata.schema[1].repetition_type = 2
        metadata.num_rows = metadata.row_groups[0].num_rows = 2

    return rewritten(data, repeat)


FAULTS: dict[str, Change] = {
    "footer fields": footer(assign(column_orders=lambda orders: orders[:-1])),
    "file rows": footer(assign(num_rows=ROWS + 1)),
    "row group bytes": group(total_byte_size=lambda size: size + 1),
    "row group compressed bytes": group(total_compressed_size=lambda size: size + 1),
    "row group offset": group(file_offset=lambda offset: offset + 1),
    "row group ordinal": group(ordinal=0),
    "chunk values": chunk(assign(num_values=lambda count: count + 1)),
    "chunk counts": chunk(assign(statistics__null_count=201)),
    "chunk bounds": chunk(assign(statistics__min_value=int64(900))),
    "chunk encodings": chunk(no_dictionary_listed, leaf=2),
    "sorting columns": footer(
        lambda metadata: assign(column_idx=9)(metadata.row_groups[1].sorting_columns[0])
    ),
    "overlap": chunk(assign(total_compressed_size=lambda size: size + 100)),
    "outside": chunk(assign(bloom_filter_offset=len(SOUND) - 20, bloom_filter_length=100), leaf=1),
    "bloom filter": without_bloom_bits,
    "levels": chunk(
        assign(
            size_statistics__definition_level_histogram=lambda counts: [
                counts[0] + 1,
                counts[1] - 1,
                *counts[2:],
            ]
        ),
        leaf=3,
    ),
    "level histograms": chunk(
        assign(size_statistics__definition_level_histogram=lambda counts: [*counts[:-1], 9]), leaf=3
    ),
    "page index": index("offset_index", shifted(1, assign(first_row_index=lambda row: row + 1000))),
    "index nulls": index("column_index", assign(null_counts=lambda n: [n[0] + 1, *n[1:]]), leaf=1),
    "index bounds": index("column_index", assign(max_values=lambda v: [int64(999), *v[1:]])),
    "boundary order": index("column_index", swapped),
    "page headers": lambda: flat([1, 2, 3], num_values=4),
    "indexed pages": index("offset_index", shifted(1, assign(first_row_index=lambda row: row - 1))),
    "page values": lambda: flat([1, 2, 3], num_values=2),
    "page bytes": chunk(assign(total_uncompressed_size=lambda size: size + 1)),
    "page compressed bytes": chunk(assign(total_compressed_size=lambda size: size + 1)),
    "encoding stats": chunk(lambda chunk: assign(count=7)(chunk.encoding_stats[-1])),
    "checksum": lambda: flat([1, 2, 3], crc=5),
    "values": lambda: file_of(Column("INT64", [Page(b"\0" * 20, 3)])),
    "precision": lambda: decimals(2),
    "page rows": rows_of_v2,
    "nulls": chunk(assign(statistics__null_count=1), leaf=1),
    "page nulls": nulls_of_v2,
    "bounds": chunk(assign(statistics__max_value=int64(398))),
    "page bounds": index("column_index", assign(min_values=lambda v: [int64(201), *v[1:]])),
    "exact bounds": lambda: flat(
        [1, 2], stats={"min_value": int64(0), "max_value": int64(2), "is_min_value_exact": True}
    ),
    "distinct count": chunk(assign(statistics__distinct_count=5)),
    "nan count": lambda: doubles(2),
    "sort order": footer(
        lambda metadata: assign(descending=True)(metadata.row_groups[1].sorting_columns[0])
    ),
}
QUICK = set(list(RULES)[: list(RULES).index("page headers")])


def test_a_sound_file_has_no_fault() -> None:
    assert faults(SOUND).is_empty()
    assert faults(flat([1, 2, 3], stats={"min_value": int64(1), "max_value": int64(3)})).is_empty()
    assert faults(doubles(1))["rule"].to_list() == ["row group bytes"]  # of the files by hand


@pytest.mark.parametrize("rule", FAULTS)
def test_each_fault_is_found(rule: str) -> None:
    found = faults(FAULTS[rule]())
    assert rule in found["rule"].to_list(), found
    if rule in QUICK:
        assert rule in faults(FAULTS[rule](), quick=True)["rule"].to_list()


def test_every_rule_has_a_fault() -> None:
    notes = {name for name, rule in RULES.items() if rule.is_note}
    assert set(FAULTS) == set(RULES) - notes - {"readable"}
    assert all(rule.section for name, rule in RULES.items() if name != "unread")


def test_places_are_told() -> None:
    row = faults(FAULTS["bounds"]()).filter(rule="bounds").row(0, named=True)
    assert (row["row_group"], row["column"], row["leaf"]) == (1, "id", 0)
    assert (row["stated"], row["found"]) == ("398", "399")
    assert row["section"] == "parquet.thrift, Statistics.min_value"


def test_a_file_that_does_not_open_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "good.parquet").write_bytes(SOUND)
    (tmp_path / "torn.parquet").write_bytes(SOUND[:-9] + b"x" + SOUND[-8:])
    found = pqlab.open(tmp_path).check()
    assert isinstance(found, pl.DataFrame)
    bad = found.filter(~pl.col("is_note"))
    assert set(bad["file"]) == {str(tmp_path / "torn.parquet")}
    assert bad["rule"].to_list() == ["readable"]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = runner(capsys)
    sound, broken = tmp_path / "sound.parquet", tmp_path / "broken.parquet"
    sound.write_bytes(SOUND)
    broken.write_bytes(FAULTS["distinct count"]())
    assert run("check", sound).code == 0
    assert run("check", "--quick", broken).code == 0
    told = run("check", "--json", broken)
    assert told.code == 1
    assert [row["rule"] for row in json.loads(told.out)["rows"] if not row["is_note"]] == [
        "distinct count"
    ]


@pytest.mark.parametrize("encoding", ["PLAIN", "DICTIONARY"])
def test_bloom_filters_of_every_type_hold_their_values(encoding: str) -> None:
    columns = {
        "i8": pa.array([n % 100 - 50 for n in range(ROWS)], pa.int8()),
        "u32": pa.array([(n * 2654435761) % (1 << 32) for n in range(ROWS)], pa.uint32()),
        "i64": pa.array(range(-ROWS, 0), pa.int64()),
        "f32": pa.array([0.0, -0.0, float("nan"), *(n / 3 for n in range(ROWS - 3))], pa.float32()),
        "day": pa.array([n * 86_400_000 for n in range(ROWS)], pa.date64()),
        "ns": pa.array([n * 1_000_001 for n in range(ROWS)], pa.timestamp("ns")),
        "text": pa.array([f"text {n}" for n in range(ROWS)]),
        "fixed": pa.array([n.to_bytes(4, "big") for n in range(ROWS)], pa.binary(4)),
    }
    options = {name: {"ndv": ROWS, "fpp": 0.01} for name in columns}
    data = written(
        pa.table(columns), bloom_filter_options=options, use_dictionary=encoding == "DICTIONARY"
    )
    assert faults(data).is_empty()


# ------------------------------------------------------------------------------------ the corpus


def test_every_file_can_be_checked_quickly(corpus: Path, manifest: list[dict[str, str]]) -> None:
    """Footers and indexes of files, sound or not: faults are rows, never exceptions."""
    manifest = manifest[::4]
    names = [row["file"] for row in manifest]
    found = {name: told(corpus / name) for name in names}
    damaged = [row["file"] for row in manifest if row["corrupt_by_design"]]
    sound = [name for name in names if name not in damaged]
    assert sum(bool(found[name]) for name in damaged) > 0.5 * len(damaged)
    # Real faults of real writers: row groups' sizes and offsets above all.
    assert sum(bool(found[name]) for name in sound) < 0.15 * len(sound)


def told(path: Path, *, quick: bool = True) -> list[str]:
    try:
        with pqlab.open(path) as file:
            return file.check(quick=quick).filter(~pl.col("is_note"))["rule"].to_list()
    except pqlab.PqlabError as error:
        return [type(error).__name__]


# What redundant facts cannot show: bytes of VARIANT values, an index of an empty dictionary that
# nothing asks for, an optional offset that is left out.
UNSEEN = {
    *(
        f"apache__parquet-testing/shredded_variant/case-{name}.parquet"
        for name in ("040", "042", "084-INVALID", "087", "125-INVALID", "128")
    ),
    "apache__parquet-testing/bad_data/ARROW-GH-43605.parquet",
    "hardwood-hq__hardwood/core/src/test/resources/variant_negative_dict_size.parquet",
    "r-lib__nanoparquet/tests/testthat/data/broken/polars-no-dict-offset.parquet",
}


def test_damaged_files_are_found(corpus: Path, manifest: list[dict[str, str]]) -> None:
    damaged = {row["file"] for row in manifest if row["corrupt_by_design"]}
    assert len(damaged) > 150
    assert {name for name in damaged if not told(corpus / name, quick=False)} == UNSEEN
