"""A predicate as conditions joined by "every" and "some", and what is known of each condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from pqlab.predicate.pieces import Pieces, Positions, all_of, any_of
from pqlab.predicate.predicate import (
    OPPOSITE,
    And,
    Comparison,
    IsNull,
    Membership,
    Not,
    Or,
    Predicate,
)


class Step(Enum):
    """What rules rows out, in the order in which it is asked; the value is its name for people."""

    CONSTANT = "constant"  # the same value in the whole file: a hive folder, or a missing column
    STATISTICS = "statistics"
    COLUMN_INDEX = "column index"
    BLOOM_FILTER = "bloom filter"
    DICTIONARY = "dictionary"


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """`predicate` is wanted to hold, or its opposite: where it is unknown neither does.

    Each place in a predicate has one of its own: 1, 1.0 and True are equal, and not the same.
    """

    predicate: Comparison | Membership | IsNull
    holds: bool = True

    @property
    def is_for_nulls(self) -> bool:
        """Whether nulls are wanted."""
        return isinstance(self.predicate, IsNull) and self.holds

    def __str__(self) -> str:
        return str(self.predicate) if self.holds else f"not ({self.predicate})"


@dataclass(frozen=True, slots=True, eq=False)
class Every:
    """All parts are wanted to hold."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Some:
    """One of the parts is wanted to hold."""

    parts: tuple[Tree, ...]


Tree: TypeAlias = Condition | Every | Some


def tree_of(predicate: Predicate, *, holds: bool = True) -> Tree:
    """The predicate, or its opposite, with its negations in the conditions."""
    if isinstance(predicate, Not):
        return tree_of(predicate.part, holds=not holds)
    if isinstance(predicate, (And, Or)):
        parts = tuple(tree_of(part, holds=holds) for part in predicate.parts)
        return Every(parts) if isinstance(predicate, And) is holds else Some(parts)
    if isinstance(predicate, Comparison) and not holds:
        return Condition(replace(predicate, operator=OPPOSITE[predicate.operator]))
    return Condition(predicate, holds)


def conditions_of(tree: Tree) -> Iterator[Condition]:
    """The conditions, each once for every place that it has."""
    if isinstance(tree, Condition):
        yield tree
    else:
        for part in tree.parts:
            yield from conditions_of(part)


class Answer(NamedTuple):
    """What a step says of a condition.

    `bound(i)`: for a piece that has no wanted rows, what says so; `sources[i]` is what to ask for.
    """

    step: Step
    pieces: Pieces
    sources: Positions
    bound: Callable[[int], str]


class Reason(NamedTuple):
    """Why a row is ruled out: by which step, the conditions that do not hold, on which bound."""

    step: str
    condition: str
    bound: str


@dataclass(frozen=True)
class Judged:
    """What is known of the rows of a file.

    `row_bounds`: where row groups that have rows begin, and the number of rows. `answers`: of each
    condition, by the steps that were asked, in order.
    """

    tree: Tree
    row_bounds: Positions
    answers: Mapping[Condition, Sequence[Answer]] = field(default_factory=dict)

    def told(self, answers: Mapping[Condition, Answer]) -> Judged:
        """With what one more step says."""
        known = {condition: tuple(found) for condition, found in self.answers.items()}
        for condition, answer in answers.items():
            known[condition] = (*known.get(condition, ()), answer)
        return Judged(self.tree, self.row_bounds, known)

    def up_to(self, step: Step) -> Judged:
        """What was known after that step."""
        steps = list(Step)
        asked = steps[: steps.index(step) + 1]
        answers = {
            condition: tuple(answer for answer in found if answer.step in asked)
            for condition, found in self.answers.items()
        }
        return Judged(self.tree, self.row_bounds, answers)

    @cached_property
    def pieces(self) -> Pieces:
        """Which rows may be wanted."""
        return self._pieces(self.tree)

    def of_condition(self, condition: Condition) -> Pieces:
        """The rows for which the condition may hold."""
        found = [answer.pieces for answer in self.answers.get(condition, ())]
        everywhere = np.ones(len(self.row_bounds) - 1, np.bool_)
        return all_of([Pieces(self.row_bounds, everywhere), *found])

    def _pieces(self, tree: Tree) -> Pieces:
        found = self._found.get(tree)
        if found is None:
            if isinstance(tree, Condition):
                found = self.of_condition(tree)
            else:
                parts = [self._pieces(part) for part in tree.parts]
                found = all_of(parts) if isinstance(tree, Every) else any_of(parts)
            self._found[tree] = found
        return found

    @cached_property
    def _found(self) -> dict[Tree, Pieces]:
        return {}

    def why(self, row: int) -> Reason:
        """Why the row is ruled out. It must be."""
        return self._why(self.tree, row)

    def _why(self, tree: Tree, row: int) -> Reason:
        if isinstance(tree, Condition):
            for answer in self.answers[tree]:
                piece = answer.pieces.piece_of(row)
                if not answer.pieces.may_hold[piece]:
                    bound = answer.bound(int(answer.sources[piece]))
                    return Reason(answer.step.value, str(tree), bound)
            raise LookupError(f"row {row} is not ruled out")
        if isinstance(tree, Every):
            part = next(part for part in tree.parts if not self._holds(part, row))
            return self._why(part, row)
        reasons = [self._why(part, row) for part in tree.parts]
        steps = dict.fromkeys(reason.step for reason in reasons)
        bounds = dict.fromkeys(reason.bound for reason in reasons)
        words = "; ".join(reason.condition for reason in reasons)
        return Reason(", ".join(steps), words, "; ".join(bounds))

    def _holds(self, tree: Tree, row: int) -> bool:
        pieces = self._pieces(tree)
        return bool(pieces.may_hold[pieces.piece_of(row)])
