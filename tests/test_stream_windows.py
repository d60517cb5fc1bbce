"""The windows' policy against simulated readers and consumers: no thread, no clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, repeat

import pytest

from pqlab.stream.windows import LARGEST, SLACK, Asked, Window, after, short_of_memory
from pqlab.trace import Prefetch, WindowReason

MS = 1_000_000

Ready = Callable[[int, int], int]  # (unit, when it was begun) to when it is ready


def latency(ms: float) -> Ready:
    """Any number of units at once, each so long after it was begun."""
    return lambda _, begun: begun + int(ms * MS)


class OneAfterTheOther:
    """A machine that is busy with one unit at a time."""

    def __init__(self, ms: float) -> None:
        self.cost, self.free_at, self.busy = int(ms * MS), 0, 0

    def __call__(self, _: int, begun: int) -> int:
        self.free_at = max(self.free_at, begun) + self.cost
        self.busy += self.cost
        return self.free_at


def simulate(
    ready_at: Ready,
    thinks_ms: Iterator[float],
    asks: int,
    window: Window | None = None,
    latency_ms: float = 0,
) -> tuple[list[int], list[int]]:
    """The sizes of the window over the asks, and the stalls in ns. `latency_ms`: as it is told."""
    window = window or Window(1)
    now, asked_before, busy_before = 0, 0, 0
    ready: list[int] = []
    sizes, stalls = [], []
    for unit in range(asks):
        begun_before = len(ready)
        while len(ready) <= unit + window.size:
            ready.append(ready_at(len(ready), now))
        late = unit < begun_before
        stall = max(ready[unit] - now, 0)
        found = Prefetch.READY if not stall else Prefetch.LATE if late else Prefetch.QUEUE_EMPTY
        now += stall
        busy = 0.0
        if isinstance(ready_at, OneAfterTheOther):
            done = ready_at.busy - max(ready_at.free_at - now, 0)
            busy, busy_before = (done - busy_before) / max(now - asked_before, 1), done
        ahead = sum(1 for at in ready[unit + 1 :] if at <= now)
        if unit:
            since = now - asked_before
            asked = Asked(found, stall, since, since - stall, ahead, busy, int(latency_ms * MS))
            window = after(window, asked)
        asked_before = now
        sizes.append(window.size)
        stalls.append(stall)
        now += int(next(thinks_ms) * MS)
        while len(ready) <= unit + window.size:
            ready.append(ready_at(len(ready), now))
    return sizes, stalls


def test_latency_is_hidden_by_a_window_as_long_as_it() -> None:
    sizes, stalls = simulate(latency(20), repeat(1), 200)
    assert 16 <= max(sizes) <= LARGEST
    assert sum(stalls[100:]) == 0


def test_a_latency_that_is_known_is_hidden_after_one_miss() -> None:
    sizes, stalls = simulate(latency(20), repeat(1), 100, latency_ms=20)
    # Of the first ask, of the miss, and of what was begun with it.
    assert sum(stalls) <= 3 * 20 * MS
    assert 20 <= max(sizes) <= 22


def test_a_machine_that_is_busy_throughout_gets_no_more_to_do_than_bridges_pauses() -> None:
    sizes, stalls = simulate(OneAfterTheOther(5), repeat(0.1), 200)
    assert max(sizes) == SLACK
    assert min(stalls[1:]) > 0  # each was a miss, which no window would have mended


def test_a_pause_is_bridged_before_there_was_one() -> None:
    pauses = cycle([0.1] * 4 + [60])
    _, stalls = simulate(OneAfterTheOther(10), pauses, 10)
    assert sum(stalls[5:]) == 0  # those of the second burst were read in the first pause


def test_a_larger_window_that_does_not_help_is_the_last_for_a_while() -> None:
    # A source that gives a unit every 5 ms, however many are asked for, while workers idle.
    source = OneAfterTheOther(5)
    sizes, _ = simulate(source.__call__, repeat(0.1), 80)
    assert max(sizes) <= 2 * SLACK
    assert sizes[-1] == SLACK


def test_a_slow_consumer_gives_back_what_it_does_not_need() -> None:
    sizes, stalls = simulate(latency(1), repeat(50), 300, Window(32))
    assert sizes[-1] == 1
    assert sum(stalls[1:]) == 0
    assert sizes == sorted(sizes, reverse=True)


def test_a_consumer_that_comes_in_bursts_keeps_what_bridges_them() -> None:
    bursts = cycle([0.1] * 7 + [100])
    machine = OneAfterTheOther(10)
    sizes, stalls = simulate(machine, bursts, 400)
    assert 4 <= sizes[-1] <= 16
    # Reading alone takes 80 ms of each burst's 101: what is left to wait for is little.
    assert sum(stalls[200:]) < 0.15 * 200 / 8 * 80 * MS


@pytest.mark.parametrize("kind", [Prefetch.LATE, Prefetch.QUEUE_EMPTY])
def test_the_kind_of_miss_is_why_the_window_grew(kind: Prefetch) -> None:
    grown = after(Window(2), Asked(kind, 10 * MS, 20 * MS, 10 * MS, 0, 0.1))
    assert (grown.size, grown.why) == (4, WindowReason[kind.name])


def test_a_short_stall_is_not_worth_a_larger_window() -> None:
    asked = Asked(Prefetch.LATE, MS // 10, 20 * MS, 19 * MS, 0, 0.0)
    assert after(Window(2, asks=5), asked).size == 2


def test_windows_grow_to_the_largest_and_no_further() -> None:
    window = Window(LARGEST, asks=1000)
    for latency_ns in (0, 1000 * MS):
        asked = Asked(Prefetch.LATE, 10 * MS, 11 * MS, MS, 0, 0.0, latency_ns)
        assert after(window, asked).size == LARGEST


def test_memory_cuts_a_window_and_says_so() -> None:
    cut = short_of_memory(Window(8), 3)
    assert (cut.size, cut.why) == (3, WindowReason.MEMORY)
    assert short_of_memory(Window(8), 8).size == 8
    assert short_of_memory(Window(8), 0).size == 1
