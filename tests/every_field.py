"""A file in which every field of parquet.thrift is set, each of which a test may change.

`build(change)` calls `change` with every struct just before it is written; where things are is
computed from what was written, so that only what a field says differs.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from handmade import PHYSICAL, prefixed, repeated, thrift

from pqlab.footer import raw

Change = Callable[[Any], None]
ROWS = 3
MOMENT = struct.pack("<q", 1_000_000)
LEVELS = prefixed(repeated(1, ROWS, 1))


def structs(value: Any) -> Iterator[Any]:
    """A struct and all those in it."""
    if isinstance(value, list):
        for item in value:
            yield from structs(item)
    elif hasattr(value, "thrift_spec"):
        yield value
        for _, field, *_ in value.thrift_spec.values():
            yield from structs(getattr(value, field))


def _logical(**fields: Any) -> Any:
    return raw.idl().LogicalType(**fields)


def _leaves() -> list[tuple[str, str, Any, bytes, dict[str, Any]]]:
    """Name, physical type, logical type, a value's bytes, more of the SchemaElement."""
    p = raw.idl()

    def unit(name: str, of: Any) -> Any:
        return p.TimeUnit(**{name: of()})

    millis, micros = unit("MILLIS", p.MilliSeconds), unit("MICROS", p.MicroSeconds)
    nanos = unit("NANOS", p.NanoSeconds)
    text = prefixed(b"text")
    stamp = {
        name: _logical(TIMESTAMP=p.TimestampType(isAdjustedToUTC=True, unit=of))
        for name, of in (("millis", millis), ("micros", micros), ("nanos", nanos))
    }
    return [
        ("number", "INT64", None, MOMENT, {"field_id": 7}),
        ("text", "BYTE_ARRAY", _logical(STRING=p.StringType()), text, {"converted_type": 0}),
        ("enum", "BYTE_ARRAY", _logical(ENUM=p.EnumType()), text, {}),
        ("json", "BYTE_ARRAY", _logical(JSON=p.JsonType()), text, {}),
        ("bson", "BYTE_ARRAY", _logical(BSON=p.BsonType()), text, {}),
        ("old", "INT32", None, bytes(4), {"converted_type": 5, "precision": 5, "scale": 2}),
        ("decimal", "INT32", _logical(DECIMAL=p.DecimalType(scale=2, precision=5)), bytes(4), {}),
        ("date", "INT32", _logical(DATE=p.DateType()), bytes(4), {}),
        (
            "time",
            "INT32",
            _logical(TIME=p.TimeType(isAdjustedToUTC=True, unit=millis)),
            bytes(4),
            {},
        ),
        *((name, "INT64", kind, MOMENT, {}) for name, kind in stamp.items()),
        ("tiny", "INT32", _logical(INTEGER=p.IntType(bitWidth=8, isSigned=True)), bytes(4), {}),
        ("nothing", "INT32", _logical(UNKNOWN=p.NullType()), bytes(4), {}),
        (
            "uuid",
            "FIXED_LEN_BYTE_ARRAY",
            _logical(UUID=p.UUIDType()),
            bytes(16),
            {"type_length": 16},
        ),
        (
            "half",
            "FIXED_LEN_BYTE_ARRAY",
            _logical(FLOAT16=p.Float16Type()),
            bytes(2),
            {"type_length": 2},
        ),
        ("geometry", "BYTE_ARRAY", _logical(GEOMETRY=p.GeometryType(crs="OGC:CRS84")), text, {}),
        (
            "geography",
            "BYTE_ARRAY",
            _logical(GEOGRAPHY=p.GeographyType(crs="OGC:CRS84", algorithm=1)),
            text,
            {},
        ),
        ("ordered", "DOUBLE", None, bytes(8), {}),
        ("ancient", "INT96", None, bytes(8) + struct.pack("<i", 2_440_588), {}),
    ]


def _groups() -> list[tuple[list[Any], str, list[bytes]]]:
    """Schema elements of annotated groups, each with one REQUIRED leaf, its path and value."""
    p = raw.idl()

    def group(name: str, repetition: int, logical: Any = None, children: int = 1) -> Any:
        return p.SchemaElement(
            name=name, repetition_type=repetition, num_children=children, logicalType=logical
        )

    def leaf(name: str) -> Any:
        return p.SchemaElement(name=name, type=6, repetition_type=0)

    listed = [group("list", 0, _logical(LIST=p.ListType())), group("repeated", 2), leaf("element")]
    mapped = [group("map", 0, _logical(MAP=p.MapType())), group("key_value", 2), leaf("key")]
    variant = [
        group("variant", 0, _logical(VARIANT=p.VariantType(specification_version=1)), 1),
        leaf("metadata"),
    ]
    filed = [group("file", 0, _logical(FILE=p.FileType()), 1), leaf("uri")]
    flat = [b"", prefixed(b"m") * ROWS]
    nested_body = [prefixed(repeated(0, ROWS, 1)) + prefixed(repeated(1, ROWS, 1)), flat[1]]
    return [
        (listed, "list.repeated.element", nested_body),
        (mapped, "map.key_value.key", nested_body),
        (variant, "variant.metadata", flat),
        (filed, "file.uri", flat),
    ]


