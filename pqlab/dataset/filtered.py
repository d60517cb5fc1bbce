"""The rows of a dataset that a predicate holds for: each file pruned and read late by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, overload

import polars as pl

from pqlab import text
from pqlab.dataset.parallel import each
from pqlab.dataset.selection import DatasetSelection, leaves_of, progress_bar
from pqlab.filtered.frames import FilteredFrames
from pqlab.filtered.selection import FilteredSelection, mask_of, narrowed, refuse_enum, refuse_other
from pqlab.predicate.where import Where
from pqlab.stream.options import DecodeOptions, Engine, IterateOptions, ReadOptions, To

if TYPE_CHECKING:
    import pyarrow as pa

    from pqlab.filtered.explain import Explanation
    from pqlab.plan.plan import Plan
    from pqlab.stream.job import Job

Part = tuple[int, FilteredSelection]  # the position of a file, what is picked of it


@dataclass(frozen=True, repr=False, eq=False)
class FilteredDatasetSelection:
    """Rows of a dataset for which `where` holds; made by `Dataset.select(where=...)`.

    `asked`: the selection without `where`; `looking`: with the columns that `where` looks at, too.
    """

    asked: DatasetSelection
    looking: DatasetSelection
    where: Where
    prune: bool

    @classmethod
    def of(cls, asked: DatasetSelection, where: Where, *, prune: bool) -> Self:
        """Raises `SelectionError` for columns that are not there, or that do not compare so."""
        paths, keys = asked.dataset.pick(None if where.columns is None else tuple(where.columns))
        wanted = {*asked.paths, *paths}
        in_order = [leaf.path for leaf in asked.dataset.merged.leaves if leaf.path in wanted]
        wanted_keys = {*asked.keys, *keys}
        looking = replace(
            asked,
            parts=tuple(
                (number, selection.file.select(leaves_of(selection.file, in_order)))
                for number, selection in asked.parts
            ),
            paths=tuple(in_order),
            keys=tuple(key for key in asked.dataset.partitions.columns[1:] if key in wanted_keys),
        )
        made = cls(asked, looking, where, prune)
        mask_of(where, looking.empty({}), file=None)
        return made

    @cached_property
    def parts(self) -> list[Part]:
        """What is picked of each file."""
        empty = self.looking.empty({})
        return [
            (
                number,
                FilteredSelection(
                    selection,
                    self.where,
                    looking.narrowed.leaves,
                    self.prune,
                    self._constants(number, looking.file.metadata.leaves, empty),
                ),
            )
            for (number, selection), (_, looking) in zip(
                self.asked.parts, self.looking.parts, strict=True
            )
        ]

    def _constants(self, number: int, leaves: Any, empty: pl.DataFrame) -> Mapping[str, pl.Series]:
        """The columns that are not in a file: keys of hive folders, or null."""
        own = {leaf.path[0] for leaf in leaves}
        keys = self.looking.keys
        partitions = self.asked.dataset.partitions
        found = {key: partitions[key].slice(number, 1) for key in keys}
        for column in empty:
            if column.name not in own and column.name not in (*keys, *self.asked.extras):
                found[column.name] = column.clear(1)
        return found

    def plan(self, *, engine: Engine = "auto", walk: bool = False) -> list[Plan]:
        """What `read` would do: a plan per file, as of `FilteredSelection.plan`."""
        concurrency = self.asked.dataset.io.concurrency
        return each(concurrency, lambda part: part[1].plan(engine=engine, walk=walk), self.parts)

    def explain(self) -> list[Explanation]:
        """Which row groups and pages of each file are read, as of `FilteredSelection.explain`."""
        concurrency = self.asked.dataset.io.concurrency
        return each(concurrency, lambda part: part[1].explain(), self.parts)

    def read(self, **options: Unpack[ReadOptions]) -> pl.DataFrame:
        """Read into one polars frame, several files at once; as of `FilteredSelection.read`."""
        from pqlab.assemble.arrow import joined

        refuse_enum(options.get("strings"))
        if self.where.predicate is None:  # it may look at the rows of all files
            return self._filtered(self._scanned.read(**options))
        empty = self.asked.empty(options)
        add = self.asked.bounded(options.get("memory_limit"))
        bar = progress_bar(len(self.parts), shown=options.pop("progress", False))

        def read_part(part: Part) -> pl.DataFrame:
            frame = add(self._read_part(part, empty, options))
            bar.update()
            return frame

        with bar:
            frames = each(self.asked.dataset.io.concurrency, read_part, self.parts)
        return joined([empty, *frames])

    def _read_part(self, part: Part, empty: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
        number, selection = part
        found = selection.late.read(options, with_rows="row_index" in self.asked.extras)
        return self.asked.conform(
            number,
            selection.asked.file,
            found.frame,
            height=found.height,
            index=found.rows,
            empty=empty,
        )

    def to_arrow(self, **options: Unpack[DecodeOptions]) -> pa.Table:
        """Read into a pyarrow table; arguments and errors as of `read`."""
        return self.read(**options).to_arrow(compat_level=pl.CompatLevel.newest())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of Arrow batches (the Arrow PyCapsule interface)."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def submit(self, **options: Unpack[DecodeOptions]) -> Job[pl.DataFrame]:
        """Begin to read into a polars frame, and go on: `.result()`, `.progress`, `.cancel()`."""
        refuse_enum(options.get("strings"))
        return self._scanned.submit(**options).then(self._filtered)

    @overload
    def iter_row_groups(
        self, *, to: Literal["polars"] = "polars", **options: Unpack[IterateOptions]
    ) -> FilteredFrames[pl.DataFrame]: ...
    @overload
    def iter_row_groups(
        self, *, to: Literal["arrow"], **options: Unpack[IterateOptions]
    ) -> FilteredFrames[pa.Table]: ...
    def iter_row_groups(
        self, *, to: To = "polars", **options: Unpack[IterateOptions]
    ) -> FilteredFrames[Any]:
        """A frame per row group that may have such rows; as of `FilteredSelection`."""
        refuse_other(self.where)
        frames = self._scanned.iter_row_groups(to="polars", **options)
        return FilteredFrames(frames, self._filtered, to)

    @overload
    def iter_batches(
        self, rows: int, *, to: Literal["polars"] = "polars", **options: Unpack[IterateOptions]
    ) -> FilteredFrames[pl.DataFrame]: ...
    @overload
    def iter_batches(
        self, rows: int, *, to: Literal["arrow"], **options: Unpack[IterateOptions]
    ) -> FilteredFrames[pa.Table]: ...
    def iter_batches(
        self, rows: int, *, to: To = "polars", **options: Unpack[IterateOptions]
    ) -> FilteredFrames[Any]:
        """Frames of so many rows before they are filtered; as of `FilteredSelection`."""
        refuse_other(self.where)
        frames = self._scanned.iter_batches(rows, to="polars", **options)
        return FilteredFrames(frames, self._filtered, to)

    @property
    def _scanned(self) -> DatasetSelection:
        """What is read, if all is read at once; files of which nothing is left are not."""
        parts = [(number, part.scanned) for number, part in self.parts if part.rows]
        return replace(self.looking, parts=tuple(parts))

    def _filtered(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows for which `where` holds, with the columns that were asked for."""
        found = frame.filter(mask_of(self.where, frame, file=None))
        if self.looking.paths == self.asked.paths and self.looking.keys == self.asked.keys:
            return found
        return narrowed(found, self.asked.empty({}).schema)

    @property
    def code(self) -> str:
        """Python text that builds the selection again, where the expression is understood."""
        where = "<expression>" if self.where.text is None else repr(self.where.text)
        comma = "" if self.asked.code.endswith("(") or self.asked.code.endswith("()") else ", "
        prune = "" if self.prune else ", prune=False"
        return f"{self.asked.code[:-1]}{comma}where={where}{prune})"

    def __repr__(self) -> str:
        return f"<{self.code}: of {text.plural(len(self.asked.parts), 'file')}>"
