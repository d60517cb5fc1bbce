"""A JupyterLab of the tests' own: one server, one browser, notebooks that are opened in it.

With `PQLAB_SCREENSHOTS` set to a folder, what tests `keep` is there afterwards.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from playwright.sync_api import Browser, Page, expect, sync_playwright

STARTS_WITHIN_S = 60
KERNEL_WITHIN_MS = 60_000
SCHEMA = ".pq-overview .pq-schema"
_IS_READY = """(cells) => {
    const panel = window.jupyterapp?.shell.currentWidget;
    const kernel = panel?.sessionContext?.session?.kernel;
    return kernel?.connectionStatus === "connected" && kernel.status === "idle" &&
        panel.context.isReady && panel.content.widgets.length === cells &&
        panel.content.rendermime.mimeTypes.includes("application/vnd.jupyter.widget-view+json");
}"""
# By JupyterLab's own commands: keys are lost while it moves the focus.
_RUN = """(code) => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    notebook.activeCellIndex = notebook.widgets.length - 1;
    notebook.activeCell.model.sharedModel.setSource(code);
    void window.jupyterapp.commands.execute("notebook:run-cell-and-select-next");
}"""

_CHANGE_THEME = "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"

_SETTINGS = {
    "@jupyterlab/apputils-extension/notification.jupyterlab-settings": {
        "fetchNews": "false",
        "checkForUpdates": False,
    }
}


class Lab:
    """A running JupyterLab. `folder`: its root, where notebooks and files go."""

    def __init__(self, folder: Path, url: str, browser: Browser) -> None:
        self.folder, self._url, self._browser = folder, url, browser
        self._notebooks = 0

    def open(
        self,
        *cells: str,
        width: int = 1600,
        height: int = 1000,
        theme: str = "light",
        application: Literal["lab", "notebook"] = "lab",
    ) -> Page:
        """A page with a new notebook of these cells, all of them run."""
        self._notebooks += 1
        name = f"notebook{self._notebooks}.ipynb"
        (self.folder / name).write_text(json.dumps(_notebook(cells)), encoding="utf-8")
        page = self._browser.new_page(viewport={"width": width, "height": height})
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto(self._address(name, application))
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=KERNEL_WITHIN_MS)
        page.wait_for_function(_IS_READY, arg=len(cells), timeout=KERNEL_WITHIN_MS)
        page.evaluate(_CHANGE_THEME, f"JupyterLab {theme.title()}")  # which lasts
        is_light = str(theme == "light").lower()
        page.wait_for_selector(f"body[data-jp-theme-light={is_light}]", state="attached")
        page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")
        return page

    def look(self, name: str) -> Page:
        """A page with a notebook that is there, of which no cell is run."""
        page = self._browser.new_page(viewport={"width": 1600, "height": 1000})
        page.goto(self._address(name, "lab"))
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=KERNEL_WITHIN_MS)
        return page

    def _address(self, name: str, application: str) -> str:
        base, _, token = self._url.partition("?token=")
        if application == "notebook":
            return f"{base.removesuffix('/lab')}/notebooks/{quote(name)}?token={token}"
        return f"{base}/workspaces/w{self._notebooks}/tree/{quote(name)}?token={token}&reset"

    def run(self, page: Page, code: str) -> None:
        """Run more code in the notebook's last cell, which is empty; another one follows it."""
        page.evaluate(_RUN, code)


def inspector(lab: Lab, path: str, **options: Any) -> Page:
    """A page with the inspector of a file, as `w`."""
    page = lab.open(f"import pqlab; w = pqlab.inspect({path!r}); w", "", **options)
    expect(page.locator(SCHEMA)).to_be_visible(timeout=KERNEL_WITHIN_MS)
    return page


def keep(page: Page, name: str) -> None:
    """A screenshot of what is seen now, if they are wanted."""
    if folder := os.environ.get("PQLAB_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def _notebook(cells: Sequence[str]) -> dict[str, Any]:
    empty: dict[str, Any] = {
        "cell_type": "code",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
    }
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "cells": [
            {**empty, "id": f"cell{number}", "source": source}
            for number, source in enumerate(cells)
        ],
    }


@contextmanager
def lab_server(folder: Path, settings: Mapping[str, Any] | None = None) -> Iterator[Lab]:
    """Start JupyterLab and Chromium, without a network beyond this machine.

    `settings` of extensions, by file.
    """
    home = folder / ".home"
    for name, values in {**_SETTINGS, **(settings or {})}.items():
        path = home / "settings" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    config = home / "config"
    config.mkdir()
    served = {"ServerApp": {"jpserver_extensions": {"notebook": True}}}
    (config / "jupyter_server_config.json").write_text(json.dumps(served))
    environment = {
        **os.environ,
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTER_CONFIG_DIR": str(config),
        "IPYTHONDIR": str(home / "ipython"),
    }
    log = folder / ".lab.log"
    with log.open("wb") as written:
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
                *("--ServerApp.port=0", f"--ServerApp.root_dir={folder}"),
                *("--LabApp.extension_manager=readonly", "--LabApp.expose_app_in_browser=True"),
                "--JupyterNotebookApp.expose_app_in_browser=True",
            ],
            stdout=written,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
        )
    try:
        url = _url(log, server)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"),
                args=[
                    "--no-sandbox",
                    "--disable-gpu",
                    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
                ],
            )
            yield Lab(folder, url, browser)
            browser.close()
    finally:
        server.terminate()
        server.wait(30)


def _url(log: Path, server: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until and server.poll() is None:
        text = log.read_text(errors="replace")
        if found := re.search(r"http://127\.0\.0\.1:\d+/lab\?token=[0-9a-f]+", text):
            return found[0]
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text(errors='replace')[-2000:]}")
