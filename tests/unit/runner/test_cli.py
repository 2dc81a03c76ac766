"""`firetrial sandbox`, where the answer does not depend on the machine."""

from __future__ import annotations

import json

from click.testing import CliRunner

from firetrial_runner.cli import sandbox_command

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
