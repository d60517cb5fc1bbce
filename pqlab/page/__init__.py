"""A page taken apart, for those who write writers: `ParquetFile.page`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from pqlab.errors import CorruptError, placed
from pqlab.footer import names
from pqlab.io.fetch import read_recorded
from pqlab.native import _native
from pqlab.page import hybrid
from pqlab.page.deltas import Deltas, deltas
from pqlab.trace import Reason

if TYPE_CHECKING:
    from pqlab.footer.schema import SchemaNode
    from pqlab.reader import ParquetFile

__all__ = ["Page"]

_DICTIONARY = ("PLAIN_DICTIONARY", "RLE_DICTIONARY")
_DELTA_STREAMS = {
    "DELTA_BINARY_PACKED": ("values",),
    "DELTA_LENGTH_BYTE_ARRAY": ("lengths",),
    "DELTA_BYTE_ARRAY": ("prefix lengths", "suffix lengths"),
}
_UNCOMPRESSED = 0
_LEVEL_BYTES = 16  # of memory, for both levels of an entry


class _Levels(NamedTuple):
    """Levels of one kind: [start, stop) of the body without a prefix; not there if `width` is 0."""

    name: str
    encoding: str
    start: int
    stop: int
    width: int


class Page:
    """One page of a chunk: its header, its bytes, its levels, runs and miniblocks, its values.

    Everything is read and taken apart when it is first asked for, by Python code of its own;
    `values` alone are those of the engine. Offsets are positions in `bytes`. Raises `CorruptError`
    with the place where the bytes contradict the specification.
    """

    def __init__(self, file: ParquetFile, row_group: int, leaf: int, page: int) -> None:
        self._file, self.row_group, self.leaf, self.page = file, row_group, leaf, page
        self._row = self._of_table()

    @cached_property
    def header(self) -> Any:
        """The raw thrift struct `PageHeader`."""
        return self._file.page_store.header((self.row_group, self.leaf), self.page)

    @property
    def column(self) -> str:
        """The leaf's dotted path."""
        return self._node.column

    @cached_property
    def stored(self) -> bytes:
        """The body as it stands in the file, header excluded."""
        start = int(self._row["offset"]) + int(self._row["header_bytes"])
        stop = int(self._row["offset"]) + int(self._row["total_bytes"])
        with self._placed():
            key = (self.row_group, self.leaf)
            [data] = read_recorded(self._file.source, [(start, stop)], Reason.PAGES, [key])
        return data.tobytes()

    @cached_property
    def bytes(self) -> bytes:
        """The body uncompressed: levels, then values. Of a v2 page levels are never compressed."""
        header, stored = self.header, self.stored
        size = int(header.uncompressed_page_size)
        levels = 0
        if header.data_page_header_v2 is not None:
            version_2 = header.data_page_header_v2
            levels = version_2.repetition_levels_byte_length
            levels += version_2.definition_levels_byte_length
            if version_2.is_compressed is False or len(stored) == levels:
                return stored
        codec = int(self._file.metadata.chunk_cells("codec", [self._chunk])[0])
        if codec == _UNCOMPRESSED:
            return stored
        with self._placed():
            if not 0 <= levels <= min(size, len(stored)):
                raise CorruptError("the levels are longer than the page")
            self._file.limits.check("page_bytes", size, "the page")
            packed = np.frombuffer(stored[levels:], np.uint8)
            return stored[:levels] + _native.decompress(codec, packed, size - levels)

    @cached_property
    def levels(self) -> pl.DataFrame:
        """A row per entry: `repetition_level`, `definition_level`; 0 where there are none."""
        found = {}
        for levels in self._levels():
            found[levels.name] = self._numbers(levels)
        count = self._num_values
        cells = [
            pl.Series(name, found.get(name, np.zeros(count, np.int64)), pl.Int16)
            for name in ("repetition_level", "definition_level")
        ]
        return pl.DataFrame(cells)

    @cached_property
    def runs(self) -> pl.DataFrame:
        """A row per run of the RLE/bit-packed hybrid, of levels, dictionary indices, booleans.

        `stream`, `run`, `kind` (`rle`, `bit-packed`), `offset`, `size_bytes` (header included),
        `bit_width`, `num_values` (as stated: padding of the last one included), `value` (of `rle`).
        """
        rows: list[tuple[Any, ...]] = []
        for levels in self._levels():
            if levels.encoding == "RLE":
                found = self._runs(levels.start, levels.stop, levels.width, self._num_values)
                rows += _run_rows(levels.name, levels.width, found)
        values = self._values_as_runs()
        if values is not None:
            rows += _run_rows("values", values[0], values[1])
        return pl.DataFrame(rows, schema=_RUNS, orient="row")

    @cached_property
    def miniblocks(self) -> pl.DataFrame:
        """A row per miniblock of delta encodings.

        `stream` (`values`, `lengths`, `prefix lengths`, `suffix lengths`), `block`, `miniblock`,
        `offset` and `size_bytes` of its packed deltas, `bit_width`, `num_values` (without padding),
        `min_delta`.
        """
        rows = [
            (stream, *miniblock)
            for stream, found in self.deltas.items()
            for miniblock in found.miniblocks
        ]
        return pl.DataFrame(rows, schema=_MINIBLOCKS, orient="row")

    @cached_property
    def deltas(self) -> dict[str, Deltas]:
        """The delta streams by name, with their headers; none in pages of other encodings."""
        at, found = self._values_start(), {}
        with self._placed():
            for stream in _DELTA_STREAMS.get(self.encoding, ()):
                found[stream] = deltas(self.bytes, at, len(self.bytes))
                at = found[stream].stop
        return found

    @cached_property
    def values(self) -> pl.Series:
        """The values: rows that the page holds, decoded by the engine; of -1, the dictionary."""
        if self.page < 0:
            return self._file.dictionary(self.row_group, self.leaf)
        pages = {(self.row_group, self.leaf): self.page}
        return self._file.read(self.leaf, pages=pages).to_series()

    @property
    def encoding(self) -> str:
        """Encoding of the values."""
        return names.name(int(self._data_header.encoding), names.ENCODINGS)

    def __repr__(self) -> str:
        place = f"row group {self.row_group}, {self.column}, page {self.page}"
        return f"<pqlab.Page {place}: {self.encoding}, {self._num_values:,} values>"

    # ------------------------------------------------------------------------ where things lie

    @property
    def _node(self) -> SchemaNode:
        return self._file.metadata.leaves[self.leaf]

    @property
    def _chunk(self) -> int:
        return self._file.metadata.chunk_row(self.row_group, self.leaf)

    def _placed(self) -> Any:
        return placed(
            file=self._file.name, row_group=self.row_group, column=self.column, page=self.page
        )

    def _of_table(self) -> np.void:
        self.header  # noqa: B018  # raises for a page that is not there
        pages = self._file.page_store.table([(self.row_group, self.leaf)], headers=True).pages
        row: np.void = pages[pages["page"] == self.page][0]
        return row

    @property
    def _data_header(self) -> Any:
        header = self.header
        return (
            header.data_page_header or header.data_page_header_v2 or header.dictionary_page_header
        )

    @property
    def _num_values(self) -> int:
        return int(self._data_header.num_values)

    def _levels(self) -> list[_Levels]:
        """The levels that the page has, repetition first."""
        if self.page < 0:
            return []
        header, body = self.header, self.bytes
        at, found = 0, []
        version_2 = header.data_page_header_v2
        for name, highest in (
            ("repetition_level", self._node.max_repetition_level),
            ("definition_level", self._node.max_definition_level),
        ):
            width = highest.bit_length()
            if version_2 is not None:
                size = getattr(version_2, f"{name}s_byte_length")
                begin, encoding = at, "RLE"
            elif width == 0:
                continue
            else:
                code = getattr(header.data_page_header, f"{name}_encoding")
                encoding = names.name(code, names.ENCODINGS)
                begin, size = self._sized(at, encoding, width)
            if not 0 <= size <= len(body) - begin:
                with self._placed():
                    raise CorruptError(f"the {name}s are longer than the page")
            at = begin + size
            if width:
                found.append(_Levels(name, encoding, begin, at, width))
        return found

    def _sized(self, at: int, encoding: str, width: int) -> tuple[int, int]:
        """Where levels of a v1 page begin, and how long they are."""
        if encoding == "BIT_PACKED":
            return at, -(-self._num_values * width // 8)
        return at + 4, int.from_bytes(self.bytes[at : at + 4], "little")

    def _values_start(self) -> int:
        version_2 = self.header.data_page_header_v2
        if version_2 is not None:
            sizes = version_2.repetition_levels_byte_length, version_2.definition_levels_byte_length
            return int(sum(sizes))
        return max((levels.stop for levels in self._levels()), default=0)

    def _runs(self, start: int, stop: int, width: int, count: int) -> list[hybrid.Run]:
        with self._placed():
            return hybrid.runs(self.bytes, start, stop, width, count)

    def _numbers(self, levels: _Levels) -> np.ndarray:
        count, width = self._num_values, levels.width
        with self._placed():
            self._file.limits.check("read_bytes", count * _LEVEL_BYTES, "the page's levels")
        if levels.encoding == "BIT_PACKED":
            packed = self.bytes[levels.start : levels.stop]
            return hybrid.unpacked(packed, width, count, high_first=True)
        found = self._runs(levels.start, levels.stop, width, count)
        return hybrid.values(self.bytes, found, width, count)

    def _values_as_runs(self) -> tuple[int, list[hybrid.Run]] | None:
        """Bit width and runs of dictionary indices or booleans; None: values are not in runs."""
        if self.page < 0:
            return None
        at, stop = self._values_start(), len(self.bytes)
        highest = self._node.max_definition_level
        count = int((self.levels["definition_level"] == highest).sum())
        if self.encoding in _DICTIONARY:
            if at >= stop:
                return 0, []  # nulls only
            width = self.bytes[at]
            if width > 32:
                with self._placed():
                    raise CorruptError(f"indices of {width} bits", offset=at)
            return width, self._runs(at + 1, stop, width, count)
        if self.encoding == "RLE":
            return 1, self._runs(at + 4, stop, 1, count)
        return None


_RUNS = {
    "stream": pl.String,
    "run": pl.Int64,
    "kind": pl.String,
    "offset": pl.Int64,
    "size_bytes": pl.Int64,
    "bit_width": pl.Int64,
    "num_values": pl.Int64,
    "value": pl.Int64,
}
_MINIBLOCKS = {
    "stream": pl.String,
    "block": pl.Int64,
    "miniblock": pl.Int64,
    "offset": pl.Int64,
    "size_bytes": pl.Int64,
    "bit_width": pl.Int64,
    "num_values": pl.Int64,
    "min_delta": pl.Int64,
}


def _run_rows(stream: str, width: int, found: list[hybrid.Run]) -> list[tuple[Any, ...]]:
    return [
        (stream, number, run.kind, run.offset, run.size_bytes, width, run.num_values, run.value)
        for number, run in enumerate(found)
    ]
