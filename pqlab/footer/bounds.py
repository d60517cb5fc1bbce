"""What a minimum and a maximum are worth: the rules of trust, and bounds as frame columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from pqlab.footer.names import names_of
from pqlab.footer.page_table import BoundsState
from pqlab.footer.schema import LogicalType, SchemaNode
from pqlab.footer.types import SortOrder, TypeKey, leaf_sort_order, type_key
from pqlab.footer.values import TEXT_FORMAT, Spans, ValueCheck, text_format

Version = tuple[int, int, int]

# Which orders a column order can speak for; a union member that is not here is unknown to pqlab.
COLUMN_ORDERS: dict[str, frozenset[SortOrder]] = {
    "TYPE_ORDER": frozenset({SortOrder.SIGNED, SortOrder.UNSIGNED, SortOrder.FLOAT}),
    "IEEE_754_TOTAL_ORDER": frozenset({SortOrder.FLOAT}),
    "INT96_TIMESTAMP_ORDER": frozenset({SortOrder.INT96}),
}


class Writer(NamedTuple):
    """`FileMetaData.created_by`, taken apart; a version that is not stated is None."""

    application: str
    version: Version | None

    def is_before(self, application: str, version: Version) -> bool:
        """Whether this is that application in an older version, or in one that is not stated."""
        is_old = self.version is None or self.version < version
        return self.application == application and is_old


_CREATED_BY = re.compile(r"(?P<application>\S+)(?: version (?P<version>\d+\.\d+\.\d+))?")


def parse_created_by(created_by: str | None) -> Writer:
    """The writer that `application version 1.2.3 (build ...)` names."""
    match = _CREATED_BY.match((created_by or "")[:256].lstrip())
    if match is None:
        return Writer("", None)
    major, minor, patch = map(int, (match["version"] or "0.0.0").split("."))
    return Writer(match["application"], (major, minor, patch) if match["version"] else None)


class Case(NamedTuple):
    """What the rules of trust look at: a leaf's type, how it compares, its order, the writer."""

    physical_type: str
    annotation: LogicalType | None
    order: SortOrder
    column_order: str | None
    writer: Writer


class Rule(NamedTuple):
    """One reason to distrust bounds; `legacy`, `value`: the fields that it speaks of."""

    reason: str
    legacy: bool  # Statistics.min and max, deprecated
    value: bool  # Statistics.min_value and max_value, and the ColumnIndex
    holds: Callable[[Case], bool]


def _is_bytes(case: Case) -> bool:
    return case.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")


def _is_decimal(case: Case) -> bool:
    return case.annotation is not None and case.annotation.kind == "DECIMAL"


