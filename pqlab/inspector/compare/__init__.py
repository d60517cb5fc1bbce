"""What two files, two traces, or two pieces of work have differently, as a screen shows it.

`difference` has what is compared, as values; `panel` what the user sees of it, `linked` within
an inspector, `static` where no scripts run.
"""

from __future__ import annotations

from pqlab.inspector.compare.difference import Difference as Difference, compared as compared
from pqlab.inspector.compare.linked import LinkedCompare as LinkedCompare
from pqlab.inspector.compare.panel import Compare as Compare
