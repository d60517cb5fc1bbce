"""The overview of a file: figures as pyarrow has them, HTML that nothing in a file can bend."""

from __future__ import annotations

import io
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import pqlab
from pqlab import sample, text
from pqlab.overview import html, view

STRANGE = [
    "<img src=x onerror=alert(1)>",
    "</style><script>document.title='bent'</script>",
    'a" onmouseover="alert(1)',
    "&lt;b&gt;",
    "line\nbreak\u202e\x00",
    "שלום",
    "",
    "x" * 5000,
]


class Page(HTMLParser):
    """The elements, attributes and texts of a piece of HTML; checks that elements are balanced."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.texts.append(data)


def make_view(path: Path) -> view.View:
    with pqlab.open(path) as file:
        return file.overview()


def write(path: Path, names: list[str]) -> Path:
    """A file of these columns, and of a group of the same, with the names as keys as well."""
    columns = [pa.array([1, None]) for _ in names]
    group = pa.StructArray.from_arrays(columns, names)
    table = pa.Table.from_arrays([*columns, group], [*names, "group"])
    pq.write_table(table.replace_schema_metadata({name: name for name in names}), path)
    return path


@pytest.fixture(scope="module")
def taxi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample.write(tmp_path_factory.mktemp("taxi") / "taxi.parquet", rows=20_000)


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("strange") / "<i>name<b>.parquet", STRANGE)


def test_figures_are_pyarrows(taxi: Path) -> None:
    shown, metadata = make_view(taxi), pq.read_metadata(taxi)
    assert shown.num_rows == metadata.num_rows
    assert shown.num_columns == metadata.num_columns
    assert shown.num_row_groups == metadata.num_row_groups
    assert shown.subtitle.endswith(metadata.created_by)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    assert [row.num_rows for row in shown.row_groups] == [group.num_rows for group in groups]
    rows = list(shown.schema_rows())
    assert [row.name for row in rows] == pq.read_schema(taxi).names
    for leaf, row in enumerate(rows):
        chunks = [group.column(leaf) for group in groups]
        assert row.compressed_bytes == sum(chunk.total_compressed_size for chunk in chunks)
        assert row.uncompressed_bytes == sum(chunk.total_uncompressed_size for chunk in chunks)
        assert row.null_count == sum(chunk.statistics.null_count for chunk in chunks)
        assert row.codecs == (chunks[0].compression,)
        assert set(row.encodings) <= {name for chunk in chunks for name in chunk.encodings}


def test_encodings_are_those_of_data_pages_where_the_footer_says(
    taxi: Path, tmp_path: Path
) -> None:
    names = {0: "PLAIN", 3: "RLE", 8: "RLE_DICTIONARY"}
    raw = pqlab.open(taxi).metadata.raw()  # by thriftpy2
    for leaf, row in enumerate(make_view(taxi).schema_rows()):
        stats = [
            entry
            for group in raw.row_groups
            for entry in group.columns[leaf].meta_data.encoding_stats
        ]
        used = {names[entry.encoding] for entry in stats if entry.page_type in (0, 3)}
        assert row.are_of_data_pages
        assert set(row.encodings) == used
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "x.parquet")
    (row,) = make_view(tmp_path / "x.parquet").schema_rows()
    assert not row.are_of_data_pages
    assert "listed: " in row.storage
    facts = {fact.name: fact.value for fact in make_view(tmp_path / "x.parquet").facts}
    assert facts["statistics"] == "the one column chunk"
    assert "only page headers tell them apart" in html.render(make_view(tmp_path / "x.parquet"))


def test_parts_add_up_to_the_file(taxi: Path) -> None:
    shown, metadata = make_view(taxi), pq.read_metadata(taxi)
    assert sum(part.size_bytes for part in shown.parts) == taxi.stat().st_size
    sizes = {part.name: part.size_bytes for part in shown.parts}
    assert sizes["footer"] == metadata.serialized_size + 8
    named = [part for part in shown.parts if part.kind == "named"]
    assert [part.ordinal for part in named] == list(range(1, 9))
    assert named == sorted(named, key=lambda part: -part.size_bytes)
    assert sizes["12 other columns"] > 0
    # What no column, index or footer accounts for is the magic at the start.
    assert sizes["other bytes"] == 4


def test_nested_sizes_add_up(tmp_path: Path) -> None:
    path = sample.write(tmp_path / "nested.parquet", kind="nested", rows=500)
    rows = list(make_view(path).schema_rows())
    groups = [row for row in rows if row.children]
    assert len(groups) > 5
    for row in groups:
        assert row.compressed_bytes == sum(child.compressed_bytes for child in row.children)
        assert {child.depth for child in row.children} == {row.depth + 1}


def test_facts(taxi: Path, tmp_path: Path) -> None:
    facts = {fact.name: fact.value for fact in make_view(taxi).facts}
    assert facts["offset index"] == "all 80 column chunks"
    assert facts["bloom filters"] == "none"
    assert facts["sorted"] == "all 4 row groups by pickup_at"
    assert facts["codecs"].startswith("SNAPPY ")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "x.parquet", compression="zstd")
    facts = {fact.name: fact.value for fact in make_view(tmp_path / "x.parquet").facts}
    assert facts["codecs"] == "ZSTD"
    assert facts["offset index"] == "none"


def test_html_is_inert(strange: Path) -> None:
    source = html.render(make_view(strange))
    page = Page(source)
    assert {tag for tag, _ in page.elements} <= {
        *("div", "span", "style", "b", "bdi", "code"),
        *("details", "summary", "dl", "dt", "dd"),
    }
    for _, attributes in page.elements:
        assert set(attributes) <= {
            *("class", "style", "title", "role", "aria-label", "open", "data-key")
        }
        assert re.fullmatch(
            r"((flex-grow|width|padding-left):[\d.]+(px|%)?)?", attributes.get("style") or ""
        )
    assert source.count("<style") == source.count("</style") == 1
    assert not re.search(r"url\(|@import|https?:|src=[^x]|href", source)
    whole = "\n".join(page.texts)
    for name in STRANGE:
        assert text.clip(text.visible(name), 60) in whole
    assert "<i>name<b>.parquet" in whole


def test_html_is_bounded(tmp_path: Path) -> None:
    table = pa.table({f"column_{number}": pa.array([1]) for number in range(10_000)})
    table = table.replace_schema_metadata({f"key {number}": "v" * 10_000 for number in range(500)})
    pq.write_table(table, tmp_path / "wide.parquet", row_group_size=1)
    shown = make_view(tmp_path / "wide.parquet")
    assert shown.num_columns == 10_000
    assert shown.num_schema_rows_left_out == 10_000 - view.MAX_SCHEMA_ROWS
    source = html.render(shown)
    assert len(source) < 300_000
    assert "9,800 more elements" in source
    assert "451 more" in source
    assert "9,992 other columns" in source


def test_deep_schema(tmp_path: Path) -> None:
    array: pa.Array = pa.array([1])
    for _ in range(90):
        array = pa.StructArray.from_arrays([array], ["s"])
    pq.write_table(pa.table({"s": array}), tmp_path / "deep.parquet")
    shown = make_view(tmp_path / "deep.parquet")
    rows = list(shown.schema_rows())
    assert len(rows) == view.MAX_SCHEMA_DEPTH
    assert len({row.compressed_bytes for row in rows}) == 1
    assert shown.num_schema_rows_left_out == 91 - view.MAX_SCHEMA_DEPTH
    Page(html.render(shown))


def test_file_shows_itself(taxi: Path) -> None:
    file = pqlab.open(taxi)
    assert "taxi.parquet" in file._repr_html_()
    console = Console(file=io.StringIO(), width=140)
    console.print(file)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "20,000 rows · 20 columns · 4 row groups" in shown
    for row in make_view(taxi).schema_rows():
        assert row.name in shown


def test_terminal_shows_names_as_text(strange: Path) -> None:
    console = Console(force_terminal=True, width=200)
    with console.capture() as captured:
        console.print(pqlab.open(strange))
    shown = captured.get()
    assert "\x00" not in shown
    assert "\u202e" not in shown
    assert r"line\nbreak\u202e\x00" in shown


def test_dataset(tmp_path: Path) -> None:
    for number in range(12):
        folder = tmp_path / f"k={number}"
        folder.mkdir()
        sample.write(folder / "<b>.parquet", rows=100 * (number + 1), seed=number)
    (tmp_path / "<i>.txt").write_text("x")
    dataset = pqlab.open(tmp_path)
    shown = dataset.overview()
    paths = list(tmp_path.glob("*/*.parquet"))
    sizes = {str(path.relative_to(tmp_path)): path.stat().st_size for path in paths}
    assert (shown.num_files, shown.num_rows, shown.num_columns) == (12, 7800, 20)
    assert shown.size_bytes == sum(part.size_bytes for part in shown.parts) == sum(sizes.values())
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:8]
    assert [(part.name, part.size_bytes) for part in shown.parts[:-1]] == largest
    assert shown.parts[-1].name == "4 other files"
    whole = "\n".join(Page(dataset._repr_html_()).texts)
    assert "<b>.parquet" in whole
    assert "<i>.txt" in whole
    console = Console(file=io.StringIO(), width=150)
    console.print(dataset)
    assert "12 files · 7,800 rows" in console.file.getvalue()  # type: ignore[attr-defined]


def test_empty_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "rows.parquet")
    pq.write_table(pa.table({}), tmp_path / "columns.parquet")
    for name in ("rows.parquet", "columns.parquet"):
        shown = make_view(tmp_path / name)
        assert shown.num_rows == 0
        assert sum(part.size_bytes for part in shown.parts) == (tmp_path / name).stat().st_size
        Page(html.render(shown))


@pytest.mark.browser
def test_browser_runs_nothing_of_a_file(strange: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        f"<meta charset=utf-8><title>intact</title>{html.render(make_view(strange))}",
        encoding="utf-8",
    )
    done = subprocess.run(
        [
            "chromium",
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *("--no-first-run", f"--user-data-dir={tmp_path / 'profile'}"),
            *("--dump-dom", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "<title>intact</title>" in done.stdout
    assert "<img" not in done.stdout
    assert "<script" not in done.stdout
