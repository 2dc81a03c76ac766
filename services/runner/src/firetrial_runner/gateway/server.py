"""The HTTP server of one run's door: uvicorn, whose connections are counted and whose heads are timed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from firetrial_runner.flood import Turnstile

HEAD_S = 30.0
"""Seconds in which the head of a request has to come, from the connection's begin or its own."""


def server(app: Callable[..., Any], turnstile: Turnstile, head_s: float = HEAD_S) -> uvicorn.Server:
    """One that answers by `app`, and lets in whom the turnstile does."""
    config = uvicorn.Config(
        app,
        http=partial(_Bounded, turnstile, head_s),  # type: ignore[arg-type]  # called as the class is
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
    )
    return _Server(config)


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the runner's."""
        yield


class _Bounded(H11Protocol):
    def __init__(self, turnstile: Turnstile, head_s: float, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._turnstile, self._head_s = turnstile, head_s
        self._inside = False
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._inside = self._turnstile.enter()
        if not self._inside:
            transport.abort()
            return
        # asyncio does this only for sockets that name their protocol; without, small answers wait 40 ms.
        connection = transport.get_extra_info("socket")
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)
        self._late = self.loop.call_later(self._head_s, transport.abort)

    def data_received(self, data: bytes) -> None:
        if not self._inside:
            return
        super().data_received(data)
        waits = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        if waits and self._late is None:
            self._late = self.loop.call_later(self._head_s, self.transport.abort)
        elif not waits:
            self._in_time()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._inside:
            self._inside = False
            self._in_time()
            self._turnstile.leave()
            super().connection_lost(exc)

    def _in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
