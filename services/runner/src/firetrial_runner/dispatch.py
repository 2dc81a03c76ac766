"""The life of runs: who takes one, who gives it up, what follows it. Every change is a compare-and-set."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import structlog

from firetrial_kit import tenants, trace
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import Objects
from firetrial_runner import keys
from firetrial_runner import run as runs
from firetrial_runner.announce import Announcer
from firetrial_runner.execution import patiently
from firetrial_runner.gateway.account import month
from firetrial_runner.gating import gate
from firetrial_runner.gating.gatekeeper import Gatekeeper
from firetrial_runner.gpus.gpus import Gpus
from firetrial_runner.gpus.offers import Offers
from firetrial_runner.grip import Grip
from firetrial_runner.metrics import RunnerMetrics
from firetrial_runner.pilots.stay import Stay
from firetrial_runner.quotas.keeping import QuotaKeeper
from firetrial_runner.records import Books, RunRecord
from firetrial_runner.run import End, LeaseLostError, Outcome, Run, RunState, Yield
from firetrial_runner.sandbox.port import Termination
from firetrial_runner.turn_taking import TurnTaking
from firetrial_runner.wire import cost_cap, result_to_domain, result_to_json

_IN_USE_S, _LACKING_S = 5.0, 15.0
"""Seconds after which a run that waits for GPUs is looked at again: some are in use, or nobody has them. Or
nobody has the time."""
_TURN_S = 2.0
"""Seconds after which a run is looked at again whose tenant has as many as it may."""
_ASSESSED_S = 2.0
"""Seconds after which a run is looked at again whose proposal is not assessed yet."""
_ELSEWHERE_S = 2.0
"""Seconds after which a run is looked at again, by another, that a runner has not enough time for."""
_CANCELLED_S = 1.0
"""Seconds that a cancelled attempt has to end with what it has; it is cut off then, wherever it is."""
Attempt = Callable[[Run, Grip], Awaitable[Yield]]


class WaitsError(FiretrialError):
    """A run stays in its pool, for want of what this runner cannot give it now."""

    def __init__(self, run: Run, what: str, retry_after: float) -> None:
        super().__init__(Reason.UNAVAILABLE, f"run {run.id} waits for {what}", retry_after=retry_after)


@dataclass(frozen=True, slots=True)
class Dispatch:
    """`holder` is this runner, whose leases last `ttl_s`; `attempt` runs an agent to its end, on `gpus`."""

    books: Books
    objects: Objects
    announce: Announcer
    clock: Clock
    metrics: RunnerMetrics
    log: structlog.typing.FilteringBoundLogger
    holder: str
    ttl_s: float
    attempt: Attempt
    gpus: Gpus
    stay: Stay

    @property
    def turns(self) -> TurnTaking:
        """Which runs of an experiment may go."""
        return TurnTaking(self.books, self.announce)

    @property
    def quotas(self) -> QuotaKeeper:
        """What the runs of a tenant may use."""
        return QuotaKeeper(self.books, self.clock, self.metrics.quota_refused, self.announce.again)

    async def take(self, record: RunRecord) -> None:
        """Run it, or finish what another left of it, or say again what came of it.

        Raises UNAVAILABLE while another is running it, and WaitsError where it cannot be run here now.
        """
        run = record.run
        if run.is_over:
            await self.tell(record)
        elif run.state is RunState.RUNNING:
            if await self.recover(run.id, "its runner stopped") is None:
                raise self._busy(run)
        else:
            await self._admit(record)

    async def request(self, run: Run, slip: str) -> None:
        """Queue a run, unless it is there, and announce it, unless it is to wait for its turn."""
        record = RunRecord(run, slip, trace.current())
        held = await self.turns.hold(record)
        record = replace(record, run=replace(run, waiting_for=held))
        if not await self.books.runs.create(run.id, record):
            record = await self.books.runs.get(run.id)
        if not held:
            await self.announce.requested(record)

    async def cancel(self, run_id: str) -> RunRecord:
        """A queued run ends at once, a running one soon. Raises NOT_FOUND."""
        now = self.clock.now()
        record = await self.books.change_run(run_id, lambda run: runs.cancelled(run, now))
        if record.run.outcome is Outcome.CANCELLED:
            await self.tell(record)
        return record

    async def give_up(self, run_id: str, reason: str) -> None:
        """A run that cannot be had ends as INFRA_FAILED. Raises UNAVAILABLE while someone is running it."""
        now = self.clock.now()

        def change(run: Run) -> Run | None:
            queued = run.state is RunState.QUEUED
            return runs.failed(run, now, Outcome.INFRA_FAILED, reason) if queued else None

        record = await self.books.change_run(run_id, change)
        if record.run.state is not RunState.RUNNING:
            await self.tell(record)
        elif await self.recover(run_id, reason) is None:
            raise self._busy(record.run)

    async def recover(self, run_id: str, why: str, dead: str = "") -> RunRecord | None:
        """Bring a run to its end whose runner is gone; None while that cannot be said.

        Its lease has run out, or `dead` names the holder, who is known to be gone. What it had finished and
        stored is taken over; anything else is lost, and another attempt follows.
        """
        record = await self.books.runs.get(run_id)
        result = await self._result(record)
        now = self.clock.now()

        def change(run: Run) -> Run | None:
            if dead and run.lease and run.lease.holder == dead:
                run = replace(run, lease=None)
            gone = runs.lost(run, now, why)
            if gone is None or result is None:
                return gone
            return runs.merged(run, result)

        record = await self.books.change_run(run_id, change)
        if record.run.state is RunState.RUNNING:
            return None
        self.log.warning("recovered", run=run_id, state=record.run.state, outcome=record.run.outcome)
        await self.tell(record)
        return record

    async def tell(self, record: RunRecord) -> None:
        """Say what came of a run, and ask for the next attempt where one follows."""
        await self._write_off(record)
        if record.run.superseded:
            after = runs.next_attempt(record.run, self.clock.now())
            with trace.resumed(record.traceparent):
                await self.request(after, record.slip)
            await self.turns.hand_on(record, after.id)
            if await self._called_off(after):
                await self.cancel(after.id)
        else:
            await self.turns.end(record)
        await self.quotas.release(record.run.id)
        await self.announce.finished(record)

    async def _write_off(self, record: RunRecord) -> None:
        """Money that a dead runner had set aside for the run's calls is spent, for all that is known."""
        run = record.run
        capped = [run.experiment_id] if cost_cap(record.slip) is not None else []
        if self.books.quotas(tenants.of(run.id)).usd_per_month is not None:
            capped.append(month(run.id, self.clock.now()))
        for id_ in capped:
            if await self.books.accounts.find(id_) is not None:
                await self.books.accounts.change(id_, lambda account: account.written_off(run.id))

    async def _called_off(self, run: Run) -> bool:
        """Whether its experiment was cancelled, perhaps before there was this run to cancel."""
        experiment = await self.books.experiments.find(run.experiment_id)
        return experiment is not None and experiment.cancel_requested

    async def _result(self, record: RunRecord) -> Run | None:
        """What its runner had stored of the end of this run, if it came so far."""
        try:
            stored = await self.objects.get(keys.uri(keys.of_run(record.run.id, "result.json")))
            return result_to_domain(stored, record)
        except FiretrialError as error:
            if error.reason not in {Reason.NOT_FOUND, Reason.CORRUPT}:
                raise
        return None

    async def _admit(self, record: RunRecord) -> None:
        """Run it, once its proposal has passed the plan's gate; one that does not ends it unstarted."""
        ruling, now = await Gatekeeper(self.books, self.objects).ruling(record), self.clock.now()
        if ruling.waits_for:
            await self.books.change_run(record.run.id, lambda run: runs.waits(run, ruling.waits_for))
            raise WaitsError(record.run, ruling.waits_for, _ASSESSED_S)
        if ruling.outcome is None:
            await self._equip(record.run)
            return
        ended = await self.books.change_run(record.run.id, lambda run: gate.ended(run, now, ruling))
        if ended.run.is_over:
            await self.tell(ended)

    async def _equip(self, run: Run) -> None:
        """Give it the GPUs that it asks for, until it is over. One that cannot end here is left to others."""
        if not self.stay.lasts(run.limits.wall_s):
            what, had = self.stay.lacks(run.limits.wall_s)
            await self.books.change_run(run.id, lambda run: runs.waits(run, what))
            raise WaitsError(run, what, _ELSEWHERE_S if had else _LACKING_S)
        if not self.gpus.take(run.id, run.limits.gpus):
            raise await self._waits(run)
        try:
            if turn := await self.quotas.take(run):
                await self.books.change_run(run.id, lambda run: runs.waits(run, turn))
                if await self.quotas.hold(run):
                    return
                raise WaitsError(run, turn, _TURN_S)
            with self.stay.busy():
                await self._conduct(run.id)
        finally:
            self.gpus.release(run.id)
            await asyncio.shield(self.quotas.release(run.id))

    async def _waits(self, run: Run) -> WaitsError:
        """Say of a run what it waits for, as far as the runners of its pool have told what they have."""
        mine, now = self.gpus.devices, self.clock.now()
        await self.books.offers.create(run.pool, Offers())
        offers = await self.books.offers.change(run.pool, lambda offers: offers.with_mine(mine, now))
        what, had = offers.waiting_for(run.limits.gpus, run.pool)
        await self.books.change_run(run.id, lambda run: runs.waits(run, what))
        return WaitsError(run, what, _IN_USE_S if had else _LACKING_S)

    async def _conduct(self, run_id: str) -> None:
        record = await self._claim(run_id)
        run, now = record.run, self.clock.now()
        log = self.log.bind(run=run_id, task=run.task_id, agent=run.agent_id, attempt=run.attempt)
        log.info("run started")
        with self.metrics.busy(run, now):
            await self.announce.started(record)
            try:
                record = await self._see_through(run)
            except LeaseLostError:
                log.warning("lease lost")
                raise self._busy(run) from None
            except asyncio.CancelledError:
                log.warning("run given back")
                await asyncio.shield(self._release(run_id))
                raise
        log.info("run over", outcome=record.run.outcome or "concluded", reason=record.run.reason)
        self.metrics.over(record.run)
        await self.tell(record)

    async def _claim(self, run_id: str) -> RunRecord:
        """Take a queued run. Raises UNAVAILABLE where another was faster, if only another message to us."""
        now, mine = self.clock.now(), False

        def claim(run: Run) -> Run | None:
            nonlocal mine
            taken = runs.claimed(run, self.holder, now, self.ttl_s)
            mine = taken is not None
            return taken

        record = await self.books.change_run(run_id, claim)
        if not mine:
            raise self._busy(record.run)
        return record

    async def _see_through(self, run: Run) -> RunRecord:
        """Run the attempt while the lease is kept. Raises LeaseLostError."""
        assert run.lease is not None  # noqa: S101 -- it was claimed
        grip = Grip(run.lease.expires_at, self.clock, waits=partial(self._delayed, run.id))
        work = asyncio.create_task(self._carry_out(run, grip))
        keepers = [
            asyncio.create_task(self._renew(run.id, grip)),
            asyncio.create_task(self._watch(run.id, grip.cancelled)),
        ]
        try:
            await asyncio.wait([work, *keepers], return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                for keeper in keepers:
                    if keeper.done():
                        keeper.result()
            result = await work
        finally:
            for task in (work, *keepers):
                task.cancel()
            # The sandbox is gone when this returns.
            await asyncio.gather(work, *keepers, return_exceptions=True)
        return await patiently(lambda: self._finish(run.id, result))

    async def _carry_out(self, run: Run, grip: Grip) -> Run:
        """The run as it ended, stored so that nobody has to do it again.

        One that is cancelled is cut off where it does not come to its end soon, and what it has is lost.
        """
        try:
            async with grip.letting_go_within(_CANCELLED_S):
                result = runs.over(run, await self._outcome(run, grip), self.clock.now())
                await self._store(result)
                return result
        except TimeoutError:
            if not grip.cancelled.is_set():
                raise
            return runs.over(run, _nothing(Termination.CANCELLED, "cut off"), self.clock.now())

    async def _store(self, result: Run) -> None:
        key, stored = keys.of_run(result.id, "result.json"), result_to_json(result)
        await patiently(lambda: self.objects.put(keys.BUCKET, key, stored, "application/json"))

    async def _outcome(self, run: Run, grip: Grip) -> Yield:
        try:
            return await self.attempt(run, grip)
        except (FiretrialError, TimeoutError, OSError) as error:
            told = str(error) or "the sandbox did not end in time"
            if grip.cancelled.is_set():
                return _nothing(Termination.CANCELLED, told)
            final = isinstance(error, FiretrialError) and not error.retryable
            self.log.warning("infrastructure failed", run=run.id, error=told, final=final)
            return _nothing(Termination.LOST, told, final=final)

    async def _finish(self, run_id: str, result: Run) -> RunRecord:
        """The object is there: now the state. The caller sends the event."""
        return await self.books.change_run(run_id, lambda run: runs.finished(run, result, self.holder))

    async def _renew(self, run_id: str, grip: Grip) -> None:
        """Keep the lease; raises LeaseLostError once it is another's or could not be kept in time."""
        kept = self.clock.monotonic()
        while True:
            await asyncio.sleep(self.ttl_s / 3)
            try:
                record = await self.books.change_run(
                    run_id, lambda run: runs.renewed(run, self.holder, self.clock.now(), self.ttl_s)
                )
            except FiretrialError as error:
                if not error.retryable or self.clock.monotonic() - kept > self.ttl_s:
                    raise LeaseLostError(run_id) from error
                continue
            kept = self.clock.monotonic()
            assert record.run.lease is not None  # noqa: S101 -- renewed
            grip.until = record.run.lease.expires_at
            if record.run.cancel_requested:
                grip.cancelled.set()

    async def _delayed(self, run_id: str, what: str) -> None:
        """Say what the run waits for; one that cannot be told so now goes on all the same."""
        with suppress(FiretrialError):
            await self.books.change_run(run_id, lambda run: runs.delayed(run, self.holder, what))

    async def _watch(self, run_id: str, cancelled: asyncio.Event) -> None:
        """See a cancellation as it comes. The renewal sees it too, later, should this break off."""
        while not cancelled.is_set():
            with suppress(FiretrialError):
                async for record in self.books.runs.watch(run_id):
                    if record.run.cancel_requested:
                        cancelled.set()
                        break
            await asyncio.sleep(1)
        await asyncio.Event().wait()

    async def _release(self, run_id: str) -> None:
        now = self.clock.now()
        with suppress(FiretrialError):
            await self.books.change_run(run_id, lambda run: runs.released(run, self.holder, now))

    def _busy(self, run: Run) -> FiretrialError:
        left = (run.lease.expires_at - self.clock.now()).total_seconds() if run.lease else 0.0
        return FiretrialError(
            Reason.UNAVAILABLE, f"run {run.id} is in other hands", retry_after=max(0.5, left + 0.5)
        )


def _nothing(termination: Termination, detail: str, *, final: bool = False) -> Yield:
    """What comes of a run that nothing came of."""
    return Yield(End(termination, detail=detail), None, None, "", None, 0, final)
