"""Malformed trees: each fault with its node, all at once."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firetrial_judge.rubric.graded import score_document
from firetrial_judge.rubric.reading import MAX_NODES, read
from firetrial_judge.rubric.tree import Condition, Deliverable
from firetrial_kit.documents import load
from firetrial_kit.errors import FiretrialError


def leaf(id_: str = "q", **more: Any) -> dict[str, Any]:
    return {"id": id_, "question": f"{id_}?"} | more


def under(*children: Any, **more: Any) -> dict[str, Any]:
    return {"id": "root", "sub_tasks": list(children)} | more


def told(document: Any) -> list[str]:
    with pytest.raises(FiretrialError) as error:
        read(document)
    assert error.value.reason == "INVALID"
    return [str(fault) for fault in error.value.faults]


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ([], "the root is 'list'"),
        (None, "the root"),
        (under({"question": "?"}), 'node "root", children[0], id'),
        (under({"id": 7, "question": "?"}), "children[0], id is '7'"),
        (under({"id": " ", "question": "?"}), "children[0], id"),
        (under(leaf("a"), leaf("a")), "node \"a\", id is 'a': must stand in the tree once"),
        (under(leaf("root")), "node \"root\", id is 'root': must not lie below itself (a cycle)"),
        (under(leaf("a", weight=-1)), "node \"a\", weight is '-1'"),
        (under(leaf("a", weight="1")), 'node "a", weight'),
        (under(leaf("a", weight=None)), 'node "a", weight'),
        (under(leaf("a", weight=True)), 'node "a", weight'),
        (under(leaf("a", weight=float("nan"))), 'node "a", weight'),
        (under(leaf("a", weight=1e300)), 'node "a", weight'),
        (under(leaf("a", weight=10**5000)), "node \"a\", weight is 'a huge number'"),
        (under(leaf("a", weight=0), leaf("b", weight=0.0)), 'node "root", weights of its children'),
        (under({"id": "a"}), 'node "a", question'),
        (under({"id": "a", "requirements": " \n"}), 'node "a", question'),
        (under(leaf("a", question=["?"])), 'node "a", question'),
        (under(leaf("a", condition="C4")), "node \"a\", condition is 'C4': must be one of C1, C2, C3"),
        (under(leaf("a", deliverables=["code", "video"])), "node \"a\", deliverables is 'video'"),
        (under(leaf("a", passing=["fine"], answers=["good"])), "node \"a\", passing is 'fine'"),
        (under(leaf("a", passing=[{}])), 'node "a", passing'),
        (under(leaf("a", answers=["x", "x"])), 'node "a", answers'),
        (under(leaf("a", score=1.5)), "node \"a\", score is '1.5'"),
        (under(leaf("a", score=float("nan"))), 'node "a", score'),
        (under(leaf("a", score=True)), 'node "a", score'),
        (under(leaf("a", answer="perhaps")), "node \"a\", answer is 'perhaps'"),
        (under(leaf("a", sub_tasks={})), 'node "a", children'),
        (under(leaf("a", passed=1)), "node \"a\", passed is '1'"),
        (under(leaf("a\nb")), "children[0], id"),
        (under(leaf("\ud800")), "children[0], id"),
        (under(leaf("a", category="\ud800")), 'node "a", category'),
        (under(leaf("a", passing="\ud800")), 'node "a", passing'),
        (under("a"), "children[0] is 'a': must be a node"),
        (under(leaf("a", children="b")), 'node "a", children'),
        (under(*(leaf(str(n), category=f"kind {n}") for n in range(17))), "categories"),
    ],
)
def test_a_fault_names_its_node(document: Any, named: str) -> None:
    assert any(named in fault for fault in told(document)), told(document)


def test_all_faults_are_told_at_once() -> None:
    document = under(leaf("a", weight=-1, condition="C9"), {"id": "b"}, under(leaf("c", score="x")))
    faults = "\n".join(told(document))
    for named in ('"a", weight', '"a", condition', '"b", question', '"root", id', "(a cycle)"):
        assert named in faults


def test_an_object_that_contains_itself_ends() -> None:
    named: dict[str, Any] = under()
    nameless: dict[str, Any] = {"question": "?", "id": None}
    named["sub_tasks"].append(named)
    assert "(a cycle)" in told(named)[0]
    nameless["sub_tasks"] = [nameless]
    assert any("id" in fault for fault in told(nameless))


def test_too_many_nodes_are_refused() -> None:
    (fault,) = told(under(*(leaf(str(n)) for n in range(MAX_NODES))))
    assert str(MAX_NODES) in fault


def test_both_spellings_and_what_groups_hand_down() -> None:
    tree = {
        "id": "r",
        "question": "all",
        "children": [
            {
                "id": "g",
                "requirements": "some",
                "condition": "C2",
                "deliverables": ["paper", "logs"],
                "sub_tasks": [
                    leaf("a", task_category="Code Execution"),
                    leaf("b", condition="C3", deliverable="code"),
                ],
            }
        ],
    }
    rubric = read(tree).rubric
    assert [node.id for node in rubric.nodes] == ["r", "g", "a", "b"]
    a, b = rubric.leaves
    assert (a.condition, a.deliverables) == (Condition.COMPLETENESS, (Deliverable.PAPER, Deliverable.LOGS))
    assert (a.category, a.weight, a.passing, a.answers) == ("Code Execution", 1.0, ("yes",), ("yes", "no"))
    assert (b.condition, b.deliverables) == (Condition.SUFFICIENCY, (Deliverable.CODE,))
    assert [node.id for node in rubric.above(b)] == ["g", "r"]


scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.just("C1"))
NAMES = ("id", "question", "weight", "condition", "deliverables", "category", "passing", "answers", "score")
fields = st.sampled_from((*NAMES, "requirements", "passed", "answer", "valid_score", "children", "sub_tasks"))
documents = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(fields, inner, max_size=6)),
    max_leaves=25,
)


@given(documents)
@settings(max_examples=500)
def test_any_document_is_read_or_refused(document: Any) -> None:
    try:
        reading = read(document)
    except FiretrialError as error:
        for fault in error.faults:
            str(fault).encode()
        return
    score = score_document(document)["score"]
    assert score is None or 0 <= score <= 1
    assert reading.rubric.leaves


# Files


YAML = """
id: r
children:
  - id: honest
    question: Were numbers made up?
    passing: [no]
    condition: C1
  - {id: done, question: Is there a paper?, weight: 2}
