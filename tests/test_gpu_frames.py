"""Frames that stay on a device: what they hold equals pyarrow's values, however they are taken."""

from __future__ import annotations

import gc
import importlib.util
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import test_decode_matrix as matrix
import test_decode_nested as nested
from decoding import InMemory, Ranges, metadata_of, plan_of
from edited_footers import written
from emulated import device
from nested_values import combined, difference
from random_tables import nested_table

import pqlab
from pqlab.errors import CorruptError, EngineError, PqlabError, UnsupportedError
from pqlab.gpu import engine as gpu
from pqlab.gpu.frame import DeviceFrame
from pqlab.stream.options import ToDevice

SEED = 20_261_201
TABLE = matrix.TABLE.slice(0, 700)
CHECKED = pytest.mark.parametrize("checked", [False, True], ids=["plain", "checked"])


def frame_of(
    data: bytes, rows: dict[int, Ranges] | None = None, *, checked: bool = False
) -> DeviceFrame:
    metadata = metadata_of(data)
    plan = plan_of(metadata, rows=rows)
    return gpu.read_frame(plan, metadata, InMemory(data), device(checked=checked))


def equals(frame: DeviceFrame, expected: pa.Table) -> None:
    """Taken by the Arrow device interface, which on the emulator is of host memory."""
    batch = pa.record_batch(frame)
    batch.validate(full=not any(pa.types.is_decimal(each) for each in batch.schema.types))
    assert batch.num_rows == expected.num_rows == frame.num_rows
    assert list(frame) == expected.column_names
    for name in expected.column_names:
        ours, theirs = pa.chunked_array([batch.column(name)]), combined(expected[name])
        assert frame[name].null_count == theirs.null_count
        assert difference(combined(ours), theirs) is None, name


@CHECKED
@pytest.mark.parametrize("dictionary", [False, True])
def test_every_type(dictionary: bool, checked: bool) -> None:
    table = TABLE.slice(0, 300) if checked else TABLE
    data = matrix.write(table, use_dictionary=dictionary, data_page_size=2_500)
    equals(frame_of(data, checked=checked), pq.read_table(io.BytesIO(data)))
    some = frame_of(data, {0: [(3, 5), (100, 290)]}, checked=checked)
    whole = pq.read_table(io.BytesIO(data))
    equals(some, pa.concat_tables([whole.slice(3, 2), whole.slice(100, 190)]))


@CHECKED
@pytest.mark.parametrize("seed", range(nested.SEED, nested.SEED + 3))
def test_nested(seed: int, checked: bool) -> None:
    table = nested_table(seed, 6, 100 if checked else 400)
    data = written(table, data_page_size=400, write_batch_size=16, store_schema=False)
    equals(frame_of(data, checked=checked), pq.read_table(io.BytesIO(data)))


@CHECKED
def test_text_from_pages_dictionaries_and_what_was_put_together(checked: bool) -> None:
    rng = np.random.default_rng(SEED)
    words = [None if at % 11 == 0 else "wörd " * int(rng.integers(9)) for at in range(2_500)]
    table = pa.table({name: pa.array(words) for name in ("plain", "few", "lengths", "prefixes")})
    sink = io.BytesIO()
    pq.write_table(
        table, sink, use_dictionary=["few"], compression="snappy", data_page_size=3_000,
        write_batch_size=100, column_encoding={
            "plain": "PLAIN", "lengths": "DELTA_LENGTH_BYTE_ARRAY", "prefixes": "DELTA_BYTE_ARRAY"},
    )  # fmt: skip
    frame = frame_of(sink.getvalue(), checked=checked)
    equals(frame, table)
    offsets, data = frame["plain"].offsets, bytes(frame["plain"].values)
    found = [data[offsets[i] : offsets[i + 1]].decode() for i in range(len(words))]
    assert found == [word or "" for word in words]


def test_arrays_are_the_memory_itself() -> None:
    numbers = np.arange(5_000, dtype=np.int64)
    flags = numbers % 3 == 0
    data = matrix.write(pa.table({"n": numbers, "f": flags, "d": pa.array(numbers, mask=flags)}))
    frame = pqlab.open(data).select().to_cupy(engine="emulated")
    for taken in (frame["n"].values, np.asarray(frame["n"]), np.from_dlpack(frame["n"])):
        assert np.array_equal(taken, numbers)
        assert np.shares_memory(taken, frame["n"].values)
    assert not hasattr(frame["n"], "__cuda_array_interface__")  # it is host memory
    assert np.array_equal(frame["f"].values, flags)
    assert np.array_equal(frame["d"].is_valid(), ~flags)
    assert np.array_equal(frame["d"].values, np.where(flags, 0, numbers))
    validity = frame["d"].validity
    assert np.array_equal(np.unpackbits(validity, bitorder="little")[:5_000] == 1, ~flags)
    assert frame["n"].validity is None
    assert frame["n"].is_valid().all()
    assert frame["d"].null_count == flags.sum()
    assert frame.nbytes >= 2 * numbers.nbytes
    for take in (np.asarray, np.from_dlpack):
        with pytest.raises(UnsupportedError, match="1,667 of 5,000 rows are null"):
            take(frame["d"])


def test_what_was_taken_outlives_the_frame() -> None:
    texts = [f"number {at}" for at in range(3_000)]
    data = matrix.write(pa.table({"n": range(3_000), "t": texts}))
    frame = pqlab.open(data).select().to_cupy(engine="emulated")
    values, batch = frame["n"].values, pa.record_batch(frame)
    schema, array = frame.__arrow_c_device_array__()
    del frame
    gc.collect()
    again = pqlab.open(data).select().to_cupy(engine="emulated")  # into memory that was let go
    assert np.array_equal(values, np.arange(3_000))
    text = batch.column("t")
    del batch
    gc.collect()
    assert text.to_pylist() == texts
    del schema, array, again


