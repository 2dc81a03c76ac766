"""Jobs of Flux, as its manual tells of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firetrial_runner.schedulers import JobSpec, JobState
from firetrial_runner.schedulers.flux import decimal, flux_job, options


def test_an_id_is_one_number_however_it_is_told() -> None:
    # The example of RFC 19 of Flux; a terminal without UTF-8 gets an f.
    told = {"ƒuZZybuNNy": "6731191091817518", "fuZZybuNNy": "6731191091817518", "ƒ1": "0", "1234": "1234"}
    assert {id_: decimal(id_) for id_ in told} == told


def test_options() -> None:
    spec = JobSpec("ft-1", ("/bin/true",), Path("/shared"), 90, cpus=2, gpus=1, queue="q", env={"A": "1"})
    assert {
        "--job-name=ft-1",
        "--time-limit=90s",
        "--cores-per-task=2",
        "--gpus-per-task=1",
        "--env=A=1",
    } <= set(options(spec))


@pytest.mark.parametrize(
    ("told", "state", "code"),
    [
        ({"state": "SCHED"}, JobState.QUEUED, None),
        ({"state": "RUN"}, JobState.ACTIVE, None),
        ({"state": "INACTIVE", "result": "COMPLETED", "returncode": 0}, JobState.DONE, 0),
        ({"state": "INACTIVE", "result": "FAILED", "returncode": 3}, JobState.FAILED, 3),
        ({"state": "INACTIVE", "result": "CANCELED", "returncode": ""}, JobState.CANCELLED, None),
        ({"state": "INACTIVE", "result": "TIMEOUT", "returncode": 142}, JobState.TIMEOUT, None),
    ],
)
def test_states(told: dict[str, Any], state: JobState, code: int | None) -> None:
    found = flux_job({"id": "ƒ2", "name": "ft-1", **told})
    assert (found.id, found.status.state, found.status.exit_code) == ("1", state, code)
