"""Several files at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from pqlab.io.waiting import results_of

Item = TypeVar("Item")
Result = TypeVar("Result")


def each(
    concurrency: int, function: Callable[[Item], Result], items: Iterable[Item]
) -> list[Result]:
    """The results in order; the first error stops what has not begun.

    A trace that is recorded into here is recorded into there, too.
    """
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="pqlab-files")
    try:
        return results_of([pool.submit(copy_context().run, function, item) for item in items])
    finally:
        # After an error or an interrupt nobody waits for what is under way.
        pool.shutdown(wait=False, cancel_futures=True)
