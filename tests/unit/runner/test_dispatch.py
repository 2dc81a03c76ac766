"""Who carries a run out, for how long, and what becomes of it when something comes between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from firetrial.plan.v1 import plan_pb2
from firetrial_kit import trace
from firetrial_kit.bus import Outgoing, Received
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import ObjectRef
from firetrial_kit.testing import InMemoryObjects
from firetrial_runner import run as runs
from firetrial_runner.gateway.account import Account, Held
from firetrial_runner.run import Outcome, RunState
from firetrial_runner.sandbox.port import Termination
from firetrial_runner.wire import result_to_json
from unit.runner.world import World, until


class Stuck(InMemoryObjects):
    """A store that, once it is asked for an object with `word` in its name, does not answer any more."""

    word = ""
    asked = False

    def _reached(self, name: str) -> bool:
        self.asked |= bool(self.word) and self.word in name
        return self.asked

    async def stream(self, uri: str, *arguments: Any, **more: Any) -> AsyncIterator[bytes]:
        if self._reached(uri):
            await asyncio.Event().wait()
        async for piece in super().stream(uri, *arguments, **more):
            yield piece

    async def put_file(self, bucket: str, key: str, *arguments: Any, **more: Any) -> ObjectRef:
        if self._reached(key):
            await asyncio.Event().wait()
        return await super().put_file(bucket, key, *arguments, **more)

    async def put(self, bucket: str, key: str, *arguments: Any, **more: Any) -> ObjectRef:
        if self._reached(key):
            raise FiretrialError(Reason.UNAVAILABLE, "away")
        return await super().put(bucket, key, *arguments, **more)


def messages(world: World) -> list[Received]:
    """The work that was put into the pool."""
    out: list[Outgoing] = [out for out in world.bus.published if out.subject.startswith("ft.work.")]
    return [Received(one.subject, one.data, one.headers, 1) for one in out]


@pytest.mark.parametrize(
    ("stage", "program", "word"),
    [
        ("starting", "conclude", "bundle.tar"),
        ("running", "sleep", ""),
        ("uploading artifacts", "conclude", "artifacts.tar"),
        ("storing what came of it", "conclude", "result.json"),
    ],
)
async def test_cancel_at_any_stage_takes_two_seconds_at_most(
    tmp_path: Path, stage: str, program: str, word: str
) -> None:
    objects = Stuck()
    world = World(tmp_path / "work", objects=objects)
    (run,) = await world.submit(program)
    objects.word = word
    handling = asyncio.create_task(world.handlers.work(messages(world)[0]))

    async def reached() -> bool:
        return objects.asked if word else bool(await world.sandbox.leftovers())

    await until(reached)
    begun = time.monotonic()
    assert (await world.dispatch.cancel(run.id)).run.state is RunState.RUNNING, stage
    await handling
    assert time.monotonic() - begun < 2
    ended = await world.run(run.id)
    assert (ended.state, ended.outcome, ended.superseded) == (RunState.ENDED, Outcome.CANCELLED, False)
    assert await world.sandbox.leftovers() == []
    assert list(world.work_dir.glob("r-*")) == []
    assert (len(world.facts("run_finished")), len(world.work())) == (1, 1)


async def test_two_messages_for_one_run_are_one_attempt(world: World) -> None:
    """To the same runner, at the same moment: the second must not take the first one's lease for its own."""
    (run,) = await world.submit("conclude")
    (message,) = messages(world)
    told = await asyncio.gather(*(world.handlers.work(message) for _ in range(3)), return_exceptions=True)
    busy = [one for one in told if one is not None]
    assert [getattr(one, "reason", one) for one in busy] == [Reason.UNAVAILABLE] * 2
    assert len(world.sandbox.started) == 1
    assert (await world.run(run.id)).state is RunState.CONCLUDED


