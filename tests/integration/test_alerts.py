"""Alerts over real faults: each is provoked on real services, and what then fires is that alert and no other.

The rules are those that are deployed, but for how long something must hold. Where a page of the runbook has a
command that mends the fault, that command is what ends the alert here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import servers
from support.night import LABELS, Night, fallen
from firetrial_client import make_judge

FULL = os.environ.get("FIRETRIAL_BENCH") == "full"
pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.needs("prometheus", "nats-server", "weed", "bwrap"),
]
full = pytest.mark.skipif(not FULL, reason="minutes: make test-alerts")


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3) -> Iterator[Night]:
    with fallen(tmp_path_factory.mktemp("night"), s3_server) as found:
        yield found


def begins(night: Night, before: set[str], *expected: str) -> None:
    """What begins to fire is what is expected, and stays so."""

    def new() -> set[str]:
        return night.firing() - before

    try:
        servers.wait_for(lambda: new() >= set(expected), "the alert", 110)
    except TimeoutError:
        assert new() == set(expected)
    time.sleep(3)
    assert new() == set(expected)


def ends(night: Night, *expected: str) -> None:
    servers.wait_for(lambda: not night.firing() & set(expected), "the end of it", 60)


def test_nothing_is_told_of_what_works(night: Night) -> None:
    assert night.firing() == {"Watchdog none"}


def test_work_in_a_pool_that_nobody_serves(night: Night) -> None:
    before = night.firing()
    experiment = night.experiment(pool="gpu", wait=False)
    night.another_runner()  # whose first look tells of the runs that are queued; the other's next is in a minute
    begins(night, before, "NoRunnerForWaitingWork page gpu")
    night.command("cancel", experiment)


def test_money_is_spent_by_a_run_that_makes_one_call(night: Night) -> None:
    before = night.firing()
    night.experiment("dear")
    begins(night, before, "SpendAboveBudget page", "SpendAboveBudget ticket")


def test_a_model_without_a_price(night: Night) -> None:
    before = night.firing()
    night.experiment("free")
    begins(night, before, "UnpricedModelCalls ticket free")


def test_a_message_that_nobody_can_read(night: Night) -> None:
    before = night.firing()
    night.publish("ft.evt.judge.v1.run_judged.x", b"\xff" * 9)
    told = [f"DeadLetters ticket {reader}-run_judged" for reader in ("analyzer", "runner")]
    begins(night, before, *told)
    places = [str(letter["place"]) for letter in json.loads(night.command("admin", "dead", "list", "--json"))]
    night.command("admin", "dead", "drop", "--yes", *places)
    ends(night, *told)
    night.publish("ft.evt.judge.v1.run_judged.y", b"\xff" * 9)
    begins(night, before, *told)


def test_a_judge_that_is_not_the_one_that_was_calibrated(night: Night) -> None:
    before = night.firing()
    night.do(lambda client: client.calibrate(LABELS, config=make_judge(model="judge")))
    night.experiment(judge="second")
    begins(night, before, "JudgeDrift ticket model")


def test_an_upstream_that_refuses_the_few_runs_there_are(night: Night) -> None:
    before = night.firing()
    night.refused.add("broken")
    night.experiment("broken", repeats=3)
    begins(night, before, "GatewayUpstreamFailing page broken")


@full
def test_a_pool_that_loses_its_runs(night: Night) -> None:
    before = night.firing()
    night.refused.add("broken")
    night.experiment("broken", repeats=20)
    begins(night, before - {"GatewayUpstreamFailing page broken"}, "GatewayUpstreamFailing page broken", "InfraFailuresHigh page default", "InfraFailuresHigh ticket default")


@full
def test_panels_that_disagree(night: Night) -> None:
    before = night.firing()
    night.experiment(judge="judge", panel=("second", "third"), repeats=20)
    begins(night, before, "JudgeFlips ticket model")


@full
def test_work_that_waits_behind_other_work(night: Night) -> None:
    before = night.firing()
    first = night.experiment(command="sleep 120", repeats=16, wait=False)
    begins(night, before, "WorkWaitsTooLong ticket default")
    night.command("cancel", first)
    ends(night, "WorkWaitsTooLong ticket default")


@full
def test_the_judges_model_refuses(night: Night) -> None:
    before = night.firing()
    night.refused.add("judge")
    night.experiment(judge="judge", repeats=6)
    begins(night, before, "ModelEndpointFailing page judge", "JudgeFailuresHigh page", "DeadLetters ticket judge-run_finished")
    night.refused.discard("judge")


@full
def test_a_store_that_no_longer_takes_the_judges_keys(night: Night) -> None:
    before = night.firing()
    good = night.cluster.s3.keys["judge"]
    night.cluster.s3.keys["judge"] = (good[0], "rotated")
    night.restart("judge")
    night.experiment(repeats=12, wait=False)
    begins(night, before, "ObjectStoreRefusing page firetrial-judge truth", "RedeliveriesRising ticket judge-run_finished")
    night.cluster.s3.keys["judge"] = good
    night.restart("judge")


@full
def test_a_judge_that_is_gone(night: Night) -> None:
    before = night.firing()
    night.cluster.kill("judge")
    begins(night, before, "ServiceDown page firetrial-judge", "InstanceNotScraped ticket firetrial-judge")
    night.restart("judge")
    ends(night, "ServiceDown page firetrial-judge", "InstanceNotScraped ticket firetrial-judge")


@full
def test_a_runner_that_died_beside_another(night: Night) -> None:
    before = night.firing()
    night.cluster.kill("runner-2")
    begins(night, before, "InstanceNotScraped ticket firetrial-runner")


@full
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_a_disk_that_fills(night: Night, tmp_path: Path) -> None:
    before = night.firing()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", tmp_path], check=True)
    try:
        night.another_runner("runner-full", FIRETRIAL_RUNNER_WORK_DIR=str(tmp_path))
        assert night.firing() <= before
        for megabytes in (30, 20, 12):
            (tmp_path / f"left-{megabytes}").write_bytes(bytes(megabytes * 1024 * 1024))
            time.sleep(1.5)
        told = [f"{name} firetrial-runner" for name in ("DiskNearlyFull page", "DiskFillsWithinADay ticket")]
        begins(night, before, *told)
        night.cluster.stop("runner-full")
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


@full
def test_a_stream_that_fills(night: Night) -> None:
    before = night.firing()
    night.publish("ft.dead.flood", bytes(512 * 1024), times=112)
    begins(night, before, "StreamNearlyFull page FT_DEAD")


@full
def test_a_broker_that_hangs(night: Night) -> None:
    before = night.firing()
    os.kill(night.nats_pid, signal.SIGSTOP)
    try:
        begins(night, before, "BrokerAway page")
    finally:
        os.kill(night.nats_pid, signal.SIGCONT)
    ends(night, "BrokerAway page")

