"""The GPU engine on the emulator: the CPU engine's bytes, pyarrow's values, the same errors."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import test_decode_deltas as deltas
import test_decode_matrix as matrix
import test_decode_nested as nested
from decoding import InMemory, Ranges, metadata_of, plan_of
from delta_pages import AlpVector, alp
from edited_footers import written
from emulated import assert_same, assert_same_plan, device
from handmade import Column, Page, file_of
from nested_values import combined, difference
from random_tables import nested_table

from pqlab.cpu import engine as cpu
from pqlab.errors import PqlabError
from pqlab.gpu import engine as gpu

SEED = 20_240_611
TABLE = matrix.TABLE.slice(0, 1_100)
SOME_ROWS: dict[int, Ranges] = {0: [(3, 5), (100, 400)], 1: [(0, 1), (150, 300)]}
FEWER_ROWS: dict[int, Ranges] = {0: [(3, 5), (100, 400)], 1: [(0, 1), (50, 90)]}
CHECKED = pytest.mark.parametrize("checked", [False, True], ids=["plain", "checked"])


def equals_pyarrow(batch: pa.RecordBatch, data: bytes) -> None:
    expected = pq.read_table(io.BytesIO(data))
    assert batch.num_rows == expected.num_rows
    for name in expected.column_names:
        ours = pa.chunked_array([batch.column(name)])
        assert difference(combined(ours), combined(expected[name])) is None, name


def options(version: str, codec: str, rows: int = 600) -> dict[str, Any]:
    return {
        "data_page_version": version,
        "compression": codec,
        "data_page_size": 2_500,
        "write_batch_size": 97,
        "row_group_size": rows,
    }


@CHECKED
@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize(("version", "codec"), [("1.0", "snappy"), ("2.0", "none")])
def test_every_type(version: str, codec: str, dictionary: bool, checked: bool) -> None:
    table = TABLE.slice(0, 700) if checked else TABLE
    data = matrix.write(table, use_dictionary=dictionary, **options(version, codec))
    equals_pyarrow(assert_same(data, checked=checked), data)
    assert_same(data, rows=FEWER_ROWS if checked else SOME_ROWS, checked=checked)


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_every_codec(version: str, codec: str) -> None:
    names = [n for n in TABLE.column_names if n.startswith(("int64", "string")) and "1.0" not in n]
    data = matrix.write(
        TABLE.select(names), write_page_checksum=True, **options(version, codec, rows=1_100)
    )
    equals_pyarrow(assert_same(data, verify_checksums=True), data)


@CHECKED
def test_byte_streams(checked: bool) -> None:
    variable = ("bool", "string", "binary", "nothing", "decimal_big")
    names = [name for name in TABLE.column_names if not name.startswith(variable)]
    data = matrix.write(
        TABLE.select(names).slice(0, 500),
        use_dictionary=False,
        use_byte_stream_split=names,
        store_decimal_as_integer=True,
        **options("1.0", "snappy"),
    )
    equals_pyarrow(assert_same(data, checked=checked), data)


@CHECKED
@pytest.mark.parametrize("encoding", matrix.DELTAS)
def test_deltas(encoding: str, checked: bool) -> None:
    names = [name for name in TABLE.column_names if name.startswith(matrix.DELTAS[encoding])]
    data = matrix.write(
        TABLE.select(names).slice(0, 700),
        use_dictionary=False,
        column_encoding=dict.fromkeys(names, encoding),
        store_decimal_as_integer=True,
        **options("2.0" if checked else "1.0", "snappy"),
    )
    equals_pyarrow(assert_same(data, checked=checked), data)
    assert_same(data, rows={0: [(7, 90)], 1: [(2, 3), (50, 100)]}, checked=checked)


@pytest.mark.parametrize("count", [1, 31, 33, 1_025, 40_000])
def test_prefixes_reach_back_over_any_distance(count: int) -> None:
    rng = np.random.default_rng(SEED)
    words = [f"http://example.org/{'deep/' * int(rng.integers(6))}{at:07}" for at in range(count)]
    for values in (words, sorted(words), ["the same of all"] * count, ["", *words]):
        table = pa.table({"text": pa.array(values)})
        data = matrix.write(
            table, use_dictionary=False, column_encoding={"text": "DELTA_BYTE_ARRAY"}
        )
        equals_pyarrow(assert_same(data), data)


@CHECKED
@pytest.mark.parametrize("seed", range(nested.SEED, nested.SEED + 5))
def test_nested(seed: int, checked: bool) -> None:
    table = nested_table(seed, 6, nested.ROWS)
    if checked:
        table = table.slice(0, 120)
    for number, (version, page_size, dictionary, index) in enumerate(nested.OPTIONS):
        if (number + seed) % (24 if checked else 8):
            continue
        data = written(
            table,
            data_page_version=version,
            data_page_size=page_size,
            use_dictionary=dictionary,
            write_page_index=index,
            compression="snappy" if number % 2 else "none",
            write_batch_size=7 if page_size == 30 else 64,
            row_group_size=70 if checked else 170,
            store_schema=False,
        )
        equals_pyarrow(assert_same(data, checked=checked), data)
        assert_same(data, rows={0: [(3, 50), (60, 61)], 1: [(0, 20)]}, checked=checked)


def outcome(read: Any, *arguments: Any, **given: Any) -> tuple[str, str] | pa.RecordBatch:
    try:
        return pa.record_batch(read(*arguments, **given))
    except PqlabError as error:
        return type(error).__name__, str(error)


@CHECKED
def test_mutated_pages_end_as_on_the_cpu(checked: bool) -> None:
    """Values or the same sentence, with the same place; and nothing out of bounds."""
    rng = np.random.default_rng(SEED)
    rows, wrong = 60 if checked else 250, 0
    for encoding in ("PLAIN", *matrix.DELTAS, "RLE_DICTIONARY"):
        starts = matrix.DELTAS.get(encoding, ("int16", "string", "decimal", "bool", "fixed"))
        names = [n for n in TABLE.column_names if n.startswith(starts) and n.endswith("0.3")]
        plain = encoding in ("PLAIN", "RLE_DICTIONARY")
        data = matrix.write(
            TABLE.select(names).slice(0, rows),
            use_dictionary=encoding == "RLE_DICTIONARY",
            column_encoding=None if plain else dict.fromkeys(names, encoding),
            store_decimal_as_integer=not plain,
            compression="snappy",
        )
        metadata = metadata_of(data)
        for _ in range(8 if checked else 30):
            mutated = bytearray(data)
            for at in rng.integers(4, metadata.footer_offset, 2).tolist():
                mutated[at] ^= 1 << int(rng.integers(8))
            source, plan = InMemory(bytes(mutated)), plan_of(metadata)
            theirs = outcome(cpu.read, plan, metadata, source, workers=1)
            ours = outcome(gpu.read, plan, metadata, source, device(checked=checked))
            if isinstance(theirs, tuple) and isinstance(ours, tuple):
                wrong += 1
                # Which of two wrong pages is found first is each engine's own.
                assert ours == theirs or ours[0] == theirs[0], (ours, theirs)
            else:
                assert isinstance(ours, pa.RecordBatch), (ours, theirs)
                assert ours.equals(theirs)
    assert wrong > 5


def test_one_wrong_page_is_the_same_error() -> None:
    texts = [f"text {at}" for at in range(400)]
    texts[250] = "wrong here"
    data = matrix.write(
        pa.table({"t": texts}), use_dictionary=False, data_page_size=700, write_batch_size=20
    ).replace(b"wrong here", b"wrong \xffere")
    metadata = metadata_of(data)
    others: dict[int, Ranges] = {0: [(0, 240), (251, 252)]}
    for rows in (None, others):  # its page is read, whether the value is wanted or not
        plan, source = plan_of(metadata, rows=rows), InMemory(data)
        theirs = outcome(cpu.read, plan, metadata, source)
        assert outcome(gpu.read, plan, metadata, source, device()) == theirs
        assert theirs[0] == "CorruptError"


def test_no_rows() -> None:
    table = pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.list_(pa.string()))})
    assert assert_same(written(table)).num_rows == 0
    full = pa.table({"a": [1, 2, 3], "b": [["x"], None, []]})
    assert assert_same(written(full), rows={0: [(2, 2)]}).num_rows == 0


@CHECKED
def test_prefixes_of_old_writers_reach_into_the_page_before(checked: bool) -> None:
    column, expected = deltas.reaching_back()
    data = file_of(column, created_by=deltas.OLD_WRITER)
    assert assert_same(data, checked=checked).column(0).to_pylist() == expected
    cut = assert_same(data, rows={0: [(15, 19), (25, 27)]}, checked=checked)
    assert cut.column(0).to_pylist() == [*expected[15:19], *expected[25:27]]
    column.pages[4].body = column.pages[4].body.replace(b"\x80\x01\x04", b"\x80\x01\x05", 1)
    for wrong, writer in ((column, deltas.OLD_WRITER), (deltas.reaching_back()[0], "another")):
        data = file_of(wrong, created_by=writer)
        metadata = metadata_of(data)
        plan, source = plan_of(metadata), InMemory(data)
        theirs = outcome(cpu.read, plan, metadata, source)
        assert isinstance(theirs, tuple)
        assert outcome(gpu.read, plan, metadata, source, device(checked=checked)) == theirs


@CHECKED
@pytest.mark.parametrize("positions", [(3, 3, 3), (31, 9, 31), (9, 8, 7), (0, 59, 60)])
def test_alp_exceptions_in_any_order(positions: tuple[int, int, int], checked: bool) -> None:
    """Of those at one place the last one counts, as on the CPU; no two lanes write one value."""
    bits = [int(np.float64(value).view(np.uint64)) for value in (1.5, 2.5, 3.5)]
    vector = AlpVector(2, 0, 7, 8, list(range(60)), dict(zip((3, 9, 31), bits, strict=True)))
    body = alp([vector], 6, 8).replace(
        np.array([3, 9, 31], "<u2").tobytes(), np.array(positions, "<u2").tobytes()
    )
    data = file_of(Column("DOUBLE", [Page(body, 60, 10)]))
    if max(positions) == 60:  # beyond the vector
        metadata = metadata_of(data)
        plan, source = plan_of(metadata), InMemory(data)
        theirs = outcome(cpu.read, plan, metadata, source)
        assert outcome(gpu.read, plan, metadata, source, device(checked=checked)) == theirs
        assert isinstance(theirs, tuple)
        return
    expected = {at: (7 + at) * 1.0 / 100 for at in range(60)}
    expected |= dict(zip(positions, (1.5, 2.5, 3.5), strict=True))
    values = assert_same(data, checked=checked).column(0).to_pylist()
    assert values == pytest.approx(list(expected.values()))


# Lanes that work at a time, of 32: none of the common encodings is one thread's work.
LANES = {
    "read_levels": 8, "read_indices": 8, "read_strings": 8, "read_deltas_8": 8, "read_lengths": 8,
    "read_prefixes": 8, "join_prefixes": 8, "emit_plain_8": 20, "emit_entries_8": 20,
    "emit_text": 12, "emit_validity": 20, "read_nested_levels": 8, "fill_offsets": 8,
    "fill_positions": 8, "count_slots": 8, "count_entries": 20, "mark_entries": 20,
    "fill_group": 16, "emit_records_8": 20, "decompress_snappy": 12,
}  # fmt: skip


def test_lanes_work_together() -> None:
    rng = np.random.default_rng(SEED)
    rows = 4_000
    texts = [f"value {at}" for at in rng.integers(0, 10**6, rows).tolist()]
    null = rng.random(rows) < 0.5
    wide = rng.integers(0, 2**40, rows)
    lists = pa.array([wide[at : at + at % 5].tolist() for at in range(rows)])
    table = pa.table({
        "plain": pa.array(wide, mask=null), "dictionary": pa.array(wide % 100),
        "text": texts, "deltas": wide, "lengths": texts, "prefixes": sorted(texts), "lists": lists,
    })  # fmt: skip
    encodings = {
        "plain": "PLAIN", "text": "PLAIN", "deltas": "DELTA_BINARY_PACKED",
        "lengths": "DELTA_LENGTH_BYTE_ARRAY", "prefixes": "DELTA_BYTE_ARRAY",
        "lists.list.element": "PLAIN",
    }  # fmt: skip
    data = matrix.write(table, use_dictionary=["dictionary"], column_encoding=encodings)
    before = device(checked=True).statistics()
    for statistics in before.values():
        statistics.operations = statistics.lane_slots = 0
    assert_same(data, checked=True)
    found = {name: device(checked=True).statistics()[name].active_lanes for name in LANES}
    assert all(found[name] >= floor for name, floor in LANES.items()), found


def test_small_files_of_the_corpus(corpus: Path) -> None:
    """Every eighth, or, with PQLAB_GPU_WHOLE=1, all: the same buffers, or the same sentence."""
    whole = os.environ.get("PQLAB_GPU_WHOLE") == "1"
    size = 1 << 20 if whole else 1 << 16
    small = [each for each in sorted(corpus.rglob("*.parquet")) if each.stat().st_size < size]
    read = 0
    for path in small[:: 1 if whole else 8]:
        data = path.read_bytes()
        try:
            metadata = metadata_of(data)
        except PqlabError:
            continue
        # Rows that are only claimed would be emulated one by one; pyarrow nests 64 deep at most.
        if metadata.num_rows > 200_000 or "max_nesting_depth" in str(path):
            continue
        plan, source = plan_of(metadata), InMemory(data)
        theirs = outcome(cpu.read, plan, metadata, source, workers=1)
        ours = outcome(gpu.read, plan, metadata, source, device())
        if isinstance(theirs, tuple):
            assert ours == theirs, path
        else:
            assert_same_plan(plan, metadata, source)
            read += 1
    assert read > 30
