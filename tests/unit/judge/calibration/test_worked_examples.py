"""The three worked examples of the benchmark's paper: people's claims, extracted ones, and their matches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from firetrial_judge.calibration.labels import read_labels
from firetrial_judge.calibration.measuring import measured
from firetrial_judge.cli import judge_group
from firetrial_judge.offline import OfflineBackend
from firetrial_judge.verdict import Verdict

MATCHES = {
    "lost_in_the_middle": [[1, 1], [2, 2], [3, 3]],
    "llm_racial_bias_in_medicine": [[1, 1], [2, 2], [3, 3], [4, 4]],
    "llms_lack_self_correction": [[1, 1], [2, 2], [3, 3], [4, 4]],
}


@pytest.fixture
def labels(shared: Path) -> bytes:
    examples = json.loads((shared / "firebench/worked_examples.json").read_text())["examples"]
    rows = []
    for example in examples:
        task, people, extracted = example["task"], example["human_claims"], example["extracted_claims"]
        rows.append({"id": f"{task}/said", "conclusion": example["conclusion"], "claims": people})
        matches = {"claims": people, "others": extracted, "matches": MATCHES[task]}
        rows.append({"id": f"{task}/matched", **matches})
    return "\n".join(map(json.dumps, rows)).encode()


@pytest.mark.needs("shared")
async def test_the_offline_judge_on_the_worked_examples(offline: OfflineBackend, labels: bytes) -> None:
    items = read_labels(labels)
    assert len(items) == 12 + 23
    found = await measured(offline, items)
    assert found.items == 35
    assert found.base_rates[Verdict.ENTAILED] == pytest.approx(34 / 35)
    # Nearly all are entailed, loosely: what it finds is low, and it must not call any contradicted by much.
    assert (found.precision.value or 0) >= 0.9
    assert found.recall.value is not None
    contradicted = sum(n for (_, _, by), n in found.confusion.items() if by is Verdict.CONTRADICTED)
    assert contradicted <= 3


@pytest.mark.needs("shared")
def test_the_command_needs_no_server(labels: bytes, tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_bytes(labels)
    told = CliRunner().invoke(judge_group, ["calibrate", str(file), "--backend", "offline", "--json"])
    assert told.exit_code == 0, told.output
    answer = json.loads(told.stdout)
    assert answer["items"] == 35
    assert answer["judge"]["backend"] == "offline"
    assert set(answer["accuracy"]) == {"value", "low", "high"}


def test_bad_labels_are_told_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("reference,claim,label\na b,,sure\n")
    told = CliRunner().invoke(judge_group, ["calibrate", str(file)])
    assert told.exit_code == 2
    assert "line 2, claim" in told.stderr
    assert "line 2, label" in told.stderr
