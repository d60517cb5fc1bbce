"""Trace: what each page and each request cost, as data."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


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


# The layout of `struct Event` in pqlab/native/event.cuh; cells that do not apply are -1, `page` -2.
EVENT = np.dtype(
    [
        ("start_ns", "<i8"),
        ("duration_ns", "<i8"),
        ("bytes_in", "<i8"),
        ("bytes_out", "<i8"),
        ("values", "<i8"),
        ("row_group", "<i4"),
        ("leaf", "<i4"),
        ("page", "<i4"),
        ("request_id", "<i4"),
        ("worker", "<i4"),
        ("stage", "u1"),
        ("encoding", "i1"),
        ("codec", "i1"),
        ("reserved", "u1"),
    ]
)
assert EVENT.itemsize == 64
