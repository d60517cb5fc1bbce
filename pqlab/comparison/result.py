"""`Comparison`: what pairs of runs say together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from statistics import fmean, median
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from pqlab import text
from pqlab.comparison.estimate import Estimate, estimate
from pqlab.comparison.measure import QUIET

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

Verdict: TypeAlias = Literal["faster", "slower", "cannot tell"]

_MATTERS_TEXT = {"faster": "faster", "slower": "slower", "cannot tell": "no difference"}


class Pair(NamedTuple):
    """What a call of each took, run one right after the other; `first` names the one before."""

    first: str
    a_ns: float
    b_ns: float


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of `pqlab.compare`. Times in ns; ratios are b's time over a's.

    `ratio` and `delta_ns` are the median over pairs with its 95 % bootstrap interval. `verdict`
    speaks of b: "faster" or "slower" where the interval of the ratio excludes 1 and its median
    differs from 1 by at least `matters`; else "cannot tell". `means`, `medians` and `least`
    are (a, b). `spin`: how many times as long two threads took as one, before and after.
    """

    names: tuple[str, str]
    pairs: tuple[Pair, ...]
    ratio: Estimate
    delta_ns: Estimate
    matters: float
    spin: tuple[float, float]

    @classmethod
    def of(
        cls,
        names: tuple[str, str],
        pairs: Sequence[Pair],
        *,
        matters: float = 0.01,
        seed: int = 0,
        spin: tuple[float, float] = (1.0, 1.0),
    ) -> Comparison:
        """Compare pairs that were measured."""
        ratios = [pair.b_ns / pair.a_ns for pair in pairs]
        deltas = [pair.b_ns - pair.a_ns for pair in pairs]
        return cls(
            names,
            tuple(pairs),
            ratio=estimate(ratios, seed=seed),
            delta_ns=estimate(deltas, seed=seed),
            matters=matters,
            spin=spin,
        )

    @property
    def verdict(self) -> Verdict:
        """Whether b is faster or slower than a, as far as the pairs can tell."""
        if self.ratio.low <= 1 <= self.ratio.high:
            return "cannot tell"
        return self._says(self.ratio.median)

    @property
    def means(self) -> tuple[float, float]:
        """The mean of a, of b."""
        return fmean(pair.a_ns for pair in self.pairs), fmean(pair.b_ns for pair in self.pairs)

    @property
    def medians(self) -> tuple[float, float]:
        """The median of a, of b."""
        return median(pair.a_ns for pair in self.pairs), median(pair.b_ns for pair in self.pairs)

    @property
    def least(self) -> tuple[float, float]:
        """The least of a, of b."""
        return min(pair.a_ns for pair in self.pairs), min(pair.b_ns for pair in self.pairs)

    @property
    def disagreement(self) -> str | None:
        """What means, medians, minima and pairs say, where they do not say the same of b."""
        ratios = {
            "pairs": self.ratio.median,
            "means": _ratio(self.means),
            "medians": _ratio(self.medians),
            "minima": _ratio(self.least),
        }
        said: dict[Verdict, list[str]] = {}
        for name, ratio in ratios.items():
            said.setdefault(self._says(ratio), []).append(f"{name} ({ratio:.3f})")
        if len(said) == 1:
            return None
        return "; ".join(
            f"{_MATTERS_TEXT[verdict]} by {' and '.join(names)}" for verdict, names in said.items()
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before the verdict is believed."""
        return tuple(self._notes())

    def to_frame(self) -> pl.DataFrame:
        """A row per pair, in order: which ran first, what both took, delta and ratio of b to a."""
        import polars as pl

        return pl.DataFrame(
            {
                "pair": pl.Series(range(len(self.pairs)), dtype=pl.UInt32),
                "first": [pair.first for pair in self.pairs],
                "a_ns": [pair.a_ns for pair in self.pairs],
                "b_ns": [pair.b_ns for pair in self.pairs],
            }
        ).with_columns(
            (pl.col("b_ns") - pl.col("a_ns")).alias("delta_ns"),
            (pl.col("b_ns") / pl.col("a_ns")).alias("ratio"),
        )

    def chart(self) -> alt.LayerChart | alt.FacetChart:
        """The ratio of every pair in the order they ran, their median, and its interval."""
        import altair as alt
        import polars as pl

        a, b = self.names
        title = f"{b} over {a}"
        points = (
            alt.Chart(self.to_frame())
            .mark_point(filled=True)
            .encode(
                x=alt.X("pair:Q", title="pair"),
                y=alt.Y("ratio:Q", title=title, scale=alt.Scale(zero=False)),
                shape=alt.Shape("first:N", title="ran first"),
                color=alt.Color("first:N", title="ran first"),
                tooltip=["pair:Q", "first:N", "a_ns:Q", "b_ns:Q", "ratio:Q"],
            )
        )
        interval = pl.DataFrame([asdict(self.ratio)]).with_columns(one=1.0)
        ground = alt.Chart(interval)
        band = ground.mark_rect(opacity=0.2).encode(y="low:Q", y2="high:Q")
        middle = ground.mark_rule(strokeWidth=2).encode(y="median:Q")
        one = ground.mark_rule(strokeDash=[4, 4]).encode(y="one:Q")
        return alt.layer(band, one, middle, points).properties(title=self.headline)

    @property
    def headline(self) -> str:
        """The verdict in a sentence."""
        a, b = (text.visible(name) for name in self.names)
        pairs = text.plural(len(self.pairs), "pair")
        measured = f"{self.ratio.text(3)} times as long, {pairs}"
        if self.verdict == "cannot tell":
            inside = 1 - self.matters < self.ratio.low and self.ratio.high < 1 + self.matters
            share = f"{100 * self.matters:g} %"
            why = f", but no difference of {share} or more" if inside else ""
            return f"cannot tell whether {b} is faster than {a}{why}: {measured}"
        return f"{b} is {self.verdict} than {a}: {measured}"

    def __repr__(self) -> str:
        rows = [("", "mean", "median", "least"), *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [self.headline]
        for name, *cells in rows:
            numbers = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
            lines.append(f"  {name.ljust(widths[0])}  {'  '.join(numbers)}".rstrip())
        lines.append(f"  {self._delta()}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{head}</th>" for head in ("", "mean", "median", "least"))
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._rows()
        )
        notes = "".join(f"<p>Note: {escape(note)}</p>" for note in self.notes)
        return (
            f"<p><b>{escape(self.headline)}</b></p><table><tr>{heads}</tr>{rows}</table>"
            f"<p>{escape(self._delta())}</p>{notes}"
        )

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        columns = (self.means, self.medians, self.least)
        for place, name in enumerate(self.names):
            mean, middle, least = (text.duration(column[place]) for column in columns)
            yield text.visible(name), mean, middle, least
        mean, middle, least = (f"{_ratio(column):.3f}" for column in columns)
        yield "ratio", mean, middle, least

    def _delta(self) -> str:
        found = self.delta_ns
        low, high = (_signed(bound) for bound in (found.low, found.high))
        return f"paired difference {_signed(found.median)} ({low} to {high})"

    def _notes(self) -> Iterator[str]:
        if self.disagreement is not None:
            yield f"b's figures do not agree: {self.disagreement}. The verdict is the pairs'"
        if max(self.spin) > QUIET:
            before, after = self.spin
            yield (
                f"the machine was busy: two threads took {before:.2f} times as long as one before, "
                f"{after:.2f} after"
            )

    def _says(self, ratio: float) -> Verdict:
        if abs(ratio - 1) < self.matters or ratio == 1:
            return "cannot tell"
        return "faster" if ratio < 1 else "slower"


def _ratio(times: tuple[float, float]) -> float:
    return times[1] / times[0]


def _signed(duration_ns: float) -> str:
    return f"{'+' if duration_ns > 0 else ''}{text.duration(duration_ns)}"
