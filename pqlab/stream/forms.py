"""The kinds of frames that are handed out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from pqlab.assemble.arrow import joined, to_frame, to_table
from pqlab.errors import placed
from pqlab.native._native import Decoded
from pqlab.stream.iterator import Form
from pqlab.stream.options import To, check_choice
from pqlab.stream.parts import Part
from pqlab.stream.units import FileParts


def form(to: str) -> Form[Any]:
    """The form of that name; ValueError if there is none."""
    check_choice("to", to, To)
    return _POLARS if to == "polars" else _ARROW


def _frame(_: Part, __: FileParts, decoded: list[Decoded]) -> pl.DataFrame:
    return to_frame(decoded)


def joined_frames(parts: Sequence[Decoded]) -> pl.DataFrame:
    """The parts' rows under each other."""
    return joined([to_frame([part]) for part in parts])


def _table(part: Part, file: FileParts, decoded: list[Decoded]) -> pa.Table:
    if not decoded:
        return pa.table({"": pa.nulls(part.num_rows)}).select([])
    with placed(file=file.file.name):
        return to_table(decoded)


_POLARS = Form(
    assemble=_frame,
    cut=lambda frame, start, stop: frame.slice(start, stop - start),
    join=lambda frames: pl.concat(frames, rechunk=False),
)
_ARROW = Form(
    assemble=_table,
    cut=lambda table, start, stop: table.slice(start, stop - start),
    join=pa.concat_tables,
)
