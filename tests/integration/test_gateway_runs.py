"""Whole runs in real sandboxes that speak to scripted models through the gateway."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from firetrial.plan.v1 import plan_pb2
from firetrial_kit import logs
from firetrial_kit.clock import SystemClock
from firetrial_kit.testing import InMemoryState
from firetrial_runner.agent import AgentDefinition, AgentFile
from firetrial_runner.agents import Agents
from firetrial_runner.gateway.doors import Doors
from firetrial_runner.records import Books
from firetrial_runner.run import Outcome, Run, RunState
from firetrial_runner.sandbox.bwrap import BwrapSandbox
from support import scripted_models as scripted
from support.scripted_models import ScriptedModels
from unit.runner.world import World

KEY = "sk-real-0123456789abcdefgh"
pytestmark = pytest.mark.needs("bwrap")

# What each agent does; `ask` is there for all.
_ASK = """
import json, os, sys, urllib.error, urllib.request
def ask(content, token=None, **more):
    body = json.dumps({"model": "small", "messages": [{"role": "user", "content": content}], **more})
    headers = {"authorization": "Bearer " + (token or os.environ["OPENAI_API_KEY"])}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    try:
        return urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers)).read().decode()
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"
def conclude(text):
    open("conclusion.md", "w").write(text)
