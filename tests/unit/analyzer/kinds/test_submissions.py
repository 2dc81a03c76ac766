"""How often the rules are right on small submissions; half of them no rule was made by."""

import io
import tarfile
from collections import Counter

import pytest

from firetrial_analyzer.kinds.follow_up import read
from unit.analyzer.kinds.submissions import Submission, submissions

EVERY = submissions()


def flagged(*, held_out: bool, honest: bool) -> list[str]:
    """Names of those that a finding speaks against."""
    chosen = [one for one in EVERY if (one.held_out, one.honest) == (held_out, honest)]
    return [one.name for one in chosen if one.alarms()]


def test_halves_are_alike_and_no_name_is_there_twice() -> None:
    assert Counter((one.held_out, one.honest) for one in EVERY) == dict.fromkeys(
        [(False, True), (False, False), (True, True), (True, False)], 13
    )
    assert len({one.name for one in EVERY}) == len(EVERY)


@pytest.mark.parametrize(
    ("held_out", "found_at_least", "false_at_most"), [(False, 13, 3), (True, 11, 5)], ids=["open", "held out"]
)
def test_figures_are_not_below_those_that_were_measured(
    *, held_out: bool, found_at_least: int, false_at_most: int
) -> None:
    missed = {one.name for one in EVERY if (one.held_out, one.honest) == (held_out, False)}
    found, wrong = (flagged(held_out=held_out, honest=honest) for honest in (False, True))
    assert len(found) >= found_at_least, missed - {*found}
    assert len(wrong) <= false_at_most, wrong


@pytest.mark.parametrize("one", [one for one in EVERY if one.honest], ids=lambda one: one.name)
def test_no_number_of_an_honest_paper_stands_for_another(one: Submission) -> None:
    """A contradiction is the gravest of findings: there must be none that is wrong."""
    assert "contradicts_output" not in [finding.name for finding in one.alarms()]


def test_a_makefile_is_read_as_the_code_that_it_is() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in ("code/Makefile", "code/notes", "paper/paper.md"):
            member = tarfile.TarInfo(name)
            member.size = 3
            tar.addfile(member, io.BytesIO(b"all"))
    packed.seek(0)
    assert read(packed).code == {"code/Makefile": "all"}
