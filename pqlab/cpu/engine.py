"""The CPU engine: a plan and its bytes to decoded columns, in one native call per read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa

from pqlab.cpu.kinds import kind_of
from pqlab.errors import CorruptError, EncryptedError, PqlabError, UnsupportedError
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.schema import SchemaNode
from pqlab.footer.types import Int96Unit, arrow_type
from pqlab.footer.writers import left_is_compressed_false, prefixes_reach_back
from pqlab.limits import DEFAULT_LIMITS, Limits
from pqlab.native import _native
from pqlab.plan.plan import Plan, RowGroupPlan
from pqlab.trace import EVENT

InvalidUtf8 = Literal["error", "binary"]
Recorder = Callable[[np.ndarray], None]


class FetchedBytes(Protocol):
    """The bytes of a plan's requests."""

    def view(self, start: int, stop: int) -> np.ndarray:
        """Bytes [start, stop) of the file, uint8."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class DecodedColumn:
    """A column's buffers, laid out as Arrow lays out `type`; all arrays are uint8.

    `validity` is None where nothing is null. INTERVAL is one buffer of 12 bytes a row (months,
    days, milliseconds); views point into `view_buffers`.
    """

    leaf: SchemaNode
    type: pa.DataType
    num_rows: int
    null_count: int
    values: np.ndarray
    validity: np.ndarray | None
    view_buffers: Sequence[np.ndarray | None]


def read(
    plan: Plan,
    metadata: FileMetaData,
    fetched: FetchedBytes,
    *,
    workers: int | None = None,
    verify_checksums: bool = False,
    invalid_utf8: InvalidUtf8 = "error",
    int96_unit: Int96Unit = "ns",
    limits: Limits = DEFAULT_LIMITS,
    recorder: Recorder | None = None,
) -> list[DecodedColumn]:
    """Decode the plan's pages into columns of `plan.num_rows` rows, in the order of `plan.leaves`.

    `workers`: threads (default: the CPUs that this process may use). `verify_checksums`: pages
    whose CRC-32 differs from their header's are corrupt. `invalid_utf8="binary"` gives text columns
    as bytes, unchecked. `recorder` takes the events of all pages, an array of dtype `EVENT`.

    Raises `CorruptError`, `UnsupportedError`, `EncryptedError` and `LimitError` with file, row
    group, column, page and offset; KeyboardInterrupt within a page.
    """
    try:
        leaves = [metadata.leaves[leaf] for leaf in plan.leaves]
        columns = [_Column.of(leaf, invalid_utf8, int96_unit) for leaf in leaves]
        order = {leaf: at for at, leaf in enumerate(plan.leaves)}
        chunks: list[tuple[Any, ...]] = []
        arrays: list[np.ndarray] = []
        ranges: list[tuple[int, int, int]] = []
        num_rows = 0
        for row_group in plan.row_groups:
            first_range = len(ranges)
            for start, stop in row_group.rows:
                if start < stop:
                    ranges.append((start, stop, num_rows))
                    num_rows += stop - start
            if len(ranges) == first_range:
                continue
            num_row_group_rows = int(metadata.row_groups.num_rows[row_group.row_group])
            codecs = _codecs(metadata, row_group)
            for chunk, codec in zip(row_group.chunks, codecs, strict=True):
                runs = [
                    (fetched.view(run.start, run.stop), run.start, run.first_page, run.first_row)
                    for run in chunk.runs
                ]
                arrays += [run[0] for run in runs]
                chunks.append(
                    (
                        order[chunk.leaf],
                        chunk.row_group,
                        codec,
                        num_row_group_rows,
                        chunk.resolved,
                        first_range,
                        len(ranges) - first_range,
                        runs,
                    )
                )
        outputs, events = _native.decode(
            [column.native for column in columns],
            chunks,
            ranges,
            num_rows=num_rows,
            workers=workers or len(os.sched_getaffinity(0)),
            verify_checksums=verify_checksums,
            trace=recorder is not None,
            is_compressed_is_wrong=left_is_compressed_false(metadata.created_by),
            prefixes_reach_back=prefixes_reach_back(metadata.created_by),
            page_bytes=limits.page_bytes,
            read_bytes=limits.read_bytes,
        )
    except PqlabError as error:
        raise _placed(error, metadata, plan.file) from None
    if recorder is not None:
        recorder(events.view(EVENT))
    return [
        column.decoded(num_rows, output, arrays)
        for column, output in zip(columns, outputs, strict=True)
    ]


def read_dictionary(
    metadata: FileMetaData,
    row_group: int,
    leaf: int,
    data: np.ndarray,
    offset: int,
    *,
    file: str | None = None,
    invalid_utf8: InvalidUtf8 = "error",
    int96_unit: Int96Unit = "ns",
    limits: Limits = DEFAULT_LIMITS,
) -> DecodedColumn:
    """Decode a chunk's dictionary page: `data` is the page with its header, from `offset` on.

    Raises as `read`; `CorruptError` where no dictionary page stands there.
    """
    try:
        column = _Column.of(metadata.leaves[leaf], invalid_utf8, int96_unit, nested=True)
        output, num_entries = _native.decode_dictionary_page(
            column.native,
            (row_group, _codec(metadata, row_group, leaf), data, offset),
            page_bytes=limits.page_bytes,
            read_bytes=limits.read_bytes,
        )
    except PqlabError as error:
        raise _placed(error.at(row_group=row_group, page=-1), metadata, file, leaf) from None
    return column.decoded(num_entries, output, [data])


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    leaf: SchemaNode
    type: pa.DataType
    native: tuple[int, str, int, int]  # leaf, kind, width of a PLAIN value, max_definition_level

    @classmethod
    def of(
        cls,
        leaf: SchemaNode,
        invalid_utf8: InvalidUtf8,
        int96_unit: Int96Unit,
        *,
        nested: bool = False,
    ) -> _Column:
        if not nested and (len(leaf.path) > 1 or leaf.max_repetition_level > 0):
            raise UnsupportedError(
                "nested columns are not read: only values at the top level are",
                hint="Select other columns, or read it with polars.read_parquet",
                column=leaf.column,
            )
        data_type = arrow_type(leaf, int96_unit)
        if invalid_utf8 == "binary" and data_type == pa.string_view():
            data_type = pa.binary_view()
        kind = kind_of(leaf, data_type)
        native = (leaf.leaf or 0, kind.name, kind.width, leaf.max_definition_level)
        return cls(leaf, data_type, native)

    def decoded(self, num_rows: int, output: Any, arrays: Sequence[np.ndarray]) -> DecodedColumn:
        values, validity, null_count, view_buffers = output
        return DecodedColumn(
            leaf=self.leaf,
            type=self.type,
            num_rows=num_rows,
            null_count=null_count,
            values=values,
            validity=validity if null_count else None,
            view_buffers=[
                arrays[part[0]][part[1] : part[2]] if isinstance(part, tuple) else part
                for part in view_buffers
            ],
        )


def _codecs(metadata: FileMetaData, row_group: RowGroupPlan) -> list[int]:
    """The codecs of the row group's chunks, once nothing stands in the way of reading them."""
    leaves = np.array([chunk.leaf for chunk in row_group.chunks], np.int64)
    rows = row_group.row_group * metadata.num_leaves + leaves
    looked_at = Present.CRYPTO_METADATA | Present.META_DATA | Present.FILE_PATH
    odd = (metadata.chunks.present[rows] & int(looked_at)) != int(Present.META_DATA)
    for leaf in leaves[odd].tolist():
        _codec(metadata, row_group.row_group, leaf)
    codecs: list[int] = metadata.chunks.codec[rows].tolist()
    return codecs


def _codec(metadata: FileMetaData, row_group: int, leaf: int) -> int:
    """The chunk's codec, once nothing stands in the way of reading it."""
    row = metadata.chunk_row(row_group, leaf)
    present = Present(int(metadata.chunks.present[row]))
    place: dict[str, int | str] = {
        "row_group": row_group,
        "column": metadata.leaves[leaf].column,
    }
    if Present.CRYPTO_METADATA in present:
        raise EncryptedError("the column is encrypted").at(**place)
    if Present.META_DATA not in present:
        raise CorruptError("the chunk has no metadata", field="ColumnChunk.meta_data").at(**place)
    if Present.FILE_PATH in present:
        path = metadata.raw_chunk(row_group, leaf).file_path
        raise UnsupportedError(
            f"the chunk is in another file, {path!r}", field="ColumnChunk.file_path"
        ).at(**place)
    return int(metadata.chunks.codec[row])


def _placed(
    error: PqlabError, metadata: FileMetaData, file: str | None, leaf: int | None = None
) -> PqlabError:
    found = getattr(error, "leaf", None)
    leaf = found if found is not None else leaf
    column = metadata.leaves[leaf].column if leaf is not None else None
    return error.at(file=file, column=column)
