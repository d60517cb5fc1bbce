"""`pqlab.compare`, on clocks that the tests turn."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import pqlab
from pqlab.comparison import Comparison
from pqlab.comparison.estimate import estimate
from pqlab.comparison.pairs import measure_pairs
from pqlab.comparison.result import Pair

SEED = 20261130
NAMES = ("a", "b")


class Clock:
    """A clock that only work turns: `work(draw)` takes what `draw` says each time."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now

    def work(self, draw: Callable[[], float]) -> Callable[[], None]:
        def run() -> None:
            self.now += int(draw() * 1e6)

        return run


def measured(a: Callable[[], float], b: Callable[[], float], **options: Any) -> list[Pair]:
    """Pairs of work that takes so many ms of a clock of its own."""
    clock = Clock()
    given = {"seconds": 1.0, "min_pairs": 7, "names": NAMES, "seed": SEED, **options}
    return measure_pairs(clock.work(a), clock.work(b), clock=clock, **given)


def noisy(rng: np.random.Generator, ms: float, spread: float) -> Callable[[], float]:
    return lambda: float(ms * np.exp(rng.normal(0, spread)))


# ------------------------------------------------------------------------------ the interval


DRAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, count: rng.normal(0, 1, count),
    "skewed": lambda rng, count: np.exp(rng.normal(0, 1, count)) - 1,
    "without a mean": lambda rng, count: rng.standard_cauchy(count),
}


