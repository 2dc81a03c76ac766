"""`firetrial run` with an agent that asks a model: budget, usage and trajectory, and the key nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import scripted_models as scripted
from support.agents import SORTING
from support.machine import Machine
from support.scripted_models import ScriptedModels

pytestmark = [pytest.mark.needs("nats-server", "bwrap"), pytest.mark.timeout(240)]
KEY = "sk-real-e2e-0123456789"

AGENT = """
import json, os, sys, urllib.error, urllib.request
def ask(content, **more):
    messages = [{"role": "user", "content": content}]
    body = json.dumps({"model": os.environ["FIRETRIAL_MODEL"], "messages": messages, **more}).encode()
    headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()
print(ask("a plan", stream=True))
print(dict(os.environ))
conclusion = json.loads(ask("the conclusion"))["choices"][0]["message"]["content"]
print(ask("one too many"))
open("conclusion.md", "w").write(conclusion)
"""


def reply(request: scripted.Request) -> scripted.Reply:
    if request.body.get("stream"):
        return scripted.text_stream(f"sorted by {request.headers['authorization']}")
    return scripted.text(SORTING["right"])


@pytest.fixture
def models() -> Iterator[ScriptedModels]:
    with ScriptedModels(reply) as found:
        yield found


@pytest.fixture
def machine(tmp_path: Path, models: ScriptedModels) -> Iterator[Machine]:
    settings = tmp_path / "gateway.toml"
    settings.write_text(f"""
[upstreams.scripted]
url = "{models.base_url}"
dialect = "openai"
key_env = "THE_REAL_KEY"
models = ["small"]
[prices.small]
prompt = 1
completion = 10
cached = 0.5
""")
    found = Machine(tmp_path / "home")
    found.environ |= {"FIRETRIAL_RUNNER_GATEWAY": str(settings), "THE_REAL_KEY": KEY}
    yield found
    found.run("down")


def test_a_run_pays_for_its_models_within_its_budget(
    machine: Machine, models: ScriptedModels, study: Path, tmp_path: Path
) -> None:
    agent = tmp_path / "agent"
    agent.mkdir()
    (agent / "agent.py").write_text(AGENT)
    (agent / "agent.json").write_text(json.dumps({"name": "asks", "command": ["python3", "/agent/agent.py"]}))
    machine.json("up", "-d")
    argv = ["run", "--paper", str(study), "--agent", str(agent), "--model", "small", "--judge", "offline"]
    machine.json(*argv, "--run-max-calls", "2", "--max-cost", "0.01", "--out", str(tmp_path / "out"))
    (run,) = machine.json("runs", "list")
    assert run["outcome"] == "OUTCOME_SCORED"
    usage = run["usage"]
    assert (int(usage["tokens"]), int(usage["cached_tokens"]), usage["model_calls"]) == (220, 40, 2)
    assert usage["cost_usd"] == pytest.approx(0.00038)
    assert len(models.requests) == 2
    assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in models.requests)
    told = machine.run("logs", run["id"], "--json").stdout
    steps = [json.loads(line) for line in told.splitlines()]
    calls = [step["model"] for step in steps if step["kind"] == "model"]
    assert [call["status"] for call in calls] == [200, 200, 429]
    assert "[masked]" in told
    assert [
        str(path) for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ] == []
