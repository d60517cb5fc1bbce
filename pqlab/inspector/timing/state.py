"""What the user did to a timing panel: immutable, changed by pure functions in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from pqlab.errors import SelectionError
from pqlab.inspector.state import Order
from pqlab.inspector.timing.frames import TimingFrames

Span: TypeAlias = tuple[int, int]  # half-open, ns from the trace's origin
Measure: TypeAlias = Literal["page", "value"]

_MIN_SPAN_NS = 100
_DEAREST = Order("total_ns", descending=True)


@dataclass(frozen=True, slots=True)
class TimingState:
    """What is looked at.

    `read`: of the trace, None: all. `shown`: the part of its time that the timeline shows, None:
    all of it. `brush`: the part that filters the other views. `columns`: the ones they show, by
    ordinal in `TimingFrames.columns`; none: all. `measure`: of the distribution.
    """

    read: int | None = None
    shown: Span | None = None
    brush: Span | None = None
    columns: frozenset[int] = frozenset()
    measure: Measure = "page"
    order: Order = _DEAREST


def start(frames: TimingFrames) -> TimingState:
    """All reads, or the last one where there is more time between them than in them."""
    reads = frames.reads.filter(frames.reads["kind"] == "read")
    if reads.height < 2:
        return TimingState()
    inside = int(reads["duration_ns"].fill_null(0).sum())
    return TimingState(read=None if 2 * inside >= frames.stop_ns else int(reads["read"][-1]))


def act(
    frames: TimingFrames, state: TimingState, name: str, arguments: Mapping[str, Any]
) -> TimingState:
    """The state after an action. Raises `SelectionError` for what is none."""
    if name not in ACTIONS:
        raise SelectionError(f"there is no action {name!r}")
    try:
        return ACTIONS[name](frames, state, **arguments)
    except (TypeError, ValueError, OverflowError) as error:
        raise SelectionError(
            f"the action {name!r} cannot be {dict(arguments)!r}: {error}"
        ) from None


def look_at(frames: TimingFrames, state: TimingState, *, read: Any) -> TimingState:
    """Look at one read of the trace, None: at all of them."""
    if read is not None and not (isinstance(read, int) and 0 <= read < frames.reads.height):
        raise SelectionError(f"there is no read {read!r} among {frames.reads.height:,}")
    return replace(state, read=read, shown=None, brush=None)


def zoom(frames: TimingFrames, state: TimingState, *, span: Any) -> TimingState:
    """Show this part of the time, None: all of it."""
    return replace(state, shown=None if span is None else _span(frames, span))


def brush(frames: TimingFrames, state: TimingState, *, span: Any) -> TimingState:
    """Let the other views show this part of the time, None: all of it."""
    return replace(state, brush=None if span is None else _span(frames, span))


def pick_column(
    frames: TimingFrames, state: TimingState, *, column: int, more: bool = False
) -> TimingState:
    """Show this column in the other views, or, if that is what they show, all again."""
    if not 0 <= int(column) < len(frames.columns):
        raise SelectionError(f"there is no column {column!r} among {len(frames.columns):,}")
    new = frozenset({int(column)})
    if more:
        return replace(state, columns=state.columns ^ new)
    return replace(state, columns=frozenset() if state.columns == new else new)


def clear(frames: TimingFrames, state: TimingState) -> TimingState:  # noqa: ARG001  # as every action
    """Filter nothing."""
    return replace(state, brush=None, columns=frozenset())


def measure(frames: TimingFrames, state: TimingState, *, of: str) -> TimingState:  # noqa: ARG001  # as every action
    """Measure the distribution by page, or by value."""
    if of not in get_args(Measure):
        raise SelectionError(f"{of!r} is none of {', '.join(get_args(Measure))}")
    return replace(state, measure=of)  # type: ignore[arg-type]


def sort(frames: TimingFrames, state: TimingState, *, column: str) -> TimingState:  # noqa: ARG001  # as every action
    """Sort the pages by a column: falling, rising, as they were decoded."""
    old = state.order
    if old.column != str(column):
        return replace(state, order=Order(str(column), descending=True))
    return replace(state, order=Order(old.column) if old.descending else Order())


ACTIONS: dict[str, Callable[..., TimingState]] = {
    function.__name__: function
    for function in (look_at, zoom, brush, pick_column, clear, measure, sort)
}


def _span(frames: TimingFrames, span: Any) -> Span:
    first, last = (int(end) for end in span)
    first, last = min(first, last), max(first, last)
    stop = max(frames.stop_ns, _MIN_SPAN_NS)
    first = min(max(first, 0), stop - _MIN_SPAN_NS)
    return first, min(max(last, first + _MIN_SPAN_NS), stop)
