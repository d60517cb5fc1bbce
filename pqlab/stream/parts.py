"""What frames are made of: parts of a selection, each read by one native call per lane.

Pure: no I/O, no clock. Small row groups go together in a part, and are cut apart again when they
are handed out; a row group that memory does not allow for is several parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from pqlab.plan.ranges import Ranges, cut, length

PART_BYTES = 4 << 20  # decoded: smaller row groups go together
FIRST_BYTES = 64 << 10  # parts grow from here on, so that the first frame is there soon
PART_CHUNKS = 4096

LANE_BYTES = 4 << 20  # decoded, of a part: less is not worth a native call of its own
MOST_LANES = 32


class RowGroup(NamedTuple):
    """A row group that is read: `rows` of it, as half-open ranges, estimated bytes decoded.

    `whole`: these are all it has.
    """

    file: int
    row_group: int
    rows: Ranges
    decoded_bytes: int
    whole: bool = False


class Segment(NamedTuple):
    """Rows of a row group; `ends`: they are its last that are read; `whole`: all it has.

    `in_parts`: the row group is read in several parts.
    """

    row_group: int
    rows: Ranges
    ends: bool = True
    whole: bool = False
    in_parts: bool = False


class Part(NamedTuple):
    """Segments of one file, in the order in which they are handed out; each its own row group."""

    file: int
    segments: tuple[Segment, ...]
    decoded_bytes: int

    @property
    def num_rows(self) -> int:
        """Of all segments."""
        return sum(length(segment.rows) for segment in self.segments)

    @property
    def rows(self) -> dict[int, Ranges]:
        """What is read, in file order."""
        return {segment.row_group: segment.rows for segment in sorted(self.segments)}

    @property
    def row_groups(self) -> range | None:
        """What it is if these are consecutive whole row groups, in whatever order."""
        numbers = [segment.row_group for segment in self.segments if segment.whole]
        first, last = min(numbers, default=0), max(numbers, default=-1)
        is_all = len(numbers) == len(self.segments) == last + 1 - first
        return range(first, last + 1) if is_all else None

    def one_by_one(self) -> list[Part]:
        """A part of each segment."""
        return [self._replace(segments=(segment,)) for segment in self.segments]

    def spans(self) -> list[tuple[int, int, bool]]:
        """Of each segment (start, stop) in the part's rows, and whether it ends its row group."""
        starts, row = {}, 0
        for row_group, ranges in self.rows.items():
            starts[row_group] = row
            row += length(ranges)
        found = []
        for segment in self.segments:
            start = starts[segment.row_group]
            found.append((start, start + length(segment.rows), segment.ends))
        return found


def parts(
    row_groups: Iterable[RowGroup],
    num_leaves: int,
    most_bytes: int,
    skip_rows: int = 0,
    is_divisible: Callable[[RowGroup], bool] = lambda _: True,
) -> Iterator[Part]:
    """Parts of at most `most_bytes` decoded, where rows can be parted that far.

    `skip_rows` of the first row group are left out. `is_divisible`: whether some rows of a row
    group can be read without the others.
    """
    pending: list[RowGroup] = []
    pending_bytes, target = 0, FIRST_BYTES

    def together() -> Part:
        segments = tuple(Segment(each.row_group, each.rows, whole=each.whole) for each in pending)
        return Part(pending[0].file, segments, pending_bytes)

    for at, row_group in enumerate(row_groups):
        group = _without(row_group, skip_rows) if at == 0 and skip_rows else row_group
        total = pending_bytes + group.decoded_bytes
        fits = total <= min(target, most_bytes) and (len(pending) + 1) * num_leaves <= PART_CHUNKS
        if pending and (group.file != pending[0].file or not fits):
            yield together()
            pending, pending_bytes = [], 0
            target = min(2 * target, PART_BYTES)
        if group.decoded_bytes > most_bytes and is_divisible(group):
            yield from _split(group, most_bytes)
            continue
        pending.append(group)
        pending_bytes += group.decoded_bytes
    if pending:
        yield together()


def lanes(root_bytes: Sequence[float]) -> list[int]:
    """Where lanes begin: consecutive root columns that are read together, since they are small.

    `root_bytes`: decoded, of each in a part. A lane has its own window, and takes a native call
    for each part.
    """
    least = max(LANE_BYTES, sum(root_bytes) / MOST_LANES)
    begins, filled = [0], 0.0
    for at, size in enumerate(root_bytes):
        if filled >= least or (filled and size >= least):
            begins.append(at)
            filled = 0.0
        filled += size
    return begins


def _split(group: RowGroup, most_bytes: int) -> Iterator[Part]:
    num_rows = length(group.rows)
    count = min(-(-group.decoded_bytes // most_bytes), num_rows)
    bounds = [num_rows * at // count for at in range(count + 1)]
    for start, stop in pairwise(bounds):
        rows = cut(group.rows, start, stop)
        segment = Segment(group.row_group, rows, stop == num_rows, in_parts=True)
        yield Part(group.file, (segment,), group.decoded_bytes * (stop - start) // num_rows)


def _without(group: RowGroup, rows: int) -> RowGroup:
    num_rows = length(group.rows)
    left = cut(group.rows, rows, num_rows)
    left_bytes = group.decoded_bytes * length(left) // num_rows
    return group._replace(rows=left, decoded_bytes=left_bytes, whole=False)
