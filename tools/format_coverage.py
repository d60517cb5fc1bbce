"""The text of FORMAT_COVERAGE.md: every field, encoding, codec and page type of the format.

The thrift structs come from `pqlab/footer/parquet.thrift`, what is done with each field from the
table below (a field that the table lacks, or has too much, is an error). What the engine reads of
encodings and codecs is asked of the engine itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType

from pqlab.footer.names import CODECS, ENCODINGS
from pqlab.footer.raw import idl
from pqlab.native import _native

# u: used, a frame, a plan, a read or `check` depends on it; s: shown only, in a raw view;
# r: refused, what has it is not read. tests/test_format_coverage.py changes each to see.
FIELDS = {
    "SchemaElement": {
        "u": "type type_length repetition_type name num_children converted_type scale precision"
        " field_id logicalType",
    },
    "LogicalType": {
        "u": "STRING MAP LIST ENUM DECIMAL DATE TIME TIMESTAMP INTEGER UNKNOWN JSON BSON UUID"
        " FLOAT16 VARIANT GEOMETRY GEOGRAPHY FILE",
    },
    "DecimalType": {"u": "scale precision"},
    "TimeUnit": {"u": "MILLIS MICROS NANOS"},
    "TimestampType": {"u": "isAdjustedToUTC unit"},
    "TimeType": {"u": "isAdjustedToUTC unit"},
    "IntType": {"u": "bitWidth isSigned"},
    "VariantType": {"u": "specification_version"},
    "GeometryType": {"u": "crs"},
    "GeographyType": {"u": "crs algorithm"},
    "Statistics": {
        "u": "max min null_count distinct_count max_value min_value is_max_value_exact"
        " is_min_value_exact nan_count",
    },
    "SizeStatistics": {
        "u": "unencoded_byte_array_data_bytes repetition_level_histogram"
        " definition_level_histogram",
    },
    "BoundingBox": {"s": "xmin xmax ymin ymax zmin zmax mmin mmax"},
    "GeospatialStatistics": {"s": "bbox geospatial_types"},
    "DataPageHeader": {
        "u": "num_values encoding definition_level_encoding repetition_level_encoding statistics",
    },
    "DictionaryPageHeader": {"u": "num_values encoding is_sorted"},
    "DataPageHeaderV2": {
        "u": "num_values num_nulls num_rows encoding definition_levels_byte_length"
        " repetition_levels_byte_length is_compressed statistics",
    },
    "PageHeader": {
        "u": "type uncompressed_page_size compressed_page_size crc data_page_header"
        " dictionary_page_header data_page_header_v2 index_page_header",
    },
    "PageLocation": {"u": "offset compressed_page_size first_row_index"},
    "OffsetIndex": {"u": "page_locations", "s": "unencoded_byte_array_data_bytes"},
    "ColumnIndex": {
        "u": "null_pages min_values max_values null_counts",
        "s": "boundary_order repetition_level_histograms definition_level_histograms nan_counts",
    },
    "BloomFilterAlgorithm": {"u": "BLOCK"},
    "BloomFilterHash": {"u": "XXHASH"},
    "BloomFilterCompression": {"u": "UNCOMPRESSED"},
    "BloomFilterHeader": {"u": "numBytes algorithm hash compression"},
    "AesGcmV1": {"s": "aad_prefix aad_file_unique supply_aad_prefix"},
    "AesGcmCtrV1": {"s": "aad_prefix aad_file_unique supply_aad_prefix"},
    "EncryptionAlgorithm": {"r": "AES_GCM_V1 AES_GCM_CTR_V1"},
    "EncryptionWithColumnKey": {"s": "path_in_schema key_metadata"},
    "ColumnCryptoMetaData": {"r": "ENCRYPTION_WITH_FOOTER_KEY ENCRYPTION_WITH_COLUMN_KEY"},
    "FileCryptoMetaData": {"r": "encryption_algorithm key_metadata"},
    "KeyValue": {"u": "key value"},
    "SortingColumn": {"u": "column_idx descending nulls_first"},
    "PageEncodingStats": {"u": "page_type encoding count"},
    "ColumnMetaData": {
        "u": "type encodings path_in_schema codec num_values total_uncompressed_size"
        " total_compressed_size data_page_offset dictionary_page_offset statistics encoding_stats"
        " bloom_filter_offset bloom_filter_length size_statistics",
        "s": "key_value_metadata index_page_offset geospatial_statistics",
    },
    "ColumnChunk": {
        "u": "file_offset meta_data offset_index_offset offset_index_length column_index_offset"
        " column_index_length",
        "r": "file_path crypto_metadata encrypted_column_metadata",
    },
    "RowGroup": {
        "u": "columns total_byte_size num_rows sorting_columns file_offset total_compressed_size"
        " ordinal",
    },
    "ColumnOrder": {"u": "TYPE_ORDER IEEE_754_TOTAL_ORDER INT96_TIMESTAMP_ORDER"},
    "FileMetaData": {
        "u": "version schema num_rows row_groups key_value_metadata created_by column_orders"
        " encryption_algorithm",
        "s": "footer_signing_key_metadata",
    },
}
STATUS = {"u": "used", "s": "shown only", "r": "refused"}


def _structs(thrift: ModuleType) -> dict[str, dict[int, str]]:
    """Structs and unions that have fields, in the IDL's order: field id -> name."""
    return {
        struct.__name__: {number: field[1] for number, field in struct.thrift_spec.items()}
        for struct in thrift.__thrift_meta__["structs"] + thrift.__thrift_meta__["unions"]
        if struct.thrift_spec
    }


