"""One call of an agent, from its first byte to the step that tells of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import httpx

from firetrial_kit import trace
from firetrial_runner.gateway import ask as asking
from firetrial_runner.gateway.answer import Answer, Send
from firetrial_runner.gateway.ask import Ask, InHand, Receive
from firetrial_runner.gateway.endpoints import Endpoint
from firetrial_runner.gateway.exchange import Exchange, shortened
from firetrial_runner.gateway.faults import Kind, Refusal
from firetrial_runner.gateway.line import GoneError, Line, UpstreamError, Wait
from firetrial_runner.gateway.masking import Masker
from firetrial_runner.gateway.reserving import Reserved, Reserving
from firetrial_runner.gateway.session import Session
from firetrial_runner.metrics import GatewayMetrics

_BROKEN = (httpx.TransportError, httpx.StreamError, ValueError, TimeoutError)


@dataclass(frozen=True, slots=True)
class Shared:
    """What all runs have in common. `lines` are by the upstream's name, in the order of the settings."""

    lines: Mapping[str, Line]
    masker: Masker
    metrics: GatewayMetrics


@dataclass(frozen=True, slots=True)
class Calls:
    """A run's calls of one endpoint, as an ASGI application."""

    endpoint: Endpoint
    session: Session
    reserving: Reserving
    shared: Shared

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        exchange = Exchange(self.endpoint.path[1:])
        in_hand = InHand(self.session.room)
        with (
            self.session.calling(),
            trace.bound(self.session.traceparent),
            trace.span(self.endpoint.path[1:], trace.Kind.CLIENT) as span,
        ):
            try:
                await self._take(headers, exchange, in_hand, receive, send)
            except Refusal as refusal:
                await self._refuse(refusal, exchange, send)
            except (GoneError, ConnectionError):
                exchange.fault = "the agent hung up before it was answered"
            except asyncio.CancelledError:
                exchange.fault = exchange.fault or "the run ended meanwhile"
                raise
            finally:
                await in_hand.become(0)
                _note(span, exchange, self._entry(exchange))
                await asyncio.shield(self.session.tell(exchange))

    async def _take(
        self, headers: Mapping[str, str], exchange: Exchange, in_hand: InHand, receive: Receive, send: Send
    ) -> None:
        self.session.admit(asking.token(headers))
        await self.session.held()
        raw = await in_hand.read(receive)
        exchange.request_bytes = len(raw)
        exchange.request = self.shared.masker.mask_text(shortened(raw.decode(errors="replace")))
        body = asking.load(raw)
        exchange.model = str(body.get("model"))[:200]
        ask = asking.checked(self.endpoint, body, raw, [line.upstream for line in self.shared.lines.values()])
        exchange.upstream = ask.upstream.name
        wait = Wait(asyncio.Event(), self.session.waiting, self.session.holds)
        leaving = asyncio.create_task(_leaving(receive, wait.gone))
        try:
            reserved = await self.reserving.reserve(ask) if self.endpoint.paid else None
            await self._conduct(ask, reserved, headers, Answer(ask, exchange, self.shared.masker, send, wait))
        finally:
            leaving.cancel()

    async def _conduct(
        self, ask: Ask, reserved: Reserved | None, headers: Mapping[str, str], answer: Answer
    ) -> None:
        """Ask, pass the answer on, and settle: whatever happens, exactly once."""
        begun = time.monotonic()
        exchange, wait = answer.exchange, answer.wait
        paid = True  # unless it is known that nothing was done
        try:
            opened = await self.shared.lines[ask.upstream.name].open(
                ask.endpoint.path, ask.sent(), headers, wait
            )
            paid = opened.response.status_code < 300
            try:
                await answer.pass_on(opened.response)
            finally:
                await opened.aclose()
        except UpstreamError as error:
            paid = error.unknown
            self.session.failed(ask.upstream.name, error)
            exchange.status = Kind.UPSTREAM.status(self.endpoint.dialect)
            raise Refusal(Kind.UPSTREAM, error.message) from error
        except GoneError:
            paid = False
            raise
        except _BROKEN as error:
            exchange.fault = f"the answer broke off: {type(error).__name__}"
        finally:
            exchange.latency_s = time.monotonic() - begun
            exchange.attempts, exchange.waited_s = wait.attempts, wait.waited_s
            await asyncio.shield(self._settle(ask, reserved, answer, paid=paid))

    async def _settle(self, ask: Ask, reserved: Reserved | None, answer: Answer, *, paid: bool) -> None:
        exchange, tokens = answer.exchange, answer.tokens
        if paid:
            exchange.tokens = tokens
            exchange.cost_usd = self.reserving.cost(ask, tokens) if tokens else None
            if tokens is None:
                exchange.notes.append("what it came to is unknown, and was counted as what was set aside")
        if reserved is not None:
            await (reserved.settle(tokens, exchange.cost_usd) if paid else reserved.release())
        if paid and self.endpoint.paid:
            self.session.count(exchange)
        if exchange.status and exchange.status < 500:
            self.session.works(ask.upstream.name)
        self.shared.metrics.exchanged(ask.upstream.name, ask.upstream.entry(ask.model), exchange)

    def _entry(self, exchange: Exchange) -> str:
        line = self.shared.lines.get(exchange.upstream)
        return line.upstream.entry(exchange.model) if line else ""

    async def _refuse(self, refusal: Refusal, exchange: Exchange, send: Send) -> None:
        exchange.status = refusal.kind.status(self.endpoint.dialect)
        exchange.refused = refusal.message
        self.shared.metrics.refused(refusal.kind.name.lower())
        if refusal.kind is Kind.BUDGET:
            self.shared.metrics.over_budget(refusal.budget)
        self.session.refused(exchange.model, refusal)
        body = refusal.kind.body(self.endpoint.dialect, refusal.message)
        await respond(send, exchange.status, body)


def _note(span: trace.Span, exchange: Exchange, entry: str) -> None:
    """What a call came to, in OpenTelemetry's words for models: no word of the request or its answer.

    Of the model's name the `entry` that allows it, "" where none does: an agent can say anything there.
    """
    told: dict[str, trace.Value] = {
        "gen_ai.operation.name": "embeddings" if exchange.endpoint == "embeddings" else "chat",
        "http.response.status_code": exchange.status,
        "firetrial.attempts": exchange.attempts,
        "firetrial.waited_s": exchange.waited_s,
    }
    if exchange.upstream:
        told["gen_ai.provider.name"] = exchange.upstream
        told["gen_ai.request.model"] = entry
    if exchange.tokens is not None:
        told["gen_ai.usage.input_tokens"] = exchange.tokens.prompt
        told["gen_ai.usage.output_tokens"] = exchange.tokens.completion
    if exchange.cost_usd is not None:
        told["firetrial.cost_usd"] = exchange.cost_usd
    span.note(told)
    if exchange.refused or exchange.fault or exchange.status >= 400:
        span.fail("refused" if exchange.refused else "broke_off" if exchange.fault else str(exchange.status))


async def respond(send: Send, status: int, body: bytes) -> None:
    """A whole answer of the gateway's own; vendors' clients are told not to try it again.

    The connection ends with it: the request may not have been read to its end, nor have one.
    """
    headers = [
        (b"connection", b"close"),
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"x-should-retry", b"false"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _leaving(receive: Receive, gone: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    gone.set()