RULES: tuple[Rule, ...] = (
    Rule(
        "values of this type have no order",
        legacy=True,
        value=True,
        holds=lambda case: case.order is SortOrder.UNDEFINED,
    ),
    Rule(
        "the file states no column order that pqlab knows",
        legacy=False,
        value=True,
        holds=lambda case: case.column_order not in COLUMN_ORDERS,
    ),
    Rule(
        "the file's column order is not one of this type",
        legacy=False,
        value=True,
        holds=lambda case: (
            case.column_order in COLUMN_ORDERS
            and case.order not in COLUMN_ORDERS[case.column_order]
        ),
    ),
    Rule(
        "min and max were found by signed comparison, which is not this type's order",
        legacy=True,
        value=False,
        holds=lambda case: case.order not in (SortOrder.SIGNED, SortOrder.FLOAT),
    ),
    Rule(
        "min and max of decimals in bytes were compared as bytes",
        legacy=True,
        value=False,
        holds=lambda case: _is_bytes(case) and _is_decimal(case),
    ),
    Rule(
        "parquet-mr before 1.8.0 wrote wrong bounds of bytes (PARQUET-251)",
        legacy=True,
        value=True,
        holds=lambda case: _is_bytes(case) and case.writer.is_before("parquet-mr", (1, 8, 0)),
    ),
    Rule(
        "parquet-mr before 1.10.0 compared all values as signed (PARQUET-1025)",
        legacy=True,
        value=True,
        holds=lambda case: (
            case.order is SortOrder.UNSIGNED and case.writer.is_before("parquet-mr", (1, 10, 0))
        ),
    ),
    Rule(
        "parquet-cpp before 1.3.0 compared all values as signed",
        legacy=True,
        value=True,
        holds=lambda case: (
            case.order is SortOrder.UNSIGNED and case.writer.is_before("parquet-cpp", (1, 3, 0))
        ),
    ),
    Rule(
        "parquet-cpp before 1.6.0 compared decimals in bytes as unsigned bytes (PARQUET-1655)",
        legacy=True,
        value=True,
        holds=lambda case: (
            _is_bytes(case)
            and _is_decimal(case)
            and case.writer.is_before("parquet-cpp", (1, 6, 0))
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class BoundsTrust:
    """What the bounds of one leaf are worth in this file, before their values are looked at.

    `value_reason`: why `min_value`, `max_value` and the column index are not trusted, or None;
    `legacy_reason`: the same of the deprecated `min` and `max`. `nan_is_bound`: a NaN is a bound
    (IEEE_754_TOTAL_ORDER: all values are NaN); else a NaN is no bound, a minimum of +0 may stand
    for -0, and a maximum of -0 for +0.
    """

    order: SortOrder
    nan_is_bound: bool
    value_reason: str | None
    legacy_reason: str | None


@lru_cache(4096)
def bounds_trust(key: TypeKey, column_order: str | None, writer: Writer) -> BoundsTrust:
    """Apply `RULES` to leaves of this type; the first rule that holds gives the reason."""
    physical_type, annotation, _ = key
    case = Case(physical_type, annotation, leaf_sort_order(*key), column_order, writer)
    held = [rule for rule in RULES if rule.holds(case)]
    return BoundsTrust(
        order=case.order,
        nan_is_bound=column_order == "IEEE_754_TOTAL_ORDER",
        value_reason=next((rule.reason for rule in held if rule.value), None),
        legacy_reason=next((rule.reason for rule in held if rule.legacy), None),
    )


@dataclass(frozen=True, slots=True, eq=False)
class LeafBounds:
    """What bounds need to know of every leaf, as arrays by its ordinal.

    `formats`: its `TEXT_FORMAT`; `value_trusted`, `legacy_trusted`: no rule speaks against
    `min_value` and `max_value`, against the deprecated `min` and `max`; `nan_is_bound`.
    """

    formats: np.ndarray
    value_trusted: np.ndarray
    legacy_trusted: np.ndarray
    nan_is_bound: np.ndarray

    @classmethod
    def of(
        cls,
        leaves: Sequence[SchemaNode],
        column_orders: Sequence[str | None],
        created_by: str | None,
    ) -> Self:
        """Of these leaves, with the ColumnOrder of each, in a file of that writer."""
        kinds: dict[tuple[TypeKey, str | None], int] = {}
        which = [
            kinds.setdefault((type_key(leaf), order), len(kinds))
            for leaf, order in zip(leaves, column_orders, strict=True)
        ]
        writer = parse_created_by(created_by)
        trust = [bounds_trust(key, order, writer) for key, order in kinds]
        return cls(
            np.array([text_format(key) for key, _ in kinds], TEXT_FORMAT)[which],
            np.array([item.value_reason is None for item in trust], np.bool_)[which],
            np.array([item.legacy_reason is None for item in trust], np.bool_)[which],
            np.array([item.nan_is_bound for item in trust], np.bool_)[which],
        )

    @classmethod
    def joined(cls, parts: Sequence[LeafBounds]) -> Self:
        """Those of several files, one behind the other."""
        return cls(
            *(
                np.concatenate([getattr(part, field.name) for part in parts])
                for field in fields(cls)
            )
        )


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Bounds of chunks or pages, a row each.

    `leaf`: the leaf's ordinal; `state`: `BoundsState` as the file tells it (uint8), before trust.
    """

    leaf: np.ndarray
    state: np.ndarray
    min: Spans
    max: Spans


_STATE_NAMES = {state.value: state.name.lower() for state in BoundsState}


def bounds_columns(bounds: Bounds, of_leaf: LeafBounds) -> dict[str, pl.Series]:
    """`bounds_state`, `min_bytes`, `max_bytes`, `min_text`, `max_text` of every row.

    Bounds that the file states are untrusted if a rule of trust says so, if one is no value of its
    type (of the wrong length, say), or if one is a NaN where that is no bound.
    """
    min_text, min_check = bounds.min.text(bounds.leaf, of_leaf.formats)
    max_text, max_check = bounds.max.text(bounds.leaf, of_leaf.formats)
    return {
        "bounds_state": names_of(_states(bounds, of_leaf, (min_check, max_check)), _STATE_NAMES),
        "min_bytes": bounds.min.binary(),
        "max_bytes": bounds.max.binary(),
        "min_text": min_text,
        "max_text": max_text,
    }


def _states(bounds: Bounds, of_leaf: LeafBounds, checks: Sequence[np.ndarray]) -> np.ndarray:
    """`BoundsState` of every row (uint8)."""
    state = bounds.state.astype(np.uint8)
    for stated, trusted in (
        (BoundsState.PRESENT, of_leaf.value_trusted),
        (BoundsState.DEPRECATED, of_leaf.legacy_trusted),
    ):
        if not trusted.all():
            state[(state == stated) & ~trusted[bounds.leaf]] = BoundsState.UNTRUSTED
    for check in checks:
        if check.max(initial=0) <= ValueCheck.VALUE:
            continue
        is_nan = (check == ValueCheck.NOT_A_NUMBER) & ~of_leaf.nan_is_bound[bounds.leaf]
        is_stated = (state == BoundsState.PRESENT) | (state == BoundsState.DEPRECATED)
        state[((check == ValueCheck.NO_VALUE) | is_nan) & is_stated] = BoundsState.UNTRUSTED
    return state
