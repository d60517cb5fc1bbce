"""The frames of every public file against pyarrow's metadata, duckdb's, and the file's own size."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from edited_footers import corpus_files, footer_bytes

from pqlab.errors import PqlabError
from pqlab.footer.chunk_frames import column_chunks_frame
from pqlab.footer.frames import leaves_frame, row_groups_frame, statistics_frame
from pqlab.footer.layout import layout_frame
from pqlab.footer.metadata import FileMetaData, parse_file_metadata

Named = tuple[str, bytes, FileMetaData]
OVERLAPPING = {
    "multiple_rowgroups.parquet",  # both row groups name the same pages
    "repeated_primitive_no_list_no_nest.parquet",  # edited: its column index lies in the footer
}
PYARROW_CODECS = {"UNKNOWN": "LZ4", "LZ4": "LZ4_RAW"}  # pyarrow's names of the two framings


@pytest.fixture(scope="module")
def parsed(corpus: Any, manifest: Any) -> list[Named]:
    """Every corpus file whose footer parses."""
    found = []
    for name, data in corpus_files(corpus, manifest):
        footer = footer_bytes(data)
        assert footer is not None
        try:
            metadata = parse_file_metadata(footer, len(data) - 8 - len(footer))
        except PqlabError:
            continue  # the footer's own tests say which, and why
        found.append((name, data, metadata))
    assert len(found) > 1500
    return found


@pytest.fixture(scope="module")
def sound(parsed: list[Named], manifest: Any) -> list[Named]:
    """Those that are neither damaged by design nor encrypted (of which pyarrow aborts)."""
    doubtful = {r["file"] for r in manifest if r["corrupt_by_design"] or r["encryption"]}
    return [item for item in parsed if item[0] not in doubtful]


def test_the_layout_of_every_file_adds_up_to_its_size(parsed: list[Named]) -> None:
    for name, data, metadata in parsed:
        layout = layout_frame(metadata, len(data))
        size, overlap, outside = layout.select(
            pl.sum("size_bytes", "overlap_bytes", "outside_bytes")
        ).row(0)
        assert size - overlap - outside == len(data), name
        covered = 0
        for offset, size in layout.select("offset", "size_bytes").iter_rows():
            assert min(offset, len(data)) <= covered, f"{name}: a hole before {offset}"
            covered = max(covered, offset + size)


def test_sound_files_have_no_overlaps(sound: list[Named]) -> None:
    odd = {
        name: overlap
        for name, data, metadata in sound
        if (overlap := layout_frame(metadata, len(data))["overlap_bytes"].sum())
    }
    assert {name.rsplit("/", 1)[1] for name in odd} == OVERLAPPING


def _pyarrow(data: bytes) -> pq.FileMetaData | None:
    try:
        return pq.read_metadata(io.BytesIO(data))
    except (OSError, pa.ArrowException):
        return None  # a schema that it refuses


def _disagreements(metadata: FileMetaData, theirs: pq.FileMetaData) -> Iterator[str]:
    leaves, groups = leaves_frame(metadata), row_groups_frame(metadata)
    chunks = column_chunks_frame(metadata).rows(named=True)
    assert (groups.height, leaves.height) == (theirs.num_row_groups, theirs.num_columns)
    for ours, column in zip(leaves.iter_rows(named=True), theirs.schema, strict=True):
        yield from _differences(
            ours,
            {
                "column": column.path,
                "physical_type": column.physical_type,
                "max_definition_level": column.max_definition_level,
                "max_repetition_level": column.max_repetition_level,
            },
        )
    for number, ours in enumerate(groups.iter_rows(named=True)):
        group = theirs.row_group(number)
        yield from _differences(
            ours, {"num_rows": group.num_rows, "total_byte_size": group.total_byte_size}
        )
        for leaf in range(leaves.height):
            chunk = group.column(leaf)
            our_chunk = chunks[number * leaves.height + leaf]
            our_chunk["encodings"] = set(our_chunk["encodings"])
            yield from _differences(
                our_chunk,
                {
                    "codec": PYARROW_CODECS.get(chunk.compression, chunk.compression),
                    "encodings": set(chunk.encodings),
                    "num_values": chunk.num_values,
                    "data_page_offset": chunk.data_page_offset,
                    "dictionary_page_offset": chunk.dictionary_page_offset,
                    "total_compressed_size": chunk.total_compressed_size,
                    "total_uncompressed_size": chunk.total_uncompressed_size,
                },
            )


def _differences(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    for name, value in theirs.items():
        if ours[name] != value:
            yield f"{name}: {ours[name]!r}, pyarrow {value!r}"


def test_columns_row_groups_and_chunks_are_pyarrows(sound: list[Named]) -> None:
    compared = 0
    for name, data, metadata in sound:
        theirs = _pyarrow(data)
        if theirs is not None:
            assert list(_disagreements(metadata, theirs)) == [], name
            compared += 1
    assert compared > 1200


def _comparable(value: Any, unit: str | None) -> Any:
    """Pyarrow's bound as ours is compared: text as bytes, timestamps as their number."""
    if isinstance(value, str):
        return value.encode()
    if unit is not None and value is not None:
        return pa.scalar(value, pa.timestamp(unit)).value
    return value


