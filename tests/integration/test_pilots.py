"""A pilot as a process, whoever has started it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from firetrial_kit.clock import SystemClock
from firetrial_kit.jetstream import connect
from firetrial_kit.kv import JetStreamState
from firetrial_runner.pilots import berth
from firetrial_runner.pilots.ledger import Ledger

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
