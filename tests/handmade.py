"""Parquet files made by hand: every page's bytes and header as a test wants them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

from thriftpy2.protocol.compact import TCompactProtocol
from thriftpy2.transport import TMemoryBuffer

from pqlab.footer import raw

PHYSICAL = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY",
            "FIXED_LEN_BYTE_ARRAY")  # fmt: skip
PLAIN, PLAIN_DICTIONARY, RLE, BIT_PACKED, RLE_DICTIONARY = 0, 2, 3, 4, 8


def thrift(struct: Any) -> bytes:
    transport = TMemoryBuffer()
    TCompactProtocol(transport).write_struct(struct)
    return bytes(transport.getvalue())


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def repeated(value: int, count: int, width: int) -> bytes:
    """An RLE run."""
    return varint(count << 1) + value.to_bytes((width + 7) // 8, "little")


def packed(values: list[int], width: int) -> bytes:
    """A bit-packed run, padded to a multiple of 8 values."""
    padded = values + [0] * (-len(values) % 8)
    whole = sum(value << (at * width) for at, value in enumerate(padded))
    return varint(len(padded) // 8 << 1 | 1) + whole.to_bytes(len(padded) * width // 8, "little")


def prefixed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "little") + data


@dataclass
class Page:
    """`body` as stored; sizes default to what it is, `crc` to what it should be."""

    body: bytes
    num_values: int
    encoding: int = PLAIN
    dictionary: bool = False
    level_encoding: int = RLE
    repetition_encoding: int = RLE
    uncompressed: int | None = None
    crc: int | None = None
    has_crc: bool = True
    v2: dict[str, Any] | None = None  # fields of DataPageHeaderV2
    statistics: Any = None  # of a v1 page

    def written(self) -> bytes:
        p = raw.idl()
        size = len(self.body) if self.uncompressed is None else self.uncompressed
        crc = zlib.crc32(self.body) if self.crc is None else self.crc
        header = p.PageHeader(
            uncompressed_page_size=size,
            compressed_page_size=len(self.body),
            crc=(crc - (1 << 32) if crc >= 1 << 31 else crc) if self.has_crc else None,
        )
        if self.dictionary:
            header.type = 2
            header.dictionary_page_header = p.DictionaryPageHeader(
                num_values=self.num_values, encoding=self.encoding
            )
        elif self.v2 is not None:
            header.type = 3
            levels = {"definition_levels_byte_length": 0, "repetition_levels_byte_length": 0}
            counts = {"num_nulls": 0, "num_rows": self.num_values}
            header.data_page_header_v2 = p.DataPageHeaderV2(
                **{
                    "num_values": self.num_values,
                    "encoding": self.encoding,
                    **levels,
                    **counts,
                    **self.v2,
                }
            )
        else:
            header.type = 0
            header.data_page_header = p.DataPageHeader(
                num_values=self.num_values,
                encoding=self.encoding,
                definition_level_encoding=self.level_encoding,
                repetition_level_encoding=self.repetition_encoding,
                statistics=self.statistics,
            )
        return thrift(header) + self.body


@dataclass
class Column:
    physical: str
    pages: list[Page]
    optional: bool = False
    codec: int = 0
    name: str = "c"
    element: dict[str, Any] = field(default_factory=dict)  # more fields of the SchemaElement
    num_values: int | None = None


def file_of(*columns: Column, num_rows: int | None = None, created_by: str = "handmade") -> bytes:
    """A file of one row group."""
    p = raw.idl()
    data = b"PAR1"
    chunks = []
    schema = [p.SchemaElement(name="root", num_children=len(columns))]
    for column in columns:
        physical = PHYSICAL.index(column.physical)
        repetition = int(column.optional)
        schema.append(
            p.SchemaElement(
                name=column.name, type=physical, repetition_type=repetition, **column.element
            )
        )
        start, dictionary, first = len(data), None, None
        for page in column.pages:
            if page.dictionary:
                dictionary = len(data)
            elif first is None:
                first = len(data)
            data += page.written()
        values = sum(page.num_values for page in column.pages if not page.dictionary)
        chunks.append(
            p.ColumnChunk(
                file_offset=0,
                meta_data=p.ColumnMetaData(
                    type=physical,
                    encodings=sorted({page.encoding for page in column.pages}),
                    path_in_schema=[column.name],
                    codec=column.codec,
                    num_values=values if column.num_values is None else column.num_values,
                    total_uncompressed_size=len(data) - start,
                    total_compressed_size=len(data) - start,
                    data_page_offset=start if first is None else first,
                    dictionary_page_offset=dictionary,
                ),
            )
        )
    rows = num_rows
    if rows is None:
        rows = sum(page.num_values for page in columns[0].pages if not page.dictionary)
    group = p.RowGroup(columns=chunks, total_byte_size=len(data), num_rows=rows)
    footer = thrift(
        p.FileMetaData(
            version=1, schema=schema, num_rows=rows, row_groups=[group], created_by=created_by
        )
    )
    return data + footer + len(footer).to_bytes(4, "little") + b"PAR1"
