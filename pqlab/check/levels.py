"""Levels inside of nested columns, held against the histograms that are stated of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from pqlab.check.rules import Violation
from pqlab.footer.metadata import Present
from pqlab.page import Page

if TYPE_CHECKING:
    from pqlab.reader import ParquetFile

_KINDS = ("repetition", "definition")


def level_violations(
    file: ParquetFile, row_group: int, leaf: int, pages: np.ndarray
) -> Iterator[Violation]:
    """Histograms of the chunk's SizeStatistics that its levels do not have.

    `pages`: the ordinals of its data pages.
    """
    metadata, node = file.metadata, file.metadata.leaves[leaf]
    row = metadata.chunk_row(row_group, leaf)
    present = int(metadata.chunk_cells("present", [row])[0])
    if not present & Present.SIZE_STATISTICS:
        return
    sizes = metadata.size_statistics([row])
    stated = {kind: getattr(sizes, f"{kind}_level_histogram").tolist() for kind in _KINDS}
    if not any(stated.values()):
        return
    highest = {"repetition": node.max_repetition_level, "definition": node.max_definition_level}
    found = {kind: np.zeros(highest[kind] + 1, np.int64) for kind in _KINDS}
    for page in pages.tolist():
        levels = Page(file, row_group, leaf, page).levels
        for kind in _KINDS:
            counts = np.bincount(levels[f"{kind}_level"].to_numpy(), minlength=len(found[kind]))
            found[kind] += counts[: len(found[kind])]
    for kind in _KINDS:
        if stated[kind] and stated[kind] != found[kind].tolist():
            yield Violation(
                "levels",
                f"the {kind} levels are others",
                row_group,
                leaf,
                stated=", ".join(map(str, stated[kind])),
                found=", ".join(map(str, found[kind].tolist())),
            )
