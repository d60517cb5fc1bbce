"""A read that does not fit the device's memory: by rows, in as many parts as it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pqlab.errors import EngineError
from pqlab.gpu.device import OutOfDeviceMemoryError
from pqlab.plan.plan import Plan
from pqlab.plan.ranges import Ranges, cut, length

_Result = TypeVar("_Result")

_GAIN = 0.9  # a half that needs more than this share of the whole is no help


def read_in_parts(
    plan: Plan,
    read: Callable[[Plan], _Result],
    plan_of: Callable[[dict[int, Ranges]], Plan],
    needed_bytes: int | None = None,
) -> list[_Result]:
    """What `read` gives of the plan, or of its rows in parts that fit, in order.

    `plan_of`: of rows by row group. `needed_bytes`: what twice as many rows needed. Raises
    `EngineError` where a row does not fit, or fewer rows need no less.
    """
    try:
        return [read(plan)]
    except OutOfDeviceMemoryError as error:
        needed = error.needed_bytes
        saves = needed is None or needed_bytes is None or needed < _GAIN * needed_bytes
        if plan.num_rows < 2 or not saves:
            raise EngineError(
                f"the device has too little memory: {error}",
                hint='Read fewer columns at a time, or with engine="cpu"',
            ) from None
        reason = needed
    found: list[_Result] = []
    for rows in halves({each.row_group: each.rows for each in plan.row_groups}):
        found += read_in_parts(plan_of(rows), read, plan_of, reason)
    return found


def halves(rows: dict[int, Ranges]) -> Sequence[dict[int, Ranges]]:
    """The first half of the rows and the others, by row group."""
    middle = sum(map(length, rows.values())) // 2
    first: dict[int, Ranges] = {}
    second: dict[int, Ranges] = {}
    before = 0
    for row_group, ranges in rows.items():
        count = length(ranges)
        at = min(max(middle - before, 0), count)
        for into, part in ((first, cut(ranges, 0, at)), (second, cut(ranges, at, count))):
            if part:
                into[row_group] = part
        before += count
    return first, second
