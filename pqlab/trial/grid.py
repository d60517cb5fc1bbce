"""A small grid of writer settings, column by column: encoding, codec, page size, dictionary."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pqlab.footer import frame_columns
from pqlab.trial.rewrite import code_of, opened, written

if TYPE_CHECKING:
    from pqlab.file_selection import FileSelection

_c = pl.col
_RUNS = 3  # reads of each candidate, of which the least counts
# What is tried beside PLAIN where there is no dictionary.
_ENCODINGS = {
    "INT32": ("DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"),
    "INT64": ("DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"),
    "FLOAT": ("BYTE_STREAM_SPLIT",),
    "DOUBLE": ("BYTE_STREAM_SPLIT",),
    "BYTE_ARRAY": ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"),
}


class _Candidate(NamedTuple):
    encoding: str  # DICTIONARY, or that of the values
    codec: str
    page_bytes: int

    def settings(self, paths: Sequence[str]) -> dict[str, Any]:
        is_dictionary = self.encoding == "DICTIONARY"
        chosen: dict[str, Any] = {
            "use_dictionary": is_dictionary,
            "compression": self.codec,
            "data_page_size": self.page_bytes,
        }
        if not is_dictionary:
            chosen["column_encoding"] = dict.fromkeys(paths, self.encoding)
        return chosen


@dataclass(frozen=True, slots=True, repr=False)
class BestSettings:
    """What `ParquetFile.best_settings` gives: `frame`, a row per leaf and candidate.

    `settings`: of pyarrow's writer, the best of each column under the page size that is best for
    all; `code`: Python text that writes so.
    """

    frame: pl.DataFrame
    settings: Mapping[str, Any]

    @property
    def code(self) -> str:
        """Python text that writes a table under `settings`."""
        return code_of(self.settings)

    def __repr__(self) -> str:
        best = self.frame.filter("is_best")
        saved, spared = int(best["saved_bytes"].sum()), int(best["saved_ns"].sum())
        return f"<pqlab.BestSettings: {saved:,} bytes and {spared / 1e6:,.2f} ms less>\n{self.code}"


def best_settings(
    selection: FileSelection,
    *,
    codecs: Sequence[str],
    page_bytes: Sequence[int],
    bandwidth_mb_per_s: float,
) -> BestSettings:
    """As `ParquetFile.best_settings`."""
    rows = [
        row
        for leaf in selection.narrowed.leaves
        for row in _leaf(selection, leaf, codecs, page_bytes, bandwidth_mb_per_s)
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    best = _best(frame)
    keys = ("leaf", "encoding", "codec", "page_bytes")
    marks = best.select(*keys, pl.lit(value=True).alias("is_best"))
    whole = frame.join(marks, on=keys, how="left", maintain_order="left")
    series = {
        column.name: whole[column.name]
        for column in frame_columns.TRIALS
        if column.name != "is_best"
    }
    series["is_best"] = whole["is_best"].fill_null(value=False)
    return BestSettings(frame_columns.build(frame_columns.TRIALS, series), _together(best))


def _leaf(
    selection: FileSelection,
    leaf: int,
    codecs: Sequence[str],
    page_bytes: Sequence[int],
    bandwidth: float,
) -> Iterator[dict[str, Any]]:
    """A row per candidate for one leaf, in the rows of the selection."""
    file, node = selection.file, selection.file.metadata.leaves[leaf]
    first_rows = file.metadata.row_groups.first_row
    rows = [
        (int(first_rows[row_group]) + start, int(first_rows[row_group]) + stop)
        for row_group, ranges in selection.rows().items()
        for start, stop in ranges
    ]
    part = file.select(leaf, rows=rows)
    table = part.to_arrow()
    before_bytes, before_ns = part.plan().wanted_bytes, _least_ns(part.read)
    before = before_ns + before_bytes * 1000 / bandwidth
    encodings = ("DICTIONARY", "PLAIN", *_ENCODINGS.get(node.physical_type or "", ()))
    paths = _paths(table)
    for candidate in map(_Candidate._make, product(encodings, codecs, page_bytes)):
        again = opened(file, written(table, candidate.settings(paths)))
        size = int(again.leaves["total_compressed_size"].sum())
        read_ns = _least_ns(again.read)
        cost = read_ns + size * 1000 / bandwidth
        yield {
            "leaf": leaf,
            "column": node.column,
            **candidate._asdict(),
            "size_bytes": size,
            "read_ns": read_ns,
            "saved_bytes": before_bytes - size,
            "saved_ns": before_ns - read_ns,
            "cost_ns": round(cost),
            "cost_ratio": cost / max(before, 1.0),
        }


def _least_ns(read: Any) -> int:
    least = 0
    for _ in range(_RUNS):
        start = time.perf_counter_ns()
        read()
        took = time.perf_counter_ns() - start
        least = took if least == 0 else min(least, took)
    return least


def _paths(table: pa.Table) -> list[str]:
    """The leaves' paths in a file that pyarrow writes of the table."""
    metadata = pq.read_metadata(pa.BufferReader(written(table.slice(0, 0), {})))
    return [metadata.schema.column(number).path for number in range(metadata.num_columns)]


def _best(frame: pl.DataFrame) -> pl.DataFrame:
    """The cheapest candidate of each leaf, all with the page size that is cheapest together."""
    of_each = frame.sort("cost_ns", maintain_order=True).group_by(
        "page_bytes", "leaf", maintain_order=True
    )
    cheapest = of_each.first()
    together = cheapest.group_by("page_bytes", maintain_order=True).agg(_c("cost_ns").sum())
    page_bytes = together.sort("cost_ns", maintain_order=True)["page_bytes"][0]
    return cheapest.filter(page_bytes=page_bytes).sort("leaf")


def _together(best: pl.DataFrame) -> dict[str, Any]:
    dictionary = best.filter(encoding="DICTIONARY")["column"].to_list()
    others = best.filter(_c("encoding") != "DICTIONARY")
    encodings = dict(others.select("column", "encoding").rows())
    return {
        "use_dictionary": dictionary or False,
        "column_encoding": encodings or None,
        "compression": dict(best.select("column", "codec").rows()),
        "data_page_size": int(best["page_bytes"][0]),
    }
