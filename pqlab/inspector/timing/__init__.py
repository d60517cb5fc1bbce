"""A trace as the timing panel shows it: values and pure functions over the trace's frames.

`frames` has what is charted, `state` what the user did to it, `marks` draws the timeline, `charts`
the views that it filters, `panel` puts them on a screen, `linked` on one of the inspector's,
`static` where no scripts run.
"""

from __future__ import annotations

from pqlab.inspector.timing.frames import TimingFrames as TimingFrames
from pqlab.inspector.timing.linked import LinkedTiming as LinkedTiming
from pqlab.inspector.timing.panel import Timing as Timing
