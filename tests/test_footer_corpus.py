"""Every footer of the corpus, against pyarrow and against thriftpy2, field by field."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from footers import footer_of, same_arrays

from pqlab.errors import CorruptError, PqlabError
from pqlab.footer import raw
from pqlab.footer.metadata import FileMetaData, Present, parse_file_metadata
from pqlab.footer.schema import LogicalType, SchemaNode
from pqlab.native import _native

CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")
ENCODINGS = (
    "PLAIN", "GROUP_VAR_INT", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED", "DELTA_BINARY_PACKED",
    "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT", "ALP",
)  # fmt: skip

# Files whose metadata pyarrow refuses and the specification allows, with the sentence that decides.
# (Of files that are damaged on purpose a typed error is right, and so are the values.)
_UNKNOWN = "The `UNKNOWN` type can be used to annotate a column that is always null"
_KEY = "This field must have repetition `required`"  # said of what MAP means, not of the footer
_PRECISION = "`byte_array`: `precision` is not limited, but is required"
# A FIXED_LEN_BYTE_ARRAY without a length: no reader opens it, thriftpy2 alone is compared with.
NO_LENGTH = "Parquet.Test/data/special/all_nulls_no_booleans.parquet"
_ORDERS = "7: optional list<ColumnOrder> column_orders"  # a wrong one counts as absent: a warning
_NESTING = "computed from the schema (i.e. how much nesting there is)"  # pyarrow 26 stops at 100
_NESTED = "apache__impala/testdata/max_nesting_depth/parquet"
PYARROW_REFUSES = {
    f"{_NESTED}/int_array/file.parq": _NESTING,
    f"{_NESTED}/int_map/file.parq": _NESTING,
    f"{_NESTED}/struct/file.parq": _NESTING,
    f"{_NESTED}/struct_array/file.parq": _NESTING,
    "apache__impala/testdata/data/create_table_like_parquet_test.parquet": _UNKNOWN,
    "apache__impala/testdata/data/iceberg_test/iceberg_migrated_complex_test/000000_0": _UNKNOWN,
    "apache__parquet-testing/data/incorrect_map_schema.parquet": _KEY,
    "facebookincubator__velox/velox/dwio/parquet/tests/examples/row_map_array.parquet": _KEY,
    "duckdb__duckdb/data/parquet-testing/bigdecimal.parquet": _PRECISION,
    "hardwood-hq__hardwood/core/src/test/resources/map_key_only_test.parquet": _ORDERS,
}


@functools.cache
def parse(path: Path) -> FileMetaData | PqlabError | None:
    footer = footer_of(path)
    if footer is None:
        return None
    try:
        return parse_file_metadata(footer[0], footer[1], file=path.name)
    except PqlabError as error:
        return error


def pyarrow_metadata(path: Path) -> pq.FileMetaData | str:
    """What pyarrow says, or why it refuses."""
    try:
        return pq.read_metadata(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        return str(error)


def thrift_metadata(content: bytes) -> Any:
    """FileMetaData as thriftpy2's own compact protocol reads it."""
    from thriftpy2.protocol.compact import TCompactProtocol
    from thriftpy2.transport import TMemoryBuffer

    struct = raw.idl().FileMetaData()
    struct.read(TCompactProtocol(TMemoryBuffer(content)))
    return struct


def numbers_of(metadata: FileMetaData, row: int) -> dict[str, int | None]:
    """A chunk's numbers as Python's, None where absent."""
    chunks = metadata.chunks
    present = Present(int(chunks.present[row]))
    optional = {
        "dictionary_page_offset": Present.DICTIONARY_PAGE_OFFSET,
        "null_count": Present.NULL_COUNT,
        "distinct_count": Present.DISTINCT_COUNT,
        "offset_index_offset": Present.OFFSET_INDEX,
        "column_index_offset": Present.COLUMN_INDEX,
        "bloom_filter_offset": Present.BLOOM_FILTER_OFFSET,
        "bloom_filter_length": Present.BLOOM_FILTER_LENGTH,
    }
    return {
        name: int(getattr(chunks, name)[row])
        if name not in optional or optional[name] in present
        else None
        for name in (
            *optional, "codec", "num_values", "total_uncompressed_size", "total_compressed_size",
            "data_page_offset", "offset_index_length", "column_index_length",
        )
    }  # fmt: skip