def _statistics(value: bytes, nulls: int = 0) -> Any:
    """Of a column that holds one value."""
    return raw.idl().Statistics(
        max=value,
        min=value,
        null_count=nulls,
        distinct_count=1,
        max_value=value,
        min_value=value,
        is_max_value_exact=True,
        is_min_value_exact=True,
        nan_count=0,
    )


class Writer:
    """The bytes of a file so far, and `change` for what comes."""

    def __init__(self, change: Change) -> None:
        self.data = b"PAR1"
        self.change = change

    def struct(self, value: Any) -> int:
        """Append a struct; returns its size."""
        for each in structs(value):
            self.change(each)
        written = thrift(value)
        self.data += written
        return len(written)

    def page(self, header: Any, body: bytes) -> tuple[int, int]:
        """Append a page; returns where it is."""
        start = len(self.data)
        self.struct(header)
        self.data += body
        return start, len(self.data) - start


def _headers(name: str, body: bytes) -> list[tuple[Any, bytes]]:
    """Of `number` a dictionary, an index page, a v1 page; of `text` a v2 page; else a v1 page."""
    p = raw.idl()
    if name == "number":
        levels = repeated(0, 1, 1) + repeated(1, ROWS - 1, 1)  # the first is null, as sorted
        body = prefixed(levels) + b"\0" + repeated(0, ROWS - 1, 0)
    sizes = _sizes(body)
    if name == "text":
        v2 = p.DataPageHeaderV2(
            num_values=ROWS,
            num_nulls=0,
            num_rows=ROWS,
            encoding=0,
            definition_levels_byte_length=2,
            repetition_levels_byte_length=0,
            is_compressed=False,
            statistics=_statistics(b"text"),
        )
        return [(p.PageHeader(type=3, data_page_header_v2=v2, **sizes), body)]
    v1 = p.DataPageHeader(
        num_values=ROWS,
        encoding=8 if name == "number" else 0,
        definition_level_encoding=3,
        repetition_level_encoding=3,
        statistics=_statistics(MOMENT, 1) if name == "number" else None,
    )
    pages = [(p.PageHeader(type=0, data_page_header=v1, **sizes), body)]
    if name == "number":
        pages = [_dictionary_page(struct.pack("<q", 1_000_000)), _index_page(), *pages]
    return pages


def _sizes(body: bytes) -> dict[str, int]:
    """Those of a page that is not compressed, and its checksum, a signed number."""
    crc = struct.unpack("<i", zlib.crc32(body).to_bytes(4, "little"))[0]
    return {"uncompressed_page_size": len(body), "compressed_page_size": len(body), "crc": crc}


def _dictionary_page(entry: bytes) -> tuple[Any, bytes]:
    p = raw.idl()
    of = p.DictionaryPageHeader(num_values=1, encoding=0, is_sorted=True)
    return p.PageHeader(type=2, dictionary_page_header=of, **_sizes(entry)), entry


def _index_page() -> tuple[Any, bytes]:
    p = raw.idl()
    return p.PageHeader(type=1, index_page_header=p.IndexPageHeader(), **_sizes(b"")), b""


def build(change: Change = lambda _: None) -> bytes:
    """The file."""
    p = raw.idl()
    writer = Writer(change)
    schema = [p.SchemaElement(name="schema", num_children=len(_leaves()) + len(_groups()))]
    columns: list[tuple[list[str], int, bytes]] = []
    for name, physical, logical, value, more in _leaves():
        schema.append(
            p.SchemaElement(
                name=name,
                type=PHYSICAL.index(physical),
                repetition_type=1,
                logicalType=logical,
                **more,
            )
        )
        levels = repeated(1, ROWS, 1) if name == "text" else LEVELS
        columns.append(([name], PHYSICAL.index(physical), levels + value * ROWS))
    for elements, path, body in _groups():
        schema += elements
        columns.append((path.split("."), 6, b"".join(body)))
    chunks = [_chunk(writer, *column) for column in columns]
    _indexes(writer, chunks[0])
    for chunk, _ in chunks[:2]:
        meta_data = chunk.meta_data
        meta_data.bloom_filter_offset, meta_data.bloom_filter_length = _bloom_filter(writer)
    chunks[0][0].meta_data.bloom_filter_length = None  # the filter's header tells it
    group = p.RowGroup(
        columns=[chunk for chunk, _ in chunks],
        total_byte_size=sum(chunk.meta_data.total_uncompressed_size for chunk, _ in chunks),
        num_rows=ROWS,
        sorting_columns=[p.SortingColumn(column_idx=0, descending=True, nulls_first=True)],
        file_offset=4,
        total_compressed_size=sum(chunk.meta_data.total_compressed_size for chunk, _ in chunks),
        ordinal=0,
    )
    orders = [p.ColumnOrder(TYPE_ORDER=p.TypeDefinedOrder()) for _ in columns]
    names = [path[0] for path, *_ in columns]
    orders[names.index("ordered")] = p.ColumnOrder(IEEE_754_TOTAL_ORDER=p.IEEE754TotalOrder())
    orders[names.index("ancient")] = p.ColumnOrder(INT96_TIMESTAMP_ORDER=p.Int96TimestampOrder())
    footer = p.FileMetaData(
        version=2,
        schema=schema,
        num_rows=ROWS,
        row_groups=[group],
        key_value_metadata=[p.KeyValue(key="key", value="value")],
        created_by="by hand",
        column_orders=orders,
        encryption_algorithm=p.EncryptionAlgorithm(
            AES_GCM_V1=p.AesGcmV1(aad_prefix=b"a", aad_file_unique=b"u", supply_aad_prefix=False)
        ),
        footer_signing_key_metadata=b"key",
    )
    size = writer.struct(footer)
    return writer.data + size.to_bytes(4, "little") + b"PAR1"


