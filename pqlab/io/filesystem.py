"""Files in fsspec's filesystems, for what obstore does not reach."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from pqlab.errors import SourceChangedError, SourceError
from pqlab.io import urls
from pqlab.io.failures import reason
from pqlab.io.source import DIRECT, Attempt, Bytes, Identity, Source, Transfer
from pqlab.plan.policy import IOPolicy

_VERSIONS = (
    *("ETag", "etag", "e_tag", "md5Hash", "LastModified", "last_modified", "mtime", "created"),
)
_LOCAL = ("file", "local", "memory")


def open_url(
    text: str, storage_options: Mapping[str, Any] | None, *, policy: IOPolicy | None
) -> Source:
    """The source of a URL whose scheme fsspec knows."""
    filesystem, path = filesystem_of(text, storage_options)
    return FilesystemSource(filesystem, path, policy=policy, name=urls.shown(text))


def filesystem_of(text: str, storage_options: Mapping[str, Any] | None) -> tuple[Any, str]:
    """The fsspec filesystem of a URL, and the path in it; `SourceError` if there is none."""
    scheme = urls.scheme_of(text)
    failure = None
    try:
        from fsspec.core import url_to_fs

        filesystem, path = url_to_fs(text, **(storage_options or {}))
    except (ImportError, ValueError) as error:
        failure = reason(error)
    if failure is not None:
        known = ", ".join((*urls.STORES, *urls.WEB, "file"))
        raise SourceError(
            f"{scheme}:// URLs cannot be opened here: {failure}",
            hint=f"pqlab knows {known}, and what fsspec has a filesystem for",
        )
    return filesystem, path


class FilesystemSource(Source):
    """A file in a filesystem of fsspec, or of pyarrow."""

    def __init__(
        self, filesystem: Any, path: str, *, policy: IOPolicy | None = None, name: str | None = None
    ) -> None:
        self._filesystem: Any = as_fsspec(filesystem)
        self._path = path
        protocol = self._filesystem.protocol
        self._scheme = protocol if isinstance(protocol, str) else protocol[0]
        self.name = name or urls.shown(path if "://" in path else f"{self._scheme}://{path}")
        self.policy = policy or (IOPolicy.local() if self._scheme in _LOCAL else IOPolicy.remote())
        self.size, self._version = self._state()
        self.identity = (
            Identity(self.name, self.size, version=self._version) if self._version else None
        )

    def check_unchanged(self) -> None:
        """Raise `SourceChangedError` if the filesystem says that it is another file now."""
        if self._state() != (self.size, self._version):
            raise SourceChangedError(
                "the file changed since it was opened", hint="Open it again", file=self.name
            )

    def close(self) -> None:
        """Let go of the filesystem."""
        self._filesystem = None

    def _state(self) -> tuple[int, str | None]:
        filesystem = self._opened()
        failure, info = None, {}
        try:
            info = filesystem.info(self._path)
        except Exception as error:  # noqa: BLE001  # whatever the filesystem's code raises
            failure = f"cannot open: {reason(error)}"
        if failure is None and info.get("type") == "directory":
            failure = "this is a folder"
        if failure is None and info.get("size") is None:
            failure = "the filesystem does not know the file's size"
        if failure is not None:
            raise SourceError(failure, file=self.name)
        version = next((f"{key} {info[key]}" for key in _VERSIONS if info.get(key)), None)
        return int(info["size"]), version

    def _fill(self, start: int, buffer: Bytes) -> Transfer:
        filesystem = self._opened()
        if not len(buffer):
            return DIRECT
        start_ns = time.perf_counter_ns()
        failure, data = None, b""
        try:
            data = _read(filesystem, self._path, start, len(buffer))
        except Exception as error:  # noqa: BLE001  # as above
            failure = f"cannot read: {reason(error)}"
        if failure is not None:
            raise SourceError(failure, file=self.name, offset=start)
        if len(data) != len(buffer):
            raise self._short_error(start, len(data), len(buffer))
        buffer[:] = np.frombuffer(data, np.uint8)
        attempt = Attempt(start_ns, None, time.perf_counter_ns(), len(data))
        return Transfer((attempt,), copy_bytes=len(buffer))

    def _opened(self) -> Any:
        if self._filesystem is None:
            raise self._closed_error()
        return self._filesystem


def _read(filesystem: Any, path: str, start: int, size: int) -> Any:
    arrow: Any = getattr(filesystem, "fs", None)
    if hasattr(arrow, "open_input_file"):  # what fsspec opens of it cannot be read in the middle
        with arrow.open_input_file(path) as file:
            return file.read_at(size, start)
    return filesystem.cat_file(path, start, start + size)


def as_fsspec(filesystem: Any) -> Any:
    """The filesystem as fsspec has it; `TypeError` for what is none."""
    if type(filesystem).__module__.startswith("pyarrow."):
        from fsspec.implementations.arrow import ArrowFSWrapper

        return ArrowFSWrapper(filesystem)
    if not hasattr(filesystem, "cat_file"):
        raise TypeError(
            f"a filesystem is one of fsspec or of pyarrow, not {type(filesystem).__name__}"
        )
    return filesystem
