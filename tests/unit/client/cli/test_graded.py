"""What `firetrial runs show` says of follow-up runs and of repository runs."""

from __future__ import annotations

from firetrial.artifact.v1.artifact_pb2 import ArtifactRef
from firetrial.judge.v1.judgement_pb2 import Condition, Judgement, Scores, SealedResult
from firetrial_client.cli.runs import _graded, _measured


def test_validity_conditions_and_where_the_grade_lies() -> None:
    judgement = Judgement(
        scores=Scores(score=0.0, measure="validity"),
        conditions=[
            Condition(name="C1", passed=9, total=10, p=0.9, strict=False, almost=True),
            Condition(name="C2", passed=2, total=2, p=1.0, strict=True, almost=True),
            Condition(name="C3", passed=1, total=3, unscored=1),
        ],
        notes=["logs/ was\x1b[31m written by the agent"],
        grade=ArtifactRef(uri="results/grades/g-1.json"),
    )
    assert list(_graded(judgement)) == [
        "not valid",
        "C1 integrity     9 of 10 passed, p 0.900  almost",
        "C2 completeness  2 of 2 passed, p 1.000  strict",
        "C3 sufficiency   1 of 3 passed, p undefined (1 without a grade)",
        r"logs/ was\x1b[31m written by the agent",
        "every question: results/grades/g-1.json",
    ]


def test_what_a_sealed_test_came_to() -> None:
    sealed = SealedResult(step=2, validation=1.25, test=5.0, test_improvement=0.0)
    assert _measured(sealed) == [
        ("normalized improvement", "0"),
        ("tested step", 2),
        ("test", "5"),
        ("validation", "1.25"),
        ("no credit", ""),
    ]
    told = dict(_measured(SealedResult(no_credit="no valid step", findings=["step 1: x"])))
    assert (told["tested step"], told["test"], told["finding"]) == ("none", "unknown", "step 1: x")
