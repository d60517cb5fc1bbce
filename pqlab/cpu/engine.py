"""The CPU engine: a plan and its bytes to decoded columns, in one native call per read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa

from pqlab.cpu.kinds import kind_of
from pqlab.cpu.nesting import (
    Nesting,
    first_difference,
    native_nesting,
    nesting_of,
    path_to,
    roots,
    sharing,
)
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
    """A leaf's buffers, laid out as Arrow lays out `type`; all arrays are uint8.

    `validity` is None where nothing is null. INTERVAL is one buffer of 12 bytes a value (months,
    days, milliseconds); views point into `view_buffers`. `path`: the nodes from the root column
    down to the leaf. `nesting` is None where each row has one value and no group above is optional;
    else the buffers hold `num_values` values, and `nesting` says which lists hold them.
    """

    leaf: SchemaNode
    path: tuple[SchemaNode, ...]
    type: pa.DataType
    num_rows: int
    null_count: int
    values: np.ndarray
    validity: np.ndarray | None
    view_buffers: Sequence[np.ndarray | None]
    nesting: Nesting | None = None

    @property
    def num_values(self) -> int:
        """Values in the buffers, nulls included."""
        return self.num_rows if self.nesting is None else self.nesting.slots[-1]


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
    """Decode the plan's pages into leaves of `plan.num_rows` rows, in the order of `plan.leaves`.

    `workers`: threads (default: the CPUs that this process may use). `verify_checksums`: pages
    whose CRC-32 differs from their header's are corrupt. `invalid_utf8="binary"` gives text columns
    as bytes, unchecked. `recorder` takes the events of all pages, an array of dtype `EVENT`.

    Raises `CorruptError`, `UnsupportedError`, `EncryptedError` and `LimitError` with file, row
    group, column, page and offset; KeyboardInterrupt within a page.
    """
    try:
        leaves = [metadata.leaves[leaf] for leaf in plan.leaves]
        columns = [
            _Column.of(leaf, _path(leaf, metadata), invalid_utf8, int96_unit) for leaf in leaves
        ]
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
            codecs, nums_values = _codecs_and_values(metadata, row_group)
            for chunk, codec, num_values in zip(row_group.chunks, codecs, nums_values, strict=True):
                runs = [
                    (
                        fetched.view(run.start, run.stop),
                        run.start,
                        run.first_page,
                        run.first_row,
                        run.num_rows,
                    )
                    for run in chunk.runs
                ]
                arrays += [run[0] for run in runs]
                chunks.append(
                    (
                        order[chunk.leaf],
                        chunk.row_group,
                        codec,
                        num_row_group_rows,
                        num_values,
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
        decoded = [
            column.decoded(num_rows, output, arrays)
            for column, output in zip(columns, outputs, strict=True)
        ]
        _agree(decoded, plan)
    except PqlabError as error:
        raise _placed(error, metadata, plan.file) from None
    if recorder is not None:
        recorder(events.view(EVENT))
    return decoded


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
        node = metadata.leaves[leaf]
        column = _Column.of(node, (node,), invalid_utf8, int96_unit, alone=True)
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
    path: tuple[SchemaNode, ...]
    type: pa.DataType
    # leaf, kind, width of a PLAIN value, max_definition_level, and `native_nesting`
    native: tuple[Any, ...]

    @classmethod
    def of(
        cls,
        leaf: SchemaNode,
        path: tuple[SchemaNode, ...],
        invalid_utf8: InvalidUtf8,
        int96_unit: Int96Unit,
        *,
        alone: bool = False,
    ) -> _Column:
        """`alone`: the leaf's values without what is above them."""
        data_type = arrow_type(leaf, int96_unit)
        if invalid_utf8 == "binary" and data_type == pa.string_view():
            data_type = pa.binary_view()
        kind = kind_of(leaf, data_type)
        nesting = (False, (), (), False) if alone else native_nesting(path)
        native = (leaf.leaf or 0, kind.name, kind.width, leaf.max_definition_level, *nesting)
        return cls(leaf, path, data_type, native)

    def decoded(self, num_rows: int, output: Any, arrays: Sequence[np.ndarray]) -> DecodedColumn:
        values, validity, null_count, view_buffers, nested = output
        return DecodedColumn(
            leaf=self.leaf,
            path=self.path,
            type=self.type,
            num_rows=num_rows,
            null_count=null_count,
            values=values,
            validity=validity if null_count else None,
            view_buffers=[
                arrays[part[0]][part[1] : part[2]] if isinstance(part, tuple) else part
                for part in view_buffers
            ],
            nesting=nesting_of(self.path, nested),
        )


def _path(leaf: SchemaNode, metadata: FileMetaData) -> tuple[SchemaNode, ...]:
    return (leaf,) if len(leaf.path) == 1 else path_to(metadata.schema, leaf)


def _agree(decoded: list[DecodedColumn], plan: Plan) -> None:
    """Let the leaves of each root column share what is above them, once they agree on it."""
    for start, stop in roots([column.path for column in decoded]):
        for before, at in pairwise(range(start, stop)):
            left, right = decoded[before], decoded[at]
            if left.nesting is None or right.nesting is None:
                continue
            row = first_difference(left.path, left.nesting, right.path, right.nesting)
            if row is not None:
                raise CorruptError(
                    f"the levels of {left.leaf.column!r} and of this column differ on the lists "
                    f"and groups above both, first in row {row:,} of what is read",
                    row_group=_row_group(plan, row),
                    column=right.leaf.column,
                )
            nesting = sharing(left.path, left.nesting, right.path, right.nesting)
            decoded[at] = replace(right, nesting=nesting)


def _row_group(plan: Plan, row: int) -> int | None:
    """Where a row of the output comes from."""
    for group in plan.row_groups:
        num_rows = sum(stop - start for start, stop in group.rows)
        if row < num_rows:
            return group.row_group
        row -= num_rows
    return None


def _codecs_and_values(
    metadata: FileMetaData, row_group: RowGroupPlan
) -> tuple[list[int], list[int]]:
    """Codecs and num_values of the row group's chunks, once nothing stands in the way of them."""
    leaves = np.array([chunk.leaf for chunk in row_group.chunks], np.int64)
    rows = row_group.row_group * metadata.num_leaves + leaves
    looked_at = Present.CRYPTO_METADATA | Present.META_DATA | Present.FILE_PATH
    odd = (metadata.chunks.present[rows] & int(looked_at)) != int(Present.META_DATA)
    for leaf in leaves[odd].tolist():
        _codec(metadata, row_group.row_group, leaf)
    return metadata.chunks.codec[rows].tolist(), metadata.chunks.num_values[rows].tolist()


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
