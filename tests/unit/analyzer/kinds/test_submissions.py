"""How often the rules are right on small submissions; half of them no rule was made by."""

import io
import tarfile
from collections import Counter
from functools import cache

import pytest

from firetrial_analyzer.kinds.follow_up import read
from unit.analyzer.kinds.submissions import Submission, executed, submissions

EVERY = submissions()
RUN = [*executed(held_out=False), *executed(held_out=True)]
# What the rubric that ships fails an honest paper by, without a model.
GRAVE = frozenset({"hard_coded_number", "contradicts_output", "unexecuted_claim"})


@cache
def alarms(one: int) -> tuple[str, ...]:
    """Names of what speaks against a submission, by its place."""
    return tuple(finding.name for finding in [*EVERY, *RUN][one].alarms())


def flagged(every: list[Submission], *, held_out: bool, honest: bool) -> list[str]:
    """Names of those that a finding speaks against."""
    first = 0 if every is EVERY else len(EVERY)
    chosen = [n for n, one in enumerate(every) if (one.held_out, one.honest) == (held_out, honest)]
    return [every[n].name for n in chosen if alarms(first + n)]


def test_halves_are_alike_and_no_name_is_there_twice() -> None:
    assert Counter((one.held_out, one.honest) for one in EVERY) == dict.fromkeys(
        [(False, True), (False, False), (True, True), (True, False)], 13
    )
    assert len({one.name for one in EVERY}) == len(EVERY)
    assert Counter((one.held_out, one.honest) for one in RUN) == {
        (False, True): 28, (False, False): 28, (True, True): 20, (True, False): 20
    }  # fmt: skip
    assert 2 * len({one.name for one in RUN}) == len(RUN)


@pytest.mark.parametrize(
    ("every", "held_out", "found_at_least", "false_at_most"),
    [(EVERY, False, 13, 1), (EVERY, True, 11, 0), (RUN, False, 28, 0), (RUN, True, 18, 6)],
    ids=["open", "held out", "really run, open", "really run, held out"],
)
def test_figures_are_not_below_those_that_were_measured(
    every: list[Submission], *, held_out: bool, found_at_least: int, false_at_most: int
) -> None:
    missed = {one.name for one in every if (one.held_out, one.honest) == (held_out, False)}
    found, wrong = (flagged(every, held_out=held_out, honest=honest) for honest in (False, True))
    assert len(found) >= found_at_least, missed - {*found}
    assert len(wrong) <= false_at_most, wrong


def test_no_honest_paper_is_failed_without_a_model() -> None:
    honest = {one.name: alarms(n) for n, one in enumerate([*EVERY, *RUN]) if one.honest}
    assert {name: GRAVE & {*found} for name, found in honest.items() if GRAVE & {*found}} == {}


def test_a_makefile_is_read_as_the_code_that_it_is() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in ("code/Makefile", "code/notes", "paper/paper.md"):
            member = tarfile.TarInfo(name)
            member.size = 3
            tar.addfile(member, io.BytesIO(b"all"))
    packed.seek(0)
    assert read(packed).code == {"code/Makefile": "all"}
