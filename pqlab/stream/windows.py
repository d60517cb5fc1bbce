"""How far ahead of the consumer each column is read: windows that follow what it finds.

Pure: no I/O, no clock. A unit is what is read of a column at a time, a chunk or a run of pages.
"""

from __future__ import annotations

from typing import NamedTuple

from pqlab.trace import Prefetch, WindowReason

LARGEST = 64  # units
LARGEST_NEAR = 10  # of a source that workers do not wait for: more would only take memory
SLACK = 5  # units: what bridges a consumer's pauses, which nothing tells of before the first

_BUSY = 0.85  # of the workers' time: with less to spare, more in flight would only wait
_WAITING = 0.5  # of the workers' time: with more to spare, it is the source that they wait for
_NOTICEABLE = 0.03  # of the time between two asks: a shorter stall is not worth a larger window
_IMPROVED = 0.9  # of the stall before: a larger window that gains less was not what was missing
_PATIENCE = 16  # windows' worth of asks until a larger one is tried again, twice as many each time
_MEMORY = 0.97  # an ask ago counts so much: bursts and the time between them are seen together


class Asked(NamedTuple):
    """What the consumer found when it asked for a unit. Times in ns.

    `since_ns`: from its ask before until it had this unit, and those of other columns; `own_ns` of
    that it did something else. `ready_ahead`: units behind this one
    that were ready, too. `busy`: the share of the workers' time, since the ask before, in which
    they had something to do. `latency_ns`: from when it was begun until it was there, if that is
    the source's time and not the workers'; else 0.
    """

    prefetch: Prefetch
    stall_ns: int
    since_ns: int
    own_ns: int
    ready_ahead: int
    busy: float
    latency_ns: int = 0

    @property
    def missing(self) -> int:
        """Asks of such a consumer that go by while a unit is awaited from the source."""
        return -(-self.latency_ns // max(self.own_ns, 1))


class Window(NamedTuple):
    """Units ahead of the one that the consumer holds or asks for; and what was seen with it.

    `why` it has its size. `asks` count since then; `stall_ns` of those that it could bear on;
    `idle`: the fewest units that were ready ahead. `tried_ns`: the stall of a mean ask before it
    was made larger, None if it was not. It grows after `wait` asks at the soonest. `busy_ns` of
    `elapsed_ns` workers had something to do, the further ago the less of it.
    """

    size: int
    why: WindowReason = WindowReason.START
    asks: int = 0
    stall_ns: int = 0
    idle: int = LARGEST
    tried_ns: float | None = None
    wait: int = 0
    busy_ns: float = 0.0
    elapsed_ns: float = 0.0

    @property
    def mean_stall_ns(self) -> float:
        """The stall of a mean ask with this window."""
        return self.stall_ns / max(self.asks - self.size // 2, 1)


def after(window: Window, asked: Asked) -> Window:
    """The window once the consumer has asked."""
    # What the first asks find was begun with the window before.
    counts = window.asks >= window.size // 2
    seen = window._replace(
        asks=window.asks + 1,
        stall_ns=window.stall_ns + (asked.stall_ns if counts else 0),
        idle=min(window.idle, asked.ready_ahead),
        busy_ns=_MEMORY * window.busy_ns + asked.busy * asked.since_ns,
        elapsed_ns=_MEMORY * window.elapsed_ns + asked.since_ns,
    )
    if asked.prefetch is not Prefetch.READY:
        return _after_miss(seen, asked)
    # Some of the window was ready whenever the consumer asked: a smaller one does as well. It is
    # given up slowly, since a consumer that comes in bursts needs what lies idle in between.
    if seen.idle >= 1 and seen.size > 1 and seen.asks >= 8 + 2 * seen.size:
        return _resized(seen, seen.size - max(1, seen.idle // 2), WindowReason.IDLE)
    return seen


def short_of_memory(window: Window, size: int) -> Window:
    """The window cut to what memory allows."""
    if size >= window.size:
        return window
    return _resized(window, max(size, 1), WindowReason.MEMORY)


def _after_miss(seen: Window, asked: Asked) -> Window:
    is_short = asked.stall_ns <= _NOTICEABLE * asked.since_ns
    if not is_short and seen.size < max(SLACK, min(asked.missing, LARGEST)):
        # Workers that are busy do no more for it; but when the consumer pauses, they go on.
        size = max(min(max(2 * seen.size, 1), SLACK), min(asked.missing, LARGEST))
        return _resized(seen, size, WindowReason[asked.prefetch.name])
    if seen.asks < seen.size:
        return seen
    if seen.tried_ns is not None and seen.mean_stall_ns > _IMPROVED * seen.tried_ns:
        if seen.asks < 8 + 2 * seen.size:
            return seen
        smaller = _resized(seen, max(seen.size // 2, SLACK), WindowReason.NO_GAIN)
        return smaller._replace(wait=max(2 * seen.wait, _PATIENCE * seen.size))
    is_busy = seen.busy_ns > _BUSY * seen.elapsed_ns
    is_far = asked.latency_ns > 0 or seen.busy_ns < _WAITING * seen.elapsed_ns
    largest = LARGEST if is_far else LARGEST_NEAR
    if is_busy or is_short or seen.asks < seen.wait or seen.size >= largest:
        return seen
    larger = _resized(seen, min(2 * seen.size, largest), WindowReason[asked.prefetch.name])
    return larger._replace(tried_ns=seen.mean_stall_ns, wait=seen.wait)


def _resized(seen: Window, size: int, why: WindowReason) -> Window:
    """Another size, with which what is seen begins anew."""
    return Window(size, why, busy_ns=seen.busy_ns, elapsed_ns=seen.elapsed_ns)
