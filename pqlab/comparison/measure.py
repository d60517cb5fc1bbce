"""Work run in rounds, each piece once a round in random order: what slows one slows all."""

from __future__ import annotations

import gc
import hashlib
import random
import resource
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeAlias

QUIET = 1.2  # two spinning threads may take so many times as long as one
MIN_RUN_NS = 2_000_000  # what is faster is called several times a run

Work: TypeAlias = Mapping[str, Callable[[], object]]
Clock: TypeAlias = Callable[[], int]


@dataclass(frozen=True, slots=True)
class Sample:
    """What one call took. User and system time are of all threads of this process."""

    wall_ms: float
    user_ms: float
    system_ms: float
    page_faults: float


def run(
    work: Callable[[], object], *, calls: int = 1, clock: Clock = time.perf_counter_ns
) -> Sample:
    """Run so many times; what it took on average.

    What the last call returns is dropped behind the clock, what others return by the call after.
    """
    result: object = None
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = clock()
    for _ in range(calls):
        result = work()
    wall = clock() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    del result
    return Sample(
        wall / 1e6 / calls,
        (after.ru_utime - before.ru_utime) * 1e3 / calls,
        (after.ru_stime - before.ru_stime) * 1e3 / calls,
        (after.ru_minflt - before.ru_minflt) / calls,
    )


def rounds(
    work: Work,
    *,
    calls: Mapping[str, int] | None = None,
    seed: int = 0,
    clock: Clock = time.perf_counter_ns,
    before_each: Callable[[], object] = lambda: None,
) -> Iterator[dict[str, Sample]]:
    """Round after round, for as long as it is asked for: each piece once, in random order.

    The dict of a round is in the order in which the pieces ran. Garbage is collected before a
    round, and not within. `calls`: of one run, by piece. `before_each` is called
    before a run's clock starts.
    """
    rng = random.Random(seed)  # noqa: S311  # an order, not a secret
    many = calls or {}
    gc.collect()
    while True:
        taken = {}
        with _without_gc():
            for name in rng.sample(list(work), len(work)):
                before_each()
                with _told(f"raised by {name!r}"):
                    taken[name] = run(work[name], calls=many.get(name, 1), clock=clock)
        yield taken


def calls_per_run(once: Sample) -> int:
    """How often to call what took that long once, so that a run takes long enough to be timed."""
    return max(1, int(MIN_RUN_NS / 1e6 / max(once.wall_ms, 1e-5)))


def spin_probe(repeats: int = 3) -> float:
    """How many times as long two threads take for what one thread does, each for itself."""
    data = bytes(1 << 20)

    def spin() -> None:
        for _ in range(60):
            hashlib.sha256(data).digest()  # without the interpreter's lock

    def elapsed(count: int) -> float:
        threads = [threading.Thread(target=spin) for _ in range(count)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - start

    return median(elapsed(2) / elapsed(1) for _ in range(repeats))


@contextmanager
def _without_gc() -> Iterator[None]:
    gc.collect(0)  # what the last round left: nothing was collected, nor grew older, in it
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _told(note: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        error.add_note(note)
        raise


def equal_results(one: Any, other: Any) -> bool:
    """Whether two results are equal: by `equals` where they have it, as frames do, else by ==."""
    equals = getattr(one, "equals", None)
    return bool(equals(other) if callable(equals) else one == other)
