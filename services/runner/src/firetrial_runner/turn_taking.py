"""How many runs of an experiment run at the same time: those that may are let go, the others wait their turn.

Work is put into a pool only for runs whose turn it is: what waits for its turn stands in nobody's way, and is
not taken for work that more runners could do. Slots get their turns in the experiment's order. Whatever a
crash leaves undone is done by the next `sweep`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from firetrial_kit import tenants
from firetrial_runner import run as runs
from firetrial_runner.announce import Announcer
from firetrial_runner.experiment import Experiment, Plan, first_run
from firetrial_runner.quotas.use import at_once
from firetrial_runner.records import Books, RunRecord
from firetrial_runner.turns import Turns
from firetrial_runner.wire import experiment_plan, slip_plan

_TURN = "its turn: at most {} runs of the experiment run at the same time"


@dataclass(frozen=True, slots=True)
class TurnTaking:
    books: Books
    announce: Announcer

    async def open(self, experiment: Experiment) -> None:
        """Let the experiment have turns, where its plan or its tenant's quotas bound its runs."""
        if self._most(experiment.id, experiment_plan(experiment))[0] is not None:
            await self.books.turns.create(experiment.id, Turns())

    async def hold(self, record: RunRecord) -> str:
        """What a new run waits for, where its experiment has turns; "" where it may go now."""
        id_ = record.run.experiment_id
        most, told = self._most(id_, slip_plan(record.slip))
        return told if most is not None and await self.books.turns.find(id_) is not None else ""

    async def fill(self, experiment_id: str) -> None:
        """Let go as many as may go; nothing where the experiment has no turns."""
        experiment = await self.books.experiments.find(experiment_id)
        if experiment is None:
            return
        await self.open(experiment)
        while await self.books.turns.find(experiment_id) is not None:
            while await self._let_one_go(experiment):
                pass
            if not await self._tell(experiment_id):
                return

    async def hand_on(self, before: RunRecord, after: str) -> None:
        """The next attempt has the turn of the one before."""
        experiment_id = before.run.experiment_id
        if await self.books.turns.find(experiment_id) is None:
            return
        await self.books.turns.change(experiment_id, lambda turns: turns.handed_on(before.run.id, after))
        await self._tell(experiment_id)

    async def end(self, record: RunRecord) -> None:
        """An agent's part is over: another run may go."""
        id_ = record.run.experiment_id
        bounded = self._most(id_, slip_plan(record.slip))[0] is not None
        turns = await self.books.turns.find(id_) if bounded else None
        if turns is not None and record.run.id in turns.going:
            await self._change(id_, Turns.ended, record.run.id)
            await self.fill(id_)

    async def sweep(self) -> None:
        """Free the turns of runs that have ended, and let others go."""
        for id_ in await self.books.turns.ids():
            await self._free(id_, (await self.books.turns.get(id_)).going)
            await self.fill(id_)

    def _most(self, id_: str, plan: Plan) -> tuple[int | None, str]:
        """(how many of an experiment's runs may have their turn, what others wait for); None for any.

        Its tenant's quota is one for all that the tenant has: no run goes that could not start by itself.
        """
        most, told = at_once(self.books.quotas(tenants.of(id_)), plan.limits.gpus.count)
        if plan.at_once and (most is None or plan.at_once <= most):
            return plan.at_once, _TURN.format(plan.at_once)
        return most, told

    async def _let_one_go(self, experiment: Experiment) -> bool:
        """Whether a slot got its turn, by us or another: there may be a next one."""
        turns, plan = await self.books.turns.get(experiment.id), experiment_plan(experiment)
        place, run_id = turns.passed, first_run(experiment, plan, turns.passed)
        most, _ = self._most(experiment.id, plan)
        if run_id is None or experiment.cancel_requested or await self.books.runs.find(run_id) is None:
            return False

        def change(turns: Turns) -> Turns | None:
            return turns.let_go(run_id, most) if turns.passed == place else None

        return (await self.books.turns.change(experiment.id, change)).passed > place

    async def _tell(self, experiment_id: str) -> bool:
        """Put into their pools the runs whose turn it is; whether some had ended, so that others may go."""
        untold = (await self.books.turns.get(experiment_id)).untold
        for run_id in untold:
            record = await self.books.change_run(run_id, lambda run: runs.waits(run, ""))
            await self.announce.requested(record)
            await self._change(experiment_id, Turns.told, run_id)
        return await self._free(experiment_id, untold)

    async def _free(self, experiment_id: str, ids: tuple[str, ...]) -> bool:
        """End the turns of those of these runs that are over; whether there are such."""
        found = [record.run for record in await self.books.find_runs(ids)]
        over = [run.id for run in found if run.is_over and not run.superseded]
        for run_id in over:
            await self._change(experiment_id, Turns.ended, run_id)
        return bool(over)

    async def _change(
        self, experiment_id: str, change: Callable[[Turns, str], Turns | None], run_id: str
    ) -> None:
        await self.books.turns.change(experiment_id, lambda turns: change(turns, run_id))
