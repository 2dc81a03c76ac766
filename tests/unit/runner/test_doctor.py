from __future__ import annotations

from pathlib import Path

import pytest

from firetrial_runner import doctor


def test_bad_settings_are_a_finding_with_a_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRETRIAL_RUNNER_SLOTS", "many")
    ((name, ok, detail, cure),) = doctor.checks()
    assert (name, ok) == ("runner settings", False)
    assert "FIRETRIAL_RUNNER_SLOTS" in detail
    assert cure


def test_a_sandbox_that_cannot_be_had_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRETRIAL_RUNNER_SANDBOX", "docker")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    (name, ok, detail, cure), *_ = doctor.checks()
    assert (name, ok) == ("sandbox", False)
    assert "docker" in detail.lower()
    assert cure


def test_agent_programs_are_told_and_none_has_to_be_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FIRETRIAL_RUNNER_SANDBOX", "docker")
    monkeypatch.setenv("FIRETRIAL_RUNNER_PROGRAMS", str(tmp_path))
    (tmp_path / "codex/0.171.0").mkdir(parents=True)
    found = {name: (ok, detail) for name, ok, detail, _ in doctor.checks()}
    ok, detail = found["agent programs"]
    assert ok
    assert detail == "codex@0.171.0; firetrial programs install claude-code opencode"


def told_of_gateway(
    monkeypatch: pytest.MonkeyPatch, file: Path, text: str
) -> dict[str, tuple[bool | None, str]]:
    file.write_text(text)
    monkeypatch.setenv("FIRETRIAL_RUNNER_GATEWAY", str(file))
    return {name: (ok, detail) for name, ok, detail, _ in doctor.gateway()}


def test_a_gateway_without_its_key_or_its_upstream_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    away = '[upstreams.away]\nurl = "http://127.0.0.1:9/v1"\ndialect = "openai"\n'
    away += 'models = ["no-such-model", "b*"]\n'
    file = tmp_path / "gateway.toml"
    ((ok, detail),) = told_of_gateway(monkeypatch, file, away + 'key_env = "NOT_SET_HERE"\n').values()
    assert (ok, detail) == (False, "upstreams.away: no key in NOT_SET_HERE")
    found = told_of_gateway(monkeypatch, file, away)
    assert found["gateway"] == (None, f"{file}: 1 upstreams; no price of no-such-model")
    assert found["gateway.away"][0] is False
    priced = away + '[prices."no-such-model"]\nprompt = 1.0\ncompletion = 2.0\n'
    assert told_of_gateway(monkeypatch, file, priced)["gateway"][0] is True
