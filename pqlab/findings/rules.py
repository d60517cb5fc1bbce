"""What may cost more than it needs to: every kind of finding, with its number and its remedy.

A finding is a fact with a number beyond a limit, not a verdict: a file may have reasons. `find` of
each rule gives a row per file and column, or per file, that is beyond the limit: `evidence`, in the
rule's unit, and `cost_bytes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from pqlab.findings.facts import WIDTHS, Facts, integer_bounds

_c = pl.col
_TINY_FILE_BYTES = 1 << 20
_TINY_ROW_GROUP_BYTES = 1 << 20
_LARGE_ROW_GROUP_BYTES = 1 << 30
_SMALL_PAGE_BYTES = 1 << 13
_LARGE_PAGE_BYTES = 1 << 23
_LARGE_DICTIONARY_BYTES = 1 << 20
_LEAST_FOOTER_BYTES = 1 << 16
_FEW = 4  # row groups or pages: of fewer, no order and no size can be seen

_DICTIONARY = pl.element().is_in(["PLAIN_DICTIONARY", "RLE_DICTIONARY"])
_has_dictionary = _c("data_page_encodings").list.eval(_DICTIONARY).list.any()
_falls_back = _has_dictionary & ~_c("data_page_encodings").list.eval(_DICTIONARY).list.all()
_dictionary_bytes = (_c("data_page_offset") - _c("dictionary_page_offset")).clip(0)
_plain_bytes = _c("num_values") * _c("physical_type").replace_strict(WIDTHS, default=None)
_no_index = _c("offset_index_offset").is_null() & ~_c("is_encrypted")


class Rule(NamedTuple):
    """A kind of finding. `limit`: what its number is beyond; `is_measured`: a read is needed."""

    says: str
    unit: str
    limit: float
    setting: str
    find: Callable[[Facts, float], pl.DataFrame] | None = None

    @property
    def is_measured(self) -> bool:
        """Whether it takes a read, of one file, to find it."""
        return self.find is None


def _tiny_files(facts: Facts, limit: float) -> pl.DataFrame:
    tiny = facts.files.filter(_c("file_size_bytes") < limit)
    return tiny.select("file", _c("file_size_bytes").alias("evidence"), cost_bytes="footer_bytes")


def _tiny_row_groups(facts: Facts, limit: float) -> pl.DataFrame:
    sizes = facts.row_groups.group_by("file", maintain_order=True).agg(
        pl.len().alias("count"),
        _c("total_compressed_size").median().alias("evidence"),
        _c("footer_bytes").first(),
    )
    tiny = sizes.filter(_c("count") > 1, _c("evidence") < limit)
    saved = _c("footer_bytes") - _c("footer_bytes") // _c("count")  # as if there were one
    return tiny.select("file", "evidence", saved.alias("cost_bytes"))


def _large_row_groups(facts: Facts, limit: float) -> pl.DataFrame:
    largest = facts.row_groups.group_by("file", maintain_order=True).agg(
        _c("total_uncompressed_size").max().alias("evidence")
    )
    return largest.filter(_c("evidence") > limit).with_columns(cost_bytes="evidence")


def _mean_page(facts: Facts, where: pl.Expr) -> pl.DataFrame:
    return facts.by_column(
        where & (_c("num_data_pages") > 0),
        (_c("total_uncompressed_size").sum() / _c("num_data_pages").sum()).alias("evidence"),
        _c("num_data_pages").sum(),
        (_c("offset_index_length").sum() + _c("column_index_length").sum()).alias("cost_bytes"),
    )


def _small_pages(facts: Facts, limit: float) -> pl.DataFrame:
    means = _mean_page(facts, _c("num_data_pages") >= _FEW)
    return means.filter(_c("evidence") < limit)


def _large_pages(facts: Facts, limit: float) -> pl.DataFrame:
    means = _mean_page(facts, pl.lit(True))  # noqa: FBT003
    return means.filter(_c("evidence") > limit).with_columns(
        _c("evidence").cast(pl.Int64).alias("cost_bytes")
    )


def _fall_back(facts: Facts, limit: float) -> pl.DataFrame:
    fallen = facts.by_column(_falls_back, _dictionary_bytes.sum().alias("cost_bytes"))
    return fallen.with_columns(evidence="num_chunks").filter(_c("evidence") > limit)


def _large_dictionaries(facts: Facts, limit: float) -> pl.DataFrame:
    sizes = facts.by_column(
        _dictionary_bytes > limit,
        _dictionary_bytes.max().alias("evidence"),
        _dictionary_bytes.sum().alias("cost_bytes"),
    )
    return sizes.filter(_c("evidence") > limit)


def _needless_dictionaries(facts: Facts, limit: float) -> pl.DataFrame:
    size = _c("total_uncompressed_size").sum()
    sizes = facts.by_column(
        _has_dictionary & (_plain_bytes > 0) & (_c("null_count") == 0),
        (size / _plain_bytes.sum()).alias("evidence"),
        (size - _plain_bytes.sum()).clip(0).cast(pl.Int64).alias("cost_bytes"),
    )
    return sizes.filter(_c("evidence") > limit)


def _no_page_index(facts: Facts, limit: float) -> pl.DataFrame:
    has_pages = (_c("num_data_pages") > 1) | _c("num_data_pages").is_null()
    without = facts.by_column(
        _no_index & has_pages, _c("total_compressed_size").sum().alias("cost_bytes")
    )
    return without.with_columns(evidence="num_chunks").filter(_c("evidence") > limit)


def _no_statistics(facts: Facts, limit: float) -> pl.DataFrame:
    unknown = (_c("bounds_state") == "absent") & (_c("physical_type") != "INT96")
    full = (_c("null_count") == _c("num_values")).fill_null(value=False)
    without = facts.by_column(
        unknown & ~full & ~_c("is_encrypted") & ~_unordered(),
        _c("total_compressed_size").sum().alias("cost_bytes"),
    )
    return without.with_columns(evidence="num_chunks").filter(_c("evidence") > limit)


def _unordered() -> pl.Expr:
    kinds = r"^(INTERVAL|GEOMETRY|GEOGRAPHY|VARIANT|UNKNOWN|BSON)"
    return _c("logical_type").str.contains(kinds).fill_null(value=False)


def _overlapping_bounds(facts: Facts, limit: float) -> pl.DataFrame:
    found = facts.overlaps().filter(_c("num_row_groups") >= _FEW)
    share = _c("held") / _c("num_row_groups")
    return (
        found.with_columns(share.alias("evidence"))
        .filter(_c("evidence") > limit)
        .select(
            "column",
            "evidence",
            _c("num_row_groups").alias("num_chunks"),
            ((_c("held") - 1) * _c("size") / _c("num_row_groups"))
            .cast(pl.Int64)
            .alias("cost_bytes"),
        )
    )


def _no_bloom_filter(facts: Facts, limit: float) -> pl.DataFrame:
    """Columns looked up by value that no bounds help with: bytes, mostly not in dictionaries."""
    is_key = _c("physical_type").is_in(["BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"]) & ~_unordered()
    unless_said = is_key & ~_has_dictionary.fill_null(value=True) | _falls_back & is_key
    is_looked_up = unless_said if facts.filters is None else is_key & facts.is_filtered
    chosen = Facts(facts.chunks.filter(is_looked_up), _columns(facts, is_looked_up))
    bounds = chosen.overlaps().select("column", share=_c("held") / _c("num_row_groups"))
    without = facts.by_column(
        is_looked_up & _c("bloom_filter_offset").is_null(),
        _c("total_compressed_size").sum().alias("cost_bytes"),
    )
    return (
        without.join(bounds, on="column", maintain_order="left")
        .with_columns(evidence=_c("share") * _c("num_chunks"))
        .filter(_c("evidence") > limit)
    )


def _columns(facts: Facts, where: pl.Expr) -> frozenset[str]:
    return frozenset(facts.chunks.filter(where)["column"].unique().to_list())


def _int96(facts: Facts, limit: float) -> pl.DataFrame:
    values = facts.by_column(
        _c("physical_type") == "INT96",
        _c("num_values").sum().alias("evidence"),
        (_c("num_values").sum() * 4).alias("cost_bytes"),
    )
    return values.filter(_c("evidence") > limit)


def _wide_integers(facts: Facts, limit: float) -> pl.DataFrame:
    """INT64 whose bounds, all of them, need fewer bits; dates and times stay as they are.

    In dictionaries wide values cost next to nothing.
    """
    is_plain = _c("logical_type").is_null() | _c("logical_type").str.starts_with("INT")
    bounds = (integer_bounds(side, "INT64").alias(side) for side in ("min", "max"))
    chunks = facts.chunks.filter(is_plain, physical_type="INT64").with_columns(bounds)
    stored = pl.when(_has_dictionary).then(0).otherwise(_c("num_values") * 4)
    columns = chunks.group_by("file", "column", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("num_chunks"),
        (_c("bounds_state") == "present").all().alias("known"),
        _c("min").min(),
        _c("max").max(),
        stored.sum().alias("cost_bytes"),
    )
    largest = pl.max_horizontal(_c("max"), -(_c("min").clip(-(1 << 62)) + 1), 0)
    bits = (largest.cast(pl.Float64) + 1).log(2).ceil() + 1  # and one for the sign
    costly = columns.filter("known", _c("cost_bytes") > 0)
    return costly.with_columns(bits.alias("evidence")).filter(_c("evidence") <= limit)


def _footer_bloat(facts: Facts, limit: float) -> pl.DataFrame:
    share = _c("footer_bytes") / _c("file_size_bytes")
    large = facts.files.filter(_c("footer_bytes") > _LEAST_FOOTER_BYTES, share > limit)
    return large.select("file", share.alias("evidence"), cost_bytes="footer_bytes")


RULES: dict[str, Rule] = {
    "tiny file": Rule(
        "The file is small: opening it, and its footer, cost as much as of a large one.",
        "bytes", _TINY_FILE_BYTES, "compact the files into larger ones", _tiny_files,
    ),
    "tiny row groups": Rule(
        "Half of the row groups are smaller than this; each has metadata and requests of its own.",
        "bytes", _TINY_ROW_GROUP_BYTES, "row_group_size (rows), larger", _tiny_row_groups,
    ),
    "large row groups": Rule(
        "A row group, decoded, is as large as this, and is read and held as a whole by many.",
        "bytes", _LARGE_ROW_GROUP_BYTES, "row_group_size (rows), smaller", _large_row_groups,
    ),
    "small pages": Rule(
        "Mean size of a data page, uncompressed. Each has a header, an index entry, a decoding.",
        "bytes", _SMALL_PAGE_BYTES, "data_page_size, max_rows_per_page, larger", _small_pages,
    ),
    "large pages": Rule(
        "Mean size of a data page, uncompressed: what a single row takes to read.",
        "bytes", _LARGE_PAGE_BYTES, "data_page_size, max_rows_per_page, smaller", _large_pages,
    ),
    "dictionary fall-back": Rule(
        "Chunks whose dictionary grew too large, so that later pages do without. It is read first.",
        "chunks", 0, "dictionary_pagesize_limit, larger; or use_dictionary without the column",
        _fall_back,
    ),
    "large dictionary": Rule(
        "Bytes of the largest dictionary page, as stored: any page of the chunk needs it first.",
        "bytes", _LARGE_DICTIONARY_BYTES,
        "dictionary_pagesize_limit, smaller; or use_dictionary without the column",
        _large_dictionaries,
    ),
    "dictionary does not pay": Rule(
        "Size with the dictionary over the size of plain values.",
        "ratio", 1, "use_dictionary without the column", _needless_dictionaries,
    ),
    "codec does not pay": Rule(
        "Stored size over uncompressed size, and what decompressing takes all the same.",
        "ratio", 0.95, 'compression={column: "NONE"}',
    ),
    "slow codec": Rule(
        "Megabytes a second that come out of decompressing, on one thread.",
        "MB/s", 400, 'compression={column: "ZSTD"} or "SNAPPY"',
    ),
    "no page index": Rule(
        "Chunks of several pages without an offset index: to find a page, they are walked.",
        "chunks", 0, "write_page_index=True", _no_page_index,
    ),
    "no statistics": Rule(
        "Chunks without bounds: no filter can skip them.",
        "chunks", 0, "write_statistics=True", _no_statistics,
    ),
    "overlapping bounds": Rule(
        "Part of the row groups whose bounds hold a value, in the mean: what a filter must read.",
        "share", 0.5, "sort by the column before writing, and say so in sorting_columns",
        _overlapping_bounds,
    ),
    "no bloom filter": Rule(
        "Row groups that a look-up of one value reads, by their bounds, for want of a filter.",
        "row groups", 1, "bloom_filter_options={column: {...}}", _no_bloom_filter,
    ),
    "int96": Rule(
        "Values stored as INT96, which is deprecated, has no statistics, and takes 12 bytes.",
        "values", 0, 'use_deprecated_int96_timestamps=False, coerce_timestamps="us"', _int96,
    ),
    "text that is dates": Rule(
        "Part of the values looked at that are dates or times, as text.",
        "share", 0.999, "cast the column to a date or a timestamp",
    ),
    "text that is numbers": Rule(
        "Part of the values looked at that are numbers, as text.",
        "share", 0.999, "cast the column to a number",
    ),
    "wide integers": Rule(
        "Bits that the values of an INT64 column need, by their bounds.",
        "bits", 32, "cast the column to a narrower integer", _wide_integers,
    ),
    "footer bloat": Rule(
        "Part of the file that is its footer: read before anything else.",
        "share", 0.05, "fewer row groups, shorter statistics, less key-value metadata",
        _footer_bloat,
    ),
}  # fmt: skip