"""


def test_yaml_and_json_say_the_same() -> None:
    from_yaml = read(load(YAML.encode())).rubric
    from_json = read(load(b"\xef\xbb\xbf" + json.dumps(load(YAML.encode())).encode())).rubric
    assert from_yaml == from_json
    assert from_yaml.leaves[0].passing == ("no",)


@pytest.mark.parametrize(
    "data",
    [
        b'{"id": "a", "id": "b", "question": "?"}',
        b'{"id": "a", "question": "?", "weight": NaN}',
        b"id: a\nid: b\nquestion: q",
        b"id: [",
        b'{"id": ',
        b"\t\x00\xff",
        b"!!python/object/apply:os.system [ls]",
        b"!!bool x",
        b'!!int ""',
        b"!!timestamp x",
        b"[" * 100_000,
        b"- " * 100_000,
    ],
)
def test_files_that_cannot_be_read_are_refused(data: bytes) -> None:
    with pytest.raises(FiretrialError) as error:
        read(load(data))
    assert error.value.faults


@given(st.one_of(st.binary(max_size=60), st.text("id: [{}]&*a!<-\n'\"%@|>", max_size=60).map(str.encode)))
@settings(max_examples=500)
def test_any_bytes_are_loaded_or_refused(data: bytes) -> None:
    with contextlib.suppress(FiretrialError):  # and nothing else
        load(data)


def test_an_alias_in_yaml_is_a_cycle_or_a_second_stand() -> None:
    assert "(a cycle)" in told(load(b"&r {id: r, question: q, children: [*r]}"))[0]
    twice = b"{id: r, children: [&a {id: a, question: q}, *a]}"
    assert "must stand in the tree once" in told(load(twice))[0]


def test_the_documented_rubric_is_one() -> None:
    page = (Path(__file__).resolve().parents[4] / "docs" / "rubrics.md").read_text()
    rubric = read(load(page.split("```yaml\n")[1].split("```")[0].encode())).rubric
    assert [(leaf.id, leaf.condition) for leaf in rubric.leaves] == [
        ("numbers", Condition.INTEGRITY),
        ("invented", Condition.INTEGRITY),
        ("sweep", Condition.SUFFICIENCY),
    ]
