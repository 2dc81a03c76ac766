"""The lines of tenants' runs that found no place: who joins, who may go, who is put back into its pool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from firetrial_kit import tenants
from firetrial_runner import run as runs
from firetrial_runner.quotas.line import Line, Stage
from firetrial_runner.records import Books, RunRecord
from firetrial_runner.run import Run, RunState


@dataclass(frozen=True, slots=True)
class Waiting:
    """`again` puts a run's work back into its pool."""

    books: Books
    again: Callable[[RunRecord], Awaitable[None]]

    async def join(self, tenant: str, run: Run) -> bool:
        """Whether the run stands in the line from now on; False where that is too long."""
        await self.books.lines.create(_id(tenant), Line())
        gpus = run.limits.gpus.count
        line = await self._change(tenant, lambda line: line.holding(run.id, run.pool, gpus))
        return run.id in line.held

    async def leave(self, tenant: str, run_ids: Collection[str]) -> None:
        """These runs wait no more."""
        line = await self.books.lines.find(_id(tenant))
        if line is not None and not line.held.keys().isdisjoint(run_ids):
            await self._change(tenant, lambda line: line.without(run_ids))

    async def let_go(self, tenant: str, free: tuple[float, float]) -> None:
        """Put back into their pools those that may go, with so many (runs, GPUs) free."""
        mine: set[str] = set()

        def go(line: Line) -> Line | None:
            after = line.letting_go(free)
            mine.clear()
            mine.update({*after.at(Stage.MAY_GO)} - {*line.at(Stage.MAY_GO)} if after else ())
            return after

        if await self.books.lines.find(_id(tenant)) is None:
            return
        more = True
        while more:  # others may go in the place of such as wait no more
            await self._change(tenant, go)
            more = await self._put_back(tenant, tuple(mine))

    async def mend(self, tenant: str) -> None:
        """Put back those that were let go and are not back, and take out those that wait no more."""
        line = await self.books.lines.find(_id(tenant)) or Line()
        await self._put_back(tenant, line.at(Stage.MAY_GO))
        await self._take_out(tenant, line.at(Stage.BACK))

    async def _put_back(self, tenant: str, run_ids: tuple[str, ...]) -> bool:
        """Whether one of them waited no more."""
        for record in await self.books.find_runs(run_ids):
            told = await self.books.change_run(record.run.id, lambda run: runs.waits(run, ""))
            if told.run.state is RunState.QUEUED:
                await self.again(told)
        if run_ids:
            await self._change(tenant, lambda line: line.back(run_ids))
        return await self._take_out(tenant, run_ids)

    async def _take_out(self, tenant: str, run_ids: tuple[str, ...]) -> bool:
        """Those of them that wait no more; whether there are such."""
        found = await self.books.find_runs(run_ids)
        gone = {*run_ids} - {record.run.id for record in found if record.run.state is RunState.QUEUED}
        await self.leave(tenant, gone)
        return bool(gone)

    async def _change(self, tenant: str, change: Callable[[Line], Line | None]) -> Line:
        return await self.books.lines.change(_id(tenant), change)


def _id(tenant: str) -> str:
    return f"{tenants.tag(tenant)}line"
