"""What an operator says of jobs, as far as it can be told wrong before there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from firetrial_kit.settings import SettingsError
from firetrial_runner.config import RunnerSettings
from firetrial_runner.sandbox.port import SandboxError


def settings(**told: str) -> RunnerSettings:
    given = {f"FIRETRIAL_RUNNER_{name.upper()}": value for name, value in told.items()}
    return RunnerSettings.from_env({"FIRETRIAL_RUNNER_SANDBOX": "job", **given}, "runner")


@pytest.mark.parametrize(
    ("name", "value"),
    [("scheduler_attributes", "qos"), ("scheduler", "cron"), ("scheduler_poll_s", "0.1"), ("job_gpus", "-1")],
)
def test_bad_settings_are_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"FIRETRIAL_RUNNER_{name.upper()}"):
        settings(**{name: value})


async def test_a_scheduler_that_is_not_here_is_told_with_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match=r"slurm: squeue.*FIRETRIAL_RUNNER_SCHEDULER"):
        await settings(work_dir=str(tmp_path)).open_sandbox()


async def test_jobs_of_this_machine_need_nothing(tmp_path: Path) -> None:
    sandbox = await settings(work_dir=str(tmp_path), scheduler="local").open_sandbox()
    assert sandbox.name == "job"
    assert await sandbox.leftovers() == []
    await sandbox.aclose()
