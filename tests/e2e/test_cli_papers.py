"""Real papers and the official benchmark through the command line and a running system."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.machine import Machine

pytestmark = [pytest.mark.needs("nats-server", "bwrap", "shared"), pytest.mark.timeout(240)]
PAPERS = (
    "awareness_detection",
    "cot_without_prompting",
    "fractal_complexity_of_language",
    "llm_introspection",
    "llm_racial_bias_in_medicine",
    "llm_value_consistency",
    "llms_lack_self_correction",
    "lost_in_the_middle",
    "uncertainty_in_instruction_following",
)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    found = Machine(tmp_path_factory.mktemp("machine") / "home")
    found.json("up", "-d")
    yield found
    found.run("down")


def test_a_real_paper_reaches_a_judged_and_analysed_run(
    machine: Machine, shared: Path, tmp_path: Path
) -> None:
    examples = json.loads((shared / "firebench" / "worked_examples.json").read_text())["examples"]
    answer = tmp_path / "answer.md"
    answer.write_text(examples[0]["conclusion"])
    paper = shared / "firebench" / "papers" / "lost_in_the_middle.pdf"
    argv = ["run", "--paper", str(paper), "--agent-command", "cp /agent/answer.md conclusion.md"]
    ended = machine.run(*argv, "--file", str(answer), "--out", str(tmp_path / "out"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    (run,) = report["runs"]
    assert run["run"]["outcome"] == "SCORED"
    claims = run["judgement"]["agent_claims"]
    assert any("middle" in claim["text"].lower() for claim in claims)
    assert {claim["verdict"] for claim in claims} <= {"ENTAILED", "CONTRADICTED", "NEUTRAL", "UNSCORED"}
    assert len(run["judgement"]["truth_claims"]) >= 3
    assert all(0 <= run["run"][score] <= 1 for score in ("precision", "recall", "f1"))


@pytest.mark.parametrize("name", PAPERS)
def test_each_paper_parses_offline_to_a_valid_tree(machine: Machine, shared: Path, name: str) -> None:
    parsed = machine.json("parse", str(shared / "firebench" / "papers" / f"{name}.pdf"), "--offline")
    leaves = list(_leaves(parsed["tree"]))
    assert parsed["faults"] == []
    assert {caption["label"] for caption in parsed["captions"]} <= set(leaves)


def _leaves(node: dict[str, Any]) -> Iterator[str]:
    """The evidence of each leaf; every branch must end in one."""
    if node["kind"] == "leaf":
        yield node["evidence"]
    else:
        assert node["children"], node["title"]
    for child in node["children"]:
        yield from _leaves(child)


def test_the_official_benchmark_comes_in_with_its_defects(machine: Machine, shared: Path) -> None:
    official = shared / "firebench" / "official"
    ended = machine.run("import", "firebench", str(official), "--json")
    assert ended.returncode == 0, ended.stderr
    tasks = json.loads(ended.stdout)
    assert len(tasks) == 30
    without = {
        path.name for path in (official / "benchmark" / "papers").iterdir() if not (path / "data").is_dir()
    }
    told = {task["name"] for task in tasks if "no data folder" in task["broken"]}
    assert told == without
    assert len(without) >= 15
    listed = machine.run("tasks", "list", "--json")
    stored = {task["id"]: task for task in json.loads(listed.stdout)}
    for task in tasks:
        assert stored[task["id"]]["version"] == task["version"]
        assert stored[task["id"]].get("broken", []) == task["broken"]
    shown = machine.run("tasks", "show", tasks[0]["id"])
    assert shown.returncode == 0


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["run", "--paper", "nowhere.pdf", "--agent-command", "true"], 2, "nowhere.pdf"),
        (["run", "--task", "no-such-task", "--agent-command", "true"], 4, "no-such-task"),
        (["run", "--task", "no-such-task", "--agent", "nobody"], 2, "nobody"),
        (["report", "e-none"], 4, "e-none"),
        (["status", "e-none"], 4, "e-none"),
        (["cancel", "e-none"], 4, "e-none"),
        (["logs", "r-none"], 4, "r-none"),
        (["report", "e-none", "--format", "parquet"], 4, "e-none"),
    ],
)
def test_bad_input_is_told_with_its_name_and_a_code(
    machine: Machine, argv: list[str], code: int, words: str
) -> None:
    ended = machine.run(*argv)
    assert ended.returncode == code, shlex.join(argv) + ended.stdout + ended.stderr
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
