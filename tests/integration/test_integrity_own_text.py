"""False alarms on the nine source papers' own text; docs/integrity.md has the figures."""

from pathlib import Path

import pytest

from support import own_text


@pytest.mark.needs("shared")
def test_what_papers_conclude_is_found_in_their_own_text(shared: Path) -> None:
    found = own_text.measure(shared / "firebench" / "papers")
    assert len(found) == 9
    results, untraced = sum(item.results for item in found), sum(len(item.untraced) for item in found)
    assert (untraced, results) == (1, 27)


@pytest.mark.needs("shared")
def test_most_numbers_of_all_prose_that_are_not_found_are_in_figures_only(shared: Path) -> None:
    found = own_text.measure(shared / "firebench" / "papers", all_prose=True)
    results = sum(item.results for item in found)
    alarms = sum(len(item.untraced) - item.nowhere for item in found)
    assert results > 400
    assert alarms <= 0.11 * results
