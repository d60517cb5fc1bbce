"""`pqlab.compare`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pqlab.comparison.estimate import MIN_VALUES
from pqlab.comparison.measure import (
    Clock,
    calls_per_run,
    equal_results,
    rounds,
    run,
    spin_probe,
)
from pqlab.comparison.result import Comparison, Pair


def compare(
    a: Callable[[], Any],
    b: Callable[[], Any],
    *,
    seconds: float = 10,
    min_pairs: int = 7,
    matters: float = 0.01,
    equal: bool | Callable[[Any, Any], bool] = False,
    names: tuple[str, str] = ("a", "b"),
    seed: int = 0,
) -> Comparison:
    """Measure whether `b` is faster or slower than `a`: in pairs, in random order within each.

    Both are called once to warm up, then in turns for about `seconds`, and at least `min_pairs`
    times each, however long that takes. What takes less than 2 ms is called several times a run.
    `matters`: a ratio closer to 1 than that makes no difference to anyone. `equal=True`: what they
    return must be equal, or `equal(result of a, result of b)` true. `seed` is of the order and of
    the bootstrap.

    Raises ValueError for results that differ, and what `a` and `b` raise, with a note which it was.
    """
    if min_pairs < MIN_VALUES:
        raise ValueError(f"min_pairs is {MIN_VALUES} or more: fewer give no interval of 95 %")
    if not 0 <= matters < 1:
        raise ValueError(f"matters is a part of 1, as 0.01, not {matters!r}")
    if names[0] == names[1]:
        raise ValueError(f"names are two, not {names[0]!r} twice")
    if equal:
        same = equal if callable(equal) else equal_results
        if not same(a(), b()):
            raise ValueError(f"{names[0]} and {names[1]} return different results")
    quiet_before = spin_probe(1)
    pairs = measure_pairs(
        a, b, seconds=seconds, min_pairs=min_pairs, names=names, seed=seed,
        clock=time.perf_counter_ns,
    )  # fmt: skip
    return Comparison.of(
        names, pairs, matters=matters, seed=seed, spin=(quiet_before, spin_probe(1))
    )


def measure_pairs(
    a: Callable[[], Any],
    b: Callable[[], Any],
    *,
    seconds: float,
    min_pairs: int,
    names: tuple[str, str],
    seed: int,
    clock: Clock,
) -> list[Pair]:
    """The pairs: warmed up, for so many seconds of `clock`, and at least so many."""
    work = dict(zip(names, (a, b), strict=True))
    for _ in range(2):  # the first calls load, compile and fill caches; the second ones are counted
        calls = {name: calls_per_run(run(one, clock=clock)) for name, one in work.items()}
    stop_ns = clock() + seconds * 1e9
    pairs: list[Pair] = []
    for taken in rounds(work, calls=calls, seed=seed, clock=clock):
        first = next(iter(taken))
        a_ns, b_ns = (taken[name].wall_ms * 1e6 for name in names)
        pairs.append(Pair(first, a_ns, b_ns))
        if len(pairs) >= min_pairs and clock() >= stop_ns:
            return pairs
    raise AssertionError("rounds do not end")
