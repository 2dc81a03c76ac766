"""The real OpenHands in a container, in an image made by its recipe, before scripted models.

Where its model cannot be had it tries again for three minutes: that is left out.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from firetrial_runner.programs import KNOWN, Shelf
from firetrial_runner.run import Outcome
from firetrial_runner.sandbox.docker import DockerSandbox
from support import scripted_models as scripted
from support.program_lab import COMMAND, CONCLUSION, QUESTION, assert_that_it_ran, lab
from support.scripted_models import Reply, Request, ScriptedModels

pytestmark = [pytest.mark.needs("docker", "openhands"), pytest.mark.timeout(300)]


def turns(request: Request, command: str = COMMAND) -> Reply:
    """The shell is one for the whole conversation: what a command exits would be it."""
    if any(message["role"] == "tool" for message in request.body["messages"]):
        return scripted.call("finish", {"message": CONCLUSION, "summary": "done"})
    told = {"command": f"({command})", "security_risk": "LOW", "summary": "measure"}
    return scripted.call("terminal", told)


@pytest.fixture
async def sandbox() -> AsyncIterator[DockerSandbox]:
    image = os.environ["FIRETRIAL_TEST_OPENHANDS_IMAGE"]
    async with contextlib.aclosing(DockerSandbox.connect(os.environ["DOCKER_HOST"], image)) as sandbox:
        await sandbox.probe()
        yield sandbox


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "shelf", frozenset({KNOWN["openhands"].told}))


async def test_a_run_from_question_to_conclusion(
    sandbox: DockerSandbox, shelf: Shelf, tmp_path: Path
) -> None:
    with ScriptedModels(turns) as models:
        async with lab(tmp_path, models, shelf=shelf, sandbox=sandbox) as found:
            run = await found.run(await found.register("openhands"), instruction=QUESTION)
            kept = await found.kept(run)
    assert_that_it_ran(run, kept, models)


async def test_one_that_dies_in_the_middle(sandbox: DockerSandbox, shelf: Shelf, tmp_path: Path) -> None:
    """What it had begun is told, and nothing is taken for a conclusion."""
    kill = "sleep 1; kill -9 $(cat /proc/[0-9]*/stat | sed -n 's/^\\([0-9]*\\) (openhands.*/\\1/p')"
    with ScriptedModels(lambda request: turns(request, kill)) as models:
        async with lab(tmp_path, models, shelf=shelf, sandbox=sandbox) as found:
            run = await found.run(await found.register("openhands"))
            steps = await found.steps(run)
    assert (run.outcome, run.end and run.end.signal) == (Outcome.AGENT_FAILED, 9), run.reason
    assert "the stream ends before" in run.reason
    assert ["kill -9" in step["text"] for step in steps if step["kind"] == "command"] == [True]
