"""Mutated page headers and page indexes, in a child process: typed errors, never a crash."""

from __future__ import annotations

import io
import random
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sanitizers import bound_memory

from pqlab.errors import CorruptError, LimitError
from pqlab.footer.metadata import parse_file_metadata
from pqlab.footer.page_headers import drive, pages_from_headers
from pqlab.footer.page_index import index_ranges, pages_from_index
from pqlab.footer.page_table import PageTable
from pqlab.limits import Limits

SEED = 20_240
MUTATIONS = 5000
MEMORY_BYTES = 4 << 30
LIMITS = Limits(page_header_bytes=1 << 20)


def sample(version: str) -> bytes:
    table = pa.table(
        {
            "number": pa.array([None if i % 5 == 0 else i for i in range(600)], pa.int64()),
            "text": pa.array([f"some text {i % 40}" for i in range(600)]),
            "list": pa.array([[i] * (i % 3) for i in range(600)], pa.list_(pa.int32())),
        }
    )
    sink = io.BytesIO()
    pq.write_table(
        table, sink, row_group_size=300, data_page_size=200, write_batch_size=20,
        write_page_index=True, write_page_checksum=True, data_page_version=version,
    )  # fmt: skip
    return sink.getvalue()


def mutate(data: bytearray, spans: list[tuple[int, int]], rng: random.Random) -> None:
    """Change a few bytes inside the spans: random ones, extreme ones, and copies of others."""
    for _ in range(rng.randrange(1, 6)):
        start, stop = rng.choice(spans)
        at = rng.randrange(start, stop)
        kind = rng.randrange(4)
        if kind == 0:
            data[at] = rng.randrange(256)
        elif kind == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            run = bytes([rng.choice([0x00, 0x7F, 0x80, 0xFF])]) * rng.randrange(1, 12)
            data[at : min(at + len(run), stop)] = run[: stop - at]
        else:
            other = rng.randrange(start, stop)
            length = min(rng.randrange(1, 9), stop - max(at, other))
            data[at : at + length] = data[other : other + length]


def check(table: PageTable, size: int) -> None:
    """What holds of every table, whatever the bytes were."""
    pages = table.pages
    assert (pages["offset"] >= 4).all()
    assert (pages["offset"] + np.maximum(pages["total_bytes"], 0) <= size).all()
    for side in ("min", "max"):
        known = pages[f"{side}_start"] >= 0
        stops = pages[f"{side}_start"] + pages[f"{side}_length"]
        assert (pages[f"{side}_length"] >= 0).all()
        assert (stops[known] <= len(table.statistics)).all()


def run(seed: int) -> None:
    bound_memory(MEMORY_BYTES)
    rng = random.Random(seed)
    files = []
    for version in ("1.0", "2.0"):
        data = sample(version)
        start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        metadata = parse_file_metadata(data[start:-8], start)
        chunks = [(group, leaf) for group in range(2) for leaf in range(3)]
        pages = [
            page
            for chunk in chunks
            for page in drive(pages_from_headers(metadata, *chunk), lambda a, b: data[a:b]).pages  # noqa: B023
        ]
        headers = [(int(p["offset"]), int(p["offset"] + p["header_bytes"])) for p in pages]
        files.append((data, metadata, chunks, headers, index_ranges(metadata)))
    errors = refused = whole = 0
    for i in range(MUTATIONS):
        data, metadata, chunks, headers, index = files[i % 2]
        changed = bytearray(data)
        if i % 4 < 2:
            mutate(changed, headers, rng)
            for chunk in chunks:
                walk = pages_from_headers(
                    metadata, *chunk, limits=LIMITS, window_bytes=rng.choice([1, 64, 4096])
                )
                try:
                    check(drive(walk, lambda a, b: changed[a:b]), len(data))  # noqa: B023
                    whole += 1
                except (CorruptError, LimitError):
                    errors += 1
        else:
            mutate(changed, list(index.ranges), rng)
            buffers = [changed[a:b] for a, b in index.ranges]
            try:
                table, _ = pages_from_index(metadata, index, buffers, threads=2)
                check(table, len(data))
                refused += bool(table.warnings)
            except (CorruptError, LimitError):
                errors += 1
    sys.stdout.write(f"errors {errors} refused {refused} whole {whole}")


def test_mutated_bytes_end_in_typed_errors_or_sound_tables() -> None:
    done = subprocess.run(
        [sys.executable, __file__, str(SEED)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"seed {SEED}: {done.stderr[-2000:]}"
    words = done.stdout.split()
    errors, refused, whole = (int(word) for word in words[1::2])
    assert min(errors, refused, whole) > 500, done.stdout


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_chunk_cut_anywhere_is_an_error_or_a_warning(version: str) -> None:
    data = sample(version)
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    metadata = parse_file_metadata(data[start:-8], start)
    file = metadata.raw()
    meta = file.row_groups[0].columns[1].meta_data
    first = meta.dictionary_page_offset
    places = []
    for size in range(1, meta.total_compressed_size - 100, 7):
        cut = parse_file_metadata(data[start:-8], first + size)
        try:
            table = drive(pages_from_headers(cut, 0, 1), lambda a, b: data[a:b])
        except CorruptError as error:
            places.append(error.column)
        else:  # cut between two pages
            places.append("text" if "num_values" in table.warnings[-1] else None)
    assert set(places) == {"text"}


if __name__ == "__main__":
    run(int(sys.argv[1]))
