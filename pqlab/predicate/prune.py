"""What metadata says of a condition: each step from what was read to the rows it rules out. Pure.

Bounds are compared by polars as the values will be, so both compare by the same rules: the order of
NaN and of the two zeros, numbers of different types, decimals, timestamps. A bound counts only
where no rule of `footer/bounds.py` speaks against it; what is not known rules nothing out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pqlab import text
from pqlab.footer.bloom_filter import Hashes, hashes_of, stored_values
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.page_table import KNOWN_FROM_HEADER, KNOWN_FROM_INDEX, PageTable
from pqlab.footer.schema import SchemaNode
from pqlab.footer.stated import Stated, stated_of_chunks, stated_of_pages
from pqlab.footer.types import SortOrder, leaf_sort_order, polars_type, type_key
from pqlab.predicate.pieces import Mask, Pieces, Positions, cut
from pqlab.predicate.predicate import (
    OPERATORS,
    OPPOSITE,
    Comparison,
    IsNull,
    Membership,
    Not,
    Value,
)
from pqlab.predicate.tree import Answer, Condition, Step

Pages = npt.NDArray[np.void]  # rows of the page table

_MOST_VALUES = 256  # of a list that are compared with bounds
_SHOWN_CHARACTERS = 40  # of a bound

# Where polars orders the values of a dtype as the format does; elsewhere bounds say nothing.
_SAME_ORDER: dict[SortOrder, Callable[[pl.DataType], bool]] = {
    SortOrder.SIGNED: lambda dtype: (
        dtype.is_signed_integer()
        or dtype.is_temporal()
        or dtype.is_decimal()
        or dtype == pl.Boolean()
    ),
    SortOrder.UNSIGNED: lambda dtype: (
        dtype.is_unsigned_integer() or dtype in (pl.String(), pl.Binary())
    ),
    SortOrder.FLOAT: lambda dtype: dtype.is_float(),
    SortOrder.INT96: lambda dtype: dtype.is_temporal(),
}

# The values that `in` finds in a column of such a dtype without making them something else.
_SAME_VALUES: dict[type, Callable[[pl.DataType], bool]] = {
    bool: lambda dtype: dtype == pl.Boolean(),
    int: lambda dtype: dtype.is_integer(),
    float: lambda dtype: dtype.is_float(),
    str: lambda dtype: dtype == pl.String(),
    bytes: lambda dtype: dtype == pl.Binary(),
    date: lambda dtype: dtype == pl.Date(),
    datetime: lambda dtype: isinstance(dtype, pl.Datetime),
}

_MOST_HASHED = 4096  # values of a list that are looked up in bloom filters
_DICTIONARY_ENCODINGS = 1 << 2 | 1 << 8  # PLAIN_DICTIONARY, RLE_DICTIONARY


def row_bounds(metadata: FileMetaData) -> Positions:
    """Where row groups that have rows begin, and the number of rows, counted over the file."""
    return np.append(_first_rows(metadata)[metadata.row_groups.num_rows > 0], metadata.num_rows)


def by_constants(
    metadata: FileMetaData, condition: Condition, constants: Mapping[str, pl.Series]
) -> Answer | None:
    """What a column says that is no column of the file: it has one value for all rows.

    `constants`: by root column, a series of one value. None for a column of the file.
    """
    predicate = condition.predicate
    series = constants.get(predicate.column[0])
    if series is None or not metadata.num_rows:
        return None
    wanted = predicate if condition.holds else Not(predicate)
    found = pl.DataFrame([series]).select(wanted.to_polars().fill_null(value=False)).item()
    pieces = Pieces(np.array([0, metadata.num_rows]), np.array([bool(found)]))
    shown = text.clip(text.visible(str(series.item())), _SHOWN_CHARACTERS)
    words = f"{predicate.column[0]}: {shown} in the whole file"
    return Answer(Step.CONSTANT, pieces, np.zeros(1, np.int64), lambda _: words)


def by_statistics(metadata: FileMetaData, condition: Condition) -> Answer | None:
    """What the statistics of the chunks say: of each row group that has rows, as a whole.

    None for what is not one leaf outside of lists, or where nothing was ruled out.
    """
    node = _leaf(metadata, condition)
    if node is None or node.leaf is None or not metadata.num_rows:
        return None
    leaf = node.leaf
    table = metadata.kept(
        ("comparable", leaf), lambda: _comparable(node, stated_of_chunks(metadata, leaf))
    )
    return _answer(Step.STATISTICS, condition, table, _first_rows(metadata), metadata.num_rows)


def by_column_index(
    metadata: FileMetaData, condition: Condition, known: PageTable
) -> Answer | None:
    """What the bounds of pages say, of the chunks of the condition's column that are in `known`.

    Only those count whose pages all are known from an offset index, and hold the row group's rows.
    """
    node = _leaf(metadata, condition)
    if node is None:
        return None
    pages = known.pages
    pages = pages[(pages["leaf"] == node.leaf) & (pages["page"] >= 0)]
    pages = pages[_is_sound(metadata, pages)]
    if not len(pages):
        return None
    stated = stated_of_pages(metadata, PageTable(pages, known.statistics))
    groups = pages["row_group"].astype(np.int64)
    # Where a column has no NaN at all in a row group, no page has one.
    if polars_type(node).is_float() and node.leaf is not None:
        stated = replace(stated, nan_count=stated_of_chunks(metadata, node.leaf).nan_count[groups])
    table = _comparable(node, stated)
    first_rows = _first_rows(metadata)
    starts = first_rows[groups] + pages["first_row"]
    # The other row groups, about which nothing is said, are pieces behind the table's rows.
    others = np.setdiff1d(np.flatnonzero(metadata.row_groups.num_rows > 0), groups)
    starts = np.concatenate([starts, first_rows[others]])
    return _answer(Step.COLUMN_INDEX, condition, table, starts, metadata.num_rows)


def by_bloom_filters(
    metadata: FileMetaData, condition: Condition, might_contain: Mapping[int, bool]
) -> Answer:
    """What bloom filters say: by row group, whether its filter might contain one of the values."""
    may_hold = np.ones(metadata.num_row_groups, np.bool_)
    for row_group, might in might_contain.items():
        may_hold[row_group] = might
    pieces, sources = cut(_first_rows(metadata), may_hold, metadata.num_rows)
    words = f"{'.'.join(condition.predicate.column)}: the bloom filter has none of the values"
    return Answer(Step.BLOOM_FILTER, pieces, sources, lambda _: words)


def by_dictionaries(
    metadata: FileMetaData, condition: Condition, entries: Mapping[int, pl.Series]
) -> Answer:
    """What dictionaries say: by row group, all values that its chunk has, and perhaps others."""
    may_hold = np.ones(metadata.num_row_groups, np.bool_)
    predicate = replace(condition.predicate, column=("value",))
    wanted = (predicate if condition.holds else Not(predicate)).to_polars()
    for row_group, values in entries.items():
        frame = pl.DataFrame([values.alias("value")])
        may_hold[row_group] = bool(frame.select(wanted.any()).item())
    pieces, sources = cut(_first_rows(metadata), may_hold, metadata.num_rows)
    name = ".".join(condition.predicate.column)
    return Answer(
        Step.DICTIONARY,
        pieces,
        sources,
        lambda source: f"{name}: none of the dictionary's {len(entries[source]):,} values",
    )


def is_point(condition: Condition) -> bool:
    """Whether single values are looked for: `==` or `in`."""
    predicate = condition.predicate
    if isinstance(predicate, Comparison):
        return predicate.operator == "=="
    return isinstance(predicate, Membership) and condition.holds


def hashed_values(metadata: FileMetaData, condition: Condition) -> Hashes | None:
    """The hashes of all that `==` or `in` looks for; None for what bloom filters cannot tell."""
    predicate, node = condition.predicate, _leaf(metadata, condition)
    if node is None or not is_point(condition) or isinstance(predicate, IsNull):
        return None
    values: Sequence[Value] = (
        (predicate.value,) if isinstance(predicate, Comparison) else predicate.values
    )
    if not 0 < len(values) <= _MOST_HASHED:
        return None
    stored = [stored_values(value, type_key(node)) for value in values]
    if None in stored:
        return None
    return hashes_of([each for found in stored for each in found or ()])


def leaf_of(metadata: FileMetaData, condition: Condition) -> int | None:
    """The one leaf outside of lists that a condition is about, if it is."""
    node = _leaf(metadata, condition)
    return None if node is None else node.leaf


def is_all_dictionary(metadata: FileMetaData, key: tuple[int, int], known: Pages | None) -> bool:
    """Whether all data pages of a chunk are proven to be dictionary-encoded.

    By the footer's `encoding_stats`, or by page headers that are `known`.
    """
    row = metadata.chunk_row(*key)
    listed = int(metadata.chunks.data_page_encodings[row])
    if listed:
        return not listed & ~_DICTIONARY_ENCODINGS
    if known is None:
        return False
    data = known[known["page"] >= 0]
    is_known = (data["known_from"] & KNOWN_FROM_HEADER) != 0
    in_all = len(data) > 0 and int(data["num_values"].sum()) == metadata.chunks.num_values[row]
    return bool(in_all and is_known.all() and np.isin(data["encoding"], (2, 8)).all())


def _answer(
    step: Step, condition: Condition, table: pl.DataFrame, starts: Positions, num_rows: int
) -> Answer | None:
    """What the rows of a table of statistics say, each of the rows that begin at `starts`.

    `starts` may be more than the table has rows: of those nothing is known.
    """
    may_have = table["has_nulls" if condition.is_for_nulls else "has_values"].to_numpy()
    found: Mask = may_have
    if not isinstance(condition.predicate, IsNull) and may_have.any():
        wanted = _may_hold(condition.predicate, table["min"].dtype, holds=condition.holds)
        try:
            held = table.select(wanted).to_series()
        except pl.exceptions.PolarsError:
            return None  # bounds that do not compare with the value rule nothing out
        if held.null_count():
            held = held | held.is_null()
        found = may_have & held.to_numpy()
    if found.all():
        return None
    may_hold = np.concatenate([found, np.ones(len(starts) - len(found), np.bool_)])
    pieces, sources = cut(starts, may_hold, num_rows)

    def bound(source: int) -> str:
        row = table.row(source, named=True)
        shown = ", ".join(
            f"{name} {text.clip(text.visible(str(row[name])), _SHOWN_CHARACTERS)}"
            for name in ("min", "max", "null_count", "num_values")
            if row[name] is not None and (name in ("min", "max") or row[name] >= 0)
        )
        return f"{'.'.join(condition.predicate.column)}: {shown}"

    return Answer(step, pieces, sources, bound)


def _leaf(metadata: FileMetaData, condition: Condition) -> SchemaNode | None:
    """None for what is not one leaf outside of lists, or always null whatever is stored."""
    column = condition.predicate.column
    found = [leaf for leaf in metadata.leaves if leaf.path == column]
    if len(found) != 1 or found[0].max_repetition_level or polars_type(found[0]) == pl.Null():
        return None
    return found[0]


def _first_rows(metadata: FileMetaData) -> Positions:
    return metadata.row_groups.first_row.astype(np.int64)


def _is_sound(metadata: FileMetaData, pages: Pages) -> Mask:
    """Whether the pages of a row group begin in its rows, the first in row 0, in order."""
    groups, first = pages["row_group"].astype(np.int64), pages["first_row"]
    is_first = np.append(True, groups[1:] != groups[:-1])[: len(pages)]
    wrong = (pages["known_from"] & KNOWN_FROM_INDEX) == 0
    wrong |= (first < 0) | (first > metadata.row_groups.num_rows[groups])
    wrong |= is_first & (first != 0)
    wrong[1:] |= ~is_first[1:] & (first[1:] < first[:-1])
    sound: Mask = ~np.isin(groups, groups[wrong])
    return sound


def _comparable(node: SchemaNode, stated: Stated) -> pl.DataFrame:
    """`min` and `max` (null: unknown), `may_be_nan`, `has_values`, `has_nulls`; and the counts."""
    dtype = polars_type(node)
    same_order = _SAME_ORDER.get(leaf_sort_order(*type_key(node)))
    low, high = stated.min, stated.max
    if same_order is None or not same_order(dtype):
        low = high = low.clear(len(low))
    may_be_nan = np.zeros(len(low), np.bool_)
    if dtype.is_float():
        may_be_nan = stated.nan_count != 0
        is_nan = low.is_nan().fill_null(value=False) | high.is_nan().fill_null(value=False)
        if is_nan.any():
            low, high = (side.zip_with(~is_nan, side.clear(1)) for side in (low, high))
    nulls, num_values = stated.null_count, stated.num_values
    only_nulls = (nulls >= 0) & (num_values >= 0) & (nulls >= num_values)
    return pl.DataFrame(
        {
            "min": low,
            "max": high,
            "may_be_nan": may_be_nan,
            "has_values": ~(only_nulls | stated.is_empty),
            "has_nulls": nulls != 0,
            "null_count": nulls,
            "num_values": num_values,
        }
    )


def _may_hold(predicate: Comparison | Membership, dtype: pl.DataType, *, holds: bool) -> pl.Expr:
    """Of a row of `_comparable` that has values, whether some may be wanted; null: unknown."""
    if isinstance(predicate, Comparison):
        name = predicate.operator if holds else OPPOSITE[predicate.operator]
        return _may_compare(name, predicate.value, predicate.operand)
    values = predicate.values
    if len(values) > _MOST_VALUES or not all(_is_same(value, dtype) for value in values):
        return pl.lit(value=True)
    name, join = ("==", pl.Expr.or_) if holds else ("!=", pl.Expr.and_)
    compared = [
        _may_compare(name, value, pl.lit(value).cast(dtype, strict=False)) for value in values
    ]
    return reduce(join, compared, pl.lit(value=not holds))


def _may_compare(name: str, value: Value, operand: Any) -> pl.Expr:
    """Whether a value between the bounds, or a NaN beyond them, may compare so with `operand`."""
    low, high, may_be_nan = pl.col("min"), pl.col("max"), pl.col("may_be_nan")
    found: pl.Expr
    if name in ("<", "<="):
        found = OPERATORS[name](low, operand)
    elif name in (">", ">="):  # NaN is above all numbers
        found = OPERATORS[name](high, operand) | may_be_nan
    elif name == "!=":
        found = (low != operand) | (high != operand) | may_be_nan
    else:
        found = (low <= operand) & (high >= operand)
        if isinstance(value, float) and math.isnan(value):
            found |= may_be_nan
    return found


def _is_same(value: Value, dtype: pl.DataType) -> bool:
    is_same = _SAME_VALUES.get(type(value))
    return is_same is not None and is_same(dtype)
