"""Each delivery is told as what it was settled as, by which it is counted."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from firetrial_kit.bus import Consumer, Outgoing, Received
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.metrics import KitMetrics
from firetrial_kit.service import counted
from firetrial_kit.testing import InMemoryBus


@pytest.mark.parametrize(
    ("reason", "max_deliver", "result"),
    [
        (None, 5, "done"),
        (Reason.UNAVAILABLE, 5, "later"),
        (Reason.UNAVAILABLE, 1, "failed"),
        (Reason.INVALID, 5, "failed"),
    ],
)
async def test_deliveries_are_counted_by_how_they_were_settled(
    reason: Reason | None, max_deliver: int, result: str
) -> None:
    async def handle(_: Received) -> None:
        if reason:
            raise FiretrialError(reason, "no")

    async def fail(_: Received, __: FiretrialError) -> None:
        """Nothing to announce."""

    bus, kept = InMemoryBus(), KitMetrics(CollectorRegistry())
    consumer = Consumer("c", "S", ("a.>",), handle, fail, max_deliver=max_deliver)
    await bus.publish(Outgoing("a.b", b"", "1"))
    assert await bus.deliver(counted(consumer, kept)) == [result]
    (metric,) = [found for found in kept.registry.collect() if found.name == "firetrial_messages"]
    counts = {
        sample.labels["result"]: sample.value for sample in metric.samples if sample.name.endswith("total")
    }
    assert counts == {result: 1.0}
