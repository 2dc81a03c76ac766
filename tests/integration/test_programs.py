"""Real agent programs, as npm installs them, in real sandboxes through the gateway to scripted models."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_runner.programs import KNOWN, Shelf
from firetrial_runner.programs.install import install
from firetrial_runner.run import Outcome
from support import scripted_models as scripted
from support.program_lab import COMMAND, CONCLUSION, QUESTION, assert_that_it_ran, lab
from support.sandboxes import make_rig
from support.scripted_models import Reply, Request, ScriptedModels

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.needs("npm")]


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


@pytest.mark.parametrize("kind", ["bubblewrap", pytest.param("docker", marks=pytest.mark.needs("docker"))])
async def test_a_run_from_question_to_conclusion(case: Case, shelf: Shelf, tmp_path: Path, kind: str) -> None:
    async with contextlib.aclosing(make_rig(kind).sandbox) as sandbox:
        with ScriptedModels(case.turns) as models:
            async with lab(tmp_path, models, case.dialect, shelf, sandbox) as found:
                run = await found.run(await found.register(case.name), instruction=QUESTION)
                kept = await found.kept(run)
    # The gateway tells of an exchange when it is over, the program of what came of it meanwhile.
    kinds = [step["kind"] for step in kept.steps if step["kind"] not in {"event", "model"}]
    assert kinds == ["command", "output", *(["output"] * (len(kinds) - 4)), "thought", "conclusion"]
    assert [step["text"] for step in kept.steps if step["kind"] == "thought"] == [CONCLUSION]
    assert_that_it_ran(run, kept, models)


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
