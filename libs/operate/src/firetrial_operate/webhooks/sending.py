"""One attempt to send an event to an endpoint, and what its answer means."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from importlib import metadata

import httpcore

from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError
from firetrial_operate.webhooks.cloud_event import CloudEvent
from firetrial_operate.webhooks.endpoint import Endpoint
from firetrial_operate.webhooks.guard import GuardedBackend
from firetrial_operate.webhooks.signing import signed

_AGAIN = {408, 425, 429}
_READ = 16 * 1024
"""Bytes of an answer that are read. Nothing in it counts, but a connection is used again once it was read."""
_IDLE = 30.0
_AGENT = f"firetrial-webhooks/{metadata.version('firetrial-operate')}"


@dataclass(frozen=True, slots=True)
class Delivered:
    status: int


@dataclass(frozen=True, slots=True)
class Later:
    """It may work another time; `retry_after` in seconds, where the receiver names it."""

    why: str
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True)
class Refused:
    """It will not work."""

    why: str


Answer = Delivered | Later | Refused


class Sender:
    """Sends to one endpoint, at most `at_once` events at a time. Redirects are not followed."""

    def __init__(self, endpoint: Endpoint, clock: Clock) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._turn = asyncio.Semaphore(endpoint.at_once)
        self._backend = GuardedBackend(endpoint.allow, endpoint.at_once)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl.create_default_context(cafile=endpoint.ca or None),
            max_connections=endpoint.at_once,
            keepalive_expiry=_IDLE,
            network_backend=self._backend,
        )

    async def aclose(self) -> None:
        await self._pool.aclose()
        self._backend.close()

    async def send(self, event: CloudEvent, observe: Callable[[float], None] = lambda _: None) -> Answer:
        """What came of one attempt; `observe` is told its seconds."""
        async with self._turn:
            began = self._clock.monotonic()
            try:
                async with asyncio.timeout(self._endpoint.timeout):
                    return await self._post(event)
            except TimeoutError:
                return Later(f"no answer within {self._endpoint.timeout:g} s")
            except FiretrialError as error:
                return Refused(error.message)
            except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
                return Later(f"{type(error).__name__}: {error}")
            finally:
                observe(self._clock.monotonic() - began)

    async def _post(self, event: CloudEvent) -> Answer:
        at = int(self._clock.now().timestamp())
        headers = {
            **self._endpoint.headers,
            "content-type": "application/cloudevents+json",
            "user-agent": _AGENT,
            **({"traceparent": event.traceparent} if event.traceparent else {}),
            **signed(self._endpoint.secrets, event.webhook_id, at, event.body),
        }
        async with self._pool.stream(
            "POST", self._endpoint.url, headers=list(headers.items()), content=event.body
        ) as response:
            return await self._answer(response)

    async def _answer(self, response: httpcore.Response) -> Answer:
        answer = self._meaning(response)
        with suppress(httpcore.NetworkError, httpcore.ProtocolError):  # the status has come, and counts
            seen = 0
            async for piece in response.aiter_stream():
                seen += len(piece)
                if seen > _READ:
                    break
        return answer

    def _meaning(self, response: httpcore.Response) -> Answer:
        status = response.status
        if 200 <= status < 300:
            return Delivered(status)
        if status in _AGAIN or status >= 500:
            return Later(f"HTTP {status}", self._retry_after(response))
        where = ", a redirect, which is not followed" if 300 <= status < 400 else ""
        return Refused(f"HTTP {status}{where}")

    def _retry_after(self, response: httpcore.Response) -> float:
        """RFC 9110, 10.2.3: seconds or a date. 0 where it says neither."""
        told = next((value for name, value in response.headers if name.lower() == b"retry-after"), b"")
        text = told.decode("ascii", "replace").strip()
        if text.isascii() and text.isdigit():
            return float(text[:9])
        with suppress(ValueError, TypeError, OverflowError):
            return max(0.0, (parsedate_to_datetime(text) - self._clock.now()).total_seconds())
        return 0.0
