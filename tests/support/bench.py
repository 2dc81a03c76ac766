"""A runner and a judge on one bus and one store, with a real sandbox: repository runs to their judgement."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToJson, ParseDict

from firetrial.artifact.v1 import artifact_pb2
from firetrial.judge.v1 import events_pb2, judgement_pb2
from firetrial.parser.v1 import task_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_kit.bus import Consumer
from firetrial_kit.clock import SystemClock
from firetrial_kit.objects import GRANTS
from firetrial_kit.testing import InMemoryObjects, InMemoryState
from firetrial_runner.agent import AgentDefinition, AgentFile
from firetrial_runner.agents import Agents
from firetrial_runner.gateway.doors import Doors
from firetrial_runner.run import Run
from firetrial_runner.sandbox.bwrap import BwrapSandbox
from support.repositories import Made
from unit.judge.world import World as Judge
from unit.runner.world import World as Runner

TASK = "t-line"
HEAD = """\
import json, os, pathlib, shutil, subprocess, sys
from firetrial_step import StepError, hand_in
REPO = pathlib.Path(os.environ["FIRETRIAL_REPOSITORY"])
def step(text, idea="x", **more):
    try:
        told = hand_in(idea, {"model.py": text, **more})
    except StepError as error:
        told = {"state": "refused", "status": error.status, "error": str(error)}
    print(json.dumps(told), flush=True)
    return told
"""
"""What the scripted agents begin with."""


@dataclass(slots=True)
class Bench:
    runner: Runner
    judge: Judge

    @property
    def everything(self) -> InMemoryObjects:
        return self.judge.everything

    async def submit(self, agent: str, made: Made, *, wall_s: int = 60) -> Run:
        """A run of an agent, the end of a program that begins with HEAD, on a task of these parts."""
        await self._task(made)
        files = (AgentFile("agent.py", (HEAD + agent).encode()),)
        agents = Agents(self.runner.books.agents, self.runner.objects, self.runner.clock)
        registered = await agents.submit(AgentDefinition("scripted", ("python3", "/agent/agent.py"), files))
        limits = plan_pb2.Limits(processes=64)
        limits.wall_time.FromSeconds(wall_s)
        plan = plan_pb2.Plan(agents=[registered.id], repeats=1, max_attempts=1, limits=limits)
        experiment = await self.runner.experiments.submit("", (TASK,), plan)
        (record,) = await self.runner.experiments.runs(experiment)
        return record.run

    async def conduct(self, run: Run) -> Run:
        """See it through to the agent's end."""
        await self.runner.dispatch.take(await self.runner.books.runs.get(run.id))
        return await self.runner.run(run.id)

    async def settle(self) -> None:
        """Deliver all that is told and asked for, until nothing is due."""
        sides: list[Consumer] = [*self.judge.consumers, self.runner.consumer("runner-test-default")]
        while any([bool(await self.runner.bus.deliver(consumer)) for consumer in sides]):
            pass

    async def judged(self, agent: str, made: Made, *, wall_s: int = 60) -> judgement_pb2.Judgement:
        """What comes of an agent in the end."""
        run = await self.conduct(await self.submit(agent, made, wall_s=wall_s))
        await self.settle()
        found = self.judge.told("run_judged", events_pb2.RunJudged)
        assert [event.run.id for event in found] == [run.id], (run, await self.said(run))
        data = await self.everything.get(found[0].judgement.uri)
        judgement = judgement_pb2.Judgement()
        ParseDict(json.loads(data), judgement)
        return judgement

    async def steps(self, run_id: str) -> list[dict[str, Any]]:
        """The steps of a run as they are kept."""
        data = await self.everything.get(f"runs/runs/{run_id}/steps.jsonl")
        return [json.loads(line) for line in data.splitlines()]

    async def said(self, run: Run) -> str:
        """All that the trajectory of a run tells."""
        return "\n".join(str(step["text"]) for step in await self.trajectory(run))

    async def trajectory(self, run: Run) -> list[dict[str, Any]]:
        lines = [piece async for piece in self.runner.servicer._files.trajectory(run.id, 0, follow=False)]
        return [json.loads(line) for line in b"".join(lines).splitlines()]

    async def _task(self, made: Made) -> None:
        source = await self._put("runs", f"tasks/{TASK}/source.tar", made.source)
        secret = task_pb2.GroundTruth(task_id=TASK)
        ParseDict(made.test, secret.test)
        secret.test.files.CopyFrom(await self._put("truth", f"tasks/{TASK}/test.tar", made.sealed))
        if made.score_sealed is not None:
            ref = await self._put("truth", f"tasks/{TASK}/score.tar", made.score_sealed)
            secret.test.score_files.CopyFrom(ref)
        truth = await self._put("truth", f"tasks/{TASK}/truth.json", MessageToJson(secret).encode())
        spec = task_pb2.Task().repository
        ParseDict(made.spec, spec)
        spec.source.CopyFrom(source)
        await self.runner.task(TASK, kind=task_pb2.TASK_KIND_REPOSITORY, repository=spec, truth=truth)

    async def _put(self, bucket: str, key: str, data: bytes) -> artifact_pb2.ArtifactRef:
        ref = await self.everything.put(bucket, key, data, "application/x-tar")
        return artifact_pb2.ArtifactRef(uri=ref.uri, sha256=ref.sha256, size=ref.size)


@contextmanager
def bench(folder: Path, doors: Doors | None = None, state: InMemoryState | None = None) -> Iterator[Bench]:
    """A bench whose runner works in `folder`, each side with the access that it has.

    It reaches models by `doors`, which look into `state`.
    """
    judge = Judge()
    real: dict[str, Any] = {"sandbox": BwrapSandbox.create(), "clock": SystemClock(), "bus": judge.bus}
    objects = InMemoryObjects(GRANTS["runner"], sharing=judge.everything)
    runner = Runner(folder, objects=objects, doors=doors, state=state or InMemoryState(), **real)
    try:
        yield Bench(runner, judge)
    finally:
        runner.presence.leave()
