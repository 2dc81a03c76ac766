"""What the runner keeps in its state: agents, experiments, runs, proposals, what is spent and used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from firetrial_kit.attendance import attendants
from firetrial_kit.records import Records
from firetrial_kit.state import State
from firetrial_kit.tokens import Quotas
from firetrial_runner.agent import Agent
from firetrial_runner.experiment import Experiment
from firetrial_runner.gateway.account import Account
from firetrial_runner.gating.gate import Proposal
from firetrial_runner.gpus.offers import Offers
from firetrial_runner.kinds.sealed import TrialRecord
from firetrial_runner.quotas.line import Line
from firetrial_runner.quotas.use import Use
from firetrial_runner.run import Run
from firetrial_runner.turns import Turns

_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run, and the routing slip that its events carry on: its bytes in hex, not looked into.

    `traceparent` is of what asked for it: what happens to it without a message still belongs there.
    """

    run: Run
    slip: str = ""
    traceparent: str = ""


def unlimited(_: str) -> Quotas:
    """The quotas of any tenant where there are none."""
    return Quotas()


class Books:
    """The kinds of record. `quotas` are a tenant's, by its name."""

    def __init__(self, state: State, quotas: Callable[[str], Quotas] = unlimited) -> None:
        self.quotas = quotas
        self._state = state
        self.attendants = attendants(state)
        self.uses: Records[Use] = Records(state, "use", Use)
        self.lines: Records[Line] = Records(state, "line", Line)
        self.agents: Records[Agent] = Records(state, "agent", Agent)
        self.experiments: Records[Experiment] = Records(state, "experiment", Experiment)
        self.accounts: Records[Account] = Records(state, "account", Account)
        self.offers: Records[Offers] = Records(state, "offers", Offers, shared=True)
        self.turns: Records[Turns] = Records(state, "turns", Turns)
        self.proposals: Records[Proposal] = Records(state, "proposal", Proposal)
        self.tests: Records[TrialRecord] = Records(state, "test", TrialRecord)
        self.runs: Records[RunRecord] = Records(state, "run", RunRecord)

    async def change_run(self, run_id: str, change: Callable[[Run], Run | None]) -> RunRecord:
        """Apply a pure change to a run; None leaves it. Returns the record as it then stands."""

        def changed(record: RunRecord) -> RunRecord | None:
            run = change(record.run)
            return None if run is None else replace(record, run=run)

        return await self.runs.change(run_id, changed)

    async def forget_test(self, id_: str) -> None:
        """Remove the record of a sealed test; harmless where there is none."""
        await self._state.delete(f"test.{id_}")

    async def find_runs(self, ids: Iterable[str]) -> list[RunRecord]:
        """Those of these runs that there are, in the order given."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def find(id_: str) -> RunRecord | None:
            async with gate:
                return await self.runs.find(id_)

        return [record for record in await asyncio.gather(*map(find, ids)) if record is not None]
