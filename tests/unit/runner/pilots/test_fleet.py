"""Rounds of those that see to a pool's pilots."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
import structlog
from prometheus_client import CollectorRegistry

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.records import Records
from firetrial_kit.testing import InMemoryState, ManualClock
from firetrial_runner.pilots.berth import is_taken
from firetrial_runner.pilots.course import Aim
from firetrial_runner.pilots.fleet import Fleet, HeldError
from firetrial_runner.pilots.ledger import HELD_S, Ledger
from firetrial_runner.pilots.pilot_metrics import PilotMetrics
from firetrial_runner.pilots.starting import Pilot
from firetrial_runner.schedulers import JobSpec, JobState, SchedulerError
from firetrial_runner.schedulers.fake import FakeScheduler

TTL_S = 30.0


@dataclass(slots=True)
class Backlog:
    """So much work."""

    work: int = 0

    async def count(self, pool: str) -> int:
        assert pool == "gpu"
        return self.work


@dataclass(slots=True)
class Site:
    """What outlives a process that sees to pilots."""

    clock: ManualClock = field(default_factory=ManualClock)
    state: InMemoryState = field(default_factory=InMemoryState)
    scheduler: FakeScheduler = field(default_factory=FakeScheduler)
    backlog: Backlog = field(default_factory=Backlog)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    dead: set[str] = field(default_factory=set)

    def fleet(self, holder: str = "one", most: int = 3) -> Fleet:
        aim, self.registry = Aim(most), CollectorRegistry()
        return Fleet(
            pool="gpu",
            aim=aim,
            scheduler=self.scheduler,
            work=self.backlog,
            ledgers=self.ledgers,
            spec=Pilot("gpu", "fake", slots=1, idle_s=60, wall_s=600, folder=Path("/")).job,
            clock=self.clock,
            metrics=PilotMetrics(self.registry, "gpu", "fake", aim),
            log=structlog.get_logger(),
            site="abc123",
            holder=holder,
            ttl_s=TTL_S,
            gone=self.dead.__contains__,
        )

    @property
    def ledgers(self) -> Records[Ledger]:
        return Records(self.state, "pilots", Ledger)

    def metric(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, {"pool": "gpu", "scheduler": "fake", **labels})


@pytest.fixture
def site() -> Site:
    return Site()


async def test_from_none_to_the_maximum_and_back(site: Site) -> None:
    fleet = site.fleet()
    assert (await fleet.go_round()).submitted == ()
    site.backlog.work = 12
    assert len((await fleet.go_round()).submitted) == 3
    assert (await fleet.go_round()).submitted == ()
    site.scheduler.put("1", JobState.ACTIVE)
    site.backlog.work = 1
    assert set((await fleet.go_round()).cancelled) == {"2", "3"}
    assert [job.id for job in site.scheduler.living()] == ["1"]
    assert site.metric("firetrial_pilots", state="active") == 1
    assert site.metric("firetrial_pilots_wanted") == 1
    assert site.metric("firetrial_pilot_submissions_total", result="taken") == 3
    await fleet.go_round()
    assert site.metric("firetrial_pilot_ended_total", state="cancelled") == 2


async def test_a_look_asks_the_scheduler_once(site: Site) -> None:
    site.backlog.work = 3
    await site.fleet().go_round()
    assert site.scheduler.asked == 1


async def test_the_next_process_finds_the_jobs_of_the_one_before(site: Site) -> None:
    site.backlog.work = 12
    await site.fleet("one").go_round()
    site.dead.add("one")
    found = await site.fleet("two").go_round()
    assert (found.submitted, len(found.course.queued)) == ((), 3)
    assert len(site.scheduler.living()) == 3


async def test_of_two_the_second_waits_until_the_first_is_gone(site: Site) -> None:
    first, second = site.fleet("one"), site.fleet("two")
    await first.go_round()
    with pytest.raises(HeldError, match="one"):
        await second.go_round()
    site.clock.advance(TTL_S + 1)
    await second.go_round()
    with pytest.raises(HeldError, match="two"):
        await first.go_round()
    await second.leave()
    await first.go_round()


class _Slow(FakeScheduler):
    """While it takes a job, so much time goes by that another may see to the pool, and does."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.site, self.other, self._begun = site, site.fleet("two"), False

    async def submit(self, spec: JobSpec) -> str:
        if not self._begun:
            self._begun = True
            self.site.clock.advance(TTL_S + 1)
            self.other.scheduler = self.site.scheduler
            await self.other.go_round()
        return await super().submit(spec)


async def test_one_that_lost_the_pool_while_it_submits_submits_nothing_more(site: Site) -> None:
    site.scheduler = slow = _Slow(site)
    site.backlog.work = 12
    with pytest.raises(HeldError, match="two"):
        await site.fleet("one").go_round()
    await slow.other.go_round()
    assert sorted(job.name[-1] for job in slow.living()) == ["1", "2", "3"]


