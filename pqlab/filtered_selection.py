"""A selection of the rows that a predicate holds for: pruned by statistics, then filtered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, Unpack

import polars as pl
import pyarrow as pa

from pqlab import text
from pqlab.errors import SelectionError, placed
from pqlab.file_selection import FileSelection
from pqlab.footer import frame_columns
from pqlab.plan.columns import find_leaves
from pqlab.plan.plan import Plan
from pqlab.predicate.predicate import column_expression
from pqlab.predicate.prune import Judged, judge
from pqlab.predicate.where import Where
from pqlab.stream.iterator import Frames
from pqlab.stream.options import Engine, IterateOptions, ReadOptions


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class FilteredSelection:
    """Rows of an open file for which `where` holds; made by `ParquetFile.select(where=...)`.

    `asked`: the selection without `where`. `scanned`: what is read for it: also the columns that
    `where` looks at, and only row groups that may have such rows. `judged`: what says so, None
    where nothing was ruled out for `kept_reason`.
    """

    asked: FileSelection
    scanned: FileSelection
    where: Where
    judged: Judged | None
    kept_reason: str

    @classmethod
    def of(cls, asked: FileSelection, where: Where, *, prune: bool) -> Self:
        """Raises `SelectionError` for columns that are not there, or that do not compare so."""
        metadata, narrowed = asked.file.metadata, asked.narrowed
        leaves = set(range(metadata.num_leaves))
        if where.columns is not None:
            with placed(file=asked.file.name):
                leaves = {*narrowed.leaves, *find_leaves(where.columns, metadata)}
        judged, rows, kept_reason = None, narrowed.rows, "no statistics rule it out"
        if not prune:
            kept_reason = "prune=False"
        elif where.predicate is None:
            kept_reason = "the expression is not understood"
        elif narrowed.pages:
            kept_reason = "pages are picked"
        else:
            judged = judge(metadata, where.predicate)
            rows = {group: ranges for group, ranges in rows.items() if judged.may_hold[group]}
        scanned = replace(
            asked, narrowed=replace(narrowed, leaves=tuple(sorted(leaves)), rows=rows)
        )
        selection = cls(asked, scanned, where, judged, kept_reason)
        schema = pa.schema(scanned)
        if max(Counter(schema.names).values(), default=0) == 1:  # else reading says what is wrong
            empty = pl.from_arrow(schema.empty_table())
            assert isinstance(empty, pl.DataFrame)
            selection.filtered(empty)
        return selection

    def plan(self, *, engine: Engine = "auto", walk: bool = False) -> Plan:
        """What `read` would do, before it does: as of `FileSelection`, row groups skipped."""
        count = len(self.asked.narrowed.rows)
        skipped = count - len(self.scanned.narrowed.rows)
        words = f"{self.where} ({skipped:,} of {text.plural(count, 'row group')} skipped)"
        return replace(self.scanned.plan(engine=engine, walk=walk), where=words)

    def read(self, **options: Unpack[ReadOptions]) -> pl.DataFrame:
        """Read into a polars frame; arguments and errors as of `FileSelection.read`.

        The frame equals polars' filter of all the selected rows, whatever was skipped. Not with
        `strings="enum"`, whose values are those that are read: ValueError.
        """
        if options.get("strings") == "enum":
            raise ValueError('strings="enum" does not go with where: take "categorical"')
        return self.filtered(self.scanned.read(**options))

    def iter_row_groups(self, **options: Unpack[IterateOptions]) -> FilteredFrames:
        """A polars frame per row group that may have such rows; it may turn out to have none.

        Arguments and errors as of `FileSelection.iter_row_groups`; `SelectionError` for an
        expression that is not understood: it may look at more rows than one.
        """
        if self.where.predicate is None:
            raise SelectionError(
                "this expression may look at all rows, and row groups are filtered one by one",
                hint="Take read(), or an expression of comparisons, is_in, is_null, &, | and ~",
            )
        return FilteredFrames(self.scanned.iter_row_groups(to="polars", **options), self)

    def explain(self) -> pl.DataFrame:
        """A row per selected row group: whether it is read, and what on which bounds says so."""
        groups = list(self.asked.narrowed.rows)
        kept = [group in self.scanned.narrowed.rows for group in groups]
        why = [
            (self.kept_reason, None) if keep or self.judged is None else self.judged.why(group)
            for group, keep in zip(groups, kept, strict=True)
        ]
        series = {
            "row_group": pl.Series(groups, dtype=pl.Int32),
            "kept": pl.Series(kept, dtype=pl.Boolean),
            "reason": pl.Series([reason for reason, _ in why], dtype=pl.String),
            "bound": pl.Series([bound for _, bound in why], dtype=pl.String),
        }
        return frame_columns.build(frame_columns.EXPLAIN, series)

    @property
    def code(self) -> str:
        """Python text that builds the selection again, where the expression is understood."""
        opened = self.asked.file.source.code or "<source>"
        where = self.where if self.where.predicate is None else repr(str(self.where))
        arguments = [self.asked.selection.arguments(), f"where={where}"]
        if self.kept_reason == "prune=False":
            arguments.append("prune=False")
        return f"pqlab.open({opened}).select({', '.join(filter(None, arguments))})"

    def __repr__(self) -> str:
        narrowed = self.scanned.narrowed
        groups = text.plural(len(narrowed.rows), "row group")
        return f"<{self.code}: {text.plural(len(self.asked.narrowed.leaves), 'column')}, {groups}>"

    def filtered(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows for which `where` holds, without the columns that only it looks at."""
        try:
            frame = frame.filter(self.where.expression)
        except pl.exceptions.PolarsError as error:
            raise SelectionError(
                f"polars cannot filter by {self.where}: {error}", file=self.asked.file.name
            ) from None
        if self.scanned.narrowed.leaves == self.asked.narrowed.leaves:
            return frame
        return frame.select(
            _narrowed(column_expression((field.name,)), frame.schema[field.name], field.type).alias(
                field.name
            )
            for field in pa.schema(self.asked)
        )


class FilteredFrames(Iterator[pl.DataFrame]):
    """`Frames`, each filtered when it is asked for."""

    def __init__(self, frames: Frames[pl.DataFrame], selection: FilteredSelection) -> None:
        self._frames, self._selection = frames, selection

    @property
    def state(self) -> dict[str, Any]:
        """Where it stands, as of `Frames.state`."""
        return self._frames.state

    def close(self) -> None:
        """Stop; what was handed out stays usable."""
        self._frames.close()

    def __next__(self) -> pl.DataFrame:
        return self._selection.filtered(next(self._frames))

    def __iter__(self) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _narrowed(values: pl.Expr, dtype: Any, wanted: pa.DataType) -> pl.Expr:
    """The values without the fields that `wanted` does not have."""
    if isinstance(dtype, pl.List):
        return values.list.eval(_narrowed(pl.element(), dtype.inner, wanted.value_type))
    if isinstance(dtype, pl.Struct) and len(wanted):
        fields = {field.name: field.dtype for field in dtype.fields}
        made = pl.struct(
            _narrowed(values.struct.field(each.name), fields[each.name], each.type).alias(each.name)
            for each in wanted
        )
        return pl.when(values.is_not_null()).then(made)
    return values
