"""Reads by the GPU engine on the emulator, held against the CPU engine's buffers byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import pyarrow as pa
from decoding import InMemory, Ranges, metadata_of, plan_of

from pqlab.cpu import engine as cpu
from pqlab.footer.metadata import FileMetaData
from pqlab.gpu import engine as gpu
from pqlab.gpu.emulator.device import EmulatedDevice
from pqlab.native._native import Decoded
from pqlab.plan.plan import Plan


@cache
def device(*, checked: bool = False) -> EmulatedDevice:
    return EmulatedDevice(checked=checked)


def decode(
    data: bytes,
    leaves: Sequence[int] | None = None,
    rows: dict[int, Ranges] | None = None,
    *,
    checked: bool = False,
    **options: Any,
) -> Decoded:
    metadata = metadata_of(data)
    plan = plan_of(metadata, leaves, rows)
    return gpu.read(plan, metadata, InMemory(data), device(checked=checked), **options)


def assert_same(
    data: bytes,
    leaves: Sequence[int] | None = None,
    rows: dict[int, Ranges] | None = None,
    *,
    checked: bool = False,
    **options: Any,
) -> pa.RecordBatch:
    """The emulated read, which must equal the CPU engine's."""
    metadata = metadata_of(data)
    return assert_same_plan(
        plan_of(metadata, leaves, rows), metadata, InMemory(data), checked=checked, **options
    )


def assert_same_plan(
    plan: Plan, metadata: FileMetaData, source: Any, *, checked: bool = False, **options: Any
) -> pa.RecordBatch:
    theirs = pa.record_batch(cpu.read(plan, metadata, source, **options))
    ours = pa.record_batch(gpu.read(plan, metadata, source, device(checked=checked), **options))
    # Decimals beyond their digits pass, as they do on the CPU and in pyarrow.
    ours.validate(full=not any(pa.types.is_decimal(each.type) for each in every_node(ours)))
    assert_same_batch(ours, theirs)
    return ours


def assert_same_batch(ours: pa.RecordBatch, theirs: pa.RecordBatch) -> None:
    """Equal bytes."""
    assert ours.schema == theirs.schema
    for name, mine, other in zip(ours.schema.names, ours.columns, theirs.columns, strict=True):
        for node, (left, right) in enumerate(zip(nodes(mine), nodes(other), strict=True)):
            assert_same_buffers(left, right, f"{name}, node {node}")


def every_node(batch: pa.RecordBatch) -> Iterator[pa.Array]:
    for column in batch.columns:
        yield from nodes(column)


def nodes(array: pa.Array) -> Iterator[pa.Array]:
    """The array and those below it, parents first."""
    yield array
    if isinstance(array, pa.MapArray):
        yield from nodes(array.keys)
        yield from nodes(array.items)
    elif isinstance(array, pa.ListArray | pa.LargeListArray):
        yield from nodes(array.values)
    elif isinstance(array, pa.StructArray):
        for at in range(array.type.num_fields):
            yield from nodes(array.field(at))


def assert_same_buffers(ours: pa.Array, theirs: pa.Array, place: str) -> None:
    """Equal bytes; where views point, and into which buffers, is each engine's own."""
    assert len(ours) == len(theirs), place
    assert ours.null_count == theirs.null_count, place
    if ours.type in (pa.string_view(), pa.binary_view()):
        assert ours.equals(theirs), place
        return
    mine, others = ours.buffers(), theirs.buffers()
    own = 1 if isinstance(ours, pa.StructArray) else min(2, len(mine))
    for buffer, other in zip(mine[:own], others[:own], strict=True):
        assert (buffer is None) == (other is None), place
        assert buffer is None or buffer.equals(other), place
