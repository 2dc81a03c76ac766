"""The shipped agents that need no program from outside, in real sandboxes, before scripted models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firetrial_runner.run import Outcome, RunState
from support import scripted_models as scripted
from support.program_lab import KEY, MODEL, lab
from support.scripted_models import Reply, Request, ScriptedModels

pytestmark = pytest.mark.needs("bwrap")
FOUND = "Naïve baselines reach 0.5 – accuracy is 0.93."


def kinds(steps: list[dict[str, Any]], *left_out: str) -> list[str]:
    return [step["kind"] for step in steps if step["kind"] not in left_out]


def of(steps: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [step for step in steps if step["kind"] == kind]


async def test_the_reference_agent_plans_acts_observes_and_concludes(tmp_path: Path) -> None:
    script = "print('accuracy', 0.93)\nraise SystemExit(3)\n"
    turns = [
        scripted.call("write_file", {"path": "src/run.py", "content": script}),
        scripted.call("bash", {"command": "python3 src/run.py"}),
        scripted.call("finish", {"conclusion": FOUND}),
    ]
    with ScriptedModels(turns) as models:
        async with lab(tmp_path, models) as found:
            run = await found.run(await found.register("reference"), instruction="How accurate?", repeats=1)
            steps, said = await found.steps(run), await found.conclusion(run)
            stored = await found.stored()
    assert (run.state, said) == (RunState.CONCLUDED, FOUND)
    assert kinds(steps, "event") == ["model", "edit", "model", "command", "output", "model", "conclusion"]
    (command,), (edit,), (output,) = of(steps, "command"), of(steps, "edit"), of(steps, "output")
    assert (command["text"], command["exit_code"]) == ("python3 src/run.py", 3)
    assert (edit["path"], edit["change"]) == ("src/run.py", "add")
    assert output["text"] == "accuracy 0.93"
    assert run.usage is not None
    assert (run.usage.model_calls, run.usage.tokens, run.usage.cached_tokens) == (3, 330, 60)
    assert run.usage.cost_usd == pytest.approx(3 * 0.00019)
    first, _, third = (request.body for request in models.requests)
    assert (first["model"], first["seed"]) == (MODEL, 1)
    assert first["messages"][1]["content"].startswith("How accurate?")
    assert "exit code 3" in third["messages"][-1]["content"]
    assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in models.requests)
    assert KEY.encode() not in stored


async def test_the_reference_agent_without_tools_takes_fenced_blocks(tmp_path: Path) -> None:
    def turns(request: Request) -> Reply:
        if "tools" in request.body:
            return scripted.raw(b'{"error": {"message": "tools are not supported"}}', status=400)
        said = [m["content"] for m in request.body["messages"] if m["role"] == "assistant"]
        blocks = ["First a plan.", "Now this:\n```bash\necho 0.93\n```\n", f"```conclusion\n{FOUND}\n```"]
        return scripted.text(blocks[len(said)])

    with ScriptedModels(turns) as models:
        async with lab(tmp_path, models) as found:
            run = await found.run(await found.register("reference"))
            steps, said = await found.steps(run), await found.conclusion(run)
    assert said == FOUND
    assert [step["text"] for step in of(steps, "output")] == ["0.93"]
    assert kinds(steps, "event", "model") == [
        "thought",
        "thought",
        "command",
        "output",
        "thought",
        "conclusion",
    ]


async def test_the_reference_agent_is_told_to_conclude_before_its_budget_ends(tmp_path: Path) -> None:
    def turns(request: Request) -> Reply:
        if request.body["tool_choice"] != "auto":
            return scripted.call("finish", {"conclusion": FOUND})
        return scripted.call("bash", {"command": "true"})

    with ScriptedModels(turns) as models:
        async with lab(tmp_path, models) as found:
            # 100 steps by default: the last of them is for the conclusion.
            run = await found.run(await found.register("reference"))
            said = await found.conclusion(run)
    assert (said, len(models.requests)) == (FOUND, 100)


@pytest.mark.parametrize(
    ("plan", "outcome", "told"),
    [
        ({"limits": {"model_calls": {"*": 1}}}, Outcome.AGENT_FAILED, "budget"),
        ({"limits": {"model_tokens": 1}}, Outcome.AGENT_FAILED, "budget"),
    ],
)
async def test_a_budget_ends_the_reference_agent_as_its_own_failure(
    tmp_path: Path, plan: dict[str, Any], outcome: Outcome, told: str
) -> None:
    with ScriptedModels([scripted.call("bash", {"command": "true"})]) as models:
        async with lab(tmp_path, models) as found:
            run = await found.run(await found.register("reference"), **plan)
    assert run.outcome is outcome
    assert told in run.reason


async def test_odd_answers_are_answered_in_turn(tmp_path: Path) -> None:
    odd = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{not json"}}
    turns = [
        scripted.raw(json.dumps({"choices": [{"message": {"content": [{"type": "text"}]}}]}).encode()),
        scripted.text(None, tool_calls=[odd]),
        scripted.call("telepathy", {}),
        scripted.call("write_file", {"path": "/proc/none/x", "content": "x"}),
        scripted.call("bash", {"command": "head -c 100000 /dev/zero | tr '\\0' 'ä'; sleep 100 &"}),
        scripted.status(503),
        scripted.call("bash", {"command": f"printf '%s' '{FOUND}' > conclusion.md"}),
        scripted.text("I am done."),
    ]
    with ScriptedModels(turns) as models:
        async with lab(tmp_path, models) as found:
            run = await found.run(await found.register("reference"))
            steps, said = await found.steps(run), await found.conclusion(run)
    assert said == FOUND
    answers = [m["content"] for m in models.requests[-1].body["messages"] if m["role"] == "tool"]
    assert answers[0].startswith("there is no tool 'bash' with these arguments")
    assert answers[1].startswith("there is no tool 'telepathy'")
    assert answers[2].startswith("cannot write /proc/none/x")
    assert "bytes left out" in answers[3]
    assert [step.get("failed") for step in of(steps, "edit")] == [True]


async def test_the_oracle_concludes_and_the_no_op_fails(tmp_path: Path) -> None:
    async with lab(tmp_path, None) as found:
        oracle = await found.run(await found.register("oracle", conclusion_md=FOUND.encode()))
        assert await found.conclusion(oracle) == FOUND
        nothing = await found.run(await found.register("no-op"))
    assert (nothing.outcome, nothing.state) == (Outcome.AGENT_FAILED, RunState.ENDED)


async def test_a_replay_runs_the_commands_again_and_tells_what_ends_otherwise(tmp_path: Path) -> None:
    recorded = [
        {"kind": "thought", "text": "plan"},
        {
            "kind": "command",
            "text": "echo ü > made.txt; cat ",
            "tool": "Bash",
            "exit_code": 0,
            "continued": True,
        },
        {"kind": "command", "text": "made.txt"},
        {"kind": "output", "text": "ü", "stream": "stdout"},
        {"kind": "command", "text": "exit 4", "exit_code": 0},
        {"kind": "command", "text": '{"path": "x"}', "tool": "Read"},
        {"kind": "edit", "text": "+x", "path": "x"},
        {"kind": "conclusion", "text": FOUND},
    ]
    lines = "".join(json.dumps(step) + "\n" for step in recorded).encode()
    async with lab(tmp_path, None) as found:
        run = await found.run(await found.register("replay", steps_jsonl=lines))
        steps, said = await found.steps(run), await found.conclusion(run)
    assert said == FOUND
    assert [(s["text"], s["exit_code"]) for s in of(steps, "command")] == [
        ("echo ü > made.txt; cat made.txt", 0),
        ("exit 4", 4),
    ]
    told = [step["text"] for step in of(steps, "event")]
    assert "command 2 ended with 4; recorded was 0" in told
    assert "replayed 2 commands, 1 of which ended otherwise; 2 steps cannot be repeated" in told
