"""`firetrial import runs`, `runs steps` and `runs export`, as people and programs call them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firetrial.parser.v1 import task_pb2
from firetrial.plan.v1.plan_pb2 import Plan
from firetrial.runner.v1.run_pb2 import Experiment, Run
from firetrial_client.cli.import_runs import expected_runs
from firetrial_client.elsewhere import Elsewhere
from support import official_logs as official
from unit.client.cli.conftest import Call
from unit.client.fakes import World


@pytest.fixture
def log(world: World, tmp_path: Path) -> Path:
    for slug in ("order-of-examples", "naive-baselines"):
        world.tasks[f"{slug}-ab12"] = task_pb2.Task(id=f"{slug}-ab12", version="ab12")
    return official.write(tmp_path)


def test_a_tree_is_sent_as_it_is_with_one_slip(answer: Any, world: World, log: Path) -> None:
    told = answer("import", "runs", str(log), "--judge", "offline")
    assert len(told["files"]) == told["expected_runs"] == len(world.headers) == 8
    assert set(world.uploads) == set(official.logs().values())
    slips = {header.slip.SerializeToString(deterministic=True) for header in world.headers}
    assert len(slips) == 1
    slip = world.headers[0].slip
    assert (slip.expected_runs, slip.plan.repeats) == (8, 2)
    assert list(slip.plan.agents) == [
        "claude-claude-sonnet-4-5@elsewhere",
        "codex-gpt-5@elsewhere",
        "openhands-openai-o4-mini@elsewhere",
    ]
    assert told["files"][0]["run_id"].startswith("r-order-of-examples-ab12-claude")
    assert told["files"][0]["lacking"] == ["exit"]
    assert answer("import", "runs", str(log), "--judge", "offline")["experiment_id"] == told["experiment_id"]
    assert answer("import", "runs", str(log), "--dry-run")["experiment_id"] != told["experiment_id"]


def test_a_dry_run_sends_nothing_and_tells_all_faults(
    firetrial: Call, answer: Any, world: World, log: Path
) -> None:
    del world.tasks["naive-baselines-ab12"]
    told = answer("import", "runs", str(log), "--dry-run", code=2)
    assert world.headers == []
    assert [bool(file["faults"]) for file in told["files"]].count(True) == 3
    shown = firetrial("import", "runs", str(log), "--dry-run", code=2).output
    assert shown.count("its task 'naive_baselines' is not here") == 3
    assert "order-of-examples-ab12" in shown


def test_an_empty_folder_is_an_error(firetrial: Call, tmp_path: Path) -> None:
    assert "holds no log" in firetrial("import", "runs", str(tmp_path), code=1).output


def test_a_file_by_hand(answer: Any, world: World, log: Path, tmp_path: Path) -> None:
    assert log.exists()
    path = tmp_path / "mine.txt"
    path.write_text("It helps.")
    options = ("--format", "conclusion", "--agent", "Me", "--task", "naive-baselines-ab12")
    (file,) = answer("import", "runs", str(path), *options)["files"]
    assert (file["agent"], file["repeat"], file["faults"]) == ("me", 1, [])
    assert world.uploads == [b"It helps."]


def test_how_many_runs_an_experiment_comes_to() -> None:
    plan = Plan(agents=["a@1"], repeats=2)
    known = Experiment(expected_runs=2, plan=plan)
    there = [Run(task_id="t", agent_id="a@1", repeat=1), Run(task_id="t", agent_id="a@1", repeat=2)]
    files = [Elsewhere(Path("x"), agent="b", task_id="t", repeat=repeat) for repeat in (1, 2, 3)]
    assert expected_runs(known, there, files) == 5
    assert expected_runs(known, there[:1], files) == 5
    # An import that was broken off is done again.
    plan = Plan(agents=["b@elsewhere"], repeats=3)
    known = Experiment(expected_runs=3, plan=plan)
    done = [Run(task_id="t", agent_id="b@elsewhere", repeat=1)]
    assert expected_runs(known, done, files) == 3
    assert expected_runs(known, [*done, *done], files) == 3


def test_a_page_of_steps(firetrial: Call, answer: Any, world: World) -> None:
    world.steps["r-1"] = [
        json.dumps(
            {"step": number, "offset_s": number, "kind": "event", "text": f"e{number}\x1b[2J"}
        ).encode()
        for number in range(1, 8)
    ]
    told = answer("runs", "steps", "r-1", "--from", "3", "--count", "2")
    assert [step["step"] for step in told["steps"]] == [3, 4]
    assert (told["total"], told["next_step"]) == (7, 5)
    shown = firetrial("runs", "steps", "r-1", "--from", "6").output
    assert "e7\\x1b[2J" in shown
    assert "next page" not in shown


def test_an_export(firetrial: Call, answer: Any, world: World, tmp_path: Path) -> None:
    world.runs["r-1"] = Run(id="r-1", agent_id="a@1")
    world.runs["r-1"].conclusion.uri = "runs/x"
    world.steps["r-1"] = [json.dumps({"step": 1, "kind": "command", "text": "ls"}).encode()]
    printed = json.loads(firetrial("runs", "export", "r-1").output)
    assert [step["source"] for step in printed["steps"]] == ["agent", "agent"]
    assert answer("runs", "export", "r-1", "--out", "t.json") == {"run_id": "r-1", "path": "t.json"}
    assert json.loads((tmp_path / "t.json").read_text()) == printed
