"""NVTX ranges around the stages of recorded reads, where the package `nvtx` is installed."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


def nvtx_range(name: str) -> AbstractContextManager[Any]:
    """A range of the domain "pqlab" for profilers, as Nsight Systems; else nothing."""
    nvtx = _package()
    if nvtx is None:
        return nullcontext()
    annotation: AbstractContextManager[Any] = nvtx.annotate(name, domain="pqlab")
    return annotation


@cache
def _package() -> Any:
    try:
        import nvtx
    except ImportError:
        return None
    return nvtx
