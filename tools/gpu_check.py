"""Whether the GPU engine is right on this machine's card, and how fast it is; `make gpu-check`.

Equality with pyarrow, with the CPU engine's bytes and with values stored when the kernels ran on
the emulator; compute-sanitizer over a part of it where that is installed; then throughput, as a
table in Markdown. `--device emulated` checks the same without a GPU, and measures nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pqlab
from pqlab.cpu import engine as cpu
from pqlab.gpu import engine as gpu
from pqlab.gpu.device import Device, Kernel

DIGESTS = Path(__file__).with_name("gpu_digests.json")
SEED = 20_260_610
CODECS = ("none", "snappy", "lz4", "zstd")
NULLS = (0.0, 0.5)
MEASURED_ROWS = 20_000_000  # 1,000 pages of 20,000


class Column(NamedTuple):
    """`floor`: the share of the card's copy bandwidth that its kernels are to reach."""

    encoding: str
    values: str  # in `values_of`
    floor: float


COLUMNS = (
    Column("PLAIN", "int64", 0.7),
    Column("BYTE_STREAM_SPLIT", "double", 0.7),
    Column("RLE_DICTIONARY", "few", 0.4),
    Column("DELTA_BINARY_PACKED", "int64", 0.2),
    Column("PLAIN", "text", 0.2),
    Column("DELTA_LENGTH_BYTE_ARRAY", "text", 0.2),
    Column("DELTA_BYTE_ARRAY", "sorted text", 0.2),
    Column("RLE_DICTIONARY", "words", 0.4),
    Column("PLAIN", "boolean", 0.7),
    Column("PLAIN", "lists", 0.15),
)


class Cell(NamedTuple):
    """A file of one column `c`."""

    name: str
    column: Column
    codec: str
    data: bytes


class Bytes:
    """A whole file in memory, as the engines take what was fetched."""

    def __init__(self, data: bytes) -> None:
        self.array = np.frombuffer(data, np.uint8)

    @property
    def pieces(self) -> list[tuple[int, np.ndarray]]:
        """From byte 0 on."""
        return [(0, self.array)]

    buffers = pieces

    def view(self, start: int, stop: int) -> np.ndarray:
        """A range of the file."""
        return self.array[start:stop]


def values_of(kind: str, rows: int, nulls: float) -> pa.Array:
    """So many values; the same for the same arguments."""
    rng = np.random.default_rng([SEED, rows])
    mask = rng.random(rows) < nulls if nulls else None
    numbers = rng.integers(0, 1 << 40, rows)
    if kind == "double":
        return pa.array(numbers / 7, mask=mask)
    if kind == "boolean":
        return pa.array(numbers % 3 == 0, mask=mask)
    if kind == "few":
        return pa.array(numbers % 1_000, mask=mask)
    if kind == "int64":
        return pa.array(numbers, mask=mask)
    if kind == "lists":
        offsets = np.concatenate([[0], np.cumsum(numbers % 4)]).astype(np.int32)
        items = pa.array(
            np.arange(offsets[-1], dtype=np.int64), mask=np.arange(offsets[-1]) % 9 < 1
        )
        outer = None if mask is None else pa.array(mask)
        return pa.ListArray.from_arrays(offsets, items, mask=outer)
    distinct = pa.array([f"{'a text ' * (at % 4)}number {at}" for at in range(5_000)])
    picked = numbers % (50 if kind == "words" else len(distinct))
    if kind == "sorted text":
        distinct, picked = distinct.sort(), np.sort(picked)
    text = distinct.take(pa.array(picked))
    return text if mask is None else pa.compute.if_else(pa.array(mask), None, text)


def file_of(column: Column, codec: str, nulls: float, *, rows: int, page_rows: int) -> bytes:
    """A file of one column, by pyarrow. Pages end every `page_rows` rows."""
    array = values_of(column.values, rows, nulls)
    name = "c.list.element" if column.values == "lists" else "c"
    is_dictionary = column.encoding == "RLE_DICTIONARY"
    sink = io.BytesIO()
    pq.write_table(
        pa.table({"c": array}),
        sink,
        use_dictionary=is_dictionary,
        column_encoding=None if is_dictionary else {name: column.encoding},
        compression=codec,
        data_page_size=1 << 30,
        max_rows_per_page=page_rows,
        row_group_size=rows,
        store_schema=False,
    )
    return sink.getvalue()


