"""The pool of buffers: what it counts, keeps and gives back; that no two buffers share bytes."""

from __future__ import annotations

import gc
import json
import mmap
import random
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pqlab
from pqlab.native import _native

MIB = 1 << 20
POOLED_BYTES = 32 << 10  # smaller buffers are malloc's
PADDING_BYTES = 64


@pytest.fixture(autouse=True)
def _own_limit() -> Iterator[None]:
    """Tests begin with nothing kept, and leave the limit as it was."""
    gc.collect()
    limit = pqlab.memory(release=True).limit_bytes
    yield
    pqlab.memory(limit_bytes=limit)


def block_bytes(size: int) -> int:
    """What a buffer takes of the pool: whole pages with its padding, or nothing."""
    whole = size + PADDING_BYTES
    return 0 if whole < POOLED_BYTES else -(-whole // mmap.PAGESIZE) * mmap.PAGESIZE


def padding_of(array: np.ndarray) -> np.ndarray:
    """The bytes behind an array of `padded_empty`."""
    address = array.__array_interface__["data"][0] + array.nbytes
    interface = {"data": (address, False), "shape": (PADDING_BYTES,), "typestr": "|u1"}
    return np.asarray(type("Padding", (), {"__array_interface__": {**interface, "version": 3}})())


def resident_bytes() -> int:
    """What the process holds of the machine's memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * mmap.PAGESIZE


def test_numbers_equal_a_count_of_our_own() -> None:
    rng = random.Random(1)
    start = pqlab.memory()
    held: dict[int, np.ndarray] = {}
    allocations = most = 0
    for step in range(2000):
        if held and rng.random() < 0.5:
            del held[rng.choice(list(held))]
        else:
            size = int(2 ** rng.uniform(0, 22))
            held[step] = _native.padded_empty(size)
            allocations += block_bytes(size) > 0
        in_use = sum(block_bytes(len(array)) for array in held.values())
        most = max(most, in_use)
        now = pqlab.memory()
        assert now.in_use_bytes - start.in_use_bytes == in_use
        assert now.allocations - start.allocations == allocations
    assert pqlab.memory().high_water_bytes == max(start.high_water_bytes, start.in_use_bytes + most)
    before = pqlab.memory()
    released = sum(block_bytes(len(array)) for array in held.values())
    held.clear()
    after = pqlab.memory()
    assert after.in_use_bytes == start.in_use_bytes
    assert after.kept_bytes - before.kept_bytes == released


def test_what_was_dropped_is_used_again() -> None:
    sizes = [5 * MIB, 100_000, 70_000, 3 * MIB]
    for size in sizes:
        _native.padded_empty(size)[:] = 255
    before = pqlab.memory()
    arrays = [_native.padded_empty(size) for size in sizes[1:3]]
    after = pqlab.memory()
    assert after.reuses - before.reuses == 2
    assert before.kept_bytes - after.kept_bytes == sum(block_bytes(len(a)) for a in arrays)


def test_buffers_are_aligned_apart_and_followed_by_zeros() -> None:
    rng = random.Random(2)
    dirty = [_native.padded_empty(int(2 ** rng.uniform(14, 22))) for _ in range(50)]
    for array in dirty:
        array[:] = 255
    del array, dirty
    arrays = [_native.padded_empty(int(2 ** rng.uniform(0, 21))) for _ in range(200)]
    spans = sorted((a.__array_interface__["data"][0], a.nbytes) for a in arrays)
    assert all(address % 64 == 0 for address, _ in spans)
    for (address, size), (following, _) in pairwise(spans):
        assert address + size + PADDING_BYTES <= following
    assert not any(padding_of(array).any() for array in arrays)


def test_threads_never_share_bytes() -> None:
    failures: list[str] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        held: list[tuple[int, np.ndarray]] = []
        for step in range(400):
            array = _native.padded_empty(int(2 ** rng.uniform(12, 20)))
            stamp = (seed * 400 + step) % 251
            array[:] = stamp
            held.append((stamp, array))
            if padding_of(array).any():
                failures.append(f"thread {seed}, step {step}: padding")
            if len(held) > 12:
                stamp, array = held.pop(rng.randrange(len(held)))
                if not (array == stamp).all():
                    failures.append(f"thread {seed}, step {step}: contents")

    before = pqlab.memory().in_use_bytes
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert pqlab.memory().in_use_bytes == before


def sparse_table(rows: int, seed: int) -> pa.Table:
    """Columns whose buffers are bitmaps, in part null."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "flag": pa.array(rng.random(rows) < 0.5, mask=rng.random(rows) < 0.3),
            "number": pa.array(rng.integers(0, 99, rows), mask=rng.random(rows) < 0.01),
            "text": pa.array([None if i % 7 == 0 else f"a longer text {i}" for i in range(rows)]),
        }
    )


