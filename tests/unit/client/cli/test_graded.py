"""What `firetrial runs show` says of a follow-up run."""

from __future__ import annotations

from firetrial.artifact.v1.artifact_pb2 import ArtifactRef
from firetrial.judge.v1.judgement_pb2 import Condition, Judgement, Scores
from firetrial_client.cli.runs import _graded


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
