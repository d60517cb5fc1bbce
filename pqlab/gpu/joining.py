"""Frames on a device cut apart and put under each other, by copies within the device."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pqlab.gpu.device import Device
from pqlab.gpu.frame import DeviceColumn, DeviceFrame
from pqlab.gpu.launch import launch_over
from pqlab.gpu.memory import download
from pqlab.gpu.results import check_offset, count_bits


class _Piece(NamedTuple):
    """Rows [start, stop) of a column."""

    column: DeviceColumn
    start: int
    stop: int

    @property
    def length(self) -> int:
        """How many rows."""
        return self.stop - self.start


def cut(frame: DeviceFrame, start: int, stop: int) -> DeviceFrame:
    """Rows [start, stop): the frame itself if these are all, else a copy."""
    if stop - start == frame.num_rows:
        return frame
    columns = [[_Piece(column, start, stop)] for column in frame.columns]
    return _frame(columns, stop - start, frame.device)


def join(frames: Sequence[DeviceFrame]) -> DeviceFrame:
    """Frames of the same columns, under each other. `LimitError` beyond 32-bit offsets."""
    if len(frames) == 1:
        return frames[0]
    columns = zip(*(frame.columns for frame in frames), strict=True)
    pieces = [[_Piece(each, 0, each.length) for each in column] for column in columns]
    return _frame(pieces, sum(frame.num_rows for frame in frames), frames[0].device)


def beside(frames: Sequence[DeviceFrame]) -> DeviceFrame:
    """Frames of as many rows, side by side."""
    columns = tuple(column for frame in frames for column in frame.columns)
    return DeviceFrame(columns, frames[0].num_rows, frames[0].device)


def _frame(pieces: list[list[_Piece]], num_rows: int, device: Device) -> DeviceFrame:
    frame = DeviceFrame(tuple(_Join(each).column() for each in pieces), num_rows, device)
    device.synchronize()
    return frame


class _Join:
    """The pieces of a column, which become one."""

    def __init__(self, pieces: list[_Piece]) -> None:
        self.pieces, self.like = pieces, pieces[0].column
        self.device = self.like.device
        self.lengths = [piece.length for piece in pieces]

    def column(self) -> DeviceColumn:
        """The column of all."""
        like = self.like
        bits = None if like.bits is None else self._bits([each.column.bits for each in self.pieces])
        starts = data = None
        children: tuple[DeviceColumn, ...] = ()
        if like.starts is not None:
            spans = [self._inner(piece) for piece in self.pieces]
            starts = self._starts(spans)
            if like.children:
                children = (self._child(0, spans),)
            else:
                data = self._bytes(spans)
        elif like.children:
            spans = [(piece.start, piece.stop) for piece in self.pieces]
            children = tuple(self._child(at, spans) for at in range(len(like.children)))
        elif pa.types.is_boolean(like.type):
            data = self._bits([each.column.data for each in self.pieces])
        elif like.data is not None:
            width = like.type.bit_width // 8
            data = self._bytes([(each.start * width, each.stop * width) for each in self.pieces])
        return DeviceColumn(
            name=like.name,
            type=like.type,
            length=sum(self.lengths),
            null_count=self._null_count(bits),
            children=children,
            device=self.device,
            bits=bits,
            starts=starts,
            data=data,
        )

    def _null_count(self, bits: Any) -> int:
        if bits is not None:
            return sum(self.lengths) - count_bits(self.device, [bits])[0]
        return sum(self.lengths) if pa.types.is_null(self.like.type) else 0

    def _child(self, ordinal: int, spans: list[tuple[int, int]]) -> DeviceColumn:
        pieces = [
            _Piece(piece.column.children[ordinal], *span)
            for piece, span in zip(self.pieces, spans, strict=True)
        ]
        return _Join(pieces).column()

    def _inner(self, piece: _Piece) -> tuple[int, int]:
        """The elements, or bytes, of a piece's rows."""
        column = piece.column
        if piece.length == column.length:
            return 0, column.children[0].length if column.children else column.data.nbytes  # type: ignore[union-attr]
        assert column.starts is not None
        ends = column.starts[piece.start : piece.stop + 1].view(np.uint8)
        first, last = (download(self.device, each, np.int32) for each in (ends[:4], ends[-4:]))
        return int(first[0]), int(last[0])

    def _starts(self, spans: list[tuple[int, int]]) -> Any:
        check_offset(sum(stop - start for start, stop in spans), "elements", self.like.name)
        out = self.device.empty(sum(self.lengths) + 1, np.int32)
        at = inner = 0
        for piece, (start, stop) in zip(self.pieces, spans, strict=True):
            count = piece.length + 1
            assert piece.column.starts is not None
            from_, to = piece.column.starts[piece.start : piece.stop + 1], out[at : at + count]
            arguments = [from_, np.uint64(count), np.int32(inner - start), to]
            launch_over(self.device, "move_offsets", count, arguments)
            at += piece.length
            inner += stop - start
        return out

    def _bytes(self, spans: list[tuple[int, int]]) -> Any:
        sizes = [stop - start for start, stop in spans]
        out = self.device.empty(sum(sizes), np.uint8)
        ends = accumulate(sizes)
        for piece, (start, stop), end in zip(self.pieces, spans, ends, strict=True):
            assert piece.column.data is not None
            if stop > start:
                self.device.copy(piece.column.data[start:stop], out[end - (stop - start) : end])
        return out

    def _bits(self, bitmaps: list[Any]) -> Any:
        # Whole words: kernels write them.
        size = -(-sum(self.lengths) // 32) * 4
        out = self.device.zeros(size, np.uint8)
        at = 0
        for piece, bits in zip(self.pieces, bitmaps, strict=True):
            if piece.length:
                numbers = [np.uint64(each) for each in (piece.start, piece.length, at)]
                launch_over(self.device, "move_bits", piece.length + 32, [bits, *numbers, out])
            at += piece.length
        return out[: -(-sum(self.lengths) // 8)]