@pytest.mark.parametrize("count", [6, 7, 9, 12, 30])
@pytest.mark.parametrize("kind", DRAWS)
def test_the_interval_covers_the_median_as_often_as_it_says(
    count: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pqlab.comparison.estimate._RESAMPLES", 500)
    rng = np.random.default_rng(SEED)
    rounds, missed = 300, 0
    for seed in range(rounds):
        found = estimate(DRAWS[kind](rng, count).tolist(), seed=seed)
        missed += not found.low <= 0 <= found.high
    # 5 % of 300 are 15; 26 or more of them are seen once in 170 such runs.
    assert missed < 26


def test_one_value_is_its_own_interval() -> None:
    found = estimate([3.0])
    assert (found.median, found.low, found.high) == (3, 3, 3)
    assert str(found) == "3.0 (3.0 to 3.0)"


def test_the_median_is_numpys_and_lies_within() -> None:
    values = np.random.default_rng(SEED).normal(5, 1, 41)
    found = estimate(values.tolist())
    assert found.median == np.median(values)
    assert found.low < found.median < found.high
    assert estimate(values.tolist(), seed=1) == estimate(values.tolist(), seed=1)


# ------------------------------------------------------------------------------ the verdict


def test_equal_work_is_told_apart_no_more_often_than_the_interval_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pqlab.comparison.estimate._RESAMPLES", 500)
    monkeypatch.setattr(gc, "collect", lambda *_: 0)
    rng = np.random.default_rng(SEED)
    told = 0
    for seed in range(300):
        one = noisy(rng, 10, 0.1)
        pairs = measured(one, one, seconds=0.3, seed=seed)
        told += Comparison.of(NAMES, pairs, seed=seed).verdict != "cannot tell"
    assert told < 26


@pytest.mark.parametrize(("factor", "verdict"), [(0.9, "faster"), (1.1, "slower")])
def test_a_shift_is_found(factor: float, verdict: str) -> None:
    rng = np.random.default_rng(SEED)
    found = Comparison.of(
        NAMES, measured(noisy(rng, 10, 0.03), noisy(rng, 10 * factor, 0.03), seconds=2)
    )
    assert found.verdict == verdict
    assert found.ratio.low < factor < found.ratio.high
    assert found.delta_ns.low < (factor - 1) * 10e6 < found.delta_ns.high
    assert found.disagreement is None
    assert f"b is {verdict} than a" in found.headline


def test_drift_cancels_in_pairs() -> None:
    # The machine slows to a third of its speed while both are measured; b takes 5 % less.
    clock, slowed = Clock(), [1.0]

    def drifting(ms: float) -> Callable[[], float]:
        def draw() -> float:
            slowed[0] *= 1.01
            return ms * slowed[0]

        return draw

    pairs = measure_pairs(
        clock.work(drifting(10)),
        clock.work(drifting(9.5)),
        seconds=1,
        min_pairs=50,
        names=NAMES,
        seed=SEED,
        clock=clock,
    )
    found = Comparison.of(NAMES, pairs)
    assert max(pair.a_ns for pair in pairs) > 2.5 * min(pair.a_ns for pair in pairs)
    assert found.verdict == "faster"
    assert found.ratio.low < 0.95 < found.ratio.high
    assert found.ratio.high < 0.97


def test_a_difference_that_matters_to_nobody_is_none() -> None:
    rng = np.random.default_rng(SEED)
    pairs = measured(noisy(rng, 10, 0.002), noisy(rng, 10.05, 0.002), seconds=4)
    found = Comparison.of(NAMES, pairs)
    assert found.ratio.low > 1
    assert found.verdict == "cannot tell"
    assert "no difference of 1 % or more" in repr(found)
    assert Comparison.of(NAMES, pairs, matters=0.001).verdict == "slower"
    assert Comparison.of(NAMES, pairs, matters=0).verdict == "slower"


def test_it_says_when_means_and_pairs_disagree() -> None:
    # b is 5 % faster, but a rare stall doubles its mean: single runs would mislead.
    pairs = [Pair("a", 10e6, 9.5e6) for _ in range(19)] + [Pair("b", 10e6, 200e6)]
    found = Comparison.of(NAMES, pairs)
    assert found.verdict == "faster"
    assert found.means[1] / found.means[0] > 1.9
    assert found.disagreement == (
        "faster by pairs (0.950) and medians (0.950) and minima (0.950); slower by means (1.903)"
    )
    assert found.disagreement in repr(found)


def test_a_busy_machine_is_noted() -> None:
    pairs = [Pair("a", 1e6, 2e6)] * 8
    assert "busy" in Comparison.of(NAMES, pairs, spin=(1.0, 1.9)).notes[0]
    assert Comparison.of(NAMES, pairs, spin=(1.0, 1.1)).notes == ()


# ------------------------------------------------------------------------------ measuring


def test_who_runs_first_is_drawn_and_told() -> None:
    pairs = measured(lambda: 10, lambda: 10, seconds=4)
    firsts = [pair.first for pair in pairs]
    assert len(pairs) >= 200
    assert 70 < firsts.count("a") < len(firsts) - 70
    again = measured(lambda: 10, lambda: 10, seconds=4)
    assert [pair.first for pair in again] == firsts
    other = measured(lambda: 10, lambda: 10, seconds=4, seed=SEED + 1)
    assert [pair.first for pair in other] != firsts


def test_slow_work_gets_its_pairs_all_the_same() -> None:
    assert len(measured(lambda: 60_000, lambda: 60_000, seconds=1, min_pairs=7)) == 7


def test_fast_work_is_called_many_times_a_run() -> None:
    calls = {"a": 0, "b": 0}
    clock = Clock()

    def work(name: str) -> Callable[[], None]:
        def run() -> None:
            calls[name] += 1
            clock.now += 1_000  # ns

        return run

    pairs = measure_pairs(
        work("a"), work("b"), seconds=0.1, min_pairs=7, names=NAMES, seed=0, clock=clock
    )
    assert {pair.a_ns for pair in pairs} == {1000.0}
    assert calls["a"] >= 2000 * len(pairs)  # of 1 µs; a run takes 2 ms
    assert len(pairs) == 25


def test_warming_up_is_not_counted() -> None:
    first = [1e6]

    def draw() -> float:
        return first.pop() if first else 10

    pairs = measured(draw, lambda: 10)
    assert {pair.a_ns for pair in pairs} == {10e6}


def test_results_are_compared_on_request() -> None:
    frame = pl.DataFrame({"x": [1, 2]})
    quick: dict[str, Any] = {"seconds": 0, "min_pairs": 6}
    with pytest.raises(ValueError, match="old and new return different results"):
        pqlab.compare(lambda: frame, lambda: frame * 2, equal=True, names=("old", "new"), **quick)
    found = pqlab.compare(lambda: frame, frame.clone, equal=True, **quick)
    assert len(found.pairs) >= 6
    close = pqlab.compare(lambda: 1.0, lambda: 1.01, equal=lambda a, b: abs(a - b) < 0.1, **quick)
    assert len(close.pairs) >= 6


def test_an_error_says_whose_it_is_and_leaves_gc_on() -> None:
    calls = []

    def fails() -> None:
        calls.append(1)
        if len(calls) > 2:
            raise KeyError("no")

    with pytest.raises(KeyError) as raised:
        pqlab.compare(lambda: sum(range(100_000)), fails, names=("old", "new"), seconds=1)
    assert raised.value.__notes__ == ["raised by 'new'"]
    assert gc.isenabled()


@pytest.mark.parametrize(
    "options", [{"min_pairs": 5}, {"matters": 1.0}, {"matters": -0.1}, {"names": ("x", "x")}]
)
def test_arguments_that_make_no_sense(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"min_pairs|matters|names"):
        pqlab.compare(lambda: 1, lambda: 2, **options)


# ------------------------------------------------------------------------------ what is shown


def comparison() -> Comparison:
    rng = np.random.default_rng(SEED)
    pairs = measured(noisy(rng, 10, 0.05), noisy(rng, 8, 0.05), names=("<old>", "new"))
    return Comparison.of(("<old>", "new"), pairs, spin=(1.5, 1.0))


def test_the_frame_has_every_pair() -> None:
    found = comparison()
    frame = found.to_frame()
    assert frame.height == len(found.pairs)
    assert frame["ratio"].median() == pytest.approx(found.ratio.median)
    assert frame["delta_ns"].median() == pytest.approx(found.delta_ns.median)
    assert frame["a_ns"].mean() == pytest.approx(found.means[0])
    assert frame["b_ns"].median() == pytest.approx(found.medians[1])
    assert frame["b_ns"].min() == found.least[1]


def test_terminals_and_notebooks_show_it() -> None:
    found = comparison()
    lines = repr(found).splitlines()
    assert lines[0].startswith("new is faster than <old>: 0.")
    assert [line.split()[0] for line in lines[2:5]] == ["<old>", "new", "ratio"]
    assert "note: the machine was busy" in lines[-1]
    html = found._repr_html_()
    assert "&lt;old&gt;" in html
    assert "<old>" not in html


def test_the_chart_has_pairs_and_interval() -> None:
    found = comparison()
    chart = found.chart().to_dict()
    kinds = [layer["mark"]["type"] for layer in chart["layer"]]
    assert sorted(kinds) == ["point", "rect", "rule", "rule"]
    rows = {len(data): data for data in chart["datasets"].values()}
    assert len(rows[len(found.pairs)]) == len(found.pairs)
    assert rows[1][0]["low"] == found.ratio.low


def test_comparing_loads_no_charts() -> None:
    code = (
        "import sys, pqlab; pqlab.compare(int, int, seconds=0)\n"
        "print([name for name in ('altair', 'polars', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
