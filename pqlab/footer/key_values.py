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

_ARROW_SCHEMA = "ARROW:schema"
_JSON_CHARACTERS = 1 << 20  # of a document that is laid out for people


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
    text = _first(metadata, _ARROW_SCHEMA)
    return None if text is None else _arrow_schema(text)


def decoded(key: str, value: str) -> list[str]:
    """A value for people, in lines: an Arrow schema, or a JSON document; none: it is neither."""
    if key == _ARROW_SCHEMA:
        try:
            shown: str = _arrow_schema(value).to_string(show_schema_metadata=False)
        except CorruptError:
            return []
        return shown.splitlines()
    if len(value) > _JSON_CHARACTERS or not value.startswith(("{", "[")):
        return []
    try:
        return json.dumps(json.loads(value), indent=2, ensure_ascii=False).splitlines()
    except (ValueError, RecursionError):
        return []


def _arrow_schema(text: str) -> pa.Schema:
    try:
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text, validate=True)))
    except (binascii.Error, ValueError, pa.ArrowException, OSError) as error:
        raise _corrupt(_ARROW_SCHEMA, f"is not an Arrow schema: {error}") from None


def _first(metadata: FileMetaData, key: str) -> str | None:
    return next((value for name, value in metadata.key_value_metadata if name == key), None)


def _corrupt(key: str, what: str) -> CorruptError:
    return CorruptError(f"the value of {key!r} {what}", field="FileMetaData.key_value_metadata")
