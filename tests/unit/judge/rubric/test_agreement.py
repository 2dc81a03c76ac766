"""A rubric judge against people: figures worked by hand, and people's grades of real submissions."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from firetrial_judge.rubric.agreement import Compared, agreement
from firetrial_judge.rubric.reading import read
from firetrial_judge.rubric.scoring import weighted
from firetrial_judge.rubric.tree import Rubric


def flat(count: int, **more: object) -> Rubric:
    leaves = [{"id": str(n), "question": "?"} | more for n in range(count)]
    return read({"id": "root", "children": leaves}).rubric


def compared(judge: str, people: str, **more: object) -> Compared:
    """Scores as "10-": passed, failed, unscored."""
    values = {"1": 1.0, "0": 0.0, "-": None}
    of = [{str(n): values[c] for n, c in enumerate(side)} for side in (judge, people)]
    return Compared(flat(len(people), **more), of[0], of[1])


def test_figures_worked_by_hand() -> None:
    # 20 leaves: both pass 8, both fail 6, the judge alone passes 4, people alone 2
    found = agreement([compared("1" * 8 + "0" * 6 + "1" * 4 + "0" * 2, "1" * 8 + "0" * 10 + "1" * 2)])
    assert (found.leaves, found.unscored) == (20, 0)
    assert found.accuracy.value == pytest.approx(14 / 20)
    assert found.precision.value == pytest.approx(8 / 12)
    assert found.recall.value == pytest.approx(8 / 10)
    assert found.f1.value == pytest.approx(16 / 22)
    assert found.kappa.value == pytest.approx((0.7 - 0.5) / 0.5)
    assert found.root_error.value == pytest.approx(abs(12 - 10) / 20)
    assert found.root_error.low is None
    for estimate in (found.accuracy, found.precision, found.recall, found.f1, found.kappa):
        assert estimate.low is not None
        assert estimate.value is not None
        assert estimate.high is not None
        assert estimate.low < estimate.value < estimate.high


def test_what_is_undefined_is_none() -> None:
    none = agreement([])
    assert (none.accuracy.value, none.root_error.value, none.leaves) == (None, None, 0)
    same = agreement([compared("11", "11")])
    assert (same.kappa.value, same.precision.value, same.accuracy.value) == (None, 1.0, 1.0)
    assert agreement([compared("00", "01")]).precision.value is None


def test_unscored_leaves_are_left_out_counted_and_leave_no_root_score() -> None:
    found = agreement([compared("1-1", "101"), compared("10", "11", category="Code Execution")])
    assert (found.leaves, found.unscored) == (4, 1)
    assert found.accuracy.value == 0.75
    assert found.root_error.value == 0.5
    assert {name: e.value for name, e in found.by_category.items()} == {"Code Execution": 0.5}


def test_the_interval_of_accuracy_is_about_that_of_the_binomial() -> None:
    found = agreement([compared("1" * 80 + "0" * 20, "1" * 100)], seed=3)
    assert found.accuracy.low == pytest.approx(0.72, abs=0.02)
    assert found.accuracy.high == pytest.approx(0.88, abs=0.02)
    assert agreement([compared("10", "11")], seed=1) == agreement([compared("10", "11")], seed=1)


@pytest.mark.needs("shared")
@pytest.mark.parametrize("wrong", [0.0, 0.1, 0.3])
def test_people_against_people_with_some_grades_turned(shared: Path, wrong: float) -> None:
    choose = random.Random(7)  # noqa: S311
    pairs, turned, total = [], 0, 0
    for file in sorted((shared / "paperbench" / "judge_eval").iterdir()):
        reading = read(json.loads(file.read_text()))
        people = {leaf.id: reading.scores[leaf.id] or 0.0 for leaf in reading.rubric.leaves}
        judge = {id_: 1 - score if choose.random() < wrong else score for id_, score in people.items()}
        turned += sum(judge[id_] != people[id_] for id_ in people)
        total += len(people)
        pairs.append(Compared(reading.rubric, judge, people))
    found = agreement(pairs)
    assert found.leaves == total == 253
    assert found.accuracy.value == pytest.approx(1 - turned / total)
    roots = [(weighted(p.rubric, p.judge).score or 0, weighted(p.rubric, p.people).score or 0) for p in pairs]
    assert found.root_error.value == pytest.approx(sum(abs(judge - people) for judge, people in roots) / 2)
    assert set(found.by_category) == {"Code Development", "Code Execution", "Result Analysis"}
    if not wrong:
        assert (found.kappa.value, found.f1.value, found.root_error.value) == (1.0, 1.0, 0.0)
    else:
        assert found.kappa.high is not None
        assert found.kappa.high < 1.0
        assert found.accuracy.low is not None
        assert found.accuracy.low < 1 - turned / total
