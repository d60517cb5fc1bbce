"""Text read as Categorical or Enum: what polars makes of the same text that pyarrow reads."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pqlab
from pqlab.errors import CorruptError, UnsupportedError

SEED = 20_251
Coded = Literal["categorical", "enum"]
CODED: tuple[Coded, ...] = get_args(Coded)
LAYOUTS: dict[str, dict[str, Any]] = {
    "dictionary": {},
    "dictionary, then PLAIN": {"dictionary_pagesize_limit": 300},
    "PLAIN": {"use_dictionary": False},
    "DELTA_LENGTH_BYTE_ARRAY": {
        "use_dictionary": False,
        "column_encoding": {"x": "DELTA_LENGTH_BYTE_ARRAY"},
    },
    "DELTA_BYTE_ARRAY": {"use_dictionary": False, "column_encoding": {"x": "DELTA_BYTE_ARRAY"}},
}


def texts(count: int, *, nulls: bool, seed: int = SEED) -> list[str | None]:
    draw = random.Random(seed)
    words = ["", "a", "é", "twelve bytes", "thirteen byte", "日本語", "\U0001f600 smile"]
    words += [f"a word of some length, number {number:03}" for number in range(90)]
    return [None if nulls and draw.random() < 0.2 else draw.choice(words) for _ in range(count)]


def written(values: Any, *, data_page_version: str = "1.0", **layout: Any) -> bytes:
    sink = io.BytesIO()
    array = values if isinstance(values, pa.Array) else pa.array(values, pa.string())
    pq.write_table(
        pa.table({"x": array}),
        sink,
        row_group_size=700,
        data_page_size=900,
        write_batch_size=50,
        data_page_version=data_page_version,
        **layout,
    )
    return sink.getvalue()


def expected(plain: pl.Series, strings: Coded) -> pl.Series:
    if strings == "categorical":
        return plain.cast(pl.Categorical)
    return plain.cast(pl.Enum(plain.drop_nulls().unique().sort()))


def check(found: pl.Series, plain: pl.Series, strings: Coded) -> None:
    wanted = expected(plain, strings)
    assert found.dtype == wanted.dtype
    assert found.cast(pl.String).to_list() == plain.to_list()
    assert found.null_count() == plain.null_count()
    assert found.equals(wanted)


@pytest.mark.parametrize("strings", CODED)
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_codes_stand_for_the_text(layout: str, version: str, nulls: bool, strings: Coded) -> None:
    data = written(texts(2_500, nulls=nulls), data_page_version=version, **LAYOUTS[layout])
    plain = pl.Series("x", pq.read_table(io.BytesIO(data))["x"].to_pylist(), pl.String)
    file = pqlab.open(data)
    for workers in (1, 2):
        check(file.read(strings=strings, workers=workers)["x"], plain, strings)
    # Of fewer rows there are fewer words.
    part = file.select(rows=slice(690, 740)).read(strings=strings)["x"]
    check(part, plain[690:740], strings)
    check(file.submit(strings=strings).result()["x"], plain, strings)


@pytest.mark.parametrize("strings", CODED)
def test_arrow_has_sorted_dictionaries(strings: Coded) -> None:
    data = written(texts(2_500, nulls=True))
    plain = pq.read_table(io.BytesIO(data))["x"].cast(pa.large_string())
    column = pqlab.open(data).select().to_arrow(strings=strings)["x"]
    assert column.type == pa.dictionary(pa.uint32(), pa.large_string(), strings == "enum")
    column.validate(full=True)
    assert column.cast(pa.large_string()) == plain
    for chunk in column.chunks:
        words = chunk.dictionary.to_pylist()
        assert words == sorted(set(words), key=lambda word: word.encode())


@pytest.mark.parametrize("count", [0, 1, 255, 256, 300, 65_536, 70_000])
def test_any_number_of_categories(count: int) -> None:
    words = [f"{number:x}" for number in range(count)]
    data = written(pa.array(words[::-1], pa.string()), use_dictionary=False)
    plain = pl.Series("x", words[::-1], pl.String)
    check(pqlab.read(data, strings="enum")["x"], plain, "enum")
    check(pqlab.read(data, strings="categorical")["x"], plain, "categorical")


@pytest.mark.parametrize("strings", CODED)
def test_columns_of_nulls_and_of_no_text(strings: Coded) -> None:
    table = pa.table(
        {"none": pa.array([None, None], pa.string()), "number": [1, 2], "bytes": [b"a", b"\xff"]}
    )
    sink = io.BytesIO()
    pq.write_table(table, sink)
    frame = pqlab.read(sink.getvalue(), strings=strings)
    check(frame["none"], pl.Series("none", [None, None], pl.String), strings)
    assert frame["number"].to_list() == [1, 2]
    assert frame.schema["bytes"] == pl.Binary


def test_text_in_lists_and_groups_is_categorical_but_no_enum() -> None:
    values = pa.array(
        [{"tags": ["b", "a", None]}, {"tags": []}, {"tags": None}, None, {"tags": ["b"] * 3}]
    )
    data = written(values)
    frame = pqlab.read(data, strings="categorical")
    assert frame.schema["x"] == pl.Struct({"tags": pl.List(pl.Categorical)})
    assert frame["x"].to_list() == pq.read_table(io.BytesIO(data))["x"].to_pylist()
    with pytest.raises(UnsupportedError, match=r"Enum.*categorical") as caught:
        pqlab.read(data, strings="enum")
    assert caught.value.place["column"] == "x.tags.list.element"


def test_frames_of_an_iteration_are_categorical() -> None:
    values = texts(2_500, nulls=True)
    file = pqlab.open(written(values))
    frames = list(file.iter_row_groups(strings="categorical"))
    assert len(frames) == 4
    check(pl.concat(frames)["x"], pl.Series("x", values, pl.String), "categorical")
    batches = list(file.iter_batches(300, strings="categorical"))
    check(pl.concat(batches)["x"], pl.Series("x", values, pl.String), "categorical")
    with pytest.raises(ValueError, match=r"categorical"):
        file.iter_row_groups(strings="enum")


@pytest.mark.parametrize("strings", CODED)
def test_a_dataset_has_the_categories_of_all_its_files(tmp_path: Path, strings: Coded) -> None:
    parts = [texts(500, nulls=True, seed=seed)[: 40 * seed] for seed in (1, 2, 3)]
    for number, part in enumerate(parts):
        (tmp_path / f"{number}.parquet").write_bytes(written(part))
    (tmp_path / "4.parquet").write_bytes(written(pa.array([None], pa.string())))
    plain = pl.Series("x", [*(value for part in parts for value in part), None], pl.String)
    check(pqlab.open(tmp_path).read(strings=strings)["x"], plain, strings)


def test_text_is_checked_and_options_go_together() -> None:
    data = written(["good text", "bad text!"]).replace(b"bad text!", b"bad\xfftext!")
    for strings in CODED:
        with pytest.raises(CorruptError, match=r"UTF-8") as caught:
            pqlab.read(data, strings=strings)
        assert {"column", "page", "offset"} <= set(caught.value.place)
    with pytest.raises(ValueError, match=r"strings is one of string, categorical, enum"):
        pqlab.read(data, strings="codes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"invalid_utf8"):
        pqlab.read(data, strings="enum", invalid_utf8="binary")
