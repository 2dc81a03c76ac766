"""The judge's RPCs about its own calibration."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from typing import Any

from firetrial.judge.v1 import judge_service_pb2 as pb
from firetrial.judge.v1 import judge_service_pb2_grpc
from firetrial_judge.calibration.calibrating import Calibrating
from firetrial_kit.errors import Fault, FiretrialError, Reason, check

_MOST_BYTES = 3 * 1024 * 1024


class CalibrationRpcs(judge_service_pb2_grpc.JudgeServiceServicer):
    """The part of firetrial.judge.v1.JudgeService that calibrates."""

    _calibrating: Calibrating | None = None

    async def Calibrate(self, request: pb.CalibrateRequest, context: Any) -> pb.CalibrateResponse:
        size = len(request.labels)
        check(
            "the request",
            [Fault("labels", f"{size} bytes", f"must be 1 to {_MOST_BYTES} bytes")]
            if not 0 < size <= _MOST_BYTES
            else [],
        )
        calibration = await self._work().calibrate(request.labels, request.config)
        return pb.CalibrateResponse(calibration=calibration)

    async def GetCalibration(
        self, request: pb.GetCalibrationRequest, context: Any
    ) -> pb.GetCalibrationResponse:
        return pb.GetCalibrationResponse(calibration=await self._work().get(request.id))

    async def ListCalibrations(
        self, request: pb.ListCalibrationsRequest, context: Any
    ) -> pb.ListCalibrationsResponse:
        calibrations, token = await self._work().page(request.page_size, request.page_token)
        return pb.ListCalibrationsResponse(calibrations=calibrations, next_page_token=token)

    async def DescribeJudge(self, request: pb.DescribeJudgeRequest, context: Any) -> pb.DescribeJudgeResponse:
        return await self._work().describe(request.config)

    def _work(self) -> Calibrating:
        if self._calibrating is None:
            raise FiretrialError(Reason.NOT_YET, "this judge is not set up for calibration")
        return self._calibrating
