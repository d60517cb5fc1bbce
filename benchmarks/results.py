"""`RESULTS.md`: one section per benchmark, each written by its command, with the machine's name."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")
TITLE = "# Results\n\nWritten by the commands that are named; method: `benchmarks/timing.py`.\n"


def machine() -> str:
    """The processor and the number of cores that this process may use."""
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        cpuinfo = ""
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    model = found[1].strip() if found else platform.processor() or platform.machine()
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def versions(*packages: str) -> str:
    """The packages with their versions."""
    return ", ".join(f"{name} {version(name)}" for name in packages)


def write_section(heading: str, command: str, body: str) -> str:
    """Replace the section of that heading in `RESULTS.md`, or add it; returns its text."""
    today = datetime.now(UTC).date().isoformat()
    section = f"## {heading}\n\n`{command}`, {today}, on {machine()}\n\n{body.strip()}\n"
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else TITLE
    start = text.find(f"## {heading}\n")
    if start < 0:
        text = f"{text.rstrip()}\n\n{section}"
    else:
        stop = text.find("\n## ", start)
        rest = "" if stop < 0 else text[stop:]
        text = text[:start] + section + rest
    RESULTS.write_text(text, encoding="utf-8")
    return section
