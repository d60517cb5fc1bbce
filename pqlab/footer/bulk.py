"""The footers of many files at once: their chunks under each other, without an object per file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl

from pqlab.footer.bounds import LeafBounds
from pqlab.footer.chunk_frames import ChunkRows
from pqlab.footer.details import StatisticsTable
from pqlab.footer.metadata import FileMetaData, parse_file_metadata
from pqlab.limits import Limits
from pqlab.native import _native


@dataclass(frozen=True, slots=True, eq=False)
class Footers:
    """What native code made of many files, a row per file in `files`.

    `ok` is 0 for a file of which anything is wrong: opening it says what. `kinds`: metadata of
    which no two have the same schema, column orders and writer; `files["kind"]`: whose is whose.
    """

    files: Mapping[str, np.ndarray]
    kinds: Sequence[FileMetaData]
    _chunks: Mapping[str, np.ndarray]
    _row_groups: Mapping[str, np.ndarray]
    _statistics: np.ndarray

    @classmethod
    def parse(
        cls,
        sources: Sequence[bytes | np.ndarray],
        limits: Limits,
        *,
        guess_bytes: int,
        threads: int,
    ) -> Self:
        """Read local files (paths), and parse FileMetaData that is at hand (padded arrays)."""
        parsed: dict[str, Any] = _native.parse_footers(
            list(sources),
            schema_elements=limits.schema_elements,
            schema_depth=limits.schema_depth,
            row_groups=limits.row_groups,
            column_chunks=limits.column_chunks,
            footer_bytes=limits.footer_bytes,
            guess_bytes=guess_bytes,
            threads=threads,
        )
        count = len(sources)
        files = {name: np.broadcast_to(of, (count,)) for name, of in parsed["files"].items()}
        kinds = [parse_file_metadata(footer, 0, limits) for footer in parsed["kinds"]]
        return cls(files, kinds, parsed["chunks"], parsed["row_groups"], parsed["statistics"])

    def chunks(self) -> tuple[np.ndarray, dict[str, pl.Series]]:
        """A row per file, row group and leaf: which file, and the columns of `COLUMN_CHUNKS`.

        `row_group_num_rows` is with them. Files that are not ok, or have no chunks, have no rows.
        """
        ok = self.files["ok"] != 0
        kind = self.files["kind"].astype(np.int64)
        leaves_of_kind = np.array([of.num_leaves for of in self.kinds] or [0], np.int64)
        num_leaves = np.where(ok, leaves_of_kind[kind], 0)
        num_groups = np.where(ok, self.files["num_row_groups"].astype(np.int64), 0)
        counts = num_groups * num_leaves
        file = np.repeat(np.arange(len(ok)), counts)
        within = np.arange(len(file)) - np.repeat(np.cumsum(counts) - counts, counts)
        row_group, leaf = np.divmod(within, num_leaves[file])
        nodes = [leaf for of in self.kinds for leaf in of.leaves]
        first_place = np.cumsum(leaves_of_kind) - leaves_of_kind
        rows = ChunkRows(
            row_group.astype(np.int32),
            leaf.astype(np.int32),
            (first_place[kind[file]] + leaf).astype(np.int32),
            nodes,
            LeafBounds.joined(
                [LeafBounds.of(of.leaves, of.column_orders, of.created_by) for of in self.kinds]
                or [LeafBounds.of((), (), None)]
            ),
            lambda name: np.broadcast_to(self._chunks[name], (len(file),)),
            StatisticsTable.read(
                self._statistics,
                np.broadcast_to(self._chunks["statistics_position"], (len(file),)).astype(
                    np.uint64
                ),
            ),
            self._statistics,
        )
        first_group = np.cumsum(num_groups) - num_groups
        rows_of_group = np.broadcast_to(self._row_groups["num_rows"], (int(num_groups.sum()),))
        num_rows = rows_of_group[first_group[file] + row_group].astype(np.int64)
        return file, {**rows.series(), "row_group_num_rows": pl.Series(num_rows)}
