"""The judge's RPCs about submissions and rubrics."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from typing import Any

from firetrial.judge.v1 import judge_service_pb2 as pb
from firetrial.judge.v1 import judge_service_pb2_grpc
from firetrial_kit.errors import FiretrialError, Reason


class GradingRpcs(judge_service_pb2_grpc.JudgeServiceServicer):
    """The part of firetrial.judge.v1.JudgeService that grades."""

    async def GradeSubmission(
        self, request: pb.GradeSubmissionRequest, context: Any
    ) -> pb.GradeSubmissionResponse:
        raise FiretrialError(Reason.NOT_YET, "submissions are not graded yet")
