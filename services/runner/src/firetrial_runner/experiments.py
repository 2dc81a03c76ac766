"""Experiments as they are asked for, grow by tasks, and are cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, replace

from firetrial.plan.v1 import plan_pb2
from firetrial_kit import tenants
from firetrial_kit.clock import Clock
from firetrial_kit.errors import Fault, FiretrialError, Reason, check, invalid
from firetrial_kit.objects import Objects
from firetrial_runner import keys
from firetrial_runner.allowance import Allowance
from firetrial_runner.announce import Announcer
from firetrial_runner.dispatch import Dispatch
from firetrial_runner.execution import load_task
from firetrial_runner.experiment import (
    Experiment,
    Plan,
    attempts,
    counts,
    expand,
    experiment_id,
    has_ended,
    is_id,
    request_faults,
)
from firetrial_runner.gating.gate_wire import gate_to_domain
from firetrial_runner.gating.gatekeeper import Gatekeeper
from firetrial_runner.importing.imported import Imported, is_elsewhere
from firetrial_runner.needs import Needs
from firetrial_runner.records import Books, RunRecord
from firetrial_runner.run import Run, RunState, Slot
from firetrial_runner.task import Task
from firetrial_runner.wire import experiment_plan, plan_to_domain, slip_to_domain

_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Experiments:
    """`most` is what a run may be given here, and `needs` what there is for it."""

    books: Books
    objects: Objects
    announce: Announcer
    dispatch: Dispatch
    clock: Clock
    most: Allowance
    needs: Needs

    async def submit(self, request_id: str, task_ids: tuple[str, ...], plan: plan_pb2.Plan) -> Experiment:
        """Start an experiment; the same request again changes nothing and gives the same.

        Raises INVALID with every fault, NOT_FOUND for tasks that do not exist.
        """
        wanted = plan_to_domain(plan)
        known = await self._runnable()
        faults = [*request_faults(request_id, task_ids, wanted), *wanted.faults(known, self.most)]
        check("the experiment", faults)
        await self.see_tasks(task_ids)
        await self._check_gate(plan, task_ids)
        await self._check_needs(wanted, task_ids)
        told = plan.SerializeToString(deterministic=True)
        runs = len(task_ids) * len(wanted.agents) * wanted.repeats
        id_ = tenants.mine(experiment_id(request_id, task_ids, told))
        if await self.books.experiments.find(id_) is None:
            await self.dispatch.quotas.ask(id_, task_ids, wanted)
        experiment = Experiment(id_, task_ids, runs, self.clock.now(), told.hex())
        await self.books.experiments.create(experiment.id, experiment)
        kept = await self.books.experiments.get(experiment.id)
        if (kept.task_ids, kept.plan_bytes) != (task_ids, told.hex()):
            cure = f"must be a new one: {kept.id} has it, with other tasks or another plan"
            raise invalid("the experiment", [Fault("request_id", request_id, cure)])
        slip = plan_pb2.Slip(experiment_id=kept.id, expected_runs=runs, plan=plan)
        await self._start(kept, task_ids, slip)
        return kept

    async def extend(self, task_id: str, slip: plan_pb2.Slip) -> None:
        """Take a task into the experiment that its slip names. Raises INVALID with the plan's every fault."""
        plan = plan_to_domain(slip.plan)
        known = await self._runnable()
        check("the plan", [*request_faults("", (task_id,), plan), *plan.faults(known, self.most)])
        await self._check_gate(slip.plan, (task_id,))
        await self._check_needs(plan, (task_id,))
        there = await self.books.experiments.find(slip.experiment_id)
        if there is None or task_id not in there.task_ids:
            await self.dispatch.quotas.ask(slip.experiment_id, (task_id,), plan)
        await self._open(slip)

        def with_task(experiment: Experiment) -> Experiment | None:
            if task_id in experiment.task_ids:
                return None
            return replace(experiment, task_ids=(*experiment.task_ids, task_id))

        experiment = await self.books.experiments.change(slip.experiment_id, with_task)
        await self._start(experiment, (task_id,), slip)

    async def join(self, told: Imported, slip: plan_pb2.Slip) -> str:
        """Take a run that was made elsewhere into the experiment of a slip; gives the run's id there.

        The experiment is made where there is none. One that is there may grow: by agents, repeats, and the
        runs that it expects. Raises INVALID with every fault, NOT_FOUND for a task that does not exist.
        """
        plan = plan_to_domain(slip.plan)
        known = {*await self._runnable(), *filter(is_elsewhere, plan.agents)}
        faults = [*request_faults("", (told.task_id,), plan), *plan.faults(known, self.most)]
        check("the experiment", [*faults, *_join_faults(told, slip, plan)])
        await self.see_tasks((told.task_id,))
        await self._open(slip)

        def with_run(experiment: Experiment) -> Experiment | None:
            tasks = dict.fromkeys((*experiment.task_ids, told.task_id))
            return replace(grown(experiment, slip), task_ids=tuple(tasks))

        await self.books.experiments.change(slip.experiment_id, with_run)
        slot = Slot(slip.experiment_id, told.task_id, told.agent_id, plan.model, plan.limits, told.repeat)
        return slot.run_id(1)

    async def fail(self, slip: plan_pb2.Slip, reason: str) -> None:
        """The experiment will never come to runs."""
        await self._open(slip)

        def failed(experiment: Experiment) -> Experiment | None:
            return None if experiment.failure else replace(experiment, failure=reason)

        experiment = await self.books.experiments.change(slip.experiment_id, failed)
        await self.announce.experiment_failed(experiment.id, experiment.failure)

    async def cancel(self, id_: str) -> Experiment:
        """Cancel its runs that have not ended. Raises NOT_FOUND."""
        experiment = await self.books.experiments.change(
            id_, lambda experiment: replace(experiment, cancel_requested=True)
        )
        found = [record.run for record in await self.runs(experiment)]
        # Those that run first: they cost something.
        await self._cancel(
            [run.id for run in sorted(found, key=lambda run: run.state is not RunState.RUNNING)]
        )
        return experiment

    async def _cancel(self, ids: Iterable[str]) -> None:
        gate = asyncio.Semaphore(_AT_ONCE)

        async def cancel(id_: str) -> None:
            async with gate:
                await self.dispatch.cancel(id_)

        await asyncio.gather(*map(cancel, ids))

    async def run_ids(self, experiment: Experiment) -> list[str]:
        """The ids of its runs that there are, in its order, each followed by its further attempts."""
        known = set(await self.books.runs.ids())
        return [id_ for first in self._first(experiment) for id_ in attempts(first) if id_ in known]

    async def runs(self, experiment: Experiment) -> list[RunRecord]:
        """Its runs in its order."""
        return await self.books.find_runs(await self.run_ids(experiment))

    async def counted(self, experiment: Experiment) -> tuple[dict[str, int], bool]:
        """(runs by state and outcome, whether it has ended)."""
        found = counts(record.run for record in await self.runs(experiment))
        return found, has_ended(experiment, found)

    async def watch(self, id_: str) -> AsyncGenerator[Run, None]:
        """Every run as it is now, then each change, until all have ended.

        Raises NOT_FOUND, or PRECONDITION where the experiment never came to runs.
        """
        experiment = await self.books.experiments.get(id_)
        latest: dict[str, Run] = {}
        changes: asyncio.Queue[Run | Experiment | Exception] = asyncio.Queue(1000)
        feeds = [
            asyncio.create_task(_feed(changes, self._run_changes(id_))),
            asyncio.create_task(_feed(changes, self.books.experiments.watch(id_))),
        ]
        try:
            while not has_ended(experiment, counts(latest.values())):
                change = await changes.get()
                if isinstance(change, Exception):
                    raise change
                if isinstance(change, Experiment):
                    experiment = change
                elif latest.get(change.id) != change:
                    latest[change.id] = change
                    yield change
        finally:
            for feed in feeds:
                feed.cancel()
            await asyncio.gather(*feeds, return_exceptions=True)
        if experiment.failure:
            raise FiretrialError(
                Reason.PRECONDITION, f"experiment {id_} came to no runs: {experiment.failure}"
            )

    async def _run_changes(self, experiment: str) -> AsyncIterator[Run]:
        async for record in self.books.runs.watch():
            if record.run.experiment_id == experiment:
                yield record.run

    async def _open(self, slip: plan_pb2.Slip) -> None:
        told = slip.plan.SerializeToString(deterministic=True).hex()
        experiment = Experiment(slip.experiment_id, (), slip.expected_runs, self.clock.now(), told)
        await self.books.experiments.create(experiment.id, experiment)

    async def _start(self, experiment: Experiment, task_ids: Iterable[str], slip: plan_pb2.Slip) -> None:
        plan, told = plan_to_domain(slip.plan), slip_to_domain(slip)
        asked = expand(experiment.id, task_ids, plan, self.clock.now())
        await self.dispatch.turns.open(experiment)
        for run in asked:
            await self.dispatch.request(run, told)
        # Only now: a cancellation meanwhile has not seen those that were asked for after it.
        if (await self.books.experiments.get(experiment.id)).cancel_requested:
            await self._cancel([run.id for run in asked])
        await self.dispatch.turns.fill(experiment.id)

    async def _runnable(self) -> list[str]:
        return [id_ for id_ in await self.books.agents.ids() if not is_elsewhere(id_)]

    def _first(self, experiment: Experiment) -> list[Run]:
        plan = experiment_plan(experiment)
        return expand(experiment.id, experiment.task_ids, plan, experiment.submitted_at)

    async def _check_gate(self, plan: plan_pb2.Plan, task_ids: tuple[str, ...]) -> None:
        """Raises INVALID where the plan's gate lets nobody through, whatever is said of the proposals."""
        keeper = Gatekeeper(self.books, self.objects)
        await keeper.check(gate_to_domain(plan), tuple(plan.agents), task_ids)

    async def _check_needs(self, plan: Plan, task_ids: Iterable[str]) -> None:
        """Raises PRECONDITION with all that is missing here for the runs."""
        gate = asyncio.Semaphore(16)

        async def load(task_id: str) -> tuple[Task, Fault | None]:
            async with gate:
                task = await load_task(self.objects, task_id)
                return task, await self._lost(task)

        agents = await asyncio.gather(*map(self.books.agents.get, plan.agents))
        tasks = await asyncio.gather(*map(load, task_ids))
        lost = [fault for _, fault in tasks if fault]
        self.needs.check_experiment(plan.pool, agents, plan.model, (task for task, _ in tasks), lost)

    async def _lost(self, task: Task) -> Fault | None:
        """What is wrong with the data that came with a task: they lie in the store, or nowhere."""
        if task.data is None or await self.objects.stat(task.data.uri) is not None:
            return None
        return Fault(f"data of {task.id}", task.data.uri, "must be in the store: hand the task in again")

    async def see_tasks(self, task_ids: tuple[str, ...]) -> None:
        """Raises NOT_FOUND naming every task that does not exist."""
        gate = asyncio.Semaphore(16)

        async def there(task_id: str) -> bool:
            async with gate:
                return await self.objects.stat(keys.uri(keys.task(task_id))) is not None

        found = await asyncio.gather(*map(there, task_ids))
        faults = [
            Fault(f"task_ids[{index}]", task_ids[index], "must be a task that exists; list the tasks to see")
            for index, exists in enumerate(found)
            if not exists
        ]
        if faults:
            told = ", ".join(fault.value for fault in faults)
            raise FiretrialError(Reason.NOT_FOUND, f"there is no task {told}", faults=faults)


