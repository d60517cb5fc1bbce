"""Faults of old writers that only `created_by` tells of."""

from __future__ import annotations

import re
from functools import cache

_LEFT_IS_COMPRESSED_FALSE = re.compile(r"parquet-cpp(-arrow)? version [012]\.")
_FIXED_PARQUET_MR = r"version (?:1\.(?:[89]|\d\d)|[2-9]|\d\d)\b"
_PREFIXES_REACH_BACK = re.compile(rf"parquet-mr(?! {_FIXED_PARQUET_MR})|$")


@cache
def left_is_compressed_false(created_by: str | None) -> bool:
    """Whether v2 pages are compressed though their headers say that they are not.

    parquet-cpp did so before 3.0.0.
    """
    return bool(_LEFT_IS_COMPRESSED_FALSE.match(created_by or ""))


@cache
def prefixes_reach_back(created_by: str | None) -> bool:
    """Whether the first prefix of a DELTA_BYTE_ARRAY page may be one of the page before.

    parquet-mr wrote such pages before 1.8.0 (PARQUET-246); early builds state no version, and some
    no name.
    """
    return bool(_PREFIXES_REACH_BACK.match(created_by or ""))
