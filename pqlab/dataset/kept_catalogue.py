"""Where a dataset's catalogue is kept: with the dataset, and on disk where that was asked for."""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl
import pyarrow as pa

from pqlab import __version__
from pqlab.dataset.catalogue import Catalogue, refreshed
from pqlab.io import cache as disk, urls
from pqlab.io.cache import DiskCache
from pqlab.io.local import local_path

if TYPE_CHECKING:
    from pqlab.dataset.dataset import Dataset

_PARTS = ("states", "chunks", "leaves")


def catalogue(dataset: Dataset, client: Any = None) -> Catalogue:
    """The dataset's catalogue: what is kept of it is brought up to date, and kept again.

    `client`: of dask.distributed, whose workers read the footers.
    """
    folder = _folder(dataset)
    before = dataset.kept_catalogue
    if before is None and folder is not None:
        before = _load(folder, dataset)
    if client is None:
        now = refreshed(dataset, before)
    else:
        from pqlab.dataset.distributed import catalogue_reader

        now = refreshed(dataset, before, catalogue_reader(client))
    if folder is not None and now is not before:
        _store(folder, dataset, now)
    dataset.kept_catalogue = now
    return now


def _folder(dataset: Dataset) -> Path | None:
    cache = dataset.cache
    if isinstance(cache, DiskCache):
        cache = "disk" if cache.folder is None else cache.folder
    if cache is None or cache == "memory":
        return None
    return disk.default_folder() if cache == "disk" else Path(cache)


def _name(dataset: Dataset) -> str:
    """What the files were listed by: other files may be there the next time."""
    source = dataset.source_text
    if source is None:
        return "\n".join(("catalogue of", *dataset.files))
    text = source if urls.is_remote(source) else str(Path(local_path(source)).absolute())
    return f"catalogue of\n{urls.shown(text)}"


def _identity(dataset: Dataset) -> bytes:
    state = f"{__version__}\n{dataset.limits!r}\n{_name(dataset)}"
    return state.encode(errors="surrogateescape")


def _load(folder: Path, dataset: Dataset) -> Catalogue | None:
    sections = disk.load(folder, _name(dataset), _identity(dataset))
    if sections is None:
        return None
    try:
        # The frames lie in the mapped file, of which every block has been verified.
        tables = [pa.ipc.open_file(pa.py_buffer(sections[part])).read_all() for part in _PARTS]
    except disk.CacheDamagedError:
        disk.discard(sections)
        return None
    frames = [cast("pl.DataFrame", pl.from_arrow(table, rechunk=False)) for table in tables]
    return Catalogue(*frames)


def _store(folder: Path, dataset: Dataset, now: Catalogue) -> None:
    arrays = {}
    for part in _PARTS:
        written = io.BytesIO()
        getattr(now, part).write_ipc(written, compression="uncompressed")
        arrays[part] = np.frombuffer(written.getbuffer(), np.uint8)
    try:
        disk.store(folder, _name(dataset), _identity(dataset), arrays)
    except OSError as error:
        reason = f"{os.fspath(folder)}: {error.strerror or error}"
        warnings.warn(f"the catalogue is not kept on disk ({reason})", stacklevel=4)
