"""Asking by commands, and what their failures mean."""

from __future__ import annotations

import sys

import pytest

from firetrial_runner.schedulers.command import ask, ask_json, failed
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


async def test_answers() -> None:
    assert await ask(sys.executable, "-c", "print(1)") == "1\n"
    with pytest.raises(SchedulerError, match="did not answer"):
        await ask(sys.executable, "-c", "import time; time.sleep(60)", within_s=0.2)
    with pytest.raises(SchedulerError, match="could not be started"):
        await ask("/nowhere/squeue")
    with pytest.raises(SchedulerError, match="no JSON"):
        await ask_json(sys.executable, "-c", "print('[1]')")
