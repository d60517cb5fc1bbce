"""Findings that a read shows: what codecs cost here, and text that is something else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pqlab.errors import PqlabError
from pqlab.findings.facts import Facts
from pqlab.findings.rules import RULES
from pqlab.trace import Trace

if TYPE_CHECKING:
    from pqlab.reader import ParquetFile

_c = pl.col
_RUNS = 3  # the least of them counts
_SAMPLE_ROWS = 10_000
_LEAST_NS = 10_000  # of decompressing: less says nothing of a speed
_NUMBER_BYTES = {pl.Int64: 8, pl.Float64: 8, pl.Date: 4, pl.Datetime: 8}
_TIMES = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.fZ")
_TEXT = r"^(STRING|UTF8|JSON|ENUM)"


def measured(file: ParquetFile, facts: Facts) -> Iterator[dict[str, object]]:
    """Rows of the findings frame that take a read, of one row group: the one of most rows."""
    if facts.chunks.is_empty():
        return
    row_group = int(np.argmax(file.metadata.row_groups.num_rows))
    chunks = facts.chunks.filter(
        ~_c("is_encrypted"), ~_c("is_external"), row_group=row_group
    )  # fmt: skip
    for chunk in chunks.iter_rows(named=True):
        try:
            yield from _codec(file, chunk)
            yield from _text(file, chunk)
        except PqlabError:
            continue  # `check` says what is wrong with it


def _codec(file: ParquetFile, chunk: dict[str, Any]) -> Iterator[dict[str, object]]:
    size, plain = int(chunk["total_compressed_size"]), int(chunk["total_uncompressed_size"])
    if chunk["codec"] == "UNCOMPRESSED" or plain == 0:
        return
    spent = min((_decompressing(file, chunk) for _ in range(_RUNS)), key=lambda took: took[0])
    cost_ns, num_bytes = spent
    if cost_ns == 0:
        return
    if size / plain > RULES["codec does not pay"].limit:
        yield _row("codec does not pay", chunk, size / plain, cost_ns=cost_ns)
    speed = num_bytes * 1000 / cost_ns
    if cost_ns >= _LEAST_NS and speed < RULES["slow codec"].limit:
        yield _row("slow codec", chunk, speed, cost_ns=cost_ns)


def _decompressing(file: ParquetFile, chunk: dict[str, Any]) -> tuple[int, int]:
    """The time that one read of the chunk spends in decompressing, and the bytes that come out."""
    trace = Trace()
    file.read(chunk["leaf"], row_groups=chunk["row_group"], trace=trace)
    events = trace.to_frame().filter(stage="decompress")
    return int(events["duration_ns"].sum()), int(events["bytes_out"].sum())


def _text(file: ParquetFile, chunk: dict[str, Any]) -> Iterator[dict[str, object]]:
    is_text = pl.Series([chunk["logical_type"]], dtype=pl.String).str.contains(_TEXT)
    if chunk["max_repetition_level"] != 0 or not is_text.item():
        return
    first = int(file.metadata.row_groups.first_row[chunk["row_group"]])
    stop = first + min(_SAMPLE_ROWS, int(chunk["row_group_num_rows"]))
    values = file.read(chunk["leaf"], rows=(first, stop)).to_series()
    while isinstance(values.dtype, pl.Struct):
        values = values.struct.field(values.dtype.fields[0].name)
    known = values.drop_nulls()
    if not len(known):
        return
    for name, dtypes in (
        ("text that is numbers", (pl.Int64, pl.Float64)),
        ("text that is dates", (pl.Date, pl.Datetime)),
    ):
        shares = {dtype: _parsed(known, dtype) for dtype in dtypes}
        dtype = max(shares, key=lambda dtype: shares[dtype])
        if shares[dtype] > RULES[name].limit:
            num_values = int(chunk["num_values"])
            needed = num_values * _NUMBER_BYTES[dtype]
            cost = max(0, int(chunk["total_uncompressed_size"]) - needed)
            yield _row(name, chunk, shares[dtype], cost_bytes=cost)
            return


def _parsed(values: pl.Series, dtype: type[pl.DataType]) -> float:
    """The part of the values that are of that type."""
    text = values.str
    if dtype == pl.Date:
        parsed = [text.to_date("%Y-%m-%d", strict=False)]
    elif dtype == pl.Datetime:
        parsed = [text.to_datetime(form, strict=False, time_unit="us") for form in _TIMES]
    else:
        parsed = [values.cast(dtype, strict=False)]
    return 1 - min(series.null_count() for series in parsed) / len(values)


def _row(
    finding: str,
    chunk: dict[str, Any],
    evidence: float,
    *,
    cost_bytes: int | None = None,
    cost_ns: int | None = None,
) -> dict[str, object]:
    place = {name: chunk[name] for name in ("file", "row_group", "column")}
    found = {"finding": finding, "num_chunks": 1, "evidence": evidence}
    return {**place, **found, "cost_bytes": cost_bytes, "cost_ns": cost_ns}
