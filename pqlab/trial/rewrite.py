"""A slice of a file, written again under other settings."""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from pqlab import text
from pqlab.comparison import Comparison, compare

if TYPE_CHECKING:
    from pqlab.file_selection import FileSelection
    from pqlab.reader import ParquetFile


@dataclass(frozen=True, slots=True, repr=False)
class Trial:
    """What `ParquetFile.rewrite_trial` gives.

    `size_bytes`: of the column chunks that are read of the file, and of those that were written.
    `comparison`: of reading the first (a) and the second (b). `data`: the file that was written;
    `code`: Python text that writes one so.
    """

    settings: Mapping[str, Any]
    size_bytes: tuple[int, int]
    comparison: Comparison
    write_ns: int
    data: bytes
    code: str

    @property
    def size_ratio(self) -> float:
        """The new size over the old one."""
        return self.size_bytes[1] / max(1, self.size_bytes[0])

    def __repr__(self) -> str:
        before, after = (text.size(size) for size in self.size_bytes)
        return (
            f"<pqlab.Trial: {before} -> {after} ({self.size_ratio:.2f}), read in "
            f"{self.comparison.ratio.text(2)} of the time: {self.comparison.verdict}>"
        )


def rewrite_trial(
    selection: FileSelection, settings: Mapping[str, Any], *, seconds: float
) -> Trial:
    """Write the selection by pyarrow under these settings, and compare reading both.

    Raises what reading raises, and pyarrow's errors for settings that it does not take.
    """
    table = selection.to_arrow()
    start_ns = time.perf_counter_ns()
    data = written(table, settings)
    write_ns = time.perf_counter_ns() - start_ns
    again = opened(selection.file, data)
    comparison = compare(
        selection.read, again.read, seconds=seconds, equal=True, names=("as it is", "rewritten")
    )
    sizes = selection.plan().wanted_bytes, int(again.leaves["total_compressed_size"].sum())
    return Trial(dict(settings), sizes, comparison, write_ns, data, code_of(settings))


def opened(file: ParquetFile, data: bytes) -> ParquetFile:
    """The bytes as a file of the same kind as `file`, under its limits."""
    from pqlab.io.footer import load_metadata
    from pqlab.io.source import open_source

    source = open_source(data)
    metadata = load_metadata(source, cache=None, limits=file.limits)
    return type(file)(source, metadata, limits=file.limits, verify_checksums=False)


def written(table: pa.Table, settings: Mapping[str, Any]) -> bytes:
    """The table as a Parquet file by pyarrow."""
    sink = io.BytesIO()
    pq.write_table(table, sink, **settings)
    return sink.getvalue()


def code_of(settings: Mapping[str, Any]) -> str:
    """Python text that writes a table under these settings."""
    arguments = "".join(f"    {name}={value!r},\n" for name, value in settings.items())
    return f"pyarrow.parquet.write_table(\n    table,\n    path,\n{arguments})\n"
