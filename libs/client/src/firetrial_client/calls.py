"""How every method of the SDK calls its service: deadline, trace, errors, pages, uploads, watches."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from typing import IO, Any, Self, TypeVar, cast

import grpc

from firetrial_client import endpoints
from firetrial_client.channel import Channels
from firetrial_client.errors import FiretrialError, Reason
from firetrial_client.patience import Patience
from firetrial_client.status import decode
from firetrial_client.uploads import PIECE

Q = TypeVar("Q")
A = TypeVar("A")
# A watch keeps one connection for so long, then asks anew: no call is without a deadline.
WATCH_SPAN = 600.0
# Uploads and downloads take as long as their bytes do.
TRANSFER = 900.0
PAGE = 200
_TRACE = re.compile(r"00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


class Caller:
    """Connections to one Firetrial, and the ways to call it.

    `endpoint` is `host:port`, or `parser=host:port,runner=…`; without it FIRETRIAL_ENDPOINT, else what
    `firetrial up` runs here. `timeout` is the deadline of a single call in seconds. `patience` is how many
    seconds a watch goes on while its service is away. `traceparent` (W3C) makes the calls part of a trace.
    Raises INVALID for settings that are wrong.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        timeout: float = 30.0,
        patience: float = 300.0,
        traceparent: str = "",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        variables = os.environ if environ is None else environ
        tls, token = endpoints.find_tls(variables), endpoints.find_token(variables)
        self._channels = Channels(lambda: endpoints.find(endpoint, variables), tls, token)
        self._timeout = timeout
        self._patience = patience
        self._span = WATCH_SPAN
        match = _TRACE.fullmatch(traceparent)
        self._trace = match[1] if match else ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; calls that are going on end."""
        await self._channels.close()

    def _metadata(self, service: str) -> tuple[tuple[str, str], ...]:
        """Health and identity are every service's: one endpoint for all must be told whose is meant."""
        trace = self._trace or secrets.token_hex(16)
        told = (("traceparent", f"00-{trace}-{secrets.token_hex(8)}-01"), ("firetrial-service", service))
        return (*told, *self._channels.introduction)

    @contextmanager
    def _errors(self, service: str) -> Iterator[None]:
        """Turn what gRPC raises into FiretrialError."""
        where = f"the {service} service at {self._channels.address(service)}"
        try:
            yield
        except grpc.RpcError as error:
            raise decode(cast("grpc.Call", error), where) from None  # every such error is its call, too
        except asyncio.CancelledError:
            # gRPC raises this also where the *server* cancelled the call, as it does when it stops.
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise FiretrialError(Reason.CANCELLED, f"{where} cancelled the call") from None

    async def _one(
        self,
        service: str,
        method: Callable[[], grpc.aio.UnaryUnaryMultiCallable[Q, A]],
        request: Q,
        timeout: float | None = None,
    ) -> A:
        """One answer. Where the service has moved meanwhile, it is asked at its new address."""

        async def ask() -> A:
            with self._errors(service):
                metadata = self._metadata(service)
                return await method()(request, timeout=timeout or self._timeout, metadata=metadata)

        try:
            return await ask()
        except FiretrialError as error:
            if error.reason != Reason.UNAVAILABLE or not await self._channels.refresh():
                raise
        return await ask()

    async def _stream(
        self,
        service: str,
        method: Callable[[], grpc.aio.UnaryStreamMultiCallable[Q, A]],
        request: Q,
        timeout: float = TRANSFER,
    ) -> AsyncGenerator[A, None]:
        """Each answer as it comes."""
        call: Any = None
        try:
            with self._errors(service):
                call = method()(request, timeout=timeout, metadata=self._metadata(service))
                async for answer in call:
                    yield answer
        finally:
            if call is not None:
                call.cancel()

    async def _pages(
        self,
        service: str,
        method: Callable[[], grpc.aio.UnaryUnaryMultiCallable[Any, Any]],
        request: Any,
        field: str,
    ) -> AsyncGenerator[Any, None]:
        """The items in `field` of every page; a page is asked for when it is needed."""
        request.page_size = PAGE
        while True:
            page = await self._one(service, method, request)
            for item in getattr(page, field):
                yield item
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def _upload(
        self,
        service: str,
        method: Callable[[grpc.Channel], grpc.StreamUnaryMultiCallable[Q, A]],
        header: Q,
        body: IO[bytes],
        piece: Callable[[bytes], Q],
    ) -> A:
        """Send a header and the body in pieces until all is sent or the service has answered."""
        over = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wake(_: object) -> None:
            loop.call_soon_threadsafe(over.set)

        with self._errors(service), self._channels.blocking(service) as channel:
            call = method(channel).future(
                _parts(header, body, piece), timeout=TRANSFER, metadata=self._metadata(service)
            )
            call.add_done_callback(wake)
            try:
                await over.wait()
            except asyncio.CancelledError:
                call.cancel()  # type: ignore[no-untyped-call]
                raise
            return call.result()

    async def _watch(
        self,
        service: str,
        method: Callable[[], grpc.aio.UnaryStreamMultiCallable[Q, A]],
        request: Callable[[], Q],
        *,
        timeout: float | None,
        appear: float = 0.0,
        silent: bool = False,
    ) -> AsyncGenerator[A, None]:
        """Each answer over as many connections as it takes; `request` is made anew for each.

        `silent` is for a service that was just heard and may have nothing to say for long.
        """
        patience = Patience(quiet=self._patience, appear=appear, timeout=timeout, clock=time.monotonic)
        if silent:
            patience.heard()
        while True:
            left = patience.left()
            span = self._span if left is None else max(min(self._span, left), 0.001)
            try:
                async with aclosing(self._stream(service, method, request(), span)) as answers:
                    async for answer in answers:
                        patience.heard()
                        yield answer
            except FiretrialError as error:
                pause = patience.pause_after(error)
                await asyncio.sleep(pause)
                if error.reason == Reason.UNAVAILABLE:
                    await self._channels.refresh()
            else:
                return

    async def _changes(
        self,
        service: str,
        method: Callable[[], grpc.aio.UnaryStreamMultiCallable[Q, A]],
        request: Q,
        resource: Callable[[A], Any],
        *,
        timeout: float | None,
        appear: float = 0.0,
    ) -> AsyncGenerator[Any, None]:
        """The resources of a Watch call, each time one is not as it was last seen."""
        seen: dict[str, bytes] = {}
        watching = self._watch(service, method, lambda: request, timeout=timeout, appear=appear)
        async with aclosing(watching) as answers:
            async for answer in answers:
                found = resource(answer)
                now = found.SerializeToString(deterministic=True)
                name = getattr(found, "id", "")
                if seen.get(name) != now:
                    seen[name] = now
                    yield found


def _parts(header: Q, body: IO[bytes], piece: Callable[[bytes], Q]) -> Iterator[Q]:
    """Read by gRPC in a thread of its own, ahead of the network by one piece."""
    yield header
    # A closed body means that the call is over and nobody waits for the rest.
    with suppress(ValueError):
        while chunk := body.read(PIECE):
            yield piece(chunk)