def test_bitmaps_in_recycled_memory_begin_as_zeros(tmp_path: Path) -> None:
    path = tmp_path / "sparse.parquet"
    table = sparse_table(400_000, 3)
    pq.write_table(table, path, data_page_size=20_000)
    for _ in range(3):
        dirty = [_native.padded_empty(size) for size in (8 * MIB, 60_000, 60_000, MIB)]
        for array in dirty:
            array[:] = 255
        del array, dirty
        reuses = pqlab.memory().reuses
        assert pqlab.read(path).equals(pl.DataFrame(table))
        assert pqlab.memory().reuses > reuses


def test_frames_keep_their_values_while_others_come_and_go(tmp_path: Path) -> None:
    tables = [sparse_table(60_000, seed) for seed in range(3)]
    paths = [tmp_path / f"{number}.parquet" for number in range(3)]
    for table, path in zip(tables, paths, strict=True):
        pq.write_table(table, path, data_page_size=10_000)
    expected = [pl.DataFrame(table) for table in tables]
    failures: list[int] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        frames: list[tuple[int, pl.DataFrame]] = []
        for _ in range(40):
            number = rng.randrange(3)
            frames.append((number, pqlab.read(paths[number])))
            if len(frames) > 4:
                number, frame = frames.pop(rng.randrange(len(frames)))
                if not frame.equals(expected[number]):
                    failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_nothing_above_the_limit_is_kept() -> None:
    assert pqlab.memory(limit_bytes=5 * MIB).limit_bytes == 5 * MIB
    arrays = [_native.padded_empty(MIB) for _ in range(40)]
    for array in arrays:
        array[:] = 1
    before = resident_bytes()
    del array, arrays
    assert 3 * MIB <= pqlab.memory().kept_bytes <= 5 * MIB
    assert before - resident_bytes() > 30 * MIB
    assert pqlab.memory(limit_bytes=0).kept_bytes == 0


def test_release_gives_back_once() -> None:
    array = _native.padded_empty(50 * MIB)
    array[:] = 1
    before = resident_bytes()
    del array
    assert pqlab.memory().kept_bytes >= 50 * MIB
    after = pqlab.memory(release=True)
    assert after.kept_bytes == 0
    assert before - resident_bytes() > 45 * MIB
    assert after.limit_bytes > 0
    del after
    _native.padded_empty(MIB)[:] = 1
    assert pqlab.memory().kept_bytes >= MIB


def test_released_memory_comes_back_as_zeros(tmp_path: Path) -> None:
    path = tmp_path / "sparse.parquet"
    table = sparse_table(400_000, 4)
    pq.write_table(table, path)
    for array in [_native.padded_empty(size) for size in (70 * MIB, 100_000, MIB)]:
        array[:] = 255
    del array
    pqlab.memory(release=True)
    assert pqlab.read(path).equals(pl.DataFrame(table))


THOUSAND_READS = """
    import gc, json, sys
    from pathlib import Path
    import pqlab

    def counted():
        gc.collect()
        memory = pqlab.memory()
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return memory.in_use_bytes, memory.kept_bytes, pages

    for _ in range(100):
        pqlab.read(sys.argv[1])
    before = counted()
    for _ in range(1000):
        pqlab.read(sys.argv[1])
    print(json.dumps([before, counted()]))
"""


@pytest.mark.memory
def test_a_thousand_reads_leave_nothing_behind(tmp_path: Path) -> None:
    """In a process of their own: what other tests have under way is let go, or not, meanwhile."""
    path = tmp_path / "sparse.parquet"
    pq.write_table(sparse_table(20_000, 5), path)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(THOUSAND_READS), str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    before, after = json.loads(done.stdout)
    # A worker's scratch is its own, and grows with the first page that it happens to decode.
    assert after[0] < before[0] + MIB // 2
    assert after[1] <= before[1] + MIB
    # polars, Python and malloc have their own say in it.
    assert (after[2] - before[2]) * mmap.PAGESIZE < 16 * MIB


def buffers_bytes(frame: pl.DataFrame) -> int:
    """What the frame's own buffers take, as pyarrow counts them."""
    return int(frame.to_arrow(compat_level=pl.CompatLevel.newest()).nbytes)


def mixed_table(rows: int) -> pa.Table:
    """Numbers, and a text of which views point into pages or into the file's bytes."""
    rng = np.random.default_rng(6)
    numbers = {f"number {i}": rng.standard_normal(rows) for i in range(6)}
    few = rng.integers(0, 9, rows)
    return pa.table(
        {
            **numbers,
            "few": few,
            "text": [f"a text of some length: {i}" for i in range(rows)],
            "short": [f"s{i}" for i in few.tolist()],
        }
    )


