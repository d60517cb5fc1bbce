"""`TimingPanel`: what reads cost, charted in a notebook."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import traitlets

from pqlab.inspector.panel import PanelSession
from pqlab.inspector.timing import Timing, static
from pqlab.trace import Trace
from pqlab.widgets.shown import Shown, Value, user_namespace

if TYPE_CHECKING:
    import altair as alt
    import polars as pl


class TimingPanel(Shown):
    """What the reads of a trace cost: a timeline, and the views that brushing it filters.

    `brush` is the brushed time, `(start, stop)` in ns from the trace's start, half open, or None;
    setting it brushes. `pages` is a frame of the pages that are shown: a row per page with what
    each stage of it took. Both can be observed. The panel shows the trace as it was when the panel
    was made.
    """

    hint = (
        "These are its sums alone. In a notebook with a kernel, run the cell again to see when "
        "each page was read, and to brush."
    )
    part = traitlets.Unicode("timing").tag(sync=True)
    brush = traitlets.Any(allow_none=True)
    pages = Value(read_only=True)

    def __init__(self, trace: Trace) -> None:
        if not isinstance(trace, Trace):
            raise TypeError(f"a timing panel is of a pqlab.Trace, not of {trace!r}")
        super().__init__()
        self.trace = trace
        self._timing = Timing(trace)
        self._session = PanelSession(self._timing, self.send, namespace=user_namespace())
        self._handle = self._session.handle
        self._session.on_change = self._tell_traits
        self._is_telling = False
        self._tell_traits()

    def _tell_traits(self) -> None:
        timing = self._timing
        self._is_telling = True
        try:
            self.brush = timing.state.brush
            self.set_trait("pages", timing.pages)
        finally:
            self._is_telling = False

    @traitlets.observe("brush")
    def _brushed(self, change: Any) -> None:
        if not self._is_telling:
            self._session.do("brush", span=change.new)

    def to_frame(self) -> pl.DataFrame:
        """The trace's events, as `Trace.to_frame`."""
        return self.trace.to_frame()

    def to_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the trace-event format, as `Trace.to_chrome_trace`."""
        self.trace.to_chrome_trace(path)

    def chart(self) -> alt.Chart:
        """The columns' time by stage, in the brushed time, as a chart to take along."""
        import altair as alt

        from pqlab.inspector.timing.charts import bars_frame

        timing = self._timing
        frame = bars_frame(timing.frames, timing.state)
        stages = frame["stage"].unique(maintain_order=True).to_list()
        bars: alt.Chart = (
            alt.Chart(frame)
            .mark_bar()
            .encode(
                x=alt.X("sum(ms):Q", title="time of all workers, ms"),
                y=alt.Y("column:N", sort="-x", title=None),
                color=alt.Color("stage:N", sort=stages),
                order=alt.Order("order:Q"),
                tooltip=["column:N", "stage:N", "ms:Q"],
            )
        )
        return bars

    def static(self) -> str:
        """Its sums as HTML without scripts."""
        return static.html(self._timing.frames)

    def __repr__(self) -> str:
        return "\n".join(static.lines(self._timing.frames))
