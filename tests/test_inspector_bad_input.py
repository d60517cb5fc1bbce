"""The inspector of files that are hostile, or cannot be opened at all."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from edited_footers import rewritten, written
from inspector_screen import Screen, of_table

import pqlab
from pqlab.errors import PqlabError
from pqlab.inspector import chunk

MARKUP = "<img src=x onerror=alert(1)>"
LONG = MARKUP + "x" * 1_000_000


def hostile() -> Screen:
    """Names, statistics, key-value metadata and values that are markup of a megabyte."""
    table = pa.table(
        {LONG: [LONG, ""], "b": [MARKUP, LONG]}, metadata={LONG: LONG, "j": "[" * 10**6}
    )
    return of_table(table, use_dictionary=["b"], write_page_index=True)


def test_no_message_of_a_hostile_file_is_large() -> None:
    screen = hostile()
    steps: list[dict[str, Any]] = [
        {"do": "go", "screen": "grid"},
        {"ask": "grid", "start": 0, "stop": 10},
        *({"do": "go", "screen": "column", "leaf": leaf} for leaf in (0, 1)),
        {"ask": "column", "start": 0, "stop": 10},
        {"do": "go", "screen": "chunk", "leaf": 1, "row_group": 0},
        {"load": "pages"},
        {"load": "headers"},
        {"ask": "pages", "start": 0, "stop": 10},
        {"do": "go", "screen": "chunk", "tab": "details"},
        {"do": "go", "screen": "chunk", "tab": "dictionary"},
        {"load": "dictionary"},
        {"ask": "dictionary", "start": 0, "stop": 10},
        {"do": "go", "screen": "chunk", "page": 0},
        {"do": "go", "screen": "chunk", "leaf": 0, "row_group": 0},
        {"do": "pick_pages", "pages": [0, 1]},
        {"do": "go", "screen": "chunk", "page": 0},
        {"copy": "code"},
        {"run": "read"},
        {"run": "read", "overwrite": True},
    ]
    for step in steps:
        screen.say(**step)
    assert {message["kind"] for message in screen.said} == {"view", "rows", "slice", "run", "error"}
    assert "characters" in screen.last("error")["error"]["message"]  # the code is a megabyte
    assert screen.last("run")["state"] == "done"
    assert max(len(json.dumps(message)) for message in screen.said) < 100_000
    assert screen.namespace["df"].columns == [LONG, "b"]


def test_no_text_of_a_hostile_overview_is_markup() -> None:
    shown = hostile().session.file._repr_html_()
    assert "<img" not in shown
    assert len(shown) < 100_000


def test_key_value_metadata_is_decoded() -> None:
    table = pa.table(
        {"a": pa.array([1], pa.int8())}, metadata={"j": '{"x": [1, "<b>"]}', "t": "{x"}
    )
    keys = {
        key: (value, lines) for key, value, lines in of_table(table).last("view")["body"]["keys"]
    }
    assert keys["j"] == ('{"x": [1, "<b>"]}', ["{", '  "x": [', "    1,", '    "<b>"', "  ]", "}"])
    assert keys["t"] == ("{x", [])
    assert keys["ARROW:schema"][1] == ["a: int8"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["SourceError", "No such file", "Relative paths start at"]),
        (b"", ["CorruptError", "empty"]),
        (b"PAR1" + bytes(100) + b"PARE", ["EncryptedError"]),
        (b"PAR1" + bytes(100), ["CorruptError"]),
        (b"<html>no such page</html>" * 10, ["CorruptError"]),
    ],
)
def test_what_cannot_be_opened_is_shown_as_text(
    tmp_path: Path, content: bytes | None, words: list[str]
) -> None:
    path = tmp_path / f"{MARKUP[:-1]}.parquet"
    if content is not None:
        path.write_bytes(content)
    shown = pqlab.inspect(path)
    for word in (*words, "When that is mended, run this again."):
        assert word in repr(shown)
        assert word in shown._repr_html_()
    assert "<img" not in shown._repr_html_()
    with pytest.raises(PqlabError) as raised:
        shown.read()
    with pytest.raises(type(raised.value)):
        pqlab.open(path)
    assert copy.copy(shown).error is raised.value


def test_a_large_dictionary_is_asked_for_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [f"value {number:06}" for number in range(2_000)]
    screen = of_table(pa.table({"a": values}), write_page_index=True)
    size_bytes = screen.session.file.pages(0, 0)["total_bytes"][0]
    monkeypatch.setattr(chunk, "ASKS_ABOVE_BYTES", size_bytes - 1)
    screen.say(do="go", screen="chunk", row_group=0, leaf=0, tab="dictionary")
    assert not screen.last("view")["body"]["is_dictionary_large"]
    screen.say(load="dictionary")
    body = screen.last("view")["body"]
    assert body["dictionary"] is None
    assert body["is_dictionary_large"]
    screen.say(load="dictionary")
    assert screen.last("view")["body"]["dictionary"]["num_rows"] == 2_000
    screen.say(do="look", search="value 0019")
    assert [row[1] for row in screen.rows("dictionary")] == [v for v in values if "value 0019" in v]
    monkeypatch.setattr(chunk, "ASKS_ABOVE_BYTES", size_bytes)
    screen = Screen(screen.session.file)
    screen.say(do="go", screen="chunk", row_group=0, leaf=0, tab="dictionary")
    screen.say(load="dictionary")
    assert screen.last("view")["body"]["dictionary"] is not None


def test_four_kinds_of_bounds_have_four_displays() -> None:
    """An empty minimum, none at all, the null count alone, deprecated ones (case 13)."""

    def deprecate(metadata: Any) -> None:
        statistics = metadata.row_groups[0].columns[0].meta_data.statistics
        statistics.min, statistics.max = statistics.min_value, statistics.max_value
        statistics.min_value = statistics.max_value = None

    table = pa.table({"s": pa.array(["", "b"]), "n": pa.array([1, 7], pa.int32())})
    assert _bounds(written(table)) == ('""', "b", "0", "present")
    assert _bounds(written(table, write_statistics=False)) == ("—", "—", "—", "absent")
    nulls = pa.table({"s": pa.array([None, None], pa.string())})
    assert _bounds(written(nulls)) == ("—", "—", "2", "absent")
    numbers = rewritten(written(table.select(["n"])), deprecate)
    assert _bounds(numbers) == ("1", "7", "0", "deprecated")


def _bounds(data: bytes) -> tuple[str, ...]:
    screen = Screen(pqlab.open(data))
    screen.say(do="go", screen="column", leaf=0)
    names = [column["name"] for column in screen.last("view")["body"]["table"]["columns"]]
    row = dict(zip(names, screen.rows("column")[0], strict=True))
    return tuple(row[name] for name in ("min_text", "max_text", "null_count", "bounds_state"))


def test_encodings_are_unknown_until_headers_are_read() -> None:
    """Without `encoding_stats`; a dictionary that fell back is seen page by page (case 14)."""

    def forget(metadata: Any) -> None:
        metadata.row_groups[0].columns[0].meta_data.encoding_stats = None

    values = [f"{number:020}" for number in range(3_000)]
    options = {
        "dictionary_pagesize_limit": 15_000,
        "data_page_size": 4_000,
        "write_batch_size": 100,
    }
    data = written(pa.table({"a": values}), **options)
    shown = {}
    for name, bytes_ in (("stated", data), ("unknown", rewritten(data, forget))):
        screen = Screen(pqlab.open(bytes_))
        screen.say(do="go", screen="grid")
        screen.say(do="look", lens="encoding")
        cell = screen.rows("grid")[0]["cells"][0]
        screen.say(do="go", screen="column", leaf=0)
        heads = [head["name"] for head in screen.last("view")["body"]["table"]["columns"]]
        row = dict(zip(heads, screen.rows("column")[0], strict=True))
        shown[name] = cell[2], row["data_page_encodings"], row["fell_back"]
    assert shown["unknown"] == ("unknown", "unknown", "unknown")
    assert shown["stated"] == ("PLAIN, RLE_DICTIONARY", "PLAIN, RLE_DICTIONARY", "⚠ fell back")
    screen.say(do="go", screen="chunk", row_group=0, leaf=0)
    screen.say(load="headers")
    heads = [head["name"] for head in screen.last("view")["body"]["pages"]["columns"]]
    encodings = [row[heads.index("encoding")] for row in screen.rows("pages")]
    assert encodings[0] == "PLAIN"  # the dictionary page
    fall = encodings.index("PLAIN", 1)
    assert set(encodings[1:fall]) == {"RLE_DICTIONARY"}
    assert set(encodings[fall:]) == {"PLAIN"}


def test_a_name_beside_one_in_a_group_and_twins_are_all_shown() -> None:
    """Case 12: `name` and `address.name`; two roots of one name."""
    address = pa.array([{"name": "x"}])
    table = pa.Table.from_arrays(
        [pa.array([1]), address, pa.array([2]), pa.array([3])], ["name", "address", "two", "two"]
    )
    screen = of_table(table)
    names = [row["name"] for row in screen.last("view")["body"]["schema"]]
    assert names == ["name", "address", "name", "two", "two"]
    screen.say(do="go", screen="grid")
    assert [row["name"] for row in screen.rows("grid")] == ["name", "address", "name", "two", "two"]
    screen.say(do="pick_cells", rows=[2, 4], row_groups=None)
    selection = screen.session.selection
    assert selection.narrowed.leaves == (1, 2)
    assert eval(
        selection.code.replace("<source>", "f"), {"pqlab": _Opener(selection.file), "f": 0}
    ).narrowed.leaves == (1, 2)


class _Opener:
    """Stands for pqlab in code that opens what has no text."""

    def __init__(self, file: pqlab.ParquetFile) -> None:
        self.open = lambda _: file
