"""An upstream's answer on its way to the agent: masked, in bounded memory, and read for what it came to.

It is read to its end also when the agent has hung up, for a while: what is paid for is to be known.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import httpx

from firetrial_runner.gateway import sse
from firetrial_runner.gateway.ask import Ask
from firetrial_runner.gateway.exchange import Ends, Exchange, Tokens, shortened
from firetrial_runner.gateway.line import Wait
from firetrial_runner.gateway.masking import Masker, Stream

WHOLE = 4 * 1024 * 1024
"""Bytes of an answer that are read as one; what is longer goes on in pieces."""
_TAIL = 64 * 1024
_DRAIN_S = 60.0
"""Seconds for which an answer is read on after the agent has hung up, or stopped reading."""
# What an agent is told beside the body. Rates and organisations are the operator's own affair.
_HEADERS = ("content-type", "request-id", "x-request-id")

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Answer:
    """One answer. `tokens` is None until, or where, the upstream does not say what it came to."""

    def __init__(self, ask: Ask, exchange: Exchange, masker: Masker, send: Send, wait: Wait) -> None:
        self.exchange, self.wait = exchange, wait
        self.tokens: Tokens | None = None
        self._ask, self._masker, self._send = ask, masker, send
        self._limit = asyncio.timeout(None)

    async def pass_on(self, response: httpx.Response) -> None:
        """To its end. Raises httpx.TransportError, ValueError or TimeoutError where it breaks off."""
        self.exchange.status = response.status_code
        streamed = response.headers.get("content-type", "").startswith("text/event-stream")
        leaving = asyncio.create_task(self._leave())
        try:
            async with self._limit:
                if streamed and self._ask.reader is not None:
                    await self._events(response)
                else:
                    await self._body(response)
        finally:
            leaving.cancel()

    async def _leave(self) -> None:
        await self.wait.gone.wait()
        self._limit.reschedule(asyncio.get_running_loop().time() + _DRAIN_S)

    async def _events(self, response: httpx.Response) -> None:
        reader = self._ask.reader
        assert reader is not None  # noqa: S101 -- asked by the caller
        masked, events = Stream(self._masker), sse.Events()
        self.exchange.streamed = True
        await self._start(response)
        try:
            async for piece in response.aiter_raw():
                self.exchange.answer_bytes += len(piece)
                passed = []
                for event in events.feed(masked.feed(piece)):
                    told = sse.data(event)
                    if told is None or reader.see(told):
                        passed.append(event)
                if passed:
                    await self._more(b"".join(passed))
        finally:
            self.tokens = reader.tokens
            self.exchange.answer = str(reader.text)
        await self._more(events.end() + masked.end(), last=True)

    async def _body(self, response: httpx.Response) -> None:
        whole = bytearray()
        pieces = response.aiter_raw()
        async for piece in pieces:
            whole += piece
            if len(whole) > WHOLE:
                await self._long(response, bytes(whole), pieces)
                return
        body = self._masker.mask(bytes(whole))
        self.exchange.answer_bytes = len(whole)
        self.exchange.answer = shortened(body.decode(errors="replace"))
        self.tokens = self._told(body)
        await self._start(response, len(body))
        await self._more(body, last=True)

    async def _long(self, response: httpx.Response, begun: bytes, pieces: Any) -> None:
        """Too long to be held: its usage is looked for near its end."""
        masked, ends, tail = Stream(self._masker), Ends(), b""
        await self._start(response)

        async def on(piece: bytes, *, last: bool = False) -> None:
            nonlocal tail
            self.exchange.answer_bytes += len(piece)
            out = masked.feed(piece) + (masked.end() if last else b"")
            ends.add(out.decode(errors="replace"))
            tail = (tail + out)[-_TAIL:]
            await self._more(out, last=last)

        await on(begun)
        async for piece in pieces:
            await on(piece)
        await on(b"", last=True)
        self.exchange.answer = str(ends)
        self.tokens = self._told_in(tail)

    def _told(self, body: bytes) -> Tokens | None:
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            return None
        return self._ask.endpoint.tokens(answer) if isinstance(answer, dict) else None

    def _told_in(self, tail: bytes) -> Tokens | None:
        text = tail.decode(errors="replace")
        found = text.rfind('"usage"')
        try:
            usage, _ = json.JSONDecoder().raw_decode(text[text.index(":", found) + 1 :].lstrip())
        except (ValueError, RecursionError):
            return None
        return self._ask.endpoint.tokens({"usage": usage}) if found >= 0 else None

    async def _start(self, response: httpx.Response, length: int | None = None) -> None:
        headers = [
            (name.encode(), self._masker.mask(value.encode()))
            for name in _HEADERS
            if (value := response.headers.get(name))
        ]
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        await self._out({"type": "http.response.start", "status": response.status_code, "headers": headers})

    async def _more(self, body: bytes, *, last: bool = False) -> None:
        await self._out({"type": "http.response.body", "body": body, "more_body": not last})

    async def _out(self, message: MutableMapping[str, Any]) -> None:
        """An agent that does not read is taken for one that has hung up."""
        if self.wait.gone.is_set():
            return
        try:
            async with asyncio.timeout(_DRAIN_S):
                await self._send(message)
        except TimeoutError:
            self.wait.gone.set()
