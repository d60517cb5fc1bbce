"""Several files at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def each(
    concurrency: int, function: Callable[[Item], Result], items: Iterable[Item]
) -> list[Result]:
    """The results in order; the first error stops what has not begun.

    A trace that is recorded into here is recorded into there, too.
    """
    with ThreadPoolExecutor(concurrency) as pool:
        futures = [pool.submit(copy_context().run, function, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
