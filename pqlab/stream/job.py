"""Jobs: whole reads that go on while the caller does something else."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

Frame = TypeVar("Frame")

_POLL_S = 0.1


class Progress(NamedTuple):
    """How far a job is. Bytes are compressed, with page headers; `num_bytes`: of all pages."""

    pages_done: int
    bytes_done: int
    num_bytes: int

    @property
    def share(self) -> float:
        """Of the bytes, from 0 to 1."""
        return min(self.bytes_done / self.num_bytes, 1.0) if self.num_bytes else 1.0


class Reading(Protocol):
    """What a job waits for: `Unit`, of a part of a file, or `FileRead`, of one of several."""

    @property
    def done(self) -> bool: ...  # noqa: D102  # as Unit's
    def wait(self) -> None: ...  # noqa: D102  # as Unit's
    def wait_until(self, until: float) -> bool: ...  # noqa: D102  # as Unit's
    def cancel(self) -> None: ...  # noqa: D102  # as Unit's
    def progress(self) -> tuple[int, int, int]: ...  # noqa: D102  # as Unit's


class Readings(Protocol):
    """Where they are from."""

    def ended(self) -> None: ...  # noqa: D102  # as FileParts'
    def failed(self, error: BaseException) -> None: ...  # noqa: D102  # as FileParts'
    def decoded(self, units: Any) -> list[Any]: ...  # noqa: D102  # as FileParts'


class Job(Generic[Frame]):
    """A read under way; made by `submit`. When it is no longer used, it is cancelled.

    Safe to ask from several threads; `result` from one at a time.
    """

    def __init__(
        self,
        file: Readings,
        units: Sequence[Reading],
        assemble: Callable[[Sequence[Any]], Frame],
        num_bytes: int,
        executor: ThreadPoolExecutor | None,
    ) -> None:
        self._file, self._units, self._assemble = file, units, assemble
        self._num_bytes, self._executor = num_bytes, executor
        self._frame: Frame | None = None
        self._error: BaseException | None = None
        self._cancelled = False

    def then(self, finish: Callable[[Frame], Frame]) -> Self:
        """The same job, of which the frame is what `finish` makes of it."""
        assemble = self._assemble
        self._assemble = lambda parts: finish(assemble(parts))
        return self

    @property
    def done(self) -> bool:
        """Whether all is read, or an error has ended it."""
        return all(unit.done for unit in self._units)

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled before it was done."""
        return self._cancelled

    @property
    def progress(self) -> Progress:
        """How far it is."""
        counts = [unit.progress() for unit in self._units]
        pages = sum(pages for pages, _, _ in counts)
        return Progress(pages, sum(done for _, _, done in counts), self._num_bytes)

    def cancel(self) -> None:
        """Take up nothing more of it; nobody waits for what is under way."""
        if self._frame is None and self._error is None and not self.done:
            self._cancelled = True
            self._file.ended()
        self._stop()

    def _stop(self) -> None:
        for unit in self._units:
            unit.cancel()
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def wait(self, timeout_s: float) -> bool:
        """Wait until it is done, or so long; whether it is."""
        until = time.monotonic() + timeout_s
        return all(unit.wait_until(until) for unit in self._units)

    def result(self, *, progress: bool = False) -> Frame:
        """Wait, and have the frame. `progress` shows a bar, in a notebook or a terminal.

        Raises what `read` raises, and `concurrent.futures.CancelledError`. An interrupt cancels.
        """
        if self._error is not None:
            raise self._error
        if self._frame is None:
            try:
                self._wait_for_all(progress=progress)
                self._frame = self._assemble(self._file.decoded(self._units))
            except BaseException as error:
                if self._cancelled:
                    raise CancelledError from None
                self._error = error
                self._file.failed(error)
                self._stop()
                raise
            self._file.ended()
        return self._frame

    def __del__(self) -> None:
        if getattr(self, "_units", None) and self._frame is None:
            self.cancel()

    def __repr__(self) -> str:
        state = "cancelled" if self._cancelled else "done" if self.done else "under way"
        return f"<pqlab job: {state}, {self.progress.share:.0%}>"

    def _wait_for_all(self, *, progress: bool) -> None:
        if self._cancelled:
            raise CancelledError
        if not progress:
            for unit in self._units:
                unit.wait()
            return
        from tqdm.auto import tqdm

        with tqdm(total=self._num_bytes, unit="B", unit_scale=True, desc="read") as bar:
            while not self.wait(_POLL_S) and not self._cancelled:
                bar.update(self.progress.bytes_done - bar.n)
            bar.update(self._num_bytes - bar.n)
