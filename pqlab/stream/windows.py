"""How far ahead of the consumer each column is read: windows that follow what it finds.

Pure: no I/O, no clock. A unit is what is read of a column at a time, a chunk or a run of pages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pqlab.trace import Prefetch, WindowReason

LARGEST = 64  # units

_BUSY = 0.9  # of the workers' time: with less to spare, more in flight would only wait
_NOTICEABLE = 0.03  # of the time between two asks: a shorter stall is not worth a larger window
_IMPROVED = 0.9  # of the stall before: a larger window that gains less was not what was missing
_PATIENCE = 8  # windows' worth of asks until a larger one is tried again
_MEMORY = 0.97  # an ask ago counts so much: bursts and the time between them are seen together


@dataclass(frozen=True, slots=True)
class Asked:
    """What the consumer found when it asked for a unit. Times in ns.

    `since_ns`: from its ask before until it had this unit. `ready_ahead`: units behind this one
    that were ready, too. `busy`: the share of the workers' time, since the ask before, in which
    they had something to do.
    """

    prefetch: Prefetch
    stall_ns: int
    since_ns: int
    ready_ahead: int
    busy: float


@dataclass(frozen=True, slots=True)
class Window:
    """Units ahead of the one that the consumer holds or asks for; and what was seen with it.

    `why` it has its size. `asks` and `stall_ns` count since then, `idle` is the fewest units that
    were ready ahead; `stall_before_ns`: a mean ask's stall with the window before this, if smaller.
    `busy_ns` of `elapsed_ns` workers had something to do, the further ago the less of it.
    """

    size: int
    why: WindowReason = WindowReason.START
    asks: int = 0
    stall_ns: int = 0
    idle: int = LARGEST
    stall_before_ns: float | None = None
    busy_ns: float = 0.0
    elapsed_ns: float = 0.0

    def resized(self, size: int, why: WindowReason, stall_before_ns: float | None = None) -> Window:
        """Another size, with which what is seen begins anew."""
        return Window(
            size,
            why,
            stall_before_ns=stall_before_ns,
            busy_ns=self.busy_ns,
            elapsed_ns=self.elapsed_ns,
        )

    @property
    def mean_stall_ns(self) -> float:
        """The stall of a mean ask with this window."""
        return self.stall_ns / self.asks if self.asks else 0.0


def after(window: Window, asked: Asked) -> Window:
    """The window once the consumer has asked."""
    seen = replace(
        window,
        asks=window.asks + 1,
        stall_ns=window.stall_ns + asked.stall_ns,
        idle=min(window.idle, asked.ready_ahead),
        busy_ns=_MEMORY * window.busy_ns + asked.busy * asked.since_ns,
        elapsed_ns=_MEMORY * window.elapsed_ns + asked.since_ns,
    )
    if asked.prefetch is not Prefetch.READY:
        return _after_miss(seen, asked)
    # All of a full window was ready whenever the consumer asked: a smaller one does as well. It is
    # given up slowly, since a consumer that comes in bursts needs what lies idle in between.
    if seen.idle >= 1 and seen.size > 1 and seen.asks >= 8 + 2 * seen.size:
        return seen.resized(seen.size - max(1, seen.idle // 2), WindowReason.IDLE)
    return seen


def _after_miss(seen: Window, asked: Asked) -> Window:
    noticeable = asked.stall_ns > _NOTICEABLE * asked.since_ns
    # With a window of n the n-th ask from now is the first that finds what it fetched in time.
    busy = seen.busy_ns > _BUSY * seen.elapsed_ns
    if not noticeable or busy or seen.asks < seen.size or seen.size >= LARGEST:
        return seen
    before = seen.stall_before_ns
    helped = before is None or seen.mean_stall_ns < _IMPROVED * before
    if not helped and seen.asks < _PATIENCE * seen.size:
        return seen
    why = WindowReason[asked.prefetch.name]
    return seen.resized(min(2 * seen.size, LARGEST), why, seen.mean_stall_ns)


def short_of_memory(window: Window, size: int) -> Window:
    """The window cut to what memory allows."""
    if size >= window.size:
        return window
    return window.resized(max(size, 1), WindowReason.MEMORY)
