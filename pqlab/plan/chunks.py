"""Where the bytes of column chunks are, or why they cannot be read."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from pqlab.errors import CorruptError, EncryptedError, PqlabError, UnsupportedError, placed
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.page_headers import SIZE_SLACK_BYTES
from pqlab.footer.page_index import chunk_spans
from pqlab.plan.ranges import Range

_SLACK_UNTIL = (1, 2, 9)  # parquet-mr before this version needs `SIZE_SLACK_BYTES`


def chunk_ranges(metadata: FileMetaData, row_group: int, leaves: Sequence[int]) -> list[Range]:
    """The byte range of each leaf's chunk in one row group, from the dictionary page on.

    Raises `EncryptedError` for an encrypted chunk, `UnsupportedError` for one in another file, and
    `CorruptError` for one that does not lie between the file's magic and its footer.
    """
    chunks, end = metadata.chunks, metadata.footer_offset
    rows = row_group * metadata.num_leaves + np.asarray(leaves, np.int64)
    present = chunks.present[rows]
    hidden = (present & (Present.CRYPTO_METADATA | Present.FILE_PATH)) != 0
    hidden |= (present & Present.META_DATA) == 0
    if hidden.any():
        leaf = leaves[int(np.argmax(hidden))]
        with placed(row_group=row_group, column=metadata.leaves[leaf].column):
            raise _refusal(metadata, row_group, leaf)
    start, stop = chunk_spans(metadata, rows)
    size = chunks.total_compressed_size[rows].astype(np.int64)
    outside = (size < 0) | (size > end - start)
    if outside.any():
        at = int(np.argmax(outside))
        raise CorruptError(
            f"the column chunk of {size[at]:,} bytes does not end before the footer at {end:,}",
            hint="The file may be cut, or its footer belongs to another file",
            row_group=row_group,
            column=metadata.leaves[leaves[at]].column,
            offset=int(start[at]),
            field="ColumnMetaData.total_compressed_size",
        )
    if _leaves_headers_out(metadata.created_by):
        stop = np.where(stop > start, np.minimum(stop + SIZE_SLACK_BYTES, end), stop)
    return list(zip(start.tolist(), stop.tolist(), strict=True))


def _refusal(metadata: FileMetaData, row_group: int, leaf: int) -> PqlabError:
    present = int(metadata.chunks.present[metadata.chunk_row(row_group, leaf)])
    if present & Present.CRYPTO_METADATA:
        return EncryptedError("the column is encrypted", hint="Select other columns")
    if present & Present.FILE_PATH:
        path = metadata.raw_chunk(row_group, leaf).file_path
        return UnsupportedError(
            f"the column's pages are in another file, {path!r}",
            hint="Open that file, if it is Parquet by itself",
            field="ColumnChunk.file_path",
        )
    return CorruptError("the column chunk has no metadata", field="ColumnChunk.meta_data")


def _leaves_headers_out(created_by: str | None) -> bool:
    version = re.match(r"parquet-mr version (\d+)\.(\d+)\.(\d+)", created_by or "")
    return version is not None and tuple(map(int, version.groups())) < _SLACK_UNTIL
