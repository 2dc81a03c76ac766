"""A study that gives its finding away: its task is blocked, told of, and run once somebody overrules it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.machine import Machine

pytestmark = [pytest.mark.needs("nats-server", "bwrap"), pytest.mark.timeout(240)]
LEAK = "The drop becomes larger with distracting premises."
STUDY = f"""# Premises that are not needed

## Abstract

We add premises to problems and measure how far accuracy drops.

## Question

Does it matter for reasoning whether a problem has premises that are not needed?

## Scope

Problems of logic with three to nine premises. {LEAK}

## Results

Table 1: Drop of accuracy by the number of premises.

Distracting premises make the drop larger (Table 1).
"""


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    found = Machine(tmp_path / "home")
    found.json("up", "-d")
    yield found
    found.run("down")


def test_it_is_run_only_once_it_is_overruled(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "study.md").write_text(STUDY)
    command = "sh -c 'echo Distracting premises make the drop larger. > conclusion.md'"
    submitted = machine.json("submit", "paper", str(tmp_path / "study.md"), "--agent-command", command)
    refused = machine.run("run", "--paper", str(tmp_path / "study.md"), "--agent-command", command)
    assert refused.returncode == 7, refused.stdout + refused.stderr
    assert "firetrial tasks overrule" in refused.stderr
    (task,) = machine.json("tasks", "list")
    assert task["state"] == "TASK_STATE_BLOCKED"
    assert task["leak_check"]["depth"] == "DEPTH_ENTAILMENT"
    assert [leak["sentence"] for leak in task["leak_check"]["leaks"]] == [LEAK]
    begun = machine.json("tasks", "overrule", task["id"], "--by", "Ada Byron", "--reason", "a test")
    assert submitted["experiment_id"] in begun["experiment_ids"]
    ended = machine.run("watch", submitted["experiment_id"])
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (run,) = machine.json("report", submitted["experiment_id"], "--format", "json")["runs"]
    assert run["run"]["outcome"] == "SCORED"
    (task,) = machine.json("tasks", "list")
    assert (task["state"], task["leak_check"]["overruling"]["by"]) == ("TASK_STATE_PUBLISHED", "Ada Byron")