def text(value: Any) -> Any:
    """What thriftpy2 and pyarrow leave as bytes if it is not UTF-8, as we show it."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def created_by_of(theirs: pq.FileMetaData) -> str:
    try:
        return str(theirs.created_by)
    except UnicodeDecodeError as error:
        return str(error.object, "utf-8", "replace")


def name_of(enum: Any, number: int | None) -> str | None:
    """An enum's name; numbers that it does not have keep theirs."""
    if number is None:
        return None
    unknown = {"ConvertedType": "CONVERTED_TYPE"}.get(enum.__name__, enum.__name__)
    return str(enum._VALUES_TO_NAMES.get(number, f"{unknown}_{number}"))


def set_field(union: Any) -> str | None:
    """The name of the field that is set in a union."""
    return next((name for name, value in vars(union).items() if value is not None), None)


def bits(numbers: Any) -> int:
    """The column `encodings` for a list of encodings."""
    return sum(1 << n for n in {n if 0 <= n <= 30 else 31 for n in numbers})


def difference(pairs: dict[str, tuple[Any, Any]]) -> list[str]:
    return [
        f"{name}: {ours!r}, not {theirs!r}"
        for name, (ours, theirs) in pairs.items()
        if ours != theirs
    ]


def compare_with_pyarrow(metadata: FileMetaData, theirs: pq.FileMetaData) -> list[str]:
    found = difference(
        {
            "row groups": (metadata.num_row_groups, theirs.num_row_groups),
            "leaves": (metadata.num_leaves, theirs.num_columns),
            "num_rows": (metadata.stated_num_rows, theirs.num_rows),
            "created_by": (metadata.created_by or "", created_by_of(theirs)),
            "key_value_metadata": (
                {key: value or "" for key, value in metadata.key_value_metadata},
                {text(key): text(value) for key, value in (theirs.metadata or {}).items()},
            ),
        }
    )
    for leaf, node in enumerate(metadata.leaves):
        found += compare_leaf_with_pyarrow(node, theirs.schema.column(leaf))
    for group in range(metadata.num_row_groups):
        their_group = theirs.row_group(group)
        found += difference(
            {
                "RowGroup.num_rows": (
                    int(metadata.row_groups.num_rows[group]),
                    their_group.num_rows,
                ),
                "RowGroup.total_byte_size": (
                    int(metadata.row_groups.total_byte_size[group]),
                    their_group.total_byte_size,
                ),
            }
        )
        for leaf in range(metadata.num_leaves):
            row = metadata.chunk_row(group, leaf)
            if metadata.chunks.present[row] & Present.CRYPTO_METADATA:
                continue  # pyarrow ends the process
            found += compare_chunk_with_pyarrow(metadata, row, their_group.column(leaf))
    return found


def compare_leaf_with_pyarrow(node: SchemaNode, theirs: Any) -> list[str]:
    return difference(
        {
            "path": (node.column, theirs.path),
            "physical_type": (node.physical_type, theirs.physical_type),
            "max_definition_level": (node.max_definition_level, theirs.max_definition_level),
            "max_repetition_level": (node.max_repetition_level, theirs.max_repetition_level),
        }
    )


def compare_chunk_with_pyarrow(ours: FileMetaData, row: int, theirs: Any) -> list[str]:
    chunks, numbers = ours.chunks, numbers_of(ours, row)
    present = Present(int(chunks.present[row]))
    pairs: dict[str, tuple[Any, Any]] = {
        name: (numbers[name], getattr(theirs, name))
        for name in ("num_values", "total_uncompressed_size", "total_compressed_size",
                     "data_page_offset", "dictionary_page_offset")
    }  # fmt: skip
    known = {name for bit, name in enumerate(ENCODINGS) if chunks.encodings[row] >> bit & 1}
    pairs["encodings"] = (known, set(theirs.encodings) - {"UNKNOWN", "UNDEFINED"})
    pairs["offset index"] = (Present.OFFSET_INDEX in present, theirs.has_offset_index)
    pairs["column index"] = (Present.COLUMN_INDEX in present, theirs.has_column_index)
    codec = int(chunks.codec[row])
    if codec in range(len(CODECS)) and theirs.compression != "UNKNOWN":  # its LZ4
        ours_named = CODECS[codec].removesuffix("_RAW")
        pairs["codec"] = (ours_named, theirs.compression)
    if theirs.is_stats_set and theirs.statistics.has_null_count:
        pairs["null_count"] = (numbers["null_count"], theirs.statistics.null_count)
    return difference(pairs)


