"""Page headers read by the device's kernels: the rows, or the sentence, of the walk on the host."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pytest
from decoding import metadata_of
from edited_footers import written
from emulated import device

from pqlab.errors import PqlabError
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.page_headers import SIZE_SLACK_BYTES
from pqlab.footer.page_index import chunk_spans, visible_rows
from pqlab.footer.page_table import KNOWN_FROM_HEADER, PAGE
from pqlab.gpu import headers
from pqlab.gpu.emulator.memory import DeviceArray
from pqlab.gpu.emulator.module import Schedule
from pqlab.gpu.work import SLACK_BYTES

Bounds: TypeAlias = tuple[bytes | None, bytes | None]
SEED = 20_260_401
CHECKED = pytest.mark.parametrize("checked", [False, True], ids=["plain", "checked"])


def uploaded(data: bytes, *, checked: bool) -> DeviceArray:
    """The file between slack, which is never written, so that check mode knows its bounds."""
    slack = bytes(SLACK_BYTES)
    array = device(checked=checked).zeros(len(data) + 2 * SLACK_BYTES, np.uint8)
    array.from_host(np.frombuffer(slack + data + slack, np.uint8))
    return array


def walks_of(metadata: FileMetaData) -> np.ndarray:
    rows, _ = visible_rows(metadata, np.arange(len(metadata.chunks.num_values)))
    starts, stops = chunk_spans(metadata, rows)
    hard_stops = np.minimum(stops + SIZE_SLACK_BYTES, metadata.footer_offset)
    row_group, leaf = np.divmod(rows, metadata.num_leaves)
    levels = np.array([each.max_repetition_level for each in metadata.leaves])
    num_values = metadata.chunks.num_values[rows]
    walks = np.zeros(len(rows), headers.WALK)
    walks["position"], walks["stop"], walks["hard_stop"] = starts, stops, hard_stops
    walks["num_values"], walks["row_group"], walks["leaf"] = num_values, row_group, leaf
    walks["flat"], walks["at"] = levels[leaf] == 0, starts + SLACK_BYTES
    return walks


def bounds(table: np.ndarray, statistics: bytes) -> list[Bounds]:
    return [
        (
            statistics[row["min_start"] :][: row["min_length"]] if row["min_start"] >= 0 else None,
            statistics[row["max_start"] :][: row["max_length"]] if row["max_start"] >= 0 else None,
        )
        for row in table
    ]


def on_the_host(data: bytes, walks: np.ndarray) -> tuple[np.ndarray, list[Bounds]]:
    tables, found = [np.empty(0, PAGE)], list[Bounds]()
    for row in walks:
        start, hard_stop = int(row["position"]), int(row["hard_stop"])
        window = np.frombuffer(data[start:hard_stop], np.uint8)
        _, pages, statistics, *_ = headers.on_the_host(row).walk(window, start)
        tables.append(pages.view(PAGE))
        found += bounds(tables[-1], statistics.tobytes())
    return np.concatenate(tables), found


def assert_same_walk(data: bytes, walks: np.ndarray, *, checked: bool = False) -> int:
    """The device's rows, which must equal the host's; how many there are."""
    bytes_ = uploaded(data, checked=checked)
    theirs: PqlabError | None = None
    try:
        expected, expected_bounds = on_the_host(data, walks)
    except PqlabError as error:
        theirs = error
    if theirs is not None:
        with pytest.raises(PqlabError) as caught:
            headers.walk(device(checked=checked), bytes_, walks)
        assert (str(caught.value), caught.value.place) == (str(theirs), theirs.place)
        return -1
    table = headers.walk(device(checked=checked), bytes_, walks)
    assert bounds(table, bytes_.to_host().tobytes()) == expected_bounds
    apart = [name for name in PAGE.names or () if name not in ("min_start", "max_start")]
    for name in apart:
        np.testing.assert_array_equal(table[name], expected[name], name)
    return len(table)


def test_walks_over_the_corpus(corpus: Path) -> None:
    pages = wrong = 0
    small = [path for path in sorted(corpus.rglob("*.parquet")) if path.stat().st_size < 1 << 16]
    for path in small[::3]:
        data = path.read_bytes()
        try:
            walks = walks_of(metadata_of(data))
        except PqlabError:
            continue
        found = assert_same_walk(data, walks)
        pages += max(found, 0)
        wrong += found < 0
    assert pages > 2_000
    assert wrong > 0


def file_of_many_pages(rows: int) -> bytes:
    text = [None if at % 7 == 0 else f"some text {at}" for at in range(rows)]
    return written(
        pa.table({"a": np.arange(rows), "b": text, "c": [[at] * (at % 3) for at in range(rows)]}),
        data_page_size=100,
        write_batch_size=10,
        row_group_size=rows // 2,
    )


@CHECKED
def test_many_pages_are_walked_in_turns(checked: bool) -> None:
    data = file_of_many_pages(1_400 if checked else 8_000)
    for seed in range(4 if checked else 1):
        device(checked=checked).module.schedule = Schedule(seed=seed)
        assert assert_same_walk(data, walks_of(metadata_of(data)), checked=checked) > 200
    device(checked=checked).module.schedule = Schedule()


@CHECKED
def test_places_that_are_known_are_read_at_once(checked: bool) -> None:
    data = file_of_many_pages(600)
    walks = walks_of(metadata_of(data))
    expected, expected_bounds = on_the_host(data, walks)
    places = np.zeros(len(expected), headers.PLACE)
    places["at"] = expected["offset"] + SLACK_BYTES
    places["size"] = expected["total_bytes"]
    bytes_ = uploaded(data, checked=checked)
    table = headers.read(device(checked=checked), bytes_, places)
    assert bounds(table, bytes_.to_host().tobytes()) == expected_bounds
    for name in ("type", "encoding", "num_values", "header_bytes", "total_bytes", "flags"):
        np.testing.assert_array_equal(table[name], expected[name], name)
    places["size"][3] -= 1
    places["at"][5] += 1
    known = headers.read(device(checked=checked), bytes_, places)["known_from"]
    assert np.flatnonzero(known & KNOWN_FROM_HEADER == 0).tolist() == [3, 5]


@CHECKED
def test_damaged_headers_are_the_hosts_errors(checked: bool) -> None:
    rng = np.random.default_rng(SEED)
    data = file_of_many_pages(60)
    metadata = metadata_of(data)
    walks = walks_of(metadata)
    expected, _ = on_the_host(data, walks)
    wrong = 0
    for _ in range(40 if checked else 400):
        page = expected[rng.integers(len(expected))]
        damaged = bytearray(data)
        at = int(page["offset"]) + int(rng.integers(page["header_bytes"]))
        damaged[at] = int(rng.integers(256))
        wrong += assert_same_walk(bytes(damaged), walks, checked=checked) < 0
    assert wrong > 10
