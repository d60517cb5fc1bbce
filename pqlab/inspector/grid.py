"""The grid of row groups × columns: windows of it through a lens, as text and shades.

Shades are 0 to 8, dearest last; -1: absent. Of the encoding lens they are colours, one for each
set of encodings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pqlab import text
from pqlab.errors import PqlabError
from pqlab.footer import names
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.inspector.actions import picked
from pqlab.inspector.columns import GridRow, grid_rows, leaves_of, matrix, roots, sums
from pqlab.inspector.state import State

MAX_ROWS, MAX_ROW_GROUPS = 200, 128  # of one window
SHADES = 9
_NAME_CHARACTERS = 200

Values = npt.NDArray[np.float64]
Times = Mapping[tuple[int, int], int]  # ns by (row group, leaf)


@dataclass(frozen=True, slots=True)
class LensKind:
    """A lens: `values` of the chunks of leaves [start, stop), by row group, NaN where absent.

    `full` is read out; `short`, made of the value and of that, is shown in a cell. `is_log`: shades
    grow with the logarithm.
    """

    title: str
    values: Callable[[FileMetaData, int, int], Values]
    short: Callable[[float, str], str]
    full: Callable[[float], str]
    is_log: bool = False
    is_colour: bool = False
    absent: str = text.ABSENT


def _sizes(metadata: FileMetaData, start: int, stop: int) -> Values:
    sizes: Values = matrix(metadata, "total_compressed_size")[:, start:stop].astype(np.float64)
    return sizes


def _ratios(metadata: FileMetaData, start: int, stop: int) -> Values:
    stored = _sizes(metadata, start, stop)
    whole = matrix(metadata, "total_uncompressed_size")[:, start:stop].astype(np.float64)
    ratios: Values = np.divide(whole, stored, out=np.full(stored.shape, np.nan), where=stored > 0)
    return ratios


def _where(metadata: FileMetaData, name: str, bit: Present, start: int, stop: int) -> Values:
    values = matrix(metadata, name)[:, start:stop].astype(np.float64)
    present = matrix(metadata, "present")[:, start:stop] & np.uint32(bit) != 0
    return np.where(present, values, np.nan)


def _nulls(metadata: FileMetaData, start: int, stop: int) -> Values:
    nulls = _where(metadata, "null_count", Present.NULL_COUNT, start, stop)
    values = matrix(metadata, "num_values")[:, start:stop].astype(np.float64)
    return np.divide(nulls, values, out=np.where(np.isnan(nulls), np.nan, 0), where=values > 0)


def _pages(metadata: FileMetaData, start: int, stop: int) -> Values:
    return _where(metadata, "num_data_pages", Present.ENCODING_STATS, start, stop)


def _encodings(metadata: FileMetaData, start: int, stop: int) -> Values:
    masks = matrix(metadata, "data_page_encodings")[:, start:stop].astype(np.float64)
    return np.where(masks == 0, np.nan, masks)


def _short_size(_: float, full: str) -> str:
    number, unit = full.split(" ")
    return number + unit[:1]


def _short_encoding(value: float, _: str) -> str:
    return "+".join(_INITIALS.get(name, name[:4]) for name in names.encodings_of(int(value)))


def _percent(value: float, _: str) -> str:
    return text.share(value, 1).replace(" ", "")


_INITIALS = {
    "PLAIN": "P",
    "PLAIN_DICTIONARY": "D",
    "RLE_DICTIONARY": "D",
    "RLE": "RLE",
    "DELTA_BINARY_PACKED": "Δ",
    "DELTA_LENGTH_BYTE_ARRAY": "ΔL",
    "DELTA_BYTE_ARRAY": "ΔB",
    "BYTE_STREAM_SPLIT": "BSS",
}

LENSES = {
    "size": LensKind("compressed size", _sizes, _short_size, text.size, is_log=True),
    "ratio": LensKind(
        "compression ratio", _ratios, lambda v, _: f"{v:.1f}×", lambda v: f"{v:.2f} ×"
    ),
    "encoding": LensKind(
        "encodings of data pages",
        _encodings,
        _short_encoding,
        lambda v: ", ".join(names.encodings_of(int(v))),
        is_colour=True,
        absent="unknown",
    ),
    "nulls": LensKind("nulls", _nulls, _percent, lambda v: f"{text.share(v, 1)} of the values"),
    "pages": LensKind(
        "data pages",
        _pages,
        lambda v, _: f"{v:,.0f}",
        lambda v: text.plural(int(v), "page"),
        is_log=True,
        absent="not read",
    ),
    "time": LensKind(
        "time of the last read",
        lambda *_: np.empty((0, 0)),
        lambda _, full: full.replace(" ", ""),
        text.duration,
        is_log=True,
        absent="not read",
    ),
}


def window(
    metadata: FileMetaData,
    state: State,
    rows: tuple[int, int],
    row_groups: tuple[int, int],
    times: Times,
) -> dict[str, Any]:
    """Rows [start, stop) of the grid and their cells for these row groups; both are cut to size.

    A cell is a place in the palette, of which each is [shade, what it shows, what it says].
    """
    everything = grid_rows(metadata, state.grid_order, state.filter, state.folded)
    start, stop = _cut(rows, len(everything), MAX_ROWS)
    groups = range(*_cut(row_groups, metadata.num_row_groups, MAX_ROW_GROUPS))
    of = _Window(metadata, state, groups, times)
    chosen, shown = _chosen(metadata, state), everything[start:stop]
    values = np.array([_of_row(of, leaves_of(metadata, row)) for row in shown])
    different, places = np.unique(values, return_inverse=True)
    scale = _scale(metadata, state.lens, times)
    packed: list[list[int]] = [row.tolist() for row in places.reshape(values.shape)]
    return {
        "start": start,
        "first_row_group": groups.start,
        "palette": [scale.cell(value) for value in different.tolist()],
        "rows": [{**_row(of, row, chosen), "cells": packed[at]} for at, row in enumerate(shown)],
    }


@dataclass(frozen=True, slots=True)
class _Window:
    metadata: FileMetaData
    state: State
    row_groups: range
    times: Times


def _chosen(metadata: FileMetaData, state: State) -> set[int]:
    """The leaves that were picked by name, if any."""
    try:
        leaves, _ = picked(metadata, state.selection)
    except PqlabError:
        return set()
    return set(leaves or ())


def _row(of: _Window, row: GridRow, chosen: set[int]) -> dict[str, Any]:
    metadata = of.metadata
    leaves = leaves_of(metadata, row)
    root = roots(metadata)[row.root]
    is_root = row.leaf is None or not root.is_group
    node = root.node if row.leaf is None else metadata.leaves[row.leaf]
    path = node.path if is_root else node.path[1:]
    size = int(sums(metadata, "total_compressed_size")[leaves.start : leaves.stop].sum())
    total = max(int(sums(metadata, "total_compressed_size").sum()), 1)
    return {
        "root": row.root,
        "leaf": row.leaf,
        "level": 1 if is_root else 2,
        "folded": None if row.leaf is not None else row.root in of.state.folded,
        "name": text.clip(text.visible(".".join(path)), _NAME_CHARACTERS),
        "type": text.clip(_type(node), 40),
        "size": text.size(size),
        "share": round(size / total, 5),
        "picked": chosen.issuperset(leaves),
    }


def _of_row(of: _Window, leaves: range) -> Values:
    """A value for each row group; of several leaves their sum where a sum says something."""
    lens, groups = of.state.lens, of.row_groups
    if lens == "time":
        found = np.array(
            [[of.times.get((group, leaf), np.nan) for leaf in leaves] for group in groups], float
        ).reshape(len(groups), len(leaves))
    else:
        found = LENSES[lens].values(of.metadata, leaves.start, leaves.stop)
        found = found[groups.start : groups.stop]
    if len(leaves) == 1:
        return found[:, 0]
    if lens in ("size", "pages", "time"):
        known = ~np.isnan(found).all(axis=1)
        return np.where(known, np.nansum(found, axis=1), np.nan)
    return np.full(len(groups), np.nan)


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to shades and texts."""

    lens: LensKind
    low: float
    high: float
    colours: tuple[float, ...]

    def cell(self, value: float) -> tuple[int, str, str]:
        """The cell of a value."""
        if math.isnan(value):
            return (
                -1,
                self.lens.absent if self.lens.absent == text.ABSENT else "?",
                self.lens.absent,
            )
        full = self.lens.full(value)
        return self.shade(value), self.lens.short(value, full), full

    def shade(self, value: float) -> int:
        """The shade of a value."""
        if self.lens.is_colour:
            return self.colours.index(value) % SHADES if value in self.colours else 0
        if self.lens.is_log:
            value = math.log1p(max(value, 0))
        if self.high <= self.low:
            return 4 if value > 0 else 0
        share = (value - self.low) / (self.high - self.low)
        return int(min(max(share, 0), 1) * (SHADES - 1) + 0.5)

    def legend(self) -> list[tuple[int, str]]:
        """Shades with what they stand for."""
        if self.lens.is_colour:
            return [(n % SHADES, self.lens.full(v)) for n, v in enumerate(self.colours[:SHADES])]
        if np.isnan(self.high):
            return []
        ends = [self.low, (self.low + self.high) / 2, self.high]
        values = np.expm1(ends) if self.lens.is_log else np.array(ends)
        return [(self.shade(value), self.lens.full(value)) for value in values.tolist()]


