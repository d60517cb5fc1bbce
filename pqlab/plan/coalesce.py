"""Wanted byte ranges to requests. Pure: no I/O, no clock."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from pqlab.native import _native
from pqlab.plan.policy import IOPolicy
from pqlab.plan.ranges import Range, Ranges

Positions = npt.NDArray[np.int64]


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
    starts, stops = np.array(list(wanted), np.int64).reshape(-1, 2).T
    return coalesce_arrays(starts, stops, policy, allowance_bytes=allowance_bytes)[0]


def coalesce_arrays(
    starts: Positions, stops: Positions, policy: IOPolicy, *, allowance_bytes: int = 0
) -> tuple[Ranges, int]:
    """`coalesce` of ranges given as arrays, and how many bytes are wanted, each counted once."""
    return _native.coalesce(starts, stops, coalescing(policy, allowance_bytes))


def coalescing(policy: IOPolicy, allowance_bytes: int = 0) -> _native.Coalescing:
    """What of the policy bears on it."""
    return _native.Coalescing(
        gap_bytes=policy.gap_bytes,
        split_bytes=policy.split_bytes,
        max_request_bytes=policy.max_request_bytes,
        overread_share=policy.overread_share,
        allowance_bytes=allowance_bytes,
        concurrency=policy.concurrency,
    )
