"""What two traces have differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pqlab.footer.facts import differences, fact, facts_of, joined

if TYPE_CHECKING:
    from pqlab.trace.recorder import Trace

_c = pl.col
_WORK = ("pages", "values", "fetched_bytes", "decoded_bytes", "misses")
_TIMES = ("total", "fetch", "wait", "decompress", "decode", "assemble", "stall")


def diff_traces(left: Trace, right: Trace) -> pl.DataFrame:
    """As `Trace.diff`."""
    return differences(_facts(left), _facts(right))


def _facts(trace: Trace) -> pl.DataFrame:
    times = [f"{name}_ns" for name in _TIMES]
    sums = [_c(name).sum().cast(pl.Int64) for name in (*_WORK, *times)]
    summary = trace.summary()
    columns = summary.group_by("column", maintain_order=True).agg(*sums).sort("column")
    whole = summary.select(*sums)
    reads = trace.reads()
    return joined(
        [
            fact("reads", "reads", len(reads)),
            fact("reads", "duration_ns", int(reads["duration_ns"].fill_null(0).sum())),
            facts_of(whole, "work", _WORK),
            facts_of(columns.drop_nulls("column"), "work", _WORK),
            facts_of(whole, "time", times),
            facts_of(columns.drop_nulls("column"), "time", times),
        ]
    )
