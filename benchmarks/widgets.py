"""The inspector in a real JupyterLab: how long a person waits, how large messages are.

    python -m benchmarks.widgets

A file of 10,000 columns and 61 row groups is opened (its footer is known then), inspected, walked
and looked at through lenses. Times are taken in the browser, from what the user does until the
frame that is drawn after it. Needs `.[test]` and Chromium.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from benchmarks import footer_files
from benchmarks.results import versions, write_section
from pqlab import sample

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from lab_server import SCHEMA, Lab, lab_server

COLUMNS, ROW_GROUPS = 10_000, 61
PAINTS, STEPS = 9, 30
SAVES_STATE = "@jupyter-widgets/jupyterlab-manager/plugin.jupyterlab-settings"

# Each resolves to the milliseconds until the frame after the change is drawn.
_TIMED = """
window.timed = (act, isThere) => new Promise((resolve, reject) => {
    const start = performance.now();
    const look = () => {
        if (performance.now() - start > 30000) reject(new Error("nothing was drawn"));
        else if (isThere()) requestAnimationFrame(() => setTimeout(end));
        else requestAnimationFrame(look);
    };
    const end = () => resolve(performance.now() - start);
    act();
    look();
});
window.one = (selector) => document.querySelector(selector);
"""
_PAINT = """([code, count]) => timed(() => {
    const notebook = jupyterapp.shell.currentWidget.content;
    notebook.activeCellIndex = notebook.widgets.length - 1;
    notebook.activeCell.model.sharedModel.setSource(code);
    void jupyterapp.commands.execute("notebook:run-cell-and-select-next");
}, () => document.querySelectorAll(".pq-overview .pq-schema-row").length > count)"""
_SCROLL = """([top, left]) => timed(() => {
    const grid = one("[data-name=grid]");
    [grid.scrollTop, grid.scrollLeft] = [top, left];
    window.wanted = [Math.floor(top / 24) + 8, Math.floor(left / 54) + 3];
}, () => one(`[aria-rowindex="${wanted[0]}"] [aria-colindex="${wanted[1]}"]`) !== null)"""
_LENS = """([lens]) => timed(() => {
    const select = one("[data-name=lens]");
    window.before = one("[data-name=grid] [role=gridcell]").getAttribute("aria-label");
    select.value = lens;
    select.dispatchEvent(new Event("change"));
}, () => one("[data-name=grid] [role=gridcell]")?.getAttribute("aria-label") !== before)"""
_COUNT = """
import json
sizes = []
def count(send):
    def counted(message, *rest):
        sizes.append(len(json.dumps(message)))
        send(message, *rest)
    return counted
