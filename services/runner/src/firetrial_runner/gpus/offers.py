"""What the runners of a pool have, as far as they have said so: why a run waits for a GPU."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from firetrial_runner.gpus.device import Demand, Gpu, choose, listed

_BELIEVED = timedelta(minutes=15)
_REPEATED = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Offer:
    """What runners of one kind have. Device files and UUIDs are theirs alone, and left out."""

    gpus: tuple[Gpu, ...]
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class Offers:
    """By what they come to in words: runners that have the same make one offer."""

    by_kind: dict[str, Offer] = field(default_factory=dict)

    def with_mine(self, gpus: Iterable[Gpu], now: datetime) -> Offers | None:
        """With what this runner has, without what nobody has repeated; None where that is nothing new."""
        mine = tuple(replace(gpu, uuid=f"{at}", nodes=()) for at, gpu in enumerate(gpus))
        known = self.by_kind.get(listed(mine))
        if known and now - known.seen_at < _REPEATED:
            return None
        fresh = {kind: offer for kind, offer in self.by_kind.items() if now - offer.seen_at < _BELIEVED}
        return Offers(fresh | {listed(mine): Offer(mine, now)})

    def waiting_for(self, demand: Demand, pool: str) -> tuple[str, bool]:
        """(what a run waits for, whether some runner could give it)."""
        if any(choose(demand, offer.gpus) for offer in self.by_kind.values()):
            return f"{demand.told} to be free in pool {pool}", True
        have = "; ".join(f"{kind} on a runner" for kind in sorted(self.by_kind))
        return f"{demand.told}: no runner of pool {pool} has them ({have})", False