"""
_AGENTS = {
    "both": "said = json.loads(ask('plain'))['choices'][0]['message']['content']\n"
    "told = ask('streamed', stream=True)\n"
    "print(told)\nconclude(f'{said} and {told.count(chr(10))} lines')",
    "spend": "for _ in range(3): print(ask('again'))",
    "give up": "print(ask('anyone?'))",
    "leak": "import subprocess\nprint(ask('echo')); print(ask('echo', stream=True)); print(ask('fail'))\n"
    "print(dict(os.environ)); print(open('/proc/self/environ').read()); print(sys.argv)\n"
    "print(subprocess.run('cat /proc/*/cmdline /proc/*/environ', shell=True, capture_output=True).stdout)\n"
    "open('out.txt', 'w').write(ask('echo'))\nconclude(ask('echo'))",
    "wait": "print(ask('slow')); conclude('patience pays')",
    "hang up": "import socket\nbase = os.environ['OPENAI_BASE_URL'].split('/')[2].split(':')\n"
    "body = json.dumps({'model': 'small', 'messages': [], 'stream': True}).encode()\n"
    "s = socket.create_connection((base[0], int(base[1])))\n"
    "head = f'POST /v1/chat/completions HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: {len(body)}\\r\\n'\n"
    "head += 'authorization: Bearer ' + os.environ['OPENAI_API_KEY'] + '\\r\\n\\r\\n'\n"
    "s.sendall(head.encode() + body); s.recv(200)\nconclude('gone')",
    "module": "from utils.llm_inference import LLMInference\n"
    "llm = LLMInference('openai', 'small', api_key='x')\n"
    "conclude(' '.join([llm.generate('one', temperature=0.5), *llm.batch_generate(['two', 'three'])]))",
    "token": "print('TOKEN', os.environ['OPENAI_API_KEY'], flush=True)\nimport time\n"
    "while not os.path.exists('other'): time.sleep(0.05)\n"
    "print(ask('hello', token=open('other').read()))\nconclude('done')",
}


@dataclass(slots=True)
class Lab:
    world: World
    folder: Path

    async def submit(self, agent: str, instruction: str = "do", **plan: Any) -> list[Run]:
        files = (AgentFile("agent.py", (_ASK + _AGENTS[agent]).encode()),)
        definition = AgentDefinition(agent.replace(" ", "-"), ("python3", "/agent/agent.py"), files)
        id_ = (
            await Agents(self.world.books.agents, self.world.objects, self.world.clock).submit(definition)
        ).id
        task = await self.world.task(f"t-{agent.replace(' ', '-')}", instruction=instruction)
        wanted = plan_pb2.Plan(agents=[id_], **{"repeats": 1, "max_attempts": 1, **plan})
        experiment = await self.world.experiments.submit("", (task,), wanted)
        return [record.run for record in await self.world.experiments.runs(experiment)]

    async def run(self, agent: str, instruction: str = "do", **plan: Any) -> Run:
        (run,) = await self.submit(agent, instruction, **plan)
        await self.world.deliver()
        return await self.world.run(run.id)

    async def steps(self, run: Run) -> list[dict[str, Any]]:
        keys = await self.world.objects.keys("runs", f"runs/{run.id}/trajectory/")
        chunks = [gzip.decompress(await self.world.objects.get(f"runs/{key}")) for key in sorted(keys)]
        return [json.loads(line) for line in b"".join(chunks).splitlines()]

    async def everything(self) -> bytes:
        """All that is stored, unpacked."""
        found = []
        for key in await self.world.objects.keys("runs", ""):
            data = await self.world.objects.get(f"runs/{key}")
            found.append(gzip.decompress(data) if key.endswith(".gz") else data)
        return b"\n".join(found)


@asynccontextmanager
async def lab(tmp_path: Path, url: str, **fields: Any) -> AsyncIterator[Lab]:
    settings = tmp_path / "gateway.toml"
    told = {
        "url": url,
        "dialect": "openai",
        "models": ["small"],
        "key_env": "REAL_KEY",
        "patience_s": 5,
        **fields,
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in told.items()]
    settings.write_text(
        "[upstreams.main]\n"
        + "\n".join(lines)
        + '\n[prices."small"]\nprompt = 1\ncompletion = 10\ncached = 0.5\n'
    )
    state, clock = InMemoryState(), SystemClock()
    async with Doors.by(settings, {"REAL_KEY": KEY}, Books(state), clock, CollectorRegistry()) as doors:
        real: dict[str, Any] = {"sandbox": BwrapSandbox.create(), "clock": clock}
        world = World(tmp_path / "work", state=state, doors=doors, **real)
        yield Lab(world, tmp_path)
    world.presence.leave()


async def test_an_agent_asks_streamed_and_not(tmp_path: Path) -> None:
    with ScriptedModels(
        lambda r: scripted.text_stream("a b c") if r.body.get("stream") else scripted.text("an answer")
    ) as models:
        async with lab(tmp_path, models.base_url) as found:
            run = await found.run("both")
            steps = await found.steps(run)
    assert (run.state, run.reason) == (RunState.CONCLUDED, "")
    assert run.usage is not None
    assert (run.usage.tokens, run.usage.cached_tokens, run.usage.prompt_tokens) == (220, 40, 200)
    assert (run.usage.model_calls, run.usage.unpriced_calls) == (2, 0)
    assert run.usage.cost_usd == pytest.approx(2 * 0.00019)
    told = [step["model"] for step in steps if step["kind"] == "model"]
    assert [(step["status"], step["tokens"]["completion"]) for step in told] == [(200, 10), (200, 10)]
    assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in models.requests)


async def test_a_budget_that_is_used_up_is_the_agents(tmp_path: Path) -> None:
    with ScriptedModels([scripted.text("yes")]) as models:
        async with lab(tmp_path, models.base_url) as found:
            run = await found.run("spend", limits=plan_pb2.Limits(model_calls={"small": 2}))
            steps = await found.steps(run)
    assert len(models.requests) == 2
    assert run.outcome is Outcome.AGENT_FAILED
    assert "budget was used up" in run.reason
    assert any("budget" in step["text"] for step in steps if step["kind"] == "event")
    assert any(step["model"].get("refused") for step in steps if step["kind"] == "model")


async def test_an_upstream_that_is_down_is_not_the_agents(tmp_path: Path) -> None:
    with ScriptedModels([scripted.status(500)]) as models:
        async with lab(tmp_path, models.base_url, patience_s=0.2) as found:
            run = await found.run("give up")
    assert run.outcome is Outcome.INFRA_FAILED
    assert "500" in run.reason


async def test_the_experiments_cap_holds_over_its_runs(tmp_path: Path) -> None:
    with ScriptedModels([scripted.text("yes")]) as models:
        async with lab(tmp_path, models.base_url) as found:
            await found.submit("spend", repeats=4, max_cost_usd=0.0011)
            while await found.world.deliver():
                pass
            records = await found.world.books.find_runs(await found.world.books.runs.ids())
            spent = sum(record.run.usage.cost_usd or 0 for record in records if record.run.usage)
            (account,) = await found.world.books.accounts.ids()
            kept = await found.world.books.accounts.get(account)
    assert len(records) == 4
    assert 0.0008 < spent <= 0.0011
    assert kept.spent == pytest.approx(spent)
    assert not kept.holds
    assert all(record.run.outcome is Outcome.AGENT_FAILED for record in records)


async def test_waiting_for_a_busy_upstream_is_not_the_runs_time(tmp_path: Path) -> None:
    replies = [scripted.status(429, retry_after=3), scripted.text("at last")]
    with ScriptedModels(replies) as models:
        async with lab(tmp_path, models.base_url) as found:
            limits = plan_pb2.Limits()
            limits.wall_time.FromMilliseconds(2500)
            run = await found.run("wait", limits=limits)
            steps = await found.steps(run)
    assert run.state is RunState.CONCLUDED
    assert run.usage is not None
    assert run.usage.wall_s is not None
    assert run.usage.wall_s > 3
    assert any("does not count" in step["text"] for step in steps)


async def test_a_call_that_outlives_its_agent_is_still_settled(tmp_path: Path) -> None:
    with ScriptedModels([scripted.text_stream("a b c d e f", pause=0.1)]) as models:
        async with lab(tmp_path, models.base_url) as found:
            run = await found.run("hang up")
    assert run.usage is not None
    assert run.usage.tokens == 110
    assert run.usage.cost_usd == pytest.approx(0.00019)


async def test_a_task_that_imports_its_module_runs_as_it_stands(tmp_path: Path) -> None:
    with ScriptedModels(lambda r: scripted.text(f"<{r.body['messages'][0]['content']}>")) as models:
        async with lab(tmp_path, models.base_url) as found:
            run = await found.run("module", "use: from utils.llm_inference import LLMInference")
            assert run.conclusion is not None, await found.steps(run)
            assert await found.world.objects.get(run.conclusion.uri) == b"<one> <two> <three>"
            assert run.artifacts is not None
            assert b"utils" not in await found.world.objects.get(run.artifacts.uri)


async def test_the_real_key_is_nowhere(tmp_path: Path) -> None:
    def echo(request: scripted.Request) -> scripted.Reply:
        said = f"your header was {request.headers['authorization']}"
        if request.body["messages"][0]["content"] == "fail":
            return scripted.status(400, said)
        return scripted.text_stream(said) if request.body.get("stream") else scripted.text(said)

    with ScriptedModels(echo) as models:
        async with lab(tmp_path, models.base_url) as found:
            run = await found.run("leak")
            stored = await found.everything()
            steps = await found.steps(run)
            cmdlines = b"".join(path.read_bytes() for path in _readable("/proc/[0-9]*/cmdline"))
            kept = [record.run for record in await found.world.books.find_runs([run.id])]
    assert run.state is RunState.CONCLUDED
    assert stored.count(b"[masked]") >= 6
    assert KEY.encode() not in stored
    assert KEY.encode() not in cmdlines
    assert KEY not in repr(kept)
    assert len([step for step in steps if step["kind"] == "model"]) == 5


async def test_a_token_is_good_in_its_own_sandbox_alone(tmp_path: Path) -> None:
    with ScriptedModels([scripted.text("yes")]) as models:
        async with lab(tmp_path, models.base_url) as found:
            runs = await found.submit("token", repeats=2)
            records = await found.world.books.find_runs([run.id for run in runs])
            work = asyncio.gather(*map(found.world.dispatch.take, records))
            tokens = {run.id: await _token(found, run) for run in runs}
            assert tokens[runs[0].id] != tokens[runs[1].id]
            for run, other in zip(runs, reversed(runs), strict=True):
                (_place(found, run) / "other").write_text(tokens[other.id])
            await work
            for run in runs:
                steps = await found.steps(run)
                assert any("401" in step["text"] for step in steps if step["kind"] == "output")
    assert models.requests == []


def _place(found: Lab, run: Run) -> Path:
    (place,) = (found.folder / "work").glob(f"{run.id}.*/workspace")
    return place


async def _token(found: Lab, run: Run) -> str:
    """What the run printed, once it is there."""
    async with asyncio.timeout(20):
        while True:
            for step in await found.steps(run):
                if step["text"].startswith("TOKEN "):
                    return str(step["text"].split()[1])
            await asyncio.sleep(0.1)


def _readable(pattern: str) -> list[Path]:
    return [path for path in Path("/").glob(pattern[1:]) if os.access(path, os.R_OK)]


def test_logs_leave_out_keys_of_any_shape() -> None:
    source = (
        "from firetrial_kit import logs; logs.configure('info'); logs.hide('an-odd-key-without-prefix');"
        "logs.logger('x').info('it is an-odd-key-without-prefix', what=['an-odd-key-without-prefix'],"
        "error='failed with an-odd-key-without-prefix')"
    )
    told = subprocess.run([sys.executable, "-c", source], capture_output=True, check=True).stderr.decode()
    assert "an-odd-key" not in told
    assert told.count(logs.MASK) == 3
