"""Frames whose columns stay on a device: what `to_cupy` gives, and iterations hand out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pqlab.errors import UnsupportedError
from pqlab.gpu.device import Device
from pqlab.gpu.launch import launch_over
from pqlab.native import _native


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DeviceColumn:
    """A column of `length` rows, in device memory as Arrow lays it out.

    `type`: as of Arrow, with offsets of 32 bits. `children`: a struct's fields, or a list's
    elements. Arrays are CuPy's; on the emulator they are numpy's, over the emulated memory.
    """

    name: str
    type: pa.DataType
    length: int
    null_count: int
    children: tuple[DeviceColumn, ...]
    device: Device
    bits: Any | None  # validity
    starts: Any | None  # offsets, i32
    data: Any | None  # bytes

    @property
    def values(self) -> Any:
        """What the rows hold: an array of one value a row, zero under nulls; no copy.

        Booleans are bytes of their own, and copied. Dates, times and timestamps are integers, in
        the unit of `type`; decimals two u64 each, the lower one first; text and bytes are all
        bytes one after the other, which `offsets` cut. None of structs, lists and nulls.
        """
        if self.data is None:
            return None
        if pa.types.is_boolean(self.type):
            return self._expanded(self.data)
        return self.device.exported(self.data.view(_dtype_of(self.type)))

    @property
    def offsets(self) -> Any:
        """Of text, bytes and lists where each row begins, and where the last one ends, as i32."""
        return None if self.starts is None else self.device.exported(self.starts)

    @property
    def validity(self) -> Any:
        """A bit a row, from the lowest of each byte on, set where it has a value.

        None where no row is null.
        """
        return (
            self.device.exported(self.bits) if self.bits is not None and self.null_count else None
        )

    def is_valid(self) -> Any:
        """Whether each row has a value: an array of booleans."""
        if self.bits is not None:
            return self._expanded(self.bits)
        made = self.device.empty(self.length, np.bool_)
        if self.length:
            host = np.full(self.length, not pa.types.is_null(self.type), np.bool_)
            self.device.upload(host, made)
            self.device.synchronize()
        return self.device.exported(made)

    @property
    def nbytes(self) -> int:
        """Bytes of device memory."""
        parts = (self.bits, self.starts, self.data)
        own = sum(int(each.nbytes) for each in parts if each is not None)
        return own + sum(child.nbytes for child in self.children)

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        nulls = f", {self.null_count:,} null" if self.null_count else ""
        return f"<{self.name!r}: {self.type}, {self.length:,} rows{nulls}, on {self.device.name}>"

    @property
    def __cuda_array_interface__(self) -> Any:
        """Of `values`; where they are in host memory, as on the emulator, there is none."""
        return self._plain().__cuda_array_interface__

    @property
    def __array_interface__(self) -> Any:
        """Of `values` on the emulator; a GPU's have none."""
        return self._plain().__array_interface__

    def __dlpack__(self, **options: Any) -> Any:
        """A capsule of `values`, as DLPack has it."""
        return self._plain().__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        """Where `values` are, as DLPack has it."""
        return self._plain().__dlpack_device__()

    def check_plain(self) -> None:
        """Raise `UnsupportedError` where an array alone does not say what the rows hold."""
        if self.starts is not None or self.data is None or pa.types.is_decimal(self.type):
            raise UnsupportedError(
                f"rows of {self.type} are no array of numbers",
                hint='Take to="cupy" and its .values, .offsets and .children, or to="arrow_device"',
                column=self.name,
            )
        if self.null_count:
            raise UnsupportedError(
                f"{self.null_count:,} of {self.length:,} rows are null, which an array cannot say",
                hint='Take to="cupy": .values has zeros there, and .is_valid() tells them apart',
                column=self.name,
            )

    def _plain(self) -> Any:
        self.check_plain()
        return self.values

    def _expanded(self, bits: Any) -> Any:
        made = self.device.empty(self.length, np.bool_)
        arguments = [bits, np.uint64(self.length), made.view(np.uint8)]
        launch_over(self.device, "expand_bits", self.length, arguments)
        return self.device.exported(made)


