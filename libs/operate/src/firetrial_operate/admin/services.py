"""The services whose state an operator looks after, each by its steward."""

from __future__ import annotations

import structlog

from firetrial_kit.clock import SystemClock
from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.jetstream import JetStreamBus
from firetrial_kit.keeping import Installation, Steward, steward
from firetrial_kit.kv import JetStreamState
from firetrial_operate.access import Access

SERVICES = ("parser", "runner", "judge", "analyzer")


def stewards(*names: str) -> list[Steward]:
    """Those of the named services. Raises PRECONDITION naming what must be installed to know its records."""
    known = {name: steward(name) for name in names}
    faults = [
        Fault("service", name, f"must be installed here (firetrial-{name})")
        for name, one in known.items()
        if one is None
    ]
    if faults:
        told = "; ".join(map(str, faults))
        raise FiretrialError(Reason.PRECONDITION, f"a service alone knows its records: {told}", faults=faults)
    return [one for one in known.values() if one is not None]


async def installation(access: Access, service: str, replicas: int = 1) -> Installation:
    """What the steward of a service works with; its bucket of state is made where it is missing."""
    state = await JetStreamState.open(access.client, f"ft_{service}", replicas)
    bus = JetStreamBus(access.client, structlog.get_logger())
    return Installation(state, access.objects, bus, SystemClock())
