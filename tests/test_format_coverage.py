"""What FORMAT_COVERAGE.md says of a field is what changing the field does.

Every field of parquet.thrift is changed, one at a time, in a file that has them all. **Used** is
what makes a difference to a frame, the overview, a plan, a read or `check`; **shown only** what
makes none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from every_field import build

import pqlab
from pqlab.footer import raw

PAGE = (Path(__file__).resolve().parent.parent / "FORMAT_COVERAGE.md").read_text("utf-8")
# Where things are and how large they are moves with what a changed field takes itself.
PLACES = re.compile(r"offset|_bytes$|total_.*size|chunks_.*size|ratio|length$")
NUMBERS = re.compile(r"offset [\d,]+|[\d,]+ bytes|byte [\d,]+")
INFO = ("num_rows", "num_row_groups", "num_columns", "created_by", "format_version", "encrypted")
# Files whose footer is encrypted are refused before any of it is read (test_footer_loading).
ENCRYPTION = (
    *("AesGcmCtrV1", "EncryptionWithColumnKey", "ColumnCryptoMetaData", "FileCryptoMetaData"),
)

Change = Callable[[Any], bool]


def statuses() -> dict[str, dict[str, str]]:
    """Struct -> field -> status, of the page."""
    found: dict[str, dict[str, str]] = {}
    for struct, field, status in re.findall(
        r"^\| `(\w+)` \| \d+ \| `(\w+)` \| ([a-z ]+) \|$", PAGE, re.MULTILINE
    ):
        found.setdefault(struct, {})[field] = status
    return found


STATUSES = statuses()


def looks(file: pqlab.ParquetFile) -> Iterator[Callable[[], Any]]:
    """Everything that there is to see of a file."""
    yield lambda: [(name, getattr(file.info, name)) for name in INFO]
    yield lambda: file.info.warnings
    yield lambda: file.schema
    yield lambda: file.leaves
    yield lambda: file.row_groups
    yield lambda: file.column_chunks
    yield lambda: file.key_value_metadata
    yield lambda: file.overview().facts
    yield lambda: file.column_chunks["total_uncompressed_size"].sum() < 1 << 20
    yield lambda: cells(file.row_groups, "file_offset", "total_byte_size")
    yield lambda: cells(file.row_groups, "total_compressed_size")
    yield lambda: cells(file.leaves, "type_length")
    yield file.pages
    yield lambda: file.statistics(0, pages=True)  # from the page index, before the headers
    yield lambda: file.pages(headers=True)
    for name in ("uncompressed_page_size", "definition_levels_byte_length"):
        yield lambda name=name: cells(file.pages(headers=True), name)  # type: ignore[misc]
    yield lambda: cells(file.pages(verify_checksums=True), "crc_state")
    yield lambda: cells(file.layout(pages=True), "kind", "column", "page", "note")
    yield lambda: file.dictionary(0, 0)
    for leaf in range(file.metadata.num_leaves):
        yield lambda leaf=leaf: plan_of(file, leaf)  # type: ignore[misc]
        yield lambda leaf=leaf: file.select(leaf).to_arrow().to_pydict()  # type: ignore[misc]
    for leaf in range(file.metadata.num_leaves):
        yield lambda leaf=leaf: file.statistics(leaf, pages=True)  # type: ignore[misc]
        yield lambda leaf=leaf: file.select(leaf, rows=(1, 2)).to_arrow().to_pydict()  # type: ignore[misc]
    yield lambda: cells(file.check(), "rule", "column", "page")


def cells(frame: pl.DataFrame, *names: str) -> list[tuple[Any, ...]]:
    return frame.select(names).rows()


def plan_of(file: pqlab.ParquetFile, leaf: int) -> tuple[Any, ...]:
    plan = file.select(leaf).plan()
    return plan.num_rows, plan.memory_source, plan.memory_low_bytes, plan.memory_high_bytes


def said(look: Callable[[], Any]) -> str:
    """What is seen, without places and sizes."""
    try:
        value = look()
    except pqlab.PqlabError as error:
        value = f"{type(error).__name__}: {error}"
    if hasattr(value, "write_json"):
        value = value[[name for name in value.columns if not PLACES.search(name)]].rows()
    return NUMBERS.sub("", str(value))


def observed(data: bytes) -> Iterator[str]:
    """What is said of a file, look by look."""
    try:
        file = pqlab.open(data, cache=None)
    except pqlab.PqlabError as error:
        yield type(error).__name__ + str(error.field)
        return
    with file:
        yield from map(said, looks(file))


@cache
def unchanged() -> tuple[str, ...]:
    return tuple(observed(build()))


def makes_a_difference(data: bytes) -> bool:
    return any(a != b for a, b in zip(observed(data), unchanged(), strict=False))


def other(value: Any) -> Any:
    """Another value of the same type; the same where there is none."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value[:-1] + chr(ord(value[-1]) + 1)
        case bytes():
            return value[:-1] + bytes([value[-1] ^ 1])
        case [first, *rest] if not hasattr(first, "thrift_spec"):
            return [other(first), *rest]
        case [_, *rest]:
            return rest
        case _ if type(value) in raw.idl().__thrift_meta__["unions"]:
            return other_member(value)
    return value


