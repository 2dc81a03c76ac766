"""Tasks announced: those that may be run at once, those that are blocked when somebody overrules it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from firetrial.plan.v1 import plan_pb2
from firetrial_parser.announcing import Announcer
from firetrial_parser.records import TaskRecord, TaskState, Waiting
from firetrial_parser.tasks import Tasks
from firetrial_parser.wire import experiment_id, slip_to_wire


class Publishing:
    """Tells of tasks. Telling twice tells once: a task that was blocked has experiments of its own."""

    def __init__(self, tasks: Tasks, announcer: Announcer) -> None:
        self._tasks = tasks
        self._announcer = announcer

    async def announce(
        self, stored: Sequence[TaskRecord], plan: plan_pb2.Plan | None, experiment: str
    ) -> None:
        """Announce tasks that belong together, with the slip of their plan where there is one.

        An experiment's size is that of the tasks that were not blocked when they were made, whatever was
        overruled since. A task that was blocked begins an experiment of its own, which is the plan's where it
        is the only task.
        """
        free = [record for record in stored if not record.was_blocked]
        slip = slip_to_wire(plan, experiment, len(free)) if plan else None
        for record in free:
            await self._announcer.task_created(record, slip)
        for record in stored:
            if record.was_blocked and plan is not None:
                own = experiment if len(stored) == 1 else experiment_id(record.id, plan, "")
                await self._await(record.id, Waiting(own, plan.SerializeToString(deterministic=True).hex()))

    async def overrule(self, task_id: str, by: str, reason: str) -> tuple[TaskRecord, list[str]]:
        """Publish a blocked task and begin what waited for it. Raises as `Tasks.overrule` does."""
        record = await self._tasks.overrule(task_id, by, reason)
        for waiting in record.waiting:
            await self._begin(record, waiting)
        if not record.waiting:
            await self._announcer.task_created(record, None)
        return record, [waiting.experiment_id for waiting in record.waiting]

    async def _await(self, task_id: str, waiting: Waiting) -> None:
        """Keep what waits for a blocked task; begin it where that was overruled meanwhile."""

        def kept(record: TaskRecord) -> TaskRecord | None:
            if record.state is not TaskState.BLOCKED or waiting in record.waiting:
                return None
            return replace(record, waiting=(*record.waiting, waiting))

        record = await self._tasks.records.change(task_id, kept)
        if record.state is TaskState.PUBLISHED:
            await self._begin(record, waiting)

    async def _begin(self, record: TaskRecord, waiting: Waiting) -> None:
        plan = plan_pb2.Plan.FromString(bytes.fromhex(waiting.plan))
        await self._announcer.task_created(record, slip_to_wire(plan, waiting.experiment_id, 1))
