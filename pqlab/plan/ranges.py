"""Sets of integers as sorted, disjoint, half-open ranges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

Range: TypeAlias = tuple[int, int]
Ranges: TypeAlias = tuple[Range, ...]


def union(ranges: Iterable[Range]) -> Ranges:
    """The ranges sorted, with those that overlap or touch made one and the empty ones left out."""
    merged: list[Range] = []
    for start, stop in sorted(ranges):
        if start >= stop:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return tuple(merged)


def intersect(left: Ranges, right: Ranges) -> Ranges:
    """What both have. Both are sorted and disjoint, and so is the result."""
    common: list[Range] = []
    i = j = 0
    while i < len(left) and j < len(right):
        start, stop = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if start < stop:
            common.append((start, stop))
        if left[i][1] <= right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(common)


def length(ranges: Sequence[Range]) -> int:
    """How many integers the disjoint ranges hold."""
    return sum(stop - start for start, stop in ranges)


def cut(rows: Ranges, start: int, stop: int) -> Ranges:
    """The rows at positions [start, stop) among those of the ranges."""
    found, before = [], 0
    for first, last in rows:
        from_, to = max(start - before, 0), min(stop - before, last - first)
        if from_ < to:
            found.append((first + from_, first + to))
        before += last - first
    return tuple(found)
