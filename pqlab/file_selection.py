"""A selection bound to its file: planned, read, and written as code again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, Unpack, get_args, overload

from pqlab import text
from pqlab.errors import LimitError, SelectionError, placed
from pqlab.io.fetch import fetch_ahead
from pqlab.io.pages import learn_pages
from pqlab.plan.build import (
    ChunkPages,
    build,
    part as cut_plan,
    pick_pages,
    split,
    unknown_rows,
)
from pqlab.plan.parts import parts_of
from pqlab.plan.plan import Plan
from pqlab.plan.ranges import Ranges, length
from pqlab.plan.selection import Narrowed, Selection
from pqlab.stream.options import (
    Decode,
    DecodeOptions,
    Engine,
    Int96Unit,
    InvalidUtf8,
    IterateOptions,
    Strings,
    To,
    ToDevice,
    engine_of,
    parted,
    refuse_enum,
)
from pqlab.trace import Recording, Stage, Trace
from pqlab.trace.recorder import active_trace, first_read, reading, timed

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from pqlab.cpu.engine import Team
    from pqlab.gpu.frame import DeviceFrame
    from pqlab.reader import ParquetFile
    from pqlab.stream.iterator import Frames
    from pqlab.stream.job import Job
    from pqlab.stream.units import FileParts


class _Part(NamedTuple):
    decoded: list[Any]  # Decoded, or frames on a device; of the same rows, columns side by side
    recording: Recording | None


_Assembled = TypeVar("_Assembled")


def _assembled(
    parts: Iterable[_Part], assemble: Callable[[Sequence[Any]], _Assembled]
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
        return self._plan(*self._resolve(walk=walk), engine)

    def _plan(self, narrowed: Narrowed, pages: ChunkPages, engine: Engine) -> Plan:
        name, reason = engine_of(engine)
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
        strings: Strings = "string",
        trace: Trace | None = None,
        device: int = 0,
        device_memory_limit: int | None = None,
        memory_limit: int | None = None,
        progress: bool = False,
    ) -> pl.DataFrame:
        """Read into a polars frame.

        `engine`: "cpu"; "gpu", by CuPy; "emulated", the GPU's kernels on the CPU, slowly; "auto".
        `workers`: threads that decode; None takes as many as the process may use. `int96_unit`:
        "ns", or "us" for timestamps that nanoseconds do not reach. `invalid_utf8`: "error", or
        "binary" to have text as bytes, unchecked. `strings`: "string"; or "categorical", or "enum"
        of the distinct values that are read, sorted. `trace` records what requests and pages cost.
        `device`: which GPU, by its ordinal; `device_memory_limit`: bytes of its memory for a part
        that is read, what needs more is split by rows. `memory_limit`: bytes; what decodes to more
        is a `LimitError`, before it is read where the footer tells, else before memory is taken for
        it. `progress` shows a bar.

        Raises `CorruptError`, `UnsupportedError`, `EncryptedError`, `LimitError` or `SourceError`,
        with the place; `SelectionError` for two columns of one name; `EngineError`; ValueError for
        an option that has no such value.
        """
        from pqlab.assemble.arrow import joined, to_frame

        options: DecodeOptions = {
            "engine": engine,
            "workers": workers,
            "int96_unit": int96_unit,
            "invalid_utf8": invalid_utf8,
            "strings": strings,
            "trace": trace,
            "device": device,
            "device_memory_limit": device_memory_limit,
        }
        if memory_limit is not None:
            self._check_memory(memory_limit)
        if progress:
            return self.submit(**options).result(progress=True)
        self._check_names()
        parts = self._decode(Decode(**options), for_polars=True, memory_limit=memory_limit)
        return joined(_assembled(self._within(memory_limit, parts), to_frame))

    def to_arrow(self, **options: Unpack[DecodeOptions]) -> pa.Table:
        """Read into a pyarrow table; arguments and errors as of `read`."""
        import pyarrow as pa

        from pqlab.assemble.arrow import to_table

        parts = self._decode(Decode(**options))
        with placed(file=self.file.name):
            tables = _assembled(parts, to_table)
        return tables[0] if len(tables) == 1 else pa.concat_tables(tables)

    def to_cupy(self, **options: Unpack[DecodeOptions]) -> DeviceFrame:
        """Read into a frame that stays on the GPU, as CuPy arrays and an Arrow device array.

        `engine="emulated"`: into host memory, as numpy arrays. `device`: the GPU's ordinal. Other
        arguments and errors as of `read`; `EngineError` where there is no GPU; `LimitError` for
        text or lists beyond offsets of 32 bits.
        """
        from pqlab.gpu.joining import beside, join

        self._check_names()
        parts = self._decode(Decode(**options, stays=True))
        return join(_assembled(parts, beside))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of Arrow batches (the Arrow PyCapsule interface).

        A batch is read when it is asked for. `requested_schema`: a capsule; what can be cast is.
        """
        import pyarrow as pa

        from pqlab.assemble.arrow import beside

        parts = self._decode(Decode())
        batches = (beside([pa.record_batch(d) for d in part.decoded]) for part in parts)
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

    def submit(self, **options: Unpack[DecodeOptions]) -> Job[pl.DataFrame]:
        """Begin to read into a polars frame, and go on: `.result()`, `.progress`, `.cancel()`.

        Arguments as of `read`; raises at once what planning finds wrong.
        """
        from pqlab.cpu.engine import Team
        from pqlab.stream.forms import joined_frames
        from pqlab.stream.job import Job
        from pqlab.stream.units import begin_all

        decode = Decode(**options)
        self._check_names()
        opener = file_opener(decode)
        plan = self.plan(engine=decode.engine, walk=True)
        size, what = plan.memory_high_bytes, "what is decoded"
        self.file.limits.check("read_bytes", size, what, file=self.file.name)
        opened = opener(self.file, [plan.leaves], Team.of(decode.workers))
        units, executor = begin_all(opened, split(plan, self.file.io))
        return Job(opened, units, joined_frames, plan.wanted_bytes, executor)

    @overload
    def iter_row_groups(
        self, *, to: Literal["polars"] = "polars", **options: Unpack[IterateOptions]
    ) -> Frames[pl.DataFrame]: ...
    @overload
    def iter_row_groups(
        self, *, to: Literal["arrow"], **options: Unpack[IterateOptions]
    ) -> Frames[pa.Table]: ...
    @overload
    def iter_row_groups(
        self, *, to: ToDevice, **options: Unpack[IterateOptions]
    ) -> Frames[DeviceFrame]: ...
    def iter_row_groups(
        self, *, to: To | ToDevice = "polars", **options: Unpack[IterateOptions]
    ) -> Frames[Any]:
        """A frame per row group that has selected rows, read while the caller works on others.

        `to`: "polars", or "arrow" for pyarrow tables; or "cupy", "dlpack" or "arrow_device" for
        frames that stay on the GPU (`to_cupy`), of which "dlpack" takes columns of numbers without
        nulls only; with them, `device_memory_limit` is for all frames that are in flight or ready
        there, half of what is free if None. `prefetch`: how many row groups are read
        ahead; "adaptive" has each column as far ahead as the caller needs it. `memory_limit`: bytes
        for all that is in flight or ready, a quarter of what is free if None; a row group larger
        than that is still handed out whole. `shard=(rank, world)`: of `world` processes this one
        takes every `world`-th row group. `shuffle`: a seed for another order of row groups.
        `state`: what the iteration's `.state` gave, to go on from there. The others as of `read`.

        Raises as `read`: frames before the error are handed out, and the iteration is closed.
        """
        return self._iterate(None, to, **options)

    @overload
    def iter_batches(
        self, rows: int, *, to: Literal["polars"] = "polars", **options: Unpack[IterateOptions]
    ) -> Frames[pl.DataFrame]: ...
    @overload
    def iter_batches(
        self, rows: int, *, to: Literal["arrow"], **options: Unpack[IterateOptions]
    ) -> Frames[pa.Table]: ...
    @overload
    def iter_batches(
        self, rows: int, *, to: ToDevice, **options: Unpack[IterateOptions]
    ) -> Frames[DeviceFrame]: ...
    def iter_batches(
        self, rows: int, *, to: To | ToDevice = "polars", **options: Unpack[IterateOptions]
    ) -> Frames[Any]:
        """Frames of so many rows; the last one has what is left. As `iter_row_groups` else.

        Row groups that `memory_limit` does not allow for are read in parts, where pages can be told
        apart: not in columns of lists whose pages are of version 1 and without an index.
        """
        return self._iterate(rows, to, **options)

    def _iterate(
        self, rows: int | None, to: To | ToDevice, **options: Unpack[IterateOptions]
    ) -> Frames[Any]:
        from pqlab.stream.forms import form
        from pqlab.stream.stream import Picked, stream

        made = form(to)
        decode, ahead = parted(options, stays=to in get_args(ToDevice))
        refuse_enum(decode.strings)
        if to != "arrow":
            self._check_names()
        begin = file_opener(decode, for_polars=to == "polars")
        return stream(
            [Picked(self.file, self.rows(), self.roots())],
            lambda _, lanes, team: begin(self.file, lanes, team),
            made,
            rows=rows,
            workers=decode.workers,
            policy=self.file.io,
            **ahead,
        )

    def known_pages(self) -> ChunkPages:
        """The pages of chunks of which only some rows are read, as far as indexes tell them."""
        return self._resolve(walk=False)[1]

    def rows(self) -> dict[int, Ranges]:
        """What is read, by row group: half-open ranges within it. Looks for picked pages."""
        return self._pick_pages().rows

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
        self, options: Decode, *, for_polars: bool = False, memory_limit: int | None = None
    ) -> Iterator[_Part]:
        from pqlab.cpu.engine import Team
        from pqlab.stream.units import file_parts

        file = self.file
        names = (leaf.column for leaf in file.metadata.leaves)
        with reading(options.trace, file.name, names) as recording:
            with timed(recording, Stage.PLAN):
                narrowed, pages = self._resolve(walk=True)
                plan = self._plan(narrowed, pages, options.engine)
            size, what = plan.memory_high_bytes, "what is decoded"
            file.limits.check("read_bytes", size, what, file=file.name)
            opened = file_parts(
                file,
                [plan.leaves],
                Team.of(options.workers),
                recording,
                options,
                device=options.runs_on,
                for_polars=for_polars,
                memory_limit=memory_limit,
            )
            if opened.is_local:
                for decoded in opened.in_order(split(plan, file.io)):
                    yield _Part([decoded], recording)
                return
            with timed(recording, Stage.PLAN):
                requests, parts = self._parts(plan, narrowed, pages)
            all_parts = [part for beside in parts for part in beside]
            fetched = fetch_ahead(file.source, requests, all_parts, file.io, recording)
            for beside in parts:
                yield _Part(
                    [
                        opened.begin_plan(part, its_bytes, here=True).result()
                        for part, its_bytes in islice(fetched, len(beside))
                    ],
                    recording,
                )

    def _parts(
        self, plan: Plan, narrowed: Narrowed, pages: ChunkPages
    ) -> tuple[Ranges, list[list[Plan]]]:
        """The requests of a plan, and the parts in which it is decoded as their bytes come.

        The parts of a list are of the same rows, columns side by side.
        """
        file, policy = self.file, self.file.io
        windows = split(plan, policy)
        requests = tuple(sorted(ends for window in windows for ends in window.requests))
        if plan.wanted_bytes <= min(policy.part_bytes, policy.window_bytes):
            return requests, [[plan]]
        parts, first = [], 0
        for beside in parts_of(file.metadata, narrowed, self.roots(), policy):
            stop = first + len(beside[0].rows)
            if len(beside) == 1:  # all columns: a cut is made sooner than a plan
                parts.append([cut_plan(plan, first, stop, policy)])
            else:
                parts.append(
                    [build(file.metadata, each, pages, policy, file=file.name) for each in beside]
                )
            first = stop
        return requests, parts

    def _check_memory(self, limit: int) -> None:
        least = self.plan().memory_low_bytes
        if least > limit:
            raise self._above(limit, f"what is read decodes to {least:,} bytes or more")

    def _within(self, limit: int | None, parts: Iterator[_Part]) -> Iterator[_Part]:
        """The parts; `LimitError` where one of them, or all so far, take more than `limit`."""
        held = 0
        while limit is not None:
            try:
                part = next(parts, None)
            except LimitError as error:
                if not any(f"{name} = " in error.message for name in ("read_bytes", "page_bytes")):
                    raise
                what = "a page, or all that is read of a part, decodes to more bytes"
                raise self._above(limit, what).at(**error.place) from error
            if part is None:
                return
            held += sum(decoded.nbytes for decoded in part.decoded)
            if held > limit:
                raise self._above(limit, f"what was read so far takes {held:,} bytes")
            yield part
        yield from parts

    def _above(self, limit: int, what: str) -> LimitError:
        return LimitError(
            f"{what}, above memory_limit = {limit:,}",
            hint="Read it in parts, by iter_row_groups() or iter_batches()",
            file=self.file.name,
        )

    def _check_names(self) -> None:
        """Raise `SelectionError` if two root columns of one name are to go into a frame."""
        self.file.metadata.kept(("unique names", self.narrowed.leaves), self._compare_names)

    def _compare_names(self) -> bool:
        metadata = self.file.metadata
        found: dict[str, int] = {}
        for leaf, *_ in self.roots():
            first = found.setdefault(metadata.leaves[leaf].path[0], leaf)
            if first != leaf:
                raise SelectionError(
                    f"a frame cannot have two columns {metadata.leaves[leaf].path[0]!r}: they are "
                    f"leaf columns {first} and {leaf}",
                    hint="Select one of them by its ordinal, or read with to_arrow()",
                    file=self.file.name,
                )
        return True

    def roots(self) -> list[tuple[int, ...]]:
        """The selected leaves of each root column."""
        metadata = self.file.metadata
        # The element of a root column stands at or before its leaves'; the next one's behind them.
        starts = [root.element for root in metadata.schema.children]
        leaves = self.narrowed.leaves
        root_of = [bisect_right(starts, metadata.leaves[leaf].element) for leaf in leaves]
        grouped = groupby(zip(root_of, leaves, strict=True), key=lambda pair: pair[0])
        return [tuple(leaf for _, leaf in pairs) for _, pairs in grouped]

    def _resolve(self, *, walk: bool) -> tuple[Narrowed, ChunkPages]:
        """Read what is needed to know the pages; with it, picked pages become rows."""
        file, narrowed = self.file, self._pick_pages()
        return narrowed, learn_pages(file.page_store, file.metadata, narrowed, file.io, walk=walk)

    def _pick_pages(self) -> Narrowed:
        """The picked pages as rows."""
        narrowed, store = self.narrowed, self.file.page_store
        if not narrowed.pages:
            return narrowed
        picked = list(narrowed.pages)
        # The other columns' indexes are needed next: they come with those of the picked ones.
        others = {(group, leaf) for group, _ in picked for leaf in narrowed.leaves}
        store.load_indexes({*picked, *others}, bounds=False)
        store.table(picked, bounds=False)
        store.learn_rows(unknown_rows(self.file.metadata, narrowed, store.known(picked)))
        with placed(file=self.file.name):
            return pick_pages(self.file.metadata, narrowed, store.known(picked))


def file_opener(
    options: Decode, *, for_polars: bool = True
) -> Callable[[ParquetFile, Sequence[tuple[int, ...]], Team], FileParts]:
    """What opens a file for an iteration."""
    from pqlab.stream.units import file_parts

    device = options.runs_on
    into = options.trace if options.trace is not None else active_trace()

    def opened(file: ParquetFile, lanes: Sequence[tuple[int, ...]], team: Team) -> FileParts:
        recording = begun(into, file)
        try:
            return file_parts(
                file, lanes, team, recording, options, device=device, for_polars=for_polars
            )
        except BaseException as error:
            if recording is not None:
                recording.failed(error)
            raise

    return opened


def begun(trace: Trace | None, file: ParquetFile) -> Recording | None:
    """A read of the file that begins to be recorded, if it is."""
    is_first = first_read(file.name)
    if trace is None:
        return None
    columns = [leaf.column for leaf in file.metadata.leaves]
    return trace.begin(file.name, columns, is_first=is_first)
