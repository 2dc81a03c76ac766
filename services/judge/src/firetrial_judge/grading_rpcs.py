"""The judge's RPCs about submissions and rubrics."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from typing import Any

from firetrial.judge.v1 import judge_service_pb2 as pb
from firetrial.judge.v1 import judge_service_pb2_grpc, rubric_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_judge.rubric.grader import Grader
from firetrial_judge.wire import spec_to_domain
from firetrial_kit.errors import Fault, check
from firetrial_kit.rpc import MAX_MESSAGE

_ROOM = MAX_MESSAGE - 64 * 1024
_NEED_MODEL = "must be model or unspecified: rubrics are graded by a model"
# What a plan can say of judging claims, and what grading has no use for.
_FOREIGN = ("mode", "core_idea", "convention")


class GradingRpcs(judge_service_pb2_grpc.JudgeServiceServicer):
    """The part of firetrial.judge.v1.JudgeService that grades."""

    _grader: Grader

    async def GradeSubmission(
        self, request: pb.GradeSubmissionRequest, context: Any
    ) -> pb.GradeSubmissionResponse:
        check("the judge's configuration", _faults(request.config))
        spec = spec_to_domain(request.config)
        grade = await self._grader.grade(request.rubric, request.files, spec)
        return pb.GradeSubmissionResponse(grade=fitting(grade))


def fitting(grade: rubric_pb2.Grade) -> rubric_pb2.Grade:
    """The grade as one message can carry it: of thousands of questions, without what was read or said."""
    whole, grade = grade, rubric_pb2.Grade()
    grade.CopyFrom(whole)
    for name in ("looks", "reading", "rationale", "evidence", "votes"):
        if grade.ByteSize() <= _ROOM:
            break
        if not any(getattr(leaf, name) for leaf in grade.leaves):
            continue
        for leaf in grade.leaves:
            leaf.ClearField(name)
        grade.faults.append(f"{name} left out of this answer: see results/grades/{grade.id}.json")
    return grade


def _faults(config: plan_pb2.JudgeConfig) -> list[Fault]:
    given = {field.name: str(value) for field, value in config.ListFields() if field.name in _FOREIGN}
    faults = [Fault(f"config.{n}", value, "must be unset for a grade") for n, value in given.items()]
    if config.backend not in (plan_pb2.JudgeConfig.BACKEND_UNSPECIFIED, plan_pb2.JudgeConfig.BACKEND_MODEL):
        faults.append(Fault("config.backend", str(config.backend), _NEED_MODEL))
    return faults
