"""Planted numbers: made-up ones are found, and rounded and derived ones are not taken for them.

`dev` was written and used while the rules were made; `heldout` was written before it was first tried, and no
rule was made for it.
"""

import random
import re
from collections import Counter
from functools import cache

import pytest

from firetrial_analyzer.integrity.checking import Check
from firetrial_analyzer.integrity.findings import Integrity, NumberTrace, Trace
from firetrial_analyzer.integrity.passages import Passage
from firetrial_analyzer.taxonomy.actions import Line
from firetrial_analyzer.taxonomy.steps import by_number, holds, read
from unit.analyzer import planted

DEV, HELDOUT = planted.cases("dev"), planted.cases("heldout")
KINDS = {"T": Trace.TRACED, "D": Trace.DERIVED, "U": Trace.UNTRACED, "N": Trace.NOT_A_RESULT}


def check(case: planted.Case, conclusion: str = "") -> Integrity:
    looking = Check(conclusion or case.conclusion, case.instruction)
    for step in read(case.lines()):
        looking.step(step)
    looking.end_of_steps()
    for name, body in case.files.items():
        if not name.endswith(".md"):  # `Files` says which count
            looking.file(Passage(tuple(Line(0, line) for line in body.splitlines()), file=name))
    return looking.result()


@cache
def traces(case_name: str) -> tuple[NumberTrace, ...]:
    return check(next(case for case in (*DEV, *HELDOUT) if case.name == case_name)).numbers


def trace_of(case: planted.Case, mark: planted.Mark) -> Trace:
    found = [n for n in traces(case.name) if n.start < mark.end and mark.start < n.end]
    return found[0].trace if found else Trace.NOT_A_RESULT


def flagged(cases: list[planted.Case]) -> dict[str, Counter[bool]]:
    """Kind of mark → how many are told as untraced, and how many are not."""
    told: dict[str, Counter[bool]] = {}
    for case in cases:
        for mark in case.marks:
            told.setdefault(mark.kind, Counter())[trace_of(case, mark) is Trace.UNTRACED] += 1
    return told


def test_there_are_more_than_sixty_cases_and_none_twice() -> None:
    names = [case.name for case in (*DEV, *HELDOUT)]
    assert (len(DEV), len(HELDOUT)) == (117, 16)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("case", DEV, ids=lambda case: case.name)
def test_made_up_numbers_are_found_and_others_are_not(case: planted.Case) -> None:
    wrong = [
        (mark.kind, mark.text, trace_of(case, mark).value)
        for mark in case.marks
        if (mark.kind == "U") is not (trace_of(case, mark) is Trace.UNTRACED)
    ]
    assert not wrong


def test_what_was_held_out() -> None:
    told = flagged(HELDOUT)
    assert told["U"] == {True: 17, False: 1}
    assert told["T"] == {False: 31}
    assert told["D"] == {False: 21}
    assert told["N"] == {False: 1}


def test_traces_have_the_right_name() -> None:
    pairs = [(KINDS.get(m.kind), trace_of(c, m)) for c in (*DEV, *HELDOUT) for m in c.marks]
    right = sum(given is None or given is found for given, found in pairs)
    assert right >= 0.98 * len(pairs)


def test_every_cited_step_holds_its_quote() -> None:
    cited = 0
    for case in (*DEV, *HELDOUT):
        index = by_number(read(case.lines()))
        found = check(case)
        citations = [c for n in found.numbers for c in n.citations]
        citations += [c for finding in found.findings for c in finding.citations]
        assert all(holds(index, citation) for citation in citations), case.name
        cited += len(citations)
    assert cited > 400


def test_a_random_number_in_place_of_a_true_one_is_seldom_believed() -> None:
    """Of numbers with three digits or more, one in fifty at most; of shorter ones, one in ten."""
    chance = random.Random(7)  # noqa: S311 - the same numbers each time
    tried, believed = Counter[bool](), Counter[bool]()
    for case in DEV:
        for mark in case.marks:
            digits = re.sub(r"[^\d.]", "", mark.text)
            if mark.kind not in "TD" or not re.fullmatch(r"\d+(?:\.\d+)?", digits) or "^" in mark.text:
                continue
            decimals = len(digits.partition(".")[2])
            other = f"{float(digits) * chance.uniform(0.5, 2):.{decimals}f}"
            if float(other) == float(digits):
                continue
            told = re.sub(r"[\d.,]*\d", other, mark.text, count=1)
            text = case.conclusion[: mark.start] + told + case.conclusion[mark.end :]
            found = [n for n in check(case, text).numbers if n.start <= mark.start + 2 and n.end > mark.start]
            long = len(digits.replace(".", "").lstrip("0")) >= 3
            tried[long] += 1
            believed[long] += bool(found) and found[0].trace is not Trace.UNTRACED
    assert tried[True] > 100
    assert tried[False] > 80
    assert believed[True] <= 0.02 * tried[True]
    assert believed[False] <= 0.1 * tried[False]
