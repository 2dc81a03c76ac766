"""`firetrial sandbox` and `firetrial programs`, where the answer does not depend on the machine."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from firetrial_runner.cli import programs, sandbox_command

NOWHERE = {"FIRETRIAL_RUNNER_SANDBOX": "docker", "FIRETRIAL_RUNNER_DOCKER_HOST": "unix:///nowhere"}
HOST = {"FIRETRIAL_RUNNER_SANDBOX": "host", "FIRETRIAL_RUNNER_UNSAFE_HOST": "1"}


def test_one_that_works() -> None:
    answer = CliRunner().invoke(sandbox_command, env=HOST)
    assert answer.exit_code == 0
    assert answer.output.startswith("sandbox: host")
    answer = CliRunner().invoke(sandbox_command, ["--json"], env=HOST)
    assert json.loads(answer.output)["enforcement"]["isolation"] == "none"


def test_one_that_does_not() -> None:
    answer = CliRunner().invoke(sandbox_command, env=NOWHERE)
    assert answer.exit_code == 1
    assert "DOCKER_HOST" in answer.output
    answer = CliRunner().invoke(sandbox_command, ["--json"], env=NOWHERE)
    assert answer.exit_code == 1
    assert json.loads(answer.output)["sandbox"] is None


def test_bad_settings() -> None:
    answer = CliRunner().invoke(sandbox_command, env={"FIRETRIAL_RUNNER_SANDBOX": "vm"})
    assert answer.exit_code == 2
    assert "FIRETRIAL_RUNNER_SANDBOX" in answer.output


def test_programs_and_where_they_are(tmp_path: Path) -> None:
    env = {"FIRETRIAL_RUNNER_PROGRAMS": str(tmp_path)}
    (tmp_path / "codex/0.171.0").mkdir(parents=True)
    told = json.loads(CliRunner().invoke(programs, ["list", "--json"], env=env).output)["programs"]
    found = {program["program"]: (program["installed"], program["place"]) for program in told}
    assert found["codex@0.171.0"] == (True, str(tmp_path / "codex/0.171.0"))
    assert found["claude-code@2.1.197"] == (False, "")
    answer = CliRunner().invoke(programs, ["list"], env=env)
    assert "not installed" in answer.output
    answer = CliRunner().invoke(programs, ["install", "codex", "--json"], env=env)
    assert json.loads(answer.output)["installed"] is True


def test_programs_that_cannot_be_installed() -> None:
    answer = CliRunner().invoke(programs, ["install", "vim"])
    assert (answer.exit_code, "there are codex" in answer.output) == (2, True)
    answer = CliRunner().invoke(programs, ["install", "openhands"])
    assert (answer.exit_code, "programs recipe openhands" in answer.output) == (1, True)
    answer = CliRunner().invoke(programs, ["install", "replay"])
    assert (answer.exit_code, "own bundle" in answer.output) == (1, True)
    answer = CliRunner().invoke(programs, ["recipe", "replay"])
    assert (answer.exit_code, "own bundle" in answer.output) == (1, True)
    answer = CliRunner().invoke(programs, ["recipe", "codex", "--base", "mine:1"])
    assert answer.output.startswith("# docker build -f - ")
    assert "FROM mine:1" in answer.output
