"""Metadata over a cache file: read when it is asked for, verified before it is used."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pqlab.footer.metadata import ChunkTable, FileMetaData
from pqlab.io.cache import CacheDamagedError, Sections, discard

_FEW_ROWS = 64


class MappedArrays(Mapping[str, np.ndarray]):
    """The arrays of a cache file; should it turn out to be damaged, those that `parse` gives."""

    def __init__(self, sections: Sections, parse: Callable[[], FileMetaData]) -> None:
        self._sections = sections
        self._parse = parse

    def __getitem__(self, name: str) -> np.ndarray:
        return self.part(name, 0, self._sections.length(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._sections)

    def __len__(self) -> int:
        return len(self._sections)

    def length(self, name: str) -> int:
        """The number of elements of an array, which is not read for it."""
        return self._sections.length(name)

    def part(self, name: str, start: int, stop: int) -> np.ndarray:
        """The whole array, of which only elements [start, stop) may be used."""
        if "_parsed" not in self.__dict__:
            try:
                self._sections.verify(name, start, stop)
                return self._sections.unverified(name)
            except CacheDamagedError:
                discard(self._sections)
        return self._parsed[name]

    @functools.cached_property
    def _parsed(self) -> dict[str, np.ndarray]:
        return self._parse().arrays()


class MappedMetaData(FileMetaData):
    """`FileMetaData.from_arrays` of `MappedArrays`: columns of `chunks` come one by one."""

    _arrays: MappedArrays

    @property
    def footer_bytes(self) -> int:
        """The length of `footer`."""
        return self._arrays.length("footer")

    @property
    def nbytes(self) -> int:
        """No anonymous memory: the arrays lie in the mapped file."""
        return 0

    def footer_part(self, start: int, stop: int) -> np.ndarray:
        """The footer, of which only the bytes [start, stop) will be read."""
        return self._arrays.part("footer", start, stop)

    def footer_of(self, rows: ArrayLike | None) -> np.ndarray:
        """The footer, of which only what belongs to these rows of `chunks` will be read."""
        few = _few(rows)
        if few is None or "footer" in self.__dict__:
            return self.footer
        stops = self.chunk_cells("position", [min(row + 1, self._last_row) for row in few])
        footer = self.footer_part(0, 0)
        for row, start, stop in zip(few, self.chunk_cells("position", few), stops, strict=True):
            footer = self.footer_part(
                int(start), self.footer_bytes if row == self._last_row else int(stop)
            )
        return footer

    def chunk_cells(self, name: str, rows: ArrayLike | None) -> np.ndarray:
        """One column of `chunks`, in these rows (None: all)."""
        few = _few(rows)
        if few is None:
            return super().chunk_cells(name, rows)
        key = "chunks." + name
        if self._arrays.length(key) == 1:
            few = [0] * len(few)
        cells = [self._arrays.part(key, row, row + 1)[row] for row in few]
        return np.array(cells, self._arrays.part(key, 0, 0).dtype)

    @property
    def _last_row(self) -> int:
        return self.num_row_groups * self.num_leaves - 1

    @functools.cached_property
    def chunks(self) -> ChunkTable:
        """One row per column chunk."""
        return _MappedChunks(self._arrays, self.num_row_groups * self.num_leaves)


def _few(rows: ArrayLike | None) -> list[int] | None:
    """The rows, if they are so few that single cells are verified for less than whole columns."""
    if rows is None:
        return None
    index = np.atleast_1d(np.asarray(rows, np.intp))
    return None if len(index) > _FEW_ROWS or (index < 0).any() else index.tolist()


class _MappedChunks(ChunkTable):
    """A `ChunkTable` whose slots are empty until they are asked for."""

    __slots__ = ("_arrays", "_num_rows")

    def __init__(self, arrays: MappedArrays, num_rows: int) -> None:
        object.__setattr__(self, "_arrays", arrays)
        object.__setattr__(self, "_num_rows", num_rows)

    def __getattr__(self, name: str) -> Any:
        if name not in _COLUMNS:
            raise AttributeError(name)
        column = self._arrays["chunks." + name]
        if len(column) != self._num_rows:
            column = np.broadcast_to(column, (self._num_rows,))
        object.__setattr__(self, name, column)
        return column


_COLUMNS = frozenset(field.name for field in fields(ChunkTable))
