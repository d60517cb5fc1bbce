"""The kinds of frames that are handed out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import polars as pl
import pyarrow as pa

from pqlab.assemble.arrow import joined, to_frame, to_table
from pqlab.errors import SelectionError, placed
from pqlab.gpu import joining
from pqlab.gpu.frame import DeviceFrame
from pqlab.native._native import Decoded
from pqlab.stream.iterator import Form
from pqlab.stream.options import To, ToDevice, check_choice
from pqlab.stream.parts import Part
from pqlab.stream.units import FileParts


def form(to: str) -> Form[Any]:
    """The form of that name; ValueError if there is none."""
    check_choice("to", to, Literal[To, ToDevice])
    return _FORMS[to]


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


def _on_device(_: Part, file: FileParts, decoded: list[Any]) -> DeviceFrame:
    if not decoded:
        raise SelectionError("a frame on a device has at least one column", file=file.file.name)
    return joining.beside(decoded)


def _plain(part: Part, file: FileParts, decoded: list[Any]) -> DeviceFrame:
    frame = _on_device(part, file, decoded)
    with placed(file=file.file.name):
        for column in frame.columns:
            column.check_plain()
    return frame


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
_ON_DEVICE = Form(assemble=_on_device, cut=joining.cut, join=joining.join)
_FORMS: dict[str, Form[Any]] = {
    "polars": _POLARS,
    "arrow": _ARROW,
    "cupy": _ON_DEVICE,
    "arrow_device": _ON_DEVICE,
    "dlpack": _ON_DEVICE._replace(assemble=_plain),
}
