"""Frames written for other programs: CSV, JSON, NDJSON, Parquet, Arrow IPC."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

import polars as pl

from pqlab import tables

_SLICE_ROWS = 1 << 16  # of CSV, at a time

_Write = Callable[[pl.DataFrame, IO[bytes]], object]


def write(frame: pl.DataFrame, form: str, file: IO[bytes]) -> None:
    """Write the frame in one of `FORMS` to a binary file, which may be a pipe."""
    if form not in BINARY_FORMS or file.seekable():
        FORMS[form](frame, file)
        return
    # polars hides it when a pipe is closed: it writes to memory, and we to the pipe.
    buffer = io.BytesIO()
    FORMS[form](frame, buffer)
    file.write(buffer.getbuffer())


def write_path(frame: pl.DataFrame, form: str, path: Path) -> None:
    """Write the frame to a file, which is complete or, if anything fails, as it was before."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with aside.open("xb") as file:
            write(frame, form, file)
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def form_of(path: Path) -> str | None:
    """The form that a file's suffix stands for; None for another suffix."""
    return _SUFFIXES.get(path.suffix.lower())


def _csv(frame: pl.DataFrame, file: IO[bytes]) -> None:
    file.write(frame[:0].write_csv().encode())
    for part in frame.iter_slices(_SLICE_ROWS):
        columns = [_csv_column(column) for column in tables.portable(part)]
        file.write(pl.DataFrame(columns).write_csv(include_header=False).encode())


def _csv_column(column: pl.Series) -> pl.Series:
    """Lists and structs as JSON, bytes in base64: CSV has only text."""
    if column.dtype.is_nested():
        texts = [
            None if value is None else tables.to_json(value, ascii_only=False)
            for value in column.to_list()
        ]
    elif column.dtype == pl.Binary:
        texts = [None if value is None else base64.b64encode(value).decode() for value in column]
    else:
        return column
    return pl.Series(column.name, texts, pl.String)


def _json(frame: pl.DataFrame, file: IO[bytes]) -> None:
    file.write(b"[")
    for number, row in enumerate(tables.json_rows(frame)):
        file.write(f"{',' if number else ''}\n{row}".encode())
    file.write(b"\n]\n")


def _ndjson(frame: pl.DataFrame, file: IO[bytes]) -> None:
    file.writelines(f"{row}\n".encode() for row in tables.json_rows(frame))


FORMS: dict[str, _Write] = {
    "csv": _csv,
    "json": _json,
    "ndjson": _ndjson,
    "parquet": pl.DataFrame.write_parquet,
    "arrow": pl.DataFrame.write_ipc,
}
BINARY_FORMS = frozenset({"parquet", "arrow"})
_SUFFIXES = {
    **{f".{form}": form for form in FORMS},
    ".jsonl": "ndjson",
    ".ipc": "arrow",
    ".feather": "arrow",
}
