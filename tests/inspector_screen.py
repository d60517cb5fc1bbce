"""An inspector without a browser: what is said to it, and all that it says."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import pqlab
from pqlab.inspector import Session


class Screen:
    """A session and all that it said; nothing runs in another thread."""

    def __init__(self, file: pqlab.ParquetFile) -> None:
        self.said: list[dict[str, Any]] = []
        self.namespace: dict[str, Any] = {}
        self.session = self._session(file)
        self.say(open=True)

    def _session(self, file: pqlab.ParquetFile) -> Session:
        return Session(file, self._hear, namespace=self.namespace, defer=lambda work: work())

    def _hear(self, message: dict[str, Any]) -> None:
        self.said.append(json.loads(json.dumps(message)))

    def say(self, **message: Any) -> None:
        self.session.handle(message)

    def last(self, kind: str) -> Any:
        return [message for message in self.said if message["kind"] == kind][-1]

    def rows(self, table: str, **more: Any) -> list[Any]:
        self.say(ask=table, start=0, stop=200, **more)
        answer = self.last("rows")
        found: list[Any] = answer["rows"]
        if table == "grid":
            palette = answer["palette"]
            return [{**row, "cells": [palette[cell] for cell in row["cells"]]} for row in found]
        return found


def of_table(table: pa.Table, **options: Any) -> Screen:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return Screen(pqlab.open(sink.getvalue()))
