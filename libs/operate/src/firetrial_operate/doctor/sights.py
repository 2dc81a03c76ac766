"""What checks find out for each other, and the connections that they share."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime

from firetrial_operate.doctor.checks import BrokenError, Told
from firetrial_operate.doctor.connection import Connection
from firetrial_operate.doctor.installation import Installation

_WARN_S, _FAIL_S = 5.0, 60.0
_CURE = "have both keep time by NTP (timedatectl status): signatures, tokens and certificates go by the clock"


@dataclass(slots=True)
class Sights:
    """`skews` are seconds by which others' clocks are ahead of this machine's, `versions` of Firetrial by who
    said so, `serving` the services that answer.
    """

    installation: Installation
    stack: AsyncExitStack
    connections: dict[str, Connection] = field(default_factory=dict)
    skews: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    serving: set[str] = field(default_factory=set)

    def heard(self, name: str, said: datetime, sent: datetime) -> None:
        """Another's clock said so in answer to what was sent then: on the way for half of the time since."""
        now = datetime.now(UTC)
        self.skews[name] = (said - (sent + (now - sent) / 2)).total_seconds()

    async def clock(self, name: str) -> Told:
        """How far the clock of `name` is from this machine's."""
        skew = self.skews.get(name)
        if skew is None:
            return Told("it tells no time")
        detail = f"{abs(skew):.1f} s {'ahead of' if skew > 0 else 'behind'} this machine"
        if abs(skew) > _FAIL_S:
            raise BrokenError(f"{detail}: signatures break", _CURE)
        return Told(detail, _CURE if abs(skew) > _WARN_S else "")


def stopwatch() -> Callable[[], str]:
    """Tells the time since, as "1.2 ms"."""
    began = time.perf_counter()
    return lambda: f"{(time.perf_counter() - began) * 1000:.1f} ms"
