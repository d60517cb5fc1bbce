"""What only the bodies of a chunk's pages tell: if checksums hold, how many rows begin in each."""

from __future__ import annotations

import numpy as np

from pqlab.errors import CorruptError
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.page_table import CRC_HOLDS, CRC_IS_WRONG, HAS_CRC, KNOWN_FROM_LEVELS, frozen
from pqlab.io.source import Bytes
from pqlab.limits import Limits
from pqlab.native import _native
from pqlab.plan.build import Pages
from pqlab.plan.ranges import Range


def span_of(pages: Pages) -> Range:
    """The bytes [start, stop) of the file that hold these pages."""
    stops = pages["offset"] + pages["total_bytes"]
    return int(pages["offset"].min()), int(stops.max())


def with_checksums(pages: Pages, data: Bytes, offset: int) -> Pages:
    """The pages with flags that say whether the CRC-32 of those that have one is right.

    `data`: the bytes of the chunk from `offset` of the file on.
    """
    found = pages.copy()
    for at in np.flatnonzero((pages["flags"] & HAS_CRC) != 0).tolist():
        page = pages[at]
        start = int(page["offset"]) - offset
        body = data[start + int(page["header_bytes"]) : start + int(page["total_bytes"])]
        holds = _native.crc32(body) == int(page["crc"])
        found["flags"][at] |= CRC_HOLDS if holds else CRC_IS_WRONG
    return frozen(found)


def with_rows(
    metadata: FileMetaData, pages: Pages, data: Bytes, offset: int, *, limits: Limits
) -> Pages:
    """The pages with `first_row` and `num_rows` as their repetition levels say: rows that begin.

    Raises `CorruptError` for levels that contradict the row group, and what decoding raises.
    """
    row_group, leaf = int(pages["row_group"][0]), int(pages["leaf"][0])
    rows = _native.page_rows(
        np.ascontiguousarray(pages).view(np.uint8),
        data,
        offset=offset,
        codec=int(metadata.chunks.codec[metadata.chunk_row(row_group, leaf)]),
        max_repetition_level=metadata.leaves[leaf].max_repetition_level,
        page_bytes=limits.page_bytes,
    )
    counts = np.array(rows, np.int64)
    num_rows = int(metadata.row_groups.num_rows[row_group])
    if counts.sum() != num_rows:
        raise CorruptError(
            f"the pages hold {counts.sum():,} rows, the row group has {num_rows:,}",
            field="RowGroup.num_rows",
        )
    found = pages.copy()
    is_data = pages["page"] >= 0
    found["num_rows"][is_data] = counts[is_data]
    found["first_row"][is_data] = (np.cumsum(counts) - counts)[is_data]
    found["known_from"][is_data] |= KNOWN_FROM_LEVELS
    return frozen(found)
