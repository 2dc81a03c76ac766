from __future__ import annotations

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
    ((name, ok, detail, cure),) = doctor.checks()
    assert (name, ok) == ("sandbox", False)
    assert "docker" in detail.lower()
    assert cure
