"""What `benchmarks.decode` found, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.decode_remarks import REMARKS
from benchmarks.decode_rows import REGIMES, Regime, Row
from benchmarks.decode_sides import PEERS
from benchmarks.results import versions
from benchmarks.timing import Ratio, Series

PEAK_BAR = 1.15

METHOD = """\
Each side starts from the path, footer included, and ends with the same columns as polars or Arrow
has them; results are compared before anything is timed. A cell is how many times as long the
fastest peer takes as pqlab: the median over rounds and its 95 % interval. **Recycled**: every
allocator is told to keep its memory; **fresh**: to give it back at once; **first call**: in a
new process, imports left out, allocators as they come. Every peer takes the fastest of its ways;
one that takes twice as long as the fastest peer is tried, not measured further. A second series
keeps the metadata from read to read, where a library can (polars and duckdb cannot).
The floor is what no reader can be faster than: the output written once at memcpy's speed by all
cores, and decompression alone. Peak: how far resident memory rises in a first call; the bar is 1.15
times the frame, plus the bytes that are fetched."""

LEGEND = """\
Behind a figure its bar; what misses it is bold. Of the floor: in recycled and in fresh memory.
Traced: how many times as long a traced read takes (bar: 1.02). Peak: pqlab's without the bytes
fetched (bar: 1.15), pqlab's with them, and the fastest peer's."""


@dataclass(slots=True)
class Result:
    """What was found of a row. `tried`: ms and name of each peer's fastest way, by regime.

    `failure`: why there is no more of it.
    """

    row: Row
    series: dict[Regime, Series] = field(default_factory=dict)
    tried: dict[Regime, dict[str, tuple[float, str]]] = field(default_factory=dict)
    floors: dict[Regime, dict[str, Any] | None] = field(default_factory=dict)
    peaks: dict[str, dict[str, int]] = field(default_factory=dict)
    failure: str = ""

    def times(self, regime: Regime) -> dict[str, float]:
        """Median wall times in ms."""
        samples = self.series[regime].samples
        return {side: median(s.wall_ms for s in found) for side, found in samples.items()}

    def fastest_peer(self, regime: Regime) -> str:
        """By the median."""
        peers = {side: ms for side, ms in self.times(regime).items() if side in PEERS}
        return min(peers, key=peers.__getitem__)

    def ratio(self, regime: Regime) -> Ratio:
        """How many times as long the fastest peer takes."""
        return self.series[regime].ratio(self.fastest_peer(regime), "pqlab")

    def below(self, regime: Regime) -> bool:
        """Whether the bar is missed."""
        return self.ratio(regime).median < self.row.bars[regime]


def line(result: Result) -> str:
    """A row in a line, for those who wait."""
    cells = [
        f"{regime} {result.ratio(regime).text(2)} bar {bar} against {result.fastest_peer(regime)}"
        f"{'' if result.series[regime].is_quiet else ', NOT QUIET'}"
        for regime, bar in result.row.bars.items()
        if regime in result.series
    ]
    cells += [f"FAILED: {result.failure}"] if result.failure else []
    return f"{result.row.name}: {'; '.join(cells)}"


def body(results: Sequence[Result]) -> str:
    """The section's body."""
    parts = [METHOD, _summary(results), _remarks(results), _failures(results)]
    parts += [
        f"### In {about}\n\n{_details(results, regime)}"
        for regime, about in REGIMES.items()
        if any(regime in result.series for result in results)
    ]
    parts.append(versions("polars", "pyarrow", "duckdb"))
    return "\n\n".join(part for part in parts if part)


def _failures(results: Sequence[Result]) -> str:
    failed = [f"- {each.row.about}: {each.failure}" for each in results if each.failure]
    return "\n".join(["Not measured, or not in full:", "", *failed]) if failed else ""


def _summary(results: Sequence[Result]) -> str:
    lines = [
        "| work | recycled | fresh | first call | of the floor | traced | peak / frame |",
        "|---|---|---|---|---|---|---|",
    ]
    for result in results:
        cells = [_cell(result, regime) for regime in REGIMES]
        cells += [_share(result), _traced(result), _peak(result)]
        lines.append(f"| {result.row.about} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", LEGEND])


def _cell(result: Result, regime: Regime) -> str:
    if regime not in result.series:
        return "-"
    figure = result.ratio(regime).text(2)
    if result.below(regime):
        figure = f"**{figure}**"
    noise = "" if result.series[regime].is_quiet else " (not quiet)"
    return f"{figure}{noise}; bar {result.row.bars[regime]}"


