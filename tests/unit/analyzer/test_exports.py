"""Leaderboards, episodes and contamination by RPC, over what the services have told."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import polars as pl
import pytest
from google.protobuf.json_format import MessageToJson

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.artifact.v1 import artifact_pb2
from firetrial.judge.v1 import events_pb2 as judge_events
from firetrial.judge.v1 import judgement_pb2
from firetrial.parser.v1 import task_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_analyzer.leaderboard import verify
from firetrial_kit.errors import FiretrialError, Reason
from unit.analyzer.bench import Bench

CONFIG = "ab" * 32
AGENTS = ("careful@1", "bare@2", "closed-book@3")


@pytest.fixture
async def bench() -> Bench:
    """Three agents, one of them the probe, on two tasks of a release, all judged."""
    bench = Bench()
    for number, month in ((1, "2023-05"), (2, "2026-05")):
        task = task_pb2.Task(id=f"t-{number}", version="v", question="Does it?", published=month)
        task.instruction = "Find out."
        task.difficulty.CopyFrom(
            task_pb2.Difficulty(conceptual_decomposition=1, confound_control=1, analysis_complexity=1)
        )
        task.truth.CopyFrom(artifact_pb2.ArtifactRef(uri=f"truth/t-{number}", sha256=CONFIG))
        data = MessageToJson(task).encode()
        await bench.everything.put("runs", f"tasks/t-{number}/task.json", data, "application/json")
    await bench.servicer.CreateRelease(
        pb.CreateReleaseRequest(name="r1", task_ids=["t-1", "t-2"], repeats=1, judge_config_hash=CONFIG), None
    )
    for agent, f1 in zip(AGENTS, (0.75, 0.5, 0.25), strict=True):
        for number in (1, 2):
            await judged(bench, f"r-{agent[:4]}{number}", agent, f"t-{number}", f1)
    await bench.deliver("run_judged")
    return bench


async def judged(bench: Bench, run_id: str, agent: str, task: str, f1: float) -> None:
    run = run_pb2.Run(
        id=run_id, experiment_id="e-1", task_id=task, agent_id=agent, model="gpt-5", repeat=1, attempt=1
    )
    scores = judgement_pb2.Scores(precision=f1, recall=f1, f1=f1)
    judgement = judgement_pb2.Judgement(
        id=f"j-{run_id}",
        run_id=run_id,
        config_hash=CONFIG,
        calibration_id="c-1",
        scores=scores,
        quality="measured",
    )
    judgement.config.backend = plan_pb2.JudgeConfig.BACKEND_MODEL
    ref = await bench.everything.put(
        "results", f"judgements/{run_id}.json", MessageToJson(judgement).encode(), "application/json"
    )
    await bench.everything.put(
        "runs", f"runs/{run_id}/trajectory/0000000001.jsonl.gz",
        gzip.compress(b'{"step": 1, "offset_s": 0, "kind": "output", "text": "hello"}\n'), "application/gzip",
    )  # fmt: skip
    plan = plan_pb2.Plan(agents=AGENTS, repeats=1, model="gpt-5", probe=AGENTS[2], release="r1")
    event = judge_events.RunJudged(run=run, judgement_id=judgement.id, scores=scores)
    event.slip.CopyFrom(plan_pb2.Slip(experiment_id="e-1", expected_runs=6, plan=plan))
    event.judgement.CopyFrom(artifact_pb2.ArtifactRef(uri=ref.uri, sha256=ref.sha256, size=ref.size))
    await bench.tell("judge", run_id, event)


async def whole(answers: AsyncIterator[Any]) -> bytes:
    return b"".join([answer.chunk async for answer in answers])


async def board(bench: Bench, **of: str) -> dict[str, Any]:
    data = await whole(bench.servicer.ExportLeaderboard(pb.ExportLeaderboardRequest(**of), None))
    verify(data)
    told: dict[str, Any] = json.loads(data)
    return told


async def test_the_leaderboard_of_an_experiment_and_of_its_release(bench: Bench) -> None:
    for told in (await board(bench, experiment_id="e-1"), await board(bench, release="r1")):
        assert [(one["rank"], one["agent"], one["f1"]) for one in told["entries"]] == [
            (1, AGENTS[0], 0.75), (2, AGENTS[1], 0.5),
        ]  # fmt: skip
        assert (told["calibrated"], told["experiments"]) == (True, ["e-1"])
    assert told["release"] == "r1"


async def test_the_same_again_is_the_same_bytes(bench: Bench) -> None:
    request = pb.ExportLeaderboardRequest(release="r1")
    first = await whole(bench.servicer.ExportLeaderboard(request, None))
    bench.start()
    assert await whole(bench.servicer.ExportLeaderboard(request, None)) == first


async def test_episodes_come_as_lines_and_as_parquet(bench: Bench) -> None:
    def asked(form: pb.TrajectoryFormat.ValueType) -> AsyncIterator[Any]:
        request = pb.ExportTrajectoriesRequest(experiment_id="e-1", format=form)
        return aiter(bench.servicer.ExportTrajectories(request, None))

    lines = [json.loads(line) for line in (await whole(asked(pb.TRAJECTORY_FORMAT_JSONL))).splitlines()]
    assert [(one["agent"], one["task"], one["reward"]) for one in lines] == [
        (agent, f"t-{number}", f1) for number in (1, 2)
        for agent, f1 in ((AGENTS[1], 0.5), (AGENTS[0], 0.75), (AGENTS[2], 0.25))
    ]  # fmt: skip
    assert all(one["instruction"] == "Find out." and one["steps"][0]["text"] == "hello" for one in lines)
    found = pl.read_parquet(io.BytesIO(await whole(asked(pb.TRAJECTORY_FORMAT_PARQUET))))
    assert found["reward"].to_list() == [one["reward"] for one in lines]


async def test_contamination_is_told_with_the_probe_beside(bench: Bench) -> None:
    answer = await bench.servicer.GetContamination(pb.GetContaminationRequest(experiment_id="e-1"), None)
    first, second = answer.contamination.models
    assert {first.agent_id, second.agent_id} == set(AGENTS[:2])
    assert (first.cutoff, first.verdict, first.unclear_tasks) == ("2024-09-30", "too_few_data", 0)
    assert [(cell.difficulty, cell.published, cell.tasks) for cell in first.cells] == [
        ("easy", "before", 1), ("easy", "after", 1),
    ]  # fmt: skip
    assert first.cells[0].effect.difference == first.pooled.difference == 0.0
    assert not first.cells[1].HasField("effect")
    assert {(one.agent_id, one.agent_f1, one.probe_f1) for one in answer.contamination.probes} == {
        (AGENTS[0], 0.75, 0.25), (AGENTS[1], 0.5, 0.25),
    }  # fmt: skip


async def test_what_there_is_not_is_said(bench: Bench) -> None:
    for wrong, reason in (({}, Reason.INVALID), ({"release": "r9"}, Reason.NOT_FOUND),
                          ({"experiment_id": "e-9"}, Reason.NOT_FOUND)):  # fmt: skip
        with pytest.raises(FiretrialError) as refused:
            await board(bench, **wrong)
        assert refused.value.reason is reason
    with pytest.raises(FiretrialError) as refused:
        await whole(
            bench.servicer.ExportTrajectories(pb.ExportTrajectoriesRequest(experiment_id="e-1"), None)
        )
    assert [fault.field for fault in refused.value.faults] == ["format"]