@pytest.mark.parametrize("compression", ["NONE", "SNAPPY", "ZSTD"])
@pytest.mark.parametrize("columns", [None, ["text"], ["number 3", "text", "short"]])
def test_a_frame_holds_little_more_than_its_own_bytes(
    tmp_path: Path, compression: str, columns: list[str] | None
) -> None:
    path = tmp_path / "mixed.parquet"
    table = mixed_table(150_000)
    pq.write_table(table, path, compression=compression, use_dictionary=["few", "short"])
    pqlab.read(path)  # workers' scratch is theirs from now on
    gc.collect()
    before = pqlab.memory().in_use_bytes
    frame = pqlab.read(path, columns=columns)
    gc.collect()
    held = pqlab.memory().in_use_bytes - before
    # Whole memory pages, scratch that grew (see page_decoder.cpp), and, uncompressed, what was
    # fetched in one request with the text.
    slack = 2 * MIB if compression != "NONE" else MIB + pqlab.IOPolicy().max_request_bytes
    assert held <= buffers_bytes(frame) + slack
    assert frame.equals(pl.DataFrame(table.select(columns or table.column_names)))


def test_few_rows_hold_no_more_than_their_pages(tmp_path: Path) -> None:
    path = tmp_path / "mixed.parquet"
    pq.write_table(mixed_table(150_000), path, use_dictionary=False, write_page_index=True)
    pqlab.read(path)
    gc.collect()
    before = pqlab.memory().in_use_bytes
    frame = pqlab.read(path, rows=(70_000, 70_010))
    gc.collect()
    assert frame.height == 10
    assert pqlab.memory().in_use_bytes - before < 3 * MIB  # a page is about 1 MiB


PEAK_SCRIPT = """
    import json, sys
    from pathlib import Path
    import polars, pyarrow.compute
    import pqlab

    def status(name):
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))

    pqlab.read(sys.argv[1], rows=(0, 1))  # what is imported is in, and the threads run
    pqlab.memory(release=True)
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the high-water mark
    selection = pqlab.open(sys.argv[1]).select()
    frame = selection.read()
    print(json.dumps([
        status("VmHWM") - before,
        frame.to_arrow(compat_level=polars.CompatLevel.newest()).nbytes,
        selection.plan().wanted_bytes,
    ]))
"""


def peak_of(path: Path) -> tuple[int, int, int]:
    """How far a read in a new process raises its memory; the frame's bytes, and the fetched."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PEAK_SCRIPT), str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    rise, frame, fetched = json.loads(done.stdout)
    return rise, frame, fetched


def check_peak(path: Path) -> None:
    """Beside the frame and the compressed bytes: scratch, parts of huge pages, polars' own."""
    rise, frame, fetched = peak_of(path)
    assert rise <= 1.15 * frame + fetched


def test_the_peak_of_a_read_is_the_frame_and_the_compressed_bytes(tmp_path: Path) -> None:
    check_peak(pqlab.sample.write(tmp_path / "taxi.parquet", rows=400_000))


def test_the_peak_of_a_read_of_a_real_file(data: Path) -> None:
    check_peak(data / "flights-3m.parquet")


def test_a_size_that_memory_cannot_have_is_a_limit_error() -> None:
    for size in (1 << 55, (1 << 63) + 5, (1 << 64) - 10):
        with pytest.raises(pqlab.LimitError, match="no memory for"):
            _native.padded_empty(size)


def test_a_child_process_goes_on_with_a_pool_of_its_own() -> None:
    """It forks while four threads take and give back buffers all the time."""
    script = """
        import os, threading
        import numpy as np
        import pqlab
        from pqlab.native import _native

        stop = threading.Event()

        def churn():
            held = []
            while not stop.is_set():
                held.append(_native.padded_empty(50_000))
                del held[:-5]

        threads = [threading.Thread(target=churn) for _ in range(4)]
        for thread in threads:
            thread.start()
        parents = _native.padded_empty(300_000)
        parents[:] = 7
        for _ in range(30):
            child = os.fork()
            if child == 0:
                own = [_native.padded_empty(200_000) for _ in range(20)]
                for array in own:
                    array[:] = 9
                fine = (parents == 7).all() and all((array == 9).all() for array in own)
                pqlab.memory(release=True)
                os._exit(0 if fine else 1)
            assert os.waitpid(child, 0)[1] == 0
        stop.set()
        for thread in threads:
            thread.join()
        assert (parents == 7).all()
    """
    run = subprocess.run(
        # Python 3.12 and later warn of every fork beside threads, which is what is tried here.
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_the_value_reads_well_and_cannot_change() -> None:
    memory = pqlab.Memory(3 * MIB, 2**29, 2**30, 2**32, 1234, 1000)
    assert repr(memory) == (
        "<pqlab.Memory: 3.00 MiB in use (1.00 GiB at most), 512 MiB of 4.00 GiB kept; "
        "1,234 allocations, 1,000 from what was kept>"
    )
    with pytest.raises(FrozenInstanceError):
        memory.kept_bytes = 0  # type: ignore[misc]


def test_a_limit_is_not_negative() -> None:
    with pytest.raises(ValueError, match="must not be negative: -1"):
        pqlab.memory(limit_bytes=-1)
