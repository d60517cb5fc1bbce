"""The short statements about a file that its overview shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pqlab import text
from pqlab.errors import CorruptError
from pqlab.footer import names
from pqlab.footer.details import SortingColumn
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.types import type_warnings

MAX_WARNINGS = 5
MAX_ORDERS = 20  # that are asked for their order


@dataclass(frozen=True, slots=True)
class Fact:
    """One short statement about the file. `is_warning`: it deserves attention."""

    name: str
    value: str
    is_warning: bool = False


def file_facts(metadata: FileMetaData) -> Iterator[Fact]:
    """What the footer says of codecs, statistics, indexes, order, encryption; then its warnings."""
    chunks = metadata.chunks
    count = len(chunks.present)
    yield Fact("codecs", _codec_shares(metadata))
    for name, bit in (
        ("statistics", Present.STATISTICS),
        ("offset index", Present.OFFSET_INDEX),
        ("column index", Present.COLUMN_INDEX),
        ("bloom filters", Present.BLOOM_FILTER_OFFSET),
    ):
        yield Fact(name, _how_many(_count(metadata, bit), count))
    yield Fact("sorted", _sorting(metadata))
    encrypted = _count(metadata, Present.CRYPTO_METADATA)
    if metadata.encryption_algorithm is not None:
        algorithm = metadata.encryption_algorithm
        yield Fact("encrypted", f"{_how_many(encrypted, count)} with {algorithm}", is_warning=True)
    if external := _count(metadata, Present.FILE_PATH):
        yield Fact("in other files", _how_many(external, count), is_warning=True)
    if metadata.stated_num_rows != metadata.num_rows:
        stated = f"{metadata.stated_num_rows:,}, but the row groups have {metadata.num_rows:,}"
        yield Fact("the footer says num_rows is", stated, is_warning=True)
    yield from warning_facts([*metadata.warnings, *type_warnings(metadata)])


def warning_facts(warnings: Sequence[str]) -> Iterator[Fact]:
    """A fact per warning, and one for those that are too many."""
    for warning in warnings[:MAX_WARNINGS]:
        yield Fact("footer", warning, is_warning=True)
    if (more := len(warnings) - MAX_WARNINGS) > 0:
        yield Fact("footer", text.plural(more, "more warning"), is_warning=True)


def _sorting(metadata: FileMetaData) -> str:
    """By which columns the rows of the row groups are sorted, as far as the footer says."""
    (row_groups,) = np.nonzero(metadata.row_groups.num_sorting_columns > 0)
    how_many = _how_many(len(row_groups), metadata.num_row_groups, "row group")
    try:
        orders = {metadata.sorting_columns(int(number)) for number in row_groups[:MAX_ORDERS]}
    except CorruptError:
        return f"{how_many}, by what is unreadable"
    if len(orders) != 1:
        return f"{how_many}, differently" if orders else how_many
    return (
        f"{how_many} by {', '.join(_sorting_column(metadata, column) for column in orders.pop())}"
    )


def _sorting_column(metadata: FileMetaData, column: SortingColumn) -> str:
    known = 0 <= column.column_idx < metadata.num_leaves
    name = metadata.leaves[column.column_idx].column if known else f"#{column.column_idx}"
    return f"{name} descending" if column.descending else name


def _count(metadata: FileMetaData, bit: Present) -> int:
    return int(np.count_nonzero(metadata.chunks.present & np.uint32(bit)))


def _how_many(some: int, count: int, noun: str = "column chunk") -> str:
    if some == 0:
        return "none"
    if some == count:
        return f"the one {noun}" if count == 1 else f"all {text.plural(count, noun)}"
    return f"{some:,} of {text.plural(count, noun)}"


def _codec_shares(metadata: FileMetaData) -> str:
    sizes = metadata.chunks.total_compressed_size
    whole = total(sizes)
    codes, where = np.unique(metadata.chunks.codec, return_inverse=True)
    shares = [
        (total(sizes[where == position]), names.name(code, names.CODECS))
        for position, code in enumerate(codes.tolist())
    ]
    shares.sort(reverse=True)
    if len(shares) == 1:
        return shares[0][1]
    return ", ".join(f"{name} {text.share(size, whole)}" for size, name in shares) or "none"


def total(values: np.ndarray) -> int:
    """The sum of narrow integers, which alone could wrap."""
    return int(values.sum(dtype=np.int64))
