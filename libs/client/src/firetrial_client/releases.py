"""Releases, leaderboards and episodes: what the analyzer freezes and gives away."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.analyzer.v1.analyzer_service_pb2_grpc import AnalyzerServiceStub
from firetrial.analyzer.v1.contamination_pb2 import Contamination
from firetrial.analyzer.v1.process_pb2 import ProcessMetrics
from firetrial.analyzer.v1.release_pb2 import Release
from firetrial.plan.v1.plan_pb2 import JudgeConfig
from firetrial_client.errors import Fault, invalid
from firetrial_client.judgements import JudgementCalls

if TYPE_CHECKING:
    from firetrial.analyzer.v1.analyzer_service_pb2_grpc import AnalyzerServiceAsyncStub

EPISODE_FORMATS = {
    "jsonl": pb.TRAJECTORY_FORMAT_JSONL,
    "parquet": pb.TRAJECTORY_FORMAT_PARQUET,
}


class ReleaseCalls(JudgementCalls):
    """Methods on releases, which need the judge's word on what is frozen."""

    @property
    def _releasing(self) -> AnalyzerServiceAsyncStub:
        return AnalyzerServiceStub(self._channels.of("analyzer"))

    async def create_release(
        self,
        name: str,
        task_ids: Sequence[str],
        *,
        judge: JudgeConfig | None = None,
        repeats: int = 3,
        description: str = "",
        prices_sha256: str = "",
    ) -> Release:
        """Freeze tasks and a judge under a name; the same again changes nothing.

        `prices_sha256` names the price table by which runs are charged. Raises INVALID, ALREADY_EXISTS for a
        name that stands for another release, PRECONDITION where the judge lacks its model.
        """
        known = await self.describe_judge(judge)
        request = pb.CreateReleaseRequest(
            name=name,
            description=description,
            task_ids=task_ids,
            judge=known.config,
            repeats=repeats,
            judge_config_hash=known.config_hash,
            calibration_id=known.calibration_id,
            prompts_sha256=known.prompts_sha256,
            prices_sha256=prices_sha256,
        )
        return (await self._one("analyzer", lambda: self._releasing.CreateRelease, request)).release

    async def get_release(self, name: str) -> Release:
        """Raises NOT_FOUND."""
        request = pb.GetReleaseRequest(name=name)
        return (await self._one("analyzer", lambda: self._releasing.GetRelease, request)).release

    def list_releases(self) -> AsyncGenerator[Release, None]:
        """Every release, page by page."""
        return self._pages(
            "analyzer", lambda: self._releasing.ListReleases, pb.ListReleasesRequest(), "releases"
        )

    async def get_process_metrics(self, run_id: str) -> ProcessMetrics:
        """How a run explored and improved; what is undefined for it is unset. Raises NOT_FOUND."""
        request = pb.GetProcessMetricsRequest(run_id=run_id)
        return (await self._one("analyzer", lambda: self._releasing.GetProcessMetrics, request)).metrics

    async def get_contamination(self, experiment_id: str) -> Contamination:
        """Whether the scores of an experiment look remembered, and what a probe knew. Raises NOT_FOUND."""
        request = pb.GetContaminationRequest(experiment_id=experiment_id)
        return (await self._one("analyzer", lambda: self._releasing.GetContamination, request)).contamination

    async def leaderboard(self, *, release: str = "", experiment_id: str = "") -> bytes:
        """The leaderboard of a release or of one experiment: `firetrial.leaderboard/1` as JSON.

        Raises INVALID for none or both, NOT_FOUND.
        """
        if bool(release) == bool(experiment_id):
            raise invalid("the leaderboard", [Fault("release", "or experiment_id: one of the two is needed")])
        request = (
            pb.ExportLeaderboardRequest(release=release)
            if release
            else pb.ExportLeaderboardRequest(experiment_id=experiment_id)
        )
        answers = self._stream("analyzer", lambda: self._releasing.ExportLeaderboard, request)
        return b"".join([answer.chunk async for answer in answers])

    async def episodes(self, experiment_id: str, format: str = "jsonl") -> AsyncGenerator[bytes, None]:  # noqa: A002 - its name everywhere else too
        """(task, trajectory, reward) of each run that counts, in one of `EPISODE_FORMATS`, in pieces.

        Raises INVALID for another format, NOT_FOUND.
        """
        if format not in EPISODE_FORMATS:
            cure = f"is {format!r}: must be one of {', '.join(EPISODE_FORMATS)}"
            raise invalid("the export", [Fault("format", cure)])
        request = pb.ExportTrajectoriesRequest(experiment_id=experiment_id, format=EPISODE_FORMATS[format])
        async for answer in self._stream("analyzer", lambda: self._releasing.ExportTrajectories, request):
            yield answer.chunk

    def watch_experiment(
        self, experiment_id: str, *, timeout: float | None = None
    ) -> AsyncGenerator[pb.WatchExperimentResponse, None]:
        """What every service tells of the experiment as it is told, until its report is complete.

        First what is known by now, without a fact. Goes on over restarts of the service, where facts may be
        missed. Raises DEADLINE after `timeout` seconds.
        """
        return self._changes(
            "analyzer",
            lambda: self._releasing.WatchExperiment,
            pb.WatchExperimentRequest(experiment_id=experiment_id),
            lambda answer: answer,
            timeout=timeout,
        )
