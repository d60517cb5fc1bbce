"""Threads that fetch: shared by all reads, since starting one takes as long as a short request."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from pqlab.io.waiting import result_of

_THREADS = 128
Result = TypeVar("Result")

_pool: ThreadPoolExecutor | None = None
_lock = threading.Lock()


class Crew:
    """Up to `size` of the shared threads at work on the tasks of one read, in their order."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._tasks: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._working = 0

    def submit(self, task: Callable[[], Result]) -> Future[Result]:
        """Have the task done."""
        future: Future[Result] = Future()
        with self._lock:
            self._tasks.append((future, task))
            one_more = self._working < self._size
            self._working += one_more
        if one_more:
            _shared().submit(self._work)
        return future

    def dismiss(self) -> None:
        """Drop the tasks that nobody has begun; those under way end by themselves."""
        with self._lock:
            dropped = [future for future, _ in self._tasks]
            self._tasks.clear()
        for future in dropped:
            future.cancel()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._tasks:
                    self._working -= 1
                    return
                future, task = self._tasks.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = task()
            except BaseException as error:  # noqa: BLE001  # it goes to who asked for the result
                future.set_exception(error)
            else:
                future.set_result(result)


def aside(task: Callable[[], Result]) -> Result:
    """The task's result; in the main thread, which signals come to, an interrupt ends the wait.

    What another thread does for it then ends by itself.
    """
    if threading.current_thread() is not threading.main_thread():
        return task()
    return result_of(_shared().submit(task))


def _shared() -> ThreadPoolExecutor:
    global _pool  # noqa: PLW0603  # made when it is first needed
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="pqlab-fetch")
        return _pool


def _after_fork() -> None:
    global _pool, _lock  # the child has none of the threads
    _pool, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
