"""Small files that claim, or unfold to, far more than any memory; each is read within bounds.

`python attacks.py NAME LIMIT_BYTES`: reads one in a process of bounded address space, prints the
error's name and by how many bytes the process grew at its peak. LIMIT_BYTES 0: no `memory_limit`.
"""

from __future__ import annotations

import resource
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from delta_pages import DeltaLayout, zigzag
from dremel import LIST, Node, nested_file
from handmade import RLE_DICTIONARY, Column, Page, file_of, prefixed, repeated, varint
from sanitizers import SANITIZED

import pqlab

MANY = (1 << 31) - 1  # values of a page
SPACE_BYTES = 1 << 30  # that the process may map besides what it has after importing
ZSTD, SNAPPY, LZ4_RAW = 6, 1, 7
DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY = 5, 6, 7


def one(physical: str, *pages: Page, **more: Any) -> bytes:
    return file_of(Column(physical, list(pages), **more))


def zstd_bomb(size: int) -> bytes:
    """A frame of blocks that repeat a byte: 4 bytes for 128 KiB."""
    block = 1 << 17
    blocks = [min(block, size - at) for at in range(0, size, block)]
    headers = [
        (count << 3 | 1 << 1 | (at == len(blocks) - 1)).to_bytes(3, "little") + b"\0"
        for at, count in enumerate(blocks)
    ]
    return b"\x28\xb5\x2f\xfd\x00\x38" + b"".join(headers)


def lz4_bomb(size: int) -> bytes:
    """A literal, a match of nearly all, five last literals."""
    length = size - 6
    extra = length - 4 - 15
    return bytes([0x1F, 0, 1, 0]) + b"\xff" * (extra // 255) + bytes([extra % 255, 0x50]) + bytes(5)


def bomb(compress: Callable[[int], bytes], codec: int, size: int) -> bytes:
    page = Page(compress(size), size // 4, uncompressed=size)
    return one("INT32", page, codec=codec)


def nulls() -> bytes:
    """Levels of one run: 16 GiB of INT64 that are null."""
    return one("INT64", Page(prefixed(repeated(0, MANY, 1)), MANY), optional=True)


def codes() -> bytes:
    """One run of indices, each a view of the same text."""
    text = Page(prefixed(b"x" * 1000), 1, dictionary=True)
    page = Page(b"\0" + repeated(0, MANY, 0), MANY, RLE_DICTIONARY)
    return one("BYTE_ARRAY", text, page, element={"converted_type": 0})


def wide_deltas() -> bytes:
    """One block, all of whose mini-blocks have width 0."""
    layout = DeltaLayout(1 << 30, 4)
    head = varint(layout.block_values) + varint(layout.mini_blocks) + varint(1 << 30)
    return one("INT64", Page(head + zigzag(1) + zigzag(1) + bytes(4), 1 << 30, DELTA_BINARY_PACKED))


def growing_prefixes() -> bytes:
    """Each value is the one before and a byte more: n bytes unfold to n * n / 2."""
    values = [b"x" * at for at in range(40_000)]
    page = Page(_prefixes(len(values)), len(values), DELTA_BYTE_ARRAY)
    return one("BYTE_ARRAY", page)


def _prefixes(count: int) -> bytes:
    from delta_pages import delta_lengths, deltas

    prefixes = deltas([0, *range(count - 1)])
    return prefixes + delta_lengths([b"", *[b"x"] * (count - 1)])


def long_list() -> bytes:
    """A row of one list, as long as a page can be."""
    root = Node("optional group c", [Node("repeated group list", [Node("required int32 e")])], LIST)
    levels = prefixed(repeated(0, 1, 1) + repeated(1, MANY - 1, 1)) + prefixed(repeated(1, MANY, 2))
    return nested_file(root.levelled(), [[Page(levels, MANY)]], 1)


def many_pages() -> bytes:
    """Two thousand pages of a mebibyte each, compressed to a few bytes."""
    page = Page(zstd_bomb(1 << 20), 1 << 18, uncompressed=1 << 20)
    return one("INT32", *[page] * 2000, codec=ZSTD)


def lying_sizes() -> bytes:
    """As before; the footer says that a chunk of 1,000 bytes holds as many values."""
    from edited_footers import rewritten

    def change(footer: Any) -> None:
        meta_data = footer.row_groups[0].columns[0].meta_data
        meta_data.total_uncompressed_size = 1000

    return rewritten(many_pages(), change)


def text_bomb() -> bytes:
    """A string of a gibibyte."""
    size = 1 << 30
    body = zstd_bomb(size)
    return one("BYTE_ARRAY", Page(body, 1, uncompressed=size), codec=ZSTD)


def entries() -> bytes:
    """A dictionary that claims as many entries as there can be, of no bytes."""
    return one("INT32", Page(b"", MANY, dictionary=True), Page(b"\0", 3, RLE_DICTIONARY))


ATTACKS: dict[str, Callable[[], bytes]] = {
    "a zstd page of 2 GiB": lambda: bomb(zstd_bomb, ZSTD, MANY // 4 * 4),
    "an LZ4 page of 256 MiB": lambda: bomb(lz4_bomb, LZ4_RAW, 1 << 28),
    "a page of nulls": nulls,
    "a run of indices": codes,
    "deltas of width 0": wide_deltas,
    "prefixes that grow": growing_prefixes,
    "a list of 2 billion": long_list,
    "many pages": many_pages,
    "pages larger than the footer says": lying_sizes,
    "a text of a gibibyte": text_bomb,
    "a dictionary of entries without bytes": entries,
}


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(path: str, limit: int) -> None:
    pqlab.read(one("INT32", Page(struct.pack("<i", 1), 1)))  # threads and imports are there
    mapped = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (mapped + SPACE_BYTES,) * 2)
    before = peak_bytes()
    try:
        options: dict[str, Any] = {"memory_limit": limit} if limit else {}
        frame = pqlab.read(path, workers=2, **options)
    except pqlab.PqlabError as error:
        print(type(error).__name__, peak_bytes() - before, error.message, sep="\t")  # noqa: T201
    else:
        print("values", peak_bytes() - before, frame.estimated_size(), sep="\t")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
