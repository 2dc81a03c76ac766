"""Judgements, grades and calibrations: what the judge owns."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING

from firetrial.judge.v1 import judge_service_pb2 as pb
from firetrial.judge.v1.calibration_pb2 import Calibration
from firetrial.judge.v1.entailment_pb2 import CheckEntailmentRequest, CheckEntailmentResponse
from firetrial.judge.v1.judge_service_pb2_grpc import JudgeServiceStub
from firetrial.judge.v1.judgement_pb2 import Judgement
from firetrial.judge.v1.rubric_pb2 import Grade
from firetrial.plan.v1.plan_pb2 import JudgeConfig
from firetrial_client.calls import Caller

if TYPE_CHECKING:
    from firetrial.judge.v1.judge_service_pb2_grpc import JudgeServiceAsyncStub

# A model may take its time over long texts.
_JUDGING = 600.0


class JudgementCalls(Caller):
    """Methods on judgements."""

    @property
    def _judge(self) -> JudgeServiceAsyncStub:
        return JudgeServiceStub(self._channels.of("judge"))

    async def score_text(
        self, conclusion: str, ground_truth: str, *, config: JudgeConfig | None = None
    ) -> Judgement:
        """Judge two texts without a run; nothing is kept. Raises INVALID."""
        request = pb.ScoreTextRequest(conclusion=conclusion, ground_truth=ground_truth, config=config)
        return (await self._one("judge", lambda: self._judge.ScoreText, request, _JUDGING)).judgement

    async def check_entailment(
        self,
        premise: str,
        hypotheses: Sequence[str],
        *,
        config: JudgeConfig | None = None,
        atomic: bool = False,
        searching: bool = False,
    ) -> CheckEntailmentResponse:
        """Rule on hypotheses by a premise; nothing is kept. Raises INVALID.

        `atomic` takes each hypothesis apart; `searching` looks for what a text gives away, and errs on the
        side of ENTAILED.
        """
        request = CheckEntailmentRequest(
            premise=premise, hypotheses=hypotheses, config=config, atomic=atomic, searching=searching
        )
        return await self._one("judge", lambda: self._judge.CheckEntailment, request, _JUDGING)

    async def get_judgement(self, judgement_id: str = "", *, run_id: str = "") -> Judgement:
        """The judgement with this id, or the latest one of a run. Raises NOT_FOUND."""
        request = (
            pb.GetJudgementRequest(run_id=run_id)
            if run_id and not judgement_id
            else pb.GetJudgementRequest(id=judgement_id)
        )
        return (await self._one("judge", lambda: self._judge.GetJudgement, request)).judgement

    async def judge_run(self, run_id: str, *, config: JudgeConfig | None = None) -> Judgement:
        """Judge a concluded run under a configuration of one's own; the run's own judgement stays.

        Judged so before, it is answered at once. Raises INVALID, NOT_FOUND, and PRECONDITION where the run
        left nothing to judge or the judge lacks a model, a price or money.
        """
        request = pb.JudgeRunRequest(run_id=run_id, config=config)
        return (await self._one("judge", lambda: self._judge.JudgeRun, request, _JUDGING)).judgement

    def watch_judgements(
        self, experiment_id: str, *, timeout: float | None = None
    ) -> AsyncGenerator[Judgement, None]:
        """The judgements of an experiment's runs: those that there are, then each as it is made.

        Goes on over restarts of the service; never ends by itself. Raises DEADLINE after `timeout` seconds.
        """
        return self._changes(
            "judge",
            lambda: self._judge.WatchJudgements,
            pb.WatchJudgementsRequest(experiment_id=experiment_id),
            lambda answer: answer.judgement,
            timeout=timeout,
        )

    async def describe_judge(self, config: JudgeConfig | None = None) -> pb.DescribeJudgeResponse:
        """What a judge configuration comes to: `config_hash`, `calibration_id`, `prompts_sha256`, `quality`.

        Nothing is judged. Raises INVALID, and PRECONDITION where the judge lacks the model.
        """
        request = pb.DescribeJudgeRequest(config=config)
        return await self._one("judge", lambda: self._judge.DescribeJudge, request)

    async def calibrate(self, labels: bytes, *, config: JudgeConfig | None = None) -> Calibration:
        """Measure a judge against people's labels (CSV or JSON lines) and keep the result. Raises INVALID."""
        request = pb.CalibrateRequest(labels=labels, config=config)
        return (await self._one("judge", lambda: self._judge.Calibrate, request, _JUDGING)).calibration

    async def get_calibration(self, calibration_id: str) -> Calibration:
        """Raises NOT_FOUND."""
        request = pb.GetCalibrationRequest(id=calibration_id)
        return (await self._one("judge", lambda: self._judge.GetCalibration, request)).calibration

    def list_calibrations(self) -> AsyncGenerator[Calibration, None]:
        """Every calibration, page by page."""
        return self._pages(
            "judge", lambda: self._judge.ListCalibrations, pb.ListCalibrationsRequest(), "calibrations"
        )

    async def grade_submission(
        self, rubric: bytes, files: bytes, *, config: JudgeConfig | None = None
    ) -> Grade:
        """Grade a tar of a submission's files under a rubric (JSON or YAML).

        Graded so before, it is answered at once. Raises INVALID, and PRECONDITION where the judge lacks a
        model, a price or money.
        """
        request = pb.GradeSubmissionRequest(rubric=rubric, files=files, config=config)
        return (await self._one("judge", lambda: self._judge.GradeSubmission, request, _JUDGING)).grade

    def list_judgements(self) -> AsyncGenerator[Judgement, None]:
        """Every judgement, page by page."""
        return self._pages(
            "judge", lambda: self._judge.ListJudgements, pb.ListJudgementsRequest(), "judgements"
        )
