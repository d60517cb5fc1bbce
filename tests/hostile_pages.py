"""Mutates valid pages and reads them: run as a program, so that a crash is seen as one.

`python hostile_pages.py SEED COUNT`: prints the outcomes, and per mutation nothing but what is
wrong. The bytes of headers, levels, indices, compressed blocks and values are changed alike.
"""

from __future__ import annotations

import io
import sys
from collections import Counter
from itertools import cycle, islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from decoding import chunk_range, metadata_of, read_frame, read_table
from delta_pages import AlpVector, alp, delta_byte_array
from dremel import LIST, UTF8, Node, records_file
from encoders import CODECS, FRAMINGS
from handmade import BIT_PACKED, RLE, Column, Page, file_of, packed, prefixed, repeated
from page_matrix import LAYOUTS, SHAPES, matrix_file
from sanitizers import bound_memory

from pqlab.errors import LimitError, PqlabError, UnsupportedError
from pqlab.footer.schema import SchemaNode
from pqlab.limits import Limits

STRINGS = ("string", "categorical", "enum")
ROWS = 700
NESTED_ROWS = 120
LIMITS = Limits(page_bytes=1 << 24, read_bytes=1 << 26)


def table(rng: np.random.Generator) -> pa.Table:
    pick = rng.integers(0, 40, ROWS)
    null = rng.random(ROWS) < 0.3
    texts = [f"{'long enough for a buffer ' * (i % 3)}ü{i}" for i in range(40)]
    decimals = pa.array([int(i) for i in pick], pa.int64()).cast(pa.decimal128(20, 0))
    columns: dict[str, pa.Array] = {
        "int8": pa.array(pick.astype(np.int8), mask=null),
        "int64": pa.array(rng.integers(-(2**60), 2**60, ROWS)),
        "double": pa.array(rng.random(ROWS), mask=null),
        "bool": pa.array(pick < 20, mask=null),
        "text": pa.array([texts[i] for i in pick], mask=null),
        "binary": pa.array([texts[i].encode() for i in pick], pa.binary()),
        "fixed": pa.array([bytes([i] * 14) for i in pick.tolist()], pa.binary(14)),
        "time": pa.array(pick.astype(np.int64), pa.time64("us"), mask=null),
        "decimal": decimals,
    }
    return pa.table(columns)


DELTAS = {
    "int8": "DELTA_BINARY_PACKED",
    "int64": "DELTA_BINARY_PACKED",
    "time": "DELTA_BINARY_PACKED",
    "text": "DELTA_BYTE_ARRAY",
    "binary": "DELTA_LENGTH_BYTE_ARRAY",
    "fixed": "DELTA_BYTE_ARRAY",
    "decimal": "DELTA_BYTE_ARRAY",
}


def alp_page(rng: np.random.Generator, size: int) -> Page:
    """Some vectors with exceptions, after levels of no nulls."""
    vectors = []
    for count in (64, 64, 9):
        width = int(rng.integers(0, 8 * size + 1))
        packed_values = [int.from_bytes(rng.bytes(8), "little") & (1 << width) - 1] * count
        vectors.append(AlpVector(9, 4, -5, width, packed_values, {3: 1, count - 1: 2}))
    return Page(prefixed(repeated(1, 137, 1)) + alp(vectors, 6, size), 137, 10)


