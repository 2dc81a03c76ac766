"""The probe asks the bare model once, with the instruction and nothing else."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from firetrial_client import probe
from support.scripted_models import ScriptedModels, status, text

INSTRUCTION = "Research question: does label noise change accuracy?\nModels: kNN\n"
FINDING = "Accuracy falls as label noise grows."


def ask(workspace: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    (workspace / "instruction.txt").write_text(INSTRUCTION, encoding="utf-8")
    program = probe.folder() / "agent.py"
    return subprocess.run(
        [sys.executable, str(program)],
        cwd=workspace,
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=60,
    )


def gateway(models: ScriptedModels) -> dict[str, str]:
    return {"FIRETRIAL_MODEL": "m", "OPENAI_BASE_URL": models.base_url, "OPENAI_API_KEY": "run-token"}


def test_one_question_and_its_answer_is_the_conclusion(tmp_path: Path) -> None:
    with ScriptedModels([text(FINDING)]) as models:
        done = ask(tmp_path, gateway(models))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "conclusion.md").read_text() == FINDING
    (request,) = models.requests
    assert request.body["model"] == "m"
    assert request.headers["authorization"] == "Bearer run-token"
    assert [message["role"] for message in request.body["messages"]] == ["system", "user"]
    assert request.body["messages"][1]["content"] == INSTRUCTION
    assert not {"tools", "functions"} & set(request.body)


@pytest.mark.parametrize("reply", [status(429), status(500), text(""), text(None)])
def test_without_an_answer_there_is_no_conclusion(tmp_path: Path, reply: object) -> None:
    with ScriptedModels([reply]) as models:  # type: ignore[list-item]
        done = ask(tmp_path, gateway(models))
    assert done.returncode == 1
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "conclusion.md").exists()


def test_without_a_gateway_it_says_what_is_missing(tmp_path: Path) -> None:
    done = ask(tmp_path, {"FIRETRIAL_MODEL": "m"})
    assert done.returncode == 1
    assert "OPENAI_BASE_URL, OPENAI_API_KEY not set" in done.stderr


def test_it_is_an_agent_like_any_other() -> None:
    manifest = json.loads((probe.folder() / "agent.json").read_text())
    assert manifest["name"] == "closed-book"