def other_member(union: Any) -> Any:
    """Of a union another member, empty; or none, where it has one only."""
    spec = union.thrift_spec.values()
    unset = [field for field in spec if getattr(union, field[1]) is None]
    return type(union)(**{field[1]: field[2]() for field in unset[:1]})


def changes_of(struct: type, field: str) -> Iterator[Change]:
    """Ways to change a field of a struct; each returns whether there was one to change."""
    is_required = next(spec[-1] for spec in struct.thrift_spec.values() if spec[1] == field)  # type: ignore[attr-defined]

    def to(make: Callable[[Any], Any], only: type = object) -> Change:
        def change(value: Any) -> bool:
            before = getattr(value, field) if type(value) is struct else None
            if before is None or not isinstance(before, only):
                return False
            setattr(value, field, make(before))
            return True

        return change

    yield to(other)
    if not is_required:
        yield to(lambda _: None)
    yield to(lambda value: value + 50, int)
    yield to(lambda value: value - 10, int)


def is_used(struct: str, field: str) -> bool | None:
    """None: the file has no such field."""
    seen = None
    for change in changes_of(getattr(raw.idl(), struct), field):
        changed: list[bool] = []
        data = build(lambda value, change=change, changed=changed: changed.append(change(value)))  # type: ignore[misc]
        if any(changed):
            if makes_a_difference(data):
                return True
            seen = False
    return seen


@pytest.mark.parametrize("struct", sorted(STATUSES.keys() - set(ENCRYPTION)))
def test_a_field_is_used_if_changing_it_makes_a_difference(struct: str) -> None:
    says = {field: status for field, status in STATUSES[struct].items() if status != "refused"}
    words = {True: "used", False: "shown only", None: "not in the file"}
    assert {field: words[is_used(struct, field)] for field in says} == says


def test_nothing_else_is_refused() -> None:
    refused: dict[str, set[str]] = {}
    for struct, fields in STATUSES.items():
        for field, status in fields.items():
            if status == "refused":
                refused.setdefault(struct, set()).add(field)
    assert refused == {
        "ColumnChunk": {"file_path", "crypto_metadata", "encrypted_column_metadata"},
        "EncryptionAlgorithm": {"AES_GCM_V1", "AES_GCM_CTR_V1"},
        "ColumnCryptoMetaData": {"ENCRYPTION_WITH_FOOTER_KEY", "ENCRYPTION_WITH_COLUMN_KEY"},
        "FileCryptoMetaData": {"encryption_algorithm", "key_metadata"},
    }
    lines = [line for line in PAGE.split("## Fields")[0].splitlines() if "| refused" in line]
    assert {line.split("|")[1].strip() for line in lines} == {"LZO = 3", "any other"}
