"""What hostile agents try, each as a whole run in a real sandbox: see support/escapes for the catalogue."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.s3 import S3Objects
from firetrial_runner.run import Outcome, Run, RunState
from firetrial_runner.sandbox.port import Termination
from support.escapes import Attempt, Together
from support.escapes.archives import ARCHIVES, oddities
from support.escapes.bombs import BOMBS
from support.escapes.lab import Lab, lab
from support.escapes.leavings import LEAVINGS
from support.escapes.network import EGRESS, NETWORK
from support.escapes.reading import KEYS, READING, STEAL_TRUTH
from support.escapes.rights import RIGHTS
from support.servers import S3

CATALOGUE = (*READING, *KEYS, *RIGHTS, *NETWORK, *EGRESS, *BOMBS, *LEAVINGS)
BYSTANDER = Attempt("bystander", "nothing", source="time.sleep(1)\nprint(ask('hello'))", says="held 0")
KINDS = [
    pytest.param("bubblewrap", marks=pytest.mark.needs("bwrap")),
    pytest.param("docker", marks=pytest.mark.needs("docker")),
]
if os.environ.get("FIRETRIAL_BENCH") == "full":  # bubblewrap again, in a scheduler's job: make test-slurm
    KINDS.append(pytest.param("job", marks=pytest.mark.needs("bwrap")))


PLAIN = tuple(attempt for attempt in CATALOGUE if attempt.is_plain)


@pytest.fixture(scope="module", params=KINDS)
def together(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str]]:
    """What was said of each plain attempt: all of them are one run, because a run takes its time."""

    async def conduct() -> list[str]:
        async with lab(request.param, tmp_path_factory.mktemp("together")) as found:
            attempt = Together("together", "all", limits={"wall": 120}, attempts=PLAIN)
            (run,) = await found.conduct(await found.submit(attempt))
            assert run.state is RunState.CONCLUDED, run.reason
            assert await found.harmed() == []
            return [str(step["text"]) for step in await found.steps(run) if step["kind"] == "output"]

    said: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in asyncio.run(conduct()):
        lines.append(line)
        if name := re.fullmatch(r"([\w-]+): held \d+", line):
            said[name[1]], lines = lines, []
    return said


@pytest.mark.parametrize("attempt", PLAIN, ids=lambda attempt: attempt.name)
def test_it_is_refused_too(together: dict[str, list[str]], attempt: Attempt) -> None:
    told = together[attempt.name]
    assert not any(line.startswith("GOT IN") for line in told), told
    assert told[-1] == f"{attempt.name}: held {len(attempt.lines)}", told


@pytest.fixture(params=KINDS)
async def found(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Lab]:
    async with lab(request.param, tmp_path) as found:
        yield found


@pytest.mark.parametrize(
    "attempt", [attempt for attempt in CATALOGUE if not attempt.is_plain], ids=lambda attempt: attempt.name
)
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


async def hand_in(found: Lab, archive: bytes, attempt: Attempt = BYSTANDER) -> Run:
    """A run on a task whose data are this archive."""
    ref = await found.world.objects.put("runs", "tasks/t-bystander/data.tar", archive, "application/x-tar")
    data = {"uri": ref.uri, "sha256": ref.sha256, "size": ref.size}
    (run,) = await found.conduct(await found.submit(attempt, data=data))
    return run


@pytest.mark.parametrize("name", ARCHIVES)
async def test_an_archive_is_refused(tmp_path: Path, name: str) -> None:
    async with lab("bubblewrap", tmp_path) as found:
        run = await hand_in(found, ARCHIVES[name]())
        assert (run.outcome, run.superseded) == (Outcome.INFRA_FAILED, False)
        assert "archive" in run.reason
        assert await found.harmed() == []


@pytest.mark.needs("bwrap")
async def test_an_archive_that_is_only_odd_is_unpacked(tmp_path: Path) -> None:
    looks = Attempt("bystander", "nothing", lines=("must(len(os.listdir('data')) == 8, os.listdir('data'))",))
    async with lab("bubblewrap", tmp_path) as found:
        run = await hand_in(found, oddities(), looks)
        assert await found.conclusion(run) == "held 1", (run.reason, await found.steps(run))


@pytest.mark.parametrize("name", ["dots", "symbolic-link", "sparse", "gzip-bomb", "nested-headers"])
async def test_an_agents_archive_is_refused(tmp_path: Path, name: str) -> None:
    """In the place of what the agent was registered with, as its hash demands."""
    async with lab("bubblewrap", tmp_path) as found:
        run = await found.submit(BYSTANDER)
        agent = await found.world.books.agents.get(run.agent_id)
        bad = ARCHIVES[name]()
        ref = await found.world.objects.put("runs", "agents/bad/bundle.tar", bad, "application/x-tar")
        await found.world.books.agents.change(agent.id, lambda known: replace(known, bundle=ref))
        (run,) = await found.conduct(run)
        assert (run.outcome, "archive" in run.reason) == (Outcome.INFRA_FAILED, True), run.reason
        assert await found.harmed() == []


@pytest.mark.needs("bwrap", "weed")
async def test_ground_truth_is_out_of_reach(tmp_path: Path, s3_server: S3) -> None:
    """Neither the agent nor the runner, whose own keys the run is stored by, can have it."""
    admin, runner = (S3Objects(s3_server.url, *s3_server.keys[name]) for name in ("admin", "runner"))
    await admin.ensure_buckets()
    key = "truth/t/truth.json"
    await admin.put("truth", key, b"the answer is 42", "application/json")
    for reads in (runner.get(f"truth/{key}"), runner.keys("truth", "")):
        with pytest.raises(FiretrialError) as refused:
            await reads
        assert refused.value.reason is Reason.DENIED
    async with lab("bubblewrap", tmp_path, objects=runner) as found:
        host, port = s3_server.url.removeprefix("http://").split(":")
        secret = s3_server.keys["runner"][1]
        found.host.targets |= {
            "s3": s3_server.url,
            "s3_host": host,
            "s3_port": int(port),
            "s3_secret": secret,
        }
        (run,) = await found.conduct(await found.submit(STEAL_TRUTH))
        assert await found.conclusion(run) == "held 4", await found.steps(run)
        assert await found.harmed() == []
