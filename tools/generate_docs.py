"""Writes the pages that are made of tables in the code; with `--check`, says if one is stale."""

from __future__ import annotations

import sys
from pathlib import Path

import check_page
import findings_page
import format_coverage
import frames_page

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "FORMAT_COVERAGE.md": format_coverage.page,
    "docs/check.md": check_page.page,
    "docs/findings.md": findings_page.page,
    "docs/frames.md": frames_page.page,
}


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` compare them; returns the exit status."""
    stale = []
    for name, page in PAGES.items():
        path, text = ROOT / name, page()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if arguments != ["--check"]:
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{name} {'is not current: run make docs' if arguments else 'written'}")
    return 1 if arguments and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
