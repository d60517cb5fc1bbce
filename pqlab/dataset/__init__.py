"""Several Parquet files as one: `open` for whatever a source stands for, and `Dataset`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import IO, TYPE_CHECKING, Any, Unpack, overload

from pqlab import reader
from pqlab.dataset.dataset import Dataset as Dataset
from pqlab.dataset.described import DatasetInfo as DatasetInfo
from pqlab.dataset.selection import DatasetSelection as DatasetSelection
from pqlab.io.cache import Cache
from pqlab.io.listing import is_many
from pqlab.limits import Limits
from pqlab.plan.policy import IOPolicy
from pqlab.reader import ParquetFile
from pqlab.stream.options import ReadOptions

if TYPE_CHECKING:
    import polars as pl


@overload
def open(  # noqa: A001  # `pqlab.open`
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes],
    *,
    storage_options: Mapping[str, Any] | None = None,
    filesystem: Any = None,
    io: IOPolicy | None = None,
    cache: Cache = "memory",
    limits: Limits | None = None,
    verify_checksums: bool = False,
) -> ParquetFile: ...
@overload
def open(  # noqa: A001  # `pqlab.open`
    source: Iterable[Any],
    *,
    storage_options: Mapping[str, Any] | None = None,
    filesystem: Any = None,
    io: IOPolicy | None = None,
    cache: Cache = "memory",
    limits: Limits | None = None,
    verify_checksums: bool = False,
) -> Dataset: ...
def open(source: Any, **options: Any) -> ParquetFile | Dataset:  # noqa: A001  # `pqlab.open`
    """Open Parquet: a file, or several as one `Dataset`. Only footers are read.

    `source`: a path, a URL (file, s3, gs, az, https, http), `os.PathLike`, bytes, or a binary file
    object with read and seek; a folder (of a store: a URL that ends in `/`), a glob or an iterable
    of sources gives a `Dataset`, which has the same surface (for a folder or a glob, type checkers
    take it for a `ParquetFile`). `storage_options`: of obstore's store for the URL, as `region` or
    `endpoint`, where the environment does not have them; `filesystem`: of fsspec or pyarrow, in
    which `source` is a path. `io`: how it is asked for bytes; None: as its kind and what is
    measured suggest. `cache`: "memory" shares parsed footers within the process; "disk", or a
    folder, keeps them for other processes, too, `DiskCache` also what is fetched of remote files;
    None does neither. `verify_checksums`: compare the CRC of every page that has one.

    Raises `CorruptError` for what is not Parquet, `EncryptedError`, `LimitError`, `SourceError`.
    """
    is_dataset = is_many(source, options.get("filesystem"))
    return Dataset(source, **options) if is_dataset else reader.open(source, **options)


def read(
    source: Any,
    columns: Any = None,
    *,
    row_groups: Any = None,
    pages: Any = None,
    rows: Any = None,
    where: str | pl.Expr | None = None,
    prune: bool = True,
    storage_options: Mapping[str, Any] | None = None,
    filesystem: Any = None,
    io: IOPolicy | None = None,
    cache: Cache = "memory",
    limits: Limits | None = None,
    verify_checksums: bool = False,
    **options: Unpack[ReadOptions],
) -> pl.DataFrame:
    """Open a source, read a selection of it, and close it.

    Arguments and errors as of `open`, `ParquetFile.select` and `FileSelection.read`.
    """
    opened: ParquetFile | Dataset = open(
        source,
        storage_options=storage_options,
        filesystem=filesystem,
        io=io,
        cache=cache,
        limits=limits,
        verify_checksums=verify_checksums,
    )
    with opened:
        return opened.read(
            columns,
            row_groups=row_groups,
            pages=pages,
            rows=rows,
            where=where,
            prune=prune,
            **options,
        )
