"""What a file is made of, as plain values: the headless view that text and HTML are made from.

No I/O and no state: everything comes from the parsed footer, and everything is bounded, whatever
the file's number of columns, row groups and keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from pqlab import text
from pqlab.footer import names
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.schema import SchemaNode
from pqlab.overview.facts import MAX_WARNINGS, Fact, file_facts, total, warning_facts

MAX_NAMED = 8  # parts in the bar of bytes; the others are one
MAX_SCHEMA_ROWS = 200
MAX_SCHEMA_DEPTH = 24
MAX_ROW_GROUPS = 20
MAX_KEYS = 50


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the bytes: a large root column (of a dataset: a file), the others, or metadata.

    `ordinal` numbers the named ones, 1 is the largest; None for the rest.
    """

    name: str
    size_bytes: int
    kind: Literal["named", "others", "metadata"]
    ordinal: int | None = None


@dataclass(frozen=True, slots=True)
class SchemaRow:
    """One schema element; sizes and nulls are sums over its leaves and all row groups.

    `encodings` are those of data pages if `are_of_data_pages`; else the footer only lists what is
    used somewhere in the chunks, levels and dictionaries included. `null_count` is None where a
    chunk does not say, and for groups. `leaf`: its ordinal, None for groups.
    """

    name: str
    column: str
    depth: int
    type: str
    repetition: str
    codecs: tuple[str, ...]
    encodings: tuple[str, ...]
    are_of_data_pages: bool
    null_count: int | None
    compressed_bytes: int
    uncompressed_bytes: int
    leaf: int | None = None
    children: tuple[SchemaRow, ...] = ()

    @property
    def storage(self) -> str:
        """Codecs and encodings, as text: `SNAPPY · RLE_DICTIONARY, PLAIN`."""
        listed = ", ".join(self.encodings)
        if self.encodings and not self.are_of_data_pages:
            listed = f"listed: {listed}"
        return " · ".join(part for part in (", ".join(self.codecs), listed) if part)

    @property
    def nulls(self) -> str:
        """The number of nulls, as text."""
        return text.ABSENT if self.null_count is None else f"{self.null_count:,}"

    @property
    def ratio(self) -> str:
        """Uncompressed over compressed size, as text."""
        if self.compressed_bytes <= 0 or self.uncompressed_bytes <= 0:
            return text.ABSENT
        return f"{self.uncompressed_bytes / self.compressed_bytes:.1f} ×"


@dataclass(frozen=True, slots=True)
class RowGroupRow:
    """One row group; its compressed size is the sum over its column chunks."""

    row_group: int
    num_rows: int
    compressed_bytes: int


@dataclass(frozen=True, slots=True)
class View:
    """Everything that the overview of a file, or of a dataset, shows.

    `parts` add up to `size_bytes`, or to more in a file that is damaged, and then a fact says so;
    so do `kinds`: data pages, dictionary pages, indexes, and so on. A dataset has `num_files`, and
    neither kinds nor rows of schema and row groups.
    """

    title: str
    subtitle: str
    num_files: int | None
    num_rows: int
    num_columns: int
    num_row_groups: int
    size_bytes: int
    parts: tuple[Part, ...]
    facts: tuple[Fact, ...]
    num_schema_elements: int = 0  # the root is none
    num_keys: int = 0
    kinds: tuple[Part, ...] = ()
    schema: tuple[SchemaRow, ...] = ()
    row_groups: tuple[RowGroupRow, ...] = ()
    key_value_metadata: tuple[tuple[str, str | None], ...] = ()

    @property
    def figures(self) -> tuple[tuple[str, str], ...]:
        """The numbers that matter most, with what they count."""
        counts = (("file", self.num_files), ("row", self.num_rows), ("column", self.num_columns))
        return (
            *(
                (f"{count:,}", noun if count == 1 else f"{noun}s")
                for noun, count in counts
                if count is not None
            ),
            (f"{self.num_row_groups:,}", "row group" if self.num_row_groups == 1 else "row groups"),
            (text.size(self.size_bytes), "in size"),
        )

    def schema_rows(self) -> Iterator[SchemaRow]:
        """The rows of the schema in the file's order, parents before their children."""
        waiting = list(reversed(self.schema))
        while waiting:
            row = waiting.pop()
            yield row
            waiting.extend(reversed(row.children))

    @property
    def parts_bytes(self) -> int:
        """The whole that the shares of `parts` are of."""
        return sum(max(0, part.size_bytes) for part in self.parts)

    @property
    def num_schema_rows_left_out(self) -> int:
        """How many schema elements `schema` leaves out, since it is bounded."""
        return self.num_schema_elements - sum(1 for _ in self.schema_rows())


