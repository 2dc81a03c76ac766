"""A run's way to the network: a proxy on a port of its own loopback, for as long as it runs."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import h11

from firetrial_runner.egress.contacts import Contact, Contacts, Visit
from firetrial_runner.egress.outside import Ends, Outside, UnreachableError
from firetrial_runner.egress.policy import Policy, RefusedError, Target
from firetrial_runner.egress.proxy import Connection
from firetrial_runner.flood import Flow, Turnstile
from firetrial_runner.metrics import EgressMetrics

_TOLD = 200
"""Visits that become steps; the rest are counted. Denied ones have as many of their own."""

FLOW = Flow(at_once=64, per_s=100.0, burst=500)
BYTES = 16 * 1024**3
"""Of one run in both directions, where its operator says nothing else."""

Record = Callable[[str, Mapping[str, Mapping[str, object]]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Caps:
    """Of one run: bytes in both directions, connections in all and as they come."""

    bytes: int = BYTES
    connections: int = 100_000
    flow: Flow = FLOW


class Egress:
    """`record` keeps a step: in one line, and in full. `serve` and `environment` are what a sandbox asks."""

    def __init__(
        self, policy: Policy, record: Record, outside: Outside, caps: Caps, metrics: EgressMetrics
    ) -> None:
        self._policy, self._record, self._outside, self._caps = policy, record, outside, caps
        self._metrics = metrics
        self._turnstile = Turnstile(caps.flow, metrics.turned_away)
        self._contacts = Contacts()
        self._servers: list[asyncio.Task[asyncio.Server]] = []
        self._visitors: set[asyncio.Task[None]] = set()
        self._bytes = self._connections = 0
        self._told = {False: 0, True: 0}
        self._got_through = False
        self._down = ""

    def environment(self, url: str) -> Mapping[str, str]:
        """What the agent is told, in the spellings that programs know."""
        told = {"http_proxy": url, "https_proxy": url, "no_proxy": "127.0.0.1,localhost"}
        return {**told, **{name.upper(): value for name, value in told.items()}, "NODE_USE_ENV_PROXY": "1"}

    def serve(self, listener: socket.socket) -> None:
        """Answer on a listening socket, which is taken over."""
        listener.setblocking(False)
        starting = asyncio.start_server(self._begin, sock=listener, limit=64 * 1024, backlog=512)
        self._servers.append(asyncio.create_task(starting))

    async def aclose(self) -> None:
        """The run is over: what is under way is cut, and told."""
        for starting in self._servers:
            (await starting).close()
        for visitor in self._visitors:
            visitor.cancel()
        await asyncio.gather(*self._visitors, return_exceptions=True)
        self._outside.close()
        await self._tell_of_the_rest()

    async def _tell_of_the_rest(self) -> None:
        if told := self._turnstile.told:
            await self._record(told, {"contact": {"turned_away": self._turnstile.turned_away}})
        for denied, count in self._told.items():
            if count > _TOLD:
                kind = "refused contacts with denied hosts" if denied else "contacts"
                await self._record(f"{count - _TOLD} more {kind}", {"contact": {"more": count - _TOLD}})

    @property
    def contacts(self) -> tuple[Contact, ...]:
        return self._contacts.all()

    @property
    def down(self) -> str:
        """Why nothing outside could be reached, where that was this machine's fault; ""."""
        return "" if self._got_through else self._down

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._turnstile.enter():
            writer.transport.abort()
            return
        self._connections += 1
        visitor = asyncio.create_task(self._receive(reader, writer))
        self._visitors.add(visitor)
        visitor.add_done_callback(self._over)

    def _over(self, visitor: asyncio.Task[None]) -> None:
        self._visitors.discard(visitor)
        self._turnstile.leave()

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection((reader, writer), self._policy, self._reach, self._spend)
        try:
            with suppress(OSError, h11.ProtocolError):
                await connection.conduct()
        finally:
            await asyncio.shield(self._tell(connection.visit))

    async def _reach(self, target: Target) -> Ends:
        self._spend(0)
        try:
            ends = await self._outside.reach(target, self._policy)
        except UnreachableError as error:
            if error.ours:
                self._down = f"{target.host[:253]}: {error.why}"
            raise
        self._got_through = True
        return ends

    def _spend(self, count: int) -> None:
        """Raises RefusedError once the run has had its share."""
        self._bytes += count
        if self._bytes > self._caps.bytes:
            raise RefusedError(f"the run has had its {self._caps.bytes} bytes of the network")
        if self._connections > self._caps.connections:
            raise RefusedError(f"the run has had its {self._caps.connections} connections")

    async def _tell(self, visit: Visit) -> None:
        if not (visit.host or visit.refused):
            return
        self._contacts.add(visit)
        self._metrics.visited(self._policy.reach, visit)
        self._told[visit.denied] += 1
        if self._told[visit.denied] <= _TOLD:
            await self._record(visit.text, {"contact": visit.told()})
