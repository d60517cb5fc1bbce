"""Frames one after the other, each filtered when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import polars as pl

from pqlab.stream.options import To, check_choice

if TYPE_CHECKING:
    from pqlab.stream.iterator import Frames

Frame = TypeVar("Frame")


class FilteredFrames(Iterator[Frame], Generic[Frame]):
    """`Frames`, of each of which only the rows are left for which a predicate holds."""

    def __init__(
        self,
        frames: Frames[pl.DataFrame],
        filtered: Callable[[pl.DataFrame], pl.DataFrame],
        to: To,
    ) -> None:
        check_choice("to", to, To)
        self._frames, self._filtered, self._to = frames, filtered, to

    @property
    def state(self) -> dict[str, Any]:
        """Where it stands, as of `Frames.state`."""
        return self._frames.state

    def close(self) -> None:
        """Stop; what was handed out stays usable."""
        self._frames.close()

    def __next__(self) -> Frame:
        frame: Any = self._filtered(next(self._frames))
        is_arrow = self._to == "arrow"
        found: Frame = frame.to_arrow(compat_level=pl.CompatLevel.newest()) if is_arrow else frame
        return found

    def __iter__(self) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
