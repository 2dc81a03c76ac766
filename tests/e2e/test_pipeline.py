"""The whole path over four separate processes, a real nats-server and a real S3 server, by the SDK."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from pathlib import Path

import pytest

from firetrial.plan.v1.plan_pb2 import JudgeConfig
from firetrial.runner.v1 import run_pb2
from firetrial.runner.v1.runner_service_pb2 import ListRunsRequest
from firetrial.runner.v1.runner_service_pb2_grpc import RunnerServiceStub
from firetrial_client import AsyncFiretrial, FiretrialError, Reason, make_plan
from firetrial_kit.errors import FiretrialError as StoreError
from firetrial_kit.s3 import S3Objects
from support.agents import SORTING, register
from support.cluster import Cluster

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(300)]


async def finished(client: AsyncFiretrial, experiment_id: str, seconds: float = 120) -> dict[str, object]:
    """Wait for the complete report, and until the runner has heard of every verdict; gives it as JSON."""
    async for report in client.watch_report(experiment_id, timeout=seconds, appear=30):
        assert not report.failure, report.failure
        last = report
    assert last.complete
    async for _ in client.watch_runs(experiment_id, timeout=30):
        pass
    return dict(json.loads(await client.render_report(experiment_id, "json")))


async def test_from_a_paper_to_a_judged_and_analysed_report(system: Cluster, study: Path) -> None:
    async with AsyncFiretrial(system.endpoints) as client:
        agents = [await register(client, name) for name in ("right", "silent")]
        plan = make_plan(agents, repeats=2, judge="offline")
        submitted = await client.submit_paper(study, plan=plan)
        report = await finished(client, submitted.experiment_id)
        runs = [run async for run in client.list_runs(submitted.experiment_id)]
        assert len(runs) == 4
        outcomes = {(run.agent_id, run.outcome) for run in runs}
        assert outcomes == {(agents[0], run_pb2.OUTCOME_SCORED), (agents[1], run_pb2.OUTCOME_AGENT_FAILED)}
        scored = next(run for run in runs if run.outcome == run_pb2.OUTCOME_SCORED)
        assert scored.state == run_pb2.RUN_STATE_ENDED
        assert scored.exit.termination == run_pb2.TERMINATION_EXITED
        assert scored.exit.code == 0
        assert scored.usage.wall_time.ToMilliseconds() > 0
        assert await client.conclusion(scored.id) == SORTING["right"]
        steps = [step async for step in client.trajectory(scored.id)]
        assert any("planning" in step["text"] for step in steps)
        judgement = await client.get_judgement(run_id=scored.id)
        assert judgement.config.backend == JudgeConfig.BACKEND_OFFLINE
        assert judgement.scores.f1 == 1.0
        assert {claim.text for claim in judgement.truth_claims}
        paper = await client.get_paper(submitted.paper.id)
        task = await client.get_task(paper.task_ids[0])
        for claim in judgement.truth_claims:
            assert claim.text not in task.instruction
        for form in ("html", "md", "csv", "latex"):
            text = (await client.render_report(submitted.experiment_id, form)).decode()
            assert "right" in text, form
    assert report


async def test_what_was_submitted_twice_is_done_once(system: Cluster, study: Path) -> None:
    async with AsyncFiretrial(system.endpoints) as client:
        plan = make_plan([await register(client, "right")], repeats=3, judge="offline")
        first = await client.submit_paper(study, plan=plan, request_id="twice")
        second = await client.submit_paper(study, plan=plan, request_id="twice")
        assert first.experiment_id == second.experiment_id
        await finished(client, first.experiment_id)
        assert len([run async for run in client.list_runs(first.experiment_id)]) == 3


async def test_pages_watch_and_cancel(system: Cluster, study: Path) -> None:
    async with AsyncFiretrial(system.endpoints) as client:
        paper = await client.submit_paper(study)
        async for state in client.watch_paper(paper.paper.id, timeout=60):
            task_ids = list(state.task_ids)
        plan = make_plan([await register(client, "sleepy")], repeats=5, judge="offline")
        experiment = await client.submit_experiment(task_ids, plan, request_id="cancelled")
        stub = RunnerServiceStub(client._channels.of("runner"))
        seen, token = [], ""
        while True:
            request = ListRunsRequest(experiment_id=experiment.id, page_size=2, page_token=token)
            answer = await stub.ListRuns(request, timeout=10)
            assert len(answer.runs) <= 2
            seen += [run.id for run in answer.runs]
            token = answer.next_page_token
            if not token:
                break
        assert len(seen) == len(set(seen)) == 5
        states: dict[str, set[int]] = {run_id: set() for run_id in seen}
        asked = False
        async for run in client.watch_runs(experiment.id, timeout=60):
            states[run.id].add(run.state)
            if run.state == run_pb2.RUN_STATE_RUNNING and not asked:
                asked = True
                for run_id in seen:
                    await client.cancel_run(run_id)
        assert all(run_pb2.RUN_STATE_ENDED in found for found in states.values())
        ended = [await client.get_run(run_id) for run_id in seen]
        assert {run.outcome for run in ended} == {run_pb2.OUTCOME_CANCELLED}
        report = await finished(client, experiment.id)
        assert report


async def test_errors_name_the_field_and_the_cure(system: Cluster, study: Path, tmp_path: Path) -> None:
    async with AsyncFiretrial(system.endpoints) as client:
        with pytest.raises(FiretrialError) as caught:
            await client.get_run("r-none")
        assert caught.value.reason == Reason.NOT_FOUND
        with pytest.raises(FiretrialError) as caught:
            await client.submit_experiment(["no-such-task"], make_plan([await register(client, "right")]))
        assert caught.value.reason == Reason.NOT_FOUND
        assert [fault.field for fault in caught.value.faults] == ["task_ids[0]"]
        with pytest.raises(FiretrialError) as caught:
            await client.submit_experiment(["no-such-task"], make_plan(["nobody@000000000000"]))
        assert caught.value.reason == Reason.INVALID
        assert [fault.field for fault in caught.value.faults] == ["plan.agents[0]"]
        with pytest.raises(FiretrialError) as caught:
            await client.submit_paper(study, plan=make_plan([], repeats=0))
        assert caught.value.reason == Reason.INVALID
        assert {"plan.agents", "plan.repeats"} <= {fault.field for fault in caught.value.faults}
        huge = tmp_path / "huge.pdf"
        with huge.open("wb") as file:
            file.truncate(500 * 1024 * 1024)
        with pytest.raises(FiretrialError, match=r"(?i)64 MiB|67108864|large|limit") as caught:
            await client.submit_paper(huge)
        assert caught.value.reason in (Reason.INVALID, Reason.TOO_LARGE)
        (tmp_path / "truncated.pdf").write_bytes(b"%PDF-1.5\n1 0 obj\n<<")
        submitted = await client.submit_paper(tmp_path / "truncated.pdf")
        async for paper in client.watch_paper(submitted.paper.id, timeout=60):
            last = paper
        assert last.failure


async def test_an_unknown_agent_ends_the_experiment_with_a_reason(system: Cluster, study: Path) -> None:
    async with AsyncFiretrial(system.endpoints) as client:
        submitted = await client.submit_paper(
            study, plan=make_plan(["nobody@000000000000"]), request_id="nobody"
        )
        async for report in client.watch_report(submitted.experiment_id, timeout=60, appear=30):
            last = report
        assert "nobody@000000000000" in last.failure


async def test_ground_truth_is_closed_to_the_runner_and_told_to_nobody(system: Cluster, study: Path) -> None:
    async with AsyncFiretrial(system.endpoints) as client:
        submitted = await client.submit_paper(study)
        async for paper in client.watch_paper(submitted.paper.id, timeout=60):
            task_ids = list(paper.task_ids)
        task = await client.get_task(task_ids[0])
    runner = S3Objects(system.s3.url, *system.s3.keys["runner"])
    with pytest.raises(StoreError) as caught:
        await runner.get(task.truth.uri)
    assert caught.value.code == "PERMISSION_DENIED"
    judge = S3Objects(system.s3.url, *system.s3.keys["judge"])
    truth = json.loads(await judge.get(task.truth.uri, sha256=task.truth.sha256))["text"]
    sentence = truth.split(".")[0]
    assert len(sentence) > 20
    assert sentence not in task.instruction
    for service in ("parser", "runner"):
        assert sentence not in system.log(service)
    for key in await runner.keys("runs", f"tasks/{task.id}/"):
        assert sentence.encode() not in await runner.get(f"runs/{key}")


async def test_metrics_tell_what_happened(system: Cluster) -> None:
    for service in ("parser", "runner", "judge", "analyzer"):

        def page(address: str = system.metrics(service)) -> str:
            with urllib.request.urlopen(f"http://{address}/metrics") as answer:
                return str(answer.read().decode())

        text = await asyncio.to_thread(page)
        assert "firetrial_messages_total" in text, service