def compare_with_thrift(metadata: FileMetaData, theirs: Any) -> list[str]:
    orders = [set_field(order) for order in theirs.column_orders or []]
    if len(orders) != metadata.num_leaves:
        orders = [None] * metadata.num_leaves  # none, or a warning
    found = difference(
        {
            "version": (metadata.format_version, theirs.version),
            "num_rows": (metadata.stated_num_rows, theirs.num_rows),
            "created_by": (metadata.created_by, text(theirs.created_by)),
            "key_value_metadata": (
                metadata.key_value_metadata,
                [(text(pair.key), text(pair.value)) for pair in theirs.key_value_metadata or []],
            ),
            "column_orders": (list(metadata.column_orders), orders),
            "encrypted": (
                metadata.encryption_algorithm is None,
                theirs.encryption_algorithm is None,
            ),
        }
    )
    found += compare_schema_with_thrift(metadata, theirs.schema)
    statistics = metadata.statistics()
    encoding_stats = metadata.encoding_stats()
    size_statistics = metadata.size_statistics()
    for group, their_group in enumerate(theirs.row_groups):
        found += compare_row_group_with_thrift(metadata, group, their_group)
        for leaf, chunk in enumerate(their_group.columns):
            row = metadata.chunk_row(group, leaf)
            found += compare_chunk_with_thrift(metadata, row, chunk)
            if chunk.meta_data is None:
                continue
            found += compare_statistics(metadata, statistics, row, chunk.meta_data.statistics)
            start, stop = encoding_stats.offsets[row : row + 2]
            entries = [
                (s.page_type, s.encoding, s.count) for s in chunk.meta_data.encoding_stats or []
            ]
            table = (encoding_stats.page_type, encoding_stats.encoding, encoding_stats.count)
            ours = list(zip(*(column[start:stop].tolist() for column in table), strict=True))
            found += difference({"encoding_stats": (ours, entries)})
            found += compare_size_statistics(size_statistics, row, chunk.meta_data.size_statistics)
    return found


def compare_schema_with_thrift(metadata: FileMetaData, elements: Any) -> list[str]:
    idl = raw.idl()
    found = []
    nodes = [metadata.schema]
    for element in elements:  # both depth first
        node = nodes.pop()
        nodes.extend(reversed(node.children))
        is_leaf = not element.num_children and element.type is not None
        found += difference(
            {
                "name": (node.name, text(element.name)),
                "type": (node.physical_type, name_of(idl.Type, element.type) if is_leaf else None),
                "type_length": (node.type_length, element.type_length),
                "repetition_type": (
                    node.repetition_type,
                    name_of(idl.FieldRepetitionType, element.repetition_type)
                    if node.path
                    else None,
                ),
                "children": (len(node.children), element.num_children or 0),
                "converted_type": (
                    node.converted_type,
                    name_of(idl.ConvertedType, element.converted_type),
                ),
                "scale": (node.scale, element.scale),
                "precision": (node.precision, element.precision),
                "field_id": (node.field_id, element.field_id),
            }
        )
        found += compare_logical_type(node.logical_type, element.logicalType)
    return found


def compare_logical_type(ours: LogicalType | None, theirs: Any) -> list[str]:
    if theirs is None:
        return difference({"logicalType": (ours, None)})
    kind = set_field(theirs)
    if kind is None:  # a field that the IDL does not have
        return (
            [] if ours and ours.kind.startswith("FIELD_") else [f"logicalType: {ours}, not known"]
        )
    if ours is None:
        return [f"logicalType: None, not {kind}"]
    value = getattr(theirs, kind)
    unit = getattr(value, "unit", None)
    pairs = {
        "kind": (ours.kind, kind),
        "scale": (ours.scale, getattr(value, "scale", None)),
        "precision": (ours.precision, getattr(value, "precision", None)),
        "bitWidth": (ours.bit_width, getattr(value, "bitWidth", None)),
        "isSigned": (ours.is_signed, getattr(value, "isSigned", None)),
        "isAdjustedToUTC": (ours.is_adjusted_to_utc, getattr(value, "isAdjustedToUTC", None)),
        "unit": (ours.unit, unit and set_field(unit)),
        "crs": (ours.crs, getattr(value, "crs", None)),
        "specification_version": (
            ours.specification_version, getattr(value, "specification_version", None)
        ),
    }  # fmt: skip
    return difference(pairs)


