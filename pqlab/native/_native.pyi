from typing import Any, TypeAlias

import numpy as np

def __getattr__(name: str) -> Any: ...  # the extension module's functions, as its docstrings say

# The footer (native/cpu/footer_bindings.cpp). Arrays of one element stand for all rows; positions
# are within the footer.

# field, message, count, position, row group (-1: none), column of the first one
FooterWarning: TypeAlias = tuple[str, str, int, int, int, str | None]

def parse_footer(
    footer: np.ndarray,
    *,
    schema_elements: int,
    schema_depth: int,
    row_groups: int,
    column_chunks: int,
    predict: bool = True,
) -> dict[str, Any]: ...
def parse_statistics(footer: np.ndarray, positions: np.ndarray) -> dict[str, np.ndarray]: ...
def parse_encoding_stats(footer: np.ndarray, positions: np.ndarray) -> dict[str, np.ndarray]: ...
def parse_size_statistics(footer: np.ndarray, positions: np.ndarray) -> dict[str, np.ndarray]: ...
def parse_sorting_columns(footer: np.ndarray, position: int) -> list[tuple[int, bool, bool]]: ...
def parse_key_values(footer: np.ndarray, position: int) -> list[tuple[str, str | None]]: ...

# struct -> field id -> (name, compact type, required, element type of lists)
def footer_fields() -> dict[str, dict[int, tuple[str, int, bool, int]]]: ...

# Spans of a buffer (native/cpu/spans.cpp). `out` is memory for 16-byte views, `out_checks` for a
# byte for each span.

SPAN_REACH_BYTES: int

def binary_views(
    data: np.ndarray, start: np.ndarray, length: np.ndarray, out: np.ndarray
) -> None: ...
def text_views(
    data: np.ndarray,
    start: np.ndarray,
    length: np.ndarray,
    leaf: np.ndarray,
    leaf_formats: np.ndarray,
    out: np.ndarray,
    out_checks: np.ndarray,
    workers: int,
) -> list[bytes]: ...
