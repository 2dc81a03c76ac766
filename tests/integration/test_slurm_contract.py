"""The contract of sandboxes, kept by jobs of a real Slurm: `make test-slurm`.

There is no test of its own here: all of tests/contract/test_sandbox.py and test_sandbox_gateway.py are taken
over, with another rig.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from contract import test_sandbox, test_sandbox_gateway
from firetrial_runner.schedulers import open_scheduler
from support import slurm
from support.sandboxes import Rig, rig_of_jobs

pytestmark = [
    pytest.mark.needs("bwrap", *slurm.PROGRAMS),
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.environ.get("FIRETRIAL_BENCH") != "full", reason="make test-slurm runs it"),
]

for _module in (test_sandbox, test_sandbox_gateway):
    globals().update({name: each for name, each in vars(_module).items() if name.startswith("test_")})

workspace = test_sandbox.workspace


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[slurm.Slurm]:
    folder = tmp_path_factory.mktemp("contract")
    with slurm.leading(folder, cpus=16, memory_mb=32768, kill_wait=2) as found:
        yield found


@pytest.fixture
async def rig(site: slurm.Slurm, tmp_path: Path) -> AsyncIterator[Rig]:
    spool = tmp_path.parent / f"{tmp_path.name}-jobs"  # beside: tests look at what is left in their folder
    rig = rig_of_jobs(open_scheduler("slurm", spool), spool / "jobs")
    yield rig
    await rig.sandbox.aclose()
