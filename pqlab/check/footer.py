"""Rules that the footer alone can break: its sums, counts, bounds and spans."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from pqlab.check.rules import Claim, Violation, broken_claims, is_ordered, shown_value
from pqlab.footer.chunk_frames import chunk_bounds
from pqlab.footer.frames import leaf_bounds, row_groups_frame
from pqlab.footer.layout import layout_frame
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.page_index import chunk_spans, visible_rows
from pqlab.footer.types import TypeKey, type_key
from pqlab.footer.values import Spans, typed_values

_c = pl.col


def footer_violations(
    metadata: FileMetaData, chunks: pl.DataFrame, file_size: int
) -> Iterator[Violation]:
    """What in the footer contradicts itself; `chunks`: its column chunks as a frame."""
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
    yield from _chunks(metadata, chunks)
    yield from _histograms(metadata)
    yield from _layout(metadata, file_size)


def _row_groups(groups: pl.DataFrame) -> Iterator[Violation]:
    size, compressed = _c("total_byte_size"), _c("total_compressed_size")
    sum_size, sum_compressed = _c("chunks_uncompressed_size"), _c("chunks_compressed_size")
    offset, ordinal = _c("file_offset"), _c("ordinal")
    other_size = "the chunks sum up to another size"
    claims = [
        Claim("row group bytes", size == sum_size, other_size, size, sum_size),
        Claim(
            "row group compressed bytes", compressed == sum_compressed,
            other_size, compressed, sum_compressed,
        ),
        # Old writers leave the offset at 0, which is nowhere.
        Claim(
            "row group offset", (offset == _c("__start")) | (offset == 0),
            "the first page starts elsewhere", offset, _c("__start"),
        ),
        Claim(
            "row group ordinal", ordinal == _c("row_group"),
            "it stands at another place", ordinal, _c("row_group"),
        ),
    ]  # fmt: skip
    yield from broken_claims(groups, claims)


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
    is_clear = ~_c("is_encrypted")
    leaf, row_group = chunks["leaf"], chunks["row_group"]
    nested = pl.Series([leaf.max_repetition_level > 0 for leaf in leaves], dtype=pl.Boolean)
    required = pl.Series([leaf.max_definition_level == 0 for leaf in leaves], dtype=pl.Boolean)
    rows = pl.Series(metadata.row_groups.num_rows.astype(np.int64))
    clear = chunks.with_columns(
        nested.gather(leaf).alias("__nested"),
        required.gather(leaf).alias("__required"),
        rows.gather(row_group).alias("__rows"),
    ).filter(is_clear)
    values = _c("num_values")
    is_whole = pl.when("__nested").then(values >= _c("__rows")).otherwise(values == _c("__rows"))
    listed = _c("data_page_encodings").list.set_difference("encodings")
    claims = [
        Claim("chunk values", is_whole, "the row group has other rows", values, _c("__rows")),
        *(
            Claim(
                "chunk counts", (_c(name) <= values) & (_c(name) >= 0),
                f"{name} is not a part of the values", _c(name), values,
            )
            for name in ("null_count", "distinct_count", "nan_count")
        ),
        Claim(
            "chunk counts", ~_c("__required") | (_c("null_count") == 0),
            "a required column has no nulls", _c("null_count"), pl.lit("0"),
        ),
        Claim(
            "chunk encodings", listed.list.len() == 0,
            "data pages have encodings that are not listed",
            _c("encodings").list.join(", "), listed.list.join(", "),
        ),
    ]  # fmt: skip
    yield from broken_claims(clear, claims)
    yield from _bounds(metadata, chunks.select((_c("bounds_state") == "present") & is_clear))


def _bounds(metadata: FileMetaData, present: pl.DataFrame) -> Iterator[Violation]:
    """Minima above their maxima: the chunks of all leaves of a type at once."""
    of_type: dict[TypeKey, list[int]] = {}
    for number, node in enumerate(metadata.leaves):
        if is_ordered(node):
            of_type.setdefault(type_key(node), []).append(number)
    is_present = present.to_series().to_numpy()
    leaf = np.tile(np.arange(metadata.num_leaves, dtype=np.int32), metadata.num_row_groups)
    bounds = chunk_bounds(metadata.footer, metadata.statistics(), leaf, leaf_bounds(metadata))
    for key, numbers in of_type.items():
        rows = np.flatnonzero(is_present & np.isin(leaf, numbers))
        low, high = (
            typed_values(Spans(of.buffer, of.start[rows], of.length[rows]), key)
            for of in (bounds.min, bounds.max)
        )
        for at in (low > high).arg_true().to_list() if len(rows) else ():
            yield Violation(
                "chunk bounds",
                "the minimum is above the maximum",
                *divmod(int(rows[at]), metadata.num_leaves),
                stated=shown_value(low[at]),
                found=shown_value(high[at]),
            )


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
    whole = pl.format("{} of {} bytes", size, "kind")
    claims = [
        Claim(
            "overlap", _c("overlap_bytes") == 0,
            "bytes belong to an earlier part, too", whole, _c("overlap_bytes"),
        ),
        Claim(
            "outside", _c("outside_bytes") == 0,
            "bytes lie outside of the file", whole, _c("outside_bytes"),
        ),
        Claim("gap", _c("kind") != "gap", "nothing points to these bytes", None, size),
    ]  # fmt: skip
    yield from broken_claims(spans, claims)
