"""Trace: what each page and each request cost, as data.

`events` says what is recorded, `recorder` records it, `frames` shows it, `chrome` exports it.
"""

from __future__ import annotations

from pqlab.trace.events import (
    EVENT as EVENT,
    MISSES as MISSES,
    SERVED as SERVED,
    Attempt as Attempt,
    Events as Events,
    Prefetch as Prefetch,
    Reason as Reason,
    ServedRanges as ServedRanges,
    Stage as Stage,
    WindowChange as WindowChange,
    WindowReason as WindowReason,
    blank_events as blank_events,
)
from pqlab.trace.recorder import Recording as Recording, Trace as Trace, active as active
