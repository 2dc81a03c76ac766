"""The line to an upstream, which all runs share: connections, pace, and patience with its refusals."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import httpx

from firetrial_kit import trace
from firetrial_kit.pace import Pace, Turn
from firetrial_runner.gateway.upstream import Dialect, Upstream

_CONNECT_S = 10.0
_FIRST_BACKOFF_S, _LONGEST_BACKOFF_S = 0.5, 30.0
POLL_S = 0.05
"""Seconds between looks at whether the run is still this runner's."""
_TOLD = 64 * 1024
"""Bytes of an error that are read."""
_PASSING = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_OURS = frozenset({401, 402, 403, 407})
"""About our key or our account: nothing that the agent did, and nothing that it is shown."""
_BROKE = (b"insufficient_quota", b"billing_hard_limit", b"credit balance")
# What an agent may say beside its body, such as the version and the betas of an API.
_HEADERS = ("anthropic-version", "anthropic-beta", "openai-beta", "accept")


class UpstreamError(Exception):
    """It could not be had. `lasting` where another try later would find it so too.

    `unknown` where it may have done what it was asked, and be paid for it.
    """

    def __init__(self, message: str, *, lasting: bool = False, unknown: bool = False) -> None:
        super().__init__(message)
        self.message, self.lasting, self.unknown = message, lasting, unknown


class GoneError(Exception):
    """The agent hung up while it waited."""


@dataclass(slots=True)
class Wait:
    """How a call waits: `gone` is set when the agent hangs up, `clock` stops the run's while it is inside.

    `holds` tells whether its run is still this runner's: another that made a new attempt pays for that one.
    """

    gone: asyncio.Event
    clock: Callable[[], AbstractContextManager[None]]
    holds: Callable[[], bool]
    attempts: int = 0
    waited_s: float = 0.0


class Opened:
    """An answer that has begun. To be closed."""

    def __init__(self, response: httpx.Response, pace: Pace) -> None:
        self.response = response
        self._pace: Pace | None = pace

    async def aclose(self) -> None:
        pace, self._pace = self._pace, None
        if pace is not None:
            pace.leave()
            await self.response.aclose()


class Line:
    """`transport` is httpx's own; the client over it would add nothing here but its time."""

    def __init__(self, upstream: Upstream, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.upstream = upstream
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=upstream.at_once)
        self._transport = transport or httpx.AsyncHTTPTransport(limits=limits)
        self._pace = Pace(upstream.at_once, clock=time.monotonic)
        read = upstream.read_timeout_s
        self._timeouts = {"connect": _CONNECT_S, "read": read, "write": read, "pool": None}
        self._urls: dict[str, httpx.URL] = {}

    async def open(self, path: str, body: bytes, said: Mapping[str, str], wait: Wait) -> Opened:
        """Ask, again and again while the answer is one that passes.

        Raises UpstreamError, or GoneError where the agent did not wait so long.
        """
        deadline = time.monotonic() + self.upstream.patience_s
        request = self._request(path, body, said)
        while True:
            turn = await self._enter(wait)
            try:
                opened, why, hint = await self._once(request, turn)
            except BaseException:
                self._pace.leave()
                raise
            if opened is not None:
                return opened
            self._pace.leave()
            pause = hint if hint is not None else _backoff(wait.attempts)
            if time.monotonic() + pause > deadline:
                raise UpstreamError(f"{self.upstream.name} {why}, {wait.attempts} times")
            await _pause(wait, pause)

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def _enter(self, wait: Wait) -> Turn:
        with wait.clock():
            turn = await self._pace.enter()
            while not (wait.holds() or wait.gone.is_set()):  # renewed soon, or the run is ended
                self._pace.leave()
                await asyncio.sleep(POLL_S)
                turn = await self._pace.enter()
        wait.waited_s += turn.waited
        if wait.gone.is_set():
            self._pace.leave()
            raise GoneError
        wait.attempts += 1
        return turn

    async def _once(self, request: httpx.Request, turn: Turn) -> tuple[Opened | None, str, float | None]:
        """(the answer, why there is none yet, how long it asks to wait)."""
        try:
            response = await self._transport.handle_async_request(request)
        except (
            httpx.ConnectError,
            httpx.ConnectTimeout,
            httpx.RemoteProtocolError,
            httpx.ReadError,
        ) as error:
            return None, f"cannot be reached: {type(error).__name__}", None
        except httpx.TransportError as error:  # it may have been done: not again
            why = f"{self.upstream.name} did not answer: {type(error).__name__}"
            raise UpstreamError(why, unknown=True) from error
        status = response.status_code
        if status < 300 or (400 <= status < 500 and status not in _PASSING | _OURS):
            if response.headers.get("content-encoding", "identity") != "identity":
                await response.aclose()
                raise UpstreamError(f"{self.upstream.name} answers compressed", lasting=True)
            self._pace.answered()
            return Opened(response, self._pace), "", None
        told = await _told(response)
        why = f"answered {status}"
        if status in _OURS or any(word in told for word in _BROKE):
            raise UpstreamError(f"{self.upstream.name} {why}: about our key or account", lasting=True)
        if status not in _PASSING or response.headers.get("x-should-retry") == "false":
            raise UpstreamError(f"{self.upstream.name} {why}", lasting=status < 500)
        hint = retry_after(response.headers)
        if status == 429:
            self._pace.refused(turn, hint)
        return None, why, hint

    def _request(self, path: str, body: bytes, said: Mapping[str, str]) -> httpx.Request:
        if path not in self._urls:
            self._urls[path] = httpx.URL(self.upstream.url.rstrip("/") + path)
        headers = {name: said[name] for name in _HEADERS if name in said}
        headers |= {"content-type": "application/json", "accept-encoding": "identity"}
        if self.upstream.dialect is Dialect.ANTHROPIC:
            headers = {"anthropic-version": "2023-06-01", **headers, "x-api-key": self.upstream.key}
        elif self.upstream.key:
            headers["authorization"] = f"Bearer {self.upstream.key}"
        if self.upstream.trace:
            headers["traceparent"] = trace.current()
        extensions = {"timeout": self._timeouts}
        return httpx.Request("POST", self._urls[path], headers=headers, content=body, extensions=extensions)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait: retry-after-ms, or retry-after as seconds or as a date."""
    try:
        if told := headers.get("retry-after-ms"):
            return max(0.0, float(told) / 1000)
        if not (told := headers.get("retry-after")):
            return None
        if told.replace(".", "", 1).isdigit():
            return float(told)
        return max(0.0, parsedate_to_datetime(told).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _backoff(attempt: int) -> float:
    longest: float = min(_LONGEST_BACKOFF_S, _FIRST_BACKOFF_S * 2 ** (attempt - 1))
    return longest * random.uniform(0.75, 1.25)  # noqa: S311 -- spreads callers out


async def _pause(wait: Wait, seconds: float) -> None:
    with wait.clock():
        begun = time.monotonic()
        try:
            async with asyncio.timeout(seconds):
                await wait.gone.wait()
        except TimeoutError:
            return
        finally:
            wait.waited_s += time.monotonic() - begun
    raise GoneError


async def _told(response: httpx.Response) -> bytes:
    """The beginning of an error's body."""
    told = b""
    try:
        async for piece in response.aiter_raw():
            told += piece
            if len(told) >= _TOLD:
                break
    except httpx.TransportError:
        pass  # its status is what counts
    finally:
        await response.aclose()
    return told[:_TOLD]