def file_view(metadata: FileMetaData, file: str, size_bytes: int) -> View:
    """The view of a file of that name and size."""
    columns = _Columns(metadata)
    parts = tuple(_parts(metadata, columns, size_bytes))
    key_values = metadata.key_value_metadata
    writer = (
        "writer unknown" if metadata.created_by is None else f"written by {metadata.created_by}"
    )
    return View(
        title=file,
        subtitle=f"Parquet format version {metadata.format_version}, {writer}",
        num_files=None,
        num_rows=metadata.num_rows,
        num_columns=metadata.num_leaves,
        num_row_groups=metadata.num_row_groups,
        size_bytes=size_bytes,
        parts=parts,
        facts=(*file_facts(metadata), *_excess(parts, size_bytes)),
        num_schema_elements=sum(1 for _ in _descendants(metadata.schema)),
        num_keys=len(key_values),
        kinds=tuple(_kinds(metadata, parts)),
        schema=_schema_rows(metadata.schema, columns),
        row_groups=tuple(_row_group_rows(metadata)),
        key_value_metadata=tuple(key_values[:MAX_KEYS]),
    )


def dataset_view(
    files: Sequence[tuple[str, int]],
    *,
    title: str,
    num_rows: int,
    num_columns: int,
    num_row_groups: int,
    created_by: Sequence[str | None],
    partitions: Sequence[str],
    skipped: Sequence[tuple[str, str]],
    warnings: Sequence[str],
) -> View:
    """The view of a dataset. `files`: names and sizes; `skipped`: names and reasons."""
    writers = [writer for writer in created_by[:MAX_WARNINGS] if writer is not None]
    relative = [(name.removeprefix(f"{title.rstrip('/')}/"), size) for name, size in files]
    facts = [Fact("hive folders", ", ".join(partitions) or "none")]
    facts += [Fact("skipped", f"{name}: {reason}") for name, reason in skipped[:MAX_WARNINGS]]
    if (more := len(skipped) - MAX_WARNINGS) > 0:
        facts.append(Fact("skipped", f"{more:,} more"))
    return View(
        title=title,
        subtitle=f"written by {', '.join(writers)}" if writers else "writer unknown",
        num_files=len(files),
        num_rows=num_rows,
        num_columns=num_columns,
        num_row_groups=num_row_groups,
        size_bytes=sum(size for _, size in files),
        parts=tuple(_largest(relative, "file")),
        facts=(*facts, *warning_facts(warnings)),
    )


def schema_frame(root: SchemaNode) -> pl.DataFrame:
    """A row per schema element but the root, in the file's order.

    `path` is a list of names, `depth` counts from 0, `leaf` is null for groups.
    """
    nodes = list(_descendants(root))
    columns: dict[str, tuple[Any, list[Any]]] = {
        "name": (pl.String, [node.name for node in nodes]),
        "path": (pl.List(pl.String), [list(node.path) for node in nodes]),
        "depth": (pl.Int32, [len(node.path) - 1 for node in nodes]),
        "repetition_type": (pl.String, [node.repetition_type for node in nodes]),
        "physical_type": (pl.String, [node.physical_type for node in nodes]),
        "type_length": (pl.Int32, [node.type_length for node in nodes]),
        "logical_type": (
            pl.String,
            [node.logical_type and str(node.logical_type) for node in nodes],
        ),
        "converted_type": (pl.String, [node.converted_type for node in nodes]),
        "precision": (pl.Int32, [node.precision for node in nodes]),
        "scale": (pl.Int32, [node.scale for node in nodes]),
        "field_id": (pl.Int32, [node.field_id for node in nodes]),
        "max_definition_level": (pl.Int32, [node.max_definition_level for node in nodes]),
        "max_repetition_level": (pl.Int32, [node.max_repetition_level for node in nodes]),
        "leaf": (pl.Int32, [node.leaf for node in nodes]),
    }
    return pl.DataFrame(
        [pl.Series(name, values, dtype) for name, (dtype, values) in columns.items()]
    )