def _chunk(writer: Writer, path: list[str], physical: int, body: bytes) -> tuple[Any, list[Any]]:
    p = raw.idl()
    start = len(writer.data)
    places = [writer.page(header, part) for header, part in _headers(path[0], body)]
    is_first = path == ["number"]
    meta_data = p.ColumnMetaData(
        type=physical,
        encodings=[0, 3, 8],
        path_in_schema=path,
        codec=0,
        num_values=ROWS,
        total_uncompressed_size=len(writer.data) - start,
        total_compressed_size=len(writer.data) - start,
        data_page_offset=places[-1][0],
    )
    if is_first:
        meta_data.key_value_metadata = [p.KeyValue(key="of the chunk", value="value")]
        meta_data.index_page_offset = places[1][0]
        meta_data.dictionary_page_offset = start
        meta_data.statistics = _statistics(MOMENT, 1)
        meta_data.encoding_stats = [
            p.PageEncodingStats(page_type=2, encoding=0, count=1),
            p.PageEncodingStats(page_type=1, encoding=0, count=1),
            p.PageEncodingStats(page_type=0, encoding=8, count=1),
        ]
    if path == ["text"]:
        meta_data.encodings = [0, 3, 7]  # DELTA_BYTE_ARRAY unfolds to what statistics alone tell
        meta_data.size_statistics = p.SizeStatistics(
            unencoded_byte_array_data_bytes=4 * ROWS,
            repetition_level_histogram=[ROWS],
            definition_level_histogram=[0, ROWS],
        )
    if path == ["geometry"]:
        sides = ("xmin", "xmax", "ymin", "ymax", "zmin", "zmax", "mmin", "mmax")
        meta_data.geospatial_statistics = p.GeospatialStatistics(
            bbox=p.BoundingBox(**dict.fromkeys(sides, 1.0)), geospatial_types=[1]
        )
    if path == ["ordered"]:
        meta_data.statistics = _statistics(bytes(8))
    if path == ["ancient"]:
        value = bytes(8) + struct.pack("<i", 2_440_588)
        meta_data.statistics = _statistics(value)
    chunk = p.ColumnChunk(file_path=None, file_offset=start, meta_data=meta_data)
    return chunk, places


def _bloom_filter(writer: Writer) -> tuple[int, int]:
    """Offset and size of a filter that rules nothing out."""
    p = raw.idl()
    header = p.BloomFilterHeader(
        numBytes=32,
        algorithm=p.BloomFilterAlgorithm(BLOCK=p.SplitBlockAlgorithm()),
        hash=p.BloomFilterHash(XXHASH=p.XxHash()),
        compression=p.BloomFilterCompression(UNCOMPRESSED=p.Uncompressed()),
    )
    return writer.page(header, b"\xff" * 32)


def _indexes(writer: Writer, first: tuple[Any, list[Any]]) -> None:
    """The page index of `number`."""
    p = raw.idl()
    chunk, places = first
    chunk.column_index_offset = len(writer.data)
    chunk.column_index_length = writer.struct(
        p.ColumnIndex(
            null_pages=[False],
            min_values=[MOMENT],
            max_values=[MOMENT],
            boundary_order=1,
            null_counts=[1],
            repetition_level_histograms=[ROWS],
            definition_level_histograms=[1, ROWS - 1],
            nan_counts=[0],
        )
    )
    chunk.offset_index_offset = len(writer.data)
    location = p.PageLocation(
        offset=places[-1][0], compressed_page_size=places[-1][1], first_row_index=0
    )
    chunk.offset_index_length = writer.struct(
        p.OffsetIndex(page_locations=[location], unencoded_byte_array_data_bytes=[5])
    )