def prefix_pages() -> list[Page]:
    """Pages whose first prefix reaches into the page before, as parquet-mr once wrote them."""
    values = [b"%d fronts in common" % (at // 9) for at in range(ROWS)]
    pages, before = [], b""
    for at in range(0, ROWS, 100):
        pages.append(Page(delta_byte_array(values[at : at + 100], before), 100, 7))
        before = values[at + 99]
    return pages


def files(rng: np.random.Generator) -> list[bytes]:
    made = []
    codecs = ("none", "snappy", "gzip", "brotli", "zstd", "lz4")
    for number, codec in enumerate(codecs):
        for dictionary in (False, True):
            sink = io.BytesIO()
            options: dict[str, Any] = {
                "compression": codec,
                "use_dictionary": dictionary,
                "data_page_version": "1.0" if (number + dictionary) % 2 else "2.0",
                "data_page_size": 700,
                "write_batch_size": 60,
            }
            pq.write_table(table(rng), sink, **options)
            made.append(sink.getvalue())
    sink = io.BytesIO()
    split = ["int64", "double", "fixed", "time"]
    pq.write_table(table(rng).select(split), sink, use_dictionary=False, use_byte_stream_split=True)
    made.append(sink.getvalue())
    for version, codec in (("1.0", "none"), ("2.0", "snappy")):
        sink = io.BytesIO()
        options = {"compression": codec, "data_page_version": version, "data_page_size": 700}
        chosen = table(rng).select(list(DELTAS))
        pq.write_table(
            chosen,
            sink,
            use_dictionary=False,
            column_encoding=DELTAS,
            write_batch_size=60,
            **options,
        )
        made.append(sink.getvalue())
    for physical, size in (("FLOAT", 4), ("DOUBLE", 8)):
        made.append(file_of(Column(physical, [alp_page(rng, size)] * 3, optional=True)))
    made.append(file_of(Column("BYTE_ARRAY", prefix_pages()), created_by="parquet-mr"))
    flags = prefixed(repeated(1, 9, 1) + packed([1, 0] * 8, 1))
    made.append(file_of(Column("BOOLEAN", [Page(flags, 20, RLE)] * 4)))
    levels = bytes(rng.integers(0, 256, 8, np.uint8)) + bytes(rng.integers(0, 9, 300, np.uint8))
    page = Page(levels, 64, level_encoding=BIT_PACKED)
    made.append(file_of(Column("INT32", [page] * 3, optional=True)))
    made.append(file_of(Column("INT96", [Page(bytes(12) * 20, 20)], optional=False)))
    return made


def nested_table(rng: np.random.Generator) -> pa.Table:
    """Lists, lists of structs and maps, with nulls and empty lists, one of them long."""
    some = [None, [], [None], [1, 2, None], list(range(40)), [7]]
    texts = [None, "", "short", "long enough for a buffer of its own"]
    pick = rng.integers(0, 6, NESTED_ROWS).tolist()
    structs = [
        None if i == 0 else [None if j == 1 else {"a": j, "b": texts[j % 4]} for j in range(i)]
        for i in pick
    ]
    maps = [None if i == 0 else [(f"key {j}", j % 2 == 0) for j in range(i - 1)] for i in pick]
    columns = {
        "list": pa.array([some[i] for i in pick], pa.list_(pa.int64())),
        "lists": pa.array([[some[i], None, []] if i else None for i in pick]),
        "structs": pa.array(structs, pa.list_(pa.struct([("a", pa.int8()), ("b", pa.string())]))),
        "map": pa.array(maps, pa.map_(pa.string(), pa.bool_())),
        "struct": pa.array([None if i == 0 else {"x": {"y": float(i)}} for i in pick]),
    }
    return pa.table(columns)


def nested_files(rng: np.random.Generator) -> list[bytes]:
    made = []
    for number, codec in enumerate(("none", "snappy", "zstd")):
        for dictionary in (False, True):
            sink = io.BytesIO()
            options: dict[str, Any] = {
                "compression": codec,
                "use_dictionary": dictionary,
                "data_page_version": "1.0" if (number + dictionary) % 2 else "2.0",
                "data_page_size": 200,
                "write_batch_size": 20,
            }
            pq.write_table(nested_table(rng), sink, **options)
            made.append(sink.getvalue())
    element = Node("optional group element", [Node("repeated binary array", annotation=UTF8)], LIST)
    root = Node("optional group x", [Node("repeated group list", [element])], LIST)
    values: list[Any] = [None, {"array": []}, {"array": ["a", "longer than twelve bytes"]}]
    records = [
        {"list": [{"element": values[i]} for i in rng.integers(0, 3, 4).tolist()]}
        for _ in range(NESTED_ROWS)
    ]
    by_hand = [records_file(root, records, page_entries=23, bit_packed=b) for b in (False, True)]
    return made + by_hand


def matrix_files() -> list[bytes]:
    """Every type in every encoding and shape; the layouts and codecs take turns."""
    turns = zip(cycle(LAYOUTS), cycle(CODECS))
    made = [
        matrix_file(shape, layout, codec) for shape in SHAPES for layout, codec in islice(turns, 2)
    ]
    return made + [matrix_file("optional", "v2", 0, framing) for framing in FRAMINGS]


def mutate(rng: np.random.Generator, data: bytes, start: int, stop: int) -> bytes:
    """Change, zero, swap or move some bytes of [start, stop)."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(start, stop))
        size = min(int(rng.integers(1, 9)), stop - at)
        match int(rng.integers(0, 6)):
            case 0:
                out[at] = int(rng.integers(0, 256))
            case 1:
                out[at] ^= 1 << int(rng.integers(0, 8))
            case 2:
                out[at : at + size] = bytes(size)
            case 3:
                out[at : at + size] = b"\xff" * size
            case 4:
                out[at : at + size] = rng.bytes(size)
            case _:
                other = int(rng.integers(start, stop - size + 1))
                out[at : at + size] = out[other : other + size]
    return bytes(out)


def read(data: bytes, leaf: int, workers: int) -> str:
    """A leaf, or all of its root column, all rows or some; as Arrow and as a frame.

    Text that is not nested is read as text, as categories or as an enum.
    """
    metadata = metadata_of(data)
    root = metadata.leaves[leaf].path[0]
    under = [at for at, node in enumerate(metadata.leaves) if node.path[0] == root]
    rows: Any = None if leaf % 2 else {0: [(3, 30), (31, 32), (35, 40)]}
    expected = metadata.num_rows if rows is None else 33
    leaves = [leaf] if workers == 1 else under
    options: dict[str, Any] = {"workers": workers, "limits": LIMITS, "rows": rows}
    if metadata.leaves[leaf].max_repetition_level == 0 and is_text(metadata.leaves[leaf]):
        options["strings"] = STRINGS[(leaf + len(data)) % 3]
    try:
        table = read_table(data, leaves, **options)
    except PqlabError as error:
        if not {"row_group", "column"} <= set(error.place) and not isinstance(error, LimitError):
            raise
        return type(error).__name__
    for column in table.columns:
        if not has_decimals(column.type):  # digits are kept, however many they are
            column.validate(full=True)
    if len(table) != expected:
        raise AssertionError(f"{len(table)} rows")
    try:
        assert len(read_frame(data, leaves, **options)) == expected
    except UnsupportedError as error:
        if "calendar" not in str(error):
            raise
    return "values"


def is_text(leaf: SchemaNode) -> bool:
    return len(leaf.path) == 1 and str(leaf.annotation).startswith("STRING")


def has_decimals(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(has_decimals(kind.field(at).type) for at in range(kind.num_fields))
    return bool(pa.types.is_decimal(kind))


def main(seed: int, count: int) -> None:
    bound_memory(8 << 30)
    rng = np.random.default_rng(seed)
    outcomes: Counter[str] = Counter()
    whole = files(rng) + nested_files(rng) + matrix_files()
    places = [
        (data, leaf, *chunk_range(metadata, 0, leaf))
        for data in whole
        for metadata in [metadata_of(data)]
        for leaf in range(metadata.num_leaves)
    ]
    for number in range(count):
        data, leaf, start, stop = places[int(rng.integers(len(places)))]
        try:
            outcomes[read(mutate(rng, data, start, stop), leaf, 1 + number % 2)] += 1
        except Exception as error:  # noqa: BLE001 (what must not happen is counted, too)
            outcomes[f"{type(error).__name__}: {error}"] += 1
    print(dict(outcomes))  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
