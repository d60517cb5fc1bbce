"""What iterations are cut into, as values."""

from __future__ import annotations

import random

import pytest

from pqlab.plan.ranges import cut, length
from pqlab.stream.parts import (
    FIRST_BYTES,
    LANE_BYTES,
    MOST_LANES,
    PART_BYTES,
    PART_CHUNKS,
    RowGroup,
    lanes,
    parts,
)

LOTS = 1 << 40


def groups(sizes: list[int], rows: int = 100, file: int = 0) -> list[RowGroup]:
    return [RowGroup(file, at, ((0, rows),), size) for at, size in enumerate(sizes)]


def test_small_row_groups_go_together_in_growing_parts() -> None:
    made = list(parts(groups([1000] * 20_000), 1, LOTS))
    counts = [len(part.segments) for part in made]
    assert counts[0] * 1000 <= FIRST_BYTES
    assert counts[:-1] == sorted(counts[:-1])
    assert max(part.decoded_bytes for part in made) <= PART_BYTES
    assert len(made) < 50
    assert [s.row_group for part in made for s in part.segments] == list(range(20_000))


def test_parts_of_wide_files_are_bounded_by_chunks() -> None:
    made = list(parts(groups([10] * 100), 1000, LOTS))
    assert max(len(part.segments) for part in made) == PART_CHUNKS // 1000


def test_large_row_groups_are_parts_of_their_own() -> None:
    made = list(parts(groups([PART_BYTES] * 5), 3, LOTS))
    assert [len(part.segments) for part in made] == [1] * 5


def test_a_part_is_of_one_file() -> None:
    made = list(parts([*groups([10] * 3), *groups([10] * 3, file=1)], 1, LOTS))
    assert [(part.file, len(part.segments)) for part in made] == [(0, 3), (1, 3)]


def test_what_memory_does_not_allow_for_is_split_by_rows() -> None:
    made = list(parts(groups([1000, 10]), 1, 300))
    assert [part.segments[0].rows for part in made] == [
        ((0, 25),), ((25, 50),), ((50, 75),), ((75, 100),), ((0, 100),)
    ]  # fmt: skip
    assert [part.segments[0].ends for part in made] == [False, False, False, True, True]
    assert max(part.decoded_bytes for part in made) <= 300


def test_a_row_is_not_split() -> None:
    made = list(parts(groups([1000], rows=2), 1, 1))
    assert [part.segments[0].rows for part in made] == [((0, 1),), ((1, 2),)]


def test_rows_that_were_handed_out_before_are_skipped() -> None:
    made = list(parts(groups([10, 10]), 1, LOTS, skip_rows=40))
    assert made[0].segments[0].rows == ((40, 100),)
    assert made[0].segments[1].rows == ((0, 100),)


def test_segments_in_another_order_lie_where_their_row_groups_are_decoded() -> None:
    shuffled = [RowGroup(0, at, ((0, 10 * (at + 1)),), 10) for at in (2, 0, 1)]
    (part,) = parts(shuffled, 1, LOTS)
    assert list(part.rows) == [0, 1, 2]
    assert part.num_rows == 60
    assert part.spans() == [(30, 60, True), (0, 10, True), (10, 30, True)]


@pytest.mark.parametrize("seed", range(20))
def test_cut_takes_rows_by_position(seed: int) -> None:
    random.seed(seed)
    bounds = sorted(random.sample(range(200), 10))
    ranges = tuple(zip(bounds[::2], bounds[1::2], strict=True))
    rows = [row for start, stop in ranges for row in range(start, stop)]
    start, stop = sorted(random.choices(range(len(rows) + 1), k=2))
    found = cut(ranges, start, stop)
    assert [row for first, last in found for row in range(first, last)] == rows[start:stop]
    assert length(found) == stop - start


def test_lanes_join_small_columns_and_leave_large_ones_alone() -> None:
    assert lanes([LANE_BYTES] * 5) == [0, 1, 2, 3, 4]
    assert lanes([1] * 100) == [0]
    assert lanes([1, 1, LANE_BYTES, 1, 1, LANE_BYTES * 2]) == [0, 2, 3, 5]
    assert lanes([]) == [0]
    assert len(lanes([LANE_BYTES] * 10_000)) <= MOST_LANES
