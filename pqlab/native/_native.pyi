# Types of the extension module, in the order of the sources in native/cpu/ that bind them.
# Arrays are one-dimensional and contiguous; `Bytes` are uint8.

from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Bytes: TypeAlias = npt.NDArray[np.uint8]

# footer_bindings.cpp. Arrays of one element stand for all rows; positions are within the footer.

# field, message, count, position, row group (-1: none), column of the first one
FooterWarning: TypeAlias = tuple[str, str, int, int, int, str | None]

def parse_footer(
    footer: Bytes,
    *,
    schema_elements: int,
    schema_depth: int,
    row_groups: int,
    column_chunks: int,
    predict: bool = True,
) -> dict[str, Any]: ...

# Many files: `sources` are paths as bytes, or arrays of a FileMetaData each.
def parse_footers(
    sources: list[bytes | Bytes],
    *,
    schema_elements: int,
    schema_depth: int,
    row_groups: int,
    column_chunks: int,
    footer_bytes: int,
    guess_bytes: int,
    threads: int,
) -> dict[str, Any]: ...
def stat_files(paths: list[bytes]) -> dict[str, npt.NDArray[Any]]: ...
def parse_statistics(
    footer: Bytes, positions: npt.NDArray[np.uint64]
) -> dict[str, npt.NDArray[Any]]: ...
def parse_encoding_stats(
    footer: Bytes, positions: npt.NDArray[np.uint64]
) -> dict[str, npt.NDArray[Any]]: ...
def parse_size_statistics(
    footer: Bytes, positions: npt.NDArray[np.uint64]
) -> dict[str, npt.NDArray[Any]]: ...
def parse_sorting_columns(footer: Bytes, position: int) -> list[tuple[int, bool, bool]]: ...
def parse_key_values(footer: Bytes, position: int) -> list[tuple[str, str | None]]: ...

# struct -> field id -> (name, compact type, required, element type of lists)
def footer_fields() -> dict[str, dict[int, tuple[str, int, bool, int]]]: ...

# pages.cpp. Rows are of dtype PAGE, as uint8.

class PageWalk:
    def __init__(
        self,
        start: int,
        stop: int,
        hard_stop: int,
        num_values: int,
        row_group: int,
        leaf: int,
        flat: bool,
    ) -> None: ...
    @property
    def position(self) -> int: ...
    @property
    def stop(self) -> int: ...
    @property
    def hard_stop(self) -> int: ...
    @property
    def num_pages(self) -> int: ...
    @property
    def num_values(self) -> int: ...
    @property
    def values_left(self) -> int: ...

    # end, rows, statistics, unknown pages, fields passed over, warning
    def walk(self, window: Bytes, window_start: int) -> tuple[Any, ...]: ...

def page_index(
    data: Bytes, chunks: Bytes, max_pages: int, threads: int
) -> tuple[Bytes, list[Any]]: ...

# spans.cpp

SPAN_REACH_BYTES: Final[int]

def binary_views(
    data: Bytes, start: npt.NDArray[np.int64], length: npt.NDArray[np.int32], out: Bytes
) -> None: ...
def text_views(
    data: Bytes,
    start: npt.NDArray[np.int64],
    length: npt.NDArray[np.int32],
    leaf: npt.NDArray[np.int32],
    leaf_formats: Bytes,
    out: Bytes,
    out_checks: Bytes,
    workers: int,
) -> list[bytes]: ...

# codecs.cpp. `only`: the one library to take, for tests.

def codec_name(codec: int) -> str: ...
def codec_sources(only: str = "") -> dict[str, str]: ...
def decompress(codec: int, data: Bytes, size: int, only: str = "") -> bytes: ...

# plan.cpp: requests, and how many bytes are wanted

class Coalescing:
    def __init__(
        self,
        *,
        gap_bytes: int,
        split_bytes: int,
        max_request_bytes: int,
        overread_share: float,
        allowance_bytes: int = 0,
        concurrency: int,
    ) -> None: ...

def coalesce(
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    coalescing: Coalescing,
) -> tuple[tuple[tuple[int, int], ...], int]: ...

# columns.cpp. What the tuples hold stands in pqlab/cpu/columns.py and pqlab/cpu/tree.py.

class Columns:
    def __init__(self, leaves: list[Any], schema: Any, nodes: list[Any]) -> None: ...
    def __arrow_c_schema__(self) -> Any: ...

def device_array(
    node: tuple[Any, ...], *, device_type: int, device_id: int, owner: object
) -> Any: ...

