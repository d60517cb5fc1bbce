"""What two files have differently, from their schemas down to values. `ParquetFile.diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pqlab.diff.file_facts import file_facts
from pqlab.diff.values import shared_roots, value_differences
from pqlab.footer.facts import differences, of_both

if TYPE_CHECKING:
    from pqlab.reader import ParquetFile


def diff_files(
    left: ParquetFile, right: ParquetFile, *, values: bool, max_rows: int
) -> pl.DataFrame:
    """As `ParquetFile.diff`."""
    facts = [file_facts(file) for file in (left, right)]
    for name, part in (("column", "columns"), ("row_group", "row groups")):
        kept = of_both(facts, name, part)
        facts = [frame.filter(kept) for frame in facts]
    found = differences(*facts)
    if not values:
        return found
    names = shared_roots(left.schema, right.schema)
    return pl.concat([found, value_differences(left, right, names, max_rows=max_rows)])