def _scale(metadata: FileMetaData, lens: str, times: Times) -> Scale:
    if lens == "time":
        return _make_scale(lens, np.array(list(times.values()), float))
    return metadata.kept(
        ("inspector scale", lens),
        lambda: _make_scale(lens, LENSES[lens].values(metadata, 0, metadata.num_leaves)),
    )


def _make_scale(lens: str, values: Values) -> Scale:
    kind = LENSES[lens]
    known = values[~np.isnan(values)]
    if kind.is_colour:
        masks, counts = np.unique(known, return_counts=True)
        return Scale(kind, 0, 0, tuple(masks[np.argsort(-counts, kind="stable")].tolist()))
    if not len(known):
        return Scale(kind, np.nan, np.nan, ())
    if kind.is_log:
        known = np.log1p(np.maximum(known, 0))
    return Scale(kind, float(known.min()), float(known.max()), ())


def body(metadata: FileMetaData, state: State, times: Times) -> dict[str, Any]:
    """What the grid shows beside its cells."""
    rows = grid_rows(metadata, state.grid_order, state.filter, state.folded)
    try:
        _, groups = picked(metadata, state.selection)
    except PqlabError:
        groups = None
    return {
        "num_rows": len(rows),
        "num_row_groups": metadata.num_row_groups,
        "lens": state.lens,
        "lenses": [(name, kind.title) for name, kind in LENSES.items()],
        "order": state.grid_order,
        "pattern": state.filter,
        "picked_row_groups": None if groups is None else spans(groups),
        "are_columns_picked": state.selection.columns is not None,
        "legend": _scale(metadata, state.lens, times).legend(),
        "absent": LENSES[state.lens].absent,
        "at": (_row_of(rows, state.leaf), state.row_group),
    }


def _row_of(rows: Sequence[GridRow], leaf: int | None) -> int | None:
    """Where the user's column is in the grid; None: there is none, or it is hidden."""
    if leaf is None:
        return None
    return next((at for at, row in enumerate(rows) if row.leaf == leaf), None)


def spans(numbers: list[int]) -> list[tuple[int, int]]:
    """Sorted numbers as half-open spans."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1] = found[-1][0], number + 1
        else:
            found.append((number, number + 1))
    return found


def _type(node: Any) -> str:
    annotation = node.annotation
    return str(annotation) if annotation is not None else node.physical_type or "group"


def _cut(span: tuple[int, int], count: int, most: int) -> tuple[int, int]:
    start = min(max(int(span[0]), 0), count)
    return start, max(start, min(int(span[1]), count, start + most))
