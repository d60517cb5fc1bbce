"""How results are measured: side by side, in random order, round by round.

The method is that of `pqlab.compare`, for any number of pieces of work: every piece runs once per
round, so that what slows the machine slows all of them; compared are the ratios within rounds. A
result is told as the median of those ratios with its bootstrap interval, beside medians, minima,
user and system time, and page faults.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

from pqlab.comparison import measure
from pqlab.comparison.estimate import Estimate as Ratio, estimate
from pqlab.comparison.measure import QUIET, Sample, Work, run, spin_probe

__all__ = ["ROUNDS", "Ratio", "Sample", "Series", "Work", "interleave", "ratio_of", "run", "table"]

ROUNDS = 9


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
    return estimate(ratios)


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
    for seed in range(tries):
        before = spin_probe()
        taken_by = measure.rounds(work, seed=seed, before_each=before_each)
        counted = list(islice(taken_by, rounds + 1))[1:]
        samples = {name: [taken[name] for taken in counted] for name in work}
        series = Series(samples, (before, spin_probe()))
        if series.is_quiet:
            break
    return series


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
