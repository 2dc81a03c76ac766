"""A finished run judged again under other configurations, over four processes, a broker and an S3 server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nats
import pytest

from firetrial.judge.v1.judgement_pb2 import Judgement
from firetrial.plan.v1.plan_pb2 import JudgeConfig
from firetrial.runner.v1 import run_pb2
from firetrial_client import AsyncFiretrial, FiretrialError, Reason, make_plan
from firetrial_kit import events
from firetrial_kit.s3 import S3Objects
from support import servers
from support.agents import register
from support.cluster import Cluster, cluster
from support.scripted_models import Reply, Request, ScriptedModels, answer, judging, status

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(300)]
OFFLINE_SETS = JudgeConfig(backend=JudgeConfig.BACKEND_OFFLINE, mode=JudgeConfig.MODE_SET)
BY_MODEL = JudgeConfig(backend=JudgeConfig.BACKEND_MODEL)
LABELS = b"""id,reference,claim,label
1,Noise hurts.,Noise hurts.,entailed
2,Noise hurts.,Noise helps.,contradicted
"""


@dataclass(slots=True)
class Keys:
    """What the model's endpoint makes of the judge's key."""

    revoked: bool = False

    def answer(self, request: Request) -> Reply:
        return status(401, "this key was revoked") if self.revoked else entailing(request)


def entailing(request: Request) -> Reply:
    """Every sentence is a claim, and every claim is entailed."""
    return answer(judging(request.prompt, r"[A-Z][^.\n]* is faster [^.\n]*\.", "ENTAILED"))


@dataclass(frozen=True)
class System:
    cluster: Cluster
    models: ScriptedModels
    keys: Keys


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3) -> Iterator[System]:
    """Four processes, and a model that the judge can ask."""
    folder = tmp_path_factory.mktemp("again")
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    keys = Keys()
    with servers.nats_server(folder / "nats") as nats_url, ScriptedModels(keys.answer) as models:
        environ = {"FIRETRIAL_JUDGE_MODEL_URL": models.base_url, "FIRETRIAL_JUDGE_MODEL_NAME": "scripted"}
        with cluster(folder, nats_url, s3_server, **environ) as found:
            yield System(found, models, keys)


@dataclass(frozen=True)
class Ended:
    """An experiment that has ended: its id, two scored runs, and one without a conclusion."""

    experiment_id: str
    scored: tuple[run_pb2.Run, ...]
    silent: run_pb2.Run


async def experiment(client: AsyncFiretrial, study: Path) -> Ended:
    agents = [await register(client, name) for name in ("right", "silent")]
    plan = make_plan(agents, repeats=2, judge="offline")
    submitted = await client.submit_paper(study, plan=plan)
    async for _ in client.watch_runs(submitted.experiment_id, timeout=120, appear=30):
        pass
    runs = [run async for run in client.list_runs(submitted.experiment_id)]
    scored = tuple(run for run in runs if run.outcome == run_pb2.OUTCOME_SCORED)
    silent = next(run for run in runs if run.outcome == run_pb2.OUTCOME_AGENT_FAILED)
    return Ended(submitted.experiment_id, scored, silent)


async def watched(client: AsyncFiretrial, experiment_id: str, count: int) -> list[Judgement]:
    """The first so many judgements of a watch."""
    found: list[Judgement] = []
    async with aclosing(client.watch_judgements(experiment_id, timeout=60)) as watching:
        async for judgement in watching:
            found.append(judgement)
            if len(found) == count:
                return found
    raise AssertionError("the watch ended")


async def announced(nats_url: str, run_id: str) -> int:
    """How often the judge has told of a run."""
    connection = await nats.connect(nats_url)
    try:
        subject = events.subject("judge", "run_judged", run_id)
        told = await connection.jetstream().stream_info(events.EVENTS, subjects_filter=subject)
        return sum((told.state.subjects or {}).values())
    finally:
        await connection.close()


async def refusal(work: object) -> FiretrialError:
    with pytest.raises(FiretrialError) as caught:
        await work  # type: ignore[misc]
    return caught.value


async def test_a_run_is_judged_again_and_its_own_judgement_stays(system: System, study: Path) -> None:
    async with AsyncFiretrial(system.cluster.endpoints) as client:
        ended = await experiment(client, study)
        run, other = ended.scored
        own = await client.get_judgement(run_id=run.id)
        assert own.config.backend == JudgeConfig.BACKEND_OFFLINE

        by_sets = await client.judge_run(run.id, config=OFFLINE_SETS)
        assert (by_sets.run_id, by_sets.config.mode) == (run.id, JudgeConfig.MODE_SET)
        assert by_sets.pairs
        asked = len(system.models.requests)
        by_model = await client.judge_run(run.id, config=BY_MODEL)
        # Claims and all verdicts: the conclusion is the truth word for word, and one text is read once.
        assert len(system.models.requests) == asked + 2
        assert by_model.scores.f1 == 1.0
        assert (by_model.usage.calls, by_model.usage.cache_hits) == (2, 1)
        assert await client.judge_run(run.id, config=BY_MODEL) == by_model
        second = await client.judge_run(other.id, config=BY_MODEL)
        # The same text again: claims and verdicts are in the cache.
        assert len(system.models.requests) == asked + 2
        assert (second.id != by_model.id, second.usage.calls) == (True, 0)

        assert await client.get_judgement(run_id=run.id) == own
        for judgement in (own, by_sets, by_model, second):
            assert await client.get_judgement(judgement.id) == judgement
        assert len({own.config_hash, by_sets.config_hash, by_model.config_hash}) == 3
        listed = [judgement async for judgement in client.list_judgements()]
        assert len(listed) == len({judgement.id for judgement in listed})
        of_run = {judgement.id: judgement for judgement in listed if judgement.run_id == run.id}
        assert of_run == {j.id: j for j in (own, by_sets, by_model)}
        seen = await watched(client, ended.experiment_id, 5)
        assert {j.id for j in seen} == {j.id for j in listed if j.run_id in {run.id, other.id}}

        # Nothing more was announced than the run's own judgement, and the run is what it was.
        assert await client.get_run(run.id) == run
        assert await announced(system.cluster.nats_url, run.id) == 1

        system.cluster.kill("judge")
        system.cluster.start("judge")
        assert await client.judge_run(run.id, config=BY_MODEL) == by_model
        assert await client.get_judgement(run_id=run.id) == own
        assert len(system.models.requests) == asked + 2


async def test_runs_of_a_night_with_a_revoked_key_are_scored_once_it_is_replaced(
    system: System, study: Path
) -> None:
    system.keys.revoked = True
    async with AsyncFiretrial(system.cluster.endpoints) as client:
        plan = make_plan([await register(client, "wrong")], repeats=2, judge="model")
        experiment_id = (await client.submit_paper(study, plan=plan)).experiment_id
        async for _ in client.watch_report(experiment_id, timeout=120, appear=60):
            pass
        async with asyncio.timeout(60):  # the report and the runner hear of it apart from each other
            while len(lost := await ended_as(client, experiment_id, run_pb2.OUTCOME_JUDGE_FAILED)) < 2:
                await asyncio.sleep(0.2)
        assert all("this key was revoked" in run.reason for run in lost)

        system.keys.revoked = False
        letters = await admin(system, "dead", "list", "--consumer", "judge-run_finished")
        places = [str(letter["place"]) for letter in letters if letter["error"] in {r.reason for r in lost}]
        assert len(places) == 2
        await admin(system, "dead", "requeue", *places, "--yes")
        async with asyncio.timeout(60):
            while len(found := await ended_as(client, experiment_id, run_pb2.OUTCOME_SCORED)) < 2:
                await asyncio.sleep(0.2)
        assert [run.reason for run in found] == ["", ""]
        async with asyncio.timeout(60):
            while await reported(client, experiment_id) != [{"scored": 2}]:
                await asyncio.sleep(0.2)


async def ended_as(
    client: AsyncFiretrial, experiment_id: str, outcome: run_pb2.Outcome.ValueType
) -> list[run_pb2.Run]:
    runs = [run async for run in client.list_runs(experiment_id)]
    return [run for run in runs if run.outcome == outcome]


async def reported(client: AsyncFiretrial, experiment_id: str) -> list[dict[str, int]]:
    """The outcomes of each agent's runs, as the report has them."""
    report = json.loads(await client.render_report(experiment_id, "json"))
    outcomes = [agent["score"]["outcomes"] for agent in report["agents"]]
    return [{name: count for name, count in told.items() if count} for told in outcomes]


