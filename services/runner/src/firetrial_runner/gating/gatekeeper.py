"""Looks up what is known of the proposals that runs rest on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass

from firetrial_kit.errors import Fault, FiretrialError, Reason, check
from firetrial_kit.objects import Objects
from firetrial_runner import keys
from firetrial_runner.experiment import is_id
from firetrial_runner.gating.gate import GO, MAX_FAULTS, Gate, Proposal, Ruling, refused, rule
from firetrial_runner.gating.gate_wire import gate_of
from firetrial_runner.records import Books, RunRecord

_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Mark:
    """Whose proposal it is and for which task, as the parser has marked it; both may be empty."""

    agent_id: str
    task_id: str


@dataclass(frozen=True, slots=True)
class Gatekeeper:
    books: Books
    objects: Objects

    async def check(self, gate: Gate | None, agents: tuple[str, ...], tasks: tuple[str, ...]) -> None:
        """Raises INVALID with what keeps the runs of a plan from being let through, ever."""
        if gate is None:
            return
        faults = [*gate.faults(agents), *gate.unnamed(agents, tasks)]
        used = {(a, t): gate.proposal(a, t) for a in agents for t in tasks if a != gate.exempt}
        marks = await self._marks({id_ for id_ in used.values() if id_})
        for (agent, task), id_ in used.items():
            if id_:
                faults += _mark_faults(id_, marks[id_], agent, task)
        check("the plan's gate", faults[:MAX_FAULTS])

    async def ruling(self, record: RunRecord) -> Ruling:
        """What a queued run may do."""
        gate, run = gate_of(record.slip), record.run
        if gate is None or run.agent_id == gate.exempt:
            return GO
        id_ = gate.proposal(run.agent_id, run.task_id)
        if not id_:
            return refused(f"the plan's gate names no proposal of {run.agent_id} for {run.task_id}")
        known = await self.books.proposals.find(id_) if is_id(id_) else None
        if known is None and await self._mark(id_) is None:
            return refused(f"there is no proposal {id_!r}, which the plan's gate names")
        return rule(gate, known or Proposal(id_))

    async def _marks(self, ids: set[str]) -> dict[str, Mark | None]:
        turns = asyncio.Semaphore(_AT_ONCE)

        async def mark(id_: str) -> Mark | None:
            async with turns:
                return await self._mark(id_)

        known = sorted(ids)
        return dict(zip(known, await asyncio.gather(*map(mark, known)), strict=True))

    async def _mark(self, id_: str) -> Mark | None:
        """The proposal's mark; None where there is no such proposal. Raises CORRUPT."""
        if not is_id(id_):
            return None
        try:
            told = json.loads(await self.objects.get(keys.uri(keys.proposal(id_))))
            return Mark(str(told["agent_id"]), str(told["task_id"]))
        except FiretrialError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise FiretrialError(Reason.CORRUPT, f"the mark of proposal {id_} is none: {error}") from error


def _mark_faults(id_: str, mark: Mark | None, agent: str, task: str) -> Iterator[Fault]:
    where = "plan.gate.proposals"
    if mark is None:
        yield Fault(
            where, id_, "must be a proposal that was submitted: `firetrial proposals list` shows which"
        )
        return
    if mark.agent_id and mark.agent_id != agent:
        yield Fault(where, id_, f"is a proposal of {mark.agent_id}, and must be one of {agent}")
    if mark.task_id and mark.task_id != task:
        yield Fault(where, id_, f"is a proposal for {mark.task_id}, and must be one for {task}")
