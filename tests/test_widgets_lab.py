"""The inspector in a real JupyterLab, used by mouse and by keyboard, without a network."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lab_server import SCHEMA, Lab, inspector, keep
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
STRANGE = "<img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(scope="module")
def page(lab: Lab) -> Page:
    return inspector(lab, "taxi.parquet")


def test_an_output_before_widgets_can_be_shown_becomes_one(lab: Lab) -> None:
    """JupyterLab renders an output once; pqlab shows it again until a view has opened."""
    page = lab.open("1 + 1", "")
    renderers = "window.jupyterapp.shell.currentWidget.content.rendermime"
    expect(page.locator(".jp-OutputArea-output")).to_contain_text("2", timeout=60_000)
    page.evaluate(f"window.kept = {renderers}.getFactory({WIDGET_VIEW!r})")
    page.evaluate(f"{renderers}.removeMimeType({WIDGET_VIEW!r})")
    lab.run(page, "import pqlab; pqlab.inspect('taxi.parquet')")
    expect(page.locator(".jp-OutputArea-output").last).to_contain_text("run the cell again")
    page.evaluate(f"{renderers}.addFactory(window.kept, -10)")
    expect(page.locator(SCHEMA)).to_be_visible(timeout=30_000)
    page.close()


def test_overview_leads_to_a_column_and_to_its_chunk(page: Page) -> None:
    keep(page, "overview")
    expect(page.locator(".pq-identity")).to_contain_text("200,000 rows")
    page.click("[data-name='leaf 2']")
    expect(page.locator(".pq-table-row")).to_have_count(4)
    keep(page, "column")
    page.locator(".pq-table").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".pq-crumbs")).to_contain_text("row group 1")
    page.click("[data-name='tab details']")
    expect(page.locator("main")).to_contain_text("offset index")
    keep(page, "chunk")


def test_pages_are_picked_with_shift_and_arrows_and_one_is_opened(page: Page) -> None:
    page.click("[data-name='tab pages']")
    page.click("[data-name='load pages']")
    expect(page.locator(".pq-table-row")).not_to_have_count(0)
    page.locator(".pq-table-row").first.click()
    page.keyboard.press("Shift+ArrowDown")
    expect(page.locator(".pq-table-row.pq-picked")).to_have_count(2)
    expect(page.locator(".pq-plan")).to_contain_text("of row group 1)")
    keep(page, "pages")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("Bytes as stored")
    expect(page.locator("main")).to_contain_text("num_values")
    keep(page, "page")


def test_grid_is_dragged_over_and_walked_by_keys(page: Page) -> None:
    page.click("[data-name='tab grid']")
    cell = page.locator("[aria-rowindex='3'] [aria-colindex='3']")
    expect(cell).to_be_visible()
    to = page.locator("[aria-rowindex='5'] [aria-colindex='4']")
    cell.hover()
    page.mouse.down()
    to.hover()
    page.mouse.up()
    expect(page.locator(".pq-cell[role='gridcell'].pq-picked")).to_have_count(6)
    expect(page.locator(".pq-plan")).to_contain_text("2 row groups × 3 columns")
    keep(page, "grid")
    page.locator("[data-name='grid']").focus()
    page.keyboard.press("Escape")
    expect(page.locator(".pq-slice-words")).to_contain_text("Everything")
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowDown")
    expect(page.locator(".pq-plan")).to_contain_text("× 2 columns")
    page.keyboard.press("/")
    page.keyboard.type("amount", delay=20)
    expect(page.locator("[role='rowheader']")).to_have_count(4)
    page.locator("[data-name='filter']").fill("")
    page.select_option("[data-name='lens']", "encoding")
    expect(page.locator(".pq-shades")).to_contain_text("RLE_DICTIONARY")


def test_read_lands_in_the_notebook_and_is_not_overwritten_unasked(lab: Lab, page: Page) -> None:
    page.locator("[data-name='grid']").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Home")
    page.keyboard.press(" ")
    expect(page.locator(".pq-plan")).to_contain_text("1 column")
    page.click("[data-name='read']")
    expect(page.locator(".pq-done")).to_be_visible(timeout=30_000)
    keep(page, "run")
    lab.run(page, "print('shape is', df.shape, eval(w.code).read().equals(df)); other = 1")
    expect(page.locator(".jp-OutputArea-output").last).to_contain_text("True")
    page.fill("[data-name='variable']", "other")
    page.keyboard.press("Tab")
    page.click("[data-name='read']")
    expect(page.locator("[data-name='overwrite']")).to_contain_text("Overwrite other")
    page.click("[data-name='copy magic']")
    expect(page.locator(".pq-copied textarea")).to_have_value(
        "%pqread taxi.parquet " + _magic(page)
    )


def _magic(page: Page) -> str:
    text = page.locator(".pq-copied textarea").input_value()
    assert " -o other" in text
    return text.removeprefix("%pqread taxi.parquet ")


@pytest.mark.parametrize(("width", "theme"), [(1000, "dark")])
def test_names_are_text_in_a_narrow_dark_page(lab: Lab, width: int, theme: str) -> None:
    table = pa.table({STRANGE: [1, 2], "b": ["x", STRANGE]}, metadata={"k": STRANGE})
    pq.write_table(table, lab.folder / "strange.parquet")
    page = inspector(lab, "strange.parquet", width=width, theme=theme)
    expect(page.locator(".pq-schema")).to_contain_text("<img src=x onerror=")
    keep(page, "dark")
    page.click("[data-name='tab grid']")
    expect(page.locator("[role='rowheader']").first).to_contain_text("<img")
    assert page.locator(".pq-inspector img").count() == 0
    assert "owned" not in page.title()
    box = page.locator(".pq-inspector").bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= width
    keep(page, "dark_grid")
    page.close()
