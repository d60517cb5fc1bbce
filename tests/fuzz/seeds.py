"""Writes what fuzzing starts from: `python seeds.py FOLDER [CORPUS]`, a folder for each target.

Parts of the files that the tests make, of every encoding, shape and codec, and of public files.
"""

from __future__ import annotations

import hashlib
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from decoding import chunk_range, metadata_of
from encoders import CODECS, FRAMINGS, compress
from hostile_pages import files, nested_files
from page_matrix import LAYOUTS, matrix_file, written

from pqlab.cpu.kinds import kind_of
from pqlab.errors import PqlabError
from pqlab.footer.metadata import FileMetaData
from pqlab.footer.page_index import index_ranges
from pqlab.footer.schema import SchemaNode
from pqlab.footer.types import arrow_type

MAX_BYTES = 16 << 10  # of a seed
MAX_FILE_BYTES = 12 << 10
MOST = 1000  # seeds of a target
# As the harness numbers them (chunk.hpp, decoders.cpp).
KINDS = (
    *("BITS", "COPY", "FLOATING", "FIXED", "INT8", "UINT8", "INT16", "UINT16", "TIME_MS"),
    *("TIME_US", "TIME_NS", "INT96_NS", "INT96_US", "DECIMAL_INT32", "DECIMAL_INT64"),
    *("DECIMAL_FIXED", "DECIMAL_BYTES", "BYTES", "TEXT", "FIXED_BYTES", "CODES", "NOTHING"),
)
SHAPES = ("required", "optional", "optional in optional", "list", "list of lists", "repeated")
LEVELS = {(0, 0): 0, (1, 0): 1, (2, 0): 2, (3, 1): 3, (5, 2): 4, (1, 1): 5}
ENCODINGS = (0, 2, 3, 5, 6, 7, 8, 9, 10)
V2 = 135  # a multiple of how many these are, with the bit of 128


def column(leaf: SchemaNode, codec: int, num_rows: int, num_values: int, flags: int = 0) -> bytes:
    """What the harness reads of a column; nothing for a shape that it does not have."""
    shape = LEVELS.get((leaf.max_definition_level, leaf.max_repetition_level))
    fits = 0 <= codec < 9 and 0 <= num_rows < 1 << 16 and 0 <= num_values < 1 << 16
    if shape is None or not fits:
        return b""
    kind = kind_of(leaf, arrow_type(leaf))
    width = kind.width - 1 if kind.name in ("DECIMAL_FIXED", "FIXED_BYTES") else kind.width >= 8
    return struct.pack(
        "<5B2H", KINDS.index(kind.name), int(width) % 256, shape, codec, flags, num_rows, num_values
    )


def chunks(data: bytes) -> Iterator[tuple[FileMetaData, int, int, bytes]]:
    """(metadata, row group, leaf, bytes) of each chunk of a file."""
    metadata = metadata_of(data)
    for row_group in range(min(metadata.num_row_groups, 2)):
        for leaf in range(min(metadata.num_leaves, 60)):
            start, stop = chunk_range(metadata, row_group, leaf)
            if 0 < stop - start <= MAX_BYTES:
                yield metadata, row_group, leaf, data[start:stop]


def footers(data: bytes) -> Iterator[bytes]:
    size = int.from_bytes(data[-8:-4], "little")
    if size < MAX_BYTES:
        yield data[-8 - size : -8]


def page_headers(data: bytes) -> Iterator[bytes]:
    for metadata, row_group, leaf, body in chunks(data):
        num_values = int(metadata.chunks.num_values[metadata.chunk_row(row_group, leaf)])
        flat = metadata.leaves[leaf].max_repetition_level == 0
        if num_values < 1 << 15:
            yield struct.pack("<hB", num_values, flat) + body


