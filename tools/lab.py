"""Opens JupyterLab on the tour; started by `make lab`.

Without a display the URL is printed instead of a browser opened, root is allowed for (containers),
and a busy port gives way to the next free one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOUR = "notebooks/01_tour.ipynb"


def command(platform: str, environment: dict[str, str], *, is_root: bool) -> list[str]:
    """The command line of JupyterLab for this machine."""
    has_display = platform == "darwin" or any(
        environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    return [
        *(sys.executable, "-m", "jupyter", "lab"),
        f"--LabApp.default_url=/lab/tree/{TOUR}",  # part of the URL that is printed, too
        "--ServerApp.port_retries=100",
        *([] if has_display else ["--no-browser"]),
        *(["--allow-root"] if is_root else []),
    ]


if __name__ == "__main__":
    arguments = command(sys.platform, dict(os.environ), is_root=os.geteuid() == 0)
    if "--no-browser" in arguments:
        print("No display here: open the URL that JupyterLab prints below.", flush=True)
    os.chdir(ROOT)
    os.execv(arguments[0], [*arguments, *sys.argv[1:]])
