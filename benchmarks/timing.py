"""How results are measured: side by side, in random order, round by round.

Every piece of work runs once per round, so that what slows the machine slows all of them; compared
are the ratios within rounds. A result is told as the median of those ratios with its bootstrap
interval, beside medians, minima, user and system time, and page faults.
"""

from __future__ import annotations

import gc
import hashlib
import random
import resource
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

ROUNDS = 9
QUIET = 1.2  # two spinning threads may take so many times as long as one

Work = Mapping[str, Callable[[], object]]


@dataclass(frozen=True, slots=True)
class Sample:
    """What one run took. User and system time are of all threads of this process."""

    wall_ms: float
    user_ms: float
    system_ms: float
    page_faults: int


@dataclass(frozen=True, slots=True)
class Ratio:
    """The median of paired ratios, and its 95 % bootstrap interval [low, high]."""

    median: float
    low: float
    high: float

    def text(self, digits: int) -> str:
        """The median and its interval."""
        return f"{self.median:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"

    def __str__(self) -> str:
        return self.text(1)


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of several pieces of work, by round; `spin`: the spin probe, before and after."""

    samples: dict[str, list[Sample]]
    spin: tuple[float, float]

    @property
    def is_quiet(self) -> bool:
        """Whether the machine left this process two processors."""
        return max(self.spin) <= QUIET

    def ratio(self, over: str, under: str) -> Ratio:
        """How many times as long `over` takes as `under`."""
        pairs = zip(self.samples[over], self.samples[under], strict=True)
        return ratio_of([one.wall_ms / other.wall_ms for one, other in pairs])


def ratio_of(ratios: Sequence[float]) -> Ratio:
    """The median of the ratios and its bootstrap interval."""
    rng = random.Random(0)
    medians = sorted(median(rng.choices(ratios, k=len(ratios))) for _ in range(2000))
    return Ratio(median(ratios), medians[50], medians[1949])


def run(work: Callable[[], object]) -> Sample:
    """Run once. What it returns is dropped behind the clock."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter_ns()
    result = work()
    wall = time.perf_counter_ns() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    del result
    return Sample(
        wall / 1e6,
        (after.ru_utime - before.ru_utime) * 1e3,
        (after.ru_stime - before.ru_stime) * 1e3,
        after.ru_minflt - before.ru_minflt,
    )


def interleave(
    work: Work,
    *,
    rounds: int = ROUNDS,
    tries: int = 3,
    before_each: Callable[[], object] = gc.collect,
) -> Series:
    """Run all work in random order, round by round, after a round that is not counted.

    `before_each` is called before the clock starts.
    A series that others disturbed is measured again, `tries` times in all; the last one stands.
    """
    rng = random.Random(0)
    for _ in range(tries):
        samples: dict[str, list[Sample]] = {name: [] for name in work}
        before = spin_probe()
        for number in range(rounds + 1):
            for name in rng.sample(list(work), len(work)):
                before_each()
                sample = run(work[name])
                if number > 0:
                    samples[name].append(sample)
        series = Series(samples, (before, spin_probe()))
        if series.is_quiet:
            break
    return series


def spin_probe() -> float:
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

    return median(elapsed(2) / elapsed(1) for _ in range(3))


def table(series: Series, base: str) -> str:
    """A Markdown table of the series; ratios are times `base`."""
    lines = [
        f"| | median ms | least ms | user ms | system ms | page faults | times {base} |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, samples in series.samples.items():
        columns = [
            f"{median(s.wall_ms for s in samples):.1f}",
            f"{min(s.wall_ms for s in samples):.1f}",
            f"{median(s.user_ms for s in samples):.1f}",
            f"{median(s.system_ms for s in samples):.1f}",
            f"{median(s.page_faults for s in samples):,.0f}",
            "" if name == base else str(series.ratio(name, base)),
        ]
        lines.append(f"| {name} | {' | '.join(columns)} |")
    noise = "" if series.is_quiet else " **The machine was not quiet: do not trust this series.**"
    one, other = series.spin
    rounds = len(next(iter(series.samples.values())))
    lines += ["", f"{rounds} rounds; spin probe {one:.2f} before, {other:.2f} after.{noise}"]
    return "\n".join(lines)
