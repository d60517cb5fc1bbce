"""Raw views: any struct of the format, as the file has it, for what is looked at one by one.

The structs are the classes that thriftpy2 makes of `parquet.thrift`, loaded when first used; the
reader is pqlab's own, since thriftpy2's takes varints of any length and lists of any element type.
The bulk (file metadata, page index, page headers) is parsed by native code instead.
"""

from __future__ import annotations

import functools
import struct
from pathlib import Path
from types import ModuleType
from typing import Any

from pqlab.errors import CorruptError

Buffer = bytes | bytearray | memoryview

MAX_DEPTH = 64  # nesting of structs and lists; the format's own structs need 7

# thriftpy2's types, in the order of the compact protocol's type numbers 1 to 12.
_BOOL, _BYTE, _DOUBLE, _I16, _I32, _I64 = 2, 3, 4, 6, 8, 10
_STRING, _STRUCT, _MAP, _SET, _LIST, _BINARY = 11, 12, 13, 14, 15, 18
_WIRE = (
    None, _BOOL, _BOOL, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT,
)  # fmt: skip
_BITS = {_I16: 16, _I32: 32, _I64: 64}


@functools.cache
def idl() -> ModuleType:
    """The structs and enums of `parquet.thrift` as a module: `idl().PageHeader`."""
    import thriftpy2

    path = Path(__file__).with_name("parquet.thrift")
    return thriftpy2.load(str(path), module_name="pqlab_parquet_thrift")


def read_struct(
    name: str, buffer: Buffer, position: int = 0, limit: int | None = None, *, offset: int = 0
) -> tuple[Any, int]:
    """Read the struct `name` at `buffer[position:limit]`; returns it and the bytes it takes.

    Absent fields are None (or the format's default); unknown fields are passed over; a number that
    its enum does not have stays a number. `offset`: where `buffer` starts in the file, for errors.
    Raises `CorruptError` with the offset and the field.
    """
    limit = len(buffer) if limit is None else limit
    if not 0 <= position <= limit <= len(buffer):
        raise CorruptError(f"{name} at bytes {position} to {limit} of {len(buffer)}", field=name)
    reader = _CompactReader(memoryview(buffer).cast("B"), position, limit, offset)
    value = reader.struct(getattr(idl(), name), name)
    return value, reader.position - position


def file_metadata(footer: Buffer, *, offset: int = 0) -> Any:
    """The raw FileMetaData struct of a footer's thrift bytes."""
    return read_struct("FileMetaData", footer, offset=offset)[0]


def page_header(buffer: Buffer, *, offset: int = 0) -> tuple[Any, int]:
    """The raw PageHeader at the start of `buffer`, and its length in bytes."""
    return read_struct("PageHeader", buffer, offset=offset)


def column_index(buffer: Buffer, *, offset: int = 0) -> Any:
    """The raw ColumnIndex struct in `buffer`."""
    return read_struct("ColumnIndex", buffer, offset=offset)[0]


def offset_index(buffer: Buffer, *, offset: int = 0) -> Any:
    """The raw OffsetIndex struct in `buffer`."""
    return read_struct("OffsetIndex", buffer, offset=offset)[0]


def bloom_filter_header(buffer: Buffer, *, offset: int = 0) -> tuple[Any, int]:
    """The raw BloomFilterHeader at the start of `buffer`, and its length in bytes."""
    return read_struct("BloomFilterHeader", buffer, offset=offset)


def to_plain(value: Any) -> Any:
    """A raw struct as dicts and lists: absent fields left out, enums by name, bytes as bytes.

    A number that its enum does not have stays a number; a union is a dict of one entry.
    """
    if isinstance(value, list):
        return [to_plain(item) for item in value]
    specification = getattr(value, "thrift_spec", None)
    if specification is None:
        return value
    plain = {}
    for _, name, *detail, _ in specification.values():
        field = getattr(value, name)
        if field is not None:
            plain[name] = _with_names(field, detail[0] if detail else None)
    return plain


def _with_names(value: Any, detail: Any) -> Any:
    if isinstance(detail, tuple):  # a list: (element type, enum or struct)
        detail = detail[1]
    names = getattr(detail, "_VALUES_TO_NAMES", None)
    if names is None:
        return to_plain(value)
    if isinstance(value, list):
        return [names.get(number, number) for number in value]
    return names.get(value, value)


