"""Every column of every public file: pyarrow's values, or the sentence that decides."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from decoding import metadata_of, read_columns, read_frame, read_table, to_array, to_series
from nested_values import combined, difference

from pqlab.errors import CorruptError, PqlabError, UnsupportedError
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.schema import SchemaNode

# Columns that pyarrow reads and pqlab calls corrupt: what the specification says.
CORRUPT = {
    ("invalid_utf8.parquet", "invalid_string"): "STRING is UTF-8 (LogicalTypes.md).",
    ("duckdb__duckdb/data/parquet-testing/invalid.parquet", "X1"): "STRING is UTF-8.",
    ("parquet-testing/invalid_utf8_dba.parquet", "X1"): "STRING is UTF-8.",
    ("parquet-testing/invalid_utf8_dlba.parquet", "X1"): "STRING is UTF-8.",
    ("fuzz-5697144926502912.fuzz", "value"): "A chunk without ColumnChunk.meta_data has no pages.",
    ("malformed/num_values_exceeds_data.parquet", "id"): "Pages hold more rows than num_rows.",
}


# Nested columns that pyarrow reads otherwise; the end of the file's name, and the root column.
NESTED_CORRUPT = {
    ("complex/repeated_types.parquet", name): "A value beyond its annotation has no meaning."
    for name in ("int8_list", "int16_list", "uint8_list", "uint16_list", "time_list")
} | {
    ("complex/repeated_types.parquet", "int96_raw_list"): "Beyond what nanoseconds reach.",
    ("nested-unsigned-malformed.parquet", "g"): "Pages hold more rows than num_rows.",
}
NESTED_OTHER_SHAPE = {
    ("legacy_primitives_collection_arrays.parquet", "Intervals"): "INTERVAL is three numbers.",
    ("complex/repeated_types.parquet", "interval_list"): "INTERVAL is three numbers.",
    ("map_no_value.parquet", "my_map_no_v"): "A map without values is a map still.",
}


def files(corpus: Path, manifest: list[dict[str, str]]) -> Iterator[tuple[str, bytes]]:
    for row in manifest:
        if row["pyarrow_status"] == "ok":
            yield row["file"], (corpus / row["file"]).read_bytes()


def flat_leaves(metadata: FileMetaData) -> list[SchemaNode]:
    """Top-level columns whose name is theirs alone."""
    names = Counter(leaf.path[0] for leaf in metadata.leaves)
    return [
        leaf
        for leaf in metadata.leaves
        if len(leaf.path) == 1 and leaf.max_repetition_level == 0 and names[leaf.name] == 1
    ]


def storage(array: pa.ChunkedArray) -> pa.Array:
    """What pyarrow read, without what only its own schema adds: extension and dictionary types."""
    chunks = array.chunks or [pa.array([], array.type)]
    if isinstance(array.type, pa.ExtensionType):
        chunks = [chunk.storage for chunk in chunks]
    if pa.types.is_dictionary(array.type):
        chunks = [chunk.dictionary_decode() for chunk in chunks]
    return pa.concat_arrays(chunks)


def plain(array: pa.Array) -> pa.Array:
    if array.type == pa.string_view():
        return array.cast(pa.string())
    return array.cast(pa.binary()) if array.type == pa.binary_view() else array


def is_interval(array: pa.Array) -> bool:
    return bool(pa.types.is_struct(array.type))


def same(ours: pa.Array, theirs: pa.Array) -> bool:
    if pa.types.is_null(theirs.type):
        # INTERVAL has no logical type: pyarrow believes the UNKNOWN that a writer puts beside it.
        nulls = len(ours) if is_interval(ours) else ours.null_count
        return nulls == len(ours) == len(theirs)
    if is_interval(ours):  # pyarrow leaves its 12 bytes as they are
        stored = [None if value is None else bytes(value) for value in theirs.to_pylist()]
        whole = [
            None if v is None else b"".join(part.to_bytes(4, "little") for part in v.values())
            for v in ours.to_pylist()
        ]
        return stored == whole
    if pa.types.is_decimal256(theirs.type):  # bytes, big-endian
        digits = [
            None if v is None else int.from_bytes(v, "big", signed=True) for v in ours.to_pylist()
        ]
        scale = theirs.type.scale
        return digits == [None if v is None else int(v.scaleb(scale)) for v in theirs.to_pylist()]
    if pa.types.is_floating(ours.type):
        return bool(ours.to_pandas().equals(theirs.cast(ours.type).to_pandas()))
    theirs = theirs.cast(pa.binary()) if pa.types.is_fixed_size_binary(theirs.type) else theirs
    return bool(plain(ours).cast(theirs.type).equals(theirs))


def excuse(file: str, leaf: SchemaNode) -> str | None:
    return next(
        (why for (end, name), why in CORRUPT.items() if file.endswith(end) and leaf.name == name),
        None,
    )


def test_flat_columns_hold_pyarrows_values(corpus: Path, manifest: list[dict[str, str]]) -> None:
    counts: Counter[str] = Counter()
    wrong = []
    for file, data in files(corpus, manifest):
        try:
            metadata = metadata_of(data)
        except PqlabError:
            counts["footers that are refused"] += 1
            continue
        parquet = pq.ParquetFile(io.BytesIO(data))
        for leaf in flat_leaves(metadata):
            ordinal = metadata.leaves.index(leaf)
            try:
                column = read_columns(data, [ordinal], workers=1)[0]
            except UnsupportedError as error:
                wrong.append((file, leaf.name, str(error)))
                continue
            except CorruptError as error:
                if "int96_unit" in str(error):  # pyarrow wraps what nanoseconds do not reach
                    series = to_series(read_columns(data, [ordinal], int96_unit="us")[0])
                    assert len(series) == metadata.num_rows
                    counts["INT96 beyond nanoseconds"] += 1
                elif excuse(file, leaf) is None:
                    wrong.append((file, leaf.name, str(error)))
                continue
            ours = to_array(column)
            ours.validate(
                full=not pa.types.is_decimal(ours.type)
            )  # as pyarrow, whatever the digits
            assert len(to_series(column)) == metadata.num_rows
            try:
                theirs = storage(parquet.read(columns=[leaf.name])[leaf.name])
            except pa.ArrowInvalid:
                counts["pyarrow raises"] += 1
                continue
            counts["equal"] += 1
            if not same(ours, theirs):
                wrong.append((file, leaf.name, f"{ours.type}, not {theirs.type}: {ours}"))
    assert wrong == []
    assert counts["equal"] > 5_000
    assert counts["pyarrow raises"] <= 3
    assert counts["footers that are refused"] <= 1


def excused(excuses: dict[tuple[str, str], str], file: str, column: str) -> bool:
    return any(file.endswith(end) and column == name for end, name in excuses)


def test_nested_columns_hold_pyarrows_values(corpus: Path, manifest: list[dict[str, str]]) -> None:
    counts: Counter[str] = Counter()
    wrong = []
    for file, data in files(corpus, manifest):
        try:
            metadata = metadata_of(data)
        except PqlabError:
            continue
        roots = metadata.schema.children
        names = Counter(root.name for root in roots)
        parquet = pq.ParquetFile(io.BytesIO(data), arrow_extensions_enabled=False)
        for root in roots:
            leaves = [at for at, leaf in enumerate(metadata.leaves) if leaf.path[0] == root.name]
            flat = root.leaf is not None and root.max_repetition_level == 0
            if flat or names[root.name] > 1 or not leaves:
                continue
            try:
                ours = read_table(data, leaves)
                assert read_frame(data, leaves).shape == (metadata.num_rows, 1)
            except UnsupportedError as error:
                wrong.append((file, root.name, str(error)))
                continue
            except CorruptError as error:
                counts["corrupt"] += 1
                if not excused(NESTED_CORRUPT, file, root.name):
                    wrong.append((file, root.name, str(error)))
                continue
            if "shredded_variant" not in file:  # a decimal of too many digits, which pyarrow keeps
                ours.validate(full=True)
            theirs = combined(parquet.read(columns=[root.name])[root.name])
            differs = difference(combined(ours[root.name]), theirs)
            counts["equal" if differs is None else "other shapes"] += 1
            if differs is not None and not excused(NESTED_OTHER_SHAPE, file, root.name):
                wrong.append((file, root.name, differs))
    assert wrong == []
    assert counts["equal"] > 900
    assert counts["corrupt"] <= len(NESTED_CORRUPT)
    assert counts["other shapes"] == len(NESTED_OTHER_SHAPE)


def test_files_that_are_corrupt_give_errors_or_values(
    corpus: Path, manifest: list[dict[str, str]]
) -> None:
    outcomes: Counter[str] = Counter()
    for row in manifest:
        if not row["corrupt_by_design"] and row["pyarrow_status"] == "ok":
            continue
        data = (corpus / row["file"]).read_bytes()
        if len(data) < 12 or data[-4:] != b"PAR1":
            continue
        try:
            metadata = metadata_of(data)
            leaves = range(metadata.num_leaves)
        except PqlabError:
            continue
        for leaf in leaves:
            try:
                column = read_columns(data, [leaf], workers=2)[0]
                to_array(column).validate(full=True)
                outcomes["values"] += 1
            except PqlabError as error:
                outcomes[type(error).__name__] += 1
                outcomes["without a place"] += not {"file", "column"} <= set(error.place)
    assert outcomes["without a place"] == 0
    assert outcomes["values"] > 0
    assert outcomes["CorruptError"] > 10


@pytest.mark.parametrize("workers", [1, 2])
def test_the_flights_are_all_there(data: Path, workers: int) -> None:
    path = data / "flights-3m.parquet"
    columns = read_columns(path.read_bytes(), workers=workers)
    table = pq.read_table(path)
    assert [column.leaf.name for column in columns] == table.column_names
    for column in columns:
        assert same(to_array(column), storage(table[column.leaf.name]))
