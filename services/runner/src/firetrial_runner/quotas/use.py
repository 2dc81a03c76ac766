"""What a tenant uses of its quotas: runs asked for today, the places of those that run.

A record of the runner's state, changed by compare-and-set, so that all runners together keep to the quotas.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from firetrial_kit.tokens import Quotas

_TOLD = 4_000
"""Askings of a day that are remembered one by one; of older ones only the sum is, and they count twice if
they are asked again: a quota is rather kept too well than not."""
_WAITS = {
    "runs_at_once": "its tenant's turn: at most {:g} of the tenant's runs run at the same time",
    "gpus_at_once": "its tenant's turn: the tenant's runs have at most {:g} GPUs at the same time",
}


@dataclass(frozen=True, slots=True)
class Place:
    """What a run has of its tenant's quotas, and since when."""

    gpus: int
    since: datetime


class OverQuotaError(Exception):
    """A quota leaves no room: its name, what it is, and what was used and asked for."""

    def __init__(self, quota: str, most: float, used: float, asked: float) -> None:
        super().__init__(f"{quota} is {most:g}, {used:g} used, {asked:g} asked for")
        self.quota, self.most, self.used, self.asked = quota, most, used, asked

    @property
    def waits(self) -> str:
        """What a run waits for that finds no place, in words."""
        return _WAITS[self.quota].format(self.most)


def at_once(quotas: Quotas, gpus: int) -> tuple[int | None, str]:
    """(how many runs with so many GPUs may run at the same time, what others wait for); None for any."""
    bounds = [
        (most // each, OverQuotaError(quota, most, 0, 0).waits)
        for quota, most, each in (
            ("runs_at_once", quotas.runs_at_once, 1),
            ("gpus_at_once", quotas.gpus_at_once, gpus),
        )
        if most is not None and each
    ]
    return min(bounds, default=(None, ""))


@dataclass(frozen=True, slots=True)
class Use:
    """`day` is YYYY-MM-DD by UTC; `asked` are its runs by what asked, `more` those not told apart."""

    day: str = ""
    asked: Mapping[str, int] = field(default_factory=dict)
    more: int = 0
    places: Mapping[str, Place] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """Asked for on that day."""
        return self.more + sum(self.asked.values())

    def asking(self, what: str, runs: int, now: datetime, most: int) -> Use | None:
        """With `runs` asked for by `what`; None where they were before. Raises OverQuotaError."""
        day, next_ = f"{now:%Y-%m-%d}", f"{now + timedelta(days=1):%Y-%m-%d}"
        # Another's clock may have passed midnight already: the day does not come twice.
        today = self if self.day in {day, next_} else replace(self, day=day, asked={}, more=0)
        if what in today.asked:
            return None
        if today.runs + runs > most:
            raise OverQuotaError("runs_per_day", most, today.runs, runs)
        asked, more = {**today.asked, what: runs}, today.more
        if len(asked) > _TOLD:
            more += asked.pop(next(iter(asked)))
        return replace(today, asked=asked, more=more)

    def placing(self, run_id: str, gpus: int, now: datetime, quotas: Quotas) -> Use | None:
        """With a place for a run; None where it has one. Raises OverQuotaError while there is none free."""
        if run_id in self.places:
            return None
        runs, free_gpus = self.free(quotas)
        if runs < 1:
            raise OverQuotaError("runs_at_once", quotas.runs_at_once or 0, len(self.places), 1)
        if gpus > free_gpus:
            used = sum(place.gpus for place in self.places.values())
            raise OverQuotaError("gpus_at_once", quotas.gpus_at_once or 0, used, gpus)
        return replace(self, places={**self.places, run_id: Place(gpus, now)})

    def without(self, run_ids: Iterable[str]) -> Use | None:
        """Without the places of these runs; None where they have none."""
        gone = {*run_ids}
        rest = {id_: place for id_, place in self.places.items() if id_ not in gone}
        return None if len(rest) == len(self.places) else replace(self, places=rest)

    def free(self, quotas: Quotas) -> tuple[float, float]:
        """(runs, GPUs) that there is room for."""
        runs = math.inf if quotas.runs_at_once is None else quotas.runs_at_once - len(self.places)
        used = sum(place.gpus for place in self.places.values())
        return runs, math.inf if quotas.gpus_at_once is None else max(0, quotas.gpus_at_once - used)