def cells(rows: int) -> Iterator[Cell]:
    """Every encoding with every codec, with nulls and without."""
    for column in COLUMNS:
        for codec in CODECS:
            for nulls in NULLS:
                name = f"{column.values}, {column.encoding}, {codec}, {nulls:.0%} nulls"
                data = file_of(column, codec, nulls, rows=rows, page_rows=rows // 3)
                yield Cell(name, column, codec, data)


def decoded(cell: Cell, device: Device | None) -> Any:
    """By the CPU engine where there is no device."""
    file = pqlab.open(cell.data)
    plan, source = file.select().plan(), Bytes(cell.data)
    if device is None:
        return cpu.read(plan, file.metadata, source)
    return gpu.read(plan, file.metadata, source, device)


def wrong_with(cell: Cell, device: Device, digests: dict[str, str]) -> str:
    """What is not equal, or nothing. Digests that are not there are added."""
    ours = pa.record_batch(decoded(cell, device)).column(0)
    if not ours.equals(pa.record_batch(decoded(cell, None)).column(0)):
        return "not what the CPU engine gives"
    values = ours.to_pylist()
    # By one thread: one of pyarrow's that is late aborts a process that ends right after.
    file = pq.ParquetFile(pa.BufferReader(cell.data), pre_buffer=False)
    if values != file.read(use_threads=False).column("c").to_pylist():
        return "not what pyarrow reads"
    digest = hashlib.sha256(repr(values).encode()).hexdigest()[:16]
    if digests.setdefault(cell.name, digest) != digest:
        return "not the values that were stored"
    return ""


def check_equality(device: Device, rows: int, digests: dict[str, str], label: str) -> int:
    """Print a line for each cell that is not equal; how many there are."""
    wrong = count = 0
    for cell in cells(rows):
        count += 1
        fault = wrong_with(cell, device, digests)
        if fault:
            wrong += 1
            print(f"{label}: {cell.name}: {fault}")
    print(f"{label}: {count - wrong} of {count} cells equal")
    return wrong


def sanitize(label: str) -> int:
    """Run a part under compute-sanitizer; how many of its tools found something."""
    tool = shutil.which("compute-sanitizer")
    if tool is None:
        print(f"{label}: compute-sanitizer is not installed, memcheck and racecheck are left out")
        return 0
    found = 0
    for check in ("memcheck", "racecheck"):
        command = [tool, "--tool", check, "--error-exitcode", "9", sys.executable, __file__]
        done = subprocess.run(
            [*command, "--rows", "300", "--only-equality"], check=False
        )  # this script
        print(f"{label}: {check} {'found faults' if done.returncode else 'found nothing'}")
        found += done.returncode != 0
    return found


class Timed:
    """A device whose launches are timed by CUDA events."""

    def __init__(self, device: Any, cupy: Any) -> None:
        self._device, self._cupy = device, cupy
        self._events: list[tuple[Any, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def kernel(self, name: str) -> Kernel:
        """The kernel, between two events."""
        function = self._device.kernel(name)

        def launch(grid: tuple[int], block: tuple[int], arguments: Any) -> None:
            start, end = self._cupy.cuda.Event(), self._cupy.cuda.Event()
            start.record()
            function(grid, block, arguments)
            end.record()
            self._events.append((start, end))

        return launch

    def kernel_seconds(self) -> float:
        """Of all launches since it was asked last."""
        self._device.synchronize()
        elapsed = self._cupy.cuda.get_elapsed_time
        total = sum(elapsed(start, end) for start, end in self._events) / 1e3
        self._events.clear()
        return float(total)


def copy_bandwidth(cupy: Any) -> float:
    """Bytes read and written in a second by copies within the card; the best of ten."""
    source = cupy.zeros(1 << 30, np.uint8)
    target = cupy.empty_like(source)
    best = float("inf")
    for _ in range(10):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        target[:] = source
        end.record()
        end.synchronize()
        best = min(best, cupy.cuda.get_elapsed_time(start, end) / 1e3)
    return float(2 * source.nbytes / best)


def measure(device: Any) -> None:
    """Print the roofline table: each encoding, at 0 and 50 % nulls, and each codec."""
    import cupy

    bandwidth = copy_bandwidth(cupy)
    timed = Timed(device, cupy)
    print(f"\n{device.name}; copies within the card: {bandwidth / 1e9:,.0f} GB/s\n")
    print(
        "| values | encoding | codec | nulls | page rows | kernels GB/s | of copy | floor |", end=""
    )
    print(" end to end GB/s | CPU engine GB/s |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|---:|")
    grid = [(column, "none", nulls, 20_000) for column in COLUMNS for nulls in NULLS]
    grid += [(COLUMNS[2], codec, 0.0, 20_000) for codec in CODECS[1:]]
    grid += [(column, "none", 0.0, 1_000_000) for column in COLUMNS[:4]]
    for column, codec, nulls, page_rows in grid:
        data = file_of(column, codec, nulls, rows=MEASURED_ROWS, page_rows=page_rows)
        cell = Cell("", column, codec, data)
        kernels, whole, host = [], [], []
        for _ in range(3):
            start = time.perf_counter()
            result = decoded(cell, timed)
            whole.append(time.perf_counter() - start)
            kernels.append(timed.kernel_seconds())
        for _ in range(2):
            start = time.perf_counter()
            decoded(cell, None)
            host.append(time.perf_counter() - start)
        moved = len(data) + result.nbytes
        share = moved / min(kernels) / bandwidth
        print(
            f"| {column.values} | {column.encoding} | {codec} | {nulls:.0%} | {page_rows:,} "
            f"| {moved / min(kernels) / 1e9:,.1f} | {share:.0%} | {column.floor:.0%} "
            f"| {result.nbytes / min(whole) / 1e9:,.2f} | {result.nbytes / min(host) / 1e9:,.2f} |"
        )


def device_of(name: str) -> Any:
    """`cuda`, or `emulated`."""
    if name == "cuda":
        from pqlab.gpu.cupy_device import CupyDevice

        return CupyDevice()
    from pqlab.gpu.emulator.device import EmulatedDevice

    return EmulatedDevice()


def main(arguments: list[str]) -> int:
    """Check, and measure; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cuda", "emulated"), default="cuda")
    parser.add_argument("--rows", type=int, default=3_000, help="of each file that is compared")
    parser.add_argument("--only-equality", action="store_true", help="measure nothing")
    parser.add_argument("--write", action="store_true", help="store the values' digests")
    options = parser.parse_args(arguments)
    try:
        device = device_of(options.device)
    except pqlab.PqlabError as error:
        print(error)
        return 2
    stored: dict[str, dict[str, str]] = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
    digests = stored.setdefault(str(options.rows), {})
    label = "emulated, no GPU" if options.device == "emulated" else device.name
    wrong = check_equality(device, options.rows, digests, label)
    if options.write:
        DIGESTS.write_text(json.dumps(stored, indent=1) + "\n")
    if options.device == "cuda" and not options.only_equality:
        wrong += sanitize(label)
        measure(device)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
