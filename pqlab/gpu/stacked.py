"""Rows that were decoded in parts, one under the other."""

from __future__ import annotations

from typing import NamedTuple

from pqlab.native._native import Decoded


class Stacked(NamedTuple):
    """The columns of consecutive rows; a device with little memory gives them so."""

    parts: list[Decoded]

    @property
    def nbytes(self) -> int:
        """Bytes of all."""
        return sum(part.nbytes for part in self.parts)
