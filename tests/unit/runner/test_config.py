"""The runner's settings."""

from __future__ import annotations

import resource
from dataclasses import replace

import pytest

from firetrial_kit.settings import SettingsError
from firetrial_runner.config import RunnerSettings
from firetrial_runner.flood import Flow, open_files
from firetrial_runner.gateway.gateway import FLOW


def test_defaults_fit_the_machine() -> None:
    settings = RunnerSettings.from_env({}, "runner")
    assert (settings.pool, settings.slots, settings.sandbox) == ("default", 2, "auto")
    most, default = settings.most(), settings.default()
    assert list(default.faults(most, "default")) == []
    assert most.memory_bytes > 0
    assert list(default.limits(default).faults()) == []


def test_a_most_below_the_default_lowers_it() -> None:
    settings = RunnerSettings.from_env({"FIRETRIAL_RUNNER_MAX_WALL_S": "60"}, "runner")
    assert settings.most().wall_s == settings.default().wall_s == 60


def test_connections_are_shared_out_among_slots() -> None:
    def flow(slots: int) -> Flow:
        return RunnerSettings.from_env({"FIRETRIAL_SLOTS": str(slots)}, "runner").flow()

    files = open_files()
    assert flow(1) == replace(FLOW, at_once=min(FLOW.at_once, files - 256 - 128))
    assert 16 <= flow(256).at_once <= FLOW.at_once
    assert flow(256).at_once * 256 <= max(files, 16 * 256)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == files


def test_every_bad_variable_at_once() -> None:
    environ = {
        "FIRETRIAL_RUNNER_POOL": "GPU pool",
        "FIRETRIAL_SLOTS": "257",
        "FIRETRIAL_RUNNER_SANDBOX": "vm",
        "FIRETRIAL_RUNNER_NETWORK": "open, a b",
    }
    with pytest.raises(SettingsError) as caught:
        RunnerSettings.from_env(environ, "runner")
    for name in environ:
        assert name in str(caught.value)


async def test_a_runner_that_takes_nothing_needs_no_sandbox_and_sets_no_bounds() -> None:
    front = {"FIRETRIAL_RUNNER_SLOTS": "0", "FIRETRIAL_RUNNER_TESTS": "0"}
    settings = RunnerSettings.from_env({**front, "FIRETRIAL_RUNNER_SANDBOX": "docker"}, "runner")
    sandbox = await settings.open_sandbox()
    assert (sandbox.name, await sandbox.leftovers(), await sandbox.reap({"any"})) == ("none", [], [])
    assert settings.most().memory_bytes > 2**45
    assert settings.flow() == RunnerSettings.from_env({"FIRETRIAL_SLOTS": "1"}, "runner").flow()
    tests_only = RunnerSettings.from_env({"FIRETRIAL_RUNNER_SLOTS": "0"}, "runner")
    assert tests_only.takes
