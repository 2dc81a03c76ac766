"""Removes what dead runners left, and brings their runs to an end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from firetrial_kit.bus import Bus
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError
from firetrial_runner import census, forsaken_wire, unattended, workspace
from firetrial_runner.dispatch import Dispatch
from firetrial_runner.kinds import looks
from firetrial_runner.metrics import RunnerMetrics
from firetrial_runner.presence import Presence
from firetrial_runner.records import Books
from firetrial_runner.run import Run, RunState
from firetrial_runner.sandbox.port import Sandbox
from firetrial_runner.wire import cost_cap

_EVERY_S, _AGAIN_S = 60.0, 5.0
"""Seconds between sweeps, and after one that was broken off."""
_POOLS = 8
"""Pools that are cleared in one sweep, each for some seconds."""
_GRACE_S = 5.0
"""Seconds that a lease may be over before another runner acts on it: clocks differ."""


@dataclass(frozen=True, slots=True)
class Reaper:
    sandbox: Sandbox
    presence: Presence
    work_dir: Path
    books: Books
    dispatch: Dispatch
    clock: Clock
    metrics: RunnerMetrics
    log: structlog.typing.FilteringBoundLogger
    bus: Bus
    # Runs that need no further look: what has ended stays so.
    _over: set[str] = field(default_factory=set)
    # Pools in which runs may have ended with nobody there to settle their work, and looks to be taken there.
    _forsaken: dict[str, int] = field(default_factory=dict)
    # Looks whose records were removed.
    _looked: set[str] = field(default_factory=set)
    quiet_s: float = forsaken_wire.QUIET_S

    async def run(self) -> None:
        """Sweep now and every minute, until cancelled."""
        while True:
            pause = _EVERY_S
            try:
                await self.sweep()
            except (FiretrialError, OSError) as error:
                self.log.warning("sweep broken off", error=str(error))
                pause = _AGAIN_S
            await asyncio.sleep(pause)

    async def sweep(self) -> None:
        """What dead runners of this machine left; and runs whose runner, wherever it was, is gone."""
        left = await self.sandbox.leftovers()
        dead = {lease for lease in {item.lease for item in left} if self.presence.is_dead(lease)}
        dead |= set(await asyncio.to_thread(self.presence.dead))
        for item in await self.sandbox.reap(dead):
            self.metrics.reaped(item.what)
            self.log.warning("reaped", run=item.run_key, what=item.what)
        await self._count_sandboxes(dead)
        for lease in dead:
            await asyncio.to_thread(self._remove_folders, lease)
        going_on = await self._end_runs(dead)
        for lease in dead:
            self.presence.forget(lease)
        await self.dispatch.turns.sweep()
        await self.dispatch.quotas.sweep()
        await looks.forget(self.books, self.clock, self._looked)
        await self._clear_pools(going_on)

    def _remove_folders(self, lease: str) -> None:
        for folder in self.work_dir.glob(f"*.{lease}"):
            workspace.remove(folder)
            self.metrics.reaped("folder")

    async def _count_sandboxes(self, dead: set[str]) -> None:
        """By the runs that they are for: one may be several processes."""
        found = {(item.lease, item.run_key) for item in await self.sandbox.leftovers()}
        self.metrics.sandboxes(
            self.sandbox.name,
            alive=sum(lease == self.presence.lease for lease, _ in found),
            leaked=sum(lease in dead for lease, _ in found),
        )

    async def _end_runs(self, dead: set[str]) -> list[Run]:
        """Returns those that had not ended."""
        ids = [id_ for id_ in await self.books.runs.ids() if id_ not in self._over]
        records = await self.books.find_runs(ids)
        self._over.update(record.run.id for record in records if record.run.state is RunState.ENDED)
        left = (record.run.pool for record in records if forsaken_wire.leaves_work(record.run))
        self._forsaken.update(dict.fromkeys(left, forsaken_wire.LOOKS))
        going_on = [record for record in records if record.run.state is not RunState.ENDED]
        self.metrics.census.see(await census.take(self.books, going_on, cost_cap))
        open_runs = [record.run for record in going_on]
        await unattended.tell(self.books, self.clock, open_runs)
        for run in open_runs:
            if run.is_over or run.lease is None:
                continue
            if run.lease.holder in dead:
                await self.dispatch.recover(run.id, "its runner died", dead=run.lease.holder)
            elif (self.clock.now() - run.lease.expires_at).total_seconds() > _GRACE_S:
                await self.dispatch.recover(run.id, "its runner is gone")
        return open_runs

    async def _clear_pools(self, going_on: list[Run]) -> None:
        """Where a pool's runner is there, or is wanted, it settles such work itself."""
        wanted = {run.pool for run in going_on if not run.is_over}
        if idle := self._forsaken.keys() - wanted:
            idle -= await unattended.served(self.books, self.clock)
            await asyncio.gather(*map(self._clear, sorted(idle)[:_POOLS]))

    async def _clear(self, pool: str) -> None:
        if settled := await forsaken_wire.clear(self.bus, self.dispatch, pool, self.quiet_s):
            self.log.info("work of ended runs taken away", pool=pool, count=settled)
        self._forsaken[pool] -= 1
        if not self._forsaken[pool]:
            del self._forsaken[pool]