def grown(experiment: Experiment, slip: plan_pb2.Slip) -> Experiment:
    """The experiment with what a slip adds to its plan. Raises INVALID where the plans differ otherwise."""
    plan = plan_pb2.Plan.FromString(bytes.fromhex(experiment.plan_bytes))
    agents, repeats = dict.fromkeys((*plan.agents, *slip.plan.agents)), max(plan.repeats, slip.plan.repeats)
    same = plan_pb2.Plan()
    same.CopyFrom(slip.plan)
    for each in (plan, same):
        each.ClearField("agents")
        each.agents.extend(agents)
        each.repeats = repeats
    if plan != same:
        cure = "must be a new experiment, or have its plan: only agents and repeats may be added"
        raise invalid("the experiment", [Fault("slip.experiment_id", slip.experiment_id, cure)])
    return replace(
        experiment,
        plan_bytes=plan.SerializeToString(deterministic=True).hex(),
        expected_runs=max(experiment.expected_runs, slip.expected_runs),
    )


def _join_faults(told: Imported, slip: plan_pb2.Slip, plan: Plan) -> Iterator[Fault]:
    if not is_id(slip.experiment_id):
        yield Fault("slip.experiment_id", slip.experiment_id, "must be an id")
    if told.agent_id not in plan.agents:
        yield Fault("slip.plan.agents", ", ".join(plan.agents), f"must name {told.agent_id}")
    if told.repeat > plan.repeats:
        yield Fault("slip.plan.repeats", str(plan.repeats), f"must be {told.repeat} at least")
    if slip.expected_runs < 1:
        yield Fault("slip.expected_runs", str(slip.expected_runs), "must be 1 at least")


async def _feed(
    into: asyncio.Queue[Run | Experiment | Exception], changes: AsyncIterator[Run] | AsyncIterator[Experiment]
) -> None:
    try:
        async for change in changes:
            await into.put(change)
    except FiretrialError as error:
        await into.put(error)
