"""The judge's RPCs: protobuf in, protobuf out."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from firetrial.judge.v1 import judge_service_pb2 as pb
from firetrial_judge.archive import Archive
from firetrial_judge.calibration.calibrating import Calibrating
from firetrial_judge.calibration_rpcs import CalibrationRpcs
from firetrial_judge.entailment_rpcs import EntailmentRpcs
from firetrial_judge.grading_rpcs import GradingRpcs
from firetrial_judge.judging import Judging
from firetrial_judge.kinds.by_kind import ByKind
from firetrial_judge.records import JudgedRun, JudgementRecord
from firetrial_judge.wire import is_id
from firetrial_kit.errors import Fault, FiretrialError, Reason, check, invalid
from firetrial_kit.records import Records


class JudgeServicer(GradingRpcs, CalibrationRpcs, EntailmentRpcs):
    """firetrial.judge.v1.JudgeService."""

    def __init__(
        self,
        judging: Judging,
        archive: Archive,
        judgements: Records[JudgementRecord],
        runs: Records[JudgedRun],
        kinds: ByKind,
        *,
        calibrating: Calibrating | None = None,
    ) -> None:
        self._judging = judging
        self._kinds = kinds
        self._archive = archive
        self._judgements = judgements
        self._runs = runs
        self._grader = kinds.follow_ups.grader
        self._calibrating = calibrating

    async def ScoreText(self, request: pb.ScoreTextRequest, context: Any) -> pb.ScoreTextResponse:
        texts = {"conclusion": request.conclusion, "ground_truth": request.ground_truth}
        check("the request", [Fault(n, t, "must hold text") for n, t in texts.items() if not t.strip()])
        judgement = await self._judging.texts(request.conclusion, request.ground_truth, request.config)
        return pb.ScoreTextResponse(judgement=judgement)

    async def GetJudgement(self, request: pb.GetJudgementRequest, context: Any) -> pb.GetJudgementResponse:
        key = request.WhichOneof("key")
        if key is None:
            raise invalid("the request", [Fault("key", "", "must be an id or a run_id")])
        id_ = request.id if key == "id" else _judged(await self._runs.get(request.run_id))
        record = await self._judgements.get(id_)
        return pb.GetJudgementResponse(judgement=await self._archive.judgement(record.ref))

    async def ListJudgements(
        self, request: pb.ListJudgementsRequest, context: Any
    ) -> pb.ListJudgementsResponse:
        records, token = await self._judgements.page(request.page_size, request.page_token)
        judgements = await asyncio.gather(*(self._archive.judgement(record.ref) for record in records))
        return pb.ListJudgementsResponse(judgements=judgements, next_page_token=token)

    async def JudgeRun(self, request: pb.JudgeRunRequest, context: Any) -> pb.JudgeRunResponse:
        if not is_id(request.run_id):
            raise invalid("the request", [Fault("run_id", request.run_id, "must be the id of a run")])
        return pb.JudgeRunResponse(judgement=await self._kinds.again(request.run_id, request.config))

    async def WatchJudgements(
        self, request: pb.WatchJudgementsRequest, context: Any
    ) -> AsyncIterator[pb.WatchJudgementsResponse]:
        wanted = request.experiment_id
        known = frozenset() if wanted else frozenset(await self._judgements.ids())
        async for record in self._judgements.watch():
            if record.experiment_id == wanted if wanted else record.id not in known:
                judgement = await self._archive.judgement(record.ref)
                yield pb.WatchJudgementsResponse(judgement=judgement)


def _judged(run: JudgedRun) -> str:
    if not run.judgement_id:
        raise FiretrialError(Reason.PRECONDITION, f"run {run.run_id} was not judged: {run.reason}")
    return run.judgement_id
