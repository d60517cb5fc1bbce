"""Damaged files through the whole API: a typed error with the file's name, or a result."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from paged_files import NUM_ROWS, VARIANTS, paged_file

import pqlab

SEED = 20260726
CASES = 40  # for each variant
LIMITS = pqlab.Limits(read_bytes=1 << 28, page_bytes=1 << 26)

USES: dict[str, Callable[[pqlab.ParquetFile, random.Random], Any]] = {
    "info": lambda file, _: repr(file.info),
    "leaves": lambda file, _: file.leaves,
    "row groups": lambda file, _: file.row_groups,
    "column chunks": lambda file, _: file.column_chunks,
    "key values": lambda file, _: (file.key_value_metadata, file.arrow_schema()),
    "statistics": lambda file, pick: file.statistics(leaf(file, pick), pages=True),
    "pages": lambda file, _: file.pages(headers=True),
    "page header": lambda file, pick: file.page_header(0, leaf(file, pick), 0),
    "dictionary": lambda file, _: file.dictionary(0, 2),
    "layout": lambda file, _: file.layout(pages=True),
    "plan": lambda file, _: str(file.select(rows=slice(50, 60)).plan(walk=True)),
    "head": lambda file, _: file.head(5),
    "rows": lambda file, pick: file.read(rows=slice(pick.randrange(NUM_ROWS), None)),
    "picked pages": lambda file, pick: file.read(pages={leaf(file, pick): 0}),
    "everything": lambda file, _: file.read(),
}


def leaf(file: pqlab.ParquetFile, pick: random.Random) -> int:
    return pick.randrange(max(1, file.metadata.num_leaves))


def damaged(data: bytes, pick: random.Random) -> bytes:
    """A few bytes changed, more often in the footer than elsewhere, or the end cut off."""
    changed = bytearray(data)
    footer_start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for _ in range(pick.choice([1, 1, 2, 4])):
        start = footer_start if pick.random() < 0.5 else 4
        at = pick.randrange(start, len(data) - 8)
        changed[at] = pick.choice([0, 0x7F, 0x80, 0xFF, pick.randrange(256)])
    return bytes(changed)


@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_damaged_files_end_in_typed_errors(variant: int) -> None:
    pick = random.Random(SEED + variant)
    ends: Counter[str] = Counter()
    for case in range(CASES):
        data = damaged(paged_file(variant).data, pick)
        try:
            file = pqlab.open(data, limits=LIMITS)
        except pqlab.PqlabError as error:
            ends[type(error).__name__] += 1
            continue
        for name, use in USES.items():
            try:
                use(file, pick)
                ends["result"] += 1
            except pqlab.PqlabError as error:
                ends[type(error).__name__] += 1
                if error.file != "<bytes>":
                    pytest.fail(f"no file in the error of {name}, case {case}: {error}")
    assert ends["result"] > 100
    assert ends["CorruptError"] > 20


@pytest.mark.parametrize("kept", [0, 1, 8, 11, 12, 100, 5000])
def test_cut_files(kept: int) -> None:
    with pytest.raises(pqlab.CorruptError) as caught:
        pqlab.open(paged_file(0).data[:kept])
    assert caught.value.file == "<bytes>"
