"""Ranges of remote files on disk: what costs no request, what is never served, the bound."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal
from range_server import RangeServer

import pqlab
from pqlab import DiskCache, IOPolicy

POLICY = IOPolicy(footer_guess_bytes=2_000, gap_bytes=0, attempts=1, max_request_bytes=1 << 16)
SECRET = "s3cr3t"


def parquet(seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    table = pa.table({f"c{i}": rng.integers(0, 1 << 40, 20_000) for i in range(6)})
    sink = io.BytesIO()
    options = {"write_page_index": True, "data_page_size": 1 << 13, "use_dictionary": False}
    pq.write_table(table, sink, row_group_size=5_000, **options)
    return sink.getvalue()


DATA, OTHER = parquet(0), parquet(1)
EXPECTED = pl.read_parquet(io.BytesIO(DATA))


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with RangeServer({"a.parquet": DATA}) as running:
        yield running


def read(
    server: RangeServer, cache: DiskCache | Path, columns: list[str], name: str = "a.parquet"
) -> tuple[pl.DataFrame, int, pqlab.Trace]:
    """The columns, how many bytes the server sent after the file was opened, and the trace."""
    trace = pqlab.Trace()
    with pqlab.open(server.url(name), io=POLICY, cache=cache) as file:
        server.log.clear()
        frame = file.read(columns, trace=trace)
        return frame, sum(request.sent_bytes for request in server.log), trace


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.range"))


def test_what_was_fetched_is_not_asked_again(server: RangeServer, tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache")
    frame, sent, trace = read(server, cache, ["c1", "c2"])
    assert_frame_equal(frame, EXPECTED.select("c1", "c2"))
    requests = trace.requests()
    assert sent == (requests["stop"] - requests["start"]).sum()
    assert (requests["cached_bytes"].sum(), requests["attempts"].max()) == (0, 1)
    frame, sent, trace = read(server, cache, ["c1", "c2"])
    assert_frame_equal(frame, EXPECTED.select("c1", "c2"))
    requests = trace.requests()
    assert (sent, len(server.log)) == (0, 0)
    assert len(requests) > 1
    assert requests["attempts"].to_list() == [0] * len(requests)
    assert (requests["cached_bytes"] == requests["stop"] - requests["start"]).all()


def test_only_what_is_missing_is_asked_for(server: RangeServer, tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    least = read(server, DiskCache(tmp_path, 0), ["c2"])[1]
    whole = read(server, DiskCache(tmp_path, 0), ["c1", "c2", "c3"])[1]
    read(server, cache, ["c1", "c3"])
    frame, sent, trace = read(server, cache, ["c1", "c2", "c3"])
    assert_frame_equal(frame, EXPECTED.select("c1", "c2", "c3"))
    assert least <= sent < 0.6 * whole  # what lies between two missing parts comes again
    requests = trace.requests()
    assert requests["cached_bytes"].sum() + sent == (requests["stop"] - requests["start"]).sum()


def test_any_ranges_of_a_file(server: RangeServer, tmp_path: Path) -> None:
    """Overlaps of all kinds, in an order of chance, come as the file has them."""
    rng = np.random.default_rng(7)
    with pqlab.open(server.url("a.parquet"), io=POLICY, cache=DiskCache(tmp_path)) as file:
        hits = 0
        for _ in range(300):
            start, stop = sorted(rng.integers(0, 60_000, 2).tolist())
            [data] = file.source.read([(start, stop)])
            assert data.tobytes() == DATA[start:stop]
        hits = 301 - len(server.log)
    assert hits > 200


def test_off_unless_asked_for_and_only_with_an_etag(server: RangeServer, tmp_path: Path) -> None:
    for cache in (DiskCache(tmp_path, 0), tmp_path):
        read(server, cache, ["c1"])
        assert not kept(tmp_path)
    server.etags = False
    read(server, DiskCache(tmp_path), ["c1"])
    assert not kept(tmp_path)


def test_another_state_is_another_file(server: RangeServer, tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    read(server, cache, ["c1"])
    server.change("a.parquet", OTHER)
    frame, sent, _ = read(server, cache, ["c1"])
    assert_frame_equal(frame, pl.read_parquet(io.BytesIO(OTHER), columns=["c1"]))
    assert sent > 0


def test_files_are_private_and_tell_no_secret(server: RangeServer, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    read(server, DiskCache(folder), ["c1"], f"a.parquet?sig={SECRET}")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(kept(folder)) > 1
    for path in folder.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
        assert SECRET not in path.name + path.read_bytes().decode("latin-1")


@pytest.mark.parametrize("damage", ["flip", "cut", "gone", "link", "writable"])
def test_a_damaged_file_is_asked_for_again(
    server: RangeServer, tmp_path: Path, damage: str
) -> None:
    read(server, DiskCache(tmp_path), ["c1"])
    for path in kept(tmp_path):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        if damage == "flip":
            path.write_bytes(data)
        elif damage == "cut":
            path.write_bytes(data[: len(data) // 2])
        elif damage == "writable":
            path.chmod(0o666)
        else:
            path.rename(tmp_path / f"{path.name}.moved")
            if damage == "link":
                path.symlink_to(tmp_path / f"{path.name}.moved")
    frame, sent, _ = read(server, DiskCache(tmp_path), ["c1"])
    assert_frame_equal(frame, EXPECTED.select("c1"))
    assert sent > 0
    assert read(server, DiskCache(tmp_path), ["c1"])[1] == 0


def test_the_longest_unused_go_first(server: RangeServer, tmp_path: Path) -> None:
    bound = 600_000
    cache = DiskCache(tmp_path, bound)
    for column in ("c0", "c1"):
        read(server, cache, [column])
    for path in kept(tmp_path):
        os.utime(path, (1, 1))
    assert read(server, cache, ["c1"])[1] == 0  # marks it as used
    for column in ("c2", "c3"):
        read(server, cache, [column])
        assert sum(path.stat().st_size for path in kept(tmp_path)) <= bound
    assert read(server, cache, ["c1"])[1] == 0
    assert read(server, cache, ["c0"])[1] > 0


def test_a_folder_that_cannot_be_written(server: RangeServer, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    frame, _, _ = read(server, DiskCache(blocked / "cache"), ["c1"])
    assert_frame_equal(frame, EXPECTED.select("c1"))


READER = """
import resource, sys
import pqlab
url, folder, bound, most = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if most:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
policy = pqlab.IOPolicy(footer_guess_bytes=2_000, gap_bytes=0, max_request_bytes=1 << 16)
while True:
    for column in range(6):
        with pqlab.open(url, io=policy, cache=pqlab.DiskCache(folder, bound)) as file:
            print(file.read(f"c{column}").sum().item(), flush=True)
    if most:
        break
