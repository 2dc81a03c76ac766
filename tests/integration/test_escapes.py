"""What hostile agents try, each as a whole run in a real sandbox: see support/escapes for the catalogue."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from firetrial_runner.run import Outcome, RunState
from firetrial_runner.sandbox.port import Termination
from support.escapes import Attempt
from support.escapes.bombs import BOMBS
from support.escapes.lab import Lab, lab
from support.escapes.leavings import LEAVINGS
from support.escapes.network import EGRESS, NETWORK
from support.escapes.reading import KEYS, READING
from support.escapes.rights import RIGHTS

CATALOGUE = (*READING, *KEYS, *RIGHTS, *NETWORK, *EGRESS, *BOMBS, *LEAVINGS)
BYSTANDER = Attempt("bystander", "nothing", source="time.sleep(1)\nprint(ask('hello'))", says="held 0")
KINDS = [
    pytest.param("bubblewrap", marks=pytest.mark.needs("bwrap")),
    pytest.param("docker", marks=pytest.mark.needs("docker")),
]


@pytest.fixture(params=KINDS)
async def found(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Lab]:
    async with lab(request.param, tmp_path) as found:
        yield found


@pytest.mark.parametrize("attempt", CATALOGUE, ids=lambda attempt: attempt.name)
async def test_it_is_refused(found: Lab, attempt: Attempt) -> None:
    runs = [await found.submit(attempt)]
    if attempt.beside_others:
        runs.append(await found.submit(BYSTANDER))
    run, *others = await found.conduct(*runs)
    told = "\n".join(str(step["text"])[:300] for step in (await found.steps(run))[-60:])
    assert "GOT IN" not in told, told
    assert await found.harmed() == [], told
    assert run.end is not None
    assert attempt.ends in {None, run.end.termination}, told
    if attempt.outcome is not None:
        assert (run.state, run.outcome) == (RunState.ENDED, attempt.outcome), told
    elif not attempt.loose:
        assert run.state is RunState.CONCLUDED, (run.reason, told)
        assert (attempt.says or f"held {len(attempt.lines)}") in await found.conclusion(run), told
    assert run.outcome is not Outcome.INFRA_FAILED, run.reason
    for other in others:
        assert (other.state, await found.conclusion(other)) == (RunState.CONCLUDED, "held 0"), other.reason


def test_the_catalogue_is_a_catalogue() -> None:
    names = [attempt.name for attempt in CATALOGUE]
    assert len(names) == len(set(names)) >= 40
    assert all(attempt.what for attempt in CATALOGUE)
    assert Termination.LOST not in {attempt.ends for attempt in CATALOGUE}
