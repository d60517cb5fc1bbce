"""The steps of pruning, each with the bytes that it needs: cheap ones first, of what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pqlab.errors import PqlabError, SourceError, placed
from pqlab.footer.metadata import FileMetaData, Present
from pqlab.footer.page_index import dictionary_span
from pqlab.io.bloom_filters import probe
from pqlab.io.fetch import read_recorded
from pqlab.io.pages import ChunkKey
from pqlab.plan.ranges import Ranges, intersect
from pqlab.predicate import prune
from pqlab.predicate.pieces import Pieces
from pqlab.predicate.predicate import IsNull, Predicate
from pqlab.predicate.tree import Answer, Condition, Judged, Some, conditions_of, tree_of
from pqlab.trace import Reason

if TYPE_CHECKING:
    import polars as pl

    from pqlab.reader import ParquetFile

Rows: TypeAlias = Mapping[int, Ranges]  # by row group, half open within it


@dataclass(frozen=True, slots=True)
class Pruned:
    """What is left of the rows that were asked for, and why.

    `blooms`: by condition and row group, whether a bloom filter that was asked might hold what is
    looked for; None: there is none. `is_certain`: statistics prove that the predicate holds for all
    rows that are left. `warnings`: what of the file was passed over.
    """

    judged: Judged
    rows: dict[int, Ranges]
    blooms: Mapping[Condition, Mapping[int, bool | None]]
    is_certain: bool
    warnings: tuple[str, ...]


def prune_file(
    file: ParquetFile,
    predicate: Predicate,
    asked: Rows,
    leaves: Sequence[int],
    *,
    constants: Mapping[str, pl.Series],
    dictionary_share: float,
) -> Pruned:
    """Rule out rows of `asked` for which the predicate cannot hold.

    `leaves`: what will be read of the rest. `constants`: columns that the file does not have, by
    their names, each a series of one value. `dictionary_share`: dictionaries are looked into that
    take at most that share of what is read of their row group.

    Indexes, filters and dictionaries that are corrupt are passed over, and warnings say so. Raises
    `SourceError`.
    """
    pruning = _Pruning(file, predicate, asked)
    pruning.leaves, pruning.constants = leaves, constants
    pruning.dictionary_share = dictionary_share
    pruning.learn(pruning.footer())
    is_certain = pruning.is_certain(predicate)
    for step in (pruning.column_indexes, pruning.bloom_filters, pruning.dictionaries):
        if is_certain or not pruning.left:
            break
        pruning.learn(step())
    file.page_store.note(pruning.warnings)
    return Pruned(
        pruning.judged,
        pruning.left,
        pruning.blooms,
        is_certain,
        tuple(pruning.warnings),
    )


def kept_rows(metadata: FileMetaData, pieces: Pieces, asked: Rows) -> dict[int, Ranges]:
    """The rows of `asked` that the pieces may hold; row groups without any are left out."""
    if pieces.may_hold.all():
        return dict(asked)
    ranges = pieces.ranges()
    starts, stops = np.array(ranges, np.int64).reshape(-1, 2).T
    kept = {}
    for row_group, rows in asked.items():
        first = int(metadata.row_groups.first_row[row_group])
        after = first + int(metadata.row_groups.num_rows[row_group])
        begin, end = np.searchsorted(stops, first, "right"), np.searchsorted(starts, after, "left")
        inside = tuple(
            (max(start, first) - first, min(stop, after) - first)
            for start, stop in ranges[begin:end]
        )
        if common := intersect(rows, inside):
            kept[row_group] = common
    return kept


class _Pruning:
    """What is known after each step."""

    leaves: Sequence[int]
    constants: Mapping[str, pl.Series]
    dictionary_share: float

    def __init__(self, file: ParquetFile, predicate: Predicate, asked: Rows) -> None:
        self.file, self.metadata = file, file.metadata
        tree = tree_of(predicate)
        self.conditions = list(conditions_of(tree))
        self.judged = Judged(tree, prune.row_bounds(file.metadata))
        self.left = dict(asked)
        self.blooms: dict[Condition, dict[int, bool | None]] = {}
        self.warnings: dict[str, None] = {}

    def learn(self, answers: Mapping[Condition, Answer]) -> None:
        if answers:
            self.judged = self.judged.told(answers)
            self.left = kept_rows(self.metadata, self.judged.pieces, self.left)

    def is_certain(self, predicate: Predicate) -> bool:
        """Whether statistics rule out, for all rows that are left, that it does not hold."""
        if self.constants:
            return False
        tree = tree_of(predicate, holds=False)
        columns = {condition.predicate.column for condition in self.conditions}
        unknown = Some((tree, *(Condition(IsNull(column)) for column in columns)))
        judged = Judged(unknown, prune.row_bounds(self.metadata))
        for condition in conditions_of(unknown):
            answer = prune.by_statistics(self.metadata, condition)
            if answer is not None:
                judged = judged.told({condition: answer})
        return not kept_rows(self.metadata, judged.pieces, self.left)

    def footer(self) -> dict[Condition, Answer]:
        answers = {}
        for condition in self.conditions:
            answer = prune.by_constants(self.metadata, condition, self.constants)
            if answer is None:
                answer = prune.by_statistics(self.metadata, condition)
            if answer is not None:
                answers[condition] = answer
        return answers

    def column_indexes(self) -> dict[Condition, Answer]:
        keys = self._chunks(lambda _, key: self._has(Present.COLUMN_INDEX, key))
        if not keys:
            return {}
        store = self.file.page_store
        before = set(store.warnings)
        try:
            known = store.indexed(sorted(set().union(*keys.values())))
        except SourceError:
            raise
        except PqlabError as error:
            self.warnings[f"{error}; page indexes are not used"] = None
            return {}
        self.warnings |= dict.fromkeys(each for each in store.warnings if each not in before)
        found = {
            condition: prune.by_column_index(self.metadata, condition, known) for condition in keys
        }
        return {condition: answer for condition, answer in found.items() if answer is not None}

    def bloom_filters(self) -> dict[Condition, Answer]:
        if not (self.metadata.chunks.present & int(Present.BLOOM_FILTER_OFFSET)).any():
            return {}
        found = {each: prune.hashed_values(self.metadata, each) for each in self.conditions}
        hashes = {condition: these for condition, these in found.items() if these is not None}
        answers = {}
        for condition, keys in self._chunks(lambda condition, _: condition in hashes).items():
            wanted = [key for key in keys if self._has(Present.BLOOM_FILTER_OFFSET, key)]
            probed = probe(
                self.file.source,
                self.metadata,
                dict.fromkeys(wanted, hashes[condition]),
                self.file.limits,
            )
            self.warnings |= dict.fromkeys(probed.warnings)
            might = {key[0]: bool(these.any()) for key, these in probed.might_contain.items()}
            self.blooms[condition] = {key[0]: might.get(key[0]) for key in keys}
            if not all(might.values()):
                answers[condition] = prune.by_bloom_filters(self.metadata, condition, might)
        return answers

    def dictionaries(self) -> dict[Condition, Answer]:
        keys = self._chunks(self._dictionary_pays)
        entries = self._read_dictionaries(sorted(set().union(*keys.values())))
        found = {
            condition: {key[0]: entries[key] for key in of_condition if key in entries}
            for condition, of_condition in keys.items()
        }
        return {
            condition: prune.by_dictionaries(self.metadata, condition, of_condition)
            for condition, of_condition in found.items()
            if of_condition
        }

    def _read_dictionaries(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, pl.Series]:
        from pqlab.assemble.arrow import to_frame
        from pqlab.cpu.engine import read_dictionary

        spans = [dictionary_span(self.metadata, self.metadata.chunk_row(*key)) for key in keys]
        data = read_recorded(self.file.source, spans, Reason.DICTIONARY, keys) if keys else []
        entries = {}
        for key, (start, _), page in zip(keys, spans, data, strict=True):
            try:
                with placed(file=self.file.name, row_group=key[0], page=-1):
                    limits = self.file.limits
                    decoded = read_dictionary(self.metadata, *key, page, start, limits=limits)
                    entries[key] = to_frame([decoded]).to_series()
            except PqlabError as error:
                self.warnings[f"{error}; the dictionary is not looked into"] = None
        return entries

    def _dictionary_pays(self, condition: Condition, key: ChunkKey) -> bool:
        if not prune.is_point(condition):  # of ranges, bounds say most
            return False
        start, stop = dictionary_span(self.metadata, self.metadata.chunk_row(*key))
        if start == stop:
            return False
        rows = key[0] * self.metadata.num_leaves + np.array(self.leaves, np.int64)
        sizes = self.metadata.chunks.total_compressed_size[rows].astype(np.int64)
        if stop - start > self.dictionary_share * int(np.maximum(sizes, 0).sum()):
            return False
        known = self.file.page_store.known([key]).get(key)
        return prune.is_all_dictionary(self.metadata, key, known)

    def _chunks(
        self, is_wanted: Callable[[Condition, ChunkKey], bool]
    ) -> dict[Condition, list[ChunkKey]]:
        """Of each condition the chunks of its column that are wanted, where it may hold."""
        found = {}
        for condition in self.conditions:
            leaf = prune.leaf_of(self.metadata, condition)
            if leaf is None or condition.predicate.column[0] in self.constants:
                continue
            rows = kept_rows(self.metadata, self.judged.of_condition(condition), self.left)
            keys = [key for group in rows if is_wanted(condition, key := (group, leaf))]
            if keys:
                found[condition] = keys
        return found

    def _has(self, part: Present, key: ChunkKey) -> bool:
        return bool(int(self.metadata.chunks.present[self.metadata.chunk_row(*key)]) & part)
