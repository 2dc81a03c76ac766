"""The model gateway of a runner: one for all its runs, with a server of its own for each."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from typing import Any

import uvicorn

from firetrial_runner.allowance import ModelCaps
from firetrial_runner.flood import Flow, Turnstile
from firetrial_runner.gateway.app import VERSION, application
from firetrial_runner.gateway.budget import Budget
from firetrial_runner.gateway.call import Shared
from firetrial_runner.gateway.prices import Prices
from firetrial_runner.gateway.reserving import Reserving
from firetrial_runner.gateway.server import server
from firetrial_runner.gateway.session import Record, Session, always
from firetrial_runner.gateway.upstream import Upstream
from firetrial_runner.gateway.wallet import Wallet

FLOW = Flow(at_once=512, per_s=200.0, burst=1024)
"""Of one run's connections: more are turned away."""
_PATIENCE_S = 5.0
"""Seconds that calls under way may take to end after their run."""


class Gateway:
    """`shared` holds the lines to the upstreams; closing the gateway closes them."""

    def __init__(
        self, shared: Shared, prices: Prices, *, refuse_unpriced: bool = False, flow: Flow = FLOW
    ) -> None:
        self._shared, self._prices, self._refuse_unpriced = shared, prices, refuse_unpriced
        self._flow = flow

    def open(
        self, caps: ModelCaps, purse: Wallet | None, record: Record, holds: Callable[[], bool] = always
    ) -> Door:
        """A run's own door to it, through which nothing passes once the runner no longer `holds` the run."""
        turnstile = Turnstile(self._flow, self._shared.metrics.turned_away)
        session = Session(record, turnstile, holds)
        reserving = Reserving(Budget(caps), purse, self._prices, self._refuse_unpriced)
        return Door(session, application(session, reserving, self._shared))

    @property
    def upstreams(self) -> list[Upstream]:
        """Where its models are, in the order in which one is looked for."""
        return [line.upstream for line in self._shared.lines.values()]

    async def aclose(self) -> None:
        for line in self._shared.lines.values():
            await line.aclose()


class Door:
    """Where one run reaches the gateway; `serve` and `environment` are what a sandbox asks of it."""

    def __init__(self, session: Session, app: Callable[..., Any]) -> None:
        self.session = session
        self.app = app
        self._servers: list[tuple[uvicorn.Server, asyncio.Task[None]]] = []

    def environment(self, url: str) -> Mapping[str, str]:
        """What the agent is told; `url` is where it reaches what `serve` serves."""
        token = self.session.token
        return {
            "OPENAI_BASE_URL": url + VERSION,
            "OPENAI_API_BASE": url + VERSION,
            "OPENAI_API_KEY": token,
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": token,
        }

    def serve(self, listener: socket.socket) -> None:
        """Answer on a listening socket, which is taken over."""
        answering = server(self.app, self.session.turnstile)
        listener.setblocking(False)
        self._servers.append((answering, asyncio.create_task(answering.serve([listener]))))

    async def aclose(self, patience_s: float = _PATIENCE_S) -> None:
        """The run is over: its token is dead, and what is under way has so long to end."""
        await self.session.close(patience_s)
        for answering, _ in self._servers:
            answering.should_exit = True
        await asyncio.gather(*(task for _, task in self._servers))
        self._servers.clear()