async def admin(system: System, *argv: str) -> list[dict[str, Any]]:
    """What `firetrial admin` answers."""
    access, secret = system.cluster.s3.keys["operator"]
    environ = {
        **os.environ,
        "FIRETRIAL_NATS_URL": system.cluster.nats_url,
        "FIRETRIAL_OBJECTS_URL": system.cluster.s3.url,
        "FIRETRIAL_S3_ACCESS_KEY": access,
        "FIRETRIAL_S3_SECRET_KEY": secret,
    }
    program = await asyncio.create_subprocess_exec(
        servers.BIN / "firetrial", "admin", *argv, "--json", env=environ, stdout=subprocess.PIPE
    )
    out, _ = await program.communicate()
    assert program.returncode == 0
    answer: list[dict[str, Any]] = json.loads(out)
    return answer


async def test_a_watch_tells_each_judgement_as_it_is_made(system: System, study: Path) -> None:
    async with AsyncFiretrial(system.cluster.endpoints) as client:
        ended = await experiment(client, study)
        watching = asyncio.create_task(watched(client, ended.experiment_id, 3))
        assert len(await watched(client, ended.experiment_id, 2)) == 2
        made = await client.judge_run(ended.scored[0].id, config=OFFLINE_SETS)
        assert (await watching)[-1] == made


