"""Every error that pqlab raises on its own account.

    PqlabError
    ├── CorruptError        the bytes contradict the specification
    ├── UnsupportedError    valid Parquet that pqlab does not read (LZO, file_path, unknown codes)
    ├── EncryptedError      the footer or the column is encrypted
    ├── LimitError          a limit of `Limits` stopped it; names the limit, its value, its argument
    ├── SelectionError      the selection names what the file does not have, or more than one thing
    ├── SourceError         the bytes could not be had
    │   └── SourceChangedError   the file changed while it was read
    └── EngineError         the engine asked for cannot run here

An error carries its place; layers that know more of the place than the one that raised fill it in
with `at()` while the error passes through them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from pqlab import text

_SHOWN_CHARACTERS = 1_000  # of a message, a hint, a part of the place: files name columns at will
_PLACE = ("file", "row_group", "column", "page", "offset", "field")


class PqlabError(Exception):
    """Base of pqlab's errors: `message`, `hint` (what to do), and the place where they apply.

    `row_group` and `page` are ordinals (the dictionary page is -1), `column` is the leaf's dotted
    path, `offset` an absolute byte position in the file, `field` a thrift field as
    `ColumnMetaData.num_values`.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        file: str | None = None,
        row_group: int | None = None,
        column: str | None = None,
        page: int | None = None,
        offset: int | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.file = file
        self.row_group = row_group
        self.column = column
        self.page = page
        self.offset = offset
        self.field = field

    def at(self, **place: str | int | None) -> Self:
        """Fill in parts of the place that are still unknown; returns the error itself."""
        for name, value in place.items():
            if name not in _PLACE:
                raise TypeError(f"not part of a place: {name!r}")
            if getattr(self, name) is None:
                setattr(self, name, value)
        return self

    @property
    def place(self) -> dict[str, str | int]:
        """What is known of the place, in the order file, row group, column, page, offset, field."""
        return {name: getattr(self, name) for name in _PLACE if getattr(self, name) is not None}

    def __str__(self) -> str:
        words = [
            f"{name.replace('_', ' ')} {_clip(repr(value))}" for name, value in self.place.items()
        ]
        place = f" [{', '.join(words)}]" if words else ""
        return _clip(self.message) + place + (f". {_clip(self.hint)}" if self.hint else "")


def _clip(words: str) -> str:
    return text.clip(words, _SHOWN_CHARACTERS)


@contextmanager
def placed(**place: str | int | None) -> Iterator[None]:
    """Fill in what is known here of the place of every `PqlabError` that passes through."""
    try:
        yield
    except PqlabError as error:
        error.at(**place)
        raise


class CorruptError(PqlabError):
    """The bytes contradict the specification, or are not Parquet at all."""


class UnsupportedError(PqlabError):
    """Valid Parquet that pqlab shows but does not read."""


class EncryptedError(PqlabError):
    """The footer or the column is encrypted."""


class LimitError(PqlabError):
    """Reading on would pass a limit of `pqlab.Limits`."""


class SelectionError(PqlabError):
    """The selection names what the file does not have, or what is not unique."""


class SourceError(PqlabError):
    """The bytes could not be had from the source."""


class SourceChangedError(SourceError):
    """The source is no longer the file that was opened."""


class EngineError(PqlabError):
    """The engine asked for cannot run on this machine."""
