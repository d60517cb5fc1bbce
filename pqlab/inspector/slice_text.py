"""The slice bar: what the picked slice reads, and its text as code and as a magic."""

from __future__ import annotations

import csv
import io
import shlex
from typing import Any

import numpy as np

from pqlab import text
from pqlab.errors import PqlabError
from pqlab.file_selection import FileSelection
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.plan.picks import ColumnPick, Ordinals, Slice
from pqlab.plan.plan import Plan
from pqlab.plan.selection import Selection


def described(selection: FileSelection, plan: Plan) -> str:
    """What the plan reads, in one line."""
    low, high = plan.memory_low_bytes, plan.memory_high_bytes
    memory = text.size(high) if low == high else f"{text.size(low)} to {text.size(high)}"
    requests = text.plural(len(plan.requests), "request")
    shape = (
        text.plural(len(plan.tables.row_groups), "row group"),
        text.plural(len(plan.leaves), "column"),
        _pages(selection.file.metadata, plan),
    )
    return " · ".join(
        (
            " × ".join(part for part in shape if part),
            text.plural(plan.num_rows, "row") + _row_range(plan),
            f"reads {text.size(plan.requested_bytes)} in {requests}",
            f"about {memory} in memory",
            f"engine: {plan.engine} ({plan.engine_reason})",
        )
    )


def notes(selection: FileSelection, plan: Plan) -> list[str]:
    """Of picked pages: what the other columns decode to give the same rows."""
    tables, keys = plan.tables, selection.narrowed.pages
    picked = {leaf for _, leaf in keys}
    is_other = ~np.isin(tables.chunks["leaf"], list(picked))
    others = len(set(plan.leaves) - picked)
    if not keys or not others:
        return []
    owner = np.repeat(np.arange(len(tables.chunks)), tables.chunks["num_runs"])
    is_data = (tables.runs["first_page"] >= 0) & is_other[owner]
    pages, rows = (
        np.bincount(owner[is_data], tables.runs[name][is_data], len(tables.chunks))
        for name in ("num_pages", "num_rows")
    )
    words = f"Of the {text.plural(others, 'other column')}, "
    if (tables.runs["num_rows"][is_data] < 0).any():
        return [f"{words}pages are decoded that hold these rows, and cut to them."]
    groups = tables.row_groups["row_group"]
    wanted = tables.wanted_rows()[np.searchsorted(groups, tables.chunks["row_group"])]
    most = int((rows - wanted)[is_other].max(initial=0))
    count = text.plural(int(pages.sum()), "page")
    size = text.size(int(tables.chunk_bytes()[is_other].sum()))
    return [f"{words}{count} are decoded ({size}); up to {text.plural(most, 'row')} are cut off."]


def details(plan: Plan) -> list[str]:
    """What deserves attention beside it."""
    found = list(plan.warnings)
    if plan.unresolved_chunks:
        chunks = text.plural(plan.unresolved_chunks, "chunk")
        found.append(f"{chunks} read whole, since their pages are not known")
    return found


def _pages(metadata: FileMetaData, plan: Plan) -> str:
    """The number of data pages, as far as it is known without reading."""
    chunks, runs = plan.tables.chunks, plan.tables.runs
    data = runs["first_page"] >= 0
    counts = runs["num_pages"].astype(np.int64)
    if not (counts[data] < 0).any():
        return text.plural(int(counts[data].sum()), "page")
    of = chunks["row_group"].astype(np.int64) * metadata.num_leaves + chunks["leaf"]
    stated = metadata.chunks.present[of] & np.uint32(Present.ENCODING_STATS) != 0
    owner = np.repeat(np.arange(len(chunks)), chunks["num_runs"])
    unknown = np.unique(owner[data & (counts < 0)])
    if not stated[unknown].all():
        return ""
    known = int(counts[data & (counts >= 0)].sum())
    pages = known + int(metadata.chunks.num_data_pages[of[unknown]].sum(dtype=np.int64))
    return text.plural(pages, "page")


def _row_range(plan: Plan) -> str:
    """Where the rows are, if they are one range of one row group and not all of it."""
    if len(plan.tables.row_groups) != 1 or len(plan.tables.ranges) != 1:
        return ""
    ((row_group, ranges),) = plan.row_groups
    ((start, stop),) = ranges
    return f" ({start:,}:{stop:,} of row group {row_group})"


def magic(source: str | None, selection: Selection, variable: str) -> str:
    """The selection as a line of `%pqread`."""
    words = ["%pqread", shlex.quote(source or "<source>")]
    for pick in selection.columns or ():
        words += ["-c", shlex.quote(_column(pick))]
    if selection.row_groups is not None:
        words += ["-g", _ordinals(selection.row_groups)]
    for key, pages in selection.pages or ():
        place, column = "", key
        if isinstance(key, tuple) and isinstance(key[0], int):
            place, column = f"{key[0]}/", key[1]
        words += ["-p", shlex.quote(f"{place}{_plain(column)}:{_ordinals(pages)}")]
    for rows in selection.rows or ():
        start, stop = rows[0], rows[1]
        words += ["-r", f"{'' if start is None else start}:{'' if stop is None else stop}"]
    return " ".join([*words, "-o", variable])


def _plain(pick: Any) -> str:
    if isinstance(pick, int):
        return f"#{pick}"
    return ".".join(pick) if isinstance(pick, tuple) else str(pick)


def _column(pick: ColumnPick) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([_plain(pick)])
    return line.getvalue()


def _ordinals(picked: Ordinals) -> str:
    return ",".join(_ordinal(pick) for pick in picked)


def _ordinal(pick: int | Slice) -> str:
    if not isinstance(pick, Slice):
        return str(pick)
    start, stop = ("" if end is None else str(end) for end in (pick.start, pick.stop))
    return f"{start}:{stop}"


def explained(error: PqlabError) -> dict[str, str]:
    """An error as a screen shows it: what, where, and what to do."""
    place = ", ".join(
        f"{name.replace('_', ' ')} {text.clip(text.visible(str(value)), 200)}"
        for name, value in error.place.items()
    )
    return {
        "kind": type(error).__name__,
        "message": text.clip(text.visible(error.message), 500),
        "place": place,
        "hint": "" if error.hint is None else text.clip(text.visible(error.hint), 500),
    }
