"""What checks make of what they see, without servers."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from firetrial_kit.attendance import Attendant
from firetrial_kit.errors import FiretrialError
from firetrial_kit.figures import WorkFigures
from firetrial_operate.doctor import installation, machine, rights
from firetrial_operate.doctor.checks import BrokenError
from firetrial_operate.doctor.cli import look
from firetrial_operate.doctor.fleet import taken
from firetrial_operate.doctor.installation import SERVICES, find

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE = {"FIRETRIAL_NATS_URL": "nats://b:4222", "FIRETRIAL_OBJECTS_URL": "https://s:9000"}


def runner(pool: str, *, draining: bool = False) -> Attendant:
    seen = NOW - timedelta(seconds=1)
    return Attendant("r", "h", "0.1.0", pool, slots=2, since=NOW, seen_at=seen, busy=1, draining=draining)


def waiting(pool: str, oldest_s: float) -> WorkFigures:
    return WorkFigures("run", pool, waiting=3, delivered=0, oldest_s=oldest_s)


def test_work_that_waits_for_a_pool_without_a_runner_is_a_fault_after_a_minute() -> None:
    told = taken([runner("default")], [waiting("default", 500), waiting("gpu", 10)])
    assert told.detail == "1 in default; 1 of 2 slots taken; 3 wait for pool gpu since 10 s"
    assert "FIRETRIAL_RUNNER_POOL" in told.cure
    with pytest.raises(BrokenError, match="3 wait for pool gpu"):
        taken([runner("default")], [waiting("gpu", 61)])
    with pytest.raises(BrokenError, match="all drain"):
        taken([runner("gpu", draining=True)], [waiting("gpu", 61)])
    assert not taken([runner("gpu")], [waiting("gpu", 500)]).cure


@pytest.mark.parametrize("service", SERVICES)
def test_nothing_is_both_a_duty_and_forbidden_and_no_probe_could_empty_a_stream(service: str) -> None:
    must, never = rights.allowed(service), rights.forbidden(service)
    assert not {*must} & {*never}
    assert len(must) >= 3
    assert not [subject for subject in (*must, *never) if "DELETE" in subject or "PURGE" in subject]
    others = [name for name in SERVICES if name != service]
    assert all(any(f"ft.evt.{name}.v1." in subject for subject in never) for name in others)
    assert ("ft.evt.judge.v1.run_judged.firetrial-doctor" in never) == (service != "judge")
    assert ("ft.work.run.firetrial-doctor" in must) == (service == "runner")


def test_those_are_looked_at_of_whom_there_are_credentials() -> None:
    told = {**HERE, "FIRETRIAL_JUDGE_S3_ACCESS_KEY": "k", "FIRETRIAL_RUNNER_NATS_USER": "runner"}
    assert [one.name for one in find(told).who] == ["operator", "runner", "judge"]
    assert [one.name for one in find(told, ("parser",)).who] == ["parser"]
    found = find({**told, "FIRETRIAL_RUNNER_ACK_WAIT": "soon", "FIRETRIAL_RUNNER_DRAIN": "never"})
    assert [one.name for one in found.who] == ["operator", "judge"]
    assert len(found.problems["runner"]) == 2
    with pytest.raises(FiretrialError, match="FIRETRIAL_OBJECTS_URL"):
        find({"FIRETRIAL_NATS_URL": "nats://b:4222"})


def test_where_nothing_is_configured_that_is_said(tmp_path: Path) -> None:
    found = find({"FIRETRIAL_HOME": str(tmp_path)})
    assert (found.who, found.endpoints) == ((), {})
    assert "FIRETRIAL_NATS_URL" in found.none
    (tmp_path / "endpoints.json").write_text(json.dumps({"judge": "127.0.0.1:1", "stranger": "127.0.0.1:2"}))
    assert find({"FIRETRIAL_HOME": str(tmp_path)}).endpoints == {"judge": "127.0.0.1:1"}


def test_endpoints_are_one_for_all_or_one_each() -> None:
    assert set(installation.endpoints({"FIRETRIAL_ENDPOINT": "h:1"}).values()) == {"h:1"}
    told = installation.endpoints({"FIRETRIAL_ENDPOINT": "judge=h:1, runner=h:2,other=h:3"})
    assert told == {"judge": "h:1", "runner": "h:2"}


def test_two_services_with_one_key_are_told() -> None:
    alike = {f"FIRETRIAL_{name}_S3_ACCESS_KEY": "one" for name in ("RUNNER", "JUDGE")}
    assert installation.shared(find({**HERE, **alike}).who) == ["runner and judge have one s3_access_key"]


async def test_secrets_that_others_can_read_are_told_and_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "nats-password"
    file.write_text("a-password")
    checks = machine.checks(find({**HERE, "FIRETRIAL_NATS_PASSWORD_FILE": str(file)}))
    (check,) = [one for one in checks if one.name == "secrets"]
    for mode, cure in ((0o644, True), (0o600, False)):
        file.chmod(mode)
        told = await check.look()
        assert bool(told.cure) == cure
        assert "a-password" not in told.detail
        assert ("FIRETRIAL_NATS_PASSWORD_FILE" in told.detail) == cure


async def test_a_check_that_there_is_not_is_no_good_news(tmp_path: Path) -> None:
    environ = {"FIRETRIAL_HOME": str(tmp_path)}
    with pytest.raises(FiretrialError, match=r"only is 'disc'.*shared-memory"):
        await look(environ, (), ("open-files", "disc"))
    (found,) = await look(environ, (), ("open-files",))
    assert found.name == "open-files"
