"""Widgets for notebooks: the inspector, and panels of what reads cost. Needs `pqlab[lab]`."""

from __future__ import annotations

from pqlab.widgets.compare import ComparePanel as ComparePanel
from pqlab.widgets.inspector import Inspector as Inspector, inspect as inspect
from pqlab.widgets.timing import TimingPanel as TimingPanel
