"""`stream`: options and files to an iteration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pqlab.cpu.engine import Team
from pqlab.footer.metadata import FileMetaData
from pqlab.plan.build import about_pages, page_rows
from pqlab.plan.memory import decoded_bytes
from pqlab.plan.policy import IOPolicy
from pqlab.plan.ranges import Ranges, length
from pqlab.stream import order
from pqlab.stream.iterator import Form, Frame, Frames
from pqlab.stream.options import Prefetch, check_iterate_options
from pqlab.stream.parts import PART_BYTES, RowGroup, lanes, parts
from pqlab.stream.pipeline import Lane, Pipeline, free_memory_share
from pqlab.stream.units import FileParts

if TYPE_CHECKING:
    from pqlab.reader import ParquetFile

_HELD = 3  # parts at once, at least: the consumer's, the one it asks for, the next


@dataclass(frozen=True, slots=True)
class Picked:
    """What is read of a file. `rows` by row group; `roots`: the leaves of each root column.

    All files have as many roots; one that a file lacks is empty there.
    """

    file: ParquetFile
    rows: Mapping[int, Ranges]
    roots: Sequence[tuple[int, ...]]

    @property
    def metadata(self) -> FileMetaData:
        """Of the file."""
        return self.file.metadata

    @property
    def leaves(self) -> tuple[int, ...]:
        """Of all roots."""
        return tuple(leaf for root in self.roots for leaf in root)


def stream(
    picked: Sequence[Picked],
    open_file: Callable[[int, Sequence[tuple[int, ...]], Team], FileParts],
    form: Form[Frame],
    *,
    rows: int | None,
    workers: int | None,
    policy: IOPolicy,
    prefetch: Prefetch = "adaptive",
    memory_limit: int | None = None,
    shard: tuple[int, int] | None = None,
    shuffle: int | None = None,
    state: Mapping[str, Any] | None = None,
) -> Frames[Frame]:
    """An iteration over the files; nothing is read before its first frame is asked for.

    `open_file(file, lanes, team)` is called when a file's first part is begun. `rows` a frame;
    None: a row group each. Raises ValueError for an option that has no such value.
    """
    check_iterate_options(rows, prefetch, memory_limit)
    limit = free_memory_share() if memory_limit is None else memory_limit
    sizes = [_Sizes.of(each) for each in picked]
    position = order.start(_fingerprint(picked), shuffle=shuffle, shard=shard, state=state)
    starts = np.cumsum([0, *(len(each.rows) for each in picked)])  # of files, among row groups
    ordered = order.ordered(int(starts[-1]), position)
    numbers = ordered[position.row_groups :].tolist()

    def row_group(number: int) -> RowGroup:
        file = int(np.searchsorted(starts, number, "right")) - 1
        return sizes[file].row_group(file, number - int(starts[file]))

    next_rows = length(row_group(numbers[0]).rows) if numbers else 1
    order.check(position, len(ordered), next_rows)

    root_bytes = sum((each.root_bytes.sum(axis=0) for each in sizes), np.zeros(1))
    total = max(float(root_bytes.sum()), 1)
    fetched_share = sum(each.fetched_bytes for each in sizes) / total
    mean_part = max(total / max(int(starts[-1]), 1), PART_BYTES)
    begins = lanes((root_bytes * (mean_part / total)).tolist())
    bounds = list(zip(begins, [*begins[1:], len(root_bytes)], strict=True))
    team = Team.of(workers)

    def opened(file: int) -> FileParts:
        roots = picked[file].roots
        joined = [tuple(leaf for root in roots[a:b] for leaf in root) for a, b in bounds]
        return open_file(file, joined, team)

    pipeline = Pipeline(
        parts(
            map(row_group, numbers),
            max((len(each.leaves) for each in picked), default=0),
            max(int(limit / (_HELD * (1 + fetched_share))), 1),
            position.rows,
            lambda group: is_divisible(picked[group.file], group.row_group),
        ),
        opened,
        [Lane(float(root_bytes[a:b].sum()) / total, _pages(picked, a, b)) for a, b in bounds],
        team,
        prefetch=None if prefetch == "adaptive" else prefetch,
        memory_limit=limit,
        fetched_share=fetched_share,
        policy=policy,
    )
    return Frames(pipeline, form, position, rows)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Of what is read of a file: `root_bytes` decoded, by row group and root; `fetched_bytes`."""

    picked: Picked
    row_groups: list[int]
    root_bytes: npt.NDArray[np.float64]
    fetched_bytes: float

    @classmethod
    def of(cls, picked: Picked) -> _Sizes:
        metadata, leaves = picked.metadata, np.array(picked.leaves, np.int64)
        groups = np.array(list(picked.rows), np.int64)
        wanted = np.array([length(ranges) for ranges in picked.rows.values()], np.float64)
        share = (wanted / np.maximum(metadata.row_groups.num_rows[groups], 1))[:, None]
        sizes = decoded_bytes(metadata, picked.leaves, groups.tolist()) * share
        before = np.concatenate([np.zeros((len(groups), 1)), np.cumsum(sizes, axis=1)], axis=1)
        ends = np.cumsum([0, *(len(root) for root in picked.roots)])
        chunks = metadata.chunks.total_compressed_size[
            groups[:, None] * metadata.num_leaves + leaves
        ]
        fetched_bytes = float((np.maximum(chunks, 0) * share).sum())
        return cls(picked, groups.tolist(), np.diff(before[:, ends], axis=1), fetched_bytes)

    def row_group(self, file: int, at: int) -> RowGroup:
        """The one at this position among those that are read."""
        row_group = self.row_groups[at]
        rows = self.picked.rows[row_group]
        whole = rows == ((0, int(self.picked.metadata.row_groups.num_rows[row_group])),)
        return RowGroup(file, row_group, rows, int(self.root_bytes[at].sum()), whole)


def is_divisible(picked: Picked, row_group: int) -> bool:
    """Whether some rows of a row group can be read without the others; reads what tells it.

    Not of lists whose pages are of version 1 and without an index: only their levels tell which
    rows they hold.
    """
    metadata, store = picked.file.metadata, picked.file.page_store
    lists = [leaf for leaf in picked.leaves if metadata.leaves[leaf].max_repetition_level > 0]
    keys = [(row_group, leaf) for leaf in lists]
    store.load_indexes(keys, bounds=False)
    store.walk_until(dict.fromkeys(keys, 1))
    num_rows = int(metadata.row_groups.num_rows[row_group])
    return all(page_rows(pages, num_rows) is not None for pages in store.known(keys).values())


def _fingerprint(picked: Sequence[Picked]) -> int:
    return order.fingerprint(
        [
            (
                [each.metadata.leaves[leaf].column for leaf in each.leaves],
                np.array([(at, length(ranges)) for at, ranges in each.rows.items()], np.int64),
            )
            for each in picked
        ]
    )


def _pages(picked: Sequence[Picked], start: int, stop: int) -> float:
    """About how many pages the leaves of these roots have in a row group."""
    for each in picked:
        leaves = [leaf for root in each.roots[start:stop] for leaf in root]
        if leaves and each.rows:
            row_group = next(iter(each.rows))
            return float(sum(about_pages(each.metadata, row_group, leaf) for leaf in leaves))
    return 1.0
