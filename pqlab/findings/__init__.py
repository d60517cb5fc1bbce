"""What files cost beyond need, as facts with numbers. `ParquetFile.findings`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl

from pqlab.findings.facts import Facts
from pqlab.findings.measured import measured
from pqlab.findings.rules import RULES, Rule
from pqlab.footer import frame_columns

if TYPE_CHECKING:
    from pqlab.reader import ParquetFile

__all__ = ["RULES", "Facts", "Rule", "file_findings", "findings"]

_CELLS = {
    "finding": pl.String(),
    "file": pl.String(),
    "row_group": pl.Int32(),
    "column": pl.String(),
    "num_chunks": pl.Int64(),
    "evidence": pl.Float64(),
    "cost_bytes": pl.Int64(),
    "cost_ns": pl.Int64(),
}


def file_findings(file: ParquetFile, *, filters: Iterable[str] | None, read: bool) -> pl.DataFrame:
    """As `ParquetFile.findings`."""
    facts = Facts.of_file(file, filters)
    rows = list(measured(file, facts)) if read else []
    return findings(facts, pl.DataFrame(rows, schema=_CELLS))


def findings(facts: Facts, measured_rows: pl.DataFrame | None = None) -> pl.DataFrame:
    """What the facts say by `RULES`, with rows that were measured, in the order of the rules."""
    frames = [] if measured_rows is None else [measured_rows]
    for name, rule in RULES.items():
        if rule.find is not None and not facts.chunks.is_empty():
            found = rule.find(facts, rule.limit).with_columns(pl.lit(name).alias("finding"))
            frames.append(_whole(found))
    rows = pl.concat([pl.DataFrame(schema=_CELLS), *frames])
    order = {name: number for number, name in enumerate(RULES)}
    place = rows["finding"].replace_strict(order, return_dtype=pl.Int64)
    rows = rows.with_columns(place.alias("order")).sort("order", maintain_order=True)
    table = pl.DataFrame(
        [
            (name, rule.unit, float(rule.limit), rule.says, rule.setting)
            for name, rule in RULES.items()
        ],
        schema={
            "finding": pl.String, "unit": pl.String, "limit": pl.Float64,
            "says": pl.String, "setting": pl.String,
        },
        orient="row",
    )  # fmt: skip
    whole = rows.join(table, on="finding", how="left", maintain_order="left")
    series = {column.name: whole[column.name] for column in frame_columns.FINDINGS}
    return frame_columns.build(frame_columns.FINDINGS, series)


def _whole(found: pl.DataFrame) -> pl.DataFrame:
    return found.select(
        (pl.col(name) if name in found.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in _CELLS.items()
    )