w._session._send = count(w._session._send)
"""


def paints(lab: Lab, page: Page) -> list[float]:
    """First paints, each of a new inspector in a new cell."""
    times = []
    for _ in range(PAINTS):
        there = page.locator(".pq-overview .pq-schema-row").count()
        times.append(page.evaluate(_PAINT, ["w = f.inspect(); w", there]))
        page.evaluate("jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
        expect(page.locator(SCHEMA)).to_have_count(0)
    lab.run(page, "w = f.inspect(); w")
    expect(page.locator(SCHEMA)).to_be_visible(timeout=30_000)
    return times


def steps(page: Page) -> dict[str, list[float]]:
    """Scrolling to rows that were not seen yet, and changing lenses, in the grid."""
    page.click("[data-name='tab grid']")
    expect(page.locator("[data-name='grid'] [role='gridcell']").first).to_be_visible()
    rows = [24 * (COLUMNS - 40) * step // STEPS for step in range(1, STEPS + 1)]
    scrolled = [page.evaluate(_SCROLL, [top, 0]) for top in rows]
    across = [page.evaluate(_SCROLL, [rows[-1], left]) for left in range(300, 2400, 300)]
    page.evaluate(_SCROLL, [0, 0])
    lenses = ("encoding", "nulls", "ratio", "size") * 5
    return {
        f"scroll by {COLUMNS // STEPS:,} columns": scrolled,
        "scroll along row groups": across,
        "another lens": [page.evaluate(_LENS, [lens]) for lens in lenses],
    }


def printed(lab: Lab, page: Page, code: str) -> Any:
    """What the code prints as JSON."""
    lab.run(page, code)
    shown = page.locator(".jp-OutputArea-output pre", has_text="JSON:").last
    expect(shown).to_be_visible(timeout=30_000)
    return json.loads(shown.inner_text().partition("JSON:")[2])


def saved_bytes(lab: Lab) -> dict[str, int]:
    """Sizes of a notebook with an inspector that has read, and a panel of what it cost."""
    page = lab.open(
        "import pqlab; w = pqlab.inspect('taxi.parquet'); w",
        "w.read()\nimport time\nwhile w.trace is None or w.frame is None: time.sleep(0.05)",
        "pqlab.TimingPanel(w.trace)",
        "",
    )
    expect(page.locator(SCHEMA)).to_be_visible(timeout=60_000)
    expect(page.locator("[data-pqlab]")).to_have_count(2, timeout=30_000)
    page.wait_for_timeout(3_000)
    path = page.evaluate("jupyterapp.shell.currentWidget.context.path")
    page.evaluate("jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_timeout(3_000)
    page.close()
    notebook = json.loads((lab.folder / path).read_text(encoding="utf-8"))
    sizes = {"with widget state": len(json.dumps(notebook))}
    if "widgets" not in notebook["metadata"]:
        raise RuntimeError("JupyterLab saved no widget state")
    del notebook["metadata"]["widgets"]
    return sizes | {"without": len(json.dumps(notebook))}


def report(times: dict[str, list[float]], bars: dict[str, int], sizes: list[list[str]]) -> str:
    """The tables of the results."""
    lines = ["| in the browser | median | slowest | of | bar |", "|---|---|---|---|---|"]
    for name, taken in times.items():
        median, slowest = statistics.median(taken), max(taken)
        bar = f"{bars.get(name, 100)} ms" + ("" if median < bars.get(name, 100) else " **missed**")
        lines.append(f"| {name} | {median:.0f} ms | {slowest:.0f} ms | {len(taken)} | {bar} |")
    lines += ["", "| bytes | | bar |", "|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in sizes]
    return "\n".join(lines)


def main() -> None:
    """Measure, and write the section."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        footer_files.write(folder / "wide.parquet", COLUMNS, ROW_GROUPS)
        sample.write(folder / "taxi.parquet", rows=200_000)
        with lab_server(folder, {SAVES_STATE: {"saveState": True}}) as lab:
            page = lab.open("import pqlab; f = pqlab.open('wide.parquet'); f.overview(); 1", "")
            expect(page.locator(".jp-OutputArea-output")).to_contain_text("1", timeout=60_000)
            page.evaluate(_TIMED)
            painted = paints(lab, page)
            lab.run(page, _COUNT)
            times = {"first paint, footer known": painted, **steps(page)}
            state = printed(lab, page, "print('JSON:', len(json.dumps(w.get_state())))")
            messages = printed(lab, page, "print('JSON:', json.dumps(sizes))")
            page.close()
            saved = saved_bytes(lab)
    limits = {"with widget state": 2_000_000, "without": 200_000}
    sizes = [
        ["largest message", f"{max(messages):,}", "1,000,000"],
        [f"all {len(messages):,} messages of these steps", f"{sum(messages):,}", ""],
        ["opening message of an inspector, its script in it", f"{state:,}", "1,000,000"],
        *([f"notebook saved {k}", f"{v:,}", f"{limits[k]:,}"] for k, v in saved.items()),
    ]
    what = (
        f"An inspector of a file of {COLUMNS:,} columns and {ROW_GROUPS} row groups "
        f"({COLUMNS * ROW_GROUPS:,} column chunks), whose footer is known, in JupyterLab and "
        "Chromium on the machine of the kernel. From what the user does to the frame that is drawn "
        "after it. The notebook that is saved has an inspector of a file of 20 columns, with its "
        "static overview, and a timing panel of a read of it.\n\n"
    )
    body = what + report(times, {"first paint, footer known": 1_000}, sizes)
    print(write_section("Widgets", "python -m benchmarks.widgets", body))
    print(versions("jupyterlab", "anywidget", "playwright"))


if __name__ == "__main__":
    main()
