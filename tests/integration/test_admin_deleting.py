"""Deletions that are cut off, called again, and outlive a broker that is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import structlog

from firetrial_kit.clock import SystemClock
from firetrial_kit.errors import FiretrialError
from firetrial_kit.jetstream import JetStreamBus
from firetrial_kit.keeping import Belongings, Installation, Steward
from firetrial_kit.kv import JetStreamState
from firetrial_kit.state import State
from firetrial_operate.access import opened
from firetrial_operate.admin.deleting import Deleting
from support import servers

pytestmark = pytest.mark.needs("nats-server")
EXPERIMENT, RUNS = "e-1", ("r-1", "r-2", "r-3")
RECORDS = (*(f"run.{run}" for run in RUNS), f"experiment.{EXPERIMENT}")


async def belongings(to: Installation, experiment: str, _: Collection[str]) -> Belongings:
    """As a runner tells them: by the experiment's record, and as running where that of a run is missing."""
    if await to.state.get(f"experiment.{experiment}") is None:
        return Belongings()
    left = [f"runs/{key}" for run in RUNS for key in await to.objects.keys("runs", f"runs/{run}/")]
    there = [run for run in RUNS if await to.state.get(f"run.{run}")]
    return Belongings(
        records=RECORDS,
        objects=tuple(left),
        runs=RUNS,
        others=(("runs/agents/a", "other experiments may use it"),),
        running="" if len(there) == len(RUNS) else f"{experiment} has runs that have not ended",
    )


class CutError(Exception):
    """The operator's machine is gone."""


class Cutting:
    """A state that is left after so many deletions; never for -1."""

    def __init__(self, state: State, left: int) -> None:
        self._state, self._left = state, left

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    async def delete(self, key: str) -> None:
        if self._left == 0:
            raise CutError
        self._left -= 1
        await self._state.delete(key)


@asynccontextmanager
async def deleting(
    broker: str, folder: Path, cut_after: int = -1
) -> AsyncIterator[tuple[Deleting, Installation]]:
    environ = {"FIRETRIAL_NATS_URL": broker, "FIRETRIAL_OBJECTS_URL": f"file://{folder}/objects"}
    async with opened(environ) as access:
        state = await JetStreamState.open(access.client, "ft_runner")
        bus = JetStreamBus(access.client, structlog.get_logger())
        await bus.ensure_streams()
        known = cast("State", Cutting(state, cut_after))
        to = Installation(known, access.objects, bus, SystemClock())
        steward = Steward("runner", "runs", belongings=belongings)
        yield Deleting(access, [steward], {"runner": to}), to


async def ended(to: Installation) -> None:
    """An experiment of three runs, with all that it left. Each record was changed on the way."""
    for key in ("run.others", *RECORDS):
        revision = await to.state.create(key, b"queued")
        await to.state.update(key, b"ended", await to.state.update(key, b"running", revision))
    for run in RUNS:
        await to.objects.put("runs", f"runs/{run}/conclusion.txt", b"found", "text/plain")


async def test_what_was_deleted_stays_gone_when_the_broker_is_killed(tmp_path: Path) -> None:
    with servers.nats_server(tmp_path / "nats") as url:
        async with deleting(url, tmp_path) as (operator, to):
            await ended(to)
            await operator.delete(await operator.plan(EXPERIMENT))
        (ports,) = (tmp_path / "nats").glob("*.ports")
        os.kill(int(ports.stem.rpartition("_")[2]), signal.SIGKILL)
    ports.unlink()
    with servers.nats_server(tmp_path / "nats") as url:
        async with deleting(url, tmp_path) as (operator, to):
            assert [key for key in RECORDS if await to.state.get(key)] == []
            assert await operator.experiments() == []


async def test_one_that_was_cut_off_among_the_records_is_finished_by_the_next(tmp_path: Path) -> None:
    with servers.nats_server(tmp_path / "nats") as url:
        async with deleting(url, tmp_path, cut_after=2) as (operator, to):
            await ended(to)
            with pytest.raises(CutError):
                await operator.delete(await operator.plan(EXPERIMENT))
        async with deleting(url, tmp_path) as (operator, to):
            proof = await operator.delete(await operator.plan(EXPERIMENT))
            assert proof["removed"]["records"] == sorted(f"runner: {key}" for key in RECORDS)
            assert len(proof["removed"]["objects"]) == len(RUNS)
            assert [key for key in RECORDS if await to.state.get(key)] == []
            # One of the same name that runs is another: the first one's notes do not let it go.
            await to.state.create(RECORDS[-1], b"running")
            with pytest.raises(FiretrialError, match="not ended"):
                await operator.plan(EXPERIMENT)


async def test_the_proof_of_a_second_call_is_of_all_that_went(tmp_path: Path) -> None:
    with servers.nats_server(tmp_path / "nats") as url:
        async with deleting(url, tmp_path) as (operator, to):
            await ended(to)
            first = await operator.delete(await operator.plan(EXPERIMENT))
            again = await operator.delete(await operator.plan(EXPERIMENT))
            assert (again["removed"], again["remains"]) == (first["removed"], first["remains"])
            assert "runs/agents/a" in {one["what"] for one in again["remains"]}
            notes = f"deletions/{EXPERIMENT}/notes/"
            assert len(await to.objects.keys("results", notes)) == 1
            # What came late is seen, and goes.
            await to.objects.put("runs", "runs/r-2/late.txt", b"late", "text/plain")
            late = await operator.delete(await operator.plan(EXPERIMENT))
            assert {one["uri"] for one in late["removed"]["objects"]} >= {"runs/runs/r-2/late.txt"}
            assert await to.objects.keys("runs", "runs/") == []


async def test_one_that_never_was_is_told_with_the_cure(tmp_path: Path) -> None:
    with servers.nats_server(tmp_path / "nats") as url:
        async with deleting(url, tmp_path) as (operator, _):
            with pytest.raises(FiretrialError, match="'e-none': `firetrial status` lists them"):
                await operator.plan("e-none")
