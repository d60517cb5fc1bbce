"""The stages as they are drawn: each has a letter beside its colour, and a place in a bar."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from pqlab.trace import Stage


class Drawn(NamedTuple):
    """How a stage is drawn. Its ordinal in `DRAWN` is its colour and pattern in the browser."""

    name: str
    letter: str
    what: str


# In the order of a read, which is the order within a bar.
DRAWN = (
    Drawn("plan", "p", "what is read is worked out"),
    Drawn("wait", "w", "someone waits for bytes or pages"),
    Drawn("fetch", "f", "requests to the source"),
    Drawn("decompress", "z", "pages are decompressed"),
    Drawn("levels", "l", "nulls and lists are told from levels"),
    Drawn("decode", "d", "values are decoded, levels with them where the two are fused"),
    Drawn("assemble", "a", "columns become a frame"),
    Drawn("device", "g", "compiling, copies and kernels of a GPU"),
)
ORDINAL = {drawn.name: ordinal for ordinal, drawn in enumerate(DRAWN)}
_OTHERS = {
    Stage.LEVELS_DECODE: "decode",
    Stage.COMPILE: "device",
    Stage.H2D: "device",
    Stage.KERNEL: "device",
    Stage.D2H: "device",
}
_DRAWN_AS = {
    stage.text: ORDINAL[_OTHERS.get(stage, stage.text)] for stage in Stage if stage != Stage.FAILURE
}
OF_PAGES = (Stage.DECOMPRESS, Stage.LEVELS, Stage.DECODE, Stage.LEVELS_DECODE, Stage.KERNEL)


def drawn_as(stage: pl.Expr) -> pl.Expr:
    """The ordinal in `DRAWN` of a stage, null for what is no span of time."""
    return stage.replace_strict(_DRAWN_AS, default=None, return_dtype=pl.Int64)
