"""Rows are kept once each: whatever is told twice, whoever is faster, and wherever a process dies."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.columns import Row, row
from firetrial_analyzer.ledger import Ledger
from firetrial_analyzer.outcomes import Outcome
from firetrial_analyzer.record import FAN, NO_PLAN, TAIL, Plan, ReportRecord
from firetrial_analyzer.render import Format
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import ObjectRef
from firetrial_kit.records import Records
from firetrial_kit.testing import InMemoryObjects, InMemoryState, ManualClock
from unit.analyzer import sample
from unit.analyzer.bench import Bench

PLAN = Plan(10_000, ("a@1",), 10_000, "m")


def made(number: int, judgement_id: str = "j-1", attempt: int = 1, *, superseded: bool = False) -> Row:
    run = sample.outcome("a@1", number, Outcome.SCORED, f1=number % 10 / 10, attempt=attempt)
    run = replace(run, run_id=f"r-{number}-{attempt}", superseded=superseded)
    return row(AnalysedRun(run, judgement_id))


class World:
    """One store and one state; a ledger is a process."""

    def __init__(self) -> None:
        self.objects = InMemoryObjects()
        self.state = InMemoryState()

    def ledger(self, objects: InMemoryObjects | None = None) -> Ledger:
        records = Records(self.state, "report", ReportRecord)
        return Ledger(records, objects or self.objects, ManualClock())

    async def record(self) -> ReportRecord:
        return await self.ledger().records.get(sample.EXPERIMENT)

    async def keys(self) -> list[tuple[str, str]]:
        """Of all rows, as a process sees them that was not there when they came."""
        rows = await self.ledger().rows(await self.record())
        return sorted(rows.select("run_id", "judgement_id").iter_rows())


@pytest.fixture
def world() -> World:
    return World()


def names(*numbers: int) -> list[tuple[str, str]]:
    return sorted((f"r-{number}-1", "j-1") for number in numbers)


async def test_rows_come_out_as_they_went_in_through_tails_parts_and_merges(world: World) -> None:
    count = TAIL * (FAN + 2) + 3
    ledger = world.ledger()
    for number in range(count):
        record = await ledger.add(made(number), PLAN)
    assert [part.rows for part in record.parts] == [TAIL * FAN, TAIL, TAIL]
    assert (len(record.tail), record.ended, record.rows) == (3, count, count)
    assert await world.keys() == names(*range(count))
    rows = await world.ledger().rows(record)
    assert rows.sort("repeat")["f1"].to_list() == [number % 10 / 10 for number in range(count)]


async def test_what_is_told_again_changes_nothing_wherever_it_lies(world: World) -> None:
    for number in range(TAIL + 1):
        await world.ledger().add(made(number), PLAN)
    before, puts = await world.record(), world.objects.puts
    for number in (0, TAIL):
        await world.ledger().add(made(number), PLAN)
        assert await world.ledger().holds(sample.EXPERIMENT, f"r-{number}-1", "j-1")
        assert not await world.ledger().holds(sample.EXPERIMENT, f"r-{number}-1", "j-2")
        assert await world.ledger().holds(sample.EXPERIMENT, f"r-{number}-1")
    assert await world.record() == before
    assert world.objects.puts == puts


async def test_a_slot_ends_once_whatever_attempts_and_judgements_it_takes(world: World) -> None:
    ledger = world.ledger()
    assert (await ledger.add(made(0, "", superseded=True), PLAN)).ended == 0
    assert (await ledger.add(made(0, attempt=2), PLAN)).ended == 1
    for number in range(1, TAIL):
        await ledger.add(made(number), PLAN)
    record = await ledger.add(made(0, "j-2", attempt=2), PLAN)
    assert len(record.parts) == 1, "the slot has ended in a part, and not in the tail"
    assert (record.ended, record.rows) == (TAIL, TAIL + 2)


async def test_the_order_of_rows_does_not_change_what_they_are(world: World) -> None:
    rows = [made(number) for number in range(2 * TAIL)]
    for held in rows:
        await world.ledger().add(held, PLAN)
    other = World()
    for held in random.Random(3).sample(rows, len(rows)):  # noqa: S311 - a shuffle, no secret
        await other.ledger().add(held, PLAN)
    assert (await world.record()).inputs == (await other.record()).inputs


async def test_processes_that_race_lose_and_double_nothing(world: World) -> None:
    class Slow(InMemoryState):
        """Lets the others go on between a read and a write."""

        async def get(self, key: str) -> Any:
            entry = await super().get(key)
            await asyncio.sleep(random.random() / 500)  # noqa: S311 - a delay, no secret
            return entry

    world.state = Slow()
    count = TAIL * FAN + 5
    ledgers = [world.ledger() for _ in range(3)]

    async def process(ledger: Ledger, start: int) -> None:
        for number in range(count):
            if (number + start) % 3 != 0:  # each row is told to two of the three
                await ledger.add(made(number), PLAN)

    await asyncio.gather(*(process(ledger, start) for start, ledger in enumerate(ledgers)))
    record = await world.record()
    assert (record.ended, record.rows) == (count, count)
    assert await world.keys() == names(*range(count))


class Crash(BaseException):
    """The process is gone: nothing in it can catch this."""


@pytest.mark.parametrize("after", [False, True], ids=["before the put", "after the put"])
async def test_a_process_that_dies_over_a_part_leaves_work_and_loses_no_row(
    world: World, *, after: bool
) -> None:
    class Dying(InMemoryObjects):
        async def put(self, bucket: str, key: str, data: bytes, media_type: str) -> ObjectRef:
            if key.endswith(".parquet"):
                if after:
                    await super().put(bucket, key, data, media_type)
                raise Crash
            return await super().put(bucket, key, data, media_type)

    dying = world.ledger(Dying(sharing=world.objects))
    for number in range(TAIL - 1):
        await dying.add(made(number), PLAN)
    with pytest.raises(Crash):
        await dying.add(made(TAIL - 1), PLAN)
    assert (await world.record()).rows == TAIL
    record = await world.ledger().add(made(TAIL - 1), PLAN)
    assert ([part.rows for part in record.parts], record.tail, record.ended) == ([TAIL], (), TAIL)
    assert await world.keys() == names(*range(TAIL))
    assert len(await world.objects.keys("results", "tables/")) == 2, "the part and the plan"


async def test_a_process_that_dies_over_a_merge_leaves_work_and_loses_no_row(world: World) -> None:
    class Dying(InMemoryState):
        dead = True

        async def update(self, key: str, value: bytes, revision: int) -> int:
            if self.dead and await self.merges(value):
                raise Crash
            return await super().update(key, value, revision)

        @staticmethod
        async def merges(value: bytes) -> bool:
            return f'"rows":{TAIL * FAN}'.encode() in value

    world.state = state = Dying()
    ledger = world.ledger()
    for number in range(TAIL * FAN - 1):
        await ledger.add(made(number), PLAN)
    with pytest.raises(Crash):
        await ledger.add(made(TAIL * FAN - 1), PLAN)
    assert len((await world.record()).parts) == FAN
    state.dead = False
    record = await world.ledger().add(made(TAIL * FAN), PLAN)
    assert [part.rows for part in record.parts] == [TAIL * FAN]
    assert await world.keys() == names(*range(TAIL * FAN + 1))


async def test_a_part_that_was_tampered_with_is_told_and_never_counted(world: World) -> None:
    for number in range(TAIL):
        await world.ledger().add(made(number), PLAN)
    (part,) = (await world.record()).parts
    await world.objects.put("results", part.ref.uri.partition("/")[2], b"forged", part.ref.media_type)
    with pytest.raises(FiretrialError) as error:
        await world.keys()
    assert error.value.reason is Reason.CORRUPT


async def test_records_are_made_anew_from_the_analyses() -> None:
    bench = Bench()
    plan = Plan(9, sample.AGENTS, 3, "m")
    for item in sample.runs():
        await bench.reports.add(item, plan)
    before = await bench.records.get(sample.EXPERIMENT)
    bench.state = InMemoryState()
    bench.start()
    assert await bench.reports.rebuild() == [sample.EXPERIMENT]
    after = await bench.records.get(sample.EXPERIMENT)
    assert (after.ended, after.inputs, after.rows) == (before.ended, before.inputs, before.rows)
    assert (after.plan, after.tail) == (plan, ())
    old = await bench.objects.get(before.formats["json"].uri)
    assert await bench.reports.rendered(sample.EXPERIMENT, Format.JSON) == old


async def test_rebuilding_keeps_the_rows_that_came_meanwhile(world: World) -> None:
    await world.ledger().add(made(1), PLAN)
    record = await world.ledger().rebuild(sample.EXPERIMENT, [made(0)])
    assert (record.ended, record.plan) == (2, PLAN)
    assert await world.keys() == names(0, 1)
    await world.ledger().add(made(1), PLAN)
    assert await world.record() == record


async def test_an_experiment_whose_plan_was_never_told_is_rebuilt_without_one(world: World) -> None:
    record = await world.ledger().rebuild(sample.EXPERIMENT, [made(0)])
    assert (record.plan, record.all_ended) == (NO_PLAN, False)


async def test_the_latest_judgement_counts_in_whatever_order_they_come() -> None:
    """An older judgement that is told late does not come before the one that replaced it."""
    item = sample.runs()[0]
    assert item.judgement
    old = replace(item, judgement=replace(item.judgement, judged_at=sample.START))
    later = replace(item.judgement, judged_at=sample.START + timedelta(days=1))
    new = replace(old, run=replace(old.run, f1=0.25), judgement_id="j-later", judgement=later)
    for order in ((old, new), (new, old)):
        bench = Bench()
        for told in order:
            await bench.reports.add(told, Plan(2, sample.AGENTS[:1], 2, ""))
        report = await bench.reports.report(sample.EXPERIMENT)
        assert report.agents[0].score.f1.mean == 0.25
        assert report.ended_runs == 1
