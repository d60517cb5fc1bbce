"""Wanted byte ranges to requests. Pure: no I/O, no clock."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from pqlab.plan.policy import IOPolicy
from pqlab.plan.ranges import Range, Ranges, length


def coalesce(wanted: Iterable[Range], policy: IOPolicy, *, allowance_bytes: int = 0) -> Ranges:
    """The requests that fetch the half-open byte ranges `wanted`: sorted and disjoint.

    - Every wanted byte lies in exactly one request; a request begins and ends with a wanted byte.
    - No request is longer than `max_request_bytes`, and none has a gap longer than `gap_bytes`.
    - Gaps are fetched from the smallest on, which makes the fewest requests: all in all up to
      `overread_share` of the wanted bytes or `allowance_bytes`, whichever is more; beyond that as
      long as there are more requests than `concurrency`.
    - A wanted range that overlaps no other lies within one request, unless it is longer than
      `max_request_bytes`, or longer than `split_bytes` while connections are idle. Then it is
      split into requests of equal length, to a byte; nothing else joins those.
    - The order of `wanted`, empty ranges and overlaps in it make no difference.
    """
    ranges = _without_overlaps(wanted)
    wanted_bytes = length(ranges)
    most_bytes = _longest_request(wanted_bytes, policy)
    budget_bytes = max(int(policy.overread_share * wanted_bytes), allowance_bytes)
    firsts = _first_of_each(ranges, most_bytes, budget_bytes, policy)
    requests: list[Range] = []
    for first, after in pairwise([*firsts, len(ranges)]):
        start, stop = ranges[first][0], ranges[after - 1][1]
        requests += (
            _split(start, stop, most_bytes) if stop - start > most_bytes else [(start, stop)]
        )
    return tuple(requests)


def _longest_request(wanted_bytes: int, policy: IOPolicy) -> int:
    """So long that all connections have work, within what the policy allows."""
    share_bytes = -(-wanted_bytes // policy.concurrency)
    split_bytes = min(policy.split_bytes, policy.max_request_bytes)
    return min(max(share_bytes, split_bytes), policy.max_request_bytes)


def _first_of_each(
    ranges: list[Range], most_bytes: int, budget_bytes: int, policy: IOPolicy
) -> list[int]:
    """The positions in `ranges` at which requests begin; longer ranges than those stay alone."""
    gaps = sorted(
        (right[0] - left[1], at)
        for at, (left, right) in enumerate(pairwise(ranges), 1)
        if right[0] - left[1] <= policy.gap_bytes
    )
    # The first and the last range of the request that each range is the last or the first of.
    first = list(range(len(ranges)))
    last = list(range(len(ranges)))
    joined = [False] * len(ranges)  # to the range before
    count = len(ranges)
    for gap, at in gaps:
        if gap > budget_bytes and count <= policy.concurrency:
            break
        begin, end = first[at - 1], last[at]
        if ranges[end][1] - ranges[begin][0] > most_bytes:
            continue
        joined[at] = True
        last[begin], first[end] = end, begin
        budget_bytes -= gap
        count -= 1
    return [at for at in range(len(ranges)) if not joined[at]]


def _without_overlaps(ranges: Iterable[Range]) -> list[Range]:
    # Unlike `ranges.union`, ranges that only touch stay apart: they may go in separate requests.
    merged: list[Range] = []
    for start, stop in sorted(ranges):
        if start >= stop:
            continue
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return merged


def _split(start: int, stop: int, max_bytes: int) -> list[Range]:
    parts = -(-(stop - start) // max_bytes)
    cuts = [start + (stop - start) * part // parts for part in range(parts + 1)]
    return list(pairwise(cuts))
