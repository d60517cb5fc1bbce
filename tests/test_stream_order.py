"""Orders, shards and states of an iteration, as values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from pqlab.errors import SelectionError
from pqlab.stream.order import Position, fingerprint, ordered, start

BEGIN = {"shuffle": None, "shard": None, "state": None}


def position(shuffle: int | None = None, shard: tuple[int, int] = (0, 1)) -> Position:
    return Position(0, 0, shuffle, shard, 7)


@pytest.mark.parametrize("shuffle", [None, 0, 1, -5, 2**70])
@pytest.mark.parametrize("count", [0, 1, 5, 1000])
@pytest.mark.parametrize("world", [1, 3, 7])
def test_the_shards_part_all_row_groups(shuffle: int | None, count: int, world: int) -> None:
    shards = [ordered(count, position(shuffle, (rank, world))) for rank in range(world)]
    assert sorted(np.concatenate(shards).tolist()) == list(range(count))
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_without_a_seed_the_order_is_that_of_the_file() -> None:
    assert ordered(5, position()).tolist() == [0, 1, 2, 3, 4]
    assert ordered(5, position(None, (1, 2))).tolist() == [1, 3]


def split_mix(state: int) -> int:
    """SplitMix64's output function, as its authors publish it."""
    mask = (1 << 64) - 1
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return state ^ (state >> 31)


def test_each_seed_is_an_order_of_its_own_and_stays_it() -> None:
    orders = [tuple(ordered(100, position(seed)).tolist()) for seed in range(20)]
    assert len(set(orders)) == 20

    def noise(row_group: int) -> int:
        seeded = (row_group + 1) * 0x9E3779B97F4A7C15 + 42 * 0xD1342543DE82EF95
        return split_mix(seeded & ((1 << 64) - 1))

    assert ordered(100, position(42)).tolist() == sorted(range(100), key=noise)


def test_every_row_group_comes_first_for_some_seed() -> None:
    firsts = [int(ordered(8, position(seed))[0]) for seed in range(400)]
    counts = np.bincount(firsts, minlength=8)
    assert counts.min() > 25
    assert counts.max() < 80


def test_a_state_goes_through_json_and_back() -> None:
    begun = start(7, shuffle=3, shard=(1, 4), state=None)
    state = json.loads(json.dumps(begun.at(5, 17).to_state()))
    assert start(7, shuffle=None, shard=None, state=state) == begun.at(5, 17)
    assert start(7, shuffle=3, shard=(1, 4), state=state) == begun.at(5, 17)


@pytest.mark.parametrize(
    "arguments",
    [
        {"shuffle": True},
        {"shuffle": 1.5},
        {"shard": (2, 2)},
        {"shard": (-1, 2)},
        {"shard": 3},
        {"shard": (0, 1, 2)},
        {"state": {}},
        {"state": {"version": 99}},
        {"state": {**position().to_state(), "row_groups": -1}},
        {"state": {**position().to_state(), "rows": -1}},
        {"state": {**position().to_state(), "row_groups": 1.5}},
        {"state": {**position().to_state(), "row_groups": True}},
        {"state": {**position().to_state(), "rows": "2"}},
        {"state": position(3).to_state(), "shuffle": 4},
        {"state": position(3, (0, 2)).to_state(), "shard": (1, 2)},
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(SelectionError):
        start(7, **{**BEGIN, **arguments})


def test_a_state_of_another_selection_is_refused() -> None:
    with pytest.raises(SelectionError, match="other row groups or columns"):
        start(8, shuffle=None, shard=None, state=position().to_state())


def test_a_fingerprint_knows_columns_row_groups_and_rows() -> None:
    rows = np.array([(0, 10), (1, 5)], np.int64)
    base = fingerprint([(["a", "b"], rows)])
    assert base == fingerprint([(["a", "b"], rows.copy())])
    others = [
        fingerprint([(["a"], rows)]),
        fingerprint([(["a", "c"], rows)]),
        fingerprint([(["a", "b"], rows[:1])]),
        fingerprint([(["a", "b"], rows + 1)]),
        fingerprint([(["a", "b"], rows)] * 2),
    ]
    assert base not in others
