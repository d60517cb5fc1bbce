"""Facts in one long frame, and where two such frames differ: of files, datasets and traces."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pqlab.footer import frame_columns

_c = pl.col
# What a fact is of. What does not apply is null.
PLACE = ("part", "file", "row_group", "column", "property")
_SCHEMA = {
    "part": pl.String(),
    "file": pl.String(),
    "row_group": pl.Int32(),
    "column": pl.String(),
    "property": pl.String(),
    "value": pl.String(),
    "number": pl.Float64(),
}


def facts_of(frame: pl.DataFrame, part: str, properties: Sequence[str]) -> pl.DataFrame:
    """The columns `properties` of a frame as facts, at the places that its other columns say."""
    place = [name for name in PLACE if name in frame.columns]
    given = frame.with_columns(
        *(
            _c(name).list.sort().list.join(", ")
            for name in properties
            if isinstance(frame.schema[name], pl.List)
        )
    )
    texts = given.select(*place, *(_c(name).cast(pl.String) for name in properties))
    numeric = [name for name in properties if given.schema[name].is_numeric()]
    numbers = given.with_columns(
        (_c(name) if name in numeric else pl.lit(None)).cast(pl.Float64).alias(name)
        for name in properties
    )
    long = texts.unpivot(
        list(properties), index=place, variable_name="property", value_name="value"
    )
    number = numbers.unpivot(list(properties), variable_name="property", value_name="number")[
        "number"
    ]
    return _whole(long.with_columns(number, pl.lit(part).alias("part")))


def fact(part: str, name: str, value: object) -> pl.DataFrame:
    """One fact, of the whole."""
    is_number = isinstance(value, int | float)
    return _whole(
        pl.DataFrame(
            {
                "part": [part],
                "property": [name],
                "value": [None if value is None else str(value)],
                "number": [float(value) if is_number else None],  # type: ignore[arg-type]
            },
            schema_overrides={"value": pl.String, "number": pl.Float64},
        )
    )


def joined(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Facts under each other; `nth` tells those of the same place apart."""
    frame = pl.concat(parts)
    return frame.with_columns(pl.int_range(pl.len()).over(PLACE).alias("nth"))


def differences(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    """The facts (as of `joined`) that differ, as `frame_columns.DIFF`, in the order of `left`.

    What one side has and the other has not is null there.
    """
    key = [*PLACE, "nth"]
    both = left.join(
        right, on=key, how="full", coalesce=True, nulls_equal=True, suffix="_right",
        maintain_order="left_right",
    )  # fmt: skip
    differing = both.filter(~_c("value").eq_missing(_c("value_right")))
    return _build(differing)


def of_both(sides: Sequence[pl.DataFrame], name: str, part: str) -> pl.Expr:
    """Which facts are of a `name` (of a file, say) that both have; others are told by `part`."""
    known = [frame.filter(_c("part") == part)[name].unique().drop_nulls() for frame in sides]
    shared = known[0].filter(known[0].is_in(known[1].implode()))
    return _c(name).is_null() | _c(name).is_in(shared.implode()) | (_c("part") == part)


def _whole(frame: pl.DataFrame) -> pl.DataFrame:
    missing = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in _SCHEMA.items()
        if name not in frame.columns
    ]
    cells = (_c(name).cast(dtype) for name, dtype in _SCHEMA.items())
    return frame.with_columns(missing).select(cells)


def _build(frame: pl.DataFrame) -> pl.DataFrame:
    cells = frame.with_columns(
        _c("value").alias("left"),
        _c("value_right").alias("right"),
        (_c("number_right") - _c("number")).alias("change"),
        pl.when(_c("number") != 0).then(_c("number_right") / _c("number")).alias("ratio"),
        pl.lit(None, pl.Int64).alias("row"),
    )
    series = {column.name: cells[column.name] for column in frame_columns.DIFF}
    return frame_columns.build(frame_columns.DIFF, series)
