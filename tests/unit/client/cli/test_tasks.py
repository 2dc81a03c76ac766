"""The commands that make tasks of papers, show what they give away, and publish them all the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firetrial.parser.v1 import leak_pb2, paper_pb2, task_pb2
from firetrial_client.cli.importing import entailer
from unit.client.cli.conftest import Call
from unit.client.fakes import Server, World


@pytest.fixture
def blocked(world: World) -> str:
    leak = leak_pb2.Leak(
        kind=leak_pb2.LEAK_KIND_AUTHOR, sentence="As Ada Byron\x1b[31m has shown.", words="Ada Byron"
    )
    world.tasks["t-1"] = task_pb2.Task(
        id="t-1",
        question="How?",
        has_truth=True,
        state=task_pb2.TASK_STATE_BLOCKED,
        variant=task_pb2.TASK_VARIANT_REDISCOVERY,
        difficulty=task_pb2.Difficulty(
            conceptual_decomposition=2, confound_control=2, analysis_complexity=1, rated_by="people"
        ),
        leak_check=leak_pb2.LeakCheck(depth=leak_pb2.LeakCheck.DEPTH_ENTAILMENT, claims=3, leaks=[leak]),
    )
    return "t-1"


def test_a_blocked_task_says_why(firetrial: Call, blocked: str) -> None:
    assert firetrial("tasks", "list").output.splitlines()[1].split() == [blocked, "yes", "blocked", "How?"]
    shown = firetrial("tasks", "show", blocked).output
    assert "state         blocked" in shown
    assert "difficulty    medium (5 of 9, by people)" in shown
    assert "leak check    words, and 3 claims by the judge" in shown
    assert "author (Ada Byron): As Ada Byron\\x1b[31m has shown." in shown


def test_it_is_overruled_by_name_and_reason(firetrial: Call, answer: Any, blocked: str) -> None:
    args = ("tasks", "overrule", blocked, "--by", "Ada", "--reason", "known to all")
    assert firetrial(*args).output.split() == [blocked, "e-1"]
    shown = firetrial("tasks", "show", blocked).output
    assert "state         published" in shown
    assert "by Ada" in shown
    assert "known to all" in shown
    assert answer(*args)["experiment_ids"] == ["e-1"]
    firetrial("tasks", "overrule", blocked, code=2)
    firetrial("tasks", "overrule", "t-none", "--by", "Ada", "--reason", "x", code=4)


def test_candidates_have_reasons(firetrial: Call, answer: Any, world: World) -> None:
    world.papers["p"] = paper_pb2.Paper(id="p")
    told = firetrial("tasks", "candidates", "p").output
    assert "  1. Table 1  leaf 0.0.0  6 points" in told
    assert "+6  a main result" in told
    assert "no  no finding is stated" in told
    assert [c["rank"] for c in answer("tasks", "candidates", "p")] == [1, 0]


def test_a_task_is_made_of_a_leaf(firetrial: Call, world: World) -> None:
    told = firetrial("tasks", "make", "p", "--leaf", "0.0.0", "--replication", "--agent-command", "true")
    assert told.output.split() == ["made-1", "e-1"]
    asked = world.headers[-1]
    assert (asked.leaf_path, asked.variant) == ("0.0.0", task_pb2.TASK_VARIANT_REPLICATION)
    assert asked.plan.repeats >= 1
    firetrial("tasks", "make", "p")
    assert not world.headers[-1].HasField("plan")


def test_exported_tasks_are_handed_in(firetrial: Call, world: World, tmp_path: Path) -> None:
    exported = firetrial("tasks", "export", "lost_in_the_middle", "questbench").output
    (tmp_path / "tasks.json").write_text(exported)
    assert len(firetrial("submit", "tasks", "tasks.json").output.split()) == 2
    assert [header.slug for header in world.headers] == ["lost-in-the-middle", "questbench"]
    assert world.headers[0].difficulty.rated_by.startswith("people")
    for wrong in ("{}", "no", '[{"slag": "x"}]'):
        (tmp_path / "tasks.json").write_text(wrong)
        firetrial("submit", "tasks", "tasks.json", code=2)


def test_the_judge_is_asked_where_there_is_one(server: Server) -> None:
    entail = entailer(server.endpoint)
    assert entail is not None
    ruled, _, _ = entail("It falls.", ["It falls.", "It rises."])
    assert [(n, claim) for n, claim, _, _ in ruled] == [(0, "It falls."), (1, "It rises.")]
    assert entailer("127.0.0.1:1") is None


def test_all_of_it_as_json(answer: Any, blocked: str, world: World) -> None:
    world.papers["p"] = paper_pb2.Paper(id="p")
    assert answer("tasks", "list")[0]["leak_check"]["leaks"][0]["words"] == "Ada Byron"
    assert answer("tasks", "make", "p")["task"]["id"] == "made-1"
    assert json.dumps(answer("tasks", "show", blocked))


def test_a_folder_is_submitted(firetrial: Call, world: World, tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text('{"slug": "mine", "question": "q?", "repository": {}}')
    (tmp_path / "instruction.md").write_text("Do it.\n")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a.py").write_text("a = 1\n")
    told = firetrial("tasks", "submit", str(tmp_path)).output
    assert told.startswith("mine-")
    header, upload = world.headers[-1], world.uploads[-1]
    assert (header.instruction, header.data_size) == ("Do it.\n", len(upload))
    assert header.HasField("repository")
    assert b"source/a.py" in upload
    firetrial("tasks", "submit", str(tmp_path / "none"), code=2)