@pytest.mark.parametrize("to", ["cupy", "arrow_device", "dlpack"])
def test_row_groups_are_handed_out_one_by_one(to: ToDevice) -> None:
    rows = np.arange(20_000)
    data = matrix.write(pa.table({"x": rows / 7, "y": rows % 5 == 0}), row_group_size=3_000)
    selection = pqlab.open(data).select()
    frames = list(selection.iter_row_groups(to=to, engine="emulated"))
    assert [frame.num_rows for frame in frames] == [3_000] * 6 + [2_000]
    taken = np.concatenate([np.from_dlpack(frame["x"]) for frame in frames])
    assert np.array_equal(taken, rows / 7)
    assert np.array_equal(np.concatenate([frame["y"].values for frame in frames]), rows % 5 == 0)


@pytest.mark.parametrize("rows", [1, 33, 170, 1_000])
def test_batches_cut_and_join_frames(rows: int) -> None:
    table = nested_table(nested.SEED + 1, 6, 400)
    data = written(table, row_group_size=130, data_page_size=300, store_schema=False)
    expected = pq.read_table(io.BytesIO(data))
    selection = pqlab.open(data).select()
    at = 0
    for frame in selection.iter_batches(rows, to="cupy", engine="emulated"):
        equals(frame, expected.slice(at, min(rows, 400 - at)))
        at += frame.num_rows
        if rows == 1 and at > 60:
            return
    assert at == 400


def test_flat_columns_are_cut_and_joined() -> None:
    data = matrix.write(TABLE, row_group_size=150)
    expected = pq.read_table(io.BytesIO(data))
    at = 0
    for frame in pqlab.open(data).select().iter_batches(211, to="cupy", engine="emulated"):
        equals(frame, expected.slice(at, 211))
        at += frame.num_rows
    assert at == TABLE.num_rows


@pytest.mark.parametrize(
    ("column", "words"),
    [("text", "rows of string"), ("lists", "rows of list"), ("nulls", "1 of 3 rows are null")],
)
def test_dlpack_refuses_what_an_array_does_not_say(column: str, words: str) -> None:
    table = pa.table({"text": ["a", "b", "c"], "lists": [[1], [], [2]], "nulls": [1, None, 2]})
    selection = pqlab.open(matrix.write(table)).select([column])
    with pytest.raises(UnsupportedError, match=words):
        next(selection.iter_row_groups(to="dlpack", engine="emulated"))


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is here")
@pytest.mark.parametrize(
    "take",
    [
        lambda selection: selection.to_cupy(),
        lambda selection: selection.iter_row_groups(to="cupy"),
        lambda selection: selection.iter_row_groups(to="dlpack", engine="gpu"),
    ],
)
def test_without_a_gpu_a_sentence_says_what_is_missing(
    take: Callable[[pqlab.FileSelection], object],
) -> None:
    selection = pqlab.open(matrix.write(pa.table({"x": [1]}))).select()
    with pytest.raises(EngineError, match=r"CuPy, which is not to be had.*pip install cupy"):
        take(selection)


def test_what_does_not_go_together_is_refused() -> None:
    selection = pqlab.open(matrix.write(pa.table({"x": [1]}))).select()
    with pytest.raises(EngineError, match="the CPU decodes into host memory"):
        selection.to_cupy(engine="cpu")
    with pytest.raises(ValueError, match="frames in host memory"):
        selection.to_cupy(engine="emulated", strings="categorical")
    with pytest.raises(EngineError, match="none of ordinal 1"):
        selection.to_cupy(engine="emulated", device=1)
    with pytest.raises(ValueError, match="to is one of polars, arrow, cupy, dlpack, arrow_device"):
        selection.iter_row_groups(to="numpy")  # type: ignore[call-overload]


def test_no_rows() -> None:
    table = pa.table({"a": pa.array([], pa.int64()), "t": pa.array([], pa.string()),
                      "b": pa.array([], pa.list_(pa.string()))})  # fmt: skip
    equals(frame_of(written(table)), table)


def test_wrong_pages_are_the_same_errors() -> None:
    texts = [f"text {at}" for at in range(400)]
    texts[250] = "wrong here"
    data = matrix.write(pa.table({"t": texts}), use_dictionary=False, data_page_size=700)
    file = pqlab.open(data.replace(b"wrong here", b"wrong \xffere"))
    with pytest.raises(CorruptError) as theirs:
        file.select().read()
    with pytest.raises(CorruptError) as ours:
        file.select().to_cupy(engine="emulated")
    assert str(ours.value) == str(theirs.value)


def test_files_of_the_corpus(corpus: Path) -> None:
    """The public files that are small: pyarrow's values, or the CPU engine's error."""
    read = 0
    small = [each for each in sorted(corpus.rglob("*.parquet")) if each.stat().st_size < 1 << 14]
    for path in small[::12]:
        if "max_nesting_depth" in str(path):
            continue
        try:
            selection = pqlab.open(path).select()
            if selection.file.info.num_rows > 50_000:
                continue
            theirs = selection.to_arrow(engine="cpu")
        except PqlabError as error:
            with pytest.raises(type(error)):
                pqlab.open(path).select().to_cupy(engine="emulated")
            continue
        batch = pa.record_batch(selection.to_cupy(engine="emulated"))
        for name, ours in zip(theirs.column_names, batch.columns, strict=True):
            assert difference(combined(theirs[name]), combined(pa.chunked_array([ours]))) is None
        read += 1
    assert read > 10
