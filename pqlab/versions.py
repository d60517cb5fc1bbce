"""What runs here: versions of pqlab and its packages, where the codecs come from, the processor.

Nothing is imported to find out, but the native module: versions come from installed metadata.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

import pqlab

_REQUIRED = ("numpy", "polars", "pyarrow", "rich", "thriftpy2", "cramjam")
_OPTIONAL = (
    *("jupyterlab", "ipywidgets", "anywidget", "altair", "vl-convert-python"),
    *("obstore", "fsspec", "dask", "duckdb"),
    *("cupy-cuda12x", "cupy-cuda13x", "nvidia-nvcomp-cu12", "nvidia-nvcomp-cu13"),
)
# Of the processor, what decoding can gain by, as Linux names them.
_CPU_FEATURES = ("sse4_2", "bmi2", "avx2", "avx512f", "avx512bw", "avx512vbmi", "asimd", "sve")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cpu_features() -> list[str]:
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return []
    for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, flags = line.partition(":")
        if name.strip() in ("flags", "Features"):
            have = set(flags.split())
            return [feature for feature in _CPU_FEATURES if feature in have]
    return []


def versions() -> dict[str, Any]:
    """What runs here, as values that JSON takes; a package that is not installed is None.

    `codecs` says per codec where its code comes from: built in, a library found when pqlab was
    built, the system's shared library, or cramjam. `decoding_loops` says for which instruction set
    the decoding loops that run were compiled; the environment variable PQLAB_CPU chooses another
    than the fastest: portable, avx2 or avx512.
    """
    from pqlab.native._native import codec_sources, instruction_set

    return {
        "pqlab": pqlab.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": {
            "machine": platform.machine(),
            "usable_cores": len(os.sched_getaffinity(0)),
            "features": _cpu_features(),
            "decoding_loops": instruction_set,
        },
        "codecs": codec_sources(),
        "packages": {name: _version(name) for name in (*_REQUIRED, *_OPTIONAL)},
    }


def show_versions() -> None:
    """Print `versions()` as text, to paste into a report; packages not installed are left out."""
    found = versions()
    processor = found["processor"]
    features = " ".join(processor["features"])
    lines = {
        "pqlab": found["pqlab"],
        "python": found["python"],
        "platform": found["platform"],
        "processor": f"{processor['machine']}, {processor['usable_cores']} cores, {features}",
        "decoding loops": processor["decoding_loops"],
        **{f"codec {name}": source for name, source in found["codecs"].items()},
        **{name: version for name, version in found["packages"].items() if version},
    }
    width = max(map(len, lines))
    print("\n".join(f"{name:<{width}}  {value}" for name, value in lines.items()))
