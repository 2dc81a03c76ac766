"""Grades through protobuf and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firetrial.judge.v1 import rubric_pb2
from firetrial_judge.rubric.grade import LeafGrade, LeafVote, State, totals
from firetrial_judge.rubric.reading import read
from firetrial_judge.rubric.wire import fill, leaves_to_domain, usage_to_domain
from firetrial_kit.asking import Spent

names = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=20)
passages = st.lists(names, max_size=3).map(tuple)
votes = st.lists(
    st.builds(LeafVote, names, st.integers(1, 9), st.sampled_from(State), names), max_size=3
).map(tuple)
counts = st.integers(0, 2**31 - 1)


@given(
    st.lists(names, min_size=1, max_size=6, unique=True),
    st.data(),
    st.builds(Spent, st.integers(1, 9), counts, counts, counts, st.none() | st.floats(0, 9), counts),
)
def test_a_grade_survives_the_wire(ids: list[str], data: st.DataObject, usage: Spent) -> None:
    leaves = [
        LeafGrade(
            id_,
            data.draw(st.sampled_from(State)),
            data.draw(names | st.just("")),
            data.draw(names),
            data.draw(passages),
            data.draw(passages),
            data.draw(votes),
            data.draw(st.none() | st.floats(0, 1)),
        )
        for id_ in ids
    ]
    questions = [{"id": id_, "question": "?", "condition": "C1"} for id_ in ids]
    rubric = read({"id": "root: longer than any id", "children": questions}).rubric
    found = totals(rubric, leaves)
    grade = fill(rubric_pb2.Grade(), leaves, found, usage, ["a note"])
    grade = rubric_pb2.Grade.FromString(grade.SerializeToString())
    assert list(leaves_to_domain(grade).values()) == leaves
    assert usage_to_domain(grade.usage) == usage
    assert list(grade.faults) == ["a note"]
    unscored = any(leaf.state is State.UNSCORED for leaf in leaves)
    for name, value in {"passed": found.passed.p, "score": found.weighted.score}.items():
        assert grade.HasField(name) is not unscored  # type: ignore[arg-type]
        assert unscored or getattr(grade, name) == value
    assert not grade.HasField("valid") or grade.valid is False
    assert grade.conditions["C1"].total == len(ids)
