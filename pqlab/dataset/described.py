"""Several files, and what they are made of: footers read when needed, frames under each other."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from pqlab import text
from pqlab.dataset.parallel import each
from pqlab.dataset.selection import Path, is_picked, leaves_of
from pqlab.described_file import FileInfo
from pqlab.errors import SelectionError
from pqlab.io import urls
from pqlab.io.cache import Cache
from pqlab.io.footer import load_metadata
from pqlab.io.listing import list_files
from pqlab.io.source import Source, open_source
from pqlab.limits import DEFAULT_LIMITS, Limits
from pqlab.plan.columns import find_leaves
from pqlab.plan.picks import ColumnPick, ordinals, to_ordinals
from pqlab.plan.policy import IOPolicy
from pqlab.plan.selection import Selection
from pqlab.reader import ParquetFile

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from pqlab.dataset.catalogue import Catalogue
    from pqlab.footer.merge import MergedSchema
    from pqlab.footer.schema import SchemaNode
    from pqlab.overview.view import View


_MADE = ("merged", "partitions")  # of the footers, and of the list of files


@dataclass(frozen=True, slots=True, repr=False)
class DatasetInfo:
    """A dataset in a few lines. Sizes in bytes; `num_columns` counts the merged schema's leaves.

    `partitions`: the keys of the hive folders. `warnings` begin with the file's name.
    """

    num_files: int
    num_skipped: int
    num_rows: int
    num_row_groups: int
    num_columns: int
    partitions: tuple[str, ...]
    created_by: tuple[str | None, ...]  # each once
    file_size_bytes: int
    footer_bytes: int
    encrypted: bool
    warnings: tuple[str, ...]

    __repr__ = FileInfo.__repr__


class DescribedDataset:
    """What a `Dataset` shows of itself, and its files.

    `files`: their names, in order. `skipped`: (path, reason) of what was left out. Footers are read
    when they are first needed, several at once, and kept. A file is open only while it is read;
    `SourceError` names one that is gone, `SourceChangedError` one that is no longer the same.

    Frames have a column `file`; ordinals of row groups, pages and leaves in them count within the
    file. Columns match by path: one that a file lacks is null there. `key=value` folders are
    columns behind the files' own, typed by all their values: integers, dates, or text. They hide
    columns of the same name.
    """

    def __init__(
        self,
        source: Any,
        *,
        storage_options: Mapping[str, Any] | None = None,
        filesystem: Any = None,
        io: IOPolicy | None = None,
        cache: Cache = "memory",
        limits: Limits | None = None,
        verify_checksums: bool = False,
    ) -> None:
        self._where = {"storage_options": storage_options, "filesystem": filesystem}
        listing = list_files(source, storage_options, filesystem)
        self._source, self.listed = source, listing.files
        self.files = tuple(file.name for file in listing.files)
        self.skipped = listing.skipped
        self._fixed_io, self.limits = io, limits or DEFAULT_LIMITS
        is_remote = filesystem is not None or any(
            isinstance(file.source, str) and urls.is_remote(file.source) for file in listing.files
        )
        self.io = io or (IOPolicy.remote() if is_remote else IOPolicy.local())
        self.cache, self.verify_checksums = cache, verify_checksums
        self._opened: dict[int, ParquetFile] = {}
        self.kept_catalogue: Catalogue | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.files)

    def file(self, number: int) -> ParquetFile:
        """One of the files, by its position in `files`."""
        found = self._opened.get(number)
        if found is None:
            source = self.source(number)
            metadata = load_metadata(source, cache=self.cache, limits=self.limits)
            opened = ParquetFile(
                source,
                metadata,
                limits=self.limits,
                verify_checksums=self.verify_checksums,
            )
            with self._lock:
                found = self._opened.setdefault(number, opened)
        return found

    def source(self, number: int) -> Source:
        """The bytes of one of the files, opened anew."""
        listed = self.listed[number]
        return open_source(
            listed.source,
            **self._where,
            policy=self._fixed_io,
            known=listed.known,
            hold=False,
            cache=self.cache,
        )

    @property
    def is_local(self) -> bool:
        """Whether paths among the sources are of this machine."""
        return self._where["filesystem"] is None

    def part(self, numbers: Sequence[int]) -> Self:
        """A dataset of these files alone, in this order; nothing that was read is shared."""
        part = copy.copy(self)
        state = self.__getstate__()
        listed = tuple(self.listed[number] for number in numbers)
        names = tuple(file.name for file in listed)
        part.__dict__.clear()
        part.__setstate__({**state, "listed": listed, "files": names, "_source": names})
        for name in _MADE:
            part.__dict__.pop(name, None)
        return part

    def __getstate__(self) -> dict[str, Any]:
        left_out = ("_lock", "_opened", "_all", "kept_catalogue")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock(), _opened={}, kept_catalogue=None)

    @cached_property
    def _all(self) -> list[ParquetFile]:
        return each(self.io.concurrency, self.file, range(len(self)))

    @cached_property
    def merged(self) -> MergedSchema:
        """The files' schemas merged by path, with the paths about which they disagree."""
        from pqlab.footer.merge import merge_schemas

        return merge_schemas((file.name, file.schema) for file in self._all)

    @property
    def schema(self) -> SchemaNode:
        """The root of the merged schema; `UnsupportedError` if a column has another type somewhere.

        `merged` has it without the check.
        """
        self.merged.check(self.merged.leaves)
        return self.merged.schema

    @cached_property
    def partitions(self) -> pl.DataFrame:
        """A row per file: `file`, and the typed values of its `key=value` folders."""
        import polars as pl

        from pqlab.assemble.partitions import partition_columns

        columns = partition_columns([file.partition for file in self.listed])
        return pl.DataFrame([pl.Series("file", self.files, pl.String), *columns])

    @property
    def info(self) -> DatasetInfo:
        """The dataset in a few lines."""
        infos = [file.info for file in self._all]
        return DatasetInfo(
            num_files=len(self),
            num_skipped=len(self.skipped),
            num_rows=sum(info.num_rows for info in infos),
            num_row_groups=sum(info.num_row_groups for info in infos),
            num_columns=self.merged.num_leaves,
            partitions=tuple(self.partitions.columns[1:]),
            created_by=tuple(dict.fromkeys(info.created_by for info in infos)),
            file_size_bytes=sum(info.file_size_bytes for info in infos),
            footer_bytes=sum(info.footer_bytes for info in infos),
            encrypted=any(info.encrypted for info in infos),
            warnings=tuple(f"{info.file}: {w}" for info in infos for w in info.warnings),
        )

    @property
    def leaves(self) -> pl.DataFrame:
        """A row per file and leaf column."""
        return self._frame(lambda file: file.leaves)

    @property
    def row_groups(self) -> pl.DataFrame:
        """A row per file and row group."""
        return self._frame(lambda file: file.row_groups)

    @property
    def column_chunks(self) -> pl.DataFrame:
        """A row per file and column chunk."""
        return self._frame(lambda file: file.column_chunks)

    def pages(
        self,
        row_groups: Any = None,
        columns: Any = None,
        *,
        files: Any = None,
        headers: bool = False,
        verify_checksums: bool = False,
    ) -> pl.DataFrame:
        """A row per page; arguments as of `select` and of `ParquetFile.pages`."""
        paths, _ = self.pick(Selection.of(columns).columns)
        return self._frame(
            lambda file: file.pages(
                row_groups,
                leaves_of(file, paths),
                headers=headers,
                verify_checksums=verify_checksums,
            ),
            self._numbers(files),
        )

    def overview(self) -> View:
        """The dataset at a glance, as plain values; as of `ParquetFile.overview`."""
        from pqlab.overview.view import dataset_view

        info = self.info
        return dataset_view(
            [(file.name, file.source.size) for file in self._all],
            title=urls.shown(os.fsdecode(self._source)) if self._has_text else "a list of sources",
            num_rows=info.num_rows,
            num_columns=info.num_columns,
            num_row_groups=info.num_row_groups,
            created_by=info.created_by,
            partitions=info.partitions,
            skipped=self.skipped,
            warnings=info.warnings,
        )

    def close(self) -> None:
        """Close the files; what was read of them stays usable."""
        for file in self._opened.values():
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        skipped = f", {len(self.skipped):,} skipped" if self.skipped else ""
        return f"<pqlab.Dataset: {text.plural(len(self), 'file')}{skipped}>"

    def _repr_html_(self) -> str:
        from pqlab.overview import html

        return html.render(self.overview())

    def __rich__(self) -> RenderableType:
        from pqlab.overview import terminal

        return terminal.render(self.overview())

    @property
    def _has_text(self) -> bool:
        return isinstance(self._source, str | os.PathLike)

    @property
    def source_text(self) -> str | None:
        """The folder, glob or path that it was opened by; None: a list, or of a `filesystem`."""
        is_text = self._has_text and self.is_local
        return os.fsdecode(self._source) if is_text else None

    def _numbers(self, files: Any) -> Sequence[int]:
        if files is None:
            return range(len(self))
        return ordinals(to_ordinals(files, "files"), len(self), "file")

    def pick(self, picks: tuple[ColumnPick, ...] | None) -> tuple[list[Path], list[str]]:
        """The paths of the picked leaves, and the picked keys of hive folders."""
        keys = self.partitions.columns[1:]
        numbers: Iterable[int] = range(self.merged.num_leaves)
        picked = keys
        if picks is not None:
            picked = [key for key in keys if any(is_picked(key, pick) for pick in picks)]
            numbers = sorted({leaf for pick in picks for leaf in self._pick_leaves(pick, picked)})
        leaves = [self.merged.leaves[number] for number in numbers]
        leaves = [leaf for leaf in leaves if leaf.path[0] not in keys]
        self.merged.check(leaves)
        return [leaf.path for leaf in leaves], picked

    def _pick_leaves(self, pick: ColumnPick, keys: list[str]) -> list[int]:
        try:
            return find_leaves([pick], self.merged)
        except SelectionError:
            if any(is_picked(key, pick) for key in keys):
                return []
            raise

    def _frame(
        self,
        frame_of: Callable[[ParquetFile], pl.DataFrame],
        numbers: Sequence[int] | None = None,
    ) -> pl.DataFrame:
        """The files' frames under each other, with a first column `file`."""
        import polars as pl

        files = self._all if numbers is None else [self._all[number] for number in numbers]
        frames = each(self.io.concurrency, frame_of, files)
        named = [
            frame.select(pl.lit(file.name).alias("file"), pl.all())
            for file, frame in zip(files, frames, strict=True)
        ]
        return pl.concat(named)
