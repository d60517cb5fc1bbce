"""A plan: the frozen, printable answer to "what would this selection read?"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import islice
from typing import NamedTuple

from pqlab import text
from pqlab.plan.ranges import Range, Ranges, length
from pqlab.plan.tables import IS_RESOLVED, PlanTables, Rows

_SHOWN_CHUNKS = 20
_SHOWN_COLUMNS = 6
_SHOWN_RANGES = 3
_SHOWN_CHARACTERS = 80  # of a column's name


class PageRun(NamedTuple):
    """Consecutive whole pages of one chunk, in bytes [start, stop) of the file.

    The engine walks the page headers inside. `first_page` is the ordinal of the run's first data
    page, `first_row` the row of the row group at which that page starts. A run of the dictionary
    page alone has `first_page` -1. A run may begin with the dictionary page (a whole chunk does).
    `num_pages` counts the data pages, `num_rows` the rows that they are known to hold; -1: unknown.
    """

    start: int
    stop: int
    first_page: int
    first_row: int
    num_pages: int = -1
    num_rows: int = -1


class ChunkPlan(NamedTuple):
    """What is read of one column chunk: `runs` in file order, the dictionary page first.

    `resolved`: the runs are pages that are known to cover the rows; else the one run is the whole
    chunk, because all rows are wanted or because its pages are not known.
    """

    row_group: int
    leaf: int
    runs: tuple[PageRun, ...]
    resolved: bool

    @property
    def wanted_bytes(self) -> int:
        """Bytes of the runs."""
        return sum(run.stop - run.start for run in self.runs)

    @property
    def num_pages(self) -> int:
        """Data pages that are read; -1: unknown."""
        pages = [run.num_pages for run in self.runs if run.first_page >= 0]
        return -1 if -1 in pages else sum(pages)


class RowGroupPlan(NamedTuple):
    """The rows that are read of one row group: half-open ranges within it, sorted and disjoint."""

    row_group: int
    rows: Ranges


@dataclass(frozen=True)
class Plan:
    """Input of the engines, preview of the widgets, and `selection.plan()` for people.

    `leaves`: leaf ordinals in output order. `tables`: what is read, as arrays; `row_groups` and
    `chunks` show their rows as values. `requests`: byte ranges [start, stop) to ask the source
    for, sorted, disjoint. Sizes in bytes; an estimate is (low, high, source of the estimate).
    `unresolved_chunks`: read whole though only some rows are wanted, as their pages are not known.
    """

    file: str
    leaves: tuple[int, ...]
    columns: tuple[str, ...]
    tables: PlanTables
    requests: tuple[Range, ...]
    wanted_bytes: int
    num_rows: int
    unresolved_chunks: int
    unresolved_bytes: int  # what reading the page headers of those chunks would take
    memory_low_bytes: int
    memory_high_bytes: int
    memory_source: str
    engine: str
    engine_reason: str
    warnings: tuple[str, ...] = field(default=())
    policy: str = ""  # how a remote source is asked, in words
    where: str = ""  # what rows must be like, and what that skips, in words
    late: str = ""  # which columns are read first, and when the others are, in words

    @property
    def requested_bytes(self) -> int:
        """Bytes that the requests fetch, gaps included."""
        return length(self.requests)

    @property
    def row_groups(self) -> Sequence[RowGroupPlan]:
        """The row groups that are read, in file order."""
        table = self.tables.row_groups
        return [
            RowGroupPlan(row_group, _ranges(self.tables.ranges[first : first + count]))
            for row_group, first, count in zip(
                table["row_group"].tolist(),
                table["first_range"].tolist(),
                table["num_ranges"].tolist(),
                strict=True,
            )
        ]

    @property
    def chunks(self) -> Iterator[ChunkPlan]:
        """Every chunk that is read, in the order (row group, leaf)."""
        return map(self._chunk, range(self.num_chunks))

    @property
    def num_chunks(self) -> int:
        """How many column chunks are read."""
        return len(self.tables.chunks)

    def _chunk(self, number: int) -> ChunkPlan:
        chunk = self.tables.chunks[number]
        first, count = int(chunk["first_run"]), int(chunk["num_runs"])
        runs = self.tables.runs[first : first + count][list(PageRun._fields)].tolist()
        return ChunkPlan(
            row_group=int(chunk["row_group"]),
            leaf=int(chunk["leaf"]),
            runs=tuple(PageRun(*run) for run in runs),
            resolved=bool(chunk["flags"] & IS_RESOLVED),
        )

    def __str__(self) -> str:
        lines = [f"Plan for {text.visible(self.file)}"]
        lines += [f"  {name:<9} {value}" for name, value in self._facts()]
        if self.num_chunks:
            lines.append("")
            lines += _aligned([_HEADINGS, *self._rows()], right={2, 4, 5, 6})
            lines += [f"  {more}" for more in self._more()]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        facts = "".join(
            f"<tr><th style='text-align:left'>{name}</th>"
            f"<td style='text-align:left'>{escape(value)}</td></tr>"
            for name, value in self._facts()
        )
        heads = "".join(f"<th>{name}</th>" for name in _HEADINGS)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._rows()
        )
        more = "".join(f"<p>{escape(words)}</p>" for words in self._more())
        title = f"<p>Plan for <b>{escape(text.visible(self.file))}</b></p>"
        return f"{title}<table>{facts}</table><table><tr>{heads}</tr>{rows}</table>{more}"

    def _facts(self) -> Iterator[tuple[str, str]]:
        names = ", ".join(map(_name, self.columns[:_SHOWN_COLUMNS]))
        rest = len(self.columns) - _SHOWN_COLUMNS
        yield (
            "columns",
            f"{len(self.columns):,}: {names}" + (f" and {rest:,} more" if rest > 0 else ""),
        )
        yield (
            "rows",
            f"{self.num_rows:,} in {text.plural(len(self.tables.row_groups), 'row group')}",
        )
        if self.where:
            yield "where", text.clip(text.visible(self.where), _SHOWN_CHARACTERS * 2)
        if self.late:
            yield "late", text.clip(text.visible(self.late), _SHOWN_CHARACTERS * 3)
        wasted = self.requested_bytes - self.wanted_bytes
        requests = text.plural(len(self.requests), "request")
        in_gaps = text.share(wasted, self.requested_bytes)
        sizes = f"{text.size(self.wanted_bytes)} wanted, {text.size(self.requested_bytes)} in"
        yield "bytes", f"{sizes} {requests} ({in_gaps} in gaps)"
        if self.policy:
            yield "policy", self.policy
        low, high = text.size(self.memory_low_bytes), text.size(self.memory_high_bytes)
        amount = low if low == high else f"{low} to {high}"
        yield "memory", f"{amount} decoded (from {self.memory_source})"
        yield "engine", f"{self.engine}: {self.engine_reason}"
        if self.unresolved_chunks:
            chunks = text.plural(self.unresolved_chunks, "chunk")
            headers = text.size(self.unresolved_bytes)
            yield "unknown", f"the pages of {chunks}; about {headers} of page headers would tell"
        for warning in self.warnings:
            yield "warning", warning

    def _rows(self) -> Iterator[tuple[str, ...]]:
        names = dict(zip(self.leaves, self.columns, strict=True))
        rows = {
            row_group: _ranges(self.tables.ranges[first : first + count])
            for _, row_group, first, count, _ in self.tables.row_groups[:_SHOWN_CHUNKS].tolist()
        }
        for chunk in islice(self.chunks, _SHOWN_CHUNKS):
            ranges = rows[chunk.row_group]
            yield (
                str(chunk.row_group),
                _name(names[chunk.leaf]),
                f"{length(ranges):,}",
                _ranges_text(ranges),
                "?" if chunk.num_pages < 0 else f"{chunk.num_pages:,}",
                f"{len(chunk.runs):,}",
                text.size(chunk.wanted_bytes),
            )

    def _more(self) -> Iterator[str]:
        if self.num_chunks > _SHOWN_CHUNKS:
            yield f"and {text.plural(self.num_chunks - _SHOWN_CHUNKS, 'chunk')} more"


_HEADINGS = ("row group", "column", "rows", "row ranges", "pages", "runs", "bytes")


def _name(column: str) -> str:
    return text.clip(text.visible(column), _SHOWN_CHARACTERS)


def _ranges(rows: Rows) -> Ranges:
    return tuple(rows.tolist())


def _ranges_text(ranges: Ranges) -> str:
    shown = ", ".join(f"{start:,}:{stop:,}" for start, stop in ranges[:_SHOWN_RANGES])
    rest = len(ranges) - _SHOWN_RANGES
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def _aligned(rows: list[tuple[str, ...]], right: set[int]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