def page_indexes(data: bytes) -> Iterator[bytes]:
    metadata = metadata_of(data)
    if not index_ranges(metadata).ranges:
        return
    of = metadata.chunks
    for row_group in range(metadata.num_row_groups):
        num_rows = int(metadata.row_groups.num_rows[row_group])
        for leaf in range(metadata.num_leaves):
            at = metadata.chunk_row(row_group, leaf)
            start, stop = chunk_range(metadata, row_group, leaf)
            offset, length = int(of.offset_index_offset[at]), int(of.offset_index_length[at])
            bounds, size = int(of.column_index_offset[at]), int(of.column_index_length[at])
            if max(start, length, num_rows) < 1 << 16 and length:
                flat = metadata.leaves[leaf].max_repetition_level == 0
                head = struct.pack("<3HIB", length, num_rows, start, stop - start, 2 + flat)
                yield head + data[offset : offset + length] + data[bounds : bounds + size]


def pages(data: bytes) -> Iterator[bytes]:
    for metadata, row_group, leaf, body in chunks(data):
        at = metadata.chunk_row(row_group, leaf)
        codec, num_values = int(metadata.chunks.codec[at]), int(metadata.chunks.num_values[at])
        num_rows = int(metadata.row_groups.num_rows[row_group])
        with suppress(PqlabError, KeyError):
            head = column(metadata.leaves[leaf], codec, num_rows, num_values, flags=leaf % 2 * 16)
            if head:
                yield head + body


def decoders() -> Iterator[bytes]:
    for shape in SHAPES:
        for layout in ("v1", "v2"):
            data = matrix_file(shape, layout, 0)
            leaves = metadata_of(data).leaves
            for leaf, of in zip(leaves, written(shape, layout), strict=True):
                stored = of.pages[0][0]
                dictionary = stored[0].body if stored[0].dictionary else b""
                for page in stored[bool(dictionary) :]:
                    v2 = page.v2 or {}
                    rows = v2.get("num_rows", page.num_values)
                    head = column(leaf, 0, rows, page.num_values)
                    choice = ENCODINGS.index(page.encoding) + (V2 if v2 else 0)
                    sizes = [
                        v2.get(f"{side}_levels_byte_length", 0)
                        for side in ("repetition", "definition")
                    ]
                    if head and len(dictionary) < 256 and max(sizes) < 256:
                        tail = struct.pack("<4B", choice, len(dictionary), *sizes)
                        yield head + tail + dictionary + page.body


def codecs() -> Iterator[bytes]:
    rng = np.random.default_rng(5)
    samples = [b"", b"a", bytes(300), rng.bytes(200), b"the same words " * 40, rng.bytes(9) * 70]
    for sample in samples:
        for codec in CODECS:
            yield struct.pack("<BH", codec, len(sample)) + compress(codec, sample)
        for codec, compressor in FRAMINGS.values():
            yield struct.pack("<BH", codec, len(sample)) + compressor(sample)


def generated() -> list[bytes]:
    """Files of every encoding, shape, page version and codec."""
    rng = np.random.default_rng(7)
    cells = [(shape, layout) for shape in SHAPES for layout in LAYOUTS]
    made = [matrix_file(*cell, CODECS[at % len(CODECS)]) for at, cell in enumerate(cells)]
    return made + files(rng) + nested_files(rng)


def public(corpus: Path) -> Iterator[bytes]:
    for path in sorted(corpus.rglob("*")):
        if path.is_file() and 12 <= path.stat().st_size <= 4 * MAX_FILE_BYTES:
            data = path.read_bytes()
            if data[-4:] == b"PAR1":
                yield data


PARTS: dict[str, Callable[[bytes], Iterable[bytes]]] = {
    "footer": footers,
    "page_headers": page_headers,
    "page_index": page_indexes,
    "pages": pages,
    "file": lambda data: [data] if len(data) <= MAX_FILE_BYTES else [],
}


def main(folder: Path, corpus: Path | None) -> None:
    seeds: dict[str, list[bytes]] = {name: [] for name in PARTS}
    seeds |= {"decoders": list(decoders()), "codecs": list(codecs())}
    for data in [*generated(), *(public(corpus) if corpus else ())]:
        for name, parts in PARTS.items():
            with suppress(PqlabError):  # some public files are damaged
                seeds[name] += parts(data)
    for name, found in seeds.items():
        (folder / name).mkdir(parents=True)
        by_digest = {hashlib.sha256(seed).hexdigest(): seed for seed in found}
        for digest in sorted(by_digest)[:MOST]:  # any, but the same ones each time
            (folder / name / digest).write_bytes(by_digest[digest])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