def compare_row_group_with_thrift(metadata: FileMetaData, group: int, theirs: Any) -> list[str]:
    table = metadata.row_groups
    names = ("num_rows", "total_byte_size", "total_compressed_size", "file_offset", "ordinal")
    pairs: dict[str, tuple[Any, Any]] = {}
    for name in names:
        value = getattr(theirs, name)
        pairs[name] = (int(getattr(table, name)[group]), -1 if value is None else value)
    pairs["sorting_columns"] = (
        [(c.column_idx, c.descending, c.nulls_first) for c in metadata.sorting_columns(group)],
        [(c.column_idx, c.descending, c.nulls_first) for c in theirs.sorting_columns or []],
    )
    return difference(pairs)


def compare_chunk_with_thrift(metadata: FileMetaData, row: int, theirs: Any) -> list[str]:
    chunks, numbers = metadata.chunks, numbers_of(metadata, row)
    meta_data, present = theirs.meta_data, Present(int(chunks.present[row]))
    pairs: dict[str, tuple[Any, Any]] = {}
    for name in ("offset_index_offset", "column_index_offset"):
        pairs[name] = (numbers[name], getattr(theirs, name))
    for name in ("offset_index_length", "column_index_length"):
        pairs[name] = (numbers[name], getattr(theirs, name) or 0)
    owners = {
        Present.FILE_PATH: theirs.file_path,
        Present.META_DATA: meta_data,
        Present.CRYPTO_METADATA: theirs.crypto_metadata,
        Present.ENCRYPTED_COLUMN_METADATA: theirs.encrypted_column_metadata,
    }
    if meta_data is not None:
        owners |= {
            Present.KEY_VALUE_METADATA: meta_data.key_value_metadata,
            Present.INDEX_PAGE_OFFSET: meta_data.index_page_offset,
            Present.STATISTICS: meta_data.statistics,
            Present.ENCODING_STATS: meta_data.encoding_stats,
            Present.SIZE_STATISTICS: meta_data.size_statistics,
            Present.GEOSPATIAL_STATISTICS: meta_data.geospatial_statistics,
        }
        statistics = meta_data.statistics
        for name in ("codec", "num_values", "total_uncompressed_size", "total_compressed_size",
                     "data_page_offset", "dictionary_page_offset", "bloom_filter_offset",
                     "bloom_filter_length"):  # fmt: skip
            pairs[name] = (numbers[name], getattr(meta_data, name))
        for name in ("null_count", "distinct_count"):
            pairs[name] = (numbers[name], statistics and getattr(statistics, name))
        pages = [s for s in meta_data.encoding_stats or [] if s.page_type in (0, 3)]
        pairs["encodings"] = (int(chunks.encodings[row]), bits(meta_data.encodings))
        pairs["data_page_encodings"] = (
            int(chunks.data_page_encodings[row]),
            bits(s.encoding for s in pages),
        )
        pairs["num_data_pages"] = (int(chunks.num_data_pages[row]), sum(s.count for s in pages))
    for bit, value in owners.items():
        pairs[str(bit)] = (bit in present, value is not None)
    return difference(pairs)


def compare_statistics(metadata: FileMetaData, table: Any, row: int, theirs: Any) -> list[str]:
    present = Present(int(table.present[row]))
    if theirs is None:
        return difference({"statistics": (present, Present(0))})
    pairs: dict[str, tuple[Any, Any]] = {}
    bounds = {
        "min": Present.MIN, "max": Present.MAX, "min_value": Present.MIN_VALUE,
        "max_value": Present.MAX_VALUE,
    }  # fmt: skip
    for name, bit in bounds.items():
        start = int(getattr(table, f"{name}_start")[row])
        stop = start + int(getattr(table, f"{name}_length")[row])
        value = getattr(theirs, name)
        value = value.encode() if isinstance(value, str) else value  # thriftpy2 decodes UTF-8
        pairs[name] = (metadata.footer[start:stop].tobytes() if bit in present else None, value)
    counts = {
        "null_count": Present.NULL_COUNT, "distinct_count": Present.DISTINCT_COUNT,
        "nan_count": Present.NAN_COUNT,
    }  # fmt: skip
    for name, bit in counts.items():
        value = int(getattr(table, name)[row]) if bit in present else None
        pairs[name] = (value, getattr(theirs, name))
    for name in ("is_min_value_exact", "is_max_value_exact"):
        value = getattr(theirs, name)
        pairs[name] = (int(getattr(table, name)[row]), -1 if value is None else int(value))
    return difference(pairs)


