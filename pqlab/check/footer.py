"""Rules that the footer alone can break: its sums, counts, bounds and spans."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from pqlab.check.rules import Violation, broken, is_ordered
from pqlab.footer.chunk_frames import column_chunks_frame
from pqlab.footer.frames import row_groups_frame, statistics_frame
from pqlab.footer.layout import layout_frame
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.page_index import chunk_spans, visible_rows

_c = pl.col


def footer_violations(metadata: FileMetaData, file_size: int) -> Iterator[Violation]:
    """What in the footer contradicts itself."""
    for warning in metadata.warnings:
        yield Violation("footer fields", warning)
    if metadata.stated_num_rows != metadata.num_rows:
        yield Violation(
            "file rows",
            "the row groups have other rows than the file",
            stated=f"{metadata.stated_num_rows:,}",
            found=f"{metadata.num_rows:,}",
        )
    groups = _with_starts(metadata, row_groups_frame(metadata))
    yield from _row_groups(groups)
    yield from _sorting(metadata)
    yield from _chunks(metadata, column_chunks_frame(metadata))
    yield from _histograms(metadata)
    yield from _layout(metadata, file_size)


def _row_groups(groups: pl.DataFrame) -> Iterator[Violation]:
    size, compressed = _c("total_byte_size"), _c("total_compressed_size")
    sum_size, sum_compressed = _c("chunks_uncompressed_size"), _c("chunks_compressed_size")
    yield from broken(
        "row group bytes", groups, size == sum_size,
        "the chunks sum up to another size", stated=size, found=sum_size,
    )  # fmt: skip
    yield from broken(
        "row group compressed bytes", groups, compressed == sum_compressed,
        "the chunks sum up to another size", stated=compressed, found=sum_compressed,
    )  # fmt: skip
    # Old writers leave the offset at 0, which is nowhere.
    offset = _c("file_offset")
    yield from broken(
        "row group offset", groups, (offset == _c("__start")) | (offset == 0),
        "the first page starts elsewhere", stated=offset, found=_c("__start"),
    )  # fmt: skip
    ordinal = _c("ordinal")
    yield from broken(
        "row group ordinal", groups, ordinal == _c("row_group"),
        "it stands at another place", stated=ordinal, found=_c("row_group"),
    )  # fmt: skip


def _with_starts(metadata: FileMetaData, groups: pl.DataFrame) -> pl.DataFrame:
    """The row groups with `__start`, where their first chunk starts; null where that is unknown."""
    rows, _ = visible_rows(metadata, np.arange(metadata.num_chunks))
    starts, _ = chunk_spans(metadata, rows)
    first = pl.DataFrame({"row_group": rows // max(metadata.num_leaves, 1), "__start": starts})
    first = first.group_by("row_group").agg(_c("__start").min())
    return groups.join(first.cast({"row_group": pl.Int32}), on="row_group", how="left")


def _sorting(metadata: FileMetaData) -> Iterator[Violation]:
    for row_group in np.flatnonzero(metadata.row_groups.num_sorting_columns > 0).tolist():
        for sorting in metadata.sorting_columns(row_group):
            if not 0 <= sorting.column_idx < metadata.num_leaves:
                yield Violation(
                    "sorting columns",
                    "there is no such leaf",
                    row_group,
                    stated=f"{sorting.column_idx:,}",
                    found=f"{metadata.num_leaves:,} leaves",
                )


def _chunks(metadata: FileMetaData, chunks: pl.DataFrame) -> Iterator[Violation]:
    leaves = metadata.leaves
    chunks = chunks.filter(~_c("is_encrypted"))
    leaf, row_group = chunks["leaf"], chunks["row_group"]
    nested = pl.Series([leaf.max_repetition_level > 0 for leaf in leaves], dtype=pl.Boolean)
    required = pl.Series([leaf.max_definition_level == 0 for leaf in leaves], dtype=pl.Boolean)
    rows = pl.Series(metadata.row_groups.num_rows.astype(np.int64))
    chunks = chunks.with_columns(
        nested.gather(leaf).alias("__nested"),
        required.gather(leaf).alias("__required"),
        rows.gather(row_group).alias("__rows"),
    )
    values = _c("num_values")
    yield from broken(
        "chunk values", chunks,
        pl.when("__nested").then(values >= _c("__rows")).otherwise(values == _c("__rows")),
        "the row group has other rows", stated=values, found=_c("__rows"),
    )  # fmt: skip
    for name in ("null_count", "distinct_count", "nan_count"):
        yield from broken(
            "chunk counts", chunks, (_c(name) <= values) & (_c(name) >= 0),
            f"{name} is not a part of the values", stated=_c(name), found=values,
        )  # fmt: skip
    yield from broken(
        "chunk counts", chunks, ~_c("__required") | (_c("null_count") == 0),
        "a required column has no nulls", stated=_c("null_count"), found=pl.lit("0"),
    )  # fmt: skip
    listed = _c("data_page_encodings").list.set_difference("encodings")
    yield from broken(
        "chunk encodings", chunks, listed.list.len() == 0,
        "data pages have encodings that are not listed",
        stated=_c("encodings").list.join(", "), found=listed.list.join(", "),
    )  # fmt: skip
    for number in chunks.filter(bounds_state="present")["leaf"].unique().sort().to_list():
        if not is_ordered(leaves[number]):
            continue
        bounds = statistics_frame(metadata, number).with_columns(pl.lit(number).alias("leaf"))
        yield from broken(
            "chunk bounds", bounds.filter(bounds_state="present").drop("page"),
            _c("min") <= _c("max"),
            "the minimum is above the maximum", stated=_c("min"), found=_c("max"),
        )  # fmt: skip


def _histograms(metadata: FileMetaData) -> Iterator[Violation]:
    chunks = metadata.chunks
    if not (chunks.present & np.uint32(Present.SIZE_STATISTICS)).any():
        return
    sizes = metadata.size_statistics()
    values = chunks.num_values.astype(np.int64)
    rows = np.repeat(metadata.row_groups.num_rows.astype(np.int64), metadata.num_leaves)
    repetition = sizes.repetition_level_histogram, sizes.repetition_offsets
    definition = sizes.definition_level_histogram, sizes.definition_offsets
    has_nulls = (chunks.present & np.uint32(Present.NULL_COUNT)) != 0
    is_flat = np.array([leaf.max_repetition_level == 0 for leaf in metadata.leaves], np.bool_)
    states_nulls = has_nulls & np.tile(is_flat, metadata.num_row_groups)
    for message, counted, expected in (
        ("the repetition levels sum up to another number", _sums(*repetition), values),
        ("the definition levels sum up to another number", _sums(*definition), values),
        ("repetition level 0 begins another number of rows", _at(*repetition, last=False), rows),
        (
            "the highest definition level counts other values than there are beside the nulls",
            np.where(states_nulls, _at(*definition, last=True), -1),
            values - chunks.null_count,
        ),
    ):
        for row in np.flatnonzero((counted >= 0) & (counted != expected)).tolist():
            yield Violation(
                "level histograms",
                message,
                *divmod(row, metadata.num_leaves),
                stated=f"{counted[row]:,}",
                found=f"{expected[row]:,}",
            )


def _at(counts: np.ndarray, offsets: np.ndarray, *, last: bool) -> np.ndarray:
    """The first or last number of each row's histogram; -1 where it has none."""
    start, stop = offsets[:-1].astype(np.int64), offsets[1:].astype(np.int64)
    at = np.minimum(stop - 1 if last else start, max(len(counts) - 1, 0))
    return np.where(stop > start, counts[at] if len(counts) else -1, -1)


def _sums(counts: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The sum of each row's histogram; -1 where it has none."""
    before = np.concatenate([[0], np.cumsum(counts.astype(np.int64))])
    start, stop = offsets[:-1].astype(np.int64), offsets[1:].astype(np.int64)
    return np.where(stop > start, before[stop] - before[start], -1)


def _layout(metadata: FileMetaData, file_size: int) -> Iterator[Violation]:
    spans = layout_frame(metadata, file_size, ())
    size = _c("size_bytes")
    for rule, column, message in (
        ("overlap", "overlap_bytes", "bytes belong to an earlier part, too"),
        ("outside", "outside_bytes", "bytes lie outside of the file"),
    ):
        yield from broken(
            rule, spans, _c(column) == 0, message,
            stated=pl.format("{} of {} bytes", size, "kind"), found=_c(column),
        )  # fmt: skip
    yield from broken(
        "gap", spans, _c("kind") != "gap", "nothing points to these bytes", found=size
    )
