"""The inspector in a real JupyterLab, screen by screen, by mouse and by keyboard, no network.

Each test begins at the overview, with nothing picked: `tests/widget_mutations.py` says which change
of the sources each of them notices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lab_server import SCHEMA, Lab, inspector, keep
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
STRANGE = "<img src=x onerror=\"document.title='owned'\">"
WORDS = [f"word {number:04}" for number in range(3_000)]


@pytest.fixture(scope="module")
def opened(lab: Lab) -> Iterator[Page]:
    """The inspector of the taxi file."""
    page = inspector(lab, "taxi.parquet")
    yield page
    page.close()


@pytest.fixture
def page(opened: Page) -> Page:
    """The same at the overview, with nothing picked."""
    start(opened)
    return opened


@pytest.fixture(scope="module")
def words(lab: Lab) -> Iterator[Page]:
    """The inspector of a file with a nested column, a bloom filter, a fall-back of a dictionary."""
    table = pa.table(
        {
            "address": [{"city": word, "zip": number % 9} for number, word in enumerate(WORDS)],
            "word": WORDS,
            "many": [f"{number:020}" for number in range(3_000)],
        }
    )
    filters = {"word": {"ndv": 3_000, "fpp": 0.001}}
    path = lab.folder / "words.parquet"
    pq.write_table(
        table,
        path,
        row_group_size=1_000,
        bloom_filter_options=filters,
        dictionary_pagesize_limit=15_000,
        data_page_size=4_000,
        write_batch_size=100,
    )
    page = inspector(lab, "words.parquet")
    yield page
    page.close()


def start(page: Page) -> None:
    page.click("[data-name='tab overview']")
    expect(page.locator(SCHEMA)).to_be_visible()
    if page.locator("[data-name='clear']").is_visible():
        page.click("[data-name='clear']")
    expect(page.locator(".pq-slice-words")).to_contain_text("Everything")
    page.locator("[data-name='schema']").focus()


def keys(page: Page) -> str:
    return page.locator(".pq-key-bar").inner_text()


def press(page: Page, *names: str) -> None:
    for name in names:
        page.keyboard.press(name)


def to_grid(page: Page) -> None:
    press(page, "2")
    expect(page.locator("[data-name='grid']")).to_be_focused()
    expect(page.locator("[aria-rowindex='3'] [aria-colindex='2']")).to_be_visible()


def back_to(page: Page, name: str) -> None:
    """Up once, to where the focus then is."""
    press(page, "Backspace")
    expect(page.locator(f"[data-name='{name}']")).to_be_focused()


def plan(page: Page) -> Locator:
    return page.locator(".pq-plan")


def test_an_output_before_widgets_can_be_shown_becomes_one(lab: Lab) -> None:
    """JupyterLab renders an output once; pqlab shows it again until a view has opened."""
    page = lab.open("1 + 1", "")
    renderers = "window.jupyterapp.shell.currentWidget.content.rendermime"
    expect(page.locator(".jp-OutputArea-output")).to_contain_text("2", timeout=60_000)
    page.evaluate(f"window.kept = {renderers}.getFactory({WIDGET_VIEW!r})")
    page.evaluate(f"{renderers}.removeMimeType({WIDGET_VIEW!r})")
    lab.run(page, "import pqlab; pqlab.inspect('taxi.parquet')")
    overview = page.locator("[data-pqlab]")
    expect(overview).to_contain_text("run the cell again")
    page.evaluate(f"{renderers}.addFactory(window.kept, -10)")
    expect(page.locator(SCHEMA)).to_be_visible(timeout=30_000)
    expect(overview).to_be_hidden()
    page.close()


def test_overview_shows_bytes_schema_and_keys(page: Page) -> None:
    keep(page, "overview")
    expect(page.locator(".pq-identity")).to_contain_text("200,000 rows")
    expect(page.locator(".pq-overview")).to_contain_text("dictionary pages")
    expect(page.locator(".pq-badges")).to_contain_text("offset index all 80 column chunks")
    page.locator("summary", has_text="////").click()
    expect(page.locator(".pq-overview pre", has_text="trip_id")).to_contain_text("trip_id: int64")
    page.locator("summary", has_text="////").click()
    page.locator("[data-name='schema']").focus()
    assert "opens the column" in keys(page)
    press(page, "End", "ArrowUp", "Home", "ArrowDown", "ArrowDown", "Enter")
    expect(page.locator(".pq-way")).to_contain_text("pickup_at")
    press(page, "1")
    page.click("[data-name='leaf 4']")
    expect(page.locator(".pq-way")).to_contain_text("passenger_count")


def test_overview_folds_groups(words: Page) -> None:
    start(words)
    schema = words.locator("[role='row'][aria-level]")
    expect(schema).to_have_count(5)
    press(words, "Home", "ArrowLeft")
    expect(schema).to_have_count(3)
    expect(words.locator("[data-name='group address']")).to_have_attribute("aria-expanded", "false")
    press(words, "ArrowRight")
    expect(schema).to_have_count(5)


def test_grid_is_dragged_over_and_walked_by_keys(page: Page) -> None:
    to_grid(page)
    cell = page.locator("[aria-rowindex='3'] [aria-colindex='3']")
    expect(cell).to_be_visible()
    to = page.locator("[aria-rowindex='5'] [aria-colindex='4']")
    cell.hover()
    page.mouse.down()
    to.hover()
    page.mouse.up()
    expect(page.locator(".pq-cell[role='gridcell'].pq-picked")).to_have_count(6)
    expect(plan(page)).to_contain_text("2 row groups × 3 columns")
    keep(page, "grid")
    page.locator("[data-name='grid']").focus()
    press(page, "Escape")
    expect(page.locator(".pq-slice-words")).to_contain_text("Everything")
    press(page, "Home", "Shift+ArrowDown")
    expect(plan(page)).to_contain_text("× 2 columns")
    press(page, "ArrowDown", "ArrowRight", "Control+ ")
    expect(plan(page)).to_contain_text("× 3 columns")
    press(page, "Control+ ")
    expect(plan(page)).to_contain_text("× 2 columns")
    press(page, "Enter")
    expect(page.locator(".pq-way")).to_contain_text("row group")
    back_to(page, "table column")
    back_to(page, "grid")
    back_to(page, "schema")


def test_grid_is_sorted_filtered_and_seen_through_lenses(page: Page) -> None:
    to_grid(page)
    press(page, "/")
    page.keyboard.type("amount", delay=20)
    expect(page.locator("[role='rowheader']")).to_have_count(4)
    press(page, "Escape")
    expect(page.locator("[data-name='grid']")).to_be_focused()
    page.locator("[data-name='filter']").fill("")
    page.select_option("[data-name='order']", "size")
    expect(page.locator("[role='rowheader']").first).to_contain_text("pickup_at")
    page.select_option("[data-name='order']", "file")
    for lens, said in (
        ("encoding", "trip_id, row group 0: PLAIN"),
        ("ratio", "trip_id, row group 0: 2.0"),
        ("nulls", "trip_id, row group 0: 0 % of the values"),
        ("pages", "trip_id, row group 0: 6 pages"),
        ("time", "trip_id, row group 0: not read"),
        ("size", "trip_id, row group 0: 19"),
    ):
        page.select_option("[data-name='lens']", lens)
        cell = page.locator("[aria-rowindex='2'] [aria-colindex='2']")
        expect(cell).to_have_attribute("aria-label", re.compile("^" + re.escape(said)))
    expect(page.locator("[role='treegrid'][aria-rowcount='21'][aria-colcount='5']")).to_be_visible()


def test_column_is_sorted_and_leads_to_its_chunk(words: Page) -> None:
    start(words)
    words.click("[data-name='leaf 3']")
    expect(words.locator(".pq-table-row")).to_have_count(3)
    expect(words.locator(".pq-table-row").first).to_contain_text("⚠ fell back")
    keep(words, "column")
    words.click("[data-name='sort row_group']")
    words.click("[data-name='sort row_group']")
    expect(words.locator(".pq-table-row").first).to_contain_text("2")
    expect(words.locator("[data-name='sort row_group']")).to_have_attribute(
        "aria-sort", "descending"
    )
    words.click("[data-name='sort row_group']")
    words.locator(".pq-table").focus()
    press(words, "Home", "ArrowDown", "Enter")
    expect(words.locator(".pq-way")).to_contain_text("row group 1")
    expect(words.locator(".pq-way")).to_contain_text("many")


def test_chunk_has_facts_a_dictionary_and_a_bloom_filter(words: Page) -> None:
    start(words)
    words.click("[data-name='leaf 2']")
    words.locator(".pq-table").focus()
    press(words, "Home", "Enter")
    words.click("[data-name='tab details']")
    expect(words.locator("main")).to_contain_text("bloom filter")
    keep(words, "chunk")
    press(words, "ArrowLeft")
    expect(words.locator("[data-name='tab bloom']")).to_have_attribute("aria-selected", "true")
    words.click("[data-name='load bloom filter']")
    words.fill("[data-name='probe']", WORDS[0])
    expect(words.locator(".pq-answer")).to_contain_text("Maybe")
    words.fill("[data-name='probe']", WORDS[0] + "!")
    expect(words.locator(".pq-answer")).to_contain_text("Absent")
    expect(words.locator("[data-name='probe']")).to_be_focused()
    keep(words, "bloom")
    words.click("[data-name='tab dictionary']")
    words.click("[data-name='load dictionary']")
    expect(words.locator("main")).to_contain_text("1,000 entries")
    words.fill("[data-name='search']", WORDS[17])
    expect(words.locator(".pq-table-row")).to_have_count(1)
    expect(words.locator(".pq-table-row")).to_contain_text("17")
    keep(words, "dictionary")
    press(words, "Escape")
    back_to(words, "table column")
    press(words, "1")
    words.click("[data-name='leaf 0']")
    words.locator(".pq-table").focus()
    press(words, "Enter")
    words.click("[data-name='tab bloom']")
    expect(words.locator("main")).to_contain_text("no bloom filter")


def test_pages_are_picked_with_shift_and_arrows_and_one_is_opened(page: Page) -> None:
    page.click("[data-name='leaf 2']")
    page.locator(".pq-table").focus()
    press(page, "ArrowDown", "Enter")
    page.click("[data-name='tab pages']")
    if page.locator("[data-name='load pages']").count():
        page.click("[data-name='load pages']")
    expect(page.locator(".pq-table-row")).to_have_count(6)
    page.locator(".pq-table-row").first.click()
    press(page, "Shift+ArrowDown")
    expect(page.locator(".pq-table-row.pq-picked")).to_have_count(2)
    expect(plan(page)).to_contain_text("18,000 rows (0:18,000 of row group 1)")
    expect(page.locator(".pq-slice-words")).to_contain_text("Of the 19 other columns, 25 pages")
    assert "opens a page" in keys(page)
    keep(page, "pages")
    press(page, "Enter")
    expect(page.locator("main")).to_contain_text("Bytes as stored")
    expect(page.locator("main")).to_contain_text("encoding = PLAIN (0)")
    expect(page.locator(".pq-way")).to_contain_text("page 1")
    keep(page, "page")
    back_to(page, "table pages")
    press(page, "Escape")
    expect(page.locator(".pq-slice-words")).to_contain_text("Everything")


def test_slice_bar_copies_names_and_never_overwrites_unasked(lab: Lab, page: Page) -> None:
    to_grid(page)
    press(page, "Home", " ")
    expect(plan(page)).to_contain_text("1 column")
    page.fill("[data-name='variable']", "first")
    press(page, "Tab")
    page.click("[data-name='read']")
    expect(page.locator(".pq-done")).to_contain_text("first:", timeout=30_000)
    lab.run(page, "print('same', eval(w.code).read().equals(first), w.frame is first); other = 1")
    expect(page.locator(".jp-OutputArea-output").last).to_contain_text("same True True")
    page.fill("[data-name='variable']", "other")
    press(page, "Tab")
    page.click("[data-name='read']")
    expect(page.locator("[data-name='overwrite']")).to_contain_text("Overwrite other")
    keep(page, "slice")
    page.click("[data-name='copy magic']")
    copied = page.locator(".pq-copied textarea")
    expect(copied).to_have_value(re.compile(r"^%pqread taxi.parquet -c trip_id .*-o other$"))
    page.click("[data-name='copy code']")
    expect(copied).to_have_value(re.compile(r"^other = pqlab.open\('taxi.parquet'\)\.select\("))
    page.click("[data-name='overwrite']")
    expect(page.locator(".pq-done")).to_contain_text("other:", timeout=30_000)
    page.fill("[data-name='variable']", "no name")
    press(page, "Tab")
    expect(page.locator("[role='alert']")).to_contain_text("is not the name of a variable")
    page.click("[data-name='dismiss']")
    lab.run(page, "w.selection = w.file.select(['extra'], row_groups=[2])")
    expect(plan(page)).to_contain_text("1 row group × 1 column")


SLOW = """
import io, time, pqlab
class Slow(io.BytesIO):
    wait_s, error = 4, None
    def readinto(self, into):
        if len(into) > 100_000:
            time.sleep(self.wait_s)
            if self.error: raise OSError(self.error)
        return super().readinto(into)
    def read(self, size=-1):
        if size > 100_000:
            time.sleep(self.wait_s)
            if self.error: raise OSError(self.error)
        return super().read(size)
