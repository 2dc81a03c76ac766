"""Grades kept: asked once, gone on with after a failure, and as an RPC."""

from __future__ import annotations

import asyncio
import json
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google.protobuf.json_format import Parse

from firetrial.judge.v1 import judge_service_pb2 as pb
from firetrial.judge.v1 import rubric_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_judge.calibration_rpcs import CalibrationRpcs
from firetrial_judge.grading_rpcs import GradingRpcs, fitting
from firetrial_judge.judges import Spec
from firetrial_judge.rubric.grader import MAX_FILES, Grader
from firetrial_kit.errors import FiretrialError
from firetrial_kit.ids import sha256
from firetrial_kit.models import Endpoint, ModelClient
from firetrial_kit.objects import GRANTS
from firetrial_kit.rpc import MAX_MESSAGE
from firetrial_kit.testing.clock import ManualClock
from firetrial_kit.testing.objects import InMemoryObjects
from support.scripted_models import Reply, Request, Script, ScriptedModels, answer, status
from support.tars import special, tarred

RUBRIC = b"""
id: root
children:
  - {id: honest, question: Did it run?, condition: C1, category: Code Execution, weight: 3}
  - {id: done, question: Is there more?, condition: C2, category: Code Execution}
  - {id: enough, question: Is it good?, condition: C3, category: Code Execution}
"""
FILES = tarred(
    ("paper.md", b"# Title\n"),
    ("train.py", b"x = 1\n"),
    (special("link", tarfile.SYMTYPE, "/etc/passwd"), b""),
)
MODEL = plan_pb2.JudgeConfig.BACKEND_MODEL
OFFLINE = plan_pb2.JudgeConfig.BACKEND_OFFLINE


class Rpcs(GradingRpcs, CalibrationRpcs):
    """Of the judge's RPCs, those that grade."""

    JudgeRun = ScoreText = GetJudgement = ListJudgements = WatchJudgements = None  # type: ignore[assignment]
    CheckEntailment = None  # type: ignore[assignment]


def entry(id_: str, given: str = "yes") -> dict[str, Any]:
    return {"id": id_, "answer": given, "rationale": "because", "evidence": ["train.py:1-1"]}


def obedient(_: Request) -> Reply:
    return answer({"grades": [entry("q1"), entry("q2", "no"), entry("q3")]})


def alone(request: Request) -> bool:
    return '"q2"' not in request.prompt


@asynccontextmanager
async def grading(script: Script) -> AsyncIterator[tuple[Grader, InMemoryObjects, ScriptedModels]]:
    objects = InMemoryObjects(GRANTS["judge"])
    with ScriptedModels(script) as models:
        client = ModelClient(Endpoint(models.base_url, "scripted", patience=1.0))
        try:
            yield Grader(objects, lambda _: client, ManualClock()), objects, models
        finally:
            await client.aclose()


async def test_a_grade_is_kept_under_its_id_and_paid_for_once() -> None:
    async with grading(obedient) as (grader, objects, models):
        grade = await grader.grade(RUBRIC, FILES, Spec())
        again = await grader.grade(RUBRIC, FILES, Spec())
    assert again == grade
    assert len(models.requests) == 1
    assert objects.puts == 1
    kept = Parse(objects.held[f"results/grades/{grade.id}.json"][0], rubric_pb2.Grade())
    assert kept == grade
    assert grade.rubric_sha256 == sha256(RUBRIC)
    assert [(leaf.node_id, leaf.state) for leaf in grade.leaves] == [
        ("honest", 1),
        ("done", 2),
        ("enough", 1),
    ]
    assert {name: (c.passed, c.total) for name, c in grade.conditions.items()} == {
        "C1": (1, 1),
        "C2": (0, 1),
        "C3": (1, 1),
    }
    assert (grade.strict, grade.almost, grade.valid) == (False, False, False)
    assert grade.passed == pytest.approx(2 / 3)
    assert grade.score == pytest.approx(4 / 5)
    assert dict(grade.score_by_category) == {"Code Execution": grade.score}
    assert grade.usage.calls == 1
    assert list(grade.faults) == ["link is no plain file"]
    assert [leaf.answer for leaf in grade.leaves] == ["yes", "no", "yes"]
    assert (list(grade.flags), list(grade.notes)) == ([], [])
    assert list(grade.leaves[0].evidence) == ["train.py:1-1"]
    assert "train.py:1-1" in grade.leaves[0].reading


