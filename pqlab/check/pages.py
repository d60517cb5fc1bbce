"""Rules that page headers can break: what they say, beside index and footer, and checksums."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from pqlab.check.rules import Violation, broken
from pqlab.footer import names
from pqlab.footer.frames import pages_frame
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.page_table import CRC_IS_WRONG, PageTable

_c = pl.col
_SAME = ("offset", "total_bytes", "first_row", "num_rows")  # of an index and of headers


def header_violations(
    metadata: FileMetaData, row_group: int, leaf: int, walked: PageTable, indexed: PageTable | None
) -> Iterator[Violation]:
    """What a chunk's page headers contradict.

    `walked`: its pages from their headers alone, checksums compared; `indexed`: from the index.
    """
    for warning in walked.warnings:
        rule = "unread" if "encrypted" in warning else "page headers"
        yield Violation(rule, warning, row_group, leaf)
    pages = walked.pages
    for page in pages[pages["flags"] & CRC_IS_WRONG != 0]:
        at = int(page["page"]), int(page["offset"])
        yield Violation("checksum", "the page's bytes have another", row_group, leaf, *at)
    if not len(pages):
        return
    yield from _sums(metadata, row_group, leaf, pages)
    yield from _encoding_stats(metadata, row_group, leaf, pages)
    if indexed is not None:
        yield from _indexed(metadata, walked, indexed)


def _sums(
    metadata: FileMetaData, row_group: int, leaf: int, pages: np.ndarray
) -> Iterator[Violation]:
    row = metadata.chunk_row(row_group, leaf)
    data = pages[pages["page"] >= 0]
    uncompressed = pages["uncompressed_page_size"].astype(np.int64) + pages["header_bytes"]
    chunks = metadata.chunks
    for rule, stated, found in (
        ("page values", chunks.num_values[row], data["num_values"].sum(dtype=np.int64)),
        ("page bytes", chunks.total_uncompressed_size[row], uncompressed.sum()),
        (
            "page compressed bytes",
            chunks.total_compressed_size[row],
            pages["total_bytes"].sum(dtype=np.int64),
        ),
    ):
        if int(stated) != int(found):
            message = "the pages sum up to another number"
            yield Violation(
                rule,
                message,
                row_group,
                leaf,
                stated=f"{int(stated):,}",
                found=f"{int(found):,}",
            )


def _encoding_stats(
    metadata: FileMetaData, row_group: int, leaf: int, pages: np.ndarray
) -> Iterator[Violation]:
    row = metadata.chunk_row(row_group, leaf)
    if not int(metadata.chunks.present[row]) & Present.ENCODING_STATS:
        return
    stats = metadata.encoding_stats([row])
    counts = zip(
        stats.page_type.tolist(), stats.encoding.tolist(), stats.count.tolist(), strict=True
    )
    stated: dict[tuple[int, int], int] = {}
    for page_type, encoding, count in counts:
        stated[page_type, encoding] = stated.get((page_type, encoding), 0) + count
    kinds, numbers = np.unique(
        np.stack([pages["type"], pages["encoding"].view(np.uint8)], axis=1),
        axis=0,
        return_counts=True,
    )
    found = {(int(kind), int(code)): int(n) for (kind, code), n in zip(kinds, numbers, strict=True)}
    stated = {key: count for key, count in stated.items() if count}
    if stated != found:
        yield Violation(
            "encoding stats",
            "the pages are others",
            row_group,
            leaf,
            stated=_counts(stated),
            found=_counts(found),
        )


def _counts(counts: dict[tuple[int, int], int]) -> str:
    return ", ".join(
        f"{count:,} {names.name(kind, names.PAGE_TYPES)} {names.name(code, names.ENCODINGS)}"
        for (kind, code), count in sorted(counts.items())
    )


def _agree(headers: np.ndarray, index: np.ndarray) -> bool:
    """Whether two tables of a chunk's data pages say the same, where both say anything."""
    if not np.array_equal(headers["page"], index["page"]):
        return False
    pairs = ((headers[name], index[name]) for name in (*_SAME, "num_nulls"))
    return all(bool(((one == other) | (one < 0) | (other < 0)).all()) for one, other in pairs)


def _indexed(metadata: FileMetaData, walked: PageTable, indexed: PageTable) -> Iterator[Violation]:
    of_data = [table.pages[table.pages["page"] >= 0] for table in (walked, indexed)]
    if _agree(*of_data):
        return
    headers = pages_frame(metadata, walked).filter(_c("page") >= 0)
    index = pages_frame(metadata, indexed).filter(_c("page") >= 0)
    key = ["row_group", "leaf", "page"]
    of_index = index.select(*key, *(_c(name).alias(f"__{name}") for name in (*_SAME, "num_nulls")))
    both = headers.join(of_index, on=key, how="full", coalesce=True, maintain_order="left_right")
    missing = _c("offset").is_not_null() & _c("__offset").is_not_null()
    yield from broken(
        "indexed pages", both, missing, "there is no such page in the other",
        stated=_c("__offset"), found=_c("offset"),
    )  # fmt: skip
    for name in _SAME:
        yield from broken(
            "indexed pages", both, _c(f"__{name}") == _c(name),
            f"{name} differs from the header's", stated=_c(f"__{name}"), found=_c(name),
        )  # fmt: skip
    yield from broken(
        "page nulls", both, _c("__num_nulls") == _c("num_nulls"),
        "the index counts other nulls than the header",
        stated=_c("__num_nulls"), found=_c("num_nulls"),
    )  # fmt: skip
