"""How a source is asked for bytes: every size, count and time of pqlab's I/O, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Self

from pqlab import text

KIB, MIB = 1 << 10, 1 << 20
_MOST_GAP_BYTES = 4 * MIB


@dataclass(frozen=True, slots=True)
class IOPolicy:
    """Sizes in bytes, times in seconds. `ValueError` for values that no reader could work with.

    What goes into one request:
    `gap_bytes`: wanted ranges this close may be fetched in one request; it is also what one more
    request is taken to cost. `overread_share`: of the wanted bytes, so much may be fetched in
    gaps; more only while there are more requests than `concurrency`. `max_request_bytes`: no
    request is longer. `split_bytes`: a longer range is split where that keeps more connections
    busy. `footer_guess_bytes`: how much of the file's end is fetched first. `walk_bytes`: the first
    window of a walk over page headers; where pages are small, the next ones are larger, up to
    `largest_walk_bytes`. `header_bytes`: a page header by itself is taken to be no longer.

    How requests are made: `concurrency`: in flight at once. `bytes_per_thread`: a thread more is
    started for so many bytes. `copy_buffer_bytes`: what a client library delivers is copied in
    pieces of this size, at most; local files are not copied.

    How far ahead: `window_bytes`: so much is fetched and not yet decoded, at most (or a row group,
    if larger). `part_bytes`: so much is decoded at once, at least, while more is fetched.
    `first_window`: an iteration begins so many row groups ahead, before it has learned more.

    When requests fail: `attempts` of each, with a random pause of up to `backoff_s`, doubled each
    time, between them, until `deadline_s` after the first began. `connect_timeout_s`, and
    `stall_timeout_s` without a byte, end an attempt.

    `basis` says where the values come from.
    """

    gap_bytes: int = 16 * KIB
    overread_share: float = 1.0
    max_request_bytes: int = 4 * MIB
    split_bytes: int = 4 * MIB
    footer_guess_bytes: int = 64 * KIB
    walk_bytes: int = 16 * KIB
    largest_walk_bytes: int = 1 * MIB
    header_bytes: int = 16 * KIB
    concurrency: int = 4
    bytes_per_thread: int = 1 * MIB
    copy_buffer_bytes: int = 1 * MIB
    window_bytes: int = 256 * MIB
    part_bytes: int = 256 * MIB
    first_window: int = 1
    attempts: int = 5
    backoff_s: float = 0.1
    deadline_s: float = 120.0
    connect_timeout_s: float = 5.0
    stall_timeout_s: float = 20.0
    basis: str = field(default="given", compare=False)

    def __post_init__(self) -> None:
        for cell in fields(self):
            least = _LEAST.get(cell.name, 1)
            value = getattr(self, cell.name)
            if cell.name != "basis" and not value >= least:
                raise ValueError(f"{cell.name} is {value}; it must be at least {least}")

    @property
    def words(self) -> str:
        """What the plan of a remote file says of it; nothing for local files."""
        if self.basis == "local":
            return ""
        gap, longest = text.size(self.gap_bytes), text.size(self.max_request_bytes)
        return f"{self.basis}; gaps up to {gap}, {self.concurrency} requests of up to {longest}"

    @classmethod
    def local(cls) -> Self:
        """For files on a local disk, where a request costs microseconds."""
        return cls(basis="local")

    @classmethod
    def remote(cls) -> Self:
        """For object stores, of which nothing has been measured yet."""
        return cls.measured(latency_s=0.03, bytes_per_s=50e6, basis="remote")

    @classmethod
    def measured(cls, latency_s: float, bytes_per_s: float, *, basis: str | None = None) -> Self:
        """For a store with this latency until the first byte, and bandwidth of one connection.

        A gap is worth fetching while that takes no longer than one more request would wait.
        """
        gap_bytes = _clamped(latency_s * bytes_per_s, 16 * KIB, _MOST_GAP_BYTES)
        return cls(
            gap_bytes=gap_bytes,
            overread_share=0.05,
            split_bytes=512 * KIB,
            max_request_bytes=8 * MIB,
            footer_guess_bytes=256 * KIB,
            walk_bytes=gap_bytes,
            concurrency=32,
            bytes_per_thread=1,
            window_bytes=128 * MIB,
            part_bytes=1 * MIB,
            first_window=16,
            basis=basis
            or f"measured: {latency_s * 1e3:.1f} ms, {bytes_per_s / 1e6:.0f} MB/s a connection",
        )


_LEAST = {
    "first_window": 0,
    "gap_bytes": 0,
    "overread_share": 0,
    "footer_guess_bytes": 8,
    "backoff_s": 0,
    "deadline_s": 0,
    "connect_timeout_s": 0.001,
    "stall_timeout_s": 0.001,
}


def _clamped(value: float, least: int, most: int) -> int:
    return int(min(max(value, least), most))