class _Columns:
    """What the leaves take, summed over the row groups; one array element per leaf."""

    def __init__(self, metadata: FileMetaData) -> None:
        chunks = metadata.chunks
        shape = (metadata.num_row_groups, metadata.num_leaves)
        self.compressed_bytes = _sums(chunks.total_compressed_size, shape)
        self.uncompressed_bytes = _sums(chunks.total_uncompressed_size, shape)
        self.null_count = _sums(chunks.null_count, shape)
        stated = (chunks.present & np.uint32(Present.NULL_COUNT)) != 0
        self.has_null_count = stated.reshape(shape).all(axis=0)
        self.codec = chunks.codec.reshape(shape)
        in_pages = chunks.data_page_encodings.reshape(shape)
        self.are_of_data_pages = (in_pages != 0).all(axis=0) & (shape[0] > 0)
        listed = np.bitwise_or.reduce(chunks.encodings.reshape(shape), axis=0, initial=0)
        used = np.bitwise_or.reduce(in_pages, axis=0, initial=0)
        self.encodings = np.where(self.are_of_data_pages, used, listed)

    def row(
        self, node: SchemaNode, depth: int, leaves: list[int], children: tuple[SchemaRow, ...]
    ) -> SchemaRow:
        leaf = node.leaf
        is_counted = leaf is not None and bool(self.has_null_count[leaf])
        return SchemaRow(
            name=node.name,
            column=node.column,
            depth=depth,
            type=_type(node),
            repetition=(node.repetition_type or "").lower(),
            codecs=() if leaf is None else _codecs(self.codec[:, leaf]),
            encodings=() if leaf is None else tuple(names.encodings_of(int(self.encodings[leaf]))),
            are_of_data_pages=leaf is not None and bool(self.are_of_data_pages[leaf]),
            null_count=int(self.null_count[leaf]) if is_counted else None,
            compressed_bytes=int(self.compressed_bytes[leaves].sum()),
            uncompressed_bytes=int(self.uncompressed_bytes[leaves].sum()),
            leaf=leaf,
            children=children,
        )