class _Frozen(FakeScheduler):
    """Stopped before it submits, for so long that another takes the pool and submits under the same name."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.site, self.other, self._begun = site, site.fleet("two", most=1), False

    async def submit(self, spec: JobSpec) -> str:
        if not self._begun:
            self._begun = True
            self.site.clock.advance(HELD_S + 1)
            self.other.scheduler = self
            assert len((await self.other.go_round()).submitted) == 1
        return await super().submit(spec)


async def test_the_job_of_one_that_was_frozen_while_it_submits_leaves(site: Site) -> None:
    site.scheduler = frozen = _Frozen(site)
    site.backlog.work = 1
    with pytest.raises(HeldError):
        await site.fleet("one", most=1).go_round()
    for id_ in frozen.specs:
        frozen.put(id_, JobState.ACTIVE)
    assert len(frozen.living()) == 2  # as PBS, LSF and Flux would have it
    assert [await is_taken(site.state, spec.env) for spec in frozen.specs.values()] == [False, True]


async def test_a_job_that_nothing_is_known_of_has_its_berth(site: Site) -> None:
    for told in ({}, {"FIRETRIAL_RUNNER_POOL": "gpu", "FIRETRIAL_RUNNER_BERTH": "ft-gpu-abc123-1/1"}):
        assert not await is_taken(site.state, told)
    await site.fleet().go_round()
    assert not await is_taken(site.state, told)


async def test_a_submission_of_unknown_end_is_not_made_again_before_it_is_clear(site: Site) -> None:
    fleet = site.fleet(most=1)
    site.backlog.work = 1
    site.scheduler.trouble = SchedulerError("timed out", refused=False)
    site.scheduler.taken_all_the_same = True
    assert (await fleet.go_round()).trouble == "timed out"
    site.clock.advance(20)
    assert (await fleet.go_round()).submitted == ()
    assert len(site.scheduler.living()) == 1
    assert (await site.ledgers.get("gpu")).intended == {}


async def test_one_that_was_not_taken_is_submitted_again_later(site: Site) -> None:
    fleet = site.fleet(most=1)
    site.backlog.work = 1
    site.scheduler.trouble = SchedulerError("timed out", refused=False)
    await fleet.go_round()
    site.clock.advance(60)
    assert (await fleet.go_round()).submitted == ()
    site.clock.advance(HELD_S)
    assert len((await fleet.go_round()).submitted) == 1


async def test_refusals_make_it_wait_longer_and_longer(site: Site) -> None:
    fleet = site.fleet(most=1)
    site.backlog.work = 1
    pauses = []
    for _ in range(4):
        site.scheduler.trouble = SchedulerError("no such partition", refused=True)
        pauses.append((await fleet.go_round()).pause_s)
        assert (await fleet.go_round()).trouble == ""  # it waits
        site.clock.advance(pauses[-1])
    assert pauses == [5, 10, 30, 60]
    assert len((await fleet.go_round()).submitted) == 1
    assert site.metric("firetrial_pilot_submissions_total", result="refused") == 4


@pytest.mark.parametrize("state", [JobState.FAILED, JobState.DONE])
async def test_pilots_of_no_use_make_it_wait_until_work_gets_less(site: Site, state: JobState) -> None:
    fleet = site.fleet(most=1)
    site.backlog.work = 2
    for number, pause in enumerate((5, 10), 1):
        assert len((await fleet.go_round()).submitted) == 1
        site.scheduler.put(str(number), state)
        assert (await fleet.go_round()).pause_s == pause
        site.clock.advance(pause)
    site.backlog.work = 1
    assert len((await fleet.go_round()).submitted) == 1
    site.scheduler.put("3", state)
    assert (await fleet.go_round()).pause_s == 5


@pytest.mark.parametrize(
    "state", [JobState.PREEMPTED, JobState.CANCELLED, JobState.NODE_FAIL, JobState.TIMEOUT]
)
async def test_what_the_site_does_to_pilots_is_not_held_against_them(site: Site, state: JobState) -> None:
    fleet = site.fleet(most=1)
    site.backlog.work = 2
    await fleet.go_round()
    site.scheduler.put("1", state)
    assert len((await fleet.go_round()).submitted) == 1


async def test_a_fault_of_a_job_is_told_and_nothing_is_intended(site: Site) -> None:
    fleet = site.fleet(most=1)
    fleet.spec = lambda name, _: JobSpec(name, ("true",), Path("/"), 60)
    site.backlog.work = 1
    assert "absolute" in (await fleet.go_round()).trouble
    assert (await site.ledgers.get("gpu")).intended == {}


async def test_a_broker_that_is_away_breaks_the_round_off(site: Site) -> None:
    @dataclass
    class Away:
        async def count(self, pool: str) -> int:
            raise FiretrialError(Reason.UNAVAILABLE, "away")

    fleet = site.fleet()
    fleet.work = Away()
    with pytest.raises(FiretrialError, match="away"):
        await fleet.go_round()
