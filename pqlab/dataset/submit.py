"""Reads of several files that go on while the caller does something else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING

from pqlab.io.waiting import result_of, wait_for

if TYPE_CHECKING:
    import polars as pl

    from pqlab.stream.job import Job


class FileRead:
    """A file of a dataset, read by a thread of `executor`: its own job, and what is made of it."""

    def __init__(
        self,
        executor: ThreadPoolExecutor,
        begin: Callable[[], Job[pl.DataFrame] | None],
        finish: Callable[[pl.DataFrame | None], pl.DataFrame],
    ) -> None:
        """`begin`: None where nothing of the file is read; `finish` gets that, or the frame."""
        self._begin, self._finish = begin, finish
        self._lock = threading.Lock()
        self._cancelled = False
        self._job: Job[pl.DataFrame] | None = None
        self._future = executor.submit(copy_context().run, self._read)

    @property
    def done(self) -> bool:
        """Whether its frame, or what ended it, is there."""
        return self._future.done()

    def wait(self) -> None:
        """Wait for it, whatever comes of it; a signal's exception ends that."""
        wait_for(self._future)

    def wait_until(self, until: float) -> bool:
        """Wait, at most until that time of `time.monotonic`; whether it is done."""
        return wait_for(self._future, until)

    def cancel(self) -> None:
        """Take up nothing more of it."""
        with self._lock:
            self._cancelled = True
            job = self._job
        self._future.cancel()
        if job is not None:
            job.cancel()

    def progress(self) -> tuple[int, int, int]:
        """Pages that are done, 0 (how many there are is not known), bytes of those."""
        job = self._job
        if job is None:
            return 0, 0, 0
        pages, done, _ = job.progress
        return pages, 0, done

    def result(self) -> pl.DataFrame:
        """Wait, and have the frame. Raises what ended it early."""
        return result_of(self._future)

    def _read(self) -> pl.DataFrame:
        job = None if self._cancelled else self._begin()
        with self._lock:
            self._job, cancelled = job, self._cancelled
        if job is None:
            return self._finish(None)
        if cancelled:
            job.cancel()
        return self._finish(job.result())


class FileReads:
    """What a job asks of its reads: those of a dataset's files are recorded one by one."""

    def ended(self) -> None:
        """Each file's own read has ended."""

    def failed(self, error: BaseException) -> None:
        """The file's own read has failed."""

    def decoded(self, units: Sequence[FileRead]) -> list[pl.DataFrame]:
        """The frames of the files."""
        return [unit.result() for unit in units]
