"""A pilot as a process, whoever has started it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from firetrial_kit.clock import SystemClock
from firetrial_kit.jetstream import connect
from firetrial_kit.kv import JetStreamState
from firetrial_runner.pilots import berth
from firetrial_runner.pilots.ledger import Ledger
from support import servers

pytestmark = [pytest.mark.needs("nats-server"), pytest.mark.timeout(120)]


def pilot(nats_url: str, folder: Path, mark: int, **more: str) -> subprocess.CompletedProcess[str]:
    """One of a pool without work, to its end."""
    environ = {
        **os.environ,
        "FIRETRIAL_NATS_URL": nats_url,
        "FIRETRIAL_OBJECTS_URL": f"file://{folder}/objects",
        "FIRETRIAL_RUNNER_WORK_DIR": f"{folder}/work",
        "FIRETRIAL_RUNNER_SANDBOX": "host",
        "FIRETRIAL_RUNNER_UNSAFE_HOST": "true",
        "FIRETRIAL_RUNNER_POOL": "berths",
        berth.VARIABLE: berth.shown("ft-berths-abc123-1", mark),
        **more,
    }
    argv = [sys.executable, "-m", "firetrial_runner.pilots.main"]
    return subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=60)


async def test_of_two_jobs_of_one_name_the_older_leaves_at_once(nats_url: str, tmp_path: Path) -> None:
    client = await connect(nats_url, name="test")
    try:
        ledgers, now = berth.ledgers(await JetStreamState.open(client, "ft_runner")), SystemClock().now()
        await ledgers.create("berths", Ledger("berths", "abc123"))
        for _ in range(2):
            await ledgers.change("berths", lambda ledger: ledger.intending(ledger.berth(1), now))
        old = pilot(nats_url, tmp_path, 1)
        new = pilot(nats_url, tmp_path, 2, FIRETRIAL_RUNNER_IDLE="1")
    finally:
        await client.close()
    assert (old.returncode, new.returncode) == (0, 0), old.stderr + new.stderr
    assert "another pilot has its name" in old.stderr
    assert "another pilot has its name" not in new.stderr
    assert "idle for 1 s" in new.stderr


def test_prometheus_is_told_of_the_pilots_that_are_there(nats_url: str, tmp_path: Path) -> None:
    file, settings = tmp_path / "gpu.json", tmp_path / "runner.env"
    settings.touch(mode=0o600)
    settings.write_text(
        f"FIRETRIAL_NATS_URL={nats_url}\n"
        f"FIRETRIAL_OBJECTS_URL=file://{tmp_path}/objects\n"
        "FIRETRIAL_METRICS_ADDRESS=0.0.0.0:0\n"
        f"FIRETRIAL_RUNNER_WORK_DIR={tmp_path}/work\n"
        "FIRETRIAL_RUNNER_SANDBOX=host\n"
        "FIRETRIAL_RUNNER_UNSAFE_HOST=true\n"
    )
    look = [str(servers.BIN / "firetrial"), "pilots", "--scheduler", "local", "--pool", "scraped"]
    look += ["--max", "1", "--idle", "8s", "--once", "--folder", str(tmp_path)]
    look += ["--env-file", str(settings), "--targets", str(file)]

    def told(*more: str) -> list[str]:
        subprocess.run([*look, *more], check=True, stdout=subprocess.DEVNULL, timeout=60)
        (group,) = json.loads(file.read_text())
        found: list[str] = group["targets"]
        return found

    assert told("--min", "1") == []  # it is submitted, and on its way
    servers.wait_for(told, "the pilot's page", 60)
    (page,) = told()
    with urllib.request.urlopen(f"http://{page}/metrics", timeout=10) as metrics:
        assert 'firetrial_runner_slots{pool="scraped"}' in metrics.read().decode()
    servers.wait_for(lambda: told() == [], "one that is idle to be gone", 60)
