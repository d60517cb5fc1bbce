"""Files to iterate over, and a source whose latency the tests set."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pqlab.io.source import DIRECT, Bytes, Source, Transfer


def table_of(rows: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 1000, rows)
    lists = [None if n % 7 == 0 else list(range(n % 4)) for n in numbers.tolist()]
    return pa.table(
        {
            "row": np.arange(rows, dtype=np.int64) + seed * 1_000_000,
            "number": pa.array(numbers, mask=numbers % 5 == 0),
            "text": [f"{n:x}" * (n % 6) for n in numbers.tolist()],
            "list": pa.array(lists, pa.list_(pa.int32())),
            "deep": [{"a": n, "b": f"v{n % 9}"} for n in numbers.tolist()],
        }
    )


def parquet(table: pa.Table, row_group_size: int, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=row_group_size, **options)
    return sink.getvalue()


def oracle(data: bytes, row_groups: list[int] | None = None) -> pl.DataFrame:
    """What pyarrow reads, one row group after the other in the order given."""
    file = pq.ParquetFile(io.BytesIO(data))
    numbers = range(file.num_row_groups) if row_groups is None else row_groups
    return pl.concat([pl.DataFrame(file.read_row_group(number)) for number in numbers])


class Slow(Source):
    """Bytes that take `latency_s` a request, or as long as `hold` blocks them."""

    def __init__(self, data: bytes, latency_s: float = 0.0) -> None:
        self.name, self.size = "<slow>", len(data)
        self._data = np.frombuffer(data, np.uint8)
        self.latency_s = latency_s
        self.requests: list[int] = []  # where each begins, once it is made
        self._open = threading.Event()
        self._open.set()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """No request is answered inside."""
        self._open.clear()
        try:
            yield
        finally:
            self._open.set()

    def _fill(self, start: int, buffer: Bytes) -> Transfer:
        self.requests.append(start)
        time.sleep(self.latency_s)
        self._open.wait()
        buffer[:] = self._data[start : start + len(buffer)]
        return DIRECT

    def check_unchanged(self) -> None:
        pass

    def close(self) -> None:
        pass
