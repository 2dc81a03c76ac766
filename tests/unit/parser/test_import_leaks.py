"""`firetrial import firebench --check-leaks`: what instructions give away, listed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from click.testing import CliRunner, Result

from firetrial_parser.cli import commands
from unit.parser.repository import label_noise, write_tables

TRUTH = "Please design and execute experiments on labels that are wrong. Noise halves accuracy."
LEAK = "Please design and execute experiments."


def run(*arguments: str, **obj: object) -> Result:
    group = click.Group("firetrial", commands={c.name or "": c for c in commands})
    return CliRunner().invoke(group, ["import", "firebench", *arguments], obj=obj)


def judge(premise: str, findings: Sequence[str]) -> tuple[list[tuple[int, str, str, str]], str, str]:
    assert LEAK in premise
    assert "Does noise change accuracy?" not in premise, "open questions give nothing away"
    return [(0, findings[0], "NEUTRAL", ""), (1, findings[1], "ENTAILED", LEAK)], "j1", "fair"


def test_with_a_judge(tmp_path: Path) -> None:
    root = label_noise(tmp_path)
    write_tables(root, {"label_noise": "Does noise change accuracy?"}, {"label_noise": TRUTH})
    stored: list[object] = []
    done = run(
        str(root),
        "--check-leaks",
        "--json",
        entail=lambda: judge,
        submit_task=lambda **task: stored.append(task),
    )
    (told,) = json.loads(done.stdout)
    assert told["leak_check"] == {
        "depth": "ENTAILMENT",
        "claims": 2,
        "judge": "j1",
        "leaks": [{"kind": "FINDING", "sentence": LEAK, "words": ""}],
    }
    assert (told["stored"], stored) == (False, [])
    assert TRUTH.split(". ")[1] not in done.stdout
    assert f"finding {LEAK}" in run(str(root), "--check-leaks", entail=lambda: judge).stdout


def test_without_one_words_alone_are_looked_at(tmp_path: Path) -> None:
    done = run(str(label_noise(tmp_path)), "--check-leaks", "--json", entail=lambda: None)
    (told,) = json.loads(done.stdout)
    assert (told["leak_check"]["depth"], told["leak_check"]["leaks"]) == ("WORDS", [])
    assert "no judge answers" in done.stderr


def test_without_a_truth_there_is_nothing_to_check(tmp_path: Path) -> None:
    root = label_noise(tmp_path)
    write_tables(root, {}, {})
    (told,) = json.loads(run(str(root), "--check-leaks", "--json", entail=lambda: judge).stdout)
    assert told["leak_check"] is None
