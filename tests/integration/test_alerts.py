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
from support.night import Night, fallen

FULL = os.environ.get("FIRETRIAL_BENCH") == "full"
pytestmark = [pytest.mark.timeout(200), pytest.mark.needs("prometheus", "nats-server", "weed", "bwrap")]
full = pytest.mark.skipif(not FULL, reason="8 minutes: make test-alerts")


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3) -> Iterator[Night]:
    with fallen(tmp_path_factory.mktemp("night"), s3_server) as found:
        yield found


def begins(night: Night, before: set[str], *expected: str, seconds: float = 90) -> None:
    """What begins to fire is what is expected, and nothing beside it."""
    try:
        servers.wait_for(lambda: night.firing() - before >= set(expected), "the alert", seconds)
    except TimeoutError:
        assert night.firing() - before == set(expected)
    time.sleep(3)
    assert night.firing() - before == set(expected)


def ends(night: Night, *expected: str) -> None:
    servers.wait_for(lambda: not night.firing() & set(expected), "the end of it", 90)


def test_nothing_is_told_of_what_works(night: Night) -> None:
    assert night.firing() == {"Watchdog none"}


@pytest.mark.skipif(FULL, reason="one after another below")
def test_six_faults_of_one_night(night: Night) -> None:
    before = night.firing()
    night.refused.add("broken")
    night.experiment(pool="gpu", wait=False)
    night.experiment("broken", repeats=3, wait=False)
    night.experiment("free", wait=False)
    night.publish("ft.evt.judge.v1.run_judged.x", b"\xff" * 9)
    night.calibrate("judge")
    night.experiment(judge="second", wait=False)
    night.experiment("dear")
    night.another_runner()  # whose first look tells of queued runs; the other's next is in a minute
    begins(
        night,
        before,
        "NoRunnerForWaitingWork page gpu",
        "GatewayUpstreamFailing page broken",
        "UnpricedModelCalls ticket free",
        "DeadLetters ticket analyzer-run_judged",
        "DeadLetters ticket runner-run_judged",
        "JudgeDrift ticket model",
        "SpendAboveBudget page",
        "SpendAboveBudget ticket",
    )


@full
def test_work_in_a_pool_that_nobody_serves(night: Night) -> None:
    before = night.firing()
    experiment = night.experiment(pool="gpu", wait=False)
    night.another_runner()  # whose first look tells of queued runs; the other's next is in a minute
    begins(night, before, "NoRunnerForWaitingWork page gpu")
    night.command("cancel", experiment)
    ends(night, "NoRunnerForWaitingWork page gpu")


@full
def test_money_that_a_run_spends_in_one_call(night: Night) -> None:
    before = night.firing()
    night.experiment("dear")
    begins(night, before, "SpendAboveBudget page", "SpendAboveBudget ticket")


@full
def test_a_model_without_a_price(night: Night) -> None:
    before = night.firing()
    night.experiment("free")
    begins(night, before, "UnpricedModelCalls ticket free")


@full
def test_a_message_that_nobody_can_read(night: Night) -> None:
    before = night.firing()
    told = [f"DeadLetters ticket {reader}-run_judged" for reader in ("analyzer", "runner")]
    night.publish("ft.evt.judge.v1.run_judged.x", b"\xff" * 9)
    begins(night, before, *told)
    letters = json.loads(night.command("admin", "dead", "list", "--json"))
    night.command("admin", "dead", "drop", "--yes", *(str(letter["place"]) for letter in letters))
    ends(night, *told)
    night.publish("ft.evt.judge.v1.run_judged.y", b"\xff" * 9)
    begins(night, before, *told)


@full
def test_a_judge_that_is_not_the_one_that_was_calibrated(night: Night) -> None:
    before = night.firing()
    night.calibrate("judge")
    night.experiment(judge="second")
    begins(night, before, "JudgeDrift ticket model")
    night.calibrate("second")
    ends(night, "JudgeDrift ticket model")


@full
def test_an_upstream_that_refuses_the_few_runs_there_are(night: Night) -> None:
    before = night.firing()
    night.refused.add("broken")
    night.experiment("broken", repeats=3)
    begins(night, before, "GatewayUpstreamFailing page broken")


@full
def test_a_pool_that_loses_its_runs(night: Night) -> None:
    before = night.firing()
    night.experiment("broken", repeats=20)
    begins(night, before, "InfraFailuresHigh page default", "InfraFailuresHigh ticket default")


@full
def test_panels_that_disagree(night: Night) -> None:
    before = night.firing()
    night.calibrate("judge", "second", "third")
    night.experiment(judge="judge", panel=("second", "third"), repeats=24)
    begins(night, before, "JudgeFlips ticket model")


@full
def test_a_disk_that_fills(night: Night, tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root mounts a small disk")
    before = night.firing()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", tmp_path], check=True)
    try:
        night.another_runner("runner-full", FIRETRIAL_RUNNER_WORK_DIR=str(tmp_path))
        for megabytes in (30, 20, 12):
            (tmp_path / f"left-{megabytes}").write_bytes(bytes(megabytes * 1024 * 1024))
            time.sleep(1.5)
        told = [f"{name} firetrial-runner" for name in ("DiskNearlyFull page", "DiskFillsWithinADay ticket")]
        begins(night, before, *told)
        night.cluster.stop("runner-full")
        night.prometheus.pilot(night.cluster.metrics("runner-2"))
        ends(night, *told)
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


@full
def test_work_that_waits_behind_other_work(night: Night) -> None:
    before = night.firing()
    first = night.experiment(command="sleep 150", repeats=24, wait=False)
    begins(night, before, "WorkWaitsTooLong ticket default", seconds=150)
    night.command("cancel", first)
    ends(night, "WorkWaitsTooLong ticket default")


@full
def test_a_model_of_the_judge_that_refuses(night: Night) -> None:
    before = night.firing()
    night.calibrate("lone")
    night.refused.add("lone")
    night.experiment(judge="lone", repeats=12)
    told = (
        "ModelEndpointFailing page lone",
        "JudgeFailuresHigh page",
        "DeadLetters ticket judge-run_finished",
    )
    begins(night, before, *told)


@full
def test_a_store_that_no_longer_takes_the_judges_keys(night: Night) -> None:
    before = night.firing()
    good = night.keys["judge"]
    night.keys["judge"] = (good[0], "rotated")
    night.restart("judge")
    night.experiment(repeats=12, wait=False)
    refused = "ObjectStoreRefusing page firetrial-judge"

    def new() -> set[str]:
        """Buckets left out: which are asked first is not said."""
        return {refused if one.startswith(refused) else one for one in night.firing() - before}

    servers.wait_for(lambda: refused in new(), "the alert", 90)
    time.sleep(3)
    follows = "RedeliveriesRising ticket", "DeadLetters ticket", "JudgeFailuresHigh page"
    assert all(one == refused or one.startswith(follows) for one in new()), new()
    night.keys["judge"] = good
    night.restart("judge")


@full
def test_a_judge_that_is_gone(night: Night) -> None:
    before = night.firing()
    night.cluster.kill("judge")
    told = "ServiceDown page firetrial-judge", "InstanceNotScraped ticket firetrial-judge"
    begins(night, before, *told)
    night.restart("judge")
    ends(night, *told)


@full
def test_a_runner_that_died_beside_another(night: Night) -> None:
    before = night.firing()
    night.cluster.kill("runner-2")
    begins(night, before, "InstanceNotScraped ticket firetrial-runner")


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