class _CompactReader:
    """Thrift's compact protocol over one span; every read is checked against its end."""

    def __init__(self, buffer: memoryview, position: int, limit: int, offset: int) -> None:
        self.buffer = buffer
        self.position = position
        self.limit = limit
        self.offset = offset
        self.depth = 0

    def struct(self, cls: type, place: str) -> Any:
        value = cls()
        specification = cls.thrift_spec  # type: ignore[attr-defined]  # made at run time
        self._enter(place)
        field_id = 0
        while True:
            header = self._byte(place)
            if header == 0:
                break
            delta, wire = header >> 4, header & 15
            field_id = field_id + delta if delta else self._integer(_I16, place)
            known = specification.get(field_id)
            if known is None:
                self._skip(self._wire_type(wire, place), f"{place}.{field_id}", wire)
                continue
            kind, name, *detail, _ = known
            field = f"{cls.__name__}.{name}"
            found = self._wire_type(wire, field)
            if found != (_BINARY if kind == _STRING else kind):
                raise self._corrupt(f"a field of thrift type {wire}, not the one defined", field)
            setattr(value, name, self._value(kind, detail[0] if detail else None, field, wire))
        self.depth -= 1
        return value

    def _value(self, kind: int, detail: Any, field: str, wire: int | None = None) -> Any:
        if kind in _BITS:
            return self._integer(kind, field)
        if kind == _STRUCT:
            return self.struct(detail, field)
        if kind == _LIST:
            element, of = detail if isinstance(detail, tuple) else (detail, None)
            found, count = self._list_header(field)
            if count and found != (_BINARY if element == _STRING else element):
                raise self._corrupt("a list whose elements have another type than defined", field)
            return [self._value(element, of, field) for _ in range(count)]
        if kind == _BOOL:  # a field's value is its type; an element's is a byte
            return (self._byte(field) if wire is None else wire) == 1
        if kind == _BYTE:
            return (self._byte(field) ^ 0x80) - 0x80
        if kind == _DOUBLE:
            return struct.unpack("<d", self._bytes(8, field))[0]
        text = bytes(self._bytes(self._varint(32, field), field))
        if kind == _STRING:
            try:
                return text.decode()
            except UnicodeDecodeError:
                return text  # shown as it is
        return text

    def _skip(self, kind: int, field: str, wire: int | None = None) -> None:
        self._enter(field)
        if kind in _BITS:
            self._varint(64, field)
        elif kind == _BOOL:
            if wire is None:
                self._byte(field)
        elif kind == _BYTE:
            self._byte(field)
        elif kind == _DOUBLE:
            self._bytes(8, field)
        elif kind == _BINARY:
            self._bytes(self._varint(32, field), field)
        elif kind == _STRUCT:
            while (header := self._byte(field)) != 0:
                if header >> 4 == 0:
                    self._integer(_I16, field)
                self._skip(self._wire_type(header & 15, field), field, header & 15)
        elif kind == _MAP:
            count = self._count(self._varint(32, field), field)
            types = self._byte(field) if count else 0
            for _ in range(count):
                self._skip(self._wire_type(types >> 4, field), field)
                self._skip(self._wire_type(types & 15, field), field)
        else:
            element, count = self._list_header(field)
            for _ in range(count):
                self._skip(element, field)
        self.depth -= 1

    def _list_header(self, field: str) -> tuple[int, int]:
        header = self._byte(field)
        count = header >> 4
        if count == 15:
            count = self._count(self._varint(32, field), field)
        if count == 0:
            return 0, 0  # some writers leave the element type of an empty list at 0
        return self._wire_type(header & 15, field), count

    def _count(self, count: int, field: str) -> int:
        """Every element takes a byte at least: a count beyond that is refused unread."""
        if count > self.limit - self.position:
            raise self._corrupt(f"{count} elements in {self.limit - self.position} bytes", field)
        return count

    def _integer(self, kind: int, field: str) -> int:
        number = self._varint(_BITS[kind], field)
        return (number >> 1) ^ -(number & 1)

    def _varint(self, bits: int, field: str) -> int:
        number = shift = 0
        while True:
            byte = self._byte(field)
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift >= 70:
                raise self._corrupt("a varint of more than 10 bytes", field)
        if number >> bits:
            raise self._corrupt(f"a number of more than {bits} bits", field)
        return number

    def _byte(self, field: str) -> int:
        if self.position >= self.limit:
            raise self._corrupt("the bytes end inside the struct", field)
        byte = self.buffer[self.position]
        self.position += 1
        return byte

    def _bytes(self, count: int, field: str) -> memoryview:
        start = self.position
        if count > self.limit - start:
            raise self._corrupt(f"{count} bytes wanted, {self.limit - start} left", field)
        self.position = start + count
        return self.buffer[start : self.position]

    def _wire_type(self, wire: int, field: str) -> int:
        kind = _WIRE[wire] if wire < len(_WIRE) else None
        if kind is None:
            raise self._corrupt(f"thrift type {wire}", field)
        return kind

    def _enter(self, field: str) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._corrupt(f"structs nested more than {MAX_DEPTH} deep", field)

    def _corrupt(self, message: str, field: str) -> CorruptError:
        return CorruptError(message, offset=self.offset + self.position, field=field)
