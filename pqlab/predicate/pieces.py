"""The rows of a file in pieces, each of which may have wanted rows or has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pqlab.plan.ranges import Range

Mask = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Rows counted over the file: piece i has rows `bounds[i]` to `bounds[i + 1]`, at least one.

    `may_hold`: whether a piece may have rows that are wanted.
    """

    bounds: Positions
    may_hold: Mask

    def at(self, bounds: Positions) -> Mask:
        """`may_hold` of finer pieces."""
        return self.may_hold[np.searchsorted(self.bounds, bounds[:-1], "right") - 1]

    def piece_of(self, row: int) -> int:
        """The piece that has the row."""
        return int(np.searchsorted(self.bounds, row, "right")) - 1

    def ranges(self) -> list[Range]:
        """The half-open ranges of rows that may be wanted: sorted, none touching the next."""
        edges = np.diff(self.may_hold.astype(np.int8), prepend=0, append=0)
        starts, stops = self.bounds[edges == 1], self.bounds[edges == -1]
        return list(zip(starts.tolist(), stops.tolist(), strict=True))


def all_of(parts: Sequence[Pieces]) -> Pieces:
    """The pieces in which each of the parts may hold; there is one part at least."""
    return _joined(np.logical_and, parts)


def any_of(parts: Sequence[Pieces]) -> Pieces:
    """The pieces in which some part may hold; there is one part at least."""
    return _joined(np.logical_or, parts)


def _joined(how: Callable[..., Any], parts: Sequence[Pieces]) -> Pieces:
    if len(parts) == 1:
        return parts[0]
    bounds = parts[0].bounds
    if not all(np.array_equal(part.bounds, bounds) for part in parts[1:]):
        bounds = np.unique(np.concatenate([part.bounds for part in parts]))
    found = parts[0].at(bounds)
    for part in parts[1:]:
        found = how(found, part.at(bounds))
    return Pieces(bounds, found)


def cut(starts: Positions, may_hold: Mask, num_rows: int) -> tuple[Pieces, Positions]:
    """The pieces that begin at `starts`, in any order, and for each which of `starts` it is.

    The first row is one of them. Where several pieces begin, the last one has the rows.
    """
    order = np.argsort(starts, kind="stable")
    bounds = np.append(starts[order], num_rows)
    has_rows = np.diff(bounds) > 0
    order = order[has_rows]
    return Pieces(np.append(starts[order], num_rows), may_hold[order]), order
