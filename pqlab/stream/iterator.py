"""`Frames`: what an iteration hands out, one frame after the other, and where it stands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Self, TypeVar

from pqlab.native._native import Decoded
from pqlab.stream.order import Position
from pqlab.stream.parts import Part
from pqlab.stream.pipeline import Pipeline
from pqlab.stream.units import FileParts
from pqlab.trace import Stage
from pqlab.trace.recorder import timed

Frame = TypeVar("Frame")


class Form(NamedTuple, Generic[Frame]):
    """A kind of frame.

    `assemble`: of a part; `cut`: rows [start, stop) of a frame, sharing them; `join`: frames under
    each other.
    """

    assemble: Callable[[Part, FileParts, list[Decoded]], Frame]
    cut: Callable[[Frame, int, int], Frame]
    join: Callable[[Sequence[Frame]], Frame]


class Frames(Iterator[Frame]):
    """Frames in order; each stays as it is whatever comes later.

    Later row groups are read while the caller works. It closes itself behind the last frame, with
    an error, when it is no longer used, by `close`, or as a context manager: what is under way
    stops then, and nobody waits for it.
    """

    def __init__(
        self, pipeline: Pipeline, form: Form[Frame], position: Position, rows: int | None
    ) -> None:
        """`rows` of each frame but the last; None: a row group each."""
        self._pipeline, self._form, self._rows = pipeline, form, rows
        self._position = position
        self._lock = threading.Lock()
        self._part: Frame | None = None
        self._spans: list[tuple[int, int, bool]] = []  # of the part's segments, the next one last

    @property
    def state(self) -> dict[str, Any]:
        """Where it stands, behind the last frame handed out: plain values that JSON keeps.

        `iter_row_groups(state=...)`, or `iter_batches` with as many rows, goes on from there, in
        this process or another, with the same selection of the same files.
        """
        return self._position.to_state()

    def close(self) -> None:
        """Stop; what was handed out stays usable."""
        self._pipeline.close()
        self._part, self._spans = None, []

    def __next__(self) -> Frame:
        with self._lock:
            taken, position = self._take()
            if not taken:
                self.close()
                raise StopIteration
            frame = taken[0] if len(taken) == 1 else self._form.join(taken)
            self._position = position
            return frame

    def __iter__(self) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if pipeline := getattr(self, "_pipeline", None):
            pipeline.close()

    def _take(self) -> tuple[list[Frame], Position]:
        """What makes up the next frame, and where the iteration stands behind it."""
        taken: list[Frame] = []
        position, missing = self._position, self._rows
        while missing != 0 and (self._spans or self._next_part()):
            start, stop, ends = self._spans.pop()
            if missing is not None and stop - start > missing:
                self._spans.append((start + missing, stop, ends))
                stop, ends = start + missing, False
            taken.append(self._cut(start, stop))
            if missing is not None:
                missing -= stop - start
            if ends:
                position = position.at(position.row_groups + 1, 0)
            else:
                position = position.at(position.row_groups, position.rows + stop - start)
            if ends and missing is None:
                break
        return taken, position

    def _cut(self, start: int, stop: int) -> Frame:
        assert self._part is not None
        frame = self._form.cut(self._part, start, stop)
        if not self._spans:
            self._part = None  # what was cut from it keeps what it needs
        return frame

    def _next_part(self) -> bool:
        found = self._pipeline.next_part()
        if found is None:
            return False
        part, file, decoded = found
        try:
            with timed(file.recording, Stage.ASSEMBLE):
                self._part = self._form.assemble(part, file, decoded)
        except BaseException as error:
            self._pipeline.close(error)
            raise
        self._pipeline.handed_out()
        self._spans = part.spans()[::-1]
        return True
