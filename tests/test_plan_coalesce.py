from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings, strategies as st

from pqlab.plan.coalesce import coalesce
from pqlab.plan.policy import IOPolicy
from pqlab.plan.ranges import intersect, length, union

ranges = st.lists(
    st.tuples(st.integers(0, 300), st.integers(0, 60)).map(lambda r: (r[0], r[0] + r[1]))
)


def members(given_ranges: object) -> set[int]:
    return {number for start, stop in given_ranges for number in range(start, stop)}  # type: ignore[attr-defined]


def is_sorted_and_disjoint(found: tuple[tuple[int, int], ...]) -> bool:
    return all(start < stop for start, stop in found) and all(
        left[1] <= right[0] for left, right in itertools.pairwise(found)
    )


@settings(max_examples=500, derandomize=True, deadline=None)
@given(ranges, st.integers(0, 40), st.integers(1, 100), st.randoms())
def test_the_contract(wanted: list[tuple[int, int]], gap: int, most: int, random: object) -> None:
    policy = IOPolicy(gap_bytes=gap, max_request_bytes=most)
    requests = coalesce(wanted, policy)
    needed = members(wanted)
    assert is_sorted_and_disjoint(requests)
    assert needed <= members(requests)
    for start, stop in requests:
        assert stop - start <= most
        assert start in needed
        assert stop - 1 in needed
        missing = [number not in needed for number in range(start, stop)]
        longest = max(len(run) for run in "".join(" x"[gap_] for gap_ in missing).split(" "))
        assert longest <= gap
    alone = [
        wish
        for wish in set(wanted)
        if wish[0] < wish[1]
        and not any(
            other != wish and max(other[0], wish[0]) < min(other[1], wish[1]) for other in wanted
        )
    ]
    for start, stop in alone:
        parts = [part for part in requests if part[0] < stop and start < part[1]]
        if stop - start <= most:
            assert len(parts) == 1
        else:
            sizes = [part[1] - part[0] for part in parts]
            assert (parts[0][0], parts[-1][1]) == (start, stop)
            assert len(parts) == -(-(stop - start) // most)
            assert max(sizes) - min(sizes) <= 1
    shuffled = list(wanted)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert coalesce(shuffled, policy) == requests


def test_requests_join_when_they_can() -> None:
    policy = IOPolicy(gap_bytes=10, max_request_bytes=100)
    assert coalesce([(0, 40), (50, 90)], policy) == ((0, 90),)
    assert coalesce([(0, 40), (51, 90)], policy) == ((0, 40), (51, 90))
    assert coalesce([(0, 60), (60, 120)], policy) == ((0, 60), (60, 120))
    assert coalesce([(0, 250)], policy) == ((0, 83), (83, 166), (166, 250))
    assert coalesce([], policy) == ()


@settings(max_examples=300, derandomize=True, deadline=None)
@given(ranges, ranges)
def test_ranges_are_sets(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    joined = union(left)
    assert is_sorted_and_disjoint(joined)
    assert members(joined) == members(left)
    assert all(first[1] < second[0] for first, second in itertools.pairwise(joined))
    common = intersect(joined, union(right))
    assert is_sorted_and_disjoint(common)
    assert members(common) == members(left) & members(right)
    assert length(common) == len(members(common))


@pytest.mark.parametrize(
    "name", ["gap_bytes", "max_request_bytes", "concurrency", "window_bytes", "footer_guess_bytes"]
)
def test_policies_that_cannot_work(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is -1"):
        IOPolicy(**{name: -1})  # type: ignore[arg-type]  # none of them is the text
