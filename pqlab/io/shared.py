"""Values shared by every thread of the process: made once, kept while used and a little longer."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar
from weakref import WeakSet, WeakValueDictionary

Value = TypeVar("Value")

_all: WeakSet[Shared[Any]] = WeakSet()


class Shared(Generic[Value]):
    """Values by key: all that somebody holds, and the latest used ones up to `max_bytes`."""

    def __init__(self, max_bytes: int, size_bytes: Callable[[Value], int]) -> None:
        self._max_bytes = max_bytes
        self._size_bytes = size_bytes
        self.clear()
        _all.add(self)

    def clear(self) -> None:
        """Forget every value; those who hold one keep it."""
        self._lock = threading.Lock()
        self._live: WeakValueDictionary[Hashable, Value] = WeakValueDictionary()
        self._turns: WeakValueDictionary[Hashable, threading.Lock] = WeakValueDictionary()
        self._recent: OrderedDict[Hashable, Value] = OrderedDict()  # the latest used last
        self._recent_bytes = 0

    @property
    def recent_bytes(self) -> int:
        """Bytes of the values that are kept whether or not somebody holds them."""
        return self._recent_bytes

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of `key`, made by the first of the threads that ask for it at once.

        An error of `make` goes to that thread alone; the next one tries again.
        """
        with self._lock:
            if (found := self._find(key)) is not None:
                return found
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            with self._lock:
                if (found := self._find(key)) is not None:
                    return found
            value = make()
            with self._lock:
                self._live[key] = value
                self._keep(key, value)
            return value

    def latest(self, matches: Callable[[Hashable], bool]) -> Value | None:
        """The value that was used last of those whose key matches and that are kept; or None."""
        with self._lock:
            kept = [*reversed(self._recent.items()), *self._live.items()]
        return next((value for key, value in kept if matches(key)), None)

    def _find(self, key: Hashable) -> Value | None:
        value = self._live.get(key)
        if value is not None:
            self._keep(key, value)
        return value

    def _keep(self, key: Hashable, value: Value) -> None:
        if key in self._recent:
            self._recent.move_to_end(key)
            return
        size_bytes = self._size_bytes(value)
        if size_bytes > self._max_bytes:
            return
        self._recent[key] = value
        self._recent_bytes += size_bytes
        while self._recent_bytes > self._max_bytes:
            _, oldest = self._recent.popitem(last=False)
            self._recent_bytes -= self._size_bytes(oldest)


def _after_fork() -> None:
    for shared in _all:
        shared.clear()  # a lock may have been held by a thread that the child does not have


os.register_at_fork(after_in_child=_after_fork)
