"""Conditions and weighted trees against reference values and against arithmetic done another way."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_judge.rubric.graded import score_document
from firetrial_judge.rubric.reading import read
from firetrial_judge.rubric.scoring import Conditions, Tally, read_tallies, weighted
from firetrial_judge.rubric.tree import Condition
from firetrial_kit.errors import FiretrialError


def leaf(id_: str, score: float | None = 1.0, weight: float = 1, **more: Any) -> dict[str, Any]:
    return {"id": id_, "question": f"{id_}?", "weight": weight, "score": score} | more


def group(id_: str, *children: dict[str, Any], weight: float = 1, **more: Any) -> dict[str, Any]:
    return {"id": id_, "weight": weight, "children": list(children)} | more


# Conditions


@pytest.mark.needs("shared")
def test_every_worked_case_of_the_conditions(shared: Path) -> None:
    reference = json.loads((shared / "firebench" / "itu.json").read_text())
    cases = reference["worked_examples_constructed_here"]
    assert len(cases) == 5
    for case in cases:
        answer = score_document({"passed_over_total": case["passed_over_total"]})
        assert answer == {key: case[key] for key in ("p", "strict", "almost", "valid")}
        assert all(answer["almost"]) is case["all_three_almost"]


@given(st.integers(1, 10**9), st.data())
def test_grades_are_those_of_exact_fractions(total: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, total))
    tally = Tally(passed, total)
    assert tally.strict is (Fraction(passed, total) == 1)
    assert tally.almost is (Fraction(passed, total) >= Fraction(9, 10))
    assert tally.p == passed / total


def test_no_questions_and_unscored_ones_are_undefined() -> None:
    for tally in (Tally(0, 0), Tally(9, 10, unscored=1)):
        assert (tally.p, tally.strict, tally.almost) == (None, None, None)


@pytest.mark.parametrize(
    ("tallies", "valid"),
    [
        ([(1, 1), (1, 1), (1, 1)], True),
        ([(0, 1), (1, 1), (1, 1)], False),
        ([(1, 1), (1, 1), (0, 0)], None),
        ([(1, 1), (0, 1), (0, 0)], False),  # no answer on C3 could make it valid
        ([(1, 1), (1, 1)], None),
    ],
)
def test_valid_is_all_three_strictly(tallies: list[tuple[int, int]], valid: bool | None) -> None:
    by_condition = {c: Tally(*t) for c, t in zip(Condition, tallies, strict=False)}
    assert Conditions(by_condition).valid is valid


@pytest.mark.parametrize(
    ("counts", "named"),
    [
        ({"C1": [2, 1]}, "C1"),
        ({"C2": [-1, 1]}, "C2"),
        ({"C1": [1, 1], "C4": [1, 1]}, "C4"),
        ({"C3": [1.0, 1]}, "C3"),
        ({"C3": [True, 1]}, "C3"),
        ({"C3": 1}, "C3"),
        ({}, "passed_over_total"),
        ([1], "passed_over_total"),
    ],
)
def test_counts_that_cannot_be_are_refused(counts: Any, named: str) -> None:
    with pytest.raises(FiretrialError) as error:
        read_tallies(counts)
    assert named in error.value.faults[0].field


def test_questions_count_alike_whatever_their_weights_and_groups_hand_their_condition_down() -> None:
    tree = group(
        "root",
        group("honest", leaf("h1", 1.0, weight=9), leaf("h2", 0.0), condition="C1"),
        group("done", group("inner", leaf("d1", 1.0)), leaf("s1", 0.99, condition="C3"), condition="C2"),
    )
    answer = score_document(tree)
    assert answer["passed_over_total"] == {"C1": [1, 2], "C2": [1, 1], "C3": [0, 1]}
    assert answer["strict"] == [False, True, False]
    assert answer["valid"] is False


def test_an_answer_passes_where_it_is_one_of_the_passing_ones() -> None:
    def grade(answer: object, **more: Any) -> float | None:
        question = {"id": "q", "question": "?", "answer": answer} | more
        return float(score_document(question)["score"])

    assert grade("yes") == 1.0
    assert grade(True) == 1.0  # a bare yes in YAML
    assert grade("no", passing=["no"]) == 1.0
    assert grade("yes", passing=[False]) == 0.0
    assert grade("partly", passing=["fully", "partly"]) == 1.0
    assert grade("none of these", passing=["fully", "partly"]) == 0.0
    with pytest.raises(FiretrialError, match="must be one of low, high"):
        grade("middle", passing="low", answers=["low", "high"])


# Weighted trees


def walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["sub_tasks"]:
        yield from walk(child)


@pytest.mark.needs("shared")
@pytest.mark.parametrize("name", ["all-in-one", "semantic-self-consistency"])
def test_every_inner_node_that_people_graded_follows_from_its_leaves(shared: Path, name: str) -> None:
    tree = json.loads((shared / "paperbench" / "judge_eval" / f"{name}.json").read_text())
    rubric = read(tree).rubric
    leaves = {node["id"]: node["score"] for node in walk(tree) if not node["sub_tasks"]}
    nodes = weighted(rubric, leaves).nodes
    inner = [node for node in walk(tree) if node["sub_tasks"]]
    assert len(inner) > 20
    for node in inner:
        assert nodes[node["id"]] == pytest.approx(node["score"], abs=1e-9)
    answer = score_document(tree)
    assert answer["score"] == pytest.approx(tree["score"], abs=1e-9)
    assert answer["faults"] == []
    assert set(answer["by_category"]) == {"Code Development", "Code Execution", "Result Analysis"}


def cut(node: dict[str, Any], category: str) -> dict[str, Any] | None:
    """The tree with the leaves of one category, made here by recursion."""
    if not node["sub_tasks"]:
        return node if node["task_category"] == category else None
    children = [kept for child in node["sub_tasks"] if (kept := cut(child, category))]
    return node | {"sub_tasks": children, "score": None} if children else None


@pytest.mark.needs("shared")
def test_a_categorys_score_is_that_of_the_tree_with_its_leaves_alone(shared: Path) -> None:
    for file in sorted((shared / "paperbench" / "judge_eval").iterdir()):
        tree = json.loads(file.read_text())
        for category, score in score_document(tree)["by_category"].items():
            alone = cut(tree, category)
            assert alone is not None
            assert score == pytest.approx(score_document(alone)["score"], abs=1e-12)


@pytest.mark.needs("shared")
def test_ungraded_rubrics_are_read_as_they_are_and_have_no_score(shared: Path) -> None:
    for file in sorted((shared / "paperbench" / "rubrics").iterdir()):
        tree = json.loads(file.read_text())
        assert len(read(tree).rubric.nodes) == len(list(walk(tree)))
        answer = score_document(tree)
        assert answer["score"] is None
        assert answer["faults"]


def test_an_unscored_leaf_leaves_undefined_what_rests_on_it_and_nothing_else() -> None:
    def coded(id_: str, score: float | None) -> dict[str, Any]:
        return leaf(id_, score, category="code")

    tree = group("root", group("a", coded("a1", 1.0), coded("a2", 0.0)), group("b", leaf("b1", None)))
    answer = score_document(tree)
    assert (answer["score"], answer["by_category"]) == (None, {"code": 0.5})
    assert answer["faults"][0]["field"] == 'node "b1", score'
    nodes = weighted(read(tree).rubric, {"a1": 1.0, "a2": 0.0}).nodes
    assert nodes == {"b1": None, "b": None, "a2": 0.0, "a1": 1.0, "a": 0.5, "root": None}


def test_a_score_that_its_judge_marked_unusable_is_no_zero() -> None:
    tree = group("root", leaf("a"), leaf("b", 0.0, valid_score=False))
    assert score_document(tree)["score"] is None


def test_a_group_whose_told_score_is_wrong_is_named() -> None:
    answer = score_document(group("root", group("g", leaf("a", 0.5), score=0.75)))
    assert answer["score"] == 0.5
    assert [fault["field"] for fault in answer["faults"]] == ['node "g", score']


def test_a_category_without_weight_has_no_score() -> None:
    answer = score_document(group("root", leaf("a", category="A"), leaf("b", weight=0, category="B")))
    assert answer["by_category"] == {"A": 1.0}


trees = st.recursive(
    st.tuples(st.integers(1, 9), st.sampled_from([0.0, 0.25, 1.0])),
    lambda children: st.tuples(st.integers(1, 9), st.lists(children, min_size=1, max_size=4)),
    max_leaves=30,
)


def exact(tree: Any) -> Fraction:
    """The formula, in fractions and by recursion."""
    _, inside = tree
    if not isinstance(inside, list):
        return Fraction(inside)
    total: Fraction = sum((c[0] * exact(c) for c in inside), Fraction(0))
    return total / Fraction(sum(c[0] for c in inside))


@given(trees)
def test_any_tree_scores_as_exact_fractions_do(tree: Any) -> None:
    ids = iter(range(10_000))

    def built(node: Any) -> dict[str, Any]:
        weight, inside = node
        id_ = str(next(ids))
        if isinstance(inside, list):
            return group(id_, *map(built, inside), weight=weight)
        return leaf(id_, inside, weight=weight)

    assert score_document(built(tree))["score"] == pytest.approx(float(exact(tree)), abs=1e-12)


def test_8000_leaves_take_less_than_a_second() -> None:
    names = ("Code Development", "Code Execution", "Result Analysis")

    def leaves(n: int) -> list[dict[str, Any]]:
        return [leaf(f"{n}.{i}", i % 2, 1 + i, category=names[i % 3]) for i in range(20)]

    groups = [
        group(f"g{n}", *(group(f"h{n}.{m}", *leaves(20 * n + m)) for m in range(20))) for n in range(20)
    ]
    tree = group("root", *groups)
    begun = time.process_time()
    answer = score_document(tree)
    assert time.process_time() - begun < 1.0
    assert answer["score"] == pytest.approx(110 / 210)


def test_depth_is_no_limit() -> None:
    tree = leaf("bottom", 0.25)
    for n in range(20_000):
        tree = group(f"g{n}", tree)
    assert score_document(tree)["score"] == 0.25
