"""Which row groups come when: shuffled, shared among processes, and where an iteration stands.

Pure: no I/O, no clock.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pqlab.errors import SelectionError

_VERSION = 1


class Position(NamedTuple):
    """Where an iteration stands, and the order in which it goes on.

    `row_groups`: how many of its row groups were handed out whole; `rows`: how many rows of the
    next one. `shuffle`: the seed, None for file order. `shard`: of `world` processes this one takes
    every `world`-th row group of that order from `rank` on. `selection`: what all of it is of.
    """

    row_groups: int
    rows: int
    shuffle: int | None
    shard: tuple[int, int]
    selection: int

    def at(self, row_groups: int, rows: int) -> Position:
        """The same order, from there on."""
        return self._replace(row_groups=row_groups, rows=rows)

    def to_state(self) -> dict[str, Any]:
        """As plain values that JSON keeps."""
        return {
            "version": _VERSION,
            "row_groups": self.row_groups,
            "rows": self.rows,
            "shuffle": self.shuffle,
            "shard": list(self.shard),
            "selection": self.selection,
        }


def start(
    selection: int,
    *,
    shuffle: int | None,
    shard: tuple[int, int] | None,
    state: Mapping[str, Any] | None,
) -> Position:
    """The beginning, or what `state` says; it brings shuffle and shard with it.

    Raises `SelectionError` for a state of something else, or that contradicts the other arguments.
    """
    if shuffle is not None and type(shuffle) is not int:
        raise SelectionError(f"shuffle is None or a seed, an integer, not {shuffle!r}")
    given = None if shard is None else _shard(shard)
    if state is None:
        return Position(0, 0, shuffle, given or (0, 1), selection)
    position = _from_state(state)
    if position.selection != selection:
        raise SelectionError(
            "the state is of an iteration of other row groups or columns",
            hint="Resume with the selection, and the files, that the state was taken of",
        )
    for name, asked, kept in (
        ("shuffle", shuffle, position.shuffle),
        ("shard", given, position.shard),
    ):
        if asked is not None and asked != kept:
            raise SelectionError(f"the state was taken with {name}={kept!r}, not {asked!r}")
    return position


def check(position: Position, count: int, next_rows: int) -> None:
    """Raise `SelectionError` if it is none of `count` row groups.

    `next_rows`: of the row group that comes next.
    """
    if position.row_groups > count or position.rows >= next_rows:
        raise SelectionError("the state is of an iteration that has more row groups or rows")


def fingerprint(parts: Sequence[tuple[Sequence[str], npt.NDArray[np.int64]]]) -> int:
    """A number for a selection: per file its columns, and (row group, rows) that are read.

    Names of files are left out: the same files may be elsewhere when an iteration resumes.
    """
    digest = 0
    for columns, row_groups in parts:
        digest = zlib.crc32("\0".join(columns).encode("utf-8", "surrogatepass"), digest)
        digest = zlib.crc32(np.ascontiguousarray(row_groups, "<i8").tobytes(), digest)
    return digest


def ordered(count: int, position: Position) -> npt.NDArray[np.int64]:
    """Of `count` row groups those of the shard, in the order in which they come.

    The shards of a world part all row groups among them, whatever the seed.
    """
    order = np.arange(count, dtype=np.int64)
    if position.shuffle is not None:
        order = np.argsort(_noise(order.astype(np.uint64), position.shuffle), kind="stable")
    rank, world = position.shard
    return order[rank::world]


def _noise(numbers: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """SplitMix64 of a seed: written out, as numpy's generators may change with its versions."""
    golden, mask = 0x9E3779B97F4A7C15, (1 << 64) - 1
    mixed = (numbers + np.uint64(1)) * np.uint64(golden) + np.uint64(
        seed * 0xD1342543DE82EF95 & mask
    )
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def _shard(shard: Any) -> tuple[int, int]:
    try:
        rank, world = (int(number) for number in shard)
    except (TypeError, ValueError):
        raise SelectionError(f"shard is (rank, world), not {shard!r}") from None
    if not 0 <= rank < world:
        raise SelectionError(f"shard is (rank, world) with 0 <= rank < world, not {shard!r}")
    return rank, world


def _counted(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise TypeError(f"not a count: {number!r}")
    return number


def _from_state(state: Mapping[str, Any]) -> Position:
    try:
        if state["version"] == _VERSION:
            shuffle = state["shuffle"]
            numbers = [_counted(state[name]) for name in ("row_groups", "rows", "selection")]
            return Position(
                row_groups=numbers[0],
                rows=numbers[1],
                shuffle=None if shuffle is None else int(shuffle),
                shard=_shard(state["shard"]),
                selection=numbers[2],
            )
    except (KeyError, TypeError, ValueError):
        pass
    raise SelectionError("state is what an iteration's .state gave, of this version of pqlab")