class DevicePages:
    def __init__(
        self,
        columns: Columns,
        tables: tuple[Any, ...],
        buffers: Sequence[tuple[int, np.ndarray]],
        *,
        workers: int,
        verify_checksums: bool,
        is_compressed_is_wrong: bool,
        prefixes_reach_back: bool,
        for_polars: bool,
        page_bytes: int,
        read_bytes: int,
    ) -> None: ...
    @property
    def pages(self) -> np.ndarray: ...
    @property
    def chunks(self) -> np.ndarray: ...
    @property
    def view_buffers(self) -> np.ndarray: ...
    @property
    def values_before(self) -> np.ndarray: ...
    @property
    def compressed(self) -> np.ndarray: ...
    def stage(self, to: np.ndarray, on_device: np.ndarray, out: np.ndarray) -> None: ...
    def fail(self, page: int, stage: str, word: int) -> None: ...
    def check_joined(self, page: int, size: int) -> None: ...
    def kept(
        self, rows: np.ndarray, first_repetition: np.ndarray, last_definition: np.ndarray
    ) -> np.ndarray: ...
    def lay_out(self, slots: list[tuple[int, ...]]) -> None: ...
    def decoded(self, columns: list[tuple[Any, ...]]) -> Decoded: ...

class DecodedColumn:
    @property
    def name(self) -> str: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...

class Decoded:
    @property
    def num_rows(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    @property
    def ordered(self) -> list[int]: ...  # columns whose words have an order of their own
    @property
    def nbytes(self) -> int: ...
    def column(self, ordinal: int) -> DecodedColumn: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...

# decode.cpp

class File:
    def __init__(self, descriptor: int) -> None: ...

class Team:
    def __init__(self, workers: int) -> None: ...
    @property
    def workers(self) -> int: ...

def decode_dictionary_page(
    columns: Columns,
    row_group: int,
    codec: int,
    data: Bytes,
    offset: int,
    *,
    page_bytes: int,
    read_bytes: int,
) -> Decoded: ...
def reads_encoding(page_type: int, encoding: int, kind: str) -> bool: ...
def reads_codec(codec: int) -> bool: ...
def crc32(data: Bytes) -> int: ...

# job.cpp

class Job:
    @property
    def done(self) -> bool: ...
    @property
    def done_ns(self) -> int: ...
    @property
    def cancelled(self) -> bool: ...
    @property
    def progress(self) -> tuple[int, int, int]: ...
    def wait(self, timeout_ns: int) -> bool: ...
    def urge(self) -> None: ...
    def cancel(self) -> None: ...
    def result(self) -> Decoded: ...
    def recorded(self) -> tuple[Bytes, Bytes]: ...

def pool_usage() -> tuple[int, int]: ...
def stop_pool() -> None: ...

# planned_read.cpp

class PlannedRead:
    def __init__(
        self,
        columns: Columns,
        tables: tuple[npt.NDArray[np.void], ...],  # of pqlab/plan/tables.py: PlanTables.arrays
        file: File | None,
        team: Team,
        coalescing: Coalescing | None,
        *,
        verify_checksums: bool,
        trace: bool,
        is_compressed_is_wrong: bool,
        prefixes_reach_back: bool,
        for_polars: bool,
        page_bytes: int,
        read_bytes: int,
    ) -> None: ...
    def begin(
        self,
        start: int,
        stop: int,
        buffers: Sequence[tuple[int, Bytes]] = (),
        here: bool = False,
    ) -> Job: ...

# page_rows.cpp

def page_rows(
    pages: Bytes,
    data: Bytes,
    *,
    offset: int,
    codec: int,
    max_repetition_level: int,
    page_bytes: int,
) -> list[int]: ...

# xxhash.cpp, mapping.cpp

def xxhash64(data: Bytes, seed: int = 0) -> int: ...
def xxhash64_blocks(data: Bytes, block_bytes: int, first: int = 0) -> npt.NDArray[np.uint64]: ...
def map_file(fd: int, size: int) -> Bytes: ...

# memory_bindings.cpp

def padded_empty(size: int) -> Bytes: ...
def memory_use() -> tuple[int, int, int, int, int, int]: ...
def limit_memory(kept_bytes: int) -> None: ...
def release_memory() -> None: ...

# loops.cpp: for which instruction sets the decoding loops are here, and the one that runs.

instruction_set: str

def instruction_sets() -> list[str]: ...

# primitives.cpp: the decoding loops one by one, for tests.

primitives: ModuleType
