"""Footers for tests: of files' bytes, and of raw structs that a test has changed."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from thriftpy2.protocol.compact import TCompactProtocol
from thriftpy2.transport.memory import TMemoryBuffer

from pqlab.footer import raw
from pqlab.footer.metadata import FileMetaData, parse_file_metadata


def written(table: pa.Table, **options: Any) -> bytes:
    """The table as a Parquet file, by pyarrow."""
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def footer_bytes(data: bytes) -> bytes | None:
    """The thrift bytes of a file's footer; None where it has none in plain."""
    if len(data) < 12 or data[-4:] != b"PAR1":
        return None
    (size,) = struct.unpack("<I", data[-8:-4])
    return data[len(data) - 8 - size : -8] if size + 8 <= len(data) else None


def metadata_of(data: bytes) -> FileMetaData:
    """The parsed footer of a file's bytes."""
    footer = footer_bytes(data)
    assert footer is not None
    return parse_file_metadata(footer, len(data) - 8 - len(footer))


def rewritten(data: bytes, change: Callable[[Any], None]) -> bytes:
    """The file's bytes after `change` has changed its raw FileMetaData."""
    footer = footer_bytes(data)
    assert footer is not None
    struct_ = raw.file_metadata(footer)
    change(struct_)
    buffer = TMemoryBuffer()
    TCompactProtocol(buffer).write_struct(struct_)
    return with_footer(data, buffer.getvalue())


def with_footer(data: bytes, footer: bytes) -> bytes:
    """The file's bytes with these thrift bytes as its footer."""
    size = len(footer_bytes(data) or b"") + 8
    return data[:-size] + footer + struct.pack("<I", len(footer)) + b"PAR1"


def changed(data: bytes, change: Callable[[Any], None]) -> FileMetaData:
    """The parsed footer of a file after `change` has changed its raw FileMetaData."""
    return metadata_of(rewritten(data, change))


def corpus_files(corpus: Path, manifest: list[dict[str, str]]) -> list[tuple[str, bytes]]:
    """Every corpus file that has a footer in plain: its name and its bytes."""
    files = ((row["file"], (corpus / row["file"]).read_bytes()) for row in manifest)
    return [(name, data) for name, data in files if footer_bytes(data) is not None]
