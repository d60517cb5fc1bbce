"""The memory that frames, fetched bytes and scratch take, and what is kept of it."""

from __future__ import annotations

from dataclasses import dataclass

from pqlab import text
from pqlab.native import _native


@dataclass(frozen=True, slots=True)
class Memory:
    """What pqlab's pool of buffers holds. Buffers below 32 KiB are malloc's and not counted.

    `in_use_bytes`: of buffers that something holds: frames, reads under way. `kept_bytes`: of
    buffers that nothing holds any more, kept because fresh memory costs page faults; at most
    `limit_bytes`. `high_water_bytes`: the most that was in use at any time. Of `allocations` so
    far, `reuses` took kept memory.
    """

    in_use_bytes: int
    kept_bytes: int
    high_water_bytes: int
    limit_bytes: int
    allocations: int
    reuses: int

    def __repr__(self) -> str:
        in_use, kept, high_water, limit = (
            text.size(size)
            for size in (
                self.in_use_bytes,
                self.kept_bytes,
                self.high_water_bytes,
                self.limit_bytes,
            )
        )
        return (
            f"<pqlab.Memory: {in_use} in use ({high_water} at most), "
            f"{kept} of {limit} kept; {text.plural(self.allocations, 'allocation')}, "
            f"{self.reuses:,} from what was kept>"
        )


def memory(*, limit_bytes: int | None = None, release: bool = False) -> Memory:
    """What pqlab's pool of buffers holds in this process.

    `limit_bytes`: how much it may keep from now on for buffers to come (at first an eighth of the
    memory of the machine or container, at most 4 GiB); 0: nothing. `release`: what is kept goes
    back to the system first. Raises ValueError for a negative limit.
    """
    if limit_bytes is not None:
        if limit_bytes < 0:
            raise ValueError(f"limit_bytes must not be negative: {limit_bytes}")
        _native.limit_memory(limit_bytes)
    if release:
        _native.release_memory()
    return Memory(*_native.memory_use())
