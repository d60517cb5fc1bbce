"""Files in object stores and on web servers, through obstore.

obstore's own retries and resumes cannot be seen and would mix two states of a file, so it makes one
try per request; every response is checked to be of the file that was opened and of the range that
was asked for. Its errors hold URLs and signatures: they are told in words of `failures`.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from pqlab.errors import SourceChangedError, SourceError
from pqlab.io import failures
from pqlab.io.cache import Cache
from pqlab.io.crew import aside
from pqlab.io.failures import Failure, Kind
from pqlab.io.kept_ranges import KeptRanges, kept_ranges
from pqlab.io.source import (
    AT_HAND,
    DIRECT,
    Attempt,
    Bytes,
    Identity,
    Source,
    Transfer,
    padded_empty,
)
from pqlab.plan.policy import IOPolicy

_MEASURED_REQUESTS = 8  # the policy follows from the first ones, and stays then
_MEASURABLE_BYTES = 64 << 10  # what came in less is no measure of the bandwidth
_FRESH_S = 5  # a file so fresh may be written once more within the clock's last second
_FEW = (0, 16)  # a range of any file: what it tells is the size
_ASK_OTHERWISE = (Kind.NO_RANGES, Kind.BEYOND)

_forked = False


class Known(NamedTuple):
    """What tells one state of an object from another."""

    size: int
    etag: str | None
    last_modified: datetime | None

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> Known:
        """What a response or a listing says; clients give 1970 for a time that nobody said."""
        modified: datetime | None = meta["last_modified"]
        if modified is not None and modified.timestamp() <= 0:
            modified = None
        return cls(int(meta["size"]), meta["e_tag"], modified)

    def difference(self, other: Known) -> Failure | None:
        """Why `other` is not the same state; None: nothing says so."""
        for what, mine, its in zip(("size", "etag", "time"), self, other, strict=True):
            if mine is not None and mine != its:
                return failures.changed(f"its {what} is another")
        return None

    @property
    def match(self) -> str | None:
        """What a server compares; a weak etag never matches."""
        return self.etag if self.etag and not self.etag.startswith("W/") else None

    def identity(self, name: str, *, has_secrets: bool) -> Identity | None:
        """The key for caches. Without an etag, what a URL hides could be another file."""
        if self.etag is not None:
            return Identity(name, self.size, version=f"etag {self.etag}")
        fresh = datetime.now(UTC).timestamp() - _FRESH_S
        if self.last_modified is None or has_secrets or self.last_modified.timestamp() > fresh:
            return None
        return Identity(name, self.size, version=f"modified {self.last_modified.isoformat()}")


class _AttemptError(Exception):
    """Ends an attempt; never leaves it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class ObjectSource(Source):
    """An object of a store, whose `path` in it is text; opened by one request for its end.

    The bytes of that request are kept while `hold` says so: footer and page index lie there. Closed
    while a request is under way, the request ends at its next piece.
    """

    def __init__(
        self,
        store: Any,
        path: str,
        *,
        name: str,
        code: str | None,
        has_secrets: bool,
        policy: IOPolicy | None = None,
        known: Known | None = None,
        hold: bool = True,
        cache: Cache = None,
    ) -> None:
        if _forked:
            raise SourceError(
                "this process was forked from one that had read remote files",
                hint='Start processes by "spawn" or "forkserver"',
                file=name,
            )
        self.name, self.code = name, code
        self._store, self._path = store, path
        self._fixed_policy = policy
        self._known = known
        self._lock = threading.Lock()
        self._measured: list[tuple[float, float | None]] = []  # seconds of latency, bytes/s
        self._closed = False
        self._tail: Bytes = np.empty(0, np.uint8)
        self._kept: KeptRanges | None = None
        self._opening = self._open(self.policy.footer_guess_bytes)
        assert self._known is not None
        self.size = self._known.size
        self.identity = self._known.identity(name, has_secrets=has_secrets)
        self._kept = kept_ranges(cache, self.identity)
        self._hold = hold or len(self._tail) == self.size

    @property
    def policy(self) -> IOPolicy:  # type: ignore[override]
        """As it was given, else as the first requests suggest."""
        if self._fixed_policy is not None:
            return self._fixed_policy
        with self._lock:
            measured = list(self._measured)
        if not measured:
            return IOPolicy.remote()
        speeds = [speed for _, speed in measured if speed is not None]
        presumed = IOPolicy.remote().gap_bytes / 0.03
        return IOPolicy.measured(
            min(latency for latency, _ in measured), max(speeds, default=presumed)
        )

    def read_tail(self, num_bytes: int) -> tuple[Bytes, Transfer]:
        """The last bytes of the file, all of a shorter one; those that opening it has fetched."""
        tail, transfer = self.request(max(0, self.size - num_bytes), self.size)
        if not self._hold:
            self._tail = np.empty(0, np.uint8)
        return tail, self._opening if transfer is AT_HAND else transfer

    def request(self, start: int, stop: int) -> tuple[Bytes, Transfer]:
        """The bytes [start, stop), as of `Source.request`; those of the opening are not copied."""
        self._check_range(start, stop)
        first = self.size - len(self._tail)
        if start >= first and not self._closed:
            return self._tail[start - first : stop - first], AT_HAND
        return super().request(start, stop)

    def check_unchanged(self) -> None:
        """Nothing to ask: every response was checked to be of the file that was opened."""

    def close(self) -> None:
        """Let go of the connections; requests under way end with their next piece."""
        self._closed = True
        self._tail = np.empty(0, np.uint8)

    def _open(self, guess_bytes: int) -> Transfer:
        """Fetch the file's end, and learn its size by it, in one request if the server can.

        A server without suffix ranges is first asked for a range that tells the size; one without
        any ranges for the whole file, if that is short.
        """
        if self._known is not None:
            tail, transfer = self._end(guess_bytes)
        else:
            asks: tuple[Any, ...] = ({"suffix": guess_bytes}, _FEW, None)
            for wanted in asks:
                fetched = self._first(wanted)
                if not isinstance(fetched, Failure) or fetched.kind not in _ASK_OTHERWISE:
                    break
            if isinstance(fetched, Failure):
                raise self._error(fetched, None)
            tail, transfer = self._end(guess_bytes) if wanted is _FEW else fetched
        self._tail = tail
        self._tail.flags.writeable = False
        return transfer

    def _first(self, wanted: Any) -> tuple[Bytes, Transfer] | Failure:
        """The bytes of a file of which nothing is known before."""
        most_bytes = self.policy.max_request_bytes
        buffer = padded_empty(0)

        def buffer_of(known: Known, start: int, stop: int) -> Bytes:
            nonlocal buffer
            if wanted is None and known.size > most_bytes:
                message = f"the server serves no ranges of bytes, and the file has {known.size:,}"
                raise _AttemptError(Failure(Kind.FINAL, message, failures.DOWNLOAD))
            if wanted is not _FEW and stop != known.size:
                raise _AttemptError(failures.OTHER_RANGE)
            buffer = padded_empty(stop - start)
            return buffer

        transfer = aside(lambda: self._attempts(lambda _: wanted, buffer_of, resume=False))
        return transfer if isinstance(transfer, Failure) else (buffer, transfer)

    def _end(self, num_bytes: int) -> tuple[Bytes, Transfer]:
        """The last bytes of a file of known size."""
        assert self._known is not None
        buffer = padded_empty(min(num_bytes, self._known.size))
        return buffer, self._fill(self._known.size - len(buffer), buffer)

    def _fill(self, start: int, buffer: Bytes) -> Transfer:
        if not len(buffer):
            return DIRECT
        if self._closed:
            raise self._closed_error()
        if self._kept is None:
            return self._ask(start, buffer)
        return self._kept.fill(start, buffer, self._ask)

    def _ask(self, start: int, buffer: Bytes) -> Transfer:
        end = start + len(buffer)

        def buffer_of(_: Known, first: int, stop: int) -> Bytes:
            if stop != end:
                raise _AttemptError(failures.OTHER_RANGE)
            return buffer[first - start :]

        # A server that says how it tells states of the file apart may go on where it broke off.
        resume = self._known is not None and self._known.match is not None

        def ask() -> Transfer | Failure:
            return self._attempts(lambda done: (start + done, end), buffer_of, resume=resume)

        transfer = aside(ask)
        if isinstance(transfer, Failure):
            raise self._error(transfer, start)
        return transfer

    def _error(self, failure: Failure, offset: int | None) -> SourceError:
        gone = failure.kind in (Kind.MISSING, Kind.BEYOND) and self._known is not None
        kind = SourceChangedError if gone or failure.kind is Kind.CHANGED else SourceError
        return kind(failure.message, hint=failure.hint, file=self.name, offset=offset)

    def _attempts(
        self,
        wanted_after: Callable[[int], Any],
        buffer_of: Callable[[Known, int, int], Bytes],
        *,
        resume: bool,
    ) -> Transfer | Failure:
        """Ask until all bytes are there, or there is no hope; what has come is not asked again."""
        policy = self.policy
        begun = time.monotonic()
        attempts: list[Attempt] = []
        done = 0
        while True:
            if self._closed:
                raise self._closed_error()
            attempt, copy_bytes, failure = self._attempt(wanted_after(done), buffer_of, policy)
            attempts.append(attempt)
            if failure is None:
                return Transfer(tuple(attempts), copy_bytes)
            done += attempt.received_bytes if resume else 0
            elapsed, chance = time.monotonic() - begun, random.random()  # noqa: S311  # no secret
            pause = failures.pause_s(len(attempts), elapsed, chance, policy)
            if failure.kind is not Kind.AGAIN or pause is None:
                many = f" ({len(attempts)} attempts)" if len(attempts) > 1 else ""
                return replace(failure, message=failure.message + many)
            time.sleep(pause)

    def _attempt(
        self, wanted: Any, buffer_of: Callable[[Known, int, int], Bytes], policy: IOPolicy
    ) -> tuple[Attempt, int, Failure | None]:
        import obstore

        options = {} if wanted is None else {"range": wanted}
        if self._known is not None and self._known.match is not None:
            options["if_match"] = self._known.match
        failure = first_byte_ns = None
        done = piece_bytes = 0
        start_ns = time.perf_counter_ns()
        try:
            response = obstore.get(self._store, self._path, options=options)  # type: ignore[arg-type]
            first_byte_ns = time.perf_counter_ns()
            known = Known.of(response.meta)
            _check_same(self._known, known)
            buffer = buffer_of(known, *response.range)
            piece_bytes = max(1, min(policy.copy_buffer_bytes, len(buffer)))
            for piece in response.stream(piece_bytes):
                _check_length(done + len(piece) <= len(buffer), done, len(buffer))
                buffer[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
                done += len(piece)
                if self._closed:
                    break
            _check_length(done == len(buffer), done, len(buffer))
            self._known = self._known or known
        except _AttemptError as failed:
            failure = failed.failure
        except Exception as error:  # noqa: BLE001  # obstore raises builtins, too
            failure = failures.classify(error)
        stop_ns = time.perf_counter_ns()
        if failure is None and first_byte_ns is not None:
            self._measure(start_ns, first_byte_ns, stop_ns, done)
        words = None if failure is None else failure.message
        return Attempt(start_ns, first_byte_ns, stop_ns, done, words), piece_bytes, failure

    def _measure(self, start_ns: int, first_byte_ns: int, stop_ns: int, num_bytes: int) -> None:
        with self._lock:
            if len(self._measured) < _MEASURED_REQUESTS:
                seconds = max(stop_ns - first_byte_ns, 1) / 1e9
                speed = num_bytes / seconds if num_bytes >= _MEASURABLE_BYTES else None
                self._measured.append(((first_byte_ns - start_ns) / 1e9, speed))


def _check_same(before: Known | None, now: Known) -> None:
    different = before.difference(now) if before is not None else None
    if different is not None:
        raise _AttemptError(different)


def _check_length(right: bool, came: int, wanted: int) -> None:  # noqa: FBT001  # a condition
    if not right:
        message = f"not the {wanted:,} bytes came that the server announced"
        raise _AttemptError(Failure(Kind.AGAIN, message if came else "no bytes came"))


def _after_fork() -> None:
    import sys

    global _forked  # noqa: PLW0603  # obstore's threads are not in the child, and it would wait
    _forked = "obstore" in sys.modules


os.register_at_fork(after_in_child=_after_fork)
