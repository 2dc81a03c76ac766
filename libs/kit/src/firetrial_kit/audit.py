"""The audit: each call that makes or changes something is told as a fact, whatever came of it.

It is told after the call and before its answer. So a call that was answered OK has its audit stored, and
one whose audit cannot be stored is answered UNAVAILABLE: what it did stands, and doing it again does it once.
What a crash leaves undone or untold was not answered.
"""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from firetrial.audit.v1 import events_pb2
from firetrial_kit import events, tenants
from firetrial_kit.bus import Bus, Outgoing
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError
from firetrial_kit.tokens import Principal

MAX_RESOURCES = 20
STREAM = "FT_AUDIT"
"""Where an installation that was set up keeps what was told for longer than other facts."""
_REFUSED = 60
"""Refused calls of one caller, or of all strangers, that are told one by one in a minute, so that they do not
fill the broker. The rest are counted."""


@dataclass(slots=True)
class Call:
    """A call under way. `principal` is None while it is not known who calls."""

    method: str
    peer: str
    called_at: datetime
    started: float
    trace_id: str
    principal: Principal | None = None
    tenant: str | None = None
    resources: list[str] = field(default_factory=list)

    @property
    def owner(self) -> str:
        """The tenant that it is counted to; "" for a stranger's."""
        return "" if self.principal is None else self.tenant or self.principal.tenant


class Audit:
    """Tells of calls, each as a fact of the service that was called."""

    def __init__(self, bus: Bus, clock: Clock, log: structlog.typing.FilteringBoundLogger) -> None:
        self._bus = bus
        self._clock = clock
        self._log = log
        self._minute, self._untold = 0, 0
        self._told: Counter[str] = Counter()

    async def tell(self, call: Call, code: str) -> None:
        """Wait until it is stored. Raises UNAVAILABLE."""
        if code != "OK" and not self._room(call.principal.name if call.principal else ""):
            self._untold += 1
            return
        untold, self._untold = self._untold, 0
        try:
            await self._bus.publish(self._fact(call, code, untold))
        except FiretrialError:
            self._untold += untold
            raise

    async def tell_refusal(self, call: Call, code: str) -> None:
        """The same of a call that came to nothing: its answer stands, stored or not."""
        try:
            await self.tell(call, code)
        except FiretrialError as error:
            self.lost(call, code, error.message)

    def lost(self, call: Call, code: str, why: str) -> None:
        """What could not be stored of a call that came to nothing is in the log at least."""
        who = {"tenant": call.owner, "principal": call.principal.name if call.principal else ""}
        about = {
            "method": call.method,
            "code": code,
            "peer": call.peer,
            "resources": call.resources[:MAX_RESOURCES],
        }
        self._log.error("audit not stored", **who, **about, error=why)

    def _fact(self, call: Call, code: str, untold: int) -> Outgoing:
        method = call.method.removeprefix("/")
        payload = events_pb2.CallAudited(
            id=tenants.tag(call.owner or tenants.LOCAL) + secrets.token_hex(8),
            tenant=call.owner,
            principal=call.principal.name if call.principal else "",
            method=method,
            resources=list(dict.fromkeys(call.resources))[:MAX_RESOURCES],
            code=code,
            peer=call.peer[:200],
            trace_id=call.trace_id,
            untold=untold,
        )
        payload.called_at.FromDatetime(call.called_at)
        payload.took.FromNanoseconds(int((self._clock.monotonic() - call.started) * 1e9))
        return events.fact(method.split(".")[1], payload.id, payload, clock=self._clock)

    def _room(self, caller: str) -> bool:
        """Whether one more refusal of a caller is told in this minute; "" is all strangers."""
        minute = int(self._clock.monotonic() // 60)
        if minute != self._minute:
            self._minute = minute
            self._told.clear()
        self._told[caller] += 1
        return self._told[caller] <= _REFUSED
