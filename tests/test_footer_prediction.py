"""Recognising chunks by their shape gives what walking them gives, however they are laid out."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from footers import (
    BINARY,
    I32,
    I64,
    STRUCT,
    ListOf,
    Struct,
    column_chunk,
    column_meta_data,
    file_meta_data,
    group,
    i32,
    root,
    row_group,
    same_arrays,
    schema_element,
)

from pqlab.footer.metadata import parse_file_metadata

Path = list[bytes]
ChunkWriter = Callable[[random.Random, Path], Struct]


def number(rng: random.Random) -> int:
    """Of any length in bytes, mostly of the same."""
    return rng.getrandbits(20 if rng.random() < 0.8 else rng.randrange(1, 63))


def plain(rng: random.Random, path: Path) -> Struct:
    fields = {"total_compressed_size": number(rng), "data_page_offset": number(rng)}
    return column_chunk(column_meta_data(path_in_schema=ListOf(BINARY, path), **fields))


def rich(rng: random.Random, path: Path) -> Struct:
    """Every field that is read, with bounds of random length, and many varints."""
    pages = [Struct({1: i32(kind), 2: i32(0), 3: i32(rng.randrange(1, 300))}) for kind in (2, 0, 3)]
    sizes = Struct({1: number(rng), 3: ListOf(I64, [number(rng) for _ in range(12)])})
    bounds = {key: rng.randbytes(rng.randrange(200)) for key in (1, 2, 5, 6)}
    statistics = Struct({3: number(rng), 4: number(rng), **bounds, 7: True, 9: number(rng)})
    meta_data = column_meta_data(
        path_in_schema=ListOf(BINARY, path),
        encodings=ListOf(I32, [i32(0), i32(8)]),
        total_compressed_size=number(rng),
        dictionary_page_offset=number(rng),
        statistics=statistics,
        encoding_stats=ListOf(STRUCT, pages),
        bloom_filter_offset=number(rng),
        bloom_filter_length=i32(rng.getrandbits(rng.randrange(1, 31))),
        size_statistics=sizes,
    )
    place = {"offset_index_offset": number(rng), "offset_index_length": i32(rng.randrange(500))}
    return column_chunk(meta_data, file_offset=number(rng), **place)


def unsteady(rng: random.Random, path: Path) -> Struct:
    """Fields that come and go, an encoding or a codec that changes, a number that is wrong."""
    fields = {
        "statistics": Struct({3: number(rng)}) if rng.random() < 0.5 else None,
        "codec": i32(rng.choice((0, 0, 0, 6, 77))),
        "dictionary_page_offset": rng.choice((None, None, 4, -1)),
        "extension": rng.choice((None, None, None, b"ext")),
        "encodings": ListOf(I32, [i32(0)] * rng.choice((1, 1, 2))),
    }
    wrong = rng.random() < 0.1
    names = [b"elsewhere"] if wrong else path
    return column_chunk(column_meta_data(path_in_schema=ListOf(BINARY, names), **fields))


def mixed(rng: random.Random, path: Path) -> Struct:
    return rng.choice((plain, rich, unsteady))(rng, path)


def footer(
    rng: random.Random, writers: list[ChunkWriter], paths: list[Path], num_row_groups: int
) -> bytes:
    flat = all(len(path) == 1 for path in paths)
    if flat:
        schema = [root(len(paths)), *(schema_element(path[0]) for path in paths)]
    else:  # each leaf below groups of its own
        schema = [root(len(paths))]
        for path in paths:
            schema += [group(name, 1) for name in path[:-1]]
            schema.append(schema_element(path[-1]))
    groups = [
        row_group(*(writer(rng, path) for writer, path in zip(writers, paths, strict=True)))
        for _ in range(num_row_groups)
    ]
    return file_meta_data(*groups, schema=schema)


def flat_paths(count: int) -> list[Path]:
    return [[b"c%d" % i * (1 + i % 5)] for i in range(count)]


def nested_paths(count: int) -> list[Path]:
    return [[b"g%d" % level for level in range(i % 17)] + [b"leaf%d" % i] for i in range(count)]


def long_names(count: int) -> list[Path]:
    return [[b"n" * (100 + 5 * i)] for i in range(count)]


@pytest.mark.parametrize("writer", [plain, rich, unsteady, mixed])
@pytest.mark.parametrize("paths", [flat_paths, nested_paths, long_names])
@pytest.mark.parametrize(("leaves", "row_groups"), [(40, 25), (200, 2), (1, 300)])
def test_recognising_gives_what_walking_gives(
    writer: ChunkWriter, paths: Callable[[int], list[Path]], leaves: int, row_groups: int
) -> None:
    rng = random.Random(1)
    content = footer(rng, [writer] * leaves, paths(leaves), row_groups)
    recognised = parse_file_metadata(content, 4)
    walked = parse_file_metadata(content, 4, predict=False)
    assert same_arrays(recognised.arrays(), walked.arrays())


def test_numbers_are_those_of_the_footer() -> None:
    rng = random.Random(2)
    content = footer(rng, [rich] * 20, flat_paths(20), 30)
    metadata = parse_file_metadata(content, 4)
    chunks = metadata.chunks
    for row, chunk in enumerate(c for g in metadata.raw().row_groups for c in g.columns):
        meta_data = chunk.meta_data
        assert int(chunks.total_compressed_size[row]) == meta_data.total_compressed_size
        assert int(chunks.dictionary_page_offset[row]) == meta_data.dictionary_page_offset
        assert int(chunks.null_count[row]) == meta_data.statistics.null_count
        assert int(chunks.bloom_filter_length[row]) == meta_data.bloom_filter_length
        assert int(chunks.offset_index_offset[row]) == chunk.offset_index_offset
        counts = [s.count for s in meta_data.encoding_stats if s.page_type in (0, 3)]
        assert int(chunks.num_data_pages[row]) == sum(counts)


def test_metadata_comes_back_from_its_arrays() -> None:
    metadata = parse_file_metadata(footer(random.Random(3), [rich] * 5, flat_paths(5), 6), 4)
    again = type(metadata).from_arrays(metadata.arrays())
    assert same_arrays(again.arrays(), metadata.arrays())
    assert repr(again) == repr(metadata)
    assert [leaf.path for leaf in again.leaves] == [leaf.path for leaf in metadata.leaves]
    assert again.chunks.null_count.tolist() == metadata.chunks.null_count.tolist()
    assert not again.chunks.null_count.flags.writeable
