"""Wanted byte ranges to requests. Pure: no I/O, no clock."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from pqlab.plan.policy import IOPolicy
from pqlab.plan.ranges import Range, Ranges


def coalesce(wanted: Iterable[Range], policy: IOPolicy) -> Ranges:
    """The requests that fetch the half-open byte ranges `wanted`: sorted and disjoint.

    - Every wanted byte lies in exactly one request; a request begins and ends with a wanted byte.
    - No request is longer than `max_request_bytes`, and none has a gap longer than `gap_bytes`.
    - A wanted range that overlaps no other and is no longer than `max_request_bytes` lies within
      one request. A longer one is split into requests of equal length, to a byte; nothing else
      joins those.
    - The order of `wanted`, empty ranges and overlaps in it make no difference.
    """
    requests: list[Range] = []
    joinable = False
    for start, stop in _without_overlaps(wanted):
        if stop - start > policy.max_request_bytes:
            requests += _split(start, stop, policy.max_request_bytes)
            joinable = False
            continue
        if joinable:
            first, last = requests[-1]
            if start - last <= policy.gap_bytes and stop - first <= policy.max_request_bytes:
                requests[-1] = (first, stop)
                continue
        requests.append((start, stop))
        joinable = True
    return tuple(requests)


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
