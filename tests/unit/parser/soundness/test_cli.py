"""The commands that need no server."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_parser.soundness.cli import proposals
from firetrial_parser.soundness.proposal import Proposal
from support import scripted_models as scripted
from support.scripted_models import ScriptedModels
from unit.parser.soundness.proposals import SOUND, WEAK


def written(path: Path, proposal: Proposal) -> str:
    path.write_text(json.dumps(proposal.to_json()))
    return str(path)


def labelled(path: Path) -> str:
    lines = [
        {
            "id": f"{i}",
            "proposal": replace(plan, abstract=f"Study {i}.").to_json(),
            "score": score,
            "year": 2026,
        }
        for i, (plan, score) in enumerate([(SOUND, 3.5), (SOUND, 3.0), (WEAK, 2.0), (WEAK, 2.5)])
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return str(path)


def run(*argv: str) -> str:
    result = CliRunner().invoke(proposals, argv, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def test_a_proposal_is_assessed_offline_in_both_modes(tmp_path: Path) -> None:
    told = json.loads(run("assess", written(tmp_path / "p.json", SOUND), "--offline", "--json"))
    assert [(one["mode"], one["bucket"]) for one in told["assessments"]] == [
        ("standard", "high"),
        ("aggressive", "high"),
    ]
    assert told["support"] == {"ratio": 1.0, "claims": 20, "method": "lexical"}
    assert told["usage"] == {"calls": 0, "cost_usd": 0.0, "cache_hits": 0}
    shown = run("assess", written(tmp_path / "p.json", WEAK), "--mode", "aggressive")
    assert shown.startswith("aggressive: low, confidence 5 of 5 (offline-1; ")


def test_results_are_refused_or_masked(tmp_path: Path) -> None:
    file = written(tmp_path / "p.json", replace(SOUND, abstract="We find that it works."))
    with pytest.raises(FiretrialError) as caught:
        run("assess", file)
    assert [fault.field for fault in caught.value.faults] == ["abstract"]
    told = json.loads(run("assess", file, "--mask-results", "--json"))
    assert [one["text"] for one in told["masked"]] == ["We find that it works"]


def test_a_set_is_scored_and_told(tmp_path: Path) -> None:
    file = labelled(tmp_path / "set.jsonl")
    report = json.loads(run("evaluate", file, "--controls", "--least", "1", "--json"))
    assert (report["low"], report["high"], report["excluded"]) == (1, 2, 1)
    assert report["overall"]["balanced_accuracy"]["value"] == 1
    assert set(report["by_year"]) == {"2026"}
    assert report["controls"]["flaws_injected"]["approval_after"]["value"] == pytest.approx(2 / 3)
    shown = run("evaluate", file, "--controls")
    assert "always_high" in shown
    assert "approved 66.7% before, 66.7% after" in shown  # counted features do not read


def test_a_model_is_paid_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRETRIAL_PARSER_CACHE_DIR", str(tmp_path / "cache"))
    file = labelled(tmp_path / "set.jsonl")
    verdict = {"rationale": "It is fine.", "bucket": "high", "confidence": 2}
    with ScriptedModels([scripted.answer(verdict)]) as models:
        argv = ("evaluate", file, "--model", "small", "--base-url", models.base_url, "--json")
        first, second = json.loads(run(*argv)), json.loads(run(*argv))
        assert len(models.requests) == 3
    assert first["overall"] == second["overall"]
    assert first["overall"]["fpr"]["value"] == 1
    assert (first["usage"]["calls"], second["usage"]["calls"]) == (3, 0)


@pytest.mark.parametrize("argv", [("--offline", "--model", "x"), ("--base-url", "http://x/v1")])
def test_options_that_contradict_are_usage_errors(tmp_path: Path, argv: tuple[str, ...]) -> None:
    file = written(tmp_path / "p.json", SOUND)
    assert CliRunner().invoke(proposals, ["assess", file, *argv]).exit_code == 2


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[" * 100_000])
def test_a_file_that_is_no_json_is_told_what_was_found(tmp_path: Path, content: bytes) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(content)
    with pytest.raises(FiretrialError) as caught:
        run("assess", str(bad))
    (fault,) = caught.value.faults
    assert (fault.field, fault.value) == ("file", str(content[:40], "utf-8", "replace"))
    assert fault.cure.startswith("must be JSON")


@pytest.mark.parametrize("command", ["assess", "evaluate"])
def test_a_file_that_is_not_there_is_not_found(tmp_path: Path, command: str) -> None:
    with pytest.raises(FiretrialError) as caught:
        run(command, str(tmp_path / "none.json"))
    assert caught.value.reason is Reason.NOT_FOUND