"""
SUMS = EXPECTED.sum().row(0)


def start(server: RangeServer, folder: Path, bound: int, most: int = 0) -> subprocess.Popen[str]:
    arguments = [server.url("a.parquet"), str(folder), str(bound), str(most)]
    command = [sys.executable, "-c", READER, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_no_room_to_write(server: RangeServer, tmp_path: Path) -> None:
    """A bound on file sizes fails the write as a full disk does: all is read, nothing is torn."""
    reader = start(server, tmp_path, 1 << 30, 4_096)
    out, _ = reader.communicate(timeout=60)
    assert [int(line) for line in out.split()] == list(SUMS)
    assert all(path.stat().st_size <= 4_096 for path in tmp_path.iterdir())
    assert kept(tmp_path) == sorted(tmp_path.iterdir())  # what was cut short is gone


def test_processes_at_once_and_killed(server: RangeServer, tmp_path: Path) -> None:
    bound = 500_000  # less than a file: all evict what the others read
    rng = np.random.default_rng(3)
    readers = [start(server, tmp_path, bound) for _ in range(3)]
    texts = []
    for reader in readers:
        assert reader.stdout is not None
        texts.append(reader.stdout.readline())
    for reader in readers:
        time.sleep(float(rng.uniform(0.2, 0.6)))
        reader.send_signal(signal.SIGKILL)
    for reader, text in zip(readers, texts, strict=True):
        out = text + reader.communicate()[0]
        told = [int(line) for line in out.splitlines(keepends=True) if line.endswith("\n")]
        assert told == [SUMS[place % 6] for place in range(len(told))]
        assert len(told) > 6
    assert 0 < sum(path.stat().st_size for path in kept(tmp_path)) <= bound * 19 // 16
    frame, _, _ = read(server, DiskCache(tmp_path), [f"c{i}" for i in range(6)])
    assert_frame_equal(frame, EXPECTED)


def test_sizes_are_checked() -> None:
    with pytest.raises(ValueError, match="range_bytes is -1"):
        DiskCache(range_bytes=-1)
