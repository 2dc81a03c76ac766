"""Runs come to the network here, as far as their tasks ask for it and the operator allows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from firetrial_kit.errors import Fault
from firetrial_kit.hosts import Network, Reach
from firetrial_runner.egress.egress import Caps, Egress, Record
from firetrial_runner.egress.outside import Outside
from firetrial_runner.egress.policy import Most, Policy
from firetrial_runner.metrics import EgressMetrics
from firetrial_runner.records import Books
from firetrial_runner.run import Run
from firetrial_runner.wire import denied_hosts


@dataclass(frozen=True, slots=True)
class Ways:
    """`most` is what the operator allows, `caps` what a run may use of it."""

    books: Books
    metrics: EgressMetrics
    most: Most = field(default_factory=Most)
    caps: Caps = field(default_factory=Caps)
    outside: Callable[[], Outside] = Outside

    def faults(self, field: str, network: Network) -> Iterator[Fault]:
        """Why a task's network cannot be had here."""
        wrong = list(network.faults(field))
        yield from wrong or self.most.faults(field, network)

    async def open(self, run: Run, network: Network, record: Record) -> Egress | None:
        """The way out of an attempt, to be closed when it is over; None where its task asks for none."""
        if network.reach is Reach.GATEWAY:
            return None
        denied = denied_hosts((await self.books.runs.get(run.id)).slip)
        return Egress(Policy(network, denied), record, self.outside(), self.caps, self.metrics)
