"""The quotas of tenants, kept: when runs are asked for, when one is to start, and when it asks a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from firetrial_kit import tenants
from firetrial_kit.clock import Clock
from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.ids import digest
from firetrial_kit.tokens import Quotas
from firetrial_runner.experiment import Plan
from firetrial_runner.gateway.account import Account, month
from firetrial_runner.quotas.use import OverQuotaError, Use
from firetrial_runner.quotas.waiting import Waiting
from firetrial_runner.records import Books, RunRecord
from firetrial_runner.run import Run, RunState

_YOUNG_S = 60.0
"""Seconds in which a run that has a place must have begun, or the place is another's."""
_CURES = {
    "runs_at_once": "must be 1 or more for a run to start",
    "runs_per_day": "leaves room for fewer: ask for fewer, or again after midnight (UTC)",
    "gpus_at_once": "must cover the GPUs of one run",
    "usd_per_month": "is used up: ask again next month (UTC), or for a model that costs nothing",
}


@dataclass(frozen=True, slots=True)
class QuotaKeeper:
    """`refused` is told of (tenant, quota) whenever one had no room; `again` puts a run back into its pool.

    What waits for a place stands outside of its pool, in nobody's way, and is not taken for work that more
    runners could do. Whoever gives up a place lets others go.
    """

    books: Books
    clock: Clock
    refused: Callable[[str, str], None]
    again: Callable[[RunRecord], Awaitable[None]]

    @property
    def waiting(self) -> Waiting:
        """Those that found no place."""
        return Waiting(self.books, self.again)

    async def ask(self, experiment_id: str, tasks: tuple[str, ...], plan: Plan) -> None:
        """Count the runs of these tasks as asked for today; the same again counts once.

        Raises PRECONDITION, with every quota that leaves no room.
        """
        tenant, quotas = self._of(experiment_id)
        if quotas == Quotas():
            return
        count = len(tasks) * len(plan.agents) * plan.repeats
        over = [*self._never(plan, quotas), *await self._spent(experiment_id, plan, quotas)]
        if not over and quotas.runs_per_day is not None:
            what, now = digest(experiment_id, sorted(tasks), length=12), self.clock.now()
            most = quotas.runs_per_day
            try:
                await self._change(tenant, lambda use: use.asking(what, count, now, most))
            except OverQuotaError as error:
                over.append(error)
        if over:
            raise self._told(tenant, over)

    async def take(self, run: Run) -> str:
        """Give a run a place among those of its tenant; what it waits for where there is none, else ""."""
        tenant, quotas = self._of(run.id)
        if not _bounded(quotas):
            return ""
        try:
            try:
                await self._place(tenant, run, quotas)
            except OverQuotaError:
                await self._free(tenant)
                await self._place(tenant, run, quotas)
        except OverQuotaError as over:
            self.refused(tenant, over.quota)
            return over.waits
        await self.waiting.leave(tenant, [run.id])
        return ""

    async def hold(self, run: Run) -> bool:
        """Let a run that found no place wait outside of its pool; False where it must wait in it."""
        tenant, quotas = self._of(run.id)
        held = await self.waiting.join(tenant, run)
        await self._let_go(tenant, quotas)  # a place may have become free meanwhile
        return held

    async def release(self, run_id: str) -> None:
        """Give up a run's place, unless it runs, perhaps elsewhere; others may go."""
        tenant, quotas = self._of(run_id)
        if not _bounded(quotas):
            return
        record = await self.books.runs.find(run_id)
        if record is not None and record.run.state is RunState.RUNNING:
            return
        await self._change(tenant, lambda use: use.without([run_id]))
        if record is None or record.run.is_over:
            await self.waiting.leave(tenant, [run_id])
        await self._let_go(tenant, quotas)

    async def sweep(self) -> None:
        """Do what was left undone: take back the places of runs that are over, and let others go."""
        for id_ in await self.books.lines.ids():
            tenant, quotas = self._of(id_)
            await self._free(tenant)
            await self.waiting.mend(tenant)
            await self._let_go(tenant, quotas)

    async def _let_go(self, tenant: str, quotas: Quotas) -> None:
        use = await self.books.uses.find(_id(tenant)) or Use()
        await self.waiting.let_go(tenant, use.free(quotas))

    def _of(self, id_: str) -> tuple[str, Quotas]:
        tenant = tenants.of(id_)
        return tenant, self.books.quotas(tenant)

    async def _place(self, tenant: str, run: Run, quotas: Quotas) -> None:
        now = self.clock.now()
        await self._change(tenant, lambda use: use.placing(run.id, run.limits.gpus.count, now, quotas))

    async def _free(self, tenant: str) -> None:
        """Take back the places of runs that run no more: their runners died before they gave them back."""
        use, now = await self._change(tenant, lambda _: None), self.clock.now()
        ages = {id_: abs((now - place.since).total_seconds()) for id_, place in use.places.items()}
        old = [id_ for id_, age_s in ages.items() if age_s > _YOUNG_S]
        found = await self.books.find_runs(old)
        running = {record.run.id for record in found if record.run.state is RunState.RUNNING}
        await self._change(tenant, lambda use: use.without(id_ for id_ in old if id_ not in running))

    async def _change(self, tenant: str, change: Callable[[Use], Use | None]) -> Use:
        await self.books.uses.create(_id(tenant), Use())
        return await self.books.uses.change(_id(tenant), change)

    def _never(self, plan: Plan, quotas: Quotas) -> Iterator[OverQuotaError]:
        """Quotas that no run of the plan will ever fit into."""
        if quotas.runs_at_once == 0:
            yield OverQuotaError("runs_at_once", 0, 0, 1)
        if quotas.gpus_at_once is not None and plan.limits.gpus.count > quotas.gpus_at_once:
            yield OverQuotaError("gpus_at_once", quotas.gpus_at_once, 0, plan.limits.gpus.count)

    async def _spent(self, id_: str, plan: Plan, quotas: Quotas) -> list[OverQuotaError]:
        """The month's USD, where nothing of them is left for the model that the plan names."""
        most = quotas.usd_per_month
        if most is None or not plan.model:
            return []
        account = await self.books.accounts.find(month(id_, self.clock.now())) or Account()
        return [OverQuotaError("usd_per_month", most, account.spent, 0)] if account.spent >= most else []

    def _told(self, tenant: str, over: list[OverQuotaError]) -> FiretrialError:
        faults = []
        for each in over:
            self.refused(tenant, each.quota)
            value = f"{each.most:g}, of which {each.used:g} are used; {each.asked:g} asked for"
            faults.append(Fault(f"quotas.{each.quota}", value, _CURES[each.quota]))
        told = "; ".join(map(str, faults))
        return FiretrialError(
            Reason.PRECONDITION, f"the tenant {tenant} has no room for that: {told}", faults=faults
        )


def _id(tenant: str) -> str:
    return f"{tenants.tag(tenant)}use"


def _bounded(quotas: Quotas) -> bool:
    """Whether runs need places."""
    return quotas.runs_at_once is not None or quotas.gpus_at_once is not None
