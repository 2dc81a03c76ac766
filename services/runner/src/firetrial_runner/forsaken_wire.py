"""Work of runs that are over, in pools that nobody serves: left there, scalers would start runners for it."""

from __future__ import annotations

import asyncio

from firetrial.runner.v1 import events_pb2
from firetrial_kit.bus import Bus, Consumer, Received
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.events import WORK
from firetrial_runner import pools
from firetrial_runner.dispatch import Dispatch
from firetrial_runner.run import Outcome, Run, RunState

QUIET_S = 3.0
"""Seconds without a message after which there are no more; a broker is asked for 2 s at a time."""
LOOKS = 2
"""A minute apart: what a dead runner had in hand comes back when its ack wait is over."""
_AT_ONCE = 8
_EVER = 2**31


def leaves_work(run: Run) -> bool:
    """Whether a run may have ended without anybody having settled its work."""
    return run.state is RunState.ENDED and run.outcome in {Outcome.CANCELLED, Outcome.INFRA_FAILED}


async def clear(bus: Bus, dispatch: Dispatch, pool: str, quiet_s: float = QUIET_S) -> int:
    """Settle what is over as a runner of the pool would, by its consumer; returns how much was settled.

    Ends at the first work that is not over: a run that was queued meanwhile, or one from outside that no
    runner has seen yet. It goes back, and never counts as failed, however often it was looked at.
    """
    stop, told, settled = asyncio.Event(), asyncio.Event(), 0

    async def handle(message: Received) -> None:
        nonlocal settled
        event = message.parsed(events_pb2.RunRequested)
        record = await dispatch.books.runs.find(event.run.id) if event else None
        if record is None or not record.run.is_over:
            stop.set()
            raise FiretrialError(Reason.UNAVAILABLE, f"it waits for a runner of pool {pool}", retry_after=1)
        await dispatch.tell(record)
        settled += 1
        told.set()

    async def never(_: Received, __: FiretrialError) -> None:
        """Nothing fails here."""

    name, work = pools.of_runs(pool)
    consumer = Consumer(
        name, WORK, (work,), handle, never, _AT_ONCE, ack_wait=dispatch.ttl_s, max_deliver=_EVER
    )
    taking = asyncio.create_task(bus.consume(consumer, stop))
    try:
        while not stop.is_set():
            told.clear()
            try:
                async with asyncio.timeout(quiet_s):
                    await told.wait()
            except TimeoutError:
                stop.set()
        await taking
    finally:
        taking.cancel()
        await asyncio.gather(taking, return_exceptions=True)
    return settled
