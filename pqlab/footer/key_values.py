"""The footer's key-value metadata, and what two well-known keys hold."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

import polars as pl
import pyarrow as pa

from pqlab.errors import CorruptError
from pqlab.footer import frame_columns
from pqlab.footer.metadata import FileMetaData


def key_values(metadata: FileMetaData) -> pl.DataFrame:
    """One row per key and value, in file order; a key may repeat."""
    pairs = metadata.key_value_metadata
    series = {
        "key": pl.Series([key for key, _ in pairs], dtype=pl.String),
        "value": pl.Series([value for _, value in pairs], dtype=pl.String),
    }
    return frame_columns.build(frame_columns.KEY_VALUES, series)


def pandas_metadata(metadata: FileMetaData) -> dict[str, Any] | None:
    """The JSON document under `pandas`, or None; raises `CorruptError` where it is no object."""
    text = _first(metadata, "pandas")
    if text is None:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _corrupt("pandas", f"is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise _corrupt("pandas", "is not a JSON object")
    return document


def arrow_schema(metadata: FileMetaData) -> pa.Schema | None:
    """The Arrow schema under `ARROW:schema` (base64 of an IPC message), or None.

    Raises `CorruptError` where it cannot be decoded.
    """
    text = _first(metadata, "ARROW:schema")
    if text is None:
        return None
    try:
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text, validate=True)))
    except (binascii.Error, ValueError, pa.ArrowException, OSError) as error:
        raise _corrupt("ARROW:schema", f"is not an Arrow schema: {error}") from None


def _first(metadata: FileMetaData, key: str) -> str | None:
    return next((value for name, value in metadata.key_value_metadata if name == key), None)


def _corrupt(key: str, what: str) -> CorruptError:
    return CorruptError(f"the value of {key!r} {what}", field="FileMetaData.key_value_metadata")
