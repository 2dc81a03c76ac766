"""`firetrial up` in the foreground and detached, killed and started again: nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import servers
from support.machine import Machine

pytestmark = [pytest.mark.needs("nats-server", "bwrap"), pytest.mark.timeout(240)]
SLEEPY = "echo planning; sleep 300 & sleep 300"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    found = Machine(tmp_path / "home")
    yield found
    found.run("down")


def nothing_left(machine: Machine) -> None:
    servers.wait_for(lambda: not machine.processes(), f"the end of {machine.processes()}", 15)
    servers.wait_for(lambda: machine.sleepers() == 0, "the end of the agents", 15)
    assert machine.mounts() == []
    assert not (machine.home / "endpoints.json").exists()
    left = [path for path in (machine.home / "work").rglob("*") if path.is_file()]
    assert left == [], left


def with_a_running_agent(machine: Machine, study: Path) -> str:
    """Submit an agent that would take minutes and wait until it runs; gives the experiment."""
    argv = ["run", "--paper", str(study), "--detach", "--agent-command", f"sh -c '{SLEEPY}'"]
    submitted = machine.json(*argv)
    servers.wait_for(lambda: machine.sleepers() > 0, "the agent", 60)
    return str(submitted["experiment_id"])


def test_up_answers_status_and_down_leaves_nothing(machine: Machine, study: Path) -> None:
    told = machine.json("up", "-d")
    assert set(told["endpoints"]) == {"parser", "runner", "judge", "analyzer"}
    again = machine.run("up", "-d")
    assert again.returncode != 0
    assert "running already" in again.stderr
    with_a_running_agent(machine, study)
    assert machine.json("down")["was_up"] is True
    nothing_left(machine)
    assert machine.json("down")["was_up"] is False


def test_ctrl_c_leaves_nothing(machine: Machine, study: Path) -> None:
    foreground = machine.start("up")
    servers.wait_for((machine.home / "endpoints.json").exists, "the services", 60)
    with_a_running_agent(machine, study)
    foreground.send_signal(signal.SIGINT)
    assert foreground.wait(60) == 0
    nothing_left(machine)


def test_sigkill_and_up_again_goes_on_and_leaves_nothing(machine: Machine, study: Path) -> None:
    foreground = machine.start("up")
    servers.wait_for((machine.home / "endpoints.json").exists, "the services", 60)
    experiment = with_a_running_agent(machine, study)
    foreground.kill()
    foreground.wait()
    servers.wait_for(lambda: machine.sleepers() == 0, "the agents' end with their supervisor", 15)
    machine.json("up", "-d")
    runs = machine.run("status", experiment, "--json")
    assert runs.returncode == 0, runs.stderr
    servers.wait_for(lambda: machine.sleepers() > 0, "the next attempt", 60)
    ended = machine.run("cancel", experiment)
    assert ended.returncode == 0, ended.stderr
    servers.wait_for(lambda: machine.sleepers() == 0, "the cancelled agents' end", 60)
    machine.json("down")
    nothing_left(machine)


def test_a_dead_service_comes_back_by_itself(machine: Machine) -> None:
    machine.json("up", "-d", "--split")
    judge = json.loads((machine.home / "run" / "judge.json").read_text())
    os.kill(judge["pid"], signal.SIGKILL)

    def another() -> bool:
        told = machine.home / "run" / "judge.json"
        return bool(json.loads(told.read_text())["pid"] != judge["pid"])

    servers.wait_for(another, "another judge", 60)
    health = machine.run("status", "--json")
    assert health.returncode == 0, health.stdout + health.stderr


@pytest.mark.needs("weed")
def test_objects_on_an_s3_server(machine: Machine, study: Path, tmp_path: Path) -> None:
    machine.json("up", "-d", "--s3")
    argv = ["run", "--paper", str(study), "--agent-command", "sh -c 'echo k > conclusion.md'", "--out"]
    ended = machine.run(*argv, str(tmp_path / "out"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (tmp_path / "out" / "report.html").exists()
    assert not any((machine.home / "objects").rglob("*.json"))
    machine.json("down")
    nothing_left(machine)


def test_a_server_that_is_down_is_said_so_with_the_cure(machine: Machine) -> None:
    ended = machine.run("status")
    assert ended.returncode == 5
    assert "firetrial up" in ended.stdout + ended.stderr
    ended = machine.run("runs", "show", "r-1", "--json")
    assert ended.returncode == 5
    assert json.loads(ended.stdout)["error"]["reason"] == "UNAVAILABLE"


def test_doctor_says_what_there_is(machine: Machine) -> None:
    found = json.loads(machine.run("doctor", "--json").stdout)
    by_name = {finding["name"]: finding for finding in found}
    assert by_name["nats-server"]["ok"]
    assert all(finding["cure"] for finding in found if not finding["ok"])