def _sums(values: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    sums: np.ndarray = values.reshape(shape).sum(axis=0, dtype=np.int64)
    return sums


def _codecs(codes: np.ndarray) -> tuple[str, ...]:
    return tuple(names.name(code, names.CODECS) for code in np.unique(codes).tolist())


def _type(node: SchemaNode) -> str:
    if node.annotation is not None:
        return str(node.annotation)
    if node.physical_type is None:
        return "group"
    length = "" if node.type_length is None else f"({node.type_length})"
    return f"{node.physical_type}{length}"


def _descendants(root: SchemaNode) -> Iterator[SchemaNode]:
    waiting = list(reversed(root.children))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def _leaves(node: SchemaNode) -> list[int]:
    if node.leaf is not None:
        return [node.leaf]
    return [child.leaf for child in _descendants(node) if child.leaf is not None]


def _schema_rows(root: SchemaNode, columns: _Columns) -> tuple[SchemaRow, ...]:
    """The first rows of the schema, as a tree that is bounded in rows and depth."""
    left = MAX_SCHEMA_ROWS

    def rows(parent: SchemaNode, depth: int) -> tuple[SchemaRow, ...]:
        nonlocal left
        found = []
        for node in parent.children if depth < MAX_SCHEMA_DEPTH else ():
            if left == 0:
                break
            left -= 1
            children = rows(node, depth + 1)
            found.append(columns.row(node, depth, _leaves(node), children))
        return tuple(found)

    return rows(root, 0)


def _row_group_rows(metadata: FileMetaData) -> Iterator[RowGroupRow]:
    num_rows = metadata.row_groups.num_rows
    sizes = metadata.chunks.total_compressed_size.reshape(len(num_rows), metadata.num_leaves)
    for row_group in range(min(len(num_rows), MAX_ROW_GROUPS)):
        size_bytes = int(sizes[row_group].sum(dtype=np.int64))
        yield RowGroupRow(row_group, int(num_rows[row_group]), size_bytes)


def _parts(metadata: FileMetaData, columns: _Columns, size_bytes: int) -> Iterator[Part]:
    """Where the file's bytes are, as the footer states it; what it does not account for comes last.

    In a damaged file the parts may be negative, and add up to more than the file.
    """
    sizes = columns.compressed_bytes.tolist()
    roots = [
        (node.name, sizes[node.leaf] if node.leaf is not None else _sum(sizes, node))
        for node in metadata.schema.children
    ]
    yield from _largest(roots, "column")
    chunks = metadata.chunks
    metadata_parts = {
        "page indexes": total(chunks.offset_index_length) + total(chunks.column_index_length),
        "bloom filters": total(chunks.bloom_filter_length),
        "footer": metadata.footer_bytes + 8,  # its length and the magic follow it
    }
    for name, part_bytes in metadata_parts.items():
        yield Part(name, part_bytes, "metadata")
    rest_bytes = size_bytes - sum(size for _, size in roots) - sum(metadata_parts.values())
    if rest_bytes > 0:
        yield Part("other bytes", rest_bytes, "metadata")


def _sum(sizes: Sequence[int], node: SchemaNode) -> int:
    return sum(sizes[leaf] for leaf in _leaves(node))


def _kinds(metadata: FileMetaData, parts: Sequence[Part]) -> Iterator[Part]:
    """The bytes of the columns as data and dictionary pages, then the metadata's parts."""
    chunks = metadata.chunks
    stored = chunks.total_compressed_size.astype(np.int64)
    start = chunks.dictionary_page_offset.astype(np.int64)
    dictionaries = np.where(start > 0, chunks.data_page_offset.astype(np.int64) - start, 0)
    dictionary_bytes = total(np.clip(dictionaries, 0, np.maximum(stored, 0)))
    columns_bytes = sum(part.size_bytes for part in parts if part.kind != "metadata")
    kinds = {
        "data pages": columns_bytes - dictionary_bytes,
        "dictionary pages": dictionary_bytes,
        **{part.name: part.size_bytes for part in parts if part.kind == "metadata"},
    }
    there = [(name, size_bytes) for name, size_bytes in kinds.items() if size_bytes]
    for ordinal, (name, size_bytes) in enumerate(there, start=1):
        yield Part(name, size_bytes, "named", ordinal)


def _largest(sizes: Sequence[tuple[str, int]], noun: str) -> Iterator[Part]:
    """The largest by name, largest first, and the others as one part."""
    ordered = sorted(sizes, key=lambda named: -named[1])
    count = MAX_NAMED if len(ordered) != MAX_NAMED + 1 else MAX_NAMED - 1
    for ordinal, (name, size_bytes) in enumerate(ordered[:count], start=1):
        yield Part(name, size_bytes, "named", ordinal)
    if others := ordered[count:]:
        yield Part(f"{len(others):,} other {noun}s", sum(size for _, size in others), "others")


def _excess(parts: tuple[Part, ...], size_bytes: int) -> Iterator[Fact]:
    excess = sum(part.size_bytes for part in parts) - size_bytes
    if excess > 0 or any(part.size_bytes < 0 for part in parts):
        stated = f"{text.size(excess)} more than the file has"
        yield Fact("the footer accounts for", stated, is_warning=True)
