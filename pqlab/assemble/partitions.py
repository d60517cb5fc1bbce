"""The values of `key=value` folders as columns: one type per key, found from all its values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

import polars as pl

_INTEGER = re.compile(r"-?[0-9]{1,19}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def partition_columns(partitions: Sequence[Sequence[tuple[str, str | None]]]) -> list[pl.Series]:
    """A column per key, in the order in which keys appear; a row per file, null where it has none.

    A key is Int64 if all its values are integers of that size, Date if all are `YYYY-MM-DD`, else
    String. The innermost of several folders with one key counts.
    """
    rows = [dict(partition) for partition in partitions]
    keys = dict.fromkeys(key for row in rows for key in row)
    return [_typed(key, [row.get(key) for row in rows]) for key in keys]


def _typed(key: str, values: list[str | None]) -> pl.Series:
    given = {value for value in values if value is not None}
    if given and all(_is_int64(value) for value in given):
        numbers = [None if value is None else int(value) for value in values]
        return pl.Series(key, numbers, pl.Int64)
    if given and all(_is_date(value) for value in given):
        dates = [None if value is None else date.fromisoformat(value) for value in values]
        return pl.Series(key, dates, pl.Date)
    return pl.Series(key, values, pl.String)


def _is_int64(value: str) -> bool:
    return bool(_INTEGER.fullmatch(value)) and -(1 << 63) <= int(value) < 1 << 63


def _is_date(value: str) -> bool:
    try:
        return bool(_DATE.fullmatch(value)) and date.fromisoformat(value) is not None
    except ValueError:
        return False
