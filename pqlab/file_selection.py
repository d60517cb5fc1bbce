"""A selection bound to its file: planned, read, and written as code again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Literal,
    NamedTuple,
    TypeAlias,
    TypedDict,
    TypeVar,
    get_args,
)

from pqlab import text
from pqlab.errors import EngineError, SelectionError, placed
from pqlab.io.fetch import fetch_ahead
from pqlab.io.pages import walk_pays
from pqlab.plan.build import ChunkPages, build, partial_chunks, pick_pages, split
from pqlab.plan.plan import Plan
from pqlab.plan.ranges import length
from pqlab.plan.selection import Narrowed, Selection
from pqlab.trace import Recording, Stage, Trace
from pqlab.trace.recorder import reading, timed

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from pqlab.native._native import Decoded
    from pqlab.reader import ParquetFile

Engine: TypeAlias = Literal["auto", "cpu"]
Int96Unit: TypeAlias = Literal["ns", "us"]
InvalidUtf8: TypeAlias = Literal["error", "binary"]


class ReadOptions(TypedDict, total=False):
    """The keyword arguments of `FileSelection.read`."""

    engine: Engine
    workers: int | None
    int96_unit: Int96Unit
    invalid_utf8: InvalidUtf8
    trace: Trace | None


_ENGINES: dict[str, tuple[str, str]] = {
    "auto": ("cpu", "auto takes the CPU, the one engine there is"),
    "cpu": ("cpu", "asked for"),
}


class _Part(NamedTuple):
    decoded: Decoded
    recording: Recording | None


_Assembled = TypeVar("_Assembled")


def _assembled(
    parts: Iterable[_Part], assemble: Callable[[Decoded], _Assembled]
) -> list[_Assembled]:
    """Assemble part after part as they are decoded; recorded, each is an event."""
    made = []
    for decoded, recording in parts:
        with timed(recording, Stage.ASSEMBLE):
            made.append(assemble(decoded))
    return made


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class FileSelection:
    """A selection of an open file; made by `ParquetFile.select`."""

    file: ParquetFile
    selection: Selection
    narrowed: Narrowed

    def plan(self, *, engine: Engine = "auto", walk: bool = False) -> Plan:
        """What `read` would do, before it does.

        Page indexes are read where they bear on the plan, and what it takes to find picked pages.
        Other chunks without an index are planned as a whole and counted as unresolved; `walk`:
        their page headers are read first, where `read` would do so. Raises what `read` raises for
        the selection.
        """
        narrowed, pages = self._resolve(walk=walk)
        name, reason = _engine(engine)
        return build(
            self.file.metadata,
            narrowed,
            pages,
            self.file.io,
            file=self.file.name,
            limits=self.file.limits,
            engine=name,
            engine_reason=reason,
        )

    def read(
        self,
        *,
        engine: Engine = "auto",
        workers: int | None = None,
        int96_unit: Int96Unit = "ns",
        invalid_utf8: InvalidUtf8 = "error",
        trace: Trace | None = None,
    ) -> pl.DataFrame:
        """Read into a polars frame.

        `workers`: threads that decode; None takes as many as the process may use. `int96_unit`:
        "ns", or "us" for timestamps that nanoseconds do not reach. `invalid_utf8`: "error", or
        "binary" to have text as bytes, unchecked. `trace` records what requests and pages cost.

        Raises `CorruptError`, `UnsupportedError`, `EncryptedError`, `LimitError` or `SourceError`,
        with the place; `SelectionError` for two columns of one name; `EngineError`; ValueError for
        an option that has no such value.
        """
        import polars as pl

        from pqlab.assemble.arrow import to_frame

        self._check_names()
        parts = self._decode(
            engine=engine,
            workers=workers,
            int96_unit=int96_unit,
            invalid_utf8=invalid_utf8,
            trace=trace,
            for_polars=True,
        )
        frames = _assembled(parts, to_frame)
        return frames[0] if len(frames) == 1 else pl.concat(frames, rechunk=False)

    def to_arrow(
        self,
        *,
        engine: Engine = "auto",
        workers: int | None = None,
        int96_unit: Int96Unit = "ns",
        invalid_utf8: InvalidUtf8 = "error",
        trace: Trace | None = None,
    ) -> pa.Table:
        """Read into a pyarrow table; arguments and errors as of `read`."""
        import pyarrow as pa

        from pqlab.assemble.arrow import to_table

        parts = self._decode(
            engine=engine,
            workers=workers,
            int96_unit=int96_unit,
            invalid_utf8=invalid_utf8,
            trace=trace,
        )
        with placed(file=self.file.name):
            tables = _assembled(parts, to_table)
        return tables[0] if len(tables) == 1 else pa.concat_tables(tables)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of Arrow batches (the Arrow PyCapsule interface).

        A batch is read when it is asked for. `requested_schema`: a capsule; what can be cast is.
        """
        import pyarrow as pa

        batches = (pa.record_batch(part.decoded) for part in self._decode(engine="auto"))
        reader = pa.RecordBatchReader.from_batches(self._arrow_schema, batches)
        return reader.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema of `to_arrow()`, from the footer alone."""
        return self._arrow_schema.__arrow_c_schema__()

    @property
    def _arrow_schema(self) -> pa.Schema:
        from pqlab.cpu.columns import columns_of

        with placed(file=self.file.name):
            return columns_of(self.file.metadata, self.narrowed.leaves).schema

    @property
    def code(self) -> str:
        """Python text that builds the selection again."""
        opened = self.file.source.code or "<source>"
        return f"pqlab.open({opened}).select({self.selection.arguments()})"

    def __repr__(self) -> str:
        rows = sum(length(ranges) for ranges in self.narrowed.rows.values())
        of_pages = " before pages are picked" if self.narrowed.pages else ""
        shape = f"{text.plural(len(self.narrowed.leaves), 'column')}, {text.plural(rows, 'row')}"
        return f"<{self.code}: {shape}{of_pages}>"

    def _decode(
        self,
        *,
        engine: Engine,
        trace: Trace | None = None,
        workers: int | None = None,
        int96_unit: Int96Unit = "ns",
        invalid_utf8: InvalidUtf8 = "error",
        for_polars: bool = False,
    ) -> Iterator[_Part]:
        from pqlab.cpu import engine as cpu

        _check_options(trace, workers, int96_unit, invalid_utf8)
        file = self.file
        names = (leaf.column for leaf in file.metadata.leaves)
        with reading(trace, file.name, names) as recording:
            with timed(recording, Stage.PLAN):
                plan = self.plan(engine=engine, walk=True)
                parts = split(plan, file.io)
            size, what = plan.memory_high_bytes, "what is decoded"
            file.limits.check("read_bytes", size, what, file=file.name)
            for part, fetched in fetch_ahead(file.source, parts, file.io, recording):
                decoded = cpu.read(
                    part,
                    file.metadata,
                    fetched,
                    verify_checksums=file.verify_checksums,
                    limits=file.limits,
                    recorder=recording.add if recording is not None else None,
                    workers=workers,
                    int96_unit=int96_unit,
                    invalid_utf8=invalid_utf8,
                    for_polars=for_polars,
                )
                yield _Part(decoded, recording)

    def _check_names(self) -> None:
        """Raise `SelectionError` if two root columns of one name are to go into a frame."""
        metadata = self.file.metadata
        # The element of a root column stands at or before its leaves'; the next one's behind them.
        starts = [root.element for root in metadata.schema.children]
        roots: dict[str, tuple[int, int]] = {}
        for leaf in self.narrowed.leaves:
            node = metadata.leaves[leaf]
            root = bisect_right(starts, node.element)
            first, first_root = roots.setdefault(node.path[0], (leaf, root))
            if first_root != root:
                raise SelectionError(
                    f"a frame cannot have two columns {node.path[0]!r}: they are leaf "
                    f"columns {first} and {leaf}",
                    hint="Select one of them by its ordinal, or read with to_arrow()",
                    file=self.file.name,
                )

    def _resolve(self, *, walk: bool) -> tuple[Narrowed, ChunkPages]:
        """Read what is needed to know the pages; with it, picked pages become rows."""
        file, narrowed = self.file, self.narrowed
        store, metadata = file.page_store, file.metadata
        if narrowed.pages:
            picked = list(narrowed.pages)
            store.table(picked, bounds=False)
            with placed(file=file.name):
                narrowed = pick_pages(metadata, narrowed, store.known(picked))
        partial = partial_chunks(metadata, narrowed)
        store.load_indexes(partial, bounds=False)
        if walk:
            for key in partial:
                if walk_pays(metadata, key, narrowed.rows[key[0]], file.io):
                    store.walk_until(key, narrowed.rows[key[0]][-1][1])
        return narrowed, store.known(partial)


def _engine(asked_for: str) -> tuple[str, str]:
    """The engine's name, and why it is that one."""
    if asked_for not in _ENGINES:
        raise EngineError(
            f"there is no engine {asked_for!r}", hint=f"Take one of {', '.join(_ENGINES)}"
        )
    return _ENGINES[asked_for]


def _check_options(trace: object, workers: int | None, int96_unit: str, invalid_utf8: str) -> None:
    if trace is not None and not isinstance(trace, Trace):
        raise TypeError(f"trace is None or a pqlab.Trace to record into, not {trace!r}")
    if workers is not None and workers < 1:
        raise ValueError(f"workers is None or a number of threads, not {workers!r}")
    for name, value, known in (
        ("int96_unit", int96_unit, get_args(Int96Unit)),
        ("invalid_utf8", invalid_utf8, get_args(InvalidUtf8)),
    ):
        if value not in known:
            raise ValueError(f"{name} is one of {', '.join(known)}, not {value!r}")
