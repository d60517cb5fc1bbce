"""The table of mutations is about the sources and tests that there are; it runs by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from widget_mutations import MUTATIONS, ROOT, Mutation

TESTS = Path(__file__).parent


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: f"{each.screen}-{each.test[-30:]}")
def test_a_mutation_is_of_one_place_and_has_its_test(mutation: Mutation) -> None:
    assert (ROOT / mutation.path).read_text(encoding="utf-8").count(mutation.old) == 1
    assert mutation.new != mutation.old
    module, _, name = mutation.test.partition("::")
    assert f"def {name}(" in (TESTS / module).read_text(encoding="utf-8")


def test_every_screen_has_one() -> None:
    screens = {"overview", "grid", "column", "chunk", "pages", "slice", "run", "timing", "compare"}
    assert {mutation.screen for mutation in MUTATIONS} == screens