slow = Slow(open("taxi.parquet", "rb").read())
slow.wait_s = 0
w = pqlab.inspect(slow)
slow.wait_s = 4
w
"""


def test_run_is_cancelled_fails_and_is_tried_again(lab: Lab) -> None:
    page = lab.open(SLOW, "")
    expect(page.locator(SCHEMA)).to_be_visible(timeout=60_000)
    page.click("[data-name='read']")
    expect(page.locator(".pq-run progress")).to_be_visible()
    expect(page.locator(".pq-run")).to_contain_text("0 pages done, 0 B of 6.")
    expect(page.locator("[data-name='read']")).to_be_disabled()
    keep(page, "run")
    page.click("[data-name='cancel']")
    expect(page.locator(".pq-run")).to_contain_text("Cancelled; nothing was assigned.")
    lab.run(page, "slow.wait_s, slow.error = 0, 'the disk is away'; print('df' in globals())")
    expect(page.locator(".jp-OutputArea-output").last).to_contain_text("False")
    page.click("[data-name='read']")
    expect(page.locator(".pq-run [role='alert']")).to_contain_text("the disk is away")
    keep(page, "failed")
    lab.run(page, "slow.error = None; 'mended'")
    expect(page.locator(".jp-OutputArea-output").last).to_contain_text("mended")
    page.click("[data-name='retry']")
    expect(page.locator(".pq-done")).to_contain_text("200,000 rows × 20 columns")
    page.close()


def test_a_lost_kernel_and_a_replaced_file_are_said_so(lab: Lab) -> None:
    table = pa.table({"a": list(range(1000))})
    pq.write_table(table, lab.folder / "replaced.parquet")
    page = inspector(lab, "replaced.parquet")
    (lab.folder / "replaced.parquet").unlink()
    pq.write_table(table.slice(10), lab.folder / "replaced.parquet")
    page.click("[data-name='read']")
    expect(page.locator(".pq-run [role='alert']")).to_contain_text("was replaced since")
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(page.locator(".pq-notice")).to_contain_text("run the cell again", timeout=30_000)
    keep(page, "restarted")
    page.close()


def test_a_saved_notebook_shows_the_overview_without_its_kernel(lab: Lab) -> None:
    page = inspector(lab, "taxi.parquet")
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    name = page.evaluate("window.jupyterapp.shell.currentWidget.context.path")
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.close()
    saved = (lab.folder / name).read_text()
    assert len(saved) < 200_000
    page = lab.look(name)
    expect(page.locator("[data-pqlab]")).to_contain_text("run the cell again")
    expect(page.locator("[data-pqlab]")).to_contain_text("pickup_at")
    keep(page, "saved")
    page.close()


def test_a_file_that_cannot_be_opened_is_shown_as_text(lab: Lab) -> None:
    page = lab.open("import pqlab; pqlab.inspect('no.parquet')", "%load_ext pqlab\n%pqinspect no")
    for output, name in ((0, "no.parquet"), (1, "no")):
        shown = page.locator(".jp-OutputArea-output [role='alert']").nth(output)
        expect(shown).to_contain_text(f"file {name}", timeout=60_000)
        expect(shown).to_contain_text("Relative paths start at")
    page.close()


@pytest.mark.parametrize(("width", "theme"), [(1000, "dark"), (1600, "dark"), (1000, "light")])
def test_names_are_text_in_every_page(lab: Lab, width: int, theme: str) -> None:
    table = pa.table(
        {STRANGE: [1, 2], "b": ["x", STRANGE], STRANGE * 9_000: [0, 1]}, metadata={"k": STRANGE}
    )
    pq.write_table(table, lab.folder / "strange.parquet")
    page = inspector(lab, "strange.parquet", width=width, theme=theme)
    expect(page.locator(".pq-schema")).to_contain_text("<img src=x onerror=")
    keep(page, f"strange_{width}_{theme}")
    page.click("[data-name='tab grid']")
    expect(page.locator("[role='rowheader']").first).to_contain_text("<img")
    keep(page, f"strange_grid_{width}_{theme}")
    page.locator("[aria-rowindex='2'] [aria-colindex='2']").dblclick()
    expect(page.locator(".pq-way")).to_contain_text("<img")
    page.click("[data-name='load pages']")
    expect(page.locator(".pq-table-row")).not_to_have_count(0)
    keep(page, f"strange_pages_{width}_{theme}")
    assert page.locator(".pq-inspector img").count() == 0
    assert "owned" not in page.title()
    box = page.locator(".pq-inspector").bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= width
    page.close()


def test_jupyter_notebook_7_shows_the_same(lab: Lab) -> None:
    page = inspector(lab, "taxi.parquet", application="notebook")
    page.click("[data-name='tab grid']")
    page.locator("[aria-rowindex='2'] [aria-colindex='2']").click()
    press(page, "Shift+ArrowDown")
    expect(plan(page)).to_contain_text("× 2 columns")
    keep(page, "notebook7")
    page.click("[data-name='read']")
    expect(page.locator(".pq-done")).to_contain_text("50,000 rows × 2 columns", timeout=30_000)
    page.close()
