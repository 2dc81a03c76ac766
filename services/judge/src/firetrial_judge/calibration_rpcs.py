"""The judge's RPCs about its own calibration."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from typing import Any

from firetrial.judge.v1 import judge_service_pb2 as pb
from firetrial.judge.v1 import judge_service_pb2_grpc
from firetrial_kit.errors import FiretrialError, Reason

_LATER = "judges are not calibrated yet"


class CalibrationRpcs(judge_service_pb2_grpc.JudgeServiceServicer):
    """The part of firetrial.judge.v1.JudgeService that calibrates."""

    async def Calibrate(self, request: pb.CalibrateRequest, context: Any) -> pb.CalibrateResponse:
        raise FiretrialError(Reason.NOT_YET, _LATER)

    async def GetCalibration(
        self, request: pb.GetCalibrationRequest, context: Any
    ) -> pb.GetCalibrationResponse:
        raise FiretrialError(Reason.NOT_YET, _LATER)

    async def ListCalibrations(
        self, request: pb.ListCalibrationsRequest, context: Any
    ) -> pb.ListCalibrationsResponse:
        raise FiretrialError(Reason.NOT_YET, _LATER)
