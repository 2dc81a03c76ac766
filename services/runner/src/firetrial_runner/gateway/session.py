"""A run's part of the gateway: its token, its budget, and what it has used. It ends with the run."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from firetrial_kit import trace
from firetrial_runner.flood import Room, Turnstile
from firetrial_runner.gateway.exchange import Exchange, Tokens
from firetrial_runner.gateway.faults import TENANT, Kind, Refusal
from firetrial_runner.gateway.line import POLL_S, UpstreamError
from firetrial_runner.run import ModelTrouble, RunUsage

_TOLD = 200
"""Calls that were not passed on and become steps; the rest are counted."""

ROOM = 288 * 1024 * 1024
"""Bytes that requests under way may take of the runner's memory."""

_WHOSE = "the key must be the run's own, which lives as long as the run"

Record = Callable[[str, dict[str, object]], Awaitable[None]]


class RunClock(Protocol):
    """A run's time limit, which can be stopped."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...


def always() -> bool:
    """Of a run that nobody can take over."""
    return True


class Session:
    """`record` keeps a step: in one line, and in full. `holds` tells whether the runner still has the run.

    `traceparent` is what calls are children of; no agent is told it.
    """

    def __init__(
        self,
        record: Record,
        turnstile: Turnstile,
        holds: Callable[[], bool] = always,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.token = secrets.token_urlsafe(32)
        self.turnstile, self.room = turnstile, Room(ROOM)
        self.holds = holds
        self.run_clock: RunClock | None = None
        self.traceparent = trace.current()
        self._record, self._clock = record, clock
        self._calls: set[asyncio.Task[object]] = set()
        self._open = True
        self._tokens: Tokens | None = Tokens()
        self._usd = 0.0
        self._model_calls = self._unpriced = self._untold = 0
        self._waiting, self._waited_s, self._since = 0, 0.0, 0.0
        self._over_budget = ""
        self._down: dict[str, UpstreamError] = {}

    def admit(self, token: str) -> None:
        """Raises Refusal for any token but the run's own, and for that one too once the run is over."""
        if not hmac.compare_digest(token.encode(), self.token.encode()) or not self._open:
            raise Refusal(Kind.TOKEN, _WHOSE)

    async def held(self) -> None:
        """Wait until the run is this runner's for certain: a lease that is over is renewed soon, or lost.

        Raises Refusal once the run is over.
        """
        with self.waiting():
            while not self.holds():
                if not self._open:
                    raise Refusal(Kind.TOKEN, _WHOSE)
                await asyncio.sleep(POLL_S)

    @contextmanager
    def calling(self) -> Iterator[None]:
        """A call is under way while inside."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 -- a coroutine runs in one
        self._calls.add(task)
        try:
            yield
        finally:
            self._calls.discard(task)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """The run's clock stands still while a call is inside: what it waits for is not its doing."""
        run_clock = self.run_clock
        if not self._waiting:
            self._since = self._clock()
        self._waiting += 1
        if run_clock is not None:
            run_clock.pause()
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._waited_s += self._clock() - self._since
            if run_clock is not None:
                run_clock.resume()

    async def tell(self, exchange: Exchange) -> None:
        """Keep the exchange as a step; of those that were not passed on, the first ones."""
        if exchange.refused or not exchange.upstream:
            self._untold += 1
            if self._untold > _TOLD:
                return
        await self._record(exchange.text, exchange.told())

    def count(self, exchange: Exchange) -> None:
        """A model has done something for the run."""
        self._model_calls += 1
        if exchange.cost_usd is None:
            self._unpriced += 1
        else:
            self._usd += exchange.cost_usd
        had, new = self._tokens, exchange.tokens
        self._tokens = had + new if had is not None and new is not None else None

    def refused(self, model: str, refusal: Refusal) -> None:
        """A call was not passed on."""
        if refusal.kind is Kind.BUDGET and refusal.budget == TENANT:
            # Not the agent's own cap: it would have gone on, had there been money.
            self._down[TENANT] = UpstreamError(refusal.message, lasting=True)
        elif refusal.kind is Kind.BUDGET:
            self._over_budget = self._over_budget or refusal.message
        if refusal.kind is Kind.PRICE:
            self._down[model] = UpstreamError(refusal.message, lasting=True)

    def works(self, upstream: str) -> None:
        """An upstream answered: what it failed at before is over."""
        self._down.pop(upstream, None)

    def failed(self, upstream: str, error: UpstreamError) -> None:
        """An upstream could not be had."""
        self._down[upstream] = error

    async def close(self, patience_s: float) -> None:
        """The run is over: the token is dead, and calls under way have so long to end."""
        self._open = False
        if self._calls:
            _, late = await asyncio.wait(self._calls, timeout=patience_s)
            for call in late:
                call.cancel()
            if late:
                await asyncio.wait(late)
        if self._untold > _TOLD:
            told = f"{self._untold - _TOLD} more calls were refused, or broken off"
            await self._record(told, {"refused": told})
        if told := self.turnstile.told:
            await self._record(told, {"turned_away": self.turnstile.turned_away})

    def trouble(self) -> ModelTrouble:
        down = "; ".join(error.message for error in self._down.values())
        lasting = bool(self._down) and all(error.lasting for error in self._down.values())
        return ModelTrouble(self._over_budget, down, lasting)

    @property
    def waited_s(self) -> float:
        """Seconds in which at least one call waited for an upstream that was busy or broken."""
        return self._waited_s

    def used(self, usage: RunUsage) -> RunUsage:
        """`usage` with what the models did."""
        tokens = self._tokens
        return replace(
            usage,
            cost_usd=None if self._unpriced else self._usd,
            tokens=tokens.total if tokens else None,
            cached_tokens=tokens.cached if tokens else None,
            prompt_tokens=tokens.prompt if tokens else None,
            completion_tokens=tokens.completion if tokens else None,
            model_calls=self._model_calls,
            unpriced_calls=self._unpriced,
        )
