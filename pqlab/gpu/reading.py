"""A read on a device, as iterations and jobs wait for those of native threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from pqlab.errors import PqlabError
from pqlab.gpu.frame import DeviceFrame
from pqlab.gpu.stacked import Stacked
from pqlab.native._native import Decoded

_ONE_AT_A_TIME = threading.Lock()  # a device, and the emulator's fibres, serve one read


class DeviceReading:
    """A read that was done when it was made, by the thread that made it: its result, or its error.

    It has the members of `pqlab.cpu.engine.Reading`, and is its own job.
    """

    def __init__(self, read: Callable[[], Stacked | Decoded | DeviceFrame]) -> None:
        self._error: PqlabError | None = None
        self._decoded: Stacked | Decoded | DeviceFrame | None = None
        try:
            with _ONE_AT_A_TIME:
                self._decoded = read()
        except PqlabError as error:
            self._error = error
        self.done, self.cancelled = True, False
        self.done_ns = time.perf_counter_ns()
        self.progress = 0, 0, 0 if self._decoded is None else self._decoded.nbytes

    @property
    def job(self) -> DeviceReading:
        """Itself."""
        return self

    def result(self) -> Any:
        """Take the columns, once. Raises what ended the read."""
        if self._error is not None:
            raise self._error
        decoded, self._decoded = self._decoded, None
        if decoded is None:
            raise RuntimeError("the result is taken")
        return decoded

    def wait(self, timeout_ns: int) -> bool:  # noqa: ARG002 - a native job's
        """Nothing to wait for."""
        return True

    def urge(self) -> None:
        """Nothing is under way."""

    def cancel(self) -> None:
        """Let the columns go."""
        self.cancelled, self._decoded = True, None
