"""Whether each file of a dataset is sound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pqlab.check import check, unreadable
from pqlab.dataset.parallel import each
from pqlab.errors import PqlabError

if TYPE_CHECKING:
    from pqlab.dataset.dataset import Dataset


def check_files(dataset: Dataset, *, quick: bool) -> pl.DataFrame:
    """As `check`, of every file; an error is a row of the file that raised it."""

    def of_one(number: int) -> pl.DataFrame:
        try:
            return check(dataset.file(number), quick=quick)
        except PqlabError as error:
            return unreadable(dataset.files[number], error)

    # In full each file keeps all CPUs busy by itself.
    return pl.concat(each(dataset.io.concurrency if quick else 1, of_one, range(len(dataset))))
