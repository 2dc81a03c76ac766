"""Shipped agents in real sandboxes, before scripted models: a runner that has what they need."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from firetrial.plan.v1 import plan_pb2
from firetrial_client import bundles, shipped
from firetrial_kit.clock import SystemClock
from firetrial_kit.ids import digest
from firetrial_kit.testing import InMemoryState
from firetrial_runner.agent import AgentDefinition, AgentFile
from firetrial_runner.agents import Agents
from firetrial_runner.gateway.doors import Doors
from firetrial_runner.programs import Shelf
from firetrial_runner.records import Books
from firetrial_runner.run import Run, RunState
from firetrial_runner.sandbox.bwrap import BwrapSandbox
from firetrial_runner.sandbox.port import Sandbox
from support.scripted_models import ScriptedModels
from unit.runner.world import World

KEY = "sk-real-0123456789abcdefgh"
MODEL = "scripted-1"
QUESTION = "How accurate are naïve baselines?"
# Its output is part of what the model is told; commands of an agent may call models too.
COMMAND = (
    "printf 'naïve 0.93\\n' | tee result.txt; printf %s \"${OPENAI_API_KEY:+token}\" > token.txt; exit 3"
)
CONCLUSION = "Accuracy is 0.93 – naïve baselines reach “0.5” only."


@dataclass(frozen=True, slots=True)
class Kept:
    """What is stored of a run that concluded: `artifacts` by name, and `all`, unpacked."""

    steps: list[dict[str, Any]]
    conclusion: str
    artifacts: dict[str, bytes]
    all: bytes


@dataclass(slots=True)
class ProgramLab:
    world: World

    async def register(self, name: str, **files: bytes) -> str:
        """A shipped agent, with more files of its bundle by name (dots written as underscores)."""
        bundle = bundles.from_folder(shipped.agents()[name])
        given = [AgentFile(f.path, f.content, f.executable) for f in bundle.files]
        given += [AgentFile(path.replace("_", "."), content) for path, content in files.items()]
        definition = AgentDefinition(
            bundle.name, bundle.command, tuple(given), bundle.description, bundle.program
        )
        agents = Agents(self.world.books.agents, self.world.objects, self.world.clock)
        return (await agents.submit(definition)).id

    async def submit(self, agent_id: str, *, instruction: str = "Find out.", **plan: Any) -> Run:
        """A run of a registered agent, in the queue."""
        task = await self.world.task(f"t-{digest(instruction, length=8)}", instruction=instruction)
        wanted = plan_pb2.Plan(agents=[agent_id], **{"repeats": 1, "max_attempts": 1, "model": MODEL, **plan})
        experiment = await self.world.experiments.submit("", (task,), wanted)
        (record,) = await self.world.experiments.runs(experiment)
        return record.run

    async def run(self, agent_id: str, **fields: Any) -> Run:
        """A run of a registered agent, seen to its end."""
        run = await self.submit(agent_id, **fields)
        await self.world.deliver()
        return await self.world.run(run.id)

    async def steps(self, run: Run) -> list[dict[str, Any]]:
        keys = await self.world.objects.keys("runs", f"runs/{run.id}/trajectory/")
        chunks = [gzip.decompress(await self.world.objects.get(f"runs/{key}")) for key in sorted(keys)]
        return [json.loads(line) for line in b"".join(chunks).splitlines()]

    async def conclusion(self, run: Run) -> str:
        assert run.conclusion is not None, run.reason
        return (await self.world.objects.get(run.conclusion.uri)).decode()

    async def kept(self, run: Run) -> Kept:
        assert run.artifacts is not None, run.reason
        with tarfile.open(fileobj=io.BytesIO(await self.world.objects.get(run.artifacts.uri))) as tar:
            files = {name: tar.extractfile(name).read() for name in tar.getnames()}  # type: ignore[union-attr]
        return Kept(await self.steps(run), await self.conclusion(run), files, await self.stored())

    async def stored(self) -> bytes:
        """All that is stored, unpacked."""
        found = []
        for key in await self.world.objects.keys("runs", ""):
            data = await self.world.objects.get(f"runs/{key}")
            found.append(gzip.decompress(data) if key.endswith(".gz") else data)
        return b"\n".join(found)


@asynccontextmanager
async def lab(
    folder: Path,
    models: ScriptedModels | None,
    dialect: str = "openai",
    shelf: Shelf | None = None,
    sandbox: Sandbox | None = None,
) -> AsyncIterator[ProgramLab]:
    """A runner with a gateway to `models`, where there are any, and bubblewrap or the sandbox given."""
    state, clock, settings = InMemoryState(), SystemClock(), None
    if models is not None:
        settings = folder / "gateway.toml"
        told: Mapping[str, Any] = {"url": models.base_url, "dialect": dialect, "models": [MODEL]}
        lines = [f"{name} = {json.dumps(value)}" for name, value in told.items()]
        prices = f'[prices."{MODEL}"]\nprompt = 1\ncompletion = 10\ncached = 0.5\n'
        settings.write_text("\n".join(["[upstreams.main]", *lines, 'key_env = "REAL_KEY"', prices]))
    async with Doors.by(settings, {"REAL_KEY": KEY}, Books(state), clock, CollectorRegistry()) as doors:
        real: dict[str, Any] = {"sandbox": sandbox or BwrapSandbox.create(), "clock": clock}
        world = World(folder / "work", state=state, doors=doors, shelf=shelf, **real)
        yield ProgramLab(world)
    world.presence.leave()


def assert_that_it_ran(run: Run, kept: Kept, models: ScriptedModels) -> None:
    """COMMAND ran and CONCLUSION came in two exchanges, each told and paid once, and nobody saw the key."""
    assert (run.state, run.end and run.end.code, kept.conclusion) == (RunState.CONCLUDED, 0, CONCLUSION)
    told = {step["kind"]: step for step in kept.steps}
    assert "tee result.txt" in told["command"]["text"]
    assert told["command"]["exit_code"] == 3
    output = [step["text"] for step in kept.steps if step["kind"] == "output"]
    assert "naïve 0.93" in output, output
    assert told["conclusion"]["text"] == CONCLUSION
    exchanges = [step["model"] for step in kept.steps if step["kind"] == "model"]
    assert [(e["name"], e["status"], e["tokens"]["prompt"]) for e in exchanges] == [(MODEL, 200, 100)] * 2
    assert run.usage is not None
    assert (run.usage.model_calls, run.usage.prompt_tokens, run.usage.completion_tokens) == (2, 200, 20)
    assert (run.usage.cached_tokens, run.usage.unpriced_calls) == (40, 0)
    assert run.usage.cost_usd == pytest.approx(2 * 0.00019)
    assert kept.artifacts["result.txt"].decode() == "naïve 0.93\n"
    assert kept.artifacts["token.txt"] == b"token"
    assert QUESTION in json.dumps(models.requests[0].body, ensure_ascii=False)
    assert KEY.encode() not in kept.all
    assert all(KEY in str(request.headers) for request in models.requests)