def compare_size_statistics(table: Any, row: int, theirs: Any) -> list[str]:
    pairs = {}
    unencoded = theirs.unencoded_byte_array_data_bytes if theirs is not None else None
    pairs["unencoded_byte_array_data_bytes"] = (
        int(table.unencoded_byte_array_data_bytes[row]),
        -1 if unencoded is None else unencoded,
    )
    for name in ("repetition", "definition"):
        start, stop = getattr(table, f"{name}_offsets")[row : row + 2]
        histogram = getattr(table, f"{name}_level_histogram")[start:stop].tolist()
        pairs[name] = (histogram, (theirs and getattr(theirs, f"{name}_level_histogram")) or [])
    return difference(pairs)


def test_metadata_equals_pyarrows(corpus: Path, manifest: list[dict[str, str]]) -> None:
    compared, wrong = 0, []
    for entry in manifest:
        path = corpus / entry["file"]
        ours, theirs = parse(path), pyarrow_metadata(path)
        if isinstance(ours, FileMetaData) and isinstance(theirs, pq.FileMetaData):
            compared += 1
            wrong += [f"{entry['file']}: {d}" for d in compare_with_pyarrow(ours, theirs)]
        elif isinstance(ours, FileMetaData):
            is_excused = entry["file"] in PYARROW_REFUSES or entry["file"].endswith(NO_LENGTH)
            if not is_excused and not entry["corrupt_by_design"]:
                wrong.append(f"{entry['file']}: pyarrow refuses: {theirs}")
        elif ours is not None and isinstance(theirs, pq.FileMetaData):
            assert isinstance(ours, CorruptError), ours
            if not entry["corrupt_by_design"]:
                wrong.append(f"{entry['file']}: {ours}")
    assert not wrong, "\n".join(wrong[:30])
    assert compared > 1500
    assert len(PYARROW_REFUSES) <= 10


def test_metadata_equals_thriftpy2s(corpus: Path, manifest: list[dict[str, str]]) -> None:
    compared, wrong = 0, []
    for entry in manifest:
        ours, footer = parse(corpus / entry["file"]), footer_of(corpus / entry["file"])
        if isinstance(ours, FileMetaData) and footer is not None:
            compared += 1
            theirs = thrift_metadata(footer[0])
            if entry["file"].endswith("bad_parquet_data/illegal_decimals.parq"):
                theirs.schema[1].logicalType = None  # a union without a field is no logical type
            wrong += [f"{entry['file']}: {d}" for d in compare_with_thrift(ours, theirs)]
    assert not wrong, "\n".join(wrong[:30])
    assert compared > 1500


def test_what_is_refused_says_where(corpus: Path, manifest: list[dict[str, str]]) -> None:
    refused = 0
    for entry in manifest:
        error = parse(corpus / entry["file"])
        if isinstance(error, PqlabError):
            refused += 1
            size = (corpus / entry["file"]).stat().st_size
            assert isinstance(error, CorruptError), error
            assert error.file == Path(entry["file"]).name
            assert error.field is not None, error
            assert error.offset is not None, error
            assert 0 <= error.offset <= size, error
            if error.field.startswith("ColumnMetaData."):
                assert error.row_group is not None, error
                assert error.column is not None, error
    assert refused > 20


def test_walking_gives_what_recognising_gives(corpus: Path, manifest: list[dict[str, str]]) -> None:
    compared = 0
    for entry in manifest:
        ours, footer = parse(corpus / entry["file"]), footer_of(corpus / entry["file"])
        if isinstance(ours, FileMetaData) and footer is not None:
            walked = parse_file_metadata(footer[0], footer[1], predict=False).arrays()
            assert same_arrays(ours.arrays(), walked), entry["file"]
            compared += 1
    assert compared > 1500


def test_fields_are_those_of_parquet_thrift() -> None:
    compact = {
        2: 1,
        3: 3,
        4: 7,
        6: 4,
        8: 5,
        10: 6,
        11: 8,
        12: 12,
        15: 9,
        18: 8,
    }  # thriftpy2's types
    lenient = {("ColumnChunk", "file_offset")}  # required, with a default
    structs = _native.footer_fields()
    assert len(structs) == 15
    for struct, fields in structs.items():
        spec = getattr(raw.idl(), struct).thrift_spec
        assert set(fields) == set(spec), struct
        for field_id, (name, kind, required, element) in fields.items():
            their_kind, their_name, *rest = spec[field_id]
            assert (name, kind) == (their_name, compact[their_kind]), struct
            assert required == (rest[-1] and (struct, name) not in lenient), f"{struct}.{name}"
            if kind == 9:
                inner = rest[0] if isinstance(rest[0], int) else rest[0][0]
                assert element == compact[inner], f"{struct}.{name}"
