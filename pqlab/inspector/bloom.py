"""A chunk's bloom filter on screen: its facts, and whether it may have a value that is typed in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from pqlab import text
from pqlab.footer.bloom_filter import BloomFilter, stored_values
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.types import leaf_arrow_type

_NONE = "This chunk has no bloom filter: nothing but its values, or its dictionary, tells."


def body(
    metadata: FileMetaData, row_group: int, leaf: int, found: BloomFilter | None, value: str
) -> dict[str, Any]:
    """What the tab shows. `found`: the filter, None if it is not read; `value`: what is asked for.

    `to_read`: what reading it takes, empty where there is none. `answer`: absent, maybe, unknown or
    wrong (the value is none of the column's type); None while nothing is asked for.
    """
    row = metadata.chunk_row(row_group, leaf)
    present = int(metadata.chunks.present[row])
    has = bool(present & Present.BLOOM_FILTER_OFFSET)
    length = int(metadata.chunks.bloom_filter_length[row])
    is_stated = present & Present.BLOOM_FILTER_LENGTH
    shown: dict[str, Any] = {
        "to_read": f"the bloom filter{f', {text.size(length)}' if is_stated else ''}"
        if has
        else "",
        "none": "" if has else _NONE,
        "facts": [],
        "value": value,
        "answer": None,
        "words": "",
    }
    if found is None:
        return shown
    answer, words = _answer(found, value) if value else (None, "")
    return {**shown, "facts": _facts(found), "answer": answer, "words": words}


def _facts(found: BloomFilter) -> list[list[str]]:
    return [
        ["blocks", f"{found.num_blocks:,} of 32 bytes"],
        ["bits that are set", text.share(found.set_share, 1)],
        ["other values that seem to be there", text.share(found.false_positive_share, 1)],
    ]


def _answer(found: BloomFilter, value: str) -> tuple[str, str]:
    arrow = leaf_arrow_type(*found.key)
    reader = next((read for fits, read in _READERS if fits(arrow)), None)
    if reader is None:
        return "unknown", f"Bloom filters do not tell values of type {arrow}."
    try:
        typed = reader(value.strip(), arrow)
    except (ValueError, OverflowError, InvalidOperation):
        return "wrong", f"{text.visible(value)} is no value of type {arrow}."
    if stored_values(typed, found.key) is None:
        return "unknown", "The filter cannot tell: the column does not hold this value as it is."
    if not found.might_contain(typed):
        return "absent", "Absent: no row of this chunk has it."
    share = text.share(found.false_positive_share, 1)
    return "maybe", f"Maybe: the chunk may have it; {share} of other values seem to be there, too."


def _timestamp(value: str, arrow: pa.DataType) -> datetime:
    found = datetime.fromisoformat(value)
    return found.replace(tzinfo=UTC) if found.tzinfo is None and arrow.tz is not None else found


def _bytes(value: str, _: pa.DataType) -> bytes:
    return bytes.fromhex(value[2:]) if value.startswith("0x") else value.encode()


_READERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[str, pa.DataType], Any]], ...] = (
    (pa.types.is_integer, lambda value, _: int(value)),
    (pa.types.is_floating, lambda value, _: float(value)),
    (pa.types.is_string_view, lambda value, _: value),
    (pa.types.is_binary_view, _bytes),
    (pa.types.is_date, lambda value, _: date.fromisoformat(value)),
    (pa.types.is_time, lambda value, _: time.fromisoformat(value)),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_decimal, lambda value, _: Decimal(value)),
)
