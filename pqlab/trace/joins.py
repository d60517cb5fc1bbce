"""What events say together: which requests a page came with, how far it was when asked for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pqlab.trace.events import NO_PAGE, Events, Prefetch, Stage
from pqlab.trace.recorder import Recorded

Rows = npt.NDArray[np.int64]  # ordinals of events


class Requested(NamedTuple):
    """Pairs (event of a page, event of a request that brought bytes of it), by the first."""

    page: Rows
    fetch: Rows


def requests_of_pages(recorded: Recorded) -> Requested:
    """Which requests of the same read each page's bytes came with, by their places in the file.

    Where two requests of a read fetched the same bytes, those that began after the page are out.
    """
    events, read = recorded.events, recorded.read
    fetches = np.flatnonzero((events["stage"] == Stage.FETCH) & (events["request_id"] >= 0))
    pages = np.flatnonzero((events["page"] != NO_PAGE) & (events["length"] >= 0))
    found = [Requested(np.empty(0, np.int64), np.empty(0, np.int64))]
    for number in np.unique(read[fetches]):
        mine = fetches[read[fetches] == number]
        mine = mine[np.argsort(events["offset"][mine], kind="stable")]
        theirs = pages[read[pages] == number]
        found.append(_overlaps(recorded, theirs, mine))
    page = np.concatenate([part.page for part in found])
    fetch = np.concatenate([part.fetch for part in found])
    order = np.lexsort((events["offset"][fetch], page))
    return Requested(page[order], fetch[order])


def _overlaps(recorded: Recorded, pages: Rows, fetches: Rows) -> Requested:
    events = recorded.events
    starts = events["offset"][fetches]
    stops = starts + events["bytes_in"][fetches]
    page_starts = events["offset"][pages]
    page_stops = page_starts + events["length"][pages]
    # Requests by start: those that begin before the page's end, from the first whose end, or that
    # of any before it, lies behind the page's start.
    last = np.searchsorted(starts, page_stops, "left")
    first = np.searchsorted(np.maximum.accumulate(stops), page_starts, "right")
    counts = np.maximum(last - first, 0)
    page = np.repeat(np.arange(len(pages)), counts)
    within = np.arange(len(page)) - np.repeat(np.cumsum(counts) - counts, counts)
    fetch = np.repeat(first, counts) + within
    came = (stops[fetch] > page_starts[page]) & (
        events["start_ns"][fetches[fetch]] <= events["start_ns"][pages[page]]
    )
    return Requested(pages[page[came]], fetches[fetch[came]])


def prefetch_of_pages(recorded: Recorded, requested: Requested) -> npt.NDArray[np.uint8]:
    """`Prefetch` of every event: as stated, else told from the first ask for its row group.

    A page was ready if all its stages had ended by then, and in flight if it lay in a worker's
    queue, or a request for it had begun.
    """
    events = recorded.events
    stated = np.ascontiguousarray(events["prefetch"])
    pages = np.flatnonzero((events["page"] != NO_PAGE) & _is_stage_of_page(recorded))
    asks = np.flatnonzero((events["stage"] == Stage.WAIT) & (stated != Prefetch.NONE))
    if not len(asks) or stated[pages].any():
        return stated
    known = np.array(recorded.asks, np.int64).reshape(-1, 3)
    group_of_ask, asked_ns = _first_of(
        np.concatenate([_row_group_keys(recorded, asks), (known[:, 0] << 32) | known[:, 1]]),
        np.concatenate([events["start_ns"][asks], known[:, 2]]),
    )
    keys = _row_group_keys(recorded, pages)
    place = np.minimum(np.searchsorted(group_of_ask, keys), len(group_of_ask) - 1)
    asked = group_of_ask[place] == keys
    pages, asked_ns = pages[asked], asked_ns[place[asked]]
    begun_ns = events["start_ns"].copy()
    begun_ns[pages] -= np.maximum(events["queued_ns"][pages], 0)
    np.minimum.at(begun_ns, requested.page, events["start_ns"][requested.fetch])
    stop_ns = events["start_ns"] + events["duration_ns"]
    # All events of a page share when it had begun and when it was done.
    cells = np.stack([recorded.read[pages], *(events[c][pages] for c in _PAGE)], axis=1)
    _, page = np.unique(cells, axis=0, return_inverse=True)
    page = page.reshape(-1)
    begun = np.full(len(pages), np.iinfo(np.int64).max)
    done = np.full(len(pages), np.iinfo(np.int64).min)
    np.minimum.at(begun, page, begun_ns[pages])
    np.maximum.at(done, page, stop_ns[pages])
    told = stated.copy()
    told[pages] = np.select(
        [done[page] <= asked_ns, begun[page] <= asked_ns],
        [Prefetch.READY, Prefetch.LATE],
        Prefetch.QUEUE_EMPTY,
    )
    return told


def with_last_pages(recorded: Recorded, waits: Rows) -> Events:
    """These waits, with row group, leaf and page, where no page is stated, of what came last.

    That is the page of the row groups asked for whose last stage ended last before the wait did.
    """
    found = recorded.events[waits]
    pages = np.flatnonzero((recorded.events["page"] != NO_PAGE) & _is_stage_of_page(recorded))
    keys = _row_group_keys(recorded, pages)
    stop_ns = (recorded.events["start_ns"] + recorded.events["duration_ns"])[pages]
    order = np.lexsort((stop_ns, keys))
    pages, keys, stop_ns = pages[order], keys[order], stop_ns[order]
    together: dict[tuple[int, int], list[int]] = {}
    for ask in recorded.asks:
        together.setdefault((ask.read, ask.asked_ns), []).append((ask.read << 32) | ask.row_group)
    reads = recorded.read[waits].tolist()
    for wait, read, key in zip(found, reads, _row_group_keys(recorded, waits), strict=True):
        if wait["page"] != NO_PAGE:
            continue
        done_ns = wait["start_ns"] + wait["duration_ns"]
        last = [
            (stop_ns[at], pages[at])
            for each in together.get((read, int(wait["start_ns"])), [int(key)])
            if (at := _last_before(keys, stop_ns, each, done_ns)) >= 0
        ]
        if last:
            for cell in _PAGE:
                wait[cell] = recorded.events[cell][max(last)[1]]
    return found


def _last_before(
    keys: npt.NDArray[np.int64], stop_ns: npt.NDArray[np.int64], key: int, time_ns: int
) -> int:
    """The last one of the key that had stopped by then; -1: none. Sorted by both."""
    first, last = np.searchsorted(keys, [key, key + 1])
    at = int(first + np.searchsorted(stop_ns[first:last], time_ns, "right")) - 1
    return at if at >= first else -1


_PAGE = ("row_group", "leaf", "page")


def _is_stage_of_page(recorded: Recorded) -> npt.NDArray[np.bool_]:
    stages: npt.NDArray[np.bool_] = ~np.isin(recorded.events["stage"], (Stage.WAIT, Stage.FAILURE))
    return stages


def _row_group_keys(recorded: Recorded, rows: Rows) -> npt.NDArray[np.int64]:
    reads = recorded.read[rows].astype(np.int64)
    return (reads << 32) | recorded.events["row_group"][rows].astype(np.int64)


def _first_of(
    keys: npt.NDArray[np.int64], times: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The distinct keys, sorted, and the earliest time of each."""
    order = np.lexsort((times, keys))
    distinct, first = np.unique(keys[order], return_index=True)
    return distinct, times[order][first]
