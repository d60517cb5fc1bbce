"""The inspector without a browser: what it shows and does, as values.

`state` is what the user sees and has picked, changed by `actions` alone; `grid`, `tables` and
`screens` make values of it; `slice_text` says what a selection reads; `session` binds it to a file.
"""

from __future__ import annotations

from pqlab.inspector.session import Session as Session
from pqlab.inspector.state import State as State
from pqlab.inspector.unopened import Unopened as Unopened