def field_rows() -> Iterator[tuple[str, int, str, str]]:
    """(struct, field id, field, status) of every field of the format."""
    structs = _structs(idl())
    if structs.keys() != FIELDS.keys():
        raise SystemExit(f"FIELDS and parquet.thrift differ: {structs.keys() ^ FIELDS.keys()}")
    for struct, fields in structs.items():
        said = {name: key for key, names in FIELDS[struct].items() for name in names.split()}
        if said.keys() != set(fields.values()):
            raise SystemExit(f"{struct}: {said.keys() ^ set(fields.values())}")
        for number, name in fields.items():
            yield struct, number, name, STATUS[said[name]]


PHYSICAL_TYPES = (
    *("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE"),
    *("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"),
)
# Which types the specification defines an encoding of values for.
DEFINED = {
    "PLAIN": PHYSICAL_TYPES,
    "PLAIN_DICTIONARY": PHYSICAL_TYPES,
    "RLE": ("BOOLEAN",),
    "BIT_PACKED": (),
    "DELTA_BINARY_PACKED": ("INT32", "INT64"),
    "DELTA_LENGTH_BYTE_ARRAY": ("BYTE_ARRAY",),
    "DELTA_BYTE_ARRAY": ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"),
    "RLE_DICTIONARY": PHYSICAL_TYPES,
    "BYTE_STREAM_SPLIT": ("INT32", "INT64", "FLOAT", "DOUBLE", "FIXED_LEN_BYTE_ARRAY"),
    "ALP": ("FLOAT", "DOUBLE"),
}
# As the engine calls what a physical type's values become; only some make a difference.
KIND = {
    "BOOLEAN": "BITS",
    "INT96": "INT96_NS",
    "FLOAT": "FLOATING",
    "DOUBLE": "FLOATING",
    "BYTE_ARRAY": "BYTES",
    "FIXED_LEN_BYTE_ARRAY": "FIXED_BYTES",
}
DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = 0, 2, 3

INTRODUCTION = """\
# Coverage of the format

<!-- Written by tools/generate_docs.py, from parquet.thrift and from what the engine answers. -->

What pqlab does with every part of the Parquet format:

- **used**: a column of a frame, the overview, a plan, a read or a rule of `check` depends on it.
- **shown only**: a field is in the raw views (`f.page_header(...)`, `pqlab.footer.raw`) and \
nothing depends on it.
- **refused**: reading what has it is an `UnsupportedError` or `EncryptedError` with its place and \
the reason. Such are encrypted columns, LZO, chunks in other files (`file_path`), and codes that \
the specification does not have; their pages show in every frame that needs no value of them.
- **not defined**: the specification does not define it; found in a file all the same, it is an \
`UnsupportedError`, or `CorruptError` where it contradicts itself.

Nested columns are read as flat ones are: structs, lists and maps of any depth, in every shape \
that LogicalTypes.md lets readers expect. Field 32767 of any struct, the format's room for \
extensions, is skipped. Names and numbers are the format's own.
"""


def encoding_status(encoding: int, physical_type: str, page_type: int) -> str:
    """What is done with the values of such pages."""
    if _native.reads_encoding(page_type, encoding, KIND.get(physical_type, "COPY")):
        return "used"
    is_defined = physical_type in DEFINED[ENCODINGS[encoding]]
    return "refused" if is_defined else "not defined"


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION, "## Encodings of values"]
    for title, page_type in (("Data pages v1", DATA_PAGE), ("Data pages v2", DATA_PAGE_V2)):
        parts += [f"### {title}", _encodings(page_type)]
    parts += ["### Dictionary pages", _dictionaries()]
    parts += ["## Encodings of levels", LEVELS]
    parts += ["## Codecs", _codecs()]
    parts += ["## Fields", _fields()]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


LEVELS = """\
| encoding | v1, definition | v1, repetition | v2, definition | v2, repetition |
|---|---|---|---|---|
| RLE | used | used | used | used |
| BIT_PACKED | used | used | not defined | not defined |
"""


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    lines = [list(head), *([str(cell) for cell in row] for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _encodings(page_type: int) -> str:
    known = [
        (f"{name} = {code}", *(encoding_status(code, of, page_type) for of in PHYSICAL_TYPES))
        for code, name in ENCODINGS.items()
    ]
    return _table(
        ("encoding", *PHYSICAL_TYPES),
        [*known, ("any other", *("refused" for _ in PHYSICAL_TYPES))],
    )


def _dictionaries() -> str:
    status = {
        name: "used" if _native.reads_encoding(DICTIONARY_PAGE, code, "COPY") else "not defined"
        for code, name in ENCODINGS.items()
    }
    return _table(("encoding", "of every physical type"), status.items())


def _codecs() -> str:
    return _table(
        ("codec", "pages"),
        [
            *(
                (f"{name} = {code}", "used" if _native.reads_codec(code) else "refused")
                for code, name in CODECS.items()
            ),
            ("any other", "refused"),
        ],
    )


def _fields() -> str:
    return _table(
        ("struct", "id", "field", ""),
        (
            (f"`{struct}`", number, f"`{name}`", status)
            for struct, number, name, status in field_rows()
        ),
    )