def _share(result: Result) -> str:
    shares = []
    for regime, floor in result.floors.items():
        if floor is not None and regime in result.series and not result.row.sums:
            least = floor["write_ms"] + floor["decompress_ms"]
            shares.append(f"{least / result.times(regime)['pqlab']:.0%}")
    return ", ".join(shares) or "-"


def _traced(result: Result) -> str:
    series = result.series.get("recycled")
    if series is None or "pqlab, traced" not in series.samples:
        return "-"
    return series.ratio("pqlab, traced", "pqlab").text(3)


def _peak(result: Result) -> str:
    if "pqlab" not in result.peaks:
        return "-"
    ours = result.peaks["pqlab"]
    share = max(ours["rise"] - ours["fetched"], 0) / ours["frame"]
    figure = f"{share:.2f}" if share <= PEAK_BAR else f"**{share:.2f}**"
    parts = [f"{figure}, {ours['rise'] / ours['frame']:.2f}"]
    peer = result.fastest_peer("first")
    if peer in result.peaks:
        parts.append(f"{peer} {result.peaks[peer]['rise'] / result.peaks[peer]['frame']:.2f}")
    return ", ".join(parts)


def _remarks(results: Sequence[Result]) -> str:
    lines = []
    for result in results:
        for regime in result.series:
            if result.below(regime):
                parts = [_bound(result, regime), REMARKS.get((result.row.name, regime), "")]
                text = " ".join(part for part in parts if part) or "Not looked into yet."
                lines.append(f"- {result.row.about}, {REGIMES[regime]}: {text}")
    return "\n".join(["What bounds the cells below their bars:", "", *lines]) if lines else ""


def _bound(result: Result, regime: Regime) -> str:
    """What the floor leaves, and where the threads' time goes; a first call is in fresh memory."""
    floor = result.floors.get("fresh" if regime == "first" else regime)
    if floor is None:
        return ""
    write_ms, decompress_ms = floor["write_ms"], floor["decompress_ms"]
    least_ms = write_ms + decompress_ms
    peer = result.fastest_peer(regime)
    peer_ms, ours_ms = (result.times(regime)[side] for side in (peer, "pqlab"))
    stages = sorted(floor["stages_ms"].items(), key=lambda stage: -stage[1])[:4]
    spent = ", ".join(f"{name} {taken_ms:.1f}" for name, taken_ms in stages)
    return (
        f"{peer} takes {peer_ms:.1f} ms, the floor {least_ms:.1f} ms "
        f"({floor['output_bytes'] / 1e6:,.0f} MB written: {write_ms:.1f} ms; decompression alone: "
        f"{decompress_ms:.1f} ms): no reader can reach more than {peer_ms / least_ms:.1f}. "
        f"pqlab takes {ours_ms:.1f} ms, {least_ms / ours_ms:.0%} of it the floor; its threads "
        f"spend {spent} ms. {_memory(result, regime, 'pqlab')}, {_memory(result, regime, peer)}."
    )


def _memory(result: Result, regime: Regime, side: str) -> str:
    """What a side's page faults cost, as far as the system's time tells."""
    samples = result.series[regime].samples[side]
    faults, system_ms = median(s.page_faults for s in samples), median(s.system_ms for s in samples)
    return f"{side} has {faults:,.0f} page faults and {system_ms:.1f} ms of system time"


def _details(results: Sequence[Result], regime: Regime) -> str:
    lines = [
        "| work | side | median ms | least ms | user ms | system ms | page faults | times pqlab |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        if regime not in result.series:
            continue
        series = result.series[regime]
        tried = result.tried.get(regime, {})
        for side, samples in series.samples.items():
            way = f" ({tried[side][1]})" if side in tried else ""
            ratio = "" if side == "pqlab" else series.ratio(side, "pqlab").text(2)
            cells = [
                f"{median(s.wall_ms for s in samples):.1f}",
                f"{min(s.wall_ms for s in samples):.1f}",
                f"{median(s.user_ms for s in samples):.1f}",
                f"{median(s.system_ms for s in samples):.1f}",
                f"{median(s.page_faults for s in samples):,.0f}",
            ]
            lines.append(f"| {result.row.about} | {side}{way} | {' | '.join(cells)} | {ratio} |")
        for peer, (taken_ms, way) in tried.items():
            if peer not in series.samples:
                lines.append(
                    f"| {result.row.about} | {peer} ({way}), tried | | {taken_ms:.1f} | | | | |"
                )
        one, other = series.spin
        if regime != "first" and not series.is_quiet:
            lines.append(
                f"| {result.row.about} | *spin probe {one:.2f}, {other:.2f}* | | | | | | |"
            )
    return "\n".join(lines)