async def test_what_cannot_be_judged_again_is_refused_with_the_reason(system: System, study: Path) -> None:
    async with AsyncFiretrial(system.cluster.endpoints) as client:
        ended = await experiment(client, study)
        run = ended.scored[0]
        for work in (
            client.judge_run("r-none"),
            client.get_judgement("j-none"),
            client.get_judgement(run_id="r-none"),
            client.get_judgement(run_id=ended.silent.id),
        ):
            assert (await refusal(work)).reason == Reason.NOT_FOUND
        missing = await refusal(client.judge_run("r-none"))
        assert [fault.field for fault in missing.faults] == ["run_id"]
        silent = await refusal(client.judge_run(ended.silent.id, config=OFFLINE_SETS))
        assert (silent.reason, "left no conclusion" in silent.message) == (Reason.PRECONDITION, True)
        unpriced = await refusal(
            client.judge_run(run.id, config=JudgeConfig(max_cost_usd=1.0, model="scripted"))
        )
        assert (unpriced.reason, "FIRETRIAL_JUDGE_PRICES" in unpriced.message) == (Reason.PRECONDITION, True)
        bad = JudgeConfig(backend=JudgeConfig.BACKEND_OFFLINE, model="m", judge_repeats=99)
        faulty = await refusal(client.judge_run(run.id, config=bad))
        assert faulty.reason == Reason.INVALID
        assert {fault.field for fault in faulty.faults} == {"judge.judge_repeats", "judge.model"}
        before = [judgement.id async for judgement in client.list_judgements()]
        assert len(before) == len(set(before))


async def test_a_calibration_speaks_for_the_judgements_made_after_it(system: System, study: Path) -> None:
    sets_twice = JudgeConfig(backend=JudgeConfig.BACKEND_OFFLINE, mode=JudgeConfig.MODE_SET, judge_repeats=2)
    async with AsyncFiretrial(system.cluster.endpoints) as client:
        ended = await experiment(client, study)
        first, second = ended.scored
        before = await client.judge_run(first.id, config=sets_twice)
        assert before.calibration_id == (await client.describe_judge(sets_twice)).calibration_id == ""
        made = await client.calibrate(LABELS, config=sets_twice)
        described = await client.describe_judge(sets_twice)
        after = await client.judge_run(second.id, config=sets_twice)
        assert after.calibration_id == described.calibration_id == made.id
        assert after.config_hash == described.config_hash == made.config_hash == before.config_hash
        assert await client.judge_run(first.id, config=sets_twice) == before
        drifted = await client.judge_run(second.id, config=OFFLINE_SETS)
        assert (drifted.calibration_id, list(drifted.flags)) == ("", ["judge_drift"])
