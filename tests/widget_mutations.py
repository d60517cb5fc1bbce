"""Small changes of the sources, each of which a test of its screen in the browser must notice.

`python tests/widget_mutations.py [SCREEN...]` makes each in a copy, builds the bundle there, and
runs the test, which must fail; without a change it must pass. Prints what became of each. About
half a minute each.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
JS = "pqlab/widgets/js/src"
# Run by Python at its start: the copy is imported, not what is installed.
_SITE = """import sys
sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in type(f).__module__]
"""


class Mutation(NamedTuple):
    """`old` becomes `new` in a file; `test` (of a module in tests) is to fail then."""

    screen: str
    path: str
    old: str
    new: str
    test: str


MUTATIONS = (
    Mutation(
        "overview",
        f"{JS}/screens/overview.ts",
        'if (typeof leaf === "number") link.go({ screen: "column", leaf });',
        'if (typeof leaf === "number") return;',
        "test_widgets_lab.py::test_overview_shows_bytes_schema_and_keys",
    ),
    Mutation(
        "grid",
        f"{JS}/screens/grid.ts",
        "if (!isDragging || anchor === null) return;",
        "if (isDragging || anchor === null) return;",
        "test_widgets_lab.py::test_grid_is_dragged_over_and_walked_by_keys",
    ),
    Mutation(
        "grid",
        "pqlab/inspector/grid.py",
        'LensKind("nulls", _nulls, _percent,',
        'LensKind("nulls", _ratios, _percent,',
        "test_widgets_lab.py::test_grid_is_sorted_filtered_and_seen_through_lenses",
    ),
    Mutation(
        "column",
        "pqlab/inspector/screens.py",
        "pl.when(has & others)",
        "pl.when(has & ~others)",
        "test_widgets_lab.py::test_column_is_sorted_and_leads_to_its_chunk",
    ),
    Mutation(
        "chunk",
        "pqlab/inspector/bloom.py",
        "if not found.might_contain(typed):",
        "if found.might_contain(typed):",
        "test_widgets_lab.py::test_chunk_has_facts_a_dictionary_and_a_bloom_filter",
    ),
    Mutation(
        "pages",
        "pqlab/inspector/slice_text.py",
        "if not keys or not others:",
        "if keys or others:",
        "test_widgets_lab.py::test_pages_are_picked_with_shift_and_arrows_and_one_is_opened",
    ),
    Mutation(
        "slice",
        "pqlab/inspector/session.py",
        "and not overwrite\n",
        "and overwrite\n",
        "test_widgets_lab.py::test_slice_bar_copies_names_and_never_overwrites_unasked",
    ),
    Mutation(
        "run",
        f"{JS}/slice.ts",
        'button("Cancel", () => link.cancel(),',
        'button("Cancel", () => undefined,',
        "test_widgets_lab.py::test_run_is_cancelled_fails_and_is_tried_again",
    ),
    Mutation(
        "timing",
        f"{JS}/timing/timeline.ts",
        "context.fillRect(x, y, wide > 3 ? wide - 0.5 : wide, LANE - 6);",
        "",
        "test_panels_lab.py::test_a_panel_draws_lanes_bars_encodings_and_pages",
    ),
    Mutation(
        "timing",
        "pqlab/inspector/timing/charts.py",
        '(pl.col("stop_ns") > first) & (pl.col("start_ns") < last)',
        '(pl.col("stop_ns") > 0) & (pl.col("start_ns") >= 0)',
        "test_panels_lab.py::test_dragging_over_the_timeline_filters_the_other_views",
    ),
    Mutation(
        "timing",
        f"{JS}/timing/timeline.ts",
        'walk(event.key === "ArrowRight" ? 1 : -1, event.shiftKey)',
        'walk(event.key === "ArrowRight" ? 1 : -1, false)',
        "test_panels_lab.py::test_the_timeline_is_walked_and_brushed_by_keys",
    ),
    Mutation(
        "timing",
        "pqlab/inspector/timing/linked.py",
        "return replace(state, selection=selection_of(self.file, self.timing.pages))",
        "return state",
        "test_panels_lab.py::test_the_inspector_leads_to_timing_and_back",
    ),
    Mutation(
        "run",
        f"{JS}/slice.ts",
        'link.go({ screen: "timing" })',
        'link.go({ screen: "grid" })',
        "test_panels_lab.py::test_the_inspector_leads_to_timing_and_back",
    ),
    Mutation(
        "compare",
        "pqlab/inspector/compare/panel.py",
        'frame = frame.filter(pl.col("part") == self.state.part)',
        "frame = frame.clear()",
        "test_panels_lab.py::test_files_are_compared",
    ),
    Mutation(
        "compare",
        f"{JS}/screens/compare.ts",
        "const points = of.ratios.map(",
        "const points = of.ratios.slice(0, 2).map(",
        "test_panels_lab.py::test_runs_are_compared",
    ),
)


def fails(tests: Sequence[str], mutation: Mutation | None = None) -> bool:
    """Whether one of the tests fails in a copy of the sources, with the change if there is one."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        ignored = shutil.ignore_patterns("node_modules", "__pycache__")
        for part in ("pqlab", "tests"):
            shutil.copytree(ROOT / part, copy / part, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", copy)
        (copy / "sitecustomize.py").write_text(_SITE, encoding="utf-8")
        _borrow_native(copy)
        if mutation is not None:
            _change(copy, mutation)
        named = [f"tests/{test}" for test in tests]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", *named],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1):
            raise RuntimeError(f"pytest could not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.returncode == 1


def _change(copy: Path, mutation: Mutation) -> None:
    path = copy / mutation.path
    before = path.read_text(encoding="utf-8")
    if before.count(mutation.old) != 1:
        raise ValueError(f"{mutation.path} has {mutation.old!r} {before.count(mutation.old)} times")
    path.write_text(before.replace(mutation.old, mutation.new), encoding="utf-8")
    if path.suffix == ".ts":
        _build(copy / "pqlab" / "widgets" / "js")


def _borrow_native(copy: Path) -> None:
    """The extension module of the installed package: it is not built anew."""
    from pqlab.native import _native

    built = Path(_native.__file__)
    target = copy / "pqlab" / "native" / built.name
    if not target.exists():
        target.symlink_to(built)


def _build(sources: Path) -> None:
    installed = ROOT / "pqlab" / "widgets" / "js" / "node_modules"
    if installed.is_dir():
        (sources / "node_modules").symlink_to(installed)
    else:
        subprocess.run(["npm", "ci", "--silent"], cwd=sources, check=True)
    subprocess.run(["node", "build.mjs"], cwd=sources, check=True)


def main(screens: list[str]) -> int:
    """Make the mutations of these screens, by default of all; how many were not noticed."""
    chosen = [each for each in MUTATIONS if not screens or each.screen in screens]
    if fails(sorted({each.test for each in chosen})):
        raise RuntimeError("the tests fail without a mutation")
    missed = 0
    for mutation in chosen:
        noticed = fails([mutation.test], mutation)
        missed += not noticed
        words = "noticed" if noticed else "MISSED"
        print(f"{mutation.screen}: {words} by {mutation.test}")  # noqa: T201
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
