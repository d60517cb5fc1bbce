"""The Timing and Compare screens in a real JupyterLab, by mouse and by keyboard, no network.

`tests/widget_mutations.py` says which change of the sources each test notices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from lab_server import Lab, inspector, keep
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

PANEL = ".pq-inspector .pq-timing"
READ = """
import pqlab
t = pqlab.Trace()
f = pqlab.open("taxi.parquet")
f.read(trace=t)
p = pqlab.TimingPanel(t)
p
"""
ITERATED = """
import pqlab
t = pqlab.Trace()
f = pqlab.open("taxi.parquet")
for _ in f.select(["fare_amount", "pickup_at", "<img src=x>"][:2]).iter_row_groups(trace=t):
    pass
pqlab.TimingPanel(t)
"""
MANY = """
import io, pyarrow as pa, pyarrow.parquet as pq, pqlab
sink = io.BytesIO()
table = pa.table({"<img src=x onerror=alert(1)>": list(range(600_000))})
pq.write_table(table, sink, use_dictionary=False, data_page_size=500, write_batch_size=100)
t = pqlab.Trace()
pqlab.open(sink.getvalue()).read(trace=t)
pqlab.TimingPanel(t)
"""
FILES = """
import pqlab, pyarrow.parquet as pq
table = pqlab.open("taxi.parquet").select(["fare_amount", "pickup_at", "trip_id"]).to_arrow()
pq.write_table(table, "one.parquet", compression="none", use_dictionary=False)
pq.write_table(table, "other.parquet", compression="zstd", use_dictionary=False)
pqlab.ComparePanel("one.parquet", "other.parquet")
"""
RUNS = """
import time, pqlab
slow, fast = (lambda: time.sleep(0.006)), (lambda: time.sleep(0.003))
pqlab.ComparePanel(pqlab.compare(slow, fast, seconds=0.1, names=("slow", "fast")))
"""


def opened(lab: Lab, code: str, selector: str, width: int = 1600, theme: str = "light") -> Page:
    page = lab.open(code.strip(), "", width=width, height=1400, theme=theme)
    expect(page.locator(selector).first).to_be_visible(timeout=60_000)
    return page


@pytest.fixture(scope="module")
def read(lab: Lab) -> Iterator[Page]:
    """A panel of one read."""
    page = opened(lab, READ, ".pq-timeline")
    expect(page.locator(".pq-table-row").first).to_be_visible()
    yield page
    page.close()


@pytest.fixture
def panel(read: Page) -> Page:
    """The same, with nothing brushed."""
    timeline(read).focus()
    read.keyboard.press("Escape")
    read.keyboard.press("0")
    expect(read.locator("[data-name='clear brush']")).to_have_count(0)
    expect(read.locator("[data-name='zoom whole']")).to_be_disabled()
    read.wait_for_timeout(300)  # the marks of the whole are on their way
    return read


def timeline(page: Page) -> Locator:
    return page.locator("[data-name='timeline']")


def drag(page: Page, first: float, last: float) -> None:
    """Drag over a part of the timeline: from 0, its start, to 1."""
    box = timeline(page).bounding_box()
    assert box is not None
    gutter = 104
    xs = [box["x"] + gutter + share * (box["width"] - gutter) for share in (first, last)]
    page.mouse.move(xs[0], box["y"] + 40)
    page.mouse.down()
    page.mouse.move((xs[0] + xs[1]) / 2, box["y"] + 42)
    page.mouse.move(xs[1], box["y"] + 42)
    page.mouse.up()


def num_pages(page: Page) -> int:
    words = page.locator(f"{PANEL} h4", has_text="Pages").inner_text()
    found = re.search(r"[\d,]+", words)
    assert found is not None
    return int(found[0].replace(",", ""))


def is_drawn(page: Page) -> bool:
    """Whether the canvas has colours beside those of its text and lines."""
    script = """() => {
        const canvas = document.querySelector(".pq-timeline canvas");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        for (let at = 0; at < data.length; at += 4)
            if (data[at] === 0xf6 && data[at + 1] === 0xb2 && data[at + 2] === 0x6b) return true;
        return false;
    }"""
    drawn: bool = page.evaluate(script)
    return drawn


def test_a_panel_draws_lanes_bars_encodings_and_pages(panel: Page) -> None:
    keep(panel, "timing")
    page = panel
    expect(page.locator(".pq-stages")).to_contain_text("decompress")
    assert is_drawn(page)  # orange: pages that were decompressed
    expect(page.locator("[data-name='bar 0']")).to_be_visible()
    expect(page.locator("[data-name='encoding RLE_DICTIONARY']")).to_contain_text("pages")
    expect(page.locator(".pq-timing-head")).to_contain_text("20 columns")
    expect(page.locator(".pq-note").first).to_contain_text("cold")
    assert num_pages(page) > 300


def test_dragging_over_the_timeline_filters_the_other_views(lab: Lab, panel: Page) -> None:
    page, whole = panel, num_pages(panel)
    drag(page, 0.5, 0.8)
    expect(page.locator(".pq-brush")).to_be_visible()
    expect(page.locator(".pq-badge")).to_contain_text("pages ·")
    keep(page, "timing_brushed")
    assert 0 < num_pages(page) < whole
    lab.run(page, "print('brushed', p.brush[1] > p.brush[0], p.pages.height)")
    expect(page.locator(".jp-OutputArea-output").last).to_contain_text(
        f"brushed True {num_pages(page)}"
    )
    page.click("[data-name='zoom brush']")
    expect(page.locator("[data-name='zoom whole']")).to_be_enabled()
    keep(page, "timing_zoomed")
    page.click("[data-name='clear brush']")
    expect(page.locator(".pq-brush")).to_be_hidden()
    assert num_pages(page) == whole
    lab.run(page, "p.brush = (0, 10_000_000)")
    expect(page.locator(".pq-badge")).to_contain_text("10.0 ms from 0 ns on")


def test_the_timeline_is_walked_and_brushed_by_keys(panel: Page) -> None:
    page = panel
    timeline(page).focus()
    for key in (*["ArrowDown"] * 8, "ArrowRight"):  # the last lane, which is a worker's
        page.keyboard.press(key)
    said = page.locator(f"{PANEL} [role='status'].pq-said")
    expect(said).to_contain_text(re.compile(r"worker \d: \w+ .*row group \d"))
    before = said.inner_text()
    page.keyboard.press("ArrowRight")
    expect(said).not_to_have_text(before)
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    expect(page.locator(".pq-brush")).to_be_visible()
    expect(page.locator(".pq-badge")).to_contain_text("from")
    keep(page, "timing_keys")
    page.keyboard.press("z")
    expect(page.locator("[data-name='zoom whole']")).to_be_enabled()
    page.keyboard.press("0")
    expect(page.locator("[data-name='zoom whole']")).to_be_disabled()
    page.keyboard.press("Escape")
    expect(page.locator(".pq-brush")).to_be_hidden()


def test_a_column_is_chosen_by_its_bar(panel: Page) -> None:
    page, whole = panel, num_pages(panel)
    bars = page.locator(".pq-bar-row")
    bar = bars.filter(has_not_text="shared by columns").first
    name = bar.locator(".pq-name").inner_text()
    bar.focus()
    page.keyboard.press("Enter")
    expect(bar).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".pq-table-row").first).to_contain_text(name)
    assert 0 < num_pages(page) < whole
    keep(page, "timing_column")
    page.keyboard.press("Enter")
    expect(bar).to_have_attribute("aria-pressed", "false")
    bars.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(bars.nth(2)).to_be_focused()


def test_pages_are_sorted_and_distributions_measured_by_value(panel: Page) -> None:
    page = panel
    first = page.locator(".pq-table-row").first
    expect(first).to_be_visible()
    dearest = first.inner_text()
    page.click("[data-name='sort total_ns']")
    expect(first).not_to_have_text(dearest)
    page.click("[data-name='sort total_ns']")
    page.click("[data-name='sort total_ns']")
    expect(first).to_have_text(re.compile(re.escape(dearest.split("\n")[0])))
    median = page.locator("[data-name='encoding RLE_DICTIONARY'] .pq-number")
    of_a_page = median.inner_text()
    page.click("[data-name='measure value']")
    expect(median).not_to_have_text(of_a_page)
    page.click("[data-name='measure page']")


def test_exports_land_in_the_notebook_and_beside_it(lab: Lab, panel: Page) -> None:
    page = panel
    page.click("[data-name='export frame']")
    expect(page.locator(".pq-saved")).to_contain_text("timing_pages has the")
    lab.run(page, "print('exported', timing_pages.height)")
    expect(page.locator(".jp-OutputArea-output").last).to_contain_text(
        f"exported {num_pages(page)}"
    )
    page.click("[data-name='export chrome']")
    expect(page.locator(".pq-saved")).to_contain_text("pqlab-trace.json")
    assert (lab.folder / "pqlab-trace.json").stat().st_size > 10_000


@pytest.mark.parametrize(("width", "theme"), [(1000, "dark"), (1600, "light")])
def test_an_iteration_shows_misses_and_windows(lab: Lab, width: int, theme: str) -> None:
    page = opened(lab, ITERATED, ".pq-windows", width, theme)
    keep(page, f"timing_iteration_{width}")
    expect(page.locator(".pq-timing-head")).to_contain_text("prefetch miss")
    expect(page.locator(".pq-windows .pq-miss").first).to_be_attached()
    timeline(page).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator(f"{PANEL} .pq-said")).to_contain_text("consumer: miss: stalled")
    box = page.locator(".pq-inspector").bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= width
    page.close()


def test_many_pages_are_binned_and_names_are_text(lab: Lab) -> None:
    page = opened(lab, MANY, "[data-name='binned']")
    expect(page.locator("[data-name='binned']")).to_contain_text("shown as sums over")
    keep(page, "timing_binned")
    expect(page.locator("[data-name='bar 0']")).to_contain_text("<img src=x")
    assert page.locator(".pq-inspector img").count() == 0
    drag(page, 0.60, 0.61)
    page.click("[data-name='zoom brush']")
    expect(page.locator("[data-name='binned']")).to_have_count(0)
    assert is_drawn(page) or page.locator(".pq-stages").inner_text().count("decode")
    page.close()


def test_the_inspector_leads_to_timing_and_back(lab: Lab) -> None:
    page = inspector(lab, "taxi.parquet", height=1400)
    page.fill("[data-name='variable']", "frame")
    page.keyboard.press("Tab")
    page.click("[data-name='tab timing']")
    expect(page.locator(PANEL)).to_contain_text("Nothing was read yet")
    page.click("[data-name='tab compare']")
    expect(page.locator(".pq-compare")).to_contain_text("Nothing to compare yet")
    page.click("[data-name='read']")
    expect(page.locator(".pq-done")).to_be_visible(timeout=30_000)
    page.click("[data-name='to timing']")
    expect(page.locator(".pq-table-row").first).to_be_visible()
    drag(page, 0.6, 0.8)
    expect(page.locator(".pq-plan")).to_contain_text(re.compile(r"\d+ columns?"))
    expect(page.locator(".pq-slice-words")).to_contain_text("Picked")
    keep(page, "timing_inspector")
    timeline(page).focus()
    page.keyboard.press("Escape")
    expect(page.locator(".pq-slice-words")).to_contain_text("Everything")
    page.locator(".pq-table-row").first.dblclick()
    expect(page.locator("main")).to_contain_text("Bytes as stored")
    page.click("[data-name='read']")
    expect(page.locator(".pq-done")).to_be_visible(timeout=30_000)
    page.click("[data-name='tab compare']")
    expect(page.locator(".pq-headline")).to_contain_text("the last read took")
    keep(page, "compare_reads")
    page.close()


@pytest.mark.parametrize(("width", "theme"), [(1000, "dark"), (1600, "light")])
def test_files_are_compared(lab: Lab, width: int, theme: str) -> None:
    page = opened(lab, FILES, ".pq-headline", width, theme)
    expect(page.locator(".pq-headline")).to_contain_text("smaller than one.parquet")
    expect(page.locator("[data-name='pair trip_id']")).to_contain_text("▼")
    keep(page, f"compare_files_{width}")
    first = page.locator(".pq-table-row").first
    expect(first).to_contain_text("file size bytes")
    page.locator("[data-name='part encodings']").focus()
    page.keyboard.press("Enter")
    expect(first).to_contain_text("codec")
    expect(first).to_contain_text("UNCOMPRESSED")
    expect(first).to_contain_text("ZSTD")
    page.click("[data-name='part sizes']")
    page.click("[data-name='sort change']")
    expect(page.locator("[data-name='sort change']")).to_have_attribute("aria-sort", "descending")
    page.locator("[data-name='table compare']").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".pq-table-row.pq-active")).to_have_attribute("data-index", "1")
    page.close()


def test_runs_are_compared(lab: Lab) -> None:
    page = opened(lab, RUNS, ".pq-headline")
    expect(page.locator(".pq-headline")).to_contain_text("fast is faster than slow")
    keep(page, "compare_runs")
    expect(page.locator(".pq-point").nth(6)).to_be_attached()
    expect(page.locator(".pq-figures-table")).to_contain_text("slow")
    page.close()
