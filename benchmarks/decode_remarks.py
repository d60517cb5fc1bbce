"""What bounds the cells of `benchmarks.decode` that miss their bars, as measured."""

from __future__ import annotations

from benchmarks.decode_rows import Regime

REMARKS: dict[tuple[str, Regime], str] = {}