class DeviceFrame(Mapping[str, DeviceColumn]):
    """Columns by their names, in order; `num_rows` of each.

    It is an Arrow device array: cuDF, pylibcudf and nanoarrow take it without a copy. All of it is
    there when it is handed out. Keep it until what you queue on it is done, where that is on a
    stream that does not wait for the default one: its memory may be taken again once it is dropped.
    """

    def __init__(self, columns: tuple[DeviceColumn, ...], num_rows: int, device: Device) -> None:
        self.columns, self.num_rows, self.device = columns, num_rows, device
        self._by_name = {column.name: column for column in columns}

    def __getitem__(self, name: str) -> DeviceColumn:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    @property
    def nbytes(self) -> int:
        """Bytes of device memory that its columns take."""
        return sum(column.nbytes for column in self.columns)

    @property
    def schema(self) -> pa.Schema:
        """As of Arrow."""
        return pa.schema([_field(column) for column in self.columns])

    def __arrow_c_device_array__(
        self, requested_schema: object = None, **_: object
    ) -> tuple[object, object]:
        """Its schema and its arrays (the Arrow PyCapsule interface). What is asked for is done.

        `requested_schema`: of no effect, as the interface allows.
        """
        node = (self.num_rows, 0, (0,), tuple(map(_node, self.columns)))
        array = _native.device_array(
            node, device_type=self.device.arrow_type, device_id=self.device.ordinal, owner=self
        )
        return self.schema.__arrow_c_schema__(), array

    def __arrow_c_schema__(self) -> object:
        """The schema of the Arrow device array."""
        return self.schema.__arrow_c_schema__()

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name!r}: {column.type}" for column in self.columns)
        return f"<DeviceFrame of {self.num_rows:,} rows on {self.device.name}: {columns}>"


def type_on_device(data_type: pa.DataType) -> pa.DataType:
    """Text, bytes and lists with offsets of 32 bits, which all libraries on GPUs take."""
    if data_type in (pa.string_view(), pa.large_string()):
        return pa.string()
    if data_type in (pa.binary_view(), pa.large_binary()):
        return pa.binary()
    if pa.types.is_large_list(data_type):
        return pa.list_(_field_on_device(data_type.value_field))
    if pa.types.is_struct(data_type):
        return pa.struct([_field_on_device(field) for field in data_type])
    return data_type


def _field_on_device(field: pa.Field) -> pa.Field:
    return field.with_type(type_on_device(field.type))


def _field(column: DeviceColumn) -> pa.Field:
    may_be_null = column.bits is not None or pa.types.is_null(column.type)
    return pa.field(column.name, column.type, may_be_null)


def _dtype_of(data_type: pa.DataType) -> np.dtype[Any]:
    if pa.types.is_decimal(data_type):
        return np.dtype("<u8")
    if data_type in (pa.string(), pa.binary()):
        return np.dtype("u1")
    kind = "i"
    if pa.types.is_floating(data_type):
        kind = "f"
    elif pa.types.is_unsigned_integer(data_type):
        kind = "u"
    return np.dtype(f"<{kind}{data_type.bit_width // 8}")


def _node(column: DeviceColumn) -> tuple[Any, ...]:
    """What `device_array` takes of a column: its buffers are those that Arrow has for its type."""
    buffers = [column.bits if column.null_count else None]
    if pa.types.is_null(column.type):
        buffers = []
    elif pa.types.is_list(column.type):
        buffers.append(column.starts)
    elif column.starts is not None:
        buffers += [column.starts, column.data]
    elif not pa.types.is_struct(column.type):
        buffers.append(column.data)
    addresses = tuple(0 if each is None else int(each.data.ptr) for each in buffers)
    return column.length, column.null_count, addresses, tuple(map(_node, column.children))
