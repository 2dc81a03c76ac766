"""Asking by commands, and what their failures mean."""

from __future__ import annotations

import asyncio
import sys
import time

import pytest

from firetrial_runner.schedulers.command import ask, ask_here, ask_json, failed
from firetrial_runner.schedulers.port import SchedulerError


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ("sbatch: error: invalid partition specified: nope", True),
        ("sbatch: error: Batch job submission failed: Invalid account or account/partition", True),
        ("slurm_load_jobs error: Unable to contact slurm controller (connect failure)", False),
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", False),
        ("qsub: cannot connect to server pbs (errno=111)", False),
        ("", True),
    ],
)
def test_a_scheduler_that_is_away_has_not_refused(said: str, refused: bool) -> None:
    assert failed("sbatch", said).refused is refused
    assert failed("sbatch", said).retryable is not refused


@pytest.mark.parametrize(
    "said",
    ["qsub: End of File", "LSF is down. Please wait ...", "slurm: Zero Bytes were transmitted or received"],
)
def test_what_may_have_been_taken_all_the_same_is_no_refusal(said: str) -> None:
    assert not failed("sbatch", said).refused


WRAPPED = "import subprocess; subprocess.run(['sleep', '120'])"
"""A site's own program before a scheduler's command."""


async def test_one_behind_a_script_of_the_site_has_its_deadline_too() -> None:
    begun = time.monotonic()
    with pytest.raises(SchedulerError, match="did not answer"):
        await ask(sys.executable, "-c", WRAPPED, within_s=1)
    with pytest.raises(SchedulerError, match="did not answer"):
        await asyncio.to_thread(ask_here, [sys.executable, "-c", WRAPPED], 1)
    assert time.monotonic() - begun < 90


@pytest.mark.parametrize("here", [True, False])
async def test_of_one_that_was_killed_nobody_knows_what_it_did(here: bool) -> None:
    argv = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    with pytest.raises(SchedulerError, match="signal 9") as caught:
        await (asyncio.to_thread(ask_here, argv) if here else ask(*argv))
    assert not caught.value.refused


async def test_answers() -> None:
    assert await ask(sys.executable, "-c", "print(1)") == "1\n"
    with pytest.raises(SchedulerError, match="did not answer"):
        await ask(sys.executable, "-c", "import time; time.sleep(60)", within_s=0.2)
    with pytest.raises(SchedulerError, match="could not be started"):
        await ask("/nowhere/squeue")
    with pytest.raises(SchedulerError, match="no JSON"):
        await ask_json(sys.executable, "-c", "print('[1]')")
    with pytest.raises(SchedulerError, match="no JSON"):
        await ask_json(sys.executable, "-c", "print('[' * 100_000)")
