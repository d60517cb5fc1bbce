"""Arrays of which some cells are not known, as polars series with nulls."""

from __future__ import annotations

import numpy as np
import polars as pl


def int64(values: np.ndarray) -> pl.Series:
    """Numbers that are all known."""
    return pl.Series(values.astype(np.int64))


def nullable(values: np.ndarray, valid: np.ndarray) -> pl.Series:
    """Values of which those that are not `valid` are unknown."""
    series = pl.Series(values)
    if valid.all():
        return series
    if not valid.any():
        return series.clear().extend_constant(None, len(values))
    return series.set(pl.Series(~valid), None)


def known(values: np.ndarray) -> pl.Series:
    """Numbers of which -1 is unknown."""
    return nullable(values, values != -1)


def tristate(values: np.ndarray) -> pl.Series:
    """-1 unknown, 0 false, 1 true."""
    return nullable(values > 0, values >= 0)


def flag_pair(flags: np.ndarray, true: int, false: int) -> pl.Series:
    """True where the bits `true` are set, false where the bits `false` are, else unknown."""
    return nullable(flags & true != 0, flags & (true | false) != 0)


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> pl.Series:
    """The ratio of sizes; unknown where one is negative, or the denominator 0."""
    valid = (numerator >= 0) & (denominator > 0)
    if not valid.any():
        return pl.Series(dtype=pl.Float64).extend_constant(None, len(valid))
    return nullable(numerator / np.where(valid, denominator, 1), valid)
