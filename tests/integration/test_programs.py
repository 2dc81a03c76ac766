"""Real agent programs, as npm installs them, in real sandboxes through the gateway to scripted models."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_runner.programs import KNOWN, Shelf
from firetrial_runner.programs.install import install
from firetrial_runner.run import Outcome, Run, RunState
from support import scripted_models as scripted
from support.program_lab import KEY, MODEL, ProgramLab, lab
from support.scripted_models import Reply, Request, ScriptedModels

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.needs("npm")]

# Its output is part of what the model is told; commands of an agent may call models too.
COMMAND = (
    "printf 'naïve 0.93\\n' | tee result.txt; printf %s \"${OPENAI_API_KEY:+token}\" > token.txt; exit 3"
)
CONCLUSION = "Accuracy is 0.93 – naïve baselines reach “0.5” only."


def codex_turns(request: Request, command: str = COMMAND) -> Reply:
    if any(str(item.get("type")).endswith("call_output") for item in request.body["input"]):
        return scripted.response_stream(CONCLUSION)
    names = [tool.get("name") for tool in request.body["tools"]]
    name = next(name for name in ("exec_command", "shell_command", "shell") if name in names)
    return scripted.response_call_stream(name, {"cmd": command, "command": command})


def claude_turns(request: Request, command: str = COMMAND) -> Reply:
    blocks = [b for m in request.body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    if any(block["type"] == "tool_result" for block in blocks):
        return scripted.message_stream(CONCLUSION)
    return scripted.message_call_stream("Bash", {"command": command, "description": "measure"})


def opencode_turns(request: Request, command: str = COMMAND) -> Reply:
    if any(message["role"] == "tool" for message in request.body["messages"]):
        return scripted.text_stream(CONCLUSION)
    return scripted.call_stream("bash", {"command": command, "description": "measure"})


@dataclass(frozen=True)
class Case:
    """A program, the dialect it speaks, what a model behind it says; whether it tells what it only began."""

    name: str
    dialect: str
    turns: Callable[..., Reply]
    tells_begun: bool = True


CASES = [
    Case("codex", "openai", codex_turns),
    Case("claude-code", "anthropic", claude_turns),
    Case("opencode", "openai", opencode_turns, tells_begun=False),
]


@pytest.fixture(params=CASES, ids=lambda case: case.name, scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture(scope="module")
def shelf(case: Case) -> Shelf:
    """Kept between sessions: what a lock file installs is the same each time."""
    shelf = Shelf(Path.home() / ".cache/firetrial/programs")
    try:
        install(KNOWN[case.name], shelf)
    except FiretrialError as error:  # npm is here, and what it asks is not
        required = "npm" in os.environ.get("FIRETRIAL_REQUIRE", "").split(",")
        (pytest.fail if required else pytest.skip)(error.message)
    return shelf


async def artifacts(found: ProgramLab, run: Run) -> dict[str, bytes]:
    assert run.artifacts is not None
    stored = await found.world.objects.get(run.artifacts.uri)
    with tarfile.open(fileobj=io.BytesIO(stored)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}  # type: ignore[union-attr]


async def test_a_run_from_question_to_conclusion(case: Case, shelf: Shelf, tmp_path: Path) -> None:
    with ScriptedModels(case.turns) as models:
        async with lab(tmp_path, models, case.dialect, shelf) as found:
            agent_id = await found.register(case.name)
            run = await found.run(agent_id, instruction="How accurate are naïve baselines?")
            steps, said, stored = await found.steps(run), await found.conclusion(run), await found.stored()
            left = await artifacts(found, run)
    assert (run.state, run.end and run.end.code, said) == (RunState.CONCLUDED, 0, CONCLUSION)
    # The gateway tells of an exchange when it is over, the program of what came of it meanwhile.
    kinds = [step["kind"] for step in steps if step["kind"] not in {"event", "model"}]
    assert kinds == ["command", "output", *(["output"] * (len(kinds) - 4)), "thought", "conclusion"]
    told = {step["kind"]: step for step in steps}
    assert "tee result.txt" in told["command"]["text"]
    assert told["command"]["exit_code"] == 3
    assert "naïve 0.93" in [step["text"] for step in steps if step["kind"] == "output"]
    assert (told["thought"]["text"], told["conclusion"]["text"]) == (CONCLUSION, CONCLUSION)
    exchanges = [step["model"] for step in steps if step["kind"] == "model"]
    assert [(e["name"], e["status"], e["tokens"]["prompt"]) for e in exchanges] == [(MODEL, 200, 100)] * 2
    assert run.usage is not None
    assert (run.usage.model_calls, run.usage.prompt_tokens, run.usage.completion_tokens) == (2, 200, 20)
    assert (run.usage.cached_tokens, run.usage.unpriced_calls) == (40, 0)
    assert run.usage.cost_usd == pytest.approx(2 * 0.00019)
    assert left["result.txt"].decode() == "naïve 0.93\n"
    assert left["token.txt"] == b"token"
    assert "naïve baselines?" in json.dumps(models.requests[0].body, ensure_ascii=False)
    assert KEY.encode() not in stored
    assert all(KEY in str(request.headers) for request in models.requests)


@pytest.mark.parametrize("case", CASES[:2], indirect=True, ids=lambda case: case.name)
async def test_a_program_whose_model_cannot_be_had(case: Case, shelf: Shelf, tmp_path: Path) -> None:
    """The upstream's last word is no failure of the agent. opencode tries again for 80 s, and is left out."""
    with ScriptedModels([scripted.status(401, "wrong key")]) as models:
        async with lab(tmp_path, models, case.dialect, shelf) as found:
            run = await found.run(await found.register(case.name))
    assert run.outcome is Outcome.INFRA_FAILED
    assert "no model" in run.reason


async def test_a_program_that_dies_in_the_middle(case: Case, shelf: Shelf, tmp_path: Path) -> None:
    """Its own command kills it: what it had begun is told, and nothing is taken for a conclusion."""
    with ScriptedModels(lambda request: case.turns(request, "sleep 1; kill -9 $PPID")) as models:
        async with lab(tmp_path, models, case.dialect, shelf) as found:
            run = await found.run(await found.register(case.name))
            steps = await found.steps(run)
    assert (run.outcome, run.end and run.end.signal) == (Outcome.AGENT_FAILED, 9)
    assert "the stream ends before" in run.reason
    told = [step for step in steps if step["kind"] in {"command", "conclusion"}]
    assert ["kill -9" in step["text"] for step in told] == [True] * case.tells_begun
    assert not any("exit_code" in step for step in told)
