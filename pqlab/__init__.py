"""pqlab: look into Parquet files, and read exactly the part that you look at.

Importing this module is cheap: every public name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# name -> the module that defines it
_PUBLIC = {
    "CorruptError": "pqlab.errors",
    "EncryptedError": "pqlab.errors",
    "EngineError": "pqlab.errors",
    "LimitError": "pqlab.errors",
    "PqlabError": "pqlab.errors",
    "SelectionError": "pqlab.errors",
    "SourceChangedError": "pqlab.errors",
    "SourceError": "pqlab.errors",
    "UnsupportedError": "pqlab.errors",
    "ComparePanel": "pqlab.widgets",
    "Comparison": "pqlab.comparison",
    "DiskCache": "pqlab.io.cache",
    "Dataset": "pqlab.dataset",
    "DatasetSelection": "pqlab.dataset",
    "FileSelection": "pqlab.file_selection",
    "IOPolicy": "pqlab.plan.policy",
    "Inspector": "pqlab.widgets",
    "Limits": "pqlab.limits",
    "Memory": "pqlab.native.memory",
    "ParquetFile": "pqlab.reader",
    "Plan": "pqlab.plan.plan",
    "TimingPanel": "pqlab.widgets",
    "Trace": "pqlab.trace",
    "compare": "pqlab.comparison",
    "dask_trace": "pqlab.dataset.distributed",
    "inspect": "pqlab.widgets",
    "memory": "pqlab.native.memory",
    "open": "pqlab.dataset",
    "read": "pqlab.dataset",
    "scan": "pqlab.scan",
    "show_versions": "pqlab.versions",
}

_MODULES = ("sample",)

__all__ = ["__version__", *_PUBLIC, *_MODULES]

if TYPE_CHECKING:
    from pqlab import sample as sample
    from pqlab.comparison import Comparison as Comparison, compare as compare
    from pqlab.dataset import (
        Dataset as Dataset,
        DatasetSelection as DatasetSelection,
        open as open,  # noqa: A004  # `pqlab.open` is how people say it
        read as read,
    )
    from pqlab.dataset.distributed import dask_trace as dask_trace
    from pqlab.errors import (
        CorruptError as CorruptError,
        EncryptedError as EncryptedError,
        EngineError as EngineError,
        LimitError as LimitError,
        PqlabError as PqlabError,
        SelectionError as SelectionError,
        SourceChangedError as SourceChangedError,
        SourceError as SourceError,
        UnsupportedError as UnsupportedError,
    )
    from pqlab.file_selection import FileSelection as FileSelection
    from pqlab.io.cache import DiskCache as DiskCache
    from pqlab.limits import Limits as Limits
    from pqlab.native.memory import Memory as Memory, memory as memory
    from pqlab.plan.plan import Plan as Plan
    from pqlab.plan.policy import IOPolicy as IOPolicy
    from pqlab.reader import (
        ParquetFile as ParquetFile,
    )
    from pqlab.scan import scan as scan
    from pqlab.trace import Trace as Trace
    from pqlab.versions import show_versions as show_versions
    from pqlab.widgets import (
        ComparePanel as ComparePanel,
        Inspector as Inspector,
        TimingPanel as TimingPanel,
        inspect as inspect,
    )


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"pqlab.{name}")
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module 'pqlab' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: Any) -> None:
    """Register `%pqread` and `%pqinspect`; IPython calls it for `%load_ext pqlab`."""
    importlib.import_module("pqlab.magic").load_ipython_extension(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
