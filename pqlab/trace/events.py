"""Events as data: what they are made of, with the numbers that native code gives them."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt


class Stage(IntEnum):
    """The stages of a read; numbers as in pqlab/native/event.cuh."""

    FETCH = 0
    WAIT = 1
    DECOMPRESS = 2
    LEVELS = 3
    DECODE = 4
    LEVELS_DECODE = 5
    ASSEMBLE = 6
    COMPILE = 7
    H2D = 8
    KERNEL = 9
    D2H = 10
    PLAN = 11
    FAILURE = 12  # the error that ended the read, at its place

    @property
    def text(self) -> str:
        """The stage as frames show it: `levels+decode` where the two are fused."""
        return self.name.lower().replace("_", "+")


class Prefetch(IntEnum):
    """How far a page was when the consumer of an iteration asked for its rows.

    `READY`: decoded. Else the consumer had to wait, which is a miss: `LATE` for a page in flight
    (asked of the source, or queued for a worker), `QUEUE_EMPTY` for one that nobody had begun.
    """

    NONE = 0
    READY = 1
    LATE = 2
    QUEUE_EMPTY = 3

    @property
    def text(self) -> str:
        """As frames show it."""
        return self.name.lower()


MISSES = (Prefetch.LATE, Prefetch.QUEUE_EMPTY)


class Reason(IntEnum):
    """Why bytes are fetched."""

    NONE = 0
    FOOTER = 1
    PAGE_INDEX = 2
    PAGE_HEADERS = 3
    PAGES = 4
    DICTIONARY = 5
    BLOOM_FILTER = 6

    @property
    def text(self) -> str:
        """As frames show it."""
        return self.name.lower()


class WindowReason(IntEnum):
    """Why a prefetch window has the size that it has."""

    START = 0
    QUEUE_EMPTY = 1
    LATE = 2
    IDLE = 3  # pages lay ready for long
    MEMORY = 4  # the memory limit is near
    NO_GAIN = 5  # a larger one did not shorten the waits

    @property
    def text(self) -> str:
        """As frames show it."""
        return self.name.lower()


# The layout of `struct Event` in pqlab/native/event.cuh, which says what each cell is.
EVENT = np.dtype(
    [
        ("start_ns", "<i8"),
        ("duration_ns", "<i8"),
        ("queued_ns", "<i8"),
        ("offset", "<i8"),
        ("bytes_in", "<i8"),
        ("bytes_out", "<i8"),
        ("values", "<i8"),
        ("row_group", "<i4"),
        ("leaf", "<i4"),
        ("page", "<i4"),
        ("length", "<i4"),
        ("request_id", "<i4"),
        ("page_faults", "<i4"),
        ("worker", "<i2"),
        ("stage", "u1"),
        ("encoding", "i1"),
        ("codec", "i1"),
        ("prefetch", "u1"),
        ("reason", "u1"),
        ("reserved", "u1"),
    ]
)
assert EVENT.itemsize == 88

# What a request was for: [start, stop) of the file, which is all or a part of a run of pages. The
# layout of `struct Served` in pqlab/native/event.cuh.
SERVED = np.dtype(
    [
        ("start", "<i8"),
        ("stop", "<i8"),
        ("request_id", "<i4"),
        ("row_group", "<i4"),
        ("leaf", "<i4"),
    ],
    align=True,
)

Events: TypeAlias = npt.NDArray[np.void]  # of dtype EVENT
ServedRanges: TypeAlias = npt.NDArray[np.void]  # of dtype SERVED

NO_PAGE = -2
# The cells that can be absent, with what stands there then; the others are then 0.
ABSENT = {
    **dict.fromkeys(
        (
            *(
                "queued_ns",
                "offset",
                "bytes_in",
                "bytes_out",
                "values",
                "row_group",
                "leaf",
                "length",
                "request_id",
            ),
            *("page_faults", "worker", "encoding", "codec"),
        ),
        -1,
    ),
    "page": NO_PAGE,
}


class Attempt(NamedTuple):
    """One try of a request. `first_byte_ns` is a time on the trace's clock; None: not observed."""

    request_id: int
    start_ns: int
    first_byte_ns: int | None
    stop_ns: int
    received_bytes: int
    error: str | None  # None: it gave all bytes
    cached_bytes: int = 0  # no try, but bytes from a cache on disk
    copy_bytes: int = 0  # the buffer that the bytes were copied through; 0: none


class Ask(NamedTuple):
    """When the consumer of an iteration asked for rows of a row group."""

    read: int
    row_group: int
    asked_ns: int


class WindowChange(NamedTuple):
    """From `time_ns` on so many pages of the column are kept in flight or ready."""

    time_ns: int
    leaf: int  # -1: of all columns together
    window_pages: int
    why: WindowReason


def blank_events(count: int) -> Events:
    """Events in which nothing applies, at time 0."""
    events = np.zeros(count, EVENT)
    for cell, absent in ABSENT.items():
        events[cell] = absent
    return events
