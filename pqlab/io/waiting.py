"""Waiting for what other threads do, so that Ctrl-C ends it.

Polars handles signals so that the system goes on with a wait that one of them interrupts. Python
looks for signals between waits: these are short.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent import futures
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")

_STEP_S = 0.04


def wait_for(future: Future[Result], until: float | None = None) -> bool:
    """Wait until it is done, or until that time of `time.monotonic`; whether it is done."""
    while not future.done():
        step_s = _STEP_S if until is None else min(_STEP_S, until - time.monotonic())
        if step_s <= 0:
            return False
        futures.wait([future], step_s)
    return True


def result_of(future: Future[Result]) -> Result:
    """Wait, and have the result. Raises what the thread raised."""
    wait_for(future)
    return future.result()


def results_of(running: Sequence[Future[Result]]) -> list[Result]:
    """The results in order; the first error is raised as soon as those before it are there."""
    return [result_of(future) for future in running]