def test_typed_bounds_are_pyarrows(sound: list[Named]) -> None:
    """Where both have bounds, they are equal; where one has none, a reason is counted."""
    seen: Counter[str] = Counter()
    wrong = []
    for name, data, metadata in sound:
        theirs = _pyarrow(data)
        if theirs is None:
            continue
        for leaf, node in enumerate(metadata.leaves):
            ours = statistics_frame(metadata, leaf)
            dtype = ours.schema["min"]
            unit = dtype.time_unit if isinstance(dtype, pl.Datetime) else None
            for row in range(ours.height):
                try:
                    statistics = theirs.row_group(row).column(leaf).statistics
                    if statistics is None or not statistics.has_min_max:
                        seen["pyarrow has none"] += 1
                        continue
                    bounds = [_comparable(statistics.min, unit), _comparable(statistics.max, unit)]
                except (ValueError, OverflowError):
                    seen["pyarrow cannot show it"] += 1
                    continue
                if ours["bounds_state"][row] not in ("present", "deprecated"):
                    seen[ours["bounds_state"][row]] += 1
                    continue
                shown = ours.slice(row, 1).select("min", "max")
                if unit is not None:
                    shown = shown.select(pl.all().dt.epoch(unit))
                elif dtype == pl.String:
                    shown = shown.cast(pl.Binary)
                elif dtype == pl.Float16:
                    bounds = [pl.Series([b]).bin.reinterpret(dtype=pl.Float16)[0] for b in bounds]
                seen["equal"] += 1
                if list(shown.row(0)) != bounds and None not in shown.row(0):
                    wrong.append((name, node.column, row, shown.row(0), bounds))
                seen["no value of its type"] += None in shown.row(0)
    assert wrong == []
    assert seen["equal"] > 5000
    # TIME_MILLIS and INT_8, INT_16 columns whose bounds are outside of the type's range
    assert seen["no value of its type"] <= 20
    # no column_orders, and min, max of another order: pyarrow takes them all the same
    assert seen["untrusted"] <= 80


def test_chunks_and_schema_are_duckdbs(data: Any) -> None:
    path = data / "flights-3m.parquet"
    content = path.read_bytes()
    footer = footer_bytes(content)
    assert footer is not None
    metadata = parse_file_metadata(footer, len(content) - 8 - len(footer))
    theirs = duckdb.execute(
        "SELECT row_group_id, column_id, path_in_schema, type, num_values, stats_null_count, "
        "compression, total_compressed_size, total_uncompressed_size, data_page_offset, "
        "row_group_num_rows FROM parquet_metadata(?) ORDER BY 1, 2",
        [str(path)],
    ).fetchall()
    ours = column_chunks_frame(metadata).join(row_groups_frame(metadata), on="row_group")
    shown = ours.select(
        "row_group", "leaf", "column", "physical_type", "num_values", "null_count", "codec",
        "total_compressed_size", "total_uncompressed_size", "data_page_offset", "num_rows",
    )  # fmt: skip
    assert shown.rows() == theirs
    columns = duckdb.execute(
        "SELECT name, type, repetition_type FROM parquet_schema(?) WHERE type IS NOT NULL",
        [str(path)],
    ).fetchall()
    leaves = leaves_frame(metadata).select("column", "physical_type", "repetition_type")
    assert leaves.rows() == columns