async def test_the_lease_is_kept_until_the_end_is_stored(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the store is away; another would take the run for lost, and pay for it again."""
    (run,) = await world.submit("conclude")
    monkeypatch.setattr(world, "dispatch", replace(world.dispatch, ttl_s=0.15))
    put, held = world.objects.put, []

    async def late(bucket: str, key: str, *arguments: Any) -> ObjectRef:
        if key.endswith("result.json"):
            before = (await world.run(run.id)).lease
            world.clock.advance(0.1)
            await asyncio.sleep(0.3)
            held.append((before, (await world.run(run.id)).lease))
        return await put(bucket, key, *arguments)

    monkeypatch.setattr(world.objects, "put", late)
    await world.dispatch.take(await world.books.runs.get(run.id))
    ((before, after),) = held
    assert before is not None
    assert after is not None
    assert after.expires_at > before.expires_at


async def test_what_a_dead_runner_had_finished_is_not_given_up(world: World) -> None:
    """Its message came too often, but the end of the run is in the store."""
    (run,) = await world.submit("conclude")
    now = world.clock.now()
    record = await world.books.change_run(run.id, lambda run: runs.claimed(run, "dead", now, 30))
    end = runs.End(Termination.EXITED, 0)
    conclusion = await world.objects.put("runs", f"runs/{run.id}/conclusion.txt", b"so", "text/plain")
    what = runs.Yield(end, None, conclusion, "", None, 0)
    stored = result_to_json(runs.over(record.run, what, now))
    await world.objects.put("runs", f"runs/{run.id}/result.json", stored, "application/json")
    with pytest.raises(FiretrialError, match="in other hands"):
        await world.dispatch.give_up(run.id, "given up after 10 deliveries")
    world.clock.advance(31)
    await world.dispatch.give_up(run.id, "given up after 10 deliveries")
    kept = await world.run(run.id)
    assert (kept.state, kept.conclusion) == (RunState.CONCLUDED, conclusion)
    assert len(world.work()) == 1


async def test_a_run_that_was_to_be_cancelled_when_its_runner_died_is(world: World) -> None:
    (run,) = await world.submit("conclude")
    now = world.clock.now()
    await world.books.change_run(run.id, lambda run: runs.claimed(run, "dead", now, 30))
    await world.dispatch.cancel(run.id)
    await world.dispatch.recover(run.id, "its runner died", dead="dead")
    ended = await world.run(run.id)
    assert (ended.outcome, ended.reason, ended.superseded) == (Outcome.CANCELLED, "its runner died", False)
    assert len(world.work()) == 1


async def test_money_that_a_dead_runner_set_aside_keeps_nobody_waiting(world: World) -> None:
    (run,) = await world.submit("conclude", max_cost_usd=1.0)
    now = world.clock.now()
    await world.books.change_run(run.id, lambda run: runs.claimed(run, "dead", now, 30))
    holds = {f"{run.id}.a": Held(0.3, 9e9), "r-another.b": Held(0.2, 9e9)}
    await world.books.accounts.create(run.experiment_id, Account(0.1, holds))
    await world.dispatch.recover(run.id, "its runner died", dead="dead")
    account = await world.books.accounts.get(run.experiment_id)
    assert account.spent == pytest.approx(0.4)
    assert list(account.holds) == ["r-another.b"]


async def test_a_cancelled_experiment_makes_no_next_attempt(world: World) -> None:
    """Its cancellation came between an attempt's end and the next one, and found none to cancel."""
    (run,) = await world.submit("conclude")
    now = world.clock.now()
    await world.books.change_run(run.id, lambda run: runs.claimed(run, "dead", now, 0))
    await world.books.change_run(run.id, lambda run: runs.lost(run, now, "its runner died"))
    experiment = await world.experiments.cancel(run.experiment_id)
    await world.deliver()
    found = [record.run for record in await world.experiments.runs(experiment)]
    assert [run.outcome for run in found] == [Outcome.INFRA_FAILED, Outcome.CANCELLED]
    assert world.sandbox.started == []
    assert await world.experiments.counted(experiment) == ({"cancelled": 1}, True)


async def test_an_experiment_that_is_cancelled_while_it_is_asked_for(world: World) -> None:
    """Those of its runs that are made after the cancellation has looked end too."""
    request = world.dispatch.announce.requested
    agent, task = await world.agent("conclude"), await world.task()

    class Cancelling:
        done = False

        async def requested(self, record: Any) -> None:
            await request(record)
            if not self.done:
                self.done = True
                await world.experiments.cancel(record.run.experiment_id)

        def __getattr__(self, name: str) -> Any:
            return getattr(world.dispatch.announce, name)

    dispatch = replace(world.dispatch, announce=Cancelling())  # type: ignore[arg-type]
    experiments = replace(world.experiments, dispatch=dispatch)
    plan = plan_pb2.Plan(agents=[agent], repeats=4)
    experiment = await experiments.submit("", (task,), plan)
    assert await experiments.counted(experiment) == ({"cancelled": 4}, True)
    await world.deliver()
    assert world.sandbox.started == []


async def test_what_befalls_a_run_without_a_message_belongs_to_what_asked_for_it(world: World) -> None:
    """Found dead by another runner, it is told so, and its next attempt begins, in its own trace."""
    with trace.bound(asked := trace.new_traceparent()):
        (run,) = await world.submit("conclude", max_attempts=2)
    now = world.clock.now()
    await world.books.change_run(run.id, lambda run: runs.claimed(run, "dead", now, 30))
    await world.dispatch.recover(run.id, "its runner died", dead="dead")
    told = [(out.subject.split(".")[1], out.headers["traceparent"][3:35]) for out in world.bus.published]
    assert [kind for kind, _ in told] == ["evt", "work", "evt", "work", "evt"]
    assert {trace_id for _, trace_id in told} == {asked[3:35]}
