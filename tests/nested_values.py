"""Compares nested Arrow arrays by what they hold: shape for shape, then leaf for leaf."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

Parts = Iterator[tuple[str, pa.Array]]


def combined(array: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(array.chunks or [pa.array([], array.type)])


def plain(array: pa.Array) -> pa.Array:
    """Without extension and dictionary types, which only a writer's own schema adds."""
    if isinstance(array.type, pa.ExtensionType):
        array = array.storage
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def parts(array: pa.Array, path: str = "") -> Parts:
    """Of every node its nulls, of every list its lengths, of every leaf its values."""
    array = plain(array)
    kind = array.type
    if pa.types.is_fixed_size_list(kind):
        array = array.cast(pa.list_(kind.value_field))
        kind = array.type
    if pa.types.is_map(kind):
        entries = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
        array = _list_of(array, entries)
        kind = array.type
    if pa.types.is_struct(kind):
        yield f"{path} is null", array.is_null()
        for field, child in zip(kind, array.flatten(), strict=True):
            yield from parts(child, f"{path}.{field.name}")
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield f"{path} lengths", pc.list_value_length(array).cast(pa.int64())
        yield from parts(array.flatten(), f"{path}[]")
    else:
        yield path, array


def _list_of(array: pa.MapArray, entries: pa.Array) -> pa.Array:
    nulls = array.is_null()
    made = pa.ListArray.from_arrays(array.offsets, entries)
    return pc.if_else(nulls, pa.scalar(None, made.type), made) if array.null_count else made


def leaf_values(array: pa.Array, like: pa.DataType) -> pa.Array:
    """Text and bytes as the other side's type; all else as it is."""
    if array.type == pa.string_view():
        array = array.cast(pa.string())
    elif array.type == pa.binary_view() or pa.types.is_fixed_size_binary(array.type):
        array = array.cast(pa.binary())
    if pa.types.is_fixed_size_binary(like):
        like = pa.binary()
    return array if array.type == like else array.cast(like)


def difference(ours: pa.Array, theirs: pa.Array) -> str | None:
    """Where two arrays differ in what they hold; None: nowhere."""
    our_parts, their_parts = list(parts(ours)), list(parts(theirs))
    names, their_names = [name for name, _ in our_parts], [name for name, _ in their_parts]
    if names != their_names:
        return f"{names}, not {their_names}"
    for (name, our_values), (_, their_values) in zip(our_parts, their_parts, strict=True):
        other = leaf_values(their_values, their_values.type)
        mine = leaf_values(our_values, other.type)
        if len(mine) != len(other):
            return f"{name}: {len(mine)} values, not {len(other)}"
        if pa.types.is_floating(mine.type):
            equal = mine.to_pandas().equals(other.to_pandas())
        else:
            equal = mine.equals(other)
        if not equal:
            return f"{name}: {mine}, not {other}"
    return None
