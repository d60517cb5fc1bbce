"""Parses mutated footers in a process of its own: `python footer_mutations.py SEED COUNT FILE...`.

Memory is limited, so that taking more than the file is worth ends in an error here. Prints the
number of footers that were parsed, and of those that were refused.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

from footers import (
    BINARY,
    I32,
    STRUCT,
    ListOf,
    Struct,
    column_chunk,
    column_meta_data,
    file_meta_data,
    footer_of,
    i32,
    root,
    row_group,
    same_arrays,
    schema_element,
    varint,
)  # fmt: skip
from sanitizers import bound_memory

from pqlab.errors import PqlabError
from pqlab.footer.metadata import FileMetaData, parse_file_metadata

MEMORY_BYTES = 3 << 30  # of address space; numpy and its threads reserve most of it


def repetitive_footer(rng: random.Random, num_leaves: int = 8, num_row_groups: int = 8) -> bytes:
    """Row groups whose chunks are alike but for numbers: what is recognised by shape."""
    schema = [root(num_leaves), *(schema_element(b"c%d" % i) for i in range(num_leaves))]

    def chunk(leaf: int) -> Struct:
        bounds = {5: rng.randbytes(8), 6: rng.randbytes(8)} if leaf % 2 else {}
        pages = Struct({1: i32(0), 2: i32(8), 3: i32(rng.randrange(1, 200))})
        return column_chunk(
            column_meta_data(
                path_in_schema=ListOf(BINARY, [b"c%d" % leaf]),
                encodings=ListOf(I32, [i32(0), i32(8)]),
                total_compressed_size=rng.randrange(1, 1 << 20),
                data_page_offset=rng.randrange(1 << 30),
                statistics=Struct({3: rng.randrange(200), **bounds}),
                encoding_stats=ListOf(STRUCT, [pages]),
            )
        )

    groups = [row_group(*map(chunk, range(num_leaves))) for _ in range(num_row_groups)]
    return file_meta_data(*groups, schema=schema)


def flip(rng: random.Random, footer: bytearray) -> None:
    for _ in range(rng.randrange(1, 5)):
        footer[rng.randrange(len(footer))] ^= 1 << rng.randrange(8)


def overwrite(rng: random.Random, footer: bytearray) -> None:
    start = rng.randrange(len(footer))
    footer[start : start + 4] = rng.randbytes(rng.randrange(1, 5))


def insert_number(rng: random.Random, footer: bytearray) -> None:
    start = rng.randrange(len(footer))
    footer[start:start] = varint(rng.getrandbits(rng.choice((7, 14, 31, 33, 63, 64, 70))))


def cut(rng: random.Random, footer: bytearray) -> None:
    start = rng.randrange(len(footer))
    del footer[start : start + rng.choice((1, 2, 8, len(footer)))]


def repeat(rng: random.Random, footer: bytearray) -> None:
    start = rng.randrange(len(footer))
    footer[start:start] = footer[start : start + rng.randrange(1, 64)]


MUTATIONS: tuple[Callable[[random.Random, bytearray], None], ...] = (
    flip, flip, overwrite, insert_number, cut, repeat,
)  # fmt: skip


def look_at(metadata: FileMetaData) -> None:
    """Read everything that is read on demand."""
    repr(metadata.schema)
    assert len(metadata.leaves) == metadata.num_leaves
    assert len(metadata.column_orders) == metadata.num_leaves
    repr((metadata.key_value_metadata, metadata.extensions, metadata.warnings))
    metadata.statistics()
    metadata.encoding_stats()
    metadata.size_statistics()
    for row_group_ordinal in range(min(metadata.num_row_groups, 20)):
        metadata.sorting_columns(row_group_ordinal)


def outcome(footer: bytes, *, predict: bool) -> FileMetaData | str:
    try:
        return parse_file_metadata(footer, 0, predict=predict)
    except PqlabError as error:
        if error.offset is not None and not 0 <= error.offset <= len(footer):
            raise AssertionError("an offset that is not in the footer") from error
        return str(error)


def main() -> None:
    bound_memory(MEMORY_BYTES)
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    bases = [found for path in sys.argv[3:] if (found := footer_of(Path(path)))]
    originals = [content for content, _ in bases] + [repetitive_footer(rng) for _ in range(4)]
    parsed = refused = 0
    for _ in range(count):
        footer = bytearray(rng.choice(originals))
        for _ in range(rng.choice((1, 1, 1, 2, 6))):
            if footer:
                rng.choice(MUTATIONS)(rng, footer)
        result = outcome(bytes(footer), predict=True)
        walked = outcome(bytes(footer), predict=False)
        if isinstance(result, FileMetaData):
            parsed += 1
            assert isinstance(walked, FileMetaData), walked
            assert same_arrays(result.arrays(), walked.arrays())
            look_at(result)
        else:
            refused += 1
            assert result == walked
    sys.stdout.write(f"{parsed} {refused}\n")


if __name__ == "__main__":
    main()