async def test_an_unscored_question_leaves_totals_unset_and_is_asked_again_next_time() -> None:
    def forgetful(request: Request) -> Reply:
        return answer({"grades": [] if alone(request) else [entry("q1"), entry("q3")]})

    async with grading(forgetful) as (grader, _, models):
        grade = await grader.grade(RUBRIC, FILES, Spec())
        asked = len(models.requests)
        again = await grader.grade(RUBRIC, FILES, Spec())
        assert len(models.requests) - asked == 2  # the open question: in a batch, then alone
    assert [leaf.state for leaf in grade.leaves] == [1, 3, 1]
    for name in ("passed", "strict", "almost", "valid", "score"):
        assert not grade.HasField(name)
    assert (grade.conditions["C2"].passed, grade.conditions["C2"].total) == (0, 1)
    assert list(grade.flags) == ["unscored_leaves"]
    assert list(grade.notes) == ["1 questions have no grade"]
    assert again.id == grade.id
    assert again.usage.calls > grade.usage.calls


async def test_a_model_that_fails_is_an_error_and_what_was_graded_is_kept() -> None:
    def failing(request: Request) -> Reply:
        return status(401) if alone(request) else answer({"grades": [entry("q1"), entry("q3")]})

    async with grading(failing) as (grader, objects, _):
        with pytest.raises(FiretrialError) as error:
            await grader.grade(RUBRIC, FILES, Spec())
        assert error.value.reason == "PRECONDITION"
        (kept,) = (json.loads(data) for data, _ in objects.held.values())
    assert [leaf["state"] for leaf in kept["leaves"]] == [
        "LEAF_STATE_PASSED",
        "LEAF_STATE_UNSCORED",
        "LEAF_STATE_PASSED",
    ]


async def test_a_caller_that_goes_away_loses_nothing_and_two_callers_pay_once() -> None:
    def slow(request: Request) -> Reply:
        return obedient(request).after(0.3)

    async with grading(slow) as (grader, objects, models):
        gone = asyncio.create_task(grader.grade(RUBRIC, FILES, Spec()))
        other = asyncio.create_task(grader.grade(RUBRIC, FILES, Spec()))
        while not models.requests:
            await asyncio.sleep(0.01)
        gone.cancel()
        grade = await other
    assert len(models.requests) == 1
    assert f"results/grades/{grade.id}.json" in objects.held


async def test_the_rpc_grades_and_refuses_what_it_cannot_do() -> None:
    async with grading(obedient) as (grader, _, models):
        rpcs = Rpcs()
        rpcs._grader = grader
        request = pb.GradeSubmissionRequest(rubric=RUBRIC, files=FILES)
        response = await rpcs.GradeSubmission(request, None)
        assert response.grade.id.startswith("g-")
        for field, config in {
            "config.backend": plan_pb2.JudgeConfig(backend=OFFLINE),
            "config.mode": plan_pb2.JudgeConfig(backend=MODEL, mode=plan_pb2.JudgeConfig.MODE_SET),
            "config.core_idea": plan_pb2.JudgeConfig(core_idea=True),
            "judge.max_cost_usd": plan_pb2.JudgeConfig(max_cost_usd=0.0),
        }.items():
            request = pb.GradeSubmissionRequest(rubric=RUBRIC, files=FILES, config=config)
            with pytest.raises(FiretrialError) as error:
                await rpcs.GradeSubmission(request, None)
            assert [fault.field for fault in error.value.faults] == [field]
    assert len(models.requests) == 1


def test_a_grade_too_big_for_one_message_leaves_its_reading_out() -> None:
    grade = rubric_pb2.Grade(id="g-1")
    for n in range(10_000):
        grade.leaves.add(node_id=str(n), rationale="r" * 100, reading=["code/train.py:1-40"] * 30)
    sent = fitting(grade)
    assert sent.ByteSize() < MAX_MESSAGE < grade.ByteSize()
    assert (len(sent.leaves), sent.leaves[0].rationale, list(sent.leaves[0].reading)) == (
        10_000,
        "r" * 100,
        [],
    )
    assert "reading left out" in sent.faults[0]
    small = rubric_pb2.Grade(id="g-1", leaves=grade.leaves[:10])
    assert fitting(small) == small


@pytest.mark.parametrize(
    ("rubric", "files", "fields"),
    [
        (b"", b"", ["rubric", "files"]),
        (RUBRIC, b"x" * (MAX_FILES + 1), ["files"]),
        (RUBRIC, b"no tar", ["files"]),
        (b"id: a", FILES, ['node "a", question']),
    ],
)
async def test_bad_input_is_refused_before_a_model_is_asked(
    rubric: bytes, files: bytes, fields: list[str]
) -> None:
    async with grading(obedient) as (grader, objects, models):
        with pytest.raises(FiretrialError) as error:
            await grader.grade(rubric, files, Spec())
    assert [fault.field for fault in error.value.faults] == fields
    assert (models.requests, objects.held) == ([], {})
