"""The text of docs/frames.md, made of the table that the frames are built to."""

from __future__ import annotations

from pqlab.footer.frame_columns import FRAMES

INTRODUCTION = """\
# Frames

<!-- Written by tools/generate_docs.py from pqlab/footer/frame_columns.py. -->

What is known of a file comes as polars frames. A null means that the file does not say; a value \
that is there and empty is `""` or 0. Sizes are bytes; ranges are half open; `page` counts the \
data pages of a chunk, and its dictionary page is -1.

A bound (the minimum or the maximum of statistics) is shown three ways: `min_bytes`, as the file \
has it; `min_text`, for people; and typed, in `f.statistics(column)`. `bounds_state` says what it \
is worth.
"""


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for frame, columns in FRAMES.items():
        parts.append(f"## {frame}\n\n| column | type | unit | |\n|---|---|---|---|\n")
        parts[-1] += "".join(
            f"| `{column.name}` | {column.dtype} | {column.unit or ''} | {column.text} |\n"
            for column in columns
        )
    return "\n".join(parts)
