"""How a delivered message is settled: the one place that decides between ack, later and never.

    success             → ack, and wait until the broker has it
    retryable, a bug    → back after a pause; announced as failed once the deliveries are used up
    permanent           → kept as a dead letter, announced as failed, then never again
    cancelled (drain)   → back at once, for another to take

The letter comes before the announcement: a crash between them brings the message back, and what was announced
would then be found done and acknowledged, with no letter; kept twice it is once. A letter that cannot be kept
(a full disk) is lost and logged, for the failure must be told all the same.

The broker itself is told no maximum: a message that it stopped delivering would just stop arriving.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

import structlog

from firetrial_kit import trace
from firetrial_kit.bus import Consumer, Received
from firetrial_kit.errors import FiretrialError, Reason


class Delivery(Protocol):
    """One message in hand, as a broker gives it."""

    @property
    def received(self) -> Received: ...
    async def ack(self) -> None: ...
    async def back(self, delay: float) -> None: ...
    async def term(self) -> None: ...
    async def alive(self) -> None: ...

    async def bury(self, consumer: str, error: FiretrialError) -> None:
        """Keep the message among the dead letters, once. Raises UNAVAILABLE."""
        ...


async def settle(delivery: Delivery, consumer: Consumer, log: structlog.typing.FilteringBoundLogger) -> str:
    """Handle one delivery and settle it. Returns "done", "later" or "failed", and tells the consumer."""
    result = await _settle(delivery, consumer, log)
    consumer.settled(result)
    return result


async def _settle(delivery: Delivery, consumer: Consumer, log: structlog.typing.FilteringBoundLogger) -> str:
    received = delivery.received
    log = log.bind(consumer=consumer.name, subject=received.subject, delivered=received.delivered)
    with trace.bound(received.headers.get("traceparent"), key=received.headers.get("ce-subject", "")):
        heartbeat = asyncio.create_task(_heartbeat(delivery, consumer.ack_wait / 3))
        try:
            error = await _attempt(received, consumer, log)
            if error is None:
                await delivery.ack()
                return "done"
            if error.retryable and received.delivered < consumer.max_deliver:
                delay = _delay(error, consumer, received.delivered)
                log.warning("later", reason=error.reason, error=error.message, delay_s=delay)
                await delivery.back(delay)
                return "later"
            log.error("failed", reason=error.reason, error=error.message)
            return await _fail(delivery, consumer, error, log)
        except asyncio.CancelledError:
            await asyncio.shield(delivery.back(0))
            raise
        finally:
            heartbeat.cancel()


async def _attempt(
    received: Received, consumer: Consumer, log: structlog.typing.FilteringBoundLogger
) -> FiretrialError | None:
    # A handler that takes its whole process down never reports; its deliveries still count.
    if received.delivered > consumer.max_deliver:
        return FiretrialError(
            Reason.INTERNAL, f"given up after {received.delivered - 1} deliveries that ended without a word"
        )
    try:
        await consumer.handle(received)
    except FiretrialError as error:
        return error
    except Exception as error:
        log.exception("bug")
        return FiretrialError(Reason.INTERNAL, f"{type(error).__name__}: {error}")
    return None


async def _fail(
    delivery: Delivery, consumer: Consumer, error: FiretrialError, log: structlog.typing.FilteringBoundLogger
) -> str:
    try:
        await delivery.bury(consumer.name, error)
    except FiretrialError as fault:
        log.error("dead letter not kept", error=fault.message)  # noqa: TRY400 - the message says it
    try:
        await consumer.fail(delivery.received, error)
    except Exception:
        # Unannounced is worse than late: it comes back until the failure could be told.
        log.exception("failure not announced")
        await delivery.back(consumer.backoff[-1])
        return "later"
    await delivery.term()
    return "failed"


def _delay(error: FiretrialError, consumer: Consumer, delivered: int) -> float:
    pause = consumer.backoff[min(delivered, len(consumer.backoff)) - 1]
    return max(pause, error.retry_after or 0.0)


async def _heartbeat(delivery: Delivery, every: float) -> None:
    while True:
        await asyncio.sleep(every)
        await delivery.alive()
