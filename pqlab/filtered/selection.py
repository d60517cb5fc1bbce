"""A selection of the rows that a predicate holds for: pruned, read late, then filtered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, overload

import polars as pl
import pyarrow as pa

from pqlab import text
from pqlab.errors import SelectionError, placed
from pqlab.file_selection import FileSelection
from pqlab.filtered.explain import Explanation, explain
from pqlab.filtered.frames import FilteredFrames
from pqlab.filtered.late import LateRead, late_read
from pqlab.filtered.prune import Pruned, prune_file
from pqlab.footer.types import polars_type
from pqlab.plan.columns import find_leaves
from pqlab.plan.plan import Plan
from pqlab.plan.ranges import Ranges, length
from pqlab.plan.selection import Narrowed
from pqlab.predicate.predicate import column_expression
from pqlab.predicate.where import Where
from pqlab.stream.options import DecodeOptions, Engine, IterateOptions, ReadOptions, To

if TYPE_CHECKING:
    from pqlab.stream.job import Job


# A dictionary is looked into if it is at most that share of what is read of its row group.
_DICTIONARY_SHARE = 1 / 8


@dataclass(frozen=True, repr=False, eq=False)
class FilteredSelection:
    """Rows of an open file for which `where` holds; made by `ParquetFile.select(where=...)`.

    `asked`: the selection without `where`. `leaves`: what is read for it, also what `where` looks
    at. `constants`: columns that the file does not have, by name, each a series of one value.
    """

    asked: FileSelection
    where: Where
    leaves: tuple[int, ...]
    prune: bool = True
    constants: Mapping[str, pl.Series] = field(default_factory=dict)
    dictionary_share: float = _DICTIONARY_SHARE

    @classmethod
    def of(
        cls,
        asked: FileSelection,
        where: Where,
        *,
        prune: bool = True,
        constants: Mapping[str, pl.Series] | None = None,
    ) -> Self:
        """Raises `SelectionError` for columns that are not there, or that do not compare so."""
        metadata, constants = asked.file.metadata, constants or {}
        leaves = set(range(metadata.num_leaves))
        if where.columns is not None:
            own = [path for path in where.columns if path[0] not in constants]
            with placed(file=asked.file.name):
                leaves = {*asked.narrowed.leaves, *find_leaves(own, metadata)}
        made = cls(asked, where, tuple(sorted(leaves)), bool(prune), constants)
        made.mask(made._empty())
        return made

    @cached_property
    def asked_rows(self) -> dict[int, Ranges]:
        """The rows among which `where` picks. Picked pages are looked for."""
        return self.asked.rows()

    @cached_property
    def pruned(self) -> Pruned | None:
        """What is ruled out, and why; None: nothing may be. Indexes are read that it takes."""
        if not self.prune or self.where.predicate is None:
            return None
        return prune_file(
            self.asked.file,
            self.where.predicate,
            self.asked_rows,
            self.leaves,
            constants=self.constants,
            dictionary_share=self.dictionary_share,
        )

    @property
    def rows(self) -> dict[int, Ranges]:
        """The rows that are left to be filtered."""
        return self.asked_rows if self.pruned is None else self.pruned.rows

    @property
    def scanned(self) -> FileSelection:
        """What is read, if all is read at once."""
        return self.picked(self.leaves, self.rows)

    def picked(self, leaves: tuple[int, ...], rows: dict[int, Ranges]) -> FileSelection:
        """These leaves of these rows."""
        return replace(self.asked, narrowed=Narrowed(leaves, rows, {}, frozenset()))

    @property
    def kept_reason(self) -> str:
        """Why rows are kept."""
        if not self.prune:
            return "prune=False"
        if self.where.predicate is None:
            return "the expression is not understood"
        return "nothing rules it out"

    def plan(self, *, engine: Engine = "auto", walk: bool = False) -> Plan:
        """What `read` would do, before it does: as of `FileSelection`, what is ruled out left out.

        Where columns are read late, it is at most that.
        """
        groups, kept = self.asked_rows, self.rows
        skipped = len(groups) - len(kept)
        asked, left = (sum(map(length, rows.values())) for rows in (groups, kept))
        of_groups, of_rows = text.plural(len(groups), "row group"), text.plural(asked, "row")
        words = f"{skipped:,} of {of_groups} and {asked - left:,} of {of_rows} skipped"
        where = f"{self.where} ({words})"
        plan = self.scanned.plan(engine=engine, walk=walk)
        warnings = () if self.pruned is None else self.pruned.warnings
        warnings = (*plan.warnings, *warnings)
        return replace(plan, where=where, late=self.late.words, warnings=warnings)

    @property
    def late(self) -> LateRead:
        """Which columns are read first."""
        return late_read(self)

    def read(self, **options: Unpack[ReadOptions]) -> pl.DataFrame:
        """Read into a polars frame; arguments and errors as of `FileSelection.read`.

        The frame equals polars' filter of all the selected rows, whatever was skipped. Not with
        `strings="enum"`, whose values are those that are read: ValueError.
        """
        refuse_enum(options.get("strings"))
        return self.late.read(options).frame

    def to_arrow(self, **options: Unpack[DecodeOptions]) -> pa.Table:
        """Read into a pyarrow table; arguments and errors as of `read`."""
        table: pa.Table = self.read(**options).to_arrow(compat_level=pl.CompatLevel.newest())
        is_text = options.get("strings", "string") == "string"
        return table.cast(pa.schema(self.asked)) if is_text and not self.constants else table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of Arrow batches (the Arrow PyCapsule interface)."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema of `to_arrow()`, from the footer alone."""
        return self.asked.__arrow_c_schema__()

    def submit(self, **options: Unpack[DecodeOptions]) -> Job[pl.DataFrame]:
        """Begin to read into a polars frame, and go on: `.result()`, `.progress`, `.cancel()`.

        Arguments and errors as of `read`. All columns are read of the rows that are not ruled out.
        """
        refuse_enum(options.get("strings"))
        return self.scanned.submit(**options).then(self.filtered)

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
        """A frame per row group that may have such rows; it may turn out to have none.

        Arguments and errors as of `FileSelection.iter_row_groups`; `SelectionError` for an
        expression that is not understood: it may look at more rows than one.
        """
        refuse_other(self.where)
        return FilteredFrames(
            self.scanned.iter_row_groups(to="polars", **options), self.filtered, to
        )

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
        """Frames of so many rows before they are filtered, and of those that are left after it."""
        refuse_other(self.where)
        frames = self.scanned.iter_batches(rows, to="polars", **options)
        return FilteredFrames(frames, self.filtered, to)

    def explain(self) -> Explanation:
        """Which row groups and pages are read, and which step rules the others out, on what bound.

        Indexes are read that this takes. Shown as a tree; `.frame` has a row for each.
        """
        return explain(self)

    @property
    def code(self) -> str:
        """Python text that builds the selection again, where the expression is understood."""
        opened = self.asked.file.source.code or "<source>"
        where = "<expression>" if self.where.text is None else repr(self.where.text)
        arguments = [self.asked.selection.arguments(), f"where={where}"]
        if not self.prune:
            arguments.append("prune=False")
        return f"pqlab.open({opened}).select({', '.join(filter(None, arguments))})"

    def __repr__(self) -> str:
        columns = text.plural(len(self.asked.narrowed.leaves), "column")
        return f"<{self.code}: {columns} of the rows of {self._groups}>"

    @property
    def _groups(self) -> str:
        return text.plural(len(self.asked.narrowed.rows), "row group")

    def mask(self, frame: pl.DataFrame, *, height: int | None = None) -> pl.Series:
        """Of each row whether `where` holds. `height`: of a frame that may have no columns."""
        rows = frame.height if height is None else height
        own = [column for column in frame if column.name not in self.constants]
        constants = [series.new_from_index(0, rows) for series in self.constants.values()]
        return mask_of(self.where, pl.DataFrame([*own, *constants]), file=self.asked.file.name)

    def filtered(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows for which `where` holds, without the columns that only it looks at."""
        return self.narrowed(frame.filter(self.mask(frame)))

    def narrowed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame without the columns, and their fields, that only `where` looks at."""
        wanted = self.asked.narrowed.leaves
        if self.leaves == wanted:
            return frame
        roots = self.picked(wanted, {}).roots()
        if set(roots) <= set(self.picked(self.leaves, {}).roots()):  # none has fields too many
            leaves = self.asked.file.metadata.leaves
            return frame.select(column_expression(leaves[root[0]].path[:1]) for root in roots)
        return narrowed(frame, self.picked(wanted, {}).read().schema)

    def _empty(self) -> pl.DataFrame:
        """A frame without rows of all columns that are read."""
        leaves = [self.asked.file.metadata.leaves[leaf] for leaf in self.leaves]
        if self.where.columns is not None:
            leaves = [leaf for leaf in leaves if leaf.path in self.where.columns]
            is_flat = [len(leaf.path) == 1 and not leaf.max_repetition_level for leaf in leaves]
            if len(leaves) == len(self.where.columns) and all(is_flat):
                return pl.DataFrame(schema={leaf.path[0]: polars_type(leaf) for leaf in leaves})
        return self.picked(self.leaves, {}).read()


def mask_of(where: Where, frame: pl.DataFrame, *, file: str | None) -> pl.Series:
    """Of each row of the frame whether `where` holds. Raises `SelectionError` if it cannot."""
    try:
        found = frame.select(where.expression.alias("mask")).to_series()
    except pl.exceptions.PolarsError as error:
        raise SelectionError(f"polars cannot filter by {where}: {error}", file=file) from None
    if found.dtype != pl.Boolean:
        raise SelectionError(f"where is a condition, and {where} is {found.dtype}", file=file)
    found = found if len(found) == frame.height else found.new_from_index(0, frame.height)
    return found.fill_null(value=False) if found.null_count() else found


def narrowed(frame: pl.DataFrame, wanted: pl.Schema) -> pl.DataFrame:
    """The frame without columns, and without fields of them, that `wanted` does not have."""
    return frame.select(
        _narrowed(column_expression((name,)), frame.schema[name], dtype).alias(name)
        for name, dtype in wanted.items()
    )


def refuse_other(where: Where) -> None:
    """Raise `SelectionError` for what cannot be applied to one frame after the other."""
    if where.predicate is None:
        raise SelectionError(
            "this expression may look at all rows, and frames are filtered one by one",
            hint="Take read(), or an expression of comparisons, is_in, is_null, &, | and ~",
        )


def refuse_enum(strings: str | None) -> None:
    """Raise ValueError for types that are made of the values that are read."""
    if strings == "enum":
        raise ValueError('strings="enum" does not go with where: take "categorical"')


def _narrowed(values: pl.Expr, dtype: Any, wanted: Any) -> pl.Expr:
    """The values without the fields that `wanted` does not have."""
    if isinstance(dtype, pl.List):
        return values.list.eval(_narrowed(pl.element(), dtype.inner, wanted.inner))
    if isinstance(dtype, pl.Struct) and wanted.fields:
        fields = {each.name: each.dtype for each in dtype.fields}
        made = pl.struct(
            _narrowed(values.struct.field(each.name), fields[each.name], each.dtype).alias(
                each.name
            )
            for each in wanted.fields
        )
        return pl.when(values.is_not_null()).then(made)
    return values
