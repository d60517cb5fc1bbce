"""What two datasets have differently, by their catalogues."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING

import polars as pl

from pqlab.diff.values import shared_roots, value_differences
from pqlab.footer.facts import differences, fact, facts_of, joined, of_both

if TYPE_CHECKING:
    from pqlab.dataset.dataset import Dataset

_c = pl.col
_SIZES = ("total_compressed_size", "total_uncompressed_size")
_SCHEMA = ("logical_type", "polars_type", "max_definition_level", "max_repetition_level")


def diff_datasets(left: Dataset, right: Dataset, *, values: bool, max_rows: int) -> pl.DataFrame:
    """As `Dataset.diff`."""
    facts = [_facts(dataset) for dataset in (left, right)]
    for name, part in (("file", "files"), ("column", "columns")):
        kept = of_both(facts, name, part)
        facts = [frame.filter(kept) for frame in facts]
    found = differences(*facts)
    if not values:
        return found
    names = shared_roots(left.merged.schema, right.merged.schema)
    return pl.concat([found, value_differences(left, right, names, max_rows=max_rows)])


def _facts(dataset: Dataset) -> pl.DataFrame:
    catalogue = dataset.catalogue().with_columns(_relative(dataset))
    chunks = catalogue.filter(_c("row_group").is_not_null())
    sizes = [_c(name).sum() for name in _SIZES]
    files = catalogue.group_by("file", maintain_order=True).agg(
        _c("error").first(),
        _c("row_group_num_rows").filter(leaf=0).sum().alias("num_rows"),
        _c("row_group").n_unique().alias("num_row_groups"),
        *sizes,
    )
    columns = chunks.group_by("column", maintain_order=True).agg(
        *sizes,
        *(_c(name).unique().sort() for name in ("codec", "bounds_state")),
        _c("data_page_encodings").explode(empty_as_null=True).unique().sort(),
        _c("null_count").sum(),
    )
    schemas = dataset.schemas()
    whole = {"num_files": len(dataset), "num_rows": int(files["num_rows"].sum())}
    return joined(
        [
            *(fact("metadata", name, value) for name, value in whole.items()),
            facts_of(files, "files", ["num_row_groups"]),
            facts_of(files, "metadata", ["num_rows", "error"]),
            facts_of(schemas, "columns", ["physical_type"]),
            facts_of(schemas, "schema", [*_SCHEMA, "num_files"]),
            facts_of(columns, "encodings", ["codec", "data_page_encodings"]),
            facts_of(files, "sizes", _SIZES),
            facts_of(columns, "sizes", _SIZES),
            facts_of(columns, "statistics", ["null_count", "bounds_state"]),
        ]
    )


def _relative(dataset: Dataset) -> pl.Expr:
    """The files' names below the folder that all lie in."""
    folders = [PurePath(name).parent for name in dataset.files]
    is_one_kind = len({folder.is_absolute() for folder in folders}) == 1
    common = os.path.commonpath(folders) if is_one_kind else ""
    relative = {
        name: str(PurePath(name).relative_to(common)) if common else name for name in dataset.files
    }
    return _c("file").replace(relative)
