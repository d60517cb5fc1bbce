"""What a hostile file may cost: each limit with its default, and the error that it ends in."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pqlab.errors import LimitError

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds checked before memory is taken. Sizes are bytes; raise one by passing `limits=`.

    `pqlab.open(source, limits=pqlab.Limits(page_bytes=4 << 30))`
    """

    footer_bytes: int = 1 * GIB
    schema_elements: int = 1_000_000
    schema_depth: int = 500
    row_groups: int = 10_000_000
    column_chunks: int = 100_000_000
    pages: int = 50_000_000  # of one column chunk
    page_header_bytes: int = 64 * MIB
    page_bytes: int = 2 * GIB - 1  # uncompressed, one page
    index_bytes: int = 2 * GIB - 1  # one chunk's column index or offset index
    read_bytes: int = 64 * GIB  # decoded size of one read, as the plan estimates it

    def within(self, memory_limit: int) -> Limits:
        """The same for a read that may take so many bytes."""
        read_bytes = min(self.read_bytes, memory_limit)
        return replace(self, read_bytes=read_bytes, page_bytes=min(self.page_bytes, memory_limit))

    def check(self, name: str, value: int, what: str, **place: int | str | None) -> None:
        """Raise `LimitError` if `value` is above the limit `name`; `what` says what needs it."""
        limit = getattr(self, name)
        if value > limit:
            raise LimitError(
                f"{what} needs {value:,}, above the limit {name} = {limit:,}",
                hint=f"If you trust the file, pass limits=pqlab.Limits({name}={value})",
            ).at(**place)


DEFAULT_LIMITS = Limits()
