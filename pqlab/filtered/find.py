"""Where in a file a value can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from pqlab.filtered.selection import FilteredSelection
from pqlab.predicate.predicate import Comparison, IsNull, Predicate
from pqlab.predicate.where import Where

if TYPE_CHECKING:
    from pqlab.reader import ParquetFile


def find(file: ParquetFile, leaf: int, value: Any) -> pl.DataFrame:
    """The rows of `explain` for row groups, and pages of the leaf, that can hold the value."""
    path = file.metadata.leaves[leaf].path
    predicate: Predicate = IsNull(path) if value is None else Comparison(path, "==", value)
    where = Where(predicate.to_polars(), predicate)
    selection = FilteredSelection(file.select(leaf), where, (leaf,), dictionary_share=1)
    return selection.explain().frame.filter("kept")
