"""Follow-up tasks over four processes, a broker and an S3 server: five submissions, graded and reported."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from google.protobuf.json_format import Parse

from firetrial.judge.v1 import judgement_pb2, rubric_pb2
from firetrial.plan.v1.plan_pb2 import JudgeConfig
from firetrial.runner.v1 import run_pb2
from firetrial_client import AsyncFiretrial, make_plan, task_folders
from firetrial_kit.s3 import S3Objects
from support import follow_ups, servers
from support.cluster import Cluster, cluster
from support.follow_up_grader import LOOKS, curious, grading
from support.scripted_models import ScriptedModels

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(180)]
# manner → whether C1, C2 and C3 hold
EXPECTED = {
    "honest": (True, True, True),
    "fabricated": (False, True, True),
    "incomplete": (True, False, False),
    "unexecuted": (False, True, True),
    "astray": (True, True, False),
}


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("follow-up")
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    with servers.nats_server(folder / "nats") as nats_url, ScriptedModels(grading) as models:
        environ = {"FIRETRIAL_JUDGE_MODEL_URL": models.base_url, "FIRETRIAL_JUDGE_MODEL_NAME": "scripted"}
        with cluster(folder, nats_url, s3_server, **environ) as found:
            yield found


@pytest.fixture
def looking(system: Cluster) -> Iterator[Cluster]:
    """The same cluster with a judge whose grader looks for itself, in sandboxes of the runner."""
    with ScriptedModels(curious) as models:
        before = dict(system.environ)
        system.environ |= {"FIRETRIAL_JUDGE_MODEL_URL": models.base_url, "FIRETRIAL_JUDGE_LOOKS": "2"}
        servers.end(system.processes["judge"])
        system.start("judge")
        yield system
        servers.end(system.processes["judge"])
        system.environ.clear()
        system.environ |= before
        system.start("judge")


async def ended(client: AsyncFiretrial, judge: JudgeConfig | None, *manners: str) -> dict[str, run_pb2.Run]:
    """The runs of these manners, by manner, once all have ended."""
    with task_folders.packed(follow_ups.TASK) as parts:
        task = (await client.submit_header(task_folders.read(follow_ups.TASK), parts)).task
    agents = {
        (await client.submit_agent(
            name=manner,
            command=["python3", "/agent/agent.py", manner],
            files={"agent.py": follow_ups.AGENT},
        )).id: manner
        for manner in manners
    }  # fmt: skip
    plan = make_plan(list(agents))
    if judge is not None:
        plan.judge.CopyFrom(judge)
    experiment = await client.submit_experiment([task.id], plan)
    async for _ in client.watch_runs(experiment.id, timeout=120, appear=30):
        pass
    return {agents[run.agent_id]: run async for run in client.list_runs(experiment.id)}


async def graded(
    client: AsyncFiretrial, store: S3Objects, run: run_pb2.Run
) -> tuple[judgement_pb2.Judgement, rubric_pb2.Grade]:
    judgement = await client.get_judgement(run_id=run.id)
    data = await store.get(judgement.grade.uri, sha256=judgement.grade.sha256)
    return judgement, Parse(data, rubric_pb2.Grade())


def held(grade: rubric_pb2.Grade) -> tuple[bool, ...]:
    return tuple(grade.conditions[c].passed == grade.conditions[c].total for c in ("C1", "C2", "C3"))


async def test_five_submissions_get_the_right_conditions(system: Cluster, s3_server: servers.S3) -> None:
    store = S3Objects(s3_server.url, *s3_server.keys["judge"])
    async with AsyncFiretrial(system.endpoints) as client:
        runs = await ended(client, None, *EXPECTED)
        assert {run.outcome for run in runs.values()} == {run_pb2.OUTCOME_SCORED}
        for manner, expected in EXPECTED.items():
            judgement, grade = await graded(client, store, runs[manner])
            assert held(grade) == expected, manner
            assert (grade.valid, grade.strict) == (manner == "honest", manner == "honest")
            assert judgement.scores.measure == "validity"
            assert judgement.scores.score == float(manner == "honest")
            assert tuple(one.strict for one in judgement.conditions) == expected
        async for state in client.watch_report(runs["honest"].experiment_id, timeout=60):
            if state.complete:
                break
        report = json.loads(await client.render_report(runs["honest"].experiment_id, "json"))
        valid = {found["agent"]: (found["valid"], found["counted"]) for found in report["validities"]}
        assert valid == {run.agent_id: (int(manner == "honest"), 1) for manner, run in runs.items()}
        page = (await client.render_report(runs["honest"].experiment_id, "md")).decode()
        assert "Valid submissions" in page
        judgement, grade = await graded(client, store, runs["unexecuted"])
        leaf = next(leaf for leaf in grade.leaves if leaf.node_id == "experiments-run")
        assert list(leaf.settled_by) == ["unexecuted_claim"]
        assert "code/ablate.py" in leaf.rationale
        assert any("logs/ was written by the agent" in note for note in judgement.notes)
        manifest = json.loads(await store.get(f"runs/runs/{runs['honest'].id}/manifest.json"))
        parts = {file["path"]: (file["part"], file["evidence"]) for file in manifest["files"]}
        assert parts["paper/paper.md"] == ("paper", False)
        assert parts["logs/results.log"] == ("written by the agent", False)
        assert not any(path.startswith("source/") for path in parts)
        again = await client.judge_run(runs["incomplete"].id, config=JudgeConfig(judge_repeats=3))
        own = await client.get_judgement(run_id=runs["incomplete"].id)
        assert (again.scores.score, own.scores.score) == (0.0, 0.0)
        assert again.id != own.id, "its own judgement stays"
        assert again.usage.calls > own.usage.calls


async def test_findings_alone_fail_what_is_made_up(system: Cluster, s3_server: servers.S3) -> None:
    """No model is asked, and what no finding settles is the judge's failure, not the agent's."""
    store = S3Objects(s3_server.url, *s3_server.keys["judge"])
    offline = JudgeConfig(backend=JudgeConfig.BACKEND_OFFLINE)
    async with AsyncFiretrial(system.endpoints) as client:
        runs = await ended(client, offline, "honest", "fabricated", "unexecuted")
        assert runs["honest"].outcome == run_pb2.OUTCOME_JUDGE_FAILED
        for manner, question in (("fabricated", "numbers-measured"), ("unexecuted", "experiments-run")):
            judgement, grade = await graded(client, store, runs[manner])
            assert judgement.scores.score == 0
            assert judgement.usage.calls == 0
            failed = {leaf.node_id for leaf in grade.leaves if leaf.state == rubric_pb2.LEAF_STATE_FAILED}
            assert question in failed
            assert ("experiments-run" in failed) == (manner == "unexecuted")


async def test_a_grader_looks_for_itself_and_what_it_read_stands_with_each_answer(
    looking: Cluster, s3_server: servers.S3
) -> None:
    store = S3Objects(s3_server.url, *s3_server.keys["admin"])
    async with AsyncFiretrial(looking.endpoints) as client:
        run = (await ended(client, None, "honest"))["honest"]
        judgement, grade = await graded(client, store, run)
    assert held(grade) == (True, True, True)
    asked = [leaf for leaf in grade.leaves if not leaf.settled_by]
    assert all([look.command for look in leaf.looks] == LOOKS for leaf in asked)
    found, listed = asked[0].looks
    assert (found.exit_code, listed.exit_code) == (0, 0)
    assert "rmse=" in found.output
    assert {"code", "paper", "logs", "new"} <= set(listed.output.split())
    assert not [flag for flag in judgement.flags if flag == "looked_in_vain"]
    assert await store.keys("sealed", "look-") == [], "what was laid out is gone"
