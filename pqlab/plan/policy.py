"""How a source is asked for bytes."""

from __future__ import annotations

from dataclasses import dataclass

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True, slots=True)
class IOPolicy:
    """Sizes in bytes. Raises `ValueError` for values that no reader could work with.

    `gap_bytes`: wanted ranges this close are fetched in one request; it is also what one more
    request is taken to cost. `max_request_bytes`: no request is longer. `concurrency`: requests in
    flight at once. `window_bytes`: row groups are fetched together up to so many bytes, while those
    fetched before are decoded; at most two such windows (or two row groups, if larger) are held.
    `footer_guess_bytes`: how much of the file's end is fetched first.
    """

    gap_bytes: int = 16 * KIB
    max_request_bytes: int = 4 * MIB
    concurrency: int = 4
    window_bytes: int = 256 * MIB
    footer_guess_bytes: int = 64 * KIB

    def __post_init__(self) -> None:
        for name, least in (
            ("gap_bytes", 0),
            ("max_request_bytes", 1),
            ("concurrency", 1),
            ("window_bytes", 1),
            ("footer_guess_bytes", 8),
        ):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least {least}")

    @classmethod
    def local(cls) -> IOPolicy:
        """For files on a local disk, where a request costs microseconds."""
        return cls()
