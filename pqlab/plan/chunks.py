"""Where the bytes of column chunks are, or why they cannot be read."""

from __future__ import annotations

import re
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pqlab.errors import CorruptError, EncryptedError, PqlabError, UnsupportedError, placed
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.page_headers import SIZE_SLACK_BYTES
from pqlab.footer.page_index import chunk_spans
from pqlab.plan.tables import CHUNK, RUN, Rows

Positions: TypeAlias = npt.NDArray[np.int64]

_SLACK_UNTIL = (1, 2, 9)  # parquet-mr before this version needs `SIZE_SLACK_BYTES`


_MOST_KEPT = 100_000  # chunks: computing them takes about 2 ms then


def whole_chunks(metadata: FileMetaData, rows: Positions) -> tuple[Rows, Rows]:
    """The chunks of these rows of the chunk table, each with a run that is all of it.

    Arrays of dtypes CHUNK and RUN; runs of chunks without bytes are empty and not counted. Those of
    the whole file are kept, unless they are many: a row group is planned in microseconds. Raises
    `EncryptedError` for an encrypted chunk, `UnsupportedError` for one in another file, and
    `CorruptError` for one that does not lie between the file's magic and its footer.
    """
    if len(rows) < metadata.num_chunks <= _MOST_KEPT:
        kept = metadata.kept("whole chunks", lambda: _all_whole(metadata))
        if kept:
            chunks, runs = kept
            return chunks[rows], runs[rows]
    return _whole(metadata, rows)


def _all_whole(metadata: FileMetaData) -> tuple[Rows, Rows] | tuple[()]:
    try:
        return _whole(metadata, np.arange(metadata.num_chunks))
    except PqlabError:  # about a chunk that may not be read at all
        return ()


def _whole(metadata: FileMetaData, rows: Positions) -> tuple[Rows, Rows]:
    start, stop = _ranges(metadata, rows)
    chunks, runs = np.zeros(len(rows), CHUNK), np.zeros(len(rows), RUN)
    chunks["row_group"], chunks["leaf"] = np.divmod(rows, metadata.num_leaves)
    chunks["num_values"] = metadata.chunks.num_values[rows]
    chunks["codec"] = metadata.chunks.codec[rows]
    chunks["num_runs"] = start < stop
    runs["start"], runs["stop"] = start, stop
    counts = metadata.chunks.num_data_pages[rows]
    runs["num_pages"] = counts
    runs["num_pages"][counts == 0] = -1
    runs["num_rows"] = -1
    return chunks, runs


def _ranges(metadata: FileMetaData, rows: Positions) -> tuple[Positions, Positions]:
    """Where the chunks start and stop, the dictionary included. Raises as `whole_chunks`."""
    chunks, end = metadata.chunks, metadata.footer_offset
    present = chunks.present[rows]
    looked_at = Present.CRYPTO_METADATA | Present.FILE_PATH | Present.META_DATA
    hidden = (present & int(looked_at)) != int(Present.META_DATA)
    if hidden.any():
        row_group, leaf = divmod(int(rows[np.argmax(hidden)]), metadata.num_leaves)
        with placed(row_group=row_group, column=metadata.leaves[leaf].column):
            raise _refusal(metadata, row_group, leaf)
    start, stop = chunk_spans(metadata, rows)
    size = chunks.total_compressed_size[rows].astype(np.int64)
    outside = (size < 0) | (size > end - start)
    if outside.any():
        at = int(np.argmax(outside))
        row_group, leaf = divmod(int(rows[at]), metadata.num_leaves)
        raise CorruptError(
            f"the column chunk of {size[at]:,} bytes does not end before the footer at {end:,}",
            hint="The file may be cut, or its footer belongs to another file",
            row_group=row_group,
            column=metadata.leaves[leaf].column,
            offset=int(start[at]),
            field="ColumnMetaData.total_compressed_size",
        )
    if _leaves_headers_out(metadata.created_by):
        stop = np.where(stop > start, np.minimum(stop + SIZE_SLACK_BYTES, end), stop)
    return start, stop


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


@cache
def _leaves_headers_out(created_by: str | None) -> bool:
    version = re.match(r"parquet-mr version (\d+)\.(\d+)\.(\d+)", created_by or "")
    return version is not None and tuple(map(int, version.groups())) < _SLACK_UNTIL
