"""Whether AddressSanitizer watches this process, as tools/sanitize has it do."""

from __future__ import annotations

import os
import resource

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")


def bound_memory(size_bytes: int) -> None:
    """Give the process no more address space than that; a sanitized one maps terabytes."""
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (size_bytes, size_bytes))
