"""Limits stop what passes them and say how to raise them; files that unfold stay within memory."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attacks import ATTACKS
from command_line import Save
from edited_footers import written
from handmade import Column, Page, file_of, prefixed
from sanitizers import SANITIZED

import pqlab
from pqlab.footer import raw

PROGRAM = Path(__file__).with_name("attacks.py")
NUMBERS = [*range(3000)]
TABLE = pa.table({"list": [[{"a": number}] for number in NUMBERS], "text": [*map(str, NUMBERS)]})
DATA = written(TABLE, row_group_size=1000, data_page_size=2000, write_page_index=True,
               use_dictionary=False, write_batch_size=100)  # fmt: skip

LONG = raw.idl().Statistics(max_value=bytes(1 << 20), min_value=b"")
LONG_HEADER = file_of(Column("BYTE_ARRAY", [Page(prefixed(b"y"), 1, statistics=LONG)]))

# Limit -> a value that is too small for the file, and who meets it.
Look = Callable[[pqlab.ParquetFile], Any]
STOPPED: dict[str, tuple[int, Look]] = {
    "footer_bytes": (100, lambda file: file.info),
    "schema_elements": (4, lambda file: file.info),
    "schema_depth": (2, lambda file: file.info),
    "row_groups": (2, lambda file: file.info),
    "column_chunks": (5, lambda file: file.info),
    "pages": (1, lambda file: file.pages()),
    "page_header_bytes": (1 << 17, lambda file: file.pages(headers=True)),
    "page_bytes": (100, lambda file: file.read()),
    "index_bytes": (5, lambda file: file.pages()),
    "read_bytes": (1000, lambda file: file.read()),
}  # fmt: skip


def test_each_limit_is_tried() -> None:
    assert STOPPED.keys() == {field.name for field in dataclasses.fields(pqlab.Limits)}


@pytest.mark.parametrize("name", STOPPED)
def test_a_limit_names_itself_its_value_and_its_argument(name: str) -> None:
    value, look = STOPPED[name]
    data = LONG_HEADER if name == "page_header_bytes" else DATA

    def look_within(limit: int) -> None:
        with pqlab.open(data, limits=pqlab.Limits(**{name: limit}), cache=None) as file:
            look(file)

    with pytest.raises(pqlab.LimitError) as raised:
        look_within(value)
    said = str(raised.value)
    assert f"{name} = {value:,}" in said or f"{name} = {value}" in said
    needed = re.search(rf"limits=pqlab\.Limits\({name}=(\d+)\)", said)
    assert needed is not None, said
    assert int(needed[1]) > value
    look_within(1 << 40)


def attacked(path: Path, memory_limit: int) -> tuple[str, int, str]:
    """The error's name, by how many bytes the process grew, what was said."""
    done = subprocess.run(
        [sys.executable, PROGRAM, path, str(memory_limit)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    name, grown, said = done.stdout.strip().split("\t")
    return name, int(grown), said


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_stays_within_the_memory_limit(save: Save, name: str) -> None:
    limit = 64 << 20
    error, grown, said = attacked(save(ATTACKS[name]()), limit)
    assert error in ("LimitError", "CorruptError"), said
    assert SANITIZED or grown < 2 * limit, said


@pytest.mark.memory
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_on_little_memory_is_an_error_or_values(save: Save, name: str) -> None:
    """A process that may map a gibibyte more: what does not fit is an error of our own."""
    error, grown, said = attacked(save(ATTACKS[name]()), 0)
    assert error in ("LimitError", "CorruptError", "values"), said
    assert grown < 1 << 30
