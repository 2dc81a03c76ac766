"""The part of the fake analyzer that freezes, ranks and exports."""
# ruff: noqa: N802 - methods are named as in the contract

from __future__ import annotations

import json
from typing import Any

from firetrial.analyzer.v1 import analyzer_service_pb2 as analyzer
from firetrial.analyzer.v1 import analyzer_service_pb2_grpc, contamination_pb2, process_pb2, release_pb2

_ENTRY = {
    "rank": 1, "agent": "a@1\x1b[31m", "model": "m", "provenance": "self_reported", "made_by": "A Lab",
    "f1": 0.5, "f1_low": 0.25,
    "f1_high": 0.75, "runs_counted": 3, "runs_expected": 3, "usd_per_run": None,
}  # fmt: skip


class FakeReleases(analyzer_service_pb2_grpc.AnalyzerServiceServicer):
    releases: dict[str, release_pb2.Release]

    def CreateRelease(self, request: Any, context: Any) -> Any:
        release = release_pb2.Release(
            name=request.name,
            tasks=[release_pb2.ReleasedTask(id=id_) for id_ in request.task_ids],
            judge=request.judge,
            judge_config_hash=request.judge_config_hash,
            calibration_id=request.calibration_id,
            repeats=request.repeats,
            checksum="ab" * 32,
        )
        known = self.__dict__.setdefault("releases", {})
        known[request.name] = release
        return analyzer.CreateReleaseResponse(release=release)

    def GetRelease(self, request: Any, context: Any) -> Any:
        return analyzer.GetReleaseResponse(release=self.releases[request.name])

    def ListReleases(self, request: Any, context: Any) -> Any:
        return analyzer.ListReleasesResponse(releases=self.__dict__.get("releases", {}).values())

    def ExportLeaderboard(self, request: Any, context: Any) -> Any:
        of = request.WhichOneof("of")
        told = {"of": [of, getattr(request, of)], "entries": [_ENTRY, {**_ENTRY, "rank": None, "f1": None}],
                "calibrated": False, "left_out": [{"reason": "another judge", "runs": 2}]}  # fmt: skip
        body = json.dumps(told).encode()
        yield analyzer.ExportLeaderboardResponse(chunk=body[:10])
        yield analyzer.ExportLeaderboardResponse(chunk=body[10:])

    def GetProcessMetrics(self, request: Any, context: Any) -> Any:
        found = process_pb2.ProcessMetrics(run_id=request.run_id, steps=7, step_success_rate=0.5)
        return analyzer.GetProcessMetricsResponse(metrics=found)

    def GetContamination(self, request: Any, context: Any) -> Any:
        cells = [contamination_pb2.Cell(difficulty="easy", published="before", tasks=2, mean=0.5, std=0.25)]
        cells.append(contamination_pb2.Cell(difficulty="easy", published="after"))
        agent = contamination_pb2.ModelContamination(
            agent_id="a@1", model="m", cells=cells, verdict="too_few_data", reason="2 tasks before."
        )
        beside = contamination_pb2.Probe(task_id="t-1", agent_id="a@1", agent_f1=0.5, agent_runs=1)
        found = contamination_pb2.Contamination(
            experiment_id=request.experiment_id, models=[agent], probes=[beside]
        )
        return analyzer.GetContaminationResponse(contamination=found)

    def ExportTrajectories(self, request: Any, context: Any) -> Any:
        name = analyzer.TrajectoryFormat.Name(request.format)
        yield analyzer.ExportTrajectoriesResponse(chunk=f"{name} of ".encode())
        yield analyzer.ExportTrajectoriesResponse(chunk=request.experiment_id.encode())

    def WatchExperiment(self, request: Any, context: Any) -> Any:
        told = analyzer.WatchExperimentResponse
        yield told(expected_runs=1)
        heard = told(fact="run_judged", service="judge", key="r-1", detail="F1 0.50", expected_runs=1)
        heard.told_at.FromSeconds(1)
        yield heard
        yield told(
            fact="experiment_reported", service="analyzer", ended_runs=1, expected_runs=1, complete=True
        )
