"""FileMetaData as columnar arrays: parsed once by native code, immutable, shared, never copied."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntFlag
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pqlab.errors import PqlabError
from pqlab.footer import details
from pqlab.footer.schema import SchemaNode, build_leaves, build_schema
from pqlab.limits import DEFAULT_LIMITS, Limits
from pqlab.native import _native

Buffer = bytes | bytearray | memoryview | np.ndarray


class Present(IntFlag):
    """Which optional fields a column chunk has (`ChunkTable.present`)."""

    FILE_PATH = 1 << 0
    META_DATA = 1 << 1
    OFFSET_INDEX = 1 << 2
    COLUMN_INDEX = 1 << 3
    CRYPTO_METADATA = 1 << 4
    ENCRYPTED_COLUMN_METADATA = 1 << 5
    KEY_VALUE_METADATA = 1 << 6
    INDEX_PAGE_OFFSET = 1 << 7
    DICTIONARY_PAGE_OFFSET = 1 << 8
    STATISTICS = 1 << 9
    ENCODING_STATS = 1 << 10
    BLOOM_FILTER_OFFSET = 1 << 11
    BLOOM_FILTER_LENGTH = 1 << 12
    SIZE_STATISTICS = 1 << 13
    GEOSPATIAL_STATISTICS = 1 << 14
    NULL_COUNT = 1 << 15
    DISTINCT_COUNT = 1 << 16
    NAN_COUNT = 1 << 17
    MIN = 1 << 18  # the deprecated field
    MAX = 1 << 19
    MIN_VALUE = 1 << 20
    MAX_VALUE = 1 << 21


@dataclass(frozen=True, slots=True, eq=False)
class ChunkTable:
    """One row per column chunk, in order (row_group, leaf): row = row_group * num_leaves + leaf.

    Every array has that length and the narrowest dtype that holds its values, so convert (`int()`,
    `.astype(np.int64)`) before doing arithmetic: sums of narrow numbers wrap. An array whose values
    are all equal is stored once (stride 0). Absent numbers are 0: ask `present`.
    """

    position: np.ndarray  # of the ColumnChunk struct within the footer
    present: np.ndarray  # bits of `Present`
    codec: np.ndarray  # codes that the format does not know are kept
    encodings: np.ndarray  # bit e: encoding e is listed; bit 31: one above 30, or negative
    data_page_encodings: np.ndarray  # same bits, from encoding_stats; 0: unknown
    num_data_pages: np.ndarray  # from encoding_stats; 0: unknown
    num_values: np.ndarray
    total_uncompressed_size: np.ndarray
    total_compressed_size: np.ndarray
    data_page_offset: np.ndarray
    dictionary_page_offset: np.ndarray
    null_count: np.ndarray
    distinct_count: np.ndarray
    statistics_position: np.ndarray  # of the Statistics struct, from `position`; 0: none
    offset_index_offset: np.ndarray
    offset_index_length: np.ndarray
    column_index_offset: np.ndarray
    column_index_length: np.ndarray
    bloom_filter_offset: np.ndarray
    bloom_filter_length: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class RowGroupTable:
    """One row per row group, stored like `ChunkTable`. Absent numbers are -1."""

    position: np.ndarray  # of the RowGroup struct within the footer
    num_rows: np.ndarray
    first_row: np.ndarray  # file-global: the rows of the row groups before
    total_byte_size: np.ndarray
    total_compressed_size: np.ndarray
    file_offset: np.ndarray
    ordinal: np.ndarray
    num_sorting_columns: np.ndarray


@dataclass(frozen=True, slots=True)
class Extension:
    """A field 32767 (BinaryProtocolExtensions.md): its bytes are [start, stop) of the footer."""

    owner: str  # the struct that carries it
    start: int
    stop: int
    row_group: int | None
    leaf: int | None


Table = TypeVar("Table", ChunkTable, RowGroupTable)
Kept = TypeVar("Kept")

_MOST_KEPT = 64

# Field ids of the unions ColumnOrder and EncryptionAlgorithm.
_COLUMN_ORDERS = {1: "TYPE_ORDER", 2: "IEEE_754_TOTAL_ORDER", 3: "INT96_TIMESTAMP_ORDER"}
_ENCRYPTION_ALGORITHMS = {1: "AES_GCM_V1", 2: "AES_GCM_CTR_V1"}


@dataclass(frozen=True, eq=False, repr=False)
class FileMetaData:
    """A parsed footer.

    `footer_offset`: where `footer` starts in the file. `num_rows` sums the row groups, whatever
    `stated_num_rows` says. `warnings`: what was wrong in optional fields, which count as absent.
    """

    footer_offset: int
    format_version: int
    stated_num_rows: int
    num_rows: int
    created_by: str | None
    num_leaves: int
    num_row_groups: int
    encryption_algorithm: str | None
    has_footer_signing_key_metadata: bool
    warnings: tuple[str, ...]
    _arrays: Mapping[str, np.ndarray]  # as stored: see `arrays`
    _key_value_position: int

    def __repr__(self) -> str:
        return (
            f"FileMetaData({self.num_rows:,} rows, {self.num_row_groups:,} row groups, "
            f"{self.num_leaves:,} leaves, footer of {self.footer_bytes:,} bytes)"
        )

    @functools.cached_property
    def footer(self) -> np.ndarray:
        """The thrift bytes of FileMetaData (uint8, read only), kept for what is read on demand."""
        return self._arrays["footer"]

    @property
    def footer_bytes(self) -> int:
        """The length of `footer`."""
        return len(self.footer)

    def chunk_cells(self, name: str, rows: ArrayLike | None) -> np.ndarray:
        """One column of `chunks`, in these rows (None: all)."""
        column: np.ndarray = getattr(self.chunks, name)
        return column if rows is None else column[np.asarray(rows, np.intp)]

    def footer_part(self, start: int, stop: int) -> np.ndarray:  # noqa: ARG002 - a mapped one's
        """The footer, of which only the bytes [start, stop) will be read."""
        return self.footer

    def footer_of(self, rows: ArrayLike | None) -> np.ndarray:  # noqa: ARG002 - a mapped one's
        """The footer, of which only what belongs to these rows of `chunks` will be read."""
        return self.footer

    @functools.cached_property
    def row_groups(self) -> RowGroupTable:
        """One row per row group."""
        return _table(RowGroupTable, "row_groups.", self._arrays, self.num_row_groups)

    @functools.cached_property
    def chunks(self) -> ChunkTable:
        """One row per column chunk."""
        return _table(ChunkTable, "chunks.", self._arrays, self.num_row_groups * self.num_leaves)

    @property
    def num_chunks(self) -> int:
        """Column chunks, the rows of `chunks`."""
        return self.num_row_groups * self.num_leaves

    def kept(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """What `make` gives for the key, made once for this file; the oldest of many are let go."""
        found: Kept | None = self._kept.get(key)
        if found is None:
            found = make()
            while len(self._kept) >= _MOST_KEPT:
                self._kept.pop(next(iter(self._kept), None), None)
            self._kept[key] = found
        return found

    @functools.cached_property
    def _kept(self) -> dict[Hashable | None, Any]:
        return {}

    @functools.cached_property
    def schema(self) -> SchemaNode:
        """The root of the schema tree."""
        return self._nodes[0]

    @functools.cached_property
    def leaves(self) -> tuple[SchemaNode, ...]:
        """The leaves, by ordinal."""
        nodes = self._nodes
        return tuple(nodes[element] for element in self._arrays["leaf_elements"].tolist())

    def leaf_nodes(self, leaves: Sequence[int]) -> list[SchemaNode]:
        """The nodes of these leaves; a few of many are made without the rest of the tree."""
        if "_nodes" in self.__dict__ or len(leaves) * 8 > self.num_leaves:
            return [self.leaves[leaf] for leaf in leaves]
        elements = self._arrays["leaf_elements"][np.asarray(leaves, np.intp)].tolist()
        nodes = build_leaves(self._schema_table, elements, self.footer_part)
        return [replace(node, leaf=int(leaf)) for node, leaf in zip(nodes, leaves, strict=True)]

    @functools.cached_property
    def _nodes(self) -> list[SchemaNode]:
        num_elements = int(self._arrays["numbers"][_NUMBERS.index("num_elements")])
        return build_schema(self._schema_table, num_elements, self.footer)

    @property
    def _schema_table(self) -> dict[str, np.ndarray]:
        prefix = "schema."
        names = [name for name in self._arrays if name.startswith(prefix)]
        return {name.removeprefix(prefix): self._arrays[name] for name in names}

    @functools.cached_property
    def column_orders(self) -> tuple[str | None, ...]:
        """Per leaf, the name of the ColumnOrder union's field; None: absent or unknown."""
        orders = self._arrays["column_orders"].tolist()
        return tuple(map(_COLUMN_ORDERS.get, orders)) if orders else (None,) * self.num_leaves

    @functools.cached_property
    def key_value_metadata(self) -> list[tuple[str, str | None]]:
        """Keys and values in file order; keys may repeat. What is not UTF-8 shows as U+FFFD."""
        if not self._key_value_position:
            return []
        return _native.parse_key_values(self.footer, self._key_value_position)

    @functools.cached_property
    def extensions(self) -> tuple[Extension, ...]:
        """The extension fields that were found, in file order."""
        owners = self._text["extension_owners"]
        return tuple(
            Extension(owners[owner], start, start + size, *(p if p >= 0 else None for p in place))
            for owner, start, size, *place in self._arrays["extensions"].reshape(-1, 5).tolist()
        )

    @functools.cached_property
    def _text(self) -> dict[str, Any]:
        return _decode_text(self._arrays["text"])

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, without the footer's own."""
        return sum(array.nbytes for name, array in self._arrays.items() if name != "footer")

    def chunk_row(self, row_group: int, leaf: int) -> int:
        """The row of `chunks` that holds this chunk."""
        if not (0 <= row_group < self.num_row_groups and 0 <= leaf < self.num_leaves):
            raise IndexError(f"no chunk of row group {row_group}, leaf {leaf}")
        return row_group * self.num_leaves + leaf

    def statistics(self, rows: ArrayLike | None = None) -> details.StatisticsTable:
        """Statistics of these rows of `chunks` (default: all), a row for each, read now."""
        relative = self.chunk_cells("statistics_position", rows).astype(np.uint64)
        positions = self.chunk_cells("position", rows).astype(np.uint64) + relative
        positions[relative == 0] = 0
        return details.StatisticsTable.read(self.footer_of(rows), positions)

    def encoding_stats(self, rows: ArrayLike | None = None) -> details.EncodingStatsTable:
        """Page counts by page type and encoding of these rows of `chunks`, read now."""
        positions = self._positions(rows, Present.ENCODING_STATS)
        return details.EncodingStatsTable.read(self.footer_of(rows), positions)

    def size_statistics(self, rows: ArrayLike | None = None) -> details.SizeStatisticsTable:
        """Size statistics of these rows of `chunks`, read now."""
        positions = self._positions(rows, Present.SIZE_STATISTICS)
        return details.SizeStatisticsTable.read(self.footer_of(rows), positions)

    def sorting_columns(self, row_group: int) -> tuple[details.SortingColumn, ...]:
        """The sorting columns of a row group."""
        if not self.row_groups.num_sorting_columns[row_group]:
            return ()
        position = int(self.row_groups.position[row_group])
        return details.read_sorting_columns(self.footer, position)

    def raw(self) -> Any:
        """The thrift struct FileMetaData, by thriftpy2 (about 40 µs per column chunk)."""
        from pqlab.footer import raw

        return raw.file_metadata(self.footer.data, offset=self.footer_offset)

    def raw_chunk(self, row_group: int, leaf: int) -> Any:
        """The thrift struct ColumnChunk, by thriftpy2."""
        from pqlab.footer import raw

        position = int(self.chunks.position[self.chunk_row(row_group, leaf)])
        footer, offset = self.footer.data, self.footer_offset
        return raw.read_struct("ColumnChunk", footer, position, offset=offset)[0]

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain one-dimensional arrays, for `from_arrays`; constants are stored once.

        "footer" is the thrift bytes; the other names are private to this class.
        """
        return dict(self._arrays)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """The metadata whose `arrays()` these are; they are used as they are, not copied."""
        numbers = dict(zip(_NUMBERS, arrays["numbers"].tolist(), strict=True))
        text = _decode_text(arrays["text"])
        return cls(
            footer_offset=numbers["footer_offset"],
            format_version=numbers["format_version"],
            stated_num_rows=numbers["stated_num_rows"],
            num_rows=numbers["num_rows"],
            created_by=text["created_by"],
            num_leaves=len(arrays["leaf_elements"]),
            num_row_groups=numbers["num_row_groups"],
            encryption_algorithm=text["encryption_algorithm"],
            has_footer_signing_key_metadata=bool(numbers["has_footer_signing_key_metadata"]),
            warnings=tuple(text["warnings"]),
            _arrays=arrays,
            _key_value_position=numbers["key_value_metadata"],
        )

    def _positions(self, rows: ArrayLike | None, needed: Present) -> np.ndarray:
        positions: np.ndarray = self.chunk_cells("position", rows).astype(np.uint64)
        positions[(self.chunk_cells("present", rows) & int(needed)) == 0] = 0
        return positions


# Names of the elements of the array "numbers".
_NUMBERS = (
    "footer_offset", "format_version", "stated_num_rows", "num_rows", "num_row_groups",
    "num_elements", "key_value_metadata", "has_footer_signing_key_metadata",
)  # fmt: skip


def parse_file_metadata(
    footer: Buffer,
    footer_offset: int,
    limits: Limits = DEFAULT_LIMITS,
    file: str | None = None,
    *,
    predict: bool = True,
) -> FileMetaData:
    """Parse the thrift bytes of FileMetaData, which start at `footer_offset` in the file.

    The bytes are kept, not copied. `file`: its name, for errors. `predict=False` walks every chunk
    field by field, which gives the same result. Raises `CorruptError` with file, row group, column,
    offset and field where the bytes contradict the specification, and `LimitError`.
    """
    data = np.frombuffer(footer, np.uint8)
    data = _read_only(data)
    limits.check("footer_bytes", len(data), "the footer", file=file, offset=footer_offset)
    try:
        parsed = _native.parse_footer(
            data,
            schema_elements=limits.schema_elements,
            schema_depth=limits.schema_depth,
            row_groups=limits.row_groups,
            column_chunks=limits.column_chunks,
            predict=predict,
        )
    except PqlabError as error:
        if error.offset is not None:
            error.offset += footer_offset
        raise error.at(file=file) from None
    return FileMetaData.from_arrays(_to_arrays(data, footer_offset, parsed))


def _to_arrays(
    footer: np.ndarray, footer_offset: int, parsed: dict[str, Any]
) -> dict[str, np.ndarray]:
    owners = sorted({owner for owner, *_ in parsed["extensions"]})
    extensions = [(owners.index(owner), *rest) for owner, *rest in parsed["extensions"]]
    text = {
        "created_by": parsed["created_by"],
        "encryption_algorithm": _encryption_algorithm(parsed["encryption_algorithm"]),
        "extension_owners": owners,
        "warnings": [_warning_text(footer_offset, warning) for warning in parsed["warnings"]],
    }
    numbers = {**parsed, "footer_offset": footer_offset}
    arrays = {
        "footer": footer,
        "numbers": np.array([numbers[name] for name in _NUMBERS], np.int64),
        "text": np.frombuffer(json.dumps(text).encode(), np.uint8),
        "leaf_elements": parsed["leaf_elements"],
        "column_orders": parsed["column_orders"],
        "extensions": np.array(extensions, np.int64).reshape(-1),
    }
    for table in ("schema", "chunks", "row_groups"):
        arrays |= {f"{table}.{name}": array for name, array in parsed[table].items()}
    return {name: _read_only(array) for name, array in arrays.items()}


def _encryption_algorithm(field_id: int) -> str | None:
    return _ENCRYPTION_ALGORITHMS.get(field_id, f"FIELD_{field_id}") if field_id else None


def _warning_text(footer_offset: int, warning: _native.FooterWarning) -> str:
    field, message, count, position, row_group, column = warning
    place = [f"row group {row_group}"] if row_group >= 0 else []
    place += [f"column {column!r}"] if column is not None else []
    place += [f"offset {footer_offset + position}"]
    times = "" if count == 1 else f", {count:,} times, first at"
    return f"{field} {message}".strip() + f"{times} [{', '.join(place)}]"


def _decode_text(array: np.ndarray) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(array.tobytes())
    return decoded


def _table(kind: type[Table], prefix: str, arrays: Mapping[str, np.ndarray], rows: int) -> Table:
    columns = (arrays[prefix + field.name] for field in fields(kind))
    return kind(*(_full_length(column, rows) for column in columns))


def _full_length(column: np.ndarray, rows: int) -> np.ndarray:
    return column if len(column) == rows else np.broadcast_to(column, (rows,))


def _read_only(array: np.ndarray) -> np.ndarray:
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view
